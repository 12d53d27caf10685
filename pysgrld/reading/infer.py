"""Topic proportions of new documents, written to one file or to a folder of several files (parts).

A part is a file that is either complete or missing. After a kill, the same command continues with
the missing parts, and several processes may divide the parts among them. The proportions of a
document stay the same in both cases, because the random numbers of a document depend only on its
position in the corpus.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from pysgrld.corpus.about.details import Named, NamedDocuments
from pysgrld.corpus.prefetch import run_ahead
from pysgrld.corpus.sources import look
from pysgrld.errors import OutputError, UsageError, plural
from pysgrld.options.paths import is_folder, list_folder, path_exists
from pysgrld.reading.intervals import ENOUGH
from pysgrld.reading.proportion_files import WRITERS, InferredBlock, Layout
from pysgrld.reading.repeated_words import Repetition, proportion_bounds
from pysgrld.reading.results import Results
from pysgrld.run import jsonio
from pysgrld.run.files import make_folder, move_aside, read_small
from pysgrld.run.layout import claim_outputs
from pysgrld.run.output_files import open_output
from pysgrld.run.ownership import LIST, is_marked
from pysgrld.types import Documents, Doubles

#: Maximum number of documents that are inferred at a time.
DOCUMENTS = 4096
#: Maximum number of bytes in memory for posterior samples of proportions. With many topics and
#: samples, fewer documents are inferred at a time.
ROOM = 1 << 26
#: Number of documents for which quantiles are computed at a time.
_TOGETHER = 128
#: Number of documents in a part if one process writes all parts.
PART = 1_000_000
#: Number of documents in a part if several processes divide the parts among them.
SHARED_PART = 50_000
#: Name of the file, in a folder of parts, that records the run, the input and the options. Programs
#: that read a folder of tables ignore names that begin with an underscore.
RECORD = "_parts.json"
_PART = re.compile(r"part-(\d{6,})\.(?:parquet|jsonl|csv|npy)")


class Inferred(NamedTuple):
    """Number of inferred documents, and number of inferred documents without a vocabulary word."""

    documents: int
    empty: int


def interval_steps(results: Results, draws: int) -> list[int]:
    """Return the iterations of at most ``draws`` samples, from which intervals are computed.

    Parameters
    ----------
    results : Results
    draws : int
        Maximum number of samples.

    Returns
    -------
    list of int
        Iterations of kept samples, ascending.

    Raises
    ------
    UsageError
        If the run has too few samples, or its topics cannot be matched from one sample to the next.
    """
    fitted, steps = results.fitted, results.draw_steps(draws)
    if fitted.draws and fitted.no_mean:
        raise UsageError(
            f"{results.path}: {fitted.no_mean}, so proportions have no intervals; leave out --draws"
        )
    if not fitted.draws:
        raise UsageError(f"{results.path}: {results.no_samples}; leave out --draws")
    if len(steps) < ENOUGH:
        raise UsageError(
            f"{results.path}: the run has {plural(len(steps), 'sample')}, but --draws needs "
            f"{ENOUGH}; leave out --draws, or train longer"
        )
    return steps


def infer(
    results: Results,
    blocks: Iterable[Documents],
    layer_index: int = 0,
    steps: list[int] | None = None,
    first: int = 0,
) -> Iterator[InferredBlock]:
    """Infer the topic proportions of documents, in order, given the topics' posterior mean.

    For LDA, theta_dk = (alpha + E[n_dk]) / (K alpha + N_d), with N_d tokens of document d, of which
    n_dk have topic k. A document without a known word gets the prior's mean, 1/K. The result for a
    document depends only on its counts, its position and the seed.

    With intervals, theta is the mean of the draws from which the intervals are computed, so that
    both describe the same posterior: given the mean topics, the proportions of a document look more
    certain than given most draws of the topics.

    Parameters
    ----------
    results : Results
    blocks : iterable of Documents
        Counts of the run's words (`Results.documents`).
    layer_index : int
        The layer of the topics, counted from 0.
    steps : list of int, optional
        Kept samples for the intervals (`interval_steps`); no intervals if None.
    first : int
        Row of the first document in its corpus.
    """
    k = results.fitted.layers[layer_index]
    most = max(1, min(DOCUMENTS, ROOM // (4 * len(steps) * k))) if steps else DOCUMENTS
    repetition = Repetition(results, layer_index)
    for block in blocks:
        for begin in range(0, len(block), most):
            documents = block.take(np.arange(begin, min(begin + most, len(block))))
            ids = np.arange(first, first + len(documents))
            lengths, low, high = documents.lengths, None, None
            if steps:
                theta, low, high = _drawn(results, documents, first, steps, layer_index, repetition)
                empty = np.flatnonzero(lengths == 0)
                if len(empty):  # Documents without words get the exact prior mean.
                    wordless = documents.take(empty)
                    theta[empty] = results.proportions(wordless, ids[empty], layer_index)
            else:
                theta = results.proportions(documents, ids, layer_index)
            yield InferredBlock(first, lengths, theta, low, high)
            first += len(documents)


def _drawn(
    results: Results,
    documents: Documents,
    first: int,
    steps: list[int],
    layer_index: int,
    repetition: Repetition,
) -> tuple[Doubles, Doubles, Doubles]:
    """Sample the proportions of documents; return means and interval bounds, each (n, K)."""
    ids = np.arange(first, first + len(documents))
    shape = (len(ids), results.fitted.layers[layer_index])
    draws = np.empty((len(steps), *shape), np.float32)
    for s, draw in enumerate(
        results.each_document_draw(documents, ids, steps, layer_index, new=True)
    ):
        draws[s] = draw.theta
    theta, low, high = (np.empty(shape) for _ in range(3))
    for begin in range(0, len(ids), _TOGETHER):
        group = slice(begin, begin + _TOGETHER)
        theta[group] = draws[:, group].mean(axis=0, dtype=np.float64)
        some = documents.take(np.arange(*group.indices(len(ids))))
        factors = repetition.factors(some, theta[group])
        low[group], high[group] = proportion_bounds(draws[:, group], factors)
    return theta, low, high


def _write_rows(
    file: IO[bytes], suffix: str, layout: Layout, blocks: Iterator[InferredBlock]
) -> Inferred:
    """Write proportions of documents to an open file, while a thread infers the next documents."""
    writer = WRITERS[suffix](file, layout)
    documents = empty = 0
    try:
        with contextlib.closing(run_ahead(blocks, 1, lambda: None)) as inferred:
            for block in inferred:
                writer.write(block)
                # Flush the file, so that the reader of a pipe gets the rows of this block at once.
                file.flush()
                documents += len(block.lengths)
                empty += int((block.lengths == 0).sum())
    finally:
        writer.end(documents)  # Close the writer also after an error, so that it releases the file.
    return Inferred(documents, empty)


def write_proportions(
    results: Results,
    blocks: Iterable[Documents],
    file: IO[bytes],
    suffix: str,
    layer_index: int = 0,
    steps: list[int] | None = None,
    *,
    top: int | None = None,
    dense: bool = False,
    names: Mapping[int, str] | None = None,
) -> Inferred:
    """Infer the topic proportions of documents, and write one row per document, in order.

    Parameters
    ----------
    results, blocks, layer_index, steps
        As for `infer`; rows of `NamedDocuments` also have ids and fields.
    file : binary file
        Seekable if the format is ``.npy``: its header holds the number of rows.
    suffix : str
        The format, a key of `WRITERS`.
    top, dense, names
        As for `pysgrld.reading.proportion_files.Layout`.

    Returns
    -------
    Inferred
        Number of the documents written, and of these without a known word.
    """
    named = blocks if isinstance(blocks, NamedDocuments) else None
    fields = None if named is None else named.fields
    layout = Layout(
        results.fitted.layers[layer_index], steps is not None, top, dense, fields, names or {}
    )
    inferred = infer(results, blocks, layer_index, steps)
    if named is not None:
        inferred = (block._replace(names=named.names(len(block.lengths))) for block in inferred)
    return _write_rows(file, suffix, layout, inferred)


# ---- folders of parts


class Share(NamedTuple):
    """Parts that one of ``total`` processes writes: ``number``, ``number`` + ``total``, ..."""

    number: int = 1
    total: int = 1


class Parts(NamedTuple):
    """Folder of parts, which are files with the proportions of consecutive documents.

    Attributes
    ----------
    folder : Path
    suffix : str
        File format of the parts.
    size : int
        Number of documents of a part.
    share : Share
    existing : frozenset of str
        Names of the complete parts that existed at the beginning.
    damaged : tuple of Path
        Parts that were damaged, by their new paths: this process writes them again.
    """

    folder: Path
    suffix: str
    size: int
    share: Share = Share()
    existing: frozenset[str] = frozenset()
    damaged: tuple[Path, ...] = ()

    def path(self, number: int) -> Path:
        """Return the path of the part with a given number."""
        return self.folder / f"part-{number:06}{self.suffix}"

    def mine(self, number: int) -> bool:
        """Return True if this process must write the part with the given number."""
        return number % self.share.total == self.share.number - 1

    def missing(self, number: int) -> bool:
        """Return True if the part does not exist yet and this process must write the part."""
        return self.mine(number) and self.path(number).name not in self.existing

    def wanted(self, first: int, end: int) -> bool:
        """Return True if a part that this process must write has a document in [first, end)."""
        return any(self.missing(n) for n in range(first // self.size, (end - 1) // self.size + 1))


def inference_record(
    results: Results,
    path: str,
    parts: Parts,
    layout: Layout,
    layer_index: int,
    steps: list[int] | None,
) -> dict[str, Any]:
    """Return, by name, all settings that determine the proportions, as stored in `RECORD`.

    Parameters
    ----------
    results : Results
    path : str
        The corpus: names, sizes and modification times of its files are recorded.
    parts : Parts
    layout : Layout
    layer_index, steps
        As for `infer`.

    Returns
    -------
    dict of str to object
        Values that JSON can hold; equal inferences have equal records.
    """
    topics = hashlib.sha256()
    for chain in results.chains:
        arrays = chain.checkpoint.arrays
        for name in sorted(arrays):
            topics.update(name.encode())
            topics.update(np.ascontiguousarray(arrays[name]).data)
    source = look(path)
    looks = [
        [file["name"], file.get("size"), file.get("stamp", [None])[0]]
        for file in (source, *source.get("files", ()))
    ]
    record = {
        "run": topics.hexdigest(),
        "input": hashlib.sha256(jsonio.pretty({"files": looks})).hexdigest(),
        "reading": asdict(results.reading_options()),
        "layer": layer_index + 1,
        "population": "these" if results.these else "alike",
        "draws": steps,
        "columns": [layout.topics, layout.top, layout.dense, list(layout.fields or ())],
        "format": parts.suffix,
        "documents of a part": parts.size,
    }
    plain_record: dict[str, Any] = jsonio.plain(record, where="parts")
    return plain_record


def prepare_parts(parts: Parts, record: dict[str, Any], *, force: bool) -> Parts:
    """Create the folder of parts, or list the existing parts if these have the same settings.

    A part of this process whose size or SHA-256 differs from the list of files is moved aside.

    Parameters
    ----------
    parts : Parts
    record : dict
        Result of `inference_record`.
    force : bool
        True to remove the parts that sgmc wrote into the folder, and begin again.

    Returns
    -------
    Parts
        `parts`, with the names of its existing and the new paths of its damaged parts.

    Raises
    ------
    OutputError
        If the folder cannot be made, contains other files, or has parts of another inference.
    """
    folder = parts.folder
    names = (
        [path.name for path in list_folder(folder, OutputError)]
        if is_folder(folder, OutputError)
        else []
    )
    existing = sorted(name for name in names if _PART.fullmatch(name))
    old = None
    with contextlib.suppress(OSError, ValueError):
        content = jsonio.parse(read_small(folder / RECORD))
        old = content if isinstance(content, dict) else None
    if force:
        claim_outputs(folder, [*existing, *({RECORD} & set(names))], force=True)
    elif old is None and path_exists(folder, OutputError) and _has_something(folder):
        raise OutputError(
            f"{folder}: exists already and has no parts of an inference; give another folder"
        )
    elif old is not None and old != record:
        other = ", ".join(name for name in record if old.get(name) != record[name])
        raise OutputError(
            f"{folder}: has parts of another inference (different: {other}); give another folder, "
            "or remove the parts with --force"
        )
    try:
        make_folder(folder, "output")
        files = claim_outputs(folder, [], force=force)
        if force:
            files.remove(existing)
            existing = []
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot be written: {error.strerror or error}; choose another folder"
        ) from None
    if old != record or RECORD not in names:
        with open_output(folder / RECORD) as file:
            file.write(jsonio.pretty(record))
    damaged = [
        name
        for name in existing
        if parts.mine(int(_PART.findall(name)[0])) and not files.owns(name)
    ]
    moved = [move_aside(folder / name, f"_{name}.damaged", "output") for name in damaged]
    return parts._replace(existing=frozenset(existing) - {*damaged}, damaged=tuple(moved))


def _has_something(folder: Path) -> bool:
    """Return True if a folder has files other than sgmc's file list and temporary files."""
    if not is_folder(folder, OutputError):
        return True
    return any(
        path.name != LIST and not is_marked(path.name) for path in list_folder(folder, OutputError)
    )


