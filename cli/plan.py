"""The command ``sgmc plan``, which estimates the resources that training needs."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import plural
from pysgrld.models.options import OPTIONS, option_text
from pysgrld.options.parse import integer
from pysgrld.options.paths import path_exists

from .options import Described, as_json, given, options_of, plain, quiet, show_json
from .terminal import echo
from .values import files

if TYPE_CHECKING:
    from pysgrld.train.estimate import RankLayout, TrainingNeeds

#: Training options on which the estimate of time, memory and disk space depends.
_OPTIONS = ("topics", "algo", "model", "minibatch", "sweeps", "samples", "threads")
#: Options with which the plan reads a sample of the corpus; `corpus build` has the same options.
_READING = {name: entry for name, entry in OPTIONS.items() if entry.group == "Corpus"}
#: Options that are not passed to jobs for single shards. Three of them need the documents of all
#: shards, and the plan itself sets `vocab`.
_OF_ALL = ("min-df", "max-df", "max-vocab", "vocab")
#: Minimum time limit, in hours, of the printed batch script for training.
_SHORTEST = 1
#: Maximum time limit, in hours, of the printed batch script for training. The script resumes after
#: its time limit.
_LONGEST = 24
#: Number of documents that each job of an array reads.
_OF_A_JOB = 1_000_000
#: Memory that the scripts for building and merging a corpus request. Their measured need is several
#: times smaller.
_BUILDING = "4G"
#: Memory that the batch script requests in addition to the estimate, as a fraction of the estimate.
_SPARE = 0.25


@click.command(
    "plan",
    cls=Described,
    epilog="""\b
Examples:
  sgmc plan built -k 500 --threads 64
  sgmc plan built -k 1000 --minibatch 20000 --threads 64 --json
  sgmc plan sample.jsonl --documents 50000000 -k 500 --threads 64
  sgmc plan sample.jsonl --documents 50000000 -k 500 --threads 128 \\
    --node-cores 64 --minibatch 100000""",
)
@click.argument("corpus", metavar="CORPUS", shell_complete=files)
@plain(
    "--documents",
    "those of CORPUS",
    "number of documents in all, if CORPUS is a sample of them",
    parse=integer(1, 2**53),
    metavar="N",
)
@plain(
    "--node-cores",
    "as many as --threads",
    "number of cores of a node, for several ranks",
    parse=integer(1, 4096),
    metavar="N",
)
@options_of({name: OPTIONS[name]._replace(first=True) for name in _OPTIONS} | _READING)
@as_json
@quiet
def command(
    corpus: str,
    documents: int | None,
    node_cores: int | None,
    json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Estimate the memory, disk space, hours and threads that training on CORPUS needs.

    CORPUS is a folder of 'sgmc corpus build', which is not read as a whole; with --documents, a
    sample of the documents, in any format. Hours are of all threads and ranks together, on cores
    that sample a token in 25 + 0.05 K nanoseconds; nothing is trained or kept.
    """
    from pysgrld.models.choices import Choices
    from pysgrld.train.estimate import EPOCHS, FOR_RANKS, MOST, RankLayout, estimate
    from pysgrld.train.request import Request

    from .progress import Screen

    typed_options = given(values)
    request = Request((corpus,), Choices(typed_options))
    request.choices.check()
    with Screen(quiet=quiet) as screen:
        needs = estimate(request, screen, documents=documents)
        if needs.lacks_words:
            screen.warn(
                f"the sample is too small for its words: {100 * needs.unseen:.1f} % of the tokens in "
                "its second half have words that its first half lacks; give a larger sample, because "
                "memory and hours grow with the number of words"
            )
    useful, gigabytes = needs.useful_threads, 1 << 30
    layout = RankLayout.of(needs, node_cores)
    needs_of_rank = layout.of_rank(needs)
    after = needs_of_rank.refinement_hours
    scripts = _scripts(needs, layout, corpus, typed_options, sample=documents is not None)
    if json:
        show_json(
            needs._asdict()
            | {
                "bytes": needs.bytes,
                "useful_threads": useful,
                "enough_documents": needs.enough_documents,
                "layout": layout._asdict(),
                "hours_per_epoch": needs_of_rank.hours(),
                "refinement_hours": after,
                "script": "\n".join(scripts),
            }
        )
        return
    words = "" if documents is None else " of the sample"
    here = "" if "threads" in typed_options else ", as on this machine (for another: --threads N)"
    rows = (
        (
            "corpus",
            f"{needs.documents:,} documents, {needs.words:,} words{words}, {needs.tokens:,} tokens",
        ),
        ("training", f"{needs.topics:,} topics, {needs.minibatch:,} documents in each iteration"),
        ("memory", f"{needs.bytes / gigabytes:.1f} GB"),
        (
            "disk",
            (
                f"at most {needs.disk / gigabytes:.1f} GB for the run, "
                f"{needs.corpus / gigabytes:.1f} GB for the corpus"
            ),
        ),
        ("epoch", f"about {_time(needs_of_rank.hours())} with {_processes(layout)}{here}"),
        (
            f"{EPOCHS} epochs",
            f"about {_time(needs_of_rank.hours(EPOCHS))}; runs converge after 30 to 75 epochs",
        ),
        *([("Gibbs sweeps", f"about {_time(after)}, for intervals")] if after else []),
        ("useful threads", f"at most {useful:,}{' in each rank' * (layout.all_ranks > 1)}"),
    )
    for name, value in rows:
        echo(f"{name:<16}{value}")
    asked_documents = typed_options.get("minibatch", 0)
    if asked_documents > needs.documents:
        echo(f"--minibatch {asked_documents}: the corpus has only {needs.documents:,} documents")
    if useful < needs.threads:
        if useful < MOST:
            threads, enough = min(needs.threads, MOST), needs.enough_documents
            echo(f"to use {threads} threads, give --minibatch {enough} or more")
        if needs.threads > MOST and layout.all_ranks == 1:
            echo(
                f"to use more than {MOST} threads, give several chains (--chains), or ranks "
                f"(--mpi) with --minibatch {FOR_RANKS} or more"
            )
    if (larger := needs.faster_minibatch(node_cores)) is not None:
        other = RankLayout.of(larger, node_cores)
        hours = other.of_rank(larger).hours(EPOCHS)
        echo(
            f"--minibatch {larger.minibatch}: {EPOCHS} epochs in about {_time(hours)} with "
            f"{_processes(other)}; this changes the result, because the chain makes fewer steps"
        )
    if layout.all_ranks > 1:
        echo("not tested: ranks over a network, and more than two threads in each rank")
    echo("\n" + "\n".join(scripts))


