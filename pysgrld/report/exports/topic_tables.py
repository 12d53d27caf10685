"""Tables of topics, of their words, and of documents: ``csv`` and ``parquet``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pysgrld.core.draws import Draw
from pysgrld.errors import plural
from pysgrld.reading.proportion_files import require_pyarrow
from pysgrld.reading.results import Results
from pysgrld.report.documents import Shares, drawn_steps
from pysgrld.report.exports.documents import DocumentTable
from pysgrld.report.exports.request import Exported, ExportRequest, Tell, drawn_from
from pysgrld.report.exports.tabular import TableColumn, whole_table
from pysgrld.report.gather import diagnosed
from pysgrld.report.names import names_of
from pysgrld.report.terms import TEN, ChainOfTopics, Followed, best, followed
from pysgrld.types import Doubles, Floats, Int64s

_FIGURES = ("share", "low", "high", "npmi", "steady", "overlap")
_TOPICS = (
    TableColumn("topic", "topic"),
    TableColumn("label", "string"),
    *(TableColumn(name, "figure") for name in _FIGURES),
)
_WORDS = (
    TableColumn("topic", "topic"),
    TableColumn("rank", "topic"),
    TableColumn("word", "string"),
    *(TableColumn(name, "figure") for name in ("p", "low", "high", "in_ten")),
)
#: Values of draws of words that are held together: topics are followed in blocks of that size.
_VALUES = 8_000_000


def files(chains: Sequence[Results], asked: ExportRequest) -> list[str]:
    """Name the tables; that of documents needs the corpus.

    Raises
    ------
    MissingInputError
        If what writes the format is not installed.
    """
    if asked.format == "parquet":
        require_pyarrow()
    names = ["topics", "topic-words"]
    names += [] if chains[0].training_corpus() is None else ["documents"]
    return [f"{name}.{asked.format}" for name in names]


def write(chains: Sequence[Results], asked: ExportRequest, tell: Tell) -> Exported:
    """Write the tables; topics are those of the first chain, which others are compared with."""
    results, at = chains[0], asked.at
    draw = None if asked.draw == "mean" else results.current
    notes: list[str] = []
    written = "no table of documents"
    weights, low, high = results.weights(at), None, None
    corpus = results.training_corpus()
    if corpus is None:
        notes.append(
            f"{results.gone}: no table of documents and no coherence; shares are those in held-out "
            "documents, if there are any"
        )
    else:
        steps = drawn_steps(results) if draw is None else []
        documents = DocumentTable(results, corpus, steps, draw, asked.sparse, at)
        totals = np.zeros((max(1, len(steps)), 1, results.layers[at]))
        path = asked.folder / f"documents.{asked.format}"
        with whole_table(path, asked.format, documents.columns()) as table:
            for done, tokens in documents.write(table):
                totals[:, 0] += tokens
                tell("writing documents", done, corpus.documents)
        written = plural(corpus.documents, "document")
        if results.fitted.counts() is None:
            shares = Shares.of(totals)
            weights = shares.mean[:, 0]
            low, high = (shares.low[:, 0], shares.high[:, 0]) if steps else (None, None)
    phi = results.fitted.over_words(results.mean if draw is None else draw, at)
    steady = _write_words(results, asked, phi, follow=draw is None, tell=tell)
    target = asked.folder / f"topics.{asked.format}"
    shown = results.fitted.shown(at)
    labels = names_of(results, at) | results.given_names(at)
    columns = [
        shown,
        [labels[k] for k in shown.tolist()],
        *(_column(part, shown) for part in (weights, low, high)),
        _column(_coherence(results, at, draw), shown),
        _column(steady, shown),
        _column(_overlap(chains, asked, notes), shown),
    ]
    with whole_table(target, asked.format, _TOPICS) as table:
        table.write(columns)
    what = plural(len(shown), results.fitted.noun)
    return Exported(target, f"{what}, {written}, {drawn_from(results, asked.draw)}", tuple(notes))


def _column(values: Doubles | None, shown: Int64s) -> Any:
    return [None] * len(shown) if values is None else values[shown]


def _coherence(results: Results, at: int, draw: Draw | None) -> Doubles | None:
    found = results.coherence(TEN, at, draw)
    return None if found is None else found.npmi


def _overlap(chains: Sequence[Results], asked: ExportRequest, notes: list[str]) -> Doubles | None:
    """Give what the two least similar chains, or the halves of one, have in common of each topic."""
    if asked.draw != "mean" or chains[0].fitted.no_mean:
        return None
    found = diagnosed(chains, asked.at, notes)
    if found is None:
        return None
    overlap = np.full(chains[0].layers[asked.at], np.nan)
    for topic in found.topics:
        overlap[topic.id] = topic.overlap
    return overlap


def _write_words(
    results: Results, asked: ExportRequest, phi: Floats, *, follow: bool, tell: Tell
) -> Doubles | None:
    """Write the table of words; give how many of the ten first each topic keeps, over the draws."""
    shown, v = results.fitted.shown(asked.at), len(results.vocabulary)
    steady: Doubles | None = np.full(results.layers[asked.at], np.nan)
    path = asked.folder / f"topic-words.{asked.format}"
    draws = len(results.word_steps(asked.at)[0])
    with whole_table(path, asked.format, _WORDS) as table:
        for ids in _blocks(shown, max(1, draws) * min(max(asked.top, TEN), v)):
            columns = np.ascontiguousarray(phi[:, ids].T, np.float64)
            words = np.stack([best(column, max(asked.top, TEN)) for column in columns])
            p = np.take_along_axis(columns, words, axis=1)
            found = Followed(None, np.zeros(words.shape), 0, 0)
            if follow:
                source = ChainOfTopics(results, ids)
                found = followed([source], words, np.ones(words.shape, bool), asked.at)
            steady = _kept(steady, ids, found)
            n = min(asked.top, words.shape[1])
            columns_of_words = [
                np.repeat(ids, n),
                np.tile(np.arange(1, n + 1), len(ids)),
                [results.vocabulary[w] for w in words[:, :n].ravel().tolist()],
                *(part[:, :n].ravel() for part in (p, *_interval(found, p))),
            ]
            table.write(columns_of_words)
            tell("following words", int(ids[-1]) + 1, results.layers[asked.at])
    return steady


def _blocks(shown: Int64s, values: int) -> Iterator[Int64s]:
    """Take some topics at a time, of each of which there are so many values."""
    size = max(1, _VALUES // values)
    for begin in range(0, len(shown), size):
        yield shown[begin : begin + size]


def _kept(steady: Doubles | None, ids: Int64s, found: Followed) -> Doubles | None:
    if steady is None or not found.draws:
        return None
    steady[ids] = found.ten[:, :TEN].sum(axis=1)
    return steady


def _interval(found: Followed, p: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Give low and high ends and the share of draws with the word among the ten; NaN where unknown."""
    nothing = np.full(p.shape, np.nan)
    if found.interval is None:
        return nothing, nothing, nothing
    low, high, low_open, high_open = found.interval
    return np.where(low_open, np.nan, low), np.where(high_open, np.nan, high), found.ten
