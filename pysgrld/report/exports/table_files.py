"""Tables of topics, of topics' words, and of documents, as ``csv`` or ``parquet``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import chain, takewhile
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.core.draws import Draw
from pysgrld.corpus import Corpus
from pysgrld.errors import plural
from pysgrld.models.word_order import PROBABLE
from pysgrld.reading.proportion_files import csv_lines, require_pyarrow
from pysgrld.reading.repeated_words import proportion_bounds
from pysgrld.reading.replicated import read_replicated
from pysgrld.reading.results import ChainOfTopics, Results
from pysgrld.report.document_pass import Shares, TopicShares, drawn_blocks, drawn_steps
from pysgrld.report.exports import Exported, ExportRequest, Tell, drawn_from
from pysgrld.report.reported_run import diagnosed
from pysgrld.report.sample_pass import TEN, Followed, followed
from pysgrld.report.topic_words import names_of
from pysgrld.report.words_over_time import words_over_time
from pysgrld.run.output_files import open_output
from pysgrld.types import Array, Doubles, Floats, Int64s, PositionsExcept

#: The sparse table of documents has a row for a topic if the topic's share is at least this number.
LISTED = 0.01
#: Minimum number of bytes in a Parquet row group, except in the last. Smaller groups make files
#: large.
_WAITING = 1 << 25
#: Maximum number of values of a CSV table written in one block.
_CELLS = 200_000
#: Maximum number of word probabilities in memory, over all draws. Topics are processed in blocks to
#: stay below this number.
_VALUES = 8_000_000


class TableColumn(NamedTuple):
    """Column of a table; ``kind`` names the type of its values, such as "topic" for int32."""

    name: str
    kind: str


_TOPICS = (
    TableColumn("topic", "topic"),
    TableColumn("label", "string"),
    *(TableColumn(name, "figure") for name in ("share", "low", "high")),
    *(TableColumn(name, "figure") for name in ("npmi", "steady", "overlap")),
    TableColumn("found", "topic"),
    TableColumn("replicated", "topic"),
    TableColumn("replicates", "topic"),
)
_WORDS = (
    TableColumn("topic", "topic"),
    TableColumn("rank", "topic"),
    TableColumn("word", "string"),
    *(TableColumn(name, "figure") for name in ("p", "low", "high", "in_ten")),
)
_OVER_TIME = (
    TableColumn("topic", "topic"),
    TableColumn("word", "string"),
    TableColumn("slice", "string"),
    *(TableColumn(name, "figure") for name in ("p", "low", "high")),
)


def files(results: Results, request: ExportRequest) -> list[str]:
    """Return the names of the tables; the documents' table requires the corpus.

    Raises
    ------
    MissingInputError
        If the library that writes the format is not installed.
    """
    if request.format == "parquet":
        require_pyarrow()
    names = ["topics", "topic-words"]
    names += [] if results.training_corpus() is None else ["documents"]
    names += ["words-over-time"] if results.fitted.slices else []
    return [f"{name}.{request.format}" for name in names]


def write(results: Results, request: ExportRequest, tell: Tell) -> Exported:
    """Write the tables for the first chain's topics, with their overlap between chains."""
    layer = request.at
    draw = None if request.draw == "mean" else results.fitted.current
    notes: list[str] = []
    written = "without a table of documents"
    weights, low, high = results.weights(layer), None, None
    corpus = results.training_corpus()
    if corpus is None:
        notes.append(
            f"{results.missing_corpus}, so the table of documents is missing; "
            f"{results.without_corpus}"
        )
    else:
        steps = drawn_steps(results) if draw is None else []
        shares = _write_documents(results, corpus, steps, draw, request, tell)
        written = plural(corpus.documents, "document")
        if results.fitted.counts() is None:
            shares = shares.about(weights if draw is None else None)
            weights = shares.mean[:, 0]
            low, high = (shares.low[:, 0], shares.high[:, 0]) if steps else (None, None)
    phi = results.phi(layer, draw)
    steady = _write_words(results, request, phi, follow=draw is None, tell=tell)
    if results.fitted.slices:
        _write_words_over_time(results, request)
    coherence, stored = results.coherence(TEN, layer, draw), None
    if layer == 0 and draw is None:
        stored = results.fit_measures.npmi
    # Overlap of each topic in the two chains that differ most, or in the two halves if there is
    # only one chain.
    overlap = None
    if request.draw == "mean" and not results.fitted.no_mean:
        diagnosis = diagnosed(results.chains, layer, notes)
        if diagnosis is not None:
            overlap = np.full(results.fitted.layers[layer], np.nan)
            for topic in diagnosis.topics:
                overlap[topic.id] = topic.overlap
    shown = results.fitted.shown(layer)
    labels = names_of(results, layer) | results.given_names(layer)
    npmi = stored if coherence is None else coherence.npmi
    stored_counts = read_replicated(results, layer) if draw is None else None
    counts: tuple[Int64s | None, Int64s | None] = None, None
    if stored_counts is not None:
        times = np.array(stored_counts.times)
        counts = times, np.full_like(times, stored_counts.replicates)
    numbers = weights, low, high, npmi, steady, overlap, results.found_by(layer), *counts
    target = request.folder / f"topics.{request.format}"
    with whole_table(target, request.format, _TOPICS) as table:
        table.write(
            [
                shown,
                [labels[k] for k in shown.tolist()],
                *([None] * len(shown) if part is None else part[shown] for part in numbers),
            ]
        )
    description = plural(len(shown), results.fitted.noun)
    return Exported(
        target, f"{description}, {written}, {drawn_from(results, request.draw)}", tuple(notes)
    )