def _scripts(
    needs: TrainingNeeds, layout: RankLayout, corpus: str, typed: Mapping[str, Any], *, sample: bool
) -> list[str]:
    """Return commands that write batch scripts for training, or for all steps up to inference."""
    from pysgrld.corpus import Corpus
    from pysgrld.corpus.reading import USUAL_TEXT_FIELD
    from pysgrld.corpus.stored_files import is_stored
    from pysgrld.train.estimate import EPOCHS

    from .slurm import PLACEHOLDER, USUAL_JOBS

    needs_of_rank = layout.of_rank(needs)
    hours = round(needs_of_rank.hours(EPOCHS) + needs_of_rank.refinement_hours + 0.5)
    limit = min(max(_SHORTEST, hours), _LONGEST)
    memory = max(1, round((1.0 + _SPARE) * needs.bytes / (1 << 30) + 0.5))
    several = layout.all_ranks > 1
    size = f"--time {limit}h "
    if several:
        size += f"--nodes {layout.nodes} --ranks-per-node {layout.ranks_per_node} "
    size += f"--cpus {layout.cpus} --mem {layout.ranks_per_node * memory}G"
    built = _free("built")
    words = ["train", *(["--mpi"] if several else []), built if sample else shlex.quote(corpus)]
    words += _texts(typed, {"threads", *(_READING if sample else ())})
    if not sample:
        return [f"sgmc slurm {size} -o job.sh -- {' '.join(words)}"]
    jobs = min(-(-needs.documents // _OF_A_JOB), USUAL_JOBS)
    first, vocabulary = [], Path(corpus)
    if is_stored(vocabulary):
        field = Corpus.open(vocabulary).reading.get("text-field", USUAL_TEXT_FIELD)
        typed = ({} if field == USUAL_TEXT_FIELD else {"text-field": field}) | dict(typed)
    else:
        vocabulary = Path(_free("sample"))
        options = _texts(typed, typed.keys() - _READING.keys())
        first = [
            " ".join(["sgmc corpus build", shlex.quote(corpus), *options, "-o", str(vocabulary)])
        ]
    reading = _texts(typed, typed.keys() - _READING.keys() | {*_OF_ALL})
    return [
        *first,
        f"# {PLACEHOLDER}: all input files; --array is at most their number, because a shard "
        "consists of whole files",
        f"sgmc slurm --time 2h --array {jobs} --mem {_BUILDING} -o 1.sh -- "
        + " ".join(["corpus build", PLACEHOLDER, *reading, "--vocab"])
        + f" {shlex.quote(str(vocabulary / 'vocab.txt'))} -o {built} --shard {{i}}/{{n}}",
        f"sgmc slurm --time 2h --mem {_BUILDING} -o 2.sh -- corpus merge {built}",
        f"sgmc slurm {size} -o 3.sh -- {' '.join(words)} --out runs/all",
        f"sgmc slurm --time 4h --array {jobs} --mem {memory}G -o 4.sh -- "
        f"infer runs/all {built} -o theta/ --top 8 --part {{i}}/{{n}}",
    ]


def _texts(typed: Mapping[str, Any], without: Collection[str]) -> list[str]:
    """Return options as the user types them, quoted for the shell."""
    return [
        option_text(name) if value is True else option_text(name, shlex.quote(str(value)))
        for name, value in typed.items()
        if name not in without and value is not False
    ]


def _free(name: str) -> str:
    """Return a free name for a new folder: the given name, with a number if it is taken."""
    names = itertools.chain([name], (f"{name}-{i}" for i in itertools.count(2)))
    return next(other for other in names if not path_exists(other))


def _processes(layout: RankLayout) -> str:
    """Return a text with the numbers of MPI processes (ranks) and threads of a planned run."""
    cpus = plural(layout.cpus, "thread")
    return f"{layout.all_ranks} ranks of {cpus}" if layout.all_ranks > 1 else cpus


def _time(hours: float) -> str:
    """Format a duration in hours, or in seconds if it is shorter than half an hour."""
    number, unit = (hours, "h") if hours >= 0.5 else (3600 * hours, "s")
    return f"{float(f'{number:.2g}'):,g} {unit}"
