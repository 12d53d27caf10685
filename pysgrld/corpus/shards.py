"""Building of the shards (parts) of a corpus by independent processes, and merging of shards.

The folder ``NAME.shards``, next to the corpus ``NAME``, contains a plan, which the first process writes,
and a stored corpus for each complete shard. The merged corpus is the corpus that one process would
write.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus.build import OTHER_FOLDER, build
from pysgrld.corpus.inputs import check_inputs, resolve_document_is
from pysgrld.corpus.join import join
from pysgrld.corpus.open import EMPTY
from pysgrld.corpus.reading import CorpusOptions, Listener
from pysgrld.corpus.sources import look, recipe
from pysgrld.corpus.store import Corpus
from pysgrld.corpus.stored_files import digest
from pysgrld.errors import (
    CorpusError,
    DamagedCorpusError,
    MismatchError,
    MissingInputError,
    OutputError,
    UsageError,
    plural,
)
from pysgrld.options.paths import is_folder, is_stream, list_folder, path_error, path_exists
from pysgrld.run import jsonio
from pysgrld.run.files import (
    convert_write_errors,
    make_folder,
    move_aside,
    read_small,
    refuse_full_folder,
    temporary_name,
    write_new,
)
from pysgrld.run.ownership import is_marked
from pysgrld.run.schema import NATURAL, Each, misfit

_PLAN = "plan.json"
#: Types of the entries in the plan of a build.
_TYPES = {
    "shards": NATURAL,
    "inputs": Each({"name": str, "files": list[list[Any]]}),
    "options": dict[str, Any],
}


def shards_of(place: Path) -> Path:
    """Return the path of the folder that contains the shards of a corpus.

    Parameters
    ----------
    place : Path
        Folder of the merged corpus.

    Returns
    -------
    Path
        Folder of the shards, next to the corpus.
    """
    return place.with_name(f"{place.name}.shards")


def build_shard(
    inputs: Sequence[str],
    options: CorpusOptions,
    place: Path,
    shard: tuple[int, int],
    threads: int,
    listener: Listener,
) -> Corpus:
    """Build one of N shards of a corpus, from about 1/N of the bytes of the inputs.

    A shard consists of consecutive inputs with about 1/N of all bytes, by the sizes at the first
    build. A shard that exists already is opened, unless it is damaged or its inputs have changed: it
    is then moved aside and built again. The build of a shard that was interrupted is resumed.

    Parameters
    ----------
    inputs : sequence of str
        Inputs of the whole corpus, in the same order for every shard.
    options : CorpusOptions
    place : Path
        Path of the whole corpus.
    shard : (int, int)
        Number of the shard, from 1, and number of shards.
    threads : int
    listener : Listener

    Raises
    ------
    UsageError
        If shards cannot be read separately, or there are fewer inputs than shards.
    MismatchError
        If existing shards have other inputs or options.
    SgmcError
        The errors of `build`.
    """
    number, n_shards = shard
    check_shards(inputs, options, n_shards)
    refuse_full_folder(place, OTHER_FOLDER)
    folder = shards_of(place)
    # The plan must be the same on all nodes. It records names, sizes and modification times of
    # files.
    records = [
        {"name": record["name"], "files": [list(file) for file in _files(record)]}
        for record in map(look, inputs)
    ]
    # The first process writes the plan to disk. The other processes compare their plans with it.
    plan = {"shards": n_shards, "inputs": records} | recipe(options)
    path, text = folder / _PLAN, json.dumps(plan, indent=1).encode() + b"\n"
    with convert_write_errors(folder):
        make_folder(folder, "shards")
    if not path_exists(path):
        if conflicts := [
            p for p in list_folder(folder, OutputError) if p != path and not is_marked(p.name)
        ]:
            raise OutputError(
                f"{conflicts[0]}: is not a shard of this corpus; move it away, or choose another "
                "folder with -o"
            )
        temporary = folder / temporary_name("plan")
        with convert_write_errors(path):
            write_new(temporary, [text], "shards")
            # Another process may have written the plan by now.
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(temporary)
            temporary.unlink()
    first_plan = _plan(folder)
    if difference := _difference(first_plan, plan):
        raise MismatchError(
            f"{folder}: has shards of another build (different: {difference}); remove the folder, or "
            "choose another with -o"
        )
    # Inputs are divided by their sizes at the first build, so that the shards have the same inputs
    # if a file is corrected later.
    sizes = [sum(size or 0 for _, size, _ in record["files"]) for record in first_plan["inputs"]]
    first, last = cuts(sizes, n_shards)[number - 1]
    shard_folder, label = folder / _name(number, n_shards), f"shard {number} of {n_shards}"
    if path_exists(shard_folder):
        problem, shard_corpus = None, None
        try:
            shard_corpus = Corpus.open(shard_folder)
            problem = _change(shard_corpus, inputs[first:last], options)
        except DamagedCorpusError as error:
            problem = error.problem
        if shard_corpus is not None and problem is None:
            listener.note(f"{label} is there already: {shard_folder}")
            return shard_corpus
        moved = move_aside(shard_folder, f"{shard_folder.name}.replaced", "shards")
        listener.note(f"{label} is built again, because {problem}; the old shard is now {moved}")
    # Decide from the inputs of all shards whether a document is a line or a file, because one
    # shard may have too few inputs.
    options = resolve_document_is(inputs, options)
    return build(inputs[first:last], options, shard_folder, threads, listener, among=inputs)


def _files(record: Mapping[str, Any]) -> list[tuple[str, int | None, int | None]]:
    """Return the name, size and modification time of each file in a record from `look`."""
    return [
        (file["name"], file.get("size"), (file.get("stamp") or [None])[0])
        for file in record.get("files", [record])
    ]


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the differences of two plans that make their shards incompatible.

    Files may change, and bad documents may be skipped: both concern single shards (`_change`).
    """
    names = [[record["name"] for record in plan["inputs"]] for plan in (old, new)]
    keys = sorted({*old["options"], *new["options"]} - {"on_bad_document"})
    values = [[plan["options"].get(key) for key in keys] for plan in (old, new)]
    options = [key for key, a, b in zip(keys, *values, strict=True) if a != b]
    return ", ".join(
        [
            *(["number of shards"] if old["shards"] != new["shards"] else []),
            *(["inputs"] if names[0] != names[1] else []),
            *(f"--{key.replace('_', '-')}" for key in options),
            *(["contents of a word list"] if old.get("lists") != new.get("lists") else []),
        ]
    )