def write_parts(
    results: Results,
    documents: NamedDocuments,
    parts: Parts,
    layout: Layout,
    layer_index: int = 0,
    steps: list[int] | None = None,
    check: Callable[[], None] = lambda: None,
) -> Inferred:
    """Infer the documents of the missing parts; write each part as soon as it is complete.

    Parameters
    ----------
    results : Results
    documents : NamedDocuments
        All documents, or at least the ones that `Parts.wanted` asks for.
    parts : Parts
    layout : Layout
    layer_index, steps
        As for `infer`.
    check : callable () -> None
        Called before each block of documents. It may raise an exception to stop, and the next call
        continues with the first part that is not complete.

    Returns
    -------
    Inferred
        Number of the documents that this call inferred, and of these without a known word.
    """
    done = empty = 0
    cut = _cut_at_parts(documents, parts, check)
    for number, blocks in itertools.groupby(cut, key=lambda block: block[0] // parts.size):
        rows = (
            inferred._replace(names=names[inferred.first - first :][: len(inferred.lengths)])
            for first, block, names in blocks
            for inferred in infer(results, [block], layer_index, steps, first)
        )
        with open_output(parts.path(number)) as file:
            written = _write_rows(file, parts.suffix, layout, rows)
        done, empty = done + written.documents, empty + written.empty
    return Inferred(done, empty)


def _cut_at_parts(
    documents: NamedDocuments, parts: Parts, check: Callable[[], None]
) -> Iterator[tuple[int, Documents, Sequence[Named]]]:
    """Yield the documents of missing parts, divided at the boundaries of the parts.

    Yields
    ------
    first : int
        Row of the first document in the corpus.
    documents : Documents
    names : sequence of Named
    """
    for block in documents:
        first, names, begin = documents.first, documents.names(len(block)), 0
        while begin < len(block):
            check()
            number = (first + begin) // parts.size
            end = min(len(block), (number + 1) * parts.size - first)
            if parts.missing(number):
                yield first + begin, block.take(np.arange(begin, end)), names[begin:end]
            begin = end