def _write_documents(
    results: Results,
    corpus: Corpus,
    steps: list[int],
    draw: Draw | None,
    request: ExportRequest,
    tell: Tell,
) -> Shares:
    """Write the table of documents; return the shares of the topics in the training documents.

    The dense table has one row for each document, with a column for each topic. The sparse table
    has, for each document, a row for each topic with a share of at least 0.01, and for the greatest
    topic.

    Parameters
    ----------
    results : Results
    corpus : Corpus
        The training corpus of the run.
    steps : list of int
        Kept samples under which topics of documents are drawn; if empty, `draw` is used.
    draw : Draw or None
        The draw to use if `steps` is empty; None for the mean.
    request : ExportRequest
    tell : callable
    """
    k, about = results.fitted.layers[request.at], corpus.about
    first = [TableColumn("row", "integer"), TableColumn("id", "string")]
    last = [TableColumn("held_out", "flag"), TableColumn("tokens", "integer")]
    if request.sparse:
        last += [TableColumn("topic", "topic")]
        last += [TableColumn(name, "share") for name in ("share", "low", "high")]
    else:
        last += [TableColumn(f"topic_{topic}", "share") for topic in range(k)]
    taken = {column.name for column in (*first, *last)}
    parts = []
    for column in about.columns:
        name = column.name
        # If the table already has a column of this name, the corpus's column gets another name.
        while name in taken:
            name = f"column_{name}"
        taken.add(name)
        parts.append(TableColumn(name, column.kind))

    held_out = results.training_documents(corpus).without
    # Positions of all documents, which are computed on access instead of stored in a list.
    rows = PositionsExcept(corpus.documents, np.zeros(0, np.int64))
    in_all = TopicShares.in_training(results, corpus, rows[:])
    in_all.begin(max(1, len(steps)), len(rows), k)
    path = request.folder / f"documents.{request.format}"
    with whole_table(path, request.format, first + parts + last) as table:
        for block in drawn_blocks(results, corpus, rows, steps, request.at, draw):
            block_rows = rows[block.at]
            who = [
                block_rows,
                about.ids(block_rows),
                *(about.values(c.name, block_rows) for c in about.columns),
            ]
            values: list[Any] = [*who, np.isin(block_rows, held_out), block.lengths]
            share = block.theta.mean(axis=0, dtype=np.float64)
            if request.sparse:
                shown = share >= LISTED
                shown[np.arange(len(share)), share.argmax(axis=1)] = True
                document, topic = np.nonzero(shown)
                order = np.lexsort((topic, -share[document, topic], document))
                document, topic = document[order], topic[order]
                low = high = np.full(len(document), np.nan)
                if len(block.theta) > 1:
                    low, high = proportion_bounds(
                        block.theta[:, document, topic], block.factors[document, topic]
                    )
                values = [
                    part[document]
                    if isinstance(part, np.ndarray)
                    else [part[i] for i in document.tolist()]
                    for part in values
                ]
                shares = (part.astype(np.float32) for part in (share[document, topic], low, high))
                table.write([*values, topic, *shares])
            else:
                table.write([*values, *np.ascontiguousarray(share.T, np.float32)])
            in_all.add(block)
            tell("writing documents", block.at.stop, corpus.documents)
    return in_all.shares