def _change(shard: Corpus, inputs: Sequence[str], options: CorpusOptions) -> str | None:
    """Return the reason why a shard must be built again, such as a changed input, or None."""
    if options.on_bad_document == "stop" and any(
        n for reason, n in (shard.provenance.get("skipped") or {}).items() if reason != EMPTY
    ):
        return "it was built with --on-bad-document skip"
    for path, old in zip(inputs, shard.provenance.get("inputs") or [], strict=False):
        before = {file["name"]: file for file in old.get("files") or [old]}
        folder = Path(path) if is_folder(path) else None
        files = _files(look(path))
        if folder and before.keys() != {name for name, _, _ in files}:
            return f"{path} has other files than before"
        for name, size, time in files:
            file, record = folder / name if folder else Path(path), before.get(name) or {}
            same_time = (record.get("stamp") or [None])[0] == time
            if record.get("size") != size or not (same_time or digest(file) == record["sha256"]):
                return f"{file} has changed"
    return None


def check_shards(inputs: Sequence[str], options: CorpusOptions, n_shards: int) -> None:
    """Raise an error unless a corpus with these inputs and options can be built as shards.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions
    n_shards : int

    Raises
    ------
    MissingInputError
        If an input is missing.
    UsageError
        If an option needs all documents, or the shards are more than the inputs.
    """
    check_inputs(inputs)
    if any(map(is_stream, inputs)):
        raise UsageError("--shard: standard input cannot be split into shards; give files")
    if options.vocab is None:
        raise UsageError(
            "--shard needs --vocab FILE, because no shard contains all words; use the "
            "vocabulary of a smaller corpus: 'sgmc corpus build SOME_FILES -o small', then "
            "--vocab small/vocab.txt"
        )
    whole = ("min_df", options.min_df), ("max_df", options.max_df), ("max_vocab", options.max_vocab)
    for name, value in whole:
        if value is not None:
            raise UsageError(
                f"--shard: --{name.replace('_', '-')} needs the counts of all documents; leave "
                "it out, and give it when you build the vocabulary for --vocab"
            )
    if options.metadata is not None and options.id_field is None:
        raise UsageError(
            "--shard: rows of --metadata cannot be matched to documents by order; add an id "
            "column, and name it with --id-field"
        )
    if n_shards > len(inputs):
        raise UsageError(
            f"--shard: {n_shards} shards are too many for {plural(len(inputs), 'input')}, because "
            f"each shard reads whole files or folders; split the input into {n_shards} files, or "
            f"use at most {plural(len(inputs), 'shard')}"
        )


