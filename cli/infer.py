"""The command ``sgmc infer``, which estimates topic proportions of new documents."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import Interrupted, MissingInputError, OutputError, Severity, UsageError, plural
from pysgrld.models.options import OPTIONS
from pysgrld.options.parse import choice, columns, integer, part
from pysgrld.options.paths import is_folder, path_exists

from .options import (
    Described,
    flag,
    layer,
    option,
    options_of_reading,
    plain,
    population,
    quiet,
    reading_of,
    threads,
)
from .terminal import named, standard_output
from .values import runs_and_files

if TYPE_CHECKING:
    from pysgrld.corpus.about.details import NamedDocuments
    from pysgrld.reading.infer import Inferred, Share

    from .progress import Screen


@click.command(
    "infer",
    cls=Described,
    instead={
        "--metadata": "--keep-field writes fields of the documents; join "
        "other tables to the output by its ids (pandas: theta.merge(table, on='id'))"
    },
    epilog="""\b
Examples:
  sgmc infer new.txt -o theta.npy       D x K float32, row d is document d
  sgmc infer new.txt -o theta.csv       a header, then a row a document
  sgmc infer new.csv --text-field body --on-bad-document skip -o theta.csv
  sgmc infer bible-scir new.jsonl --keep-field year -o theta.jsonl
  sgmc infer --layer 2 new.txt -o t.npy of a deep model's second layer
  sgmc infer new.txt --draws 20 --top 5 -o theta.parquet
  head -5 new.txt | sgmc infer --top 3 -  JSON lines: topics, names, shares
  sgmc infer all.jsonl.zst -o theta/  a folder of parts""",
)
@click.argument(
    "run_and_corpus", nargs=-1, required=True, metavar="[RUN] CORPUS", shell_complete=runs_and_files
)
@plain(
    "-o/--out",
    "-: JSON lines on standard output",
    "output file (.npy, .csv, .jsonl or .parquet), or a folder/ of parts",
    parse=str,
    metavar="FILE|DIR/",
)
@plain(
    "--format",
    "parquet",
    "format of the parts: parquet, jsonl, csv, npy",
    parse=choice("parquet", "jsonl", "csv", "npy"),
    metavar="NAME",
)
@plain(
    "--part-documents",
    "1000000; with --part 50000",
    "documents per part",
    parse=integer(1, 1 << 31),
    metavar="N",
)
@plain(
    "--part",
    "1/1",
    "write every N-th part, starting with the I-th, for job arrays",
    parse=part,
    metavar="I/N",
)
@plain(
    "--draws",
    "none",
    "add a 90 % interval of each proportion, from N samples",
    parse=integer(20),
    metavar="S",
)
@plain(
    "--top",
    "all",
    ".jsonl, .parquet: number of topics listed for a document, the greatest first",
    parse=integer(1),
    metavar="N",
)
@flag("--dense", ".parquet: write one column for each topic")
@population
@options_of_reading
@option(
    "id-field",
    OPTIONS["id-field"]._replace(
        group="How documents are read",
        shown="as in training",
        first=True,
        help="field with the document's id",
    ),
)
@plain(
    "--keep-field",
    "none",
    "fields of the documents to write in addition to ids",
    parse=columns,
    metavar="NAME,...",
)
@layer
@flag("--force", "replace an existing file")
@quiet
@threads
def command(
    run_and_corpus: tuple[str, ...],
    out: str | None,
    format: str | None,
    part_documents: int | None,
    part: tuple[int, int] | None,
    keep_field: str | None,
    draws: int | None,
    top: int | None,
    dense: bool,
    population: str | None,
    layer: int | None,
    force: bool,
    **values: Any,
) -> None:
    """Estimate the topic proportions of the documents of CORPUS, given the topics of RUN.

    CORPUS is any corpus that 'sgmc train' reads; words outside the run's vocabulary are ignored.
    Rows have the order of the documents and sum to 1; all formats except .npy have ids. A document with
    no known word gets 1/K for each topic.
    """
    from pysgrld.reading.find_runs import find_folder, open_run
    from pysgrld.reading.infer import (
        PART,
        SHARED_PART,
        Parts,
        inference_record,
        interval_steps,
        prepare_parts,
        write_parts,
        write_proportions,
    )
    from pysgrld.reading.proportion_files import Layout, check_suffix, check_writer
    from pysgrld.report.topic_words import names_of
    from pysgrld.run.layout import check_outputs, is_run
    from pysgrld.run.machine import threads as count
    from pysgrld.run.output_files import open_output
    from pysgrld.run.signals import StopFlag

    from .progress import Screen

    if len(run_and_corpus) > 2:
        raise UsageError(f"'{run_and_corpus[2]}' is one argument too many; give RUN and CORPUS")
    *run, path = run_and_corpus
    if not run and (is_run(Path(path)) or not path_exists(path)):
        with contextlib.suppress(MissingInputError):
            find_folder(path)
            raise UsageError(f"CORPUS is missing after the run {path}; give new documents")
    out = out or "-"
    if population is not None and draws is None:
        raise UsageError("--population requires --draws, because it concerns intervals; give both")
    if top and dense:
        raise UsageError("--top and --dense cannot be combined; give one of them")
    folder = out != "-" and (out.endswith("/") or is_folder(out, OutputError))
    if not folder and (format or part or part_documents):
        raise UsageError(
            "--format, --part and --part-documents require a folder of parts; give -o DIR/"
        )
    if folder:
        suffix = f".{format or 'parquet'}"
        check_writer(suffix, f"--format {suffix[1:]}", top=bool(top), dense=dense)
    else:
        suffix = check_suffix(out, top=bool(top), dense=dense)
    parts = Parts(
        Path(out), suffix, part_documents or (SHARED_PART if part else PART), _share(part, force)
    )
    fields = keep_field.split(",") if keep_field else []
    if fields and suffix == ".npy":
        raise UsageError(
            "--keep-field: an .npy file cannot store fields; choose .csv, .jsonl or .parquet"
        )
    if out != "-" and not folder:
        check_outputs([Path(out)], force=force, inputs=[path])
    with Screen(quiet=values["quiet"]) as screen:
        number = count(values["threads"]).number
        name, reading = run[0] if run else None, reading_of(values, "id-field")
        results = open_run(name, number, reading, screen.warn, these=population == "these")
        layer_index = results.at(layer)
        if results.fitted.samples == 0:
            screen.note(
                f"proportions are computed with the current topics, because {results.no_mean}"
            )
        if results.found_by(layer_index) is not None:
            screen.note(
                f"{plural(len(results.chains), 'chain')}: each topic is the mean of the chains "
                "that have it"
            )
        steps = interval_steps(results, draws) if draws else None
        names = names_of(results, layer_index) | results.given_names(layer_index) if top else {}
        if folder:
            layout = Layout(
                results.fitted.layers[layer_index],
                steps is not None,
                top,
                dense,
                tuple(fields),
                names,
            )
            record = inference_record(results, path, parts, layout, layer_index, steps)
            parts = prepare_parts(parts, record, force=force)
            for moved in parts.damaged:
                screen.note(
                    f"{moved}: is the new name of a damaged part, which is written again",
                    Severity.WARNING,
                )
            if parts.existing:
                finished = plural(len(parts.existing), "finished part", "finished parts")
                screen.note(f"{out}: resuming after {finished}")
            documents = results.documents(path, screen, fields, parts.wanted)
            with StopFlag() as stop:

                def check() -> None:
                    if stop.should_stop(0.0):
                        raise Interrupted(
                            f"{stop.reason}: stopped; finished parts are kept in {out}; run the "
                            "same command again to resume"
                        )

                done = write_parts(results, documents, parts, layout, layer_index, steps, check)
            _said(screen, out, done, documents)
            return
        documents = results.documents(path, screen, fields)
        with contextlib.ExitStack() as stack:
            piped = out == "-"
            file = standard_output() if piped else stack.enter_context(open_output(Path(out)))
            if piped:
                stack.enter_context(named("standard output"))
            done = write_proportions(
                results,
                documents,
                file,
                suffix,
                layer_index,
                steps,
                top=top,
                dense=dense,
                names=names,
            )
        _said(screen, out, done, documents)


def _said(screen: Screen, out: str, done: Inferred, documents: NamedDocuments) -> None:
    """Print the number of documents that were inferred."""
    empty = f", {done.empty:,} of them without a known word" if done.empty else ""
    where = "" if out == "-" else f"{out}: "
    for field in sorted(documents.absent) if done.documents else ():
        screen.note(
            f"no document has a field {field[:40]!r} (--keep-field); give a field that they have",
            Severity.WARNING,
        )
    if done.documents and done.empty == done.documents:
        screen.note(
            "no document has a word of the run's vocabulary, so all rows are equal; check that "
            "corpus and run belong together",
            Severity.WARNING,
        )
    screen.note(f"{where}{plural(done.documents, 'document')}{empty}")


def _share(value: tuple[int, int] | None, force: bool) -> Share:
    """Convert the value of ``--part`` to the part of the documents that this job infers."""
    from pysgrld.reading.infer import Share

    if value is None:
        return Share()
    if force:
        raise UsageError(
            "--force with --part would remove parts of other jobs; remove the folder instead"
        )
    return Share(*value)