def _write_words(
    results: Results, request: ExportRequest, phi: Floats, *, follow: bool, tell: Tell
) -> Doubles | None:
    """Write the table of words, and return each topic's mean number of stable top words.

    The mean is over draws. A word is stable in a draw if it is among the topic's ten top words both
    in ``phi`` and in the draw. The result is None without draws.
    """
    layer = request.at
    shown, v, k = results.fitted.shown(layer), len(results.vocabulary), results.fitted.layers[layer]
    steady: Doubles | None = np.full(k, np.nan)
    draws = max(1, len(results.word_steps(layer)[0]))
    n = min(request.top, v)
    size = max(1, _VALUES // (draws * min(n + TEN, v)))
    first, ten = (
        results.order_topics(phi, n, layer),
        results.order_topics(phi, TEN, layer, PROBABLE),
    )
    path = request.folder / f"topic-words.{request.format}"
    with whole_table(path, request.format, _WORDS) as table:
        for begin in range(0, len(shown), size):
            ids = shown[begin : begin + size]
            words = np.concatenate([first[ids], ten[ids]], axis=1)
            once, among = np.ones(words.shape, bool), np.ones(words.shape, bool)
            once[:, n:] = ~(ten[ids][:, :, None] == first[ids][:, None]).any(axis=2)
            among[:, :n] = (first[ids][:, :, None] == ten[ids][:, None]).any(axis=2)
            p = phi[words, ids[:, None]].astype(np.float64)
            tracked = Followed(None, np.zeros(words.shape), 0, 0)
            if follow:
                sources = [ChainOfTopics(c, rows[ids]) for c, rows in results.sources(layer)]
                tracked = followed(sources, words, once, layer)
            if steady is not None and tracked.draws:
                steady[ids] = (tracked.ten * among).sum(axis=1)
            else:
                steady = None
            # Without draws, the interval bounds and the fraction of draws in which a word is in the
            # top ten are NaN.
            low = high = in_ten = np.full(p.shape, np.nan)
            if tracked.interval is not None:
                low, high, low_open, high_open, _ = tracked.interval
                low, high = np.where(low_open, np.nan, low), np.where(high_open, np.nan, high)
                in_ten = tracked.ten
            table.write(
                [
                    np.repeat(ids, n),
                    np.tile(np.arange(1, n + 1), len(ids)),
                    [results.vocabulary[w] for w in words[:, :n].ravel().tolist()],
                    *(part[:, :n].ravel() for part in (p, low, high, in_ten)),
                ]
            )
            tell("following words", int(ids[-1]) + 1, k)
    return steady


def _write_words_over_time(results: Results, request: ExportRequest) -> None:
    """Write the table of word probabilities in time slices, for the most probable words."""
    names, topics = results.fitted.slices, results.fitted.shown(request.at)
    series = words_over_time(results, topics, request.top)
    n = series.words.shape[1]
    path = request.folder / f"words-over-time.{request.format}"
    with whole_table(path, request.format, _OVER_TIME) as table:
        for i, topic in enumerate(topics.tolist()):
            words = [results.vocabulary[w] for w in series.words[i].tolist()]
            parts = (getattr(series, part)[i].ravel() for part in ("mean", "low", "high"))
            table.write(
                [
                    [topic] * (n * len(names)),
                    [word for word in words for _ in names],
                    [*names] * n,
                    *parts,
                ]
            )


# ---- tables that are written block by block of rows


class CsvTable:
    """CSV table with a header and one line per row; floats have seven significant digits."""

    def __init__(self, file: IO[bytes], columns: Sequence[TableColumn]) -> None:
        self._file = file
        #: Number of columns with shares. These columns come last.
        self._shares = sum(1 for _ in takewhile(lambda c: c.kind == "share", reversed(columns)))
        file.writelines(csv_lines([[column.name for column in columns]]))

    def write(self, values: Sequence[Any]) -> None:
        """Write rows, given as one sequence of values per column; None or NaN is a missing value."""
        rows, first = len(values[0]), len(values) - self._shares
        chunk_size = max(1, _CELLS // len(values))
        for begin in range(0, rows, chunk_size):
            parts = [part[begin : begin + chunk_size] for part in values]
            shares = np.array(parts[first:], np.float64)
            if not shares.size or np.isnan(shares).any():
                self._file.writelines(csv_lines(zip(*map(_plain, parts), strict=True)))
                continue
            heads = csv_lines(zip(*map(_plain, parts[:first]), strict=True))
            numbers = core.decimals(np.ascontiguousarray(shares.T), separator=",", point=True)
            lines = (
                (head[:-1], b",", row, b"\n") for head, row in zip(heads, numbers, strict=True)
            )
            self._file.write(b"".join(chain.from_iterable(lines)))

    def end(self) -> None:
        """Do nothing, because CSV has no footer."""


def _plain(part: Sequence[Any] | Array) -> list[Any]:
    """Return values in the form to be written: floats with seven significant digits, None for NaN."""
    cells = part.tolist() if isinstance(part, np.ndarray) else part
    return [(float(f"{v:.7g}") if v == v else None) if isinstance(v, float) else v for v in cells]


class ParquetTable:
    """Parquet table with typed columns: dictionaries for categories, UTC for times."""

    def __init__(self, file: IO[bytes], columns: Sequence[TableColumn]) -> None:
        pa, pq = require_pyarrow()
        self._pa, self._columns = pa, columns
        types = {
            "string": pa.string(),
            "category": pa.dictionary(pa.int32(), pa.string()),
            "integer": pa.int64(),
            "real": pa.float64(),
            "time": pa.timestamp("us", tz="UTC"),
            "flag": pa.bool_(),
            "topic": pa.int32(),
            "share": pa.float32(),
            "figure": pa.float64(),
        }
        self._schema = pa.schema([(column.name, types[column.kind]) for column in columns])
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd")
        self._waiting: list[Any] = []
        self._bytes = 0

    def write(self, values: Sequence[Any]) -> None:
        """Collect rows, given as in `CsvTable.write`, and write them when they fill a row group."""
        arrays = []
        for part, column, field in zip(values, self._columns, self._schema, strict=True):
            plain = part
            if column.kind == "time":
                plain = np.array(["NaT" if v is None else v for v in part], "datetime64[us]")
            arrays.append(self._pa.array(plain, field.type, from_pandas=True))
        table = self._pa.Table.from_arrays(arrays, schema=self._schema)
        self._waiting.append(table)
        self._bytes += table.nbytes
        if self._bytes >= _WAITING:
            self._flush()

    def end(self) -> None:
        """Write the last rows and the footer of the file."""
        if self._waiting:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        table = self._pa.concat_tables(self._waiting).unify_dictionaries()
        self._waiting, self._bytes = [], 0
        self._writer.write_table(table, row_group_size=max(1, len(table)))


TABLES: dict[str, type[CsvTable | ParquetTable]] = {"csv": CsvTable, "parquet": ParquetTable}


@contextlib.contextmanager
def whole_table(
    path: Path, format: str, columns: Sequence[TableColumn]
) -> Iterator[CsvTable | ParquetTable]:
    """Open a table for writing; the file gets its final name when the table is complete.

    Parameters
    ----------
    path : Path
        File of the table.
    format : str
        Key of `TABLES`: "csv" or "parquet".
    columns : sequence of TableColumn
        Columns in their order.

    Yields
    ------
    CsvTable or ParquetTable
        The table, open for rows.

    Raises
    ------
    MissingInputError
        If the library that writes the format is not installed.
    OutputError
        If it cannot be created.
    WriteError
        If writing fails; the previous file is intact.
    """
    with open_output(path) as file:
        table = TABLES[format](file, columns)
        try:
            yield table
        except BaseException:
            with contextlib.suppress(Exception):
                table.end()  # Close the writer also after an error, so that it releases the file.
            raise
        table.end()