def cuts(sizes: Sequence[int], shards: int) -> list[tuple[int, int]]:
    """Split inputs into consecutive parts of similar size in bytes; no part is empty.

    Parameters
    ----------
    sizes : sequence of int
        Sizes of the inputs in bytes.
    shards : int
        Number of parts, at most the number of inputs.

    Returns
    -------
    list of (int, int)
        Index of the first input of each part, and index after its last input.
    """
    ends = np.cumsum(np.asarray(sizes, np.float64))
    bounds = [0]
    for i in range(1, shards):
        target = ends[-1] * i / shards
        after = int(np.searchsorted(ends, target))
        if after < len(sizes) and ends[after] - target < sizes[after] / 2:
            # The ideal end of the shard is in the second half of this input, so the shard includes
            # the input.
            after += 1
        bounds.append(min(max(after, bounds[-1] + 1), len(sizes) - (shards - i)))
    return list(itertools.pairwise([*bounds, len(sizes)]))


def _name(number: int, n_shards: int) -> str:
    return f"{number:04d}-of-{n_shards:04d}"


def merge(place: Path, listener: Listener) -> Corpus:
    """Merge all shards into the corpus that a single process would have built.

    If the texts exceed the limit of ``--keep-text``, a uniform sample of them is kept, which differs
    from the sample that a single process would keep. The shards are not removed.

    Parameters
    ----------
    place : Path
        Path of the corpus.
    listener : Listener

    Raises
    ------
    UsageError
        If ``place`` is a folder of shards.
    MissingInputError
        If shards are missing; the message names them.
    CorpusError
        If a shard is damaged, or has another vocabulary.
    OutputError, WriteError
        If the corpus cannot be written.
    """
    if shards := next((f for f in (place, place.parent) if f.suffix == ".shards"), None):
        raise UsageError(
            f"{place}: this is a folder of shards; give the name of the merged corpus: "
            f"{shards.with_suffix('')}"
        )
    folder = shards_of(place)
    plan = _plan(folder)
    refuse_full_folder(place, "remove that folder to merge the shards again")
    size = plan["shards"]
    names = [_name(number, size) for number in range(1, size + 1)]
    gone = [i for i, name in enumerate(names, 1) if not is_folder(folder / name)]
    if gone:
        raise MissingInputError(
            f"{folder}: lacks {plural(len(gone), 'shard')} of {size}: {listed(gone)}; build the "
            f"missing shards with --shard {gone[0]}/{size} and so on (in a SLURM array: "
            f"--array={listed(gone)})"
        )
    parts = []
    for i, name in enumerate(names, 1):
        try:
            parts.append(Corpus.open(folder / name))
        except DamagedCorpusError as error:
            raise CorpusError(
                f"shard {i} of {size} is damaged ({error.problem}); build it again: the same command "
                f"with --shard {i}/{size} (in a SLURM array: --array={i})",
                folder / name,
            ) from None
    for name, part in zip(names, parts, strict=True):
        if part.vocabulary != parts[0].vocabulary:
            raise CorpusError(
                "this shard has a different vocabulary than the first shard; build it again",
                folder / name,
            )
    # If bad documents were skipped in any shard, the merged corpus records this.
    if any(part.provenance["options"].get("on_bad_document") == "skip" for part in parts):
        plan["options"]["on_bad_document"] = "skip"
    options = CorpusOptions(**plan["options"])
    if not any(part.tokens for part in parts):
        raise CorpusError(
            f"no document has a word of the vocabulary {options.vocab}; check that this is "
            "the right vocabulary",
            folder,
        )
    # The record of the merged corpus is the record of the first shard, with the inputs of all
    # shards.
    whole = parts[0].provenance | {
        "options": plan["options"],
        "inputs": [record for part in parts for record in part.provenance["inputs"]],
    }
    return join(parts, place, options, whole, listener)


def _plan(folder: Path) -> dict[str, Any]:
    place = folder.name.removesuffix(".shards")
    again = f"build shards first: 'sgmc corpus build ... -o {place} --shard I/N'"
    try:
        plan = jsonio.parse(read_small(folder / _PLAN))
    except (FileNotFoundError, NotADirectoryError):
        raise MissingInputError(f"{folder}: is not there; {again}") from None
    except OSError as error:
        raise path_error(folder / _PLAN, error) from None
    except ValueError:
        plan = None
    proper = misfit(plan, _TYPES) is None and all(
        len(file) == 3 and isinstance(file[1], int | None)
        for record in plan.get("inputs") or ()
        for file in record["files"]
    )
    if not proper or plan.get("inputs") is None:
        raise CorpusError(f"{_PLAN} is damaged; remove the folder, and {again}", folder)
    record: dict[str, Any] = plan
    return record


def listed(numbers: Sequence[int]) -> str:
    """Format ascending numbers as in SLURM job arrays, such as 1,4-6.

    Parameters
    ----------
    numbers : sequence of int
        Ascending numbers.

    Returns
    -------
    str
        Numbers and ranges, separated by commas.
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)
