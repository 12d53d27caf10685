"""One pass over documents given the topics, in bounded memory, and the sums that it collects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.core.draws import Draw
from pysgrld.corpus import Corpus
from pysgrld.errors import MissingInputError
from pysgrld.models.fitted import evenly_spaced
from pysgrld.reading.intervals import ENOUGH, bounds
from pysgrld.reading.results import Results
from pysgrld.types import Doubles, Floats, Int64s, Others, Positions

#: Documents that are looked at, at most, and draws of each one's topics.
DOCUMENTS, DRAWS = 20_000, ENOUGH
#: Documents on the map, at most, and numbers of their proportions.
MAPPED, _MAPPED_CELLS = 100_000, 20_000_000
#: Documents on the map of a page that is a folder, at most, and of one file of it.
BESIDE, PLACED = 1_000_000, 102_400
#: Topics of a document that are kept with their intervals.
TOPICS = 12
#: Share of a document from which on it is counted as having a topic.
HAS = 0.1
#: Documents listed of each topic, and the least low end that is sure to be more than chance.
BEST, SURE = 5, 0.01
#: Numbers of a block of documents at least, and of the sums of products behind correlations at most.
_CELLS, _PRODUCTS = 8_000_000, 10_000_000
#: Share of the draws that must agree on the sign of a correlation.
AGREE = 0.9


# ---- the pass


class DrawnBlock(NamedTuple):
    """Draws of some documents: theta and tokens (S, n, K), and their places among the requested ones."""

    at: slice
    theta: Floats
    tokens: Floats
    lengths: Int64s


class DocumentVisitor(ABC):
    """Sums something up over documents, which it is shown a block at a time."""

    @abstractmethod
    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Start, or start again.

        Parameters
        ----------
        draws : int
            S, the draws of each document that follow; 1 without samples.
        documents, topics : int
            n and K.
        """

    @abstractmethod
    def add(self, block: DrawnBlock) -> None:
        """Take the next documents."""


def looked_at(corpus: Corpus) -> Int64s:
    """Return the documents that are drawn: all, or 20,000 evenly spaced."""
    return evenly_spaced(Others(corpus.documents, np.zeros(0, np.int64)), DOCUMENTS)


def on_map(corpus: Corpus, topics: int) -> Int64s:
    """Return the documents on the map: the ones that are drawn, and evenly spaced others."""
    most = DOCUMENTS * max(1, min(MAPPED, _MAPPED_CELLS // topics) // DOCUMENTS)
    return evenly_spaced(Others(corpus.documents, np.zeros(0, np.int64)), most)


def beside_map(corpus: Corpus, mapped: Int64s, topics: int) -> list[Int64s]:
    """Return blocks of the documents that only the map of a page in a folder has."""
    rows = evenly_spaced(Others(corpus.documents, np.zeros(0, np.int64)), BESIDE)
    rows = np.setdiff1d(rows, mapped, assume_unique=True)
    placed = max(1, min(PLACED, _MAPPED_CELLS // topics))
    return [rows[begin : begin + placed] for begin in range(0, len(rows), placed)]


def read_documents(
    results: Results, corpus: Corpus, rows: Int64s, layer: int, visitors: Sequence[DocumentVisitor]
) -> int:
    """Draw the topics of documents, and show them to all visitors in one pass.

    Parameters
    ----------
    results : Results
    corpus : Corpus
        That the run was trained on.
    rows : (n,) int64
        Documents of it.
    layer : int
        The layer, counted from 0.
    visitors : sequence of DocumentVisitor

    Returns
    -------
    int
        Draws of each document; 1: proportions under the mean topics, without intervals.
    """
    while True:
        steps = drawn_steps(results)
        draws = max(1, len(steps))
        for visitor in visitors:
            visitor.begin(draws, len(rows), results.fitted.layers[layer])
        try:
            for block in drawn_blocks(results, corpus, rows, steps, layer):
                for visitor in visitors:
                    visitor.add(block)
        except MissingInputError:  # a run in training may have thinned its samples meanwhile
            if drawn_steps(results) == steps:
                raise
        else:
            return draws


def drawn_steps(results: Results) -> list[int]:
    """Return the kept samples that documents are drawn by; empty if they give no intervals.

    Parameters
    ----------
    results : Results
        The open run.

    Returns
    -------
    list of int
        Iterations of the samples.
    """
    if results.fitted.no_mean or not results.fitted.draws:
        return []
    steps = results.draw_steps(DRAWS)
    return steps if len(steps) >= ENOUGH else []


def drawn_blocks(
    results: Results,
    corpus: Corpus,
    rows: Positions,
    steps: list[int],
    layer: int,
    draw: Draw | None = None,
) -> Iterator[DrawnBlock]:
    """Yield draws of some documents at a time, in memory that is bounded, or as much as topics take.

    Every block reads all samples: the larger these are, the fewer blocks there are. Without samples
    documents are read under one draw of the topics, by default their mean, in small blocks: the rows of
    their words are copied.
    """
    k = results.fitted.layers[layer]
    if steps:
        size = max(_CELLS, k * len(results.vocabulary)) // (k * len(steps))
    else:
        size = _CELLS // (k * max(1, corpus.nnz // max(1, corpus.documents)))
    size = max(16, size)
    for begin in range(0, len(rows), size):
        block_rows = slice(begin, min(begin + size, len(rows)))
        documents, ids = corpus.take(rows[block_rows]), rows[block_rows]
        if steps:
            draws = results.document_draws(documents, ids, steps, layer)
            theta, tokens = draws.theta, draws.tokens
        else:
            one = results.proportions(documents, ids, layer, draw)
            theta = one.astype(np.float32)[None]
            tokens = theta * documents.lengths[:, None].astype(np.float32)
        yield DrawnBlock(block_rows, theta, tokens, documents.lengths)


# ---- sums over documents


class Shares(NamedTuple):
    """Shares of each topic in some groups: mean over the draws, and their quantiles, (K, groups)."""

    mean: Doubles
    low: Doubles
    high: Doubles

    @classmethod
    def of(cls, tokens: Doubles, effective: Doubles | None = None) -> Shares:
        """Divide tokens (S, groups, K) by the tokens of their group, draw by draw.

        ``effective`` are the effective sizes of draws of the topics' shares, (K,).
        """
        total = tokens.sum(axis=2, keepdims=True)
        share = np.divide(tokens, total, out=np.zeros_like(tokens), where=total > 0)
        low, high = bounds(share, effective)
        return cls(share.mean(axis=0).T, low.T, high.T)

    def about(self, weights: Doubles | None) -> Shares:
        """Return shares of the whole corpus with these means, (K,), within their intervals."""
        if weights is None:
            return self
        mean = weights[:, None]
        return Shares(mean, np.minimum(self.low, mean), np.maximum(self.high, mean))


class TopicShares(DocumentVisitor):
    """Shares of all topics in the tokens of these documents.

    Parameters
    ----------
    effective : (K,) float64, optional
        Effective sample sizes of the shares, if their draws are not independent.
    """

    def __init__(self, effective: Doubles | None = None) -> None:
        self._effective = effective

    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Start with no tokens."""
        self._tokens = np.zeros((draws, 1, topics))

    def add(self, block: DrawnBlock) -> None:
        """Add the tokens of documents."""
        self._tokens[:, 0] += block.tokens.sum(axis=1, dtype=np.float64)

    @property
    def shares(self) -> Shares:
        """Shares of the topics, (K, 1)."""
        return Shares.of(self._tokens, self._effective)


class DocumentTopics(DocumentVisitor):
    """Topics of each document: mean proportions of all, and intervals of the greatest.

    Attributes
    ----------
    lengths : (n,) int64
    theta : (n, K) float16
        Mean proportions.
    top : (n, T) int64
        Topics of the greatest mean proportions, the greatest first.
    mean, low, high : (n, T) float32
        Their proportions.
    counts : (K,) int64
        Documents with a tenth or more of the topic.
    """

    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Make room for all documents."""
        wide = documents, min(TOPICS, topics)
        self.lengths = np.empty(documents, np.int64)
        self.theta: npt.NDArray[np.float16] = np.empty((documents, topics), np.float16)
        self.top = np.empty(wide, np.int64)
        self.mean, self.low, self.high = (np.empty(wide, np.float32) for _ in range(3))
        self.counts = np.zeros(topics, np.int64)

    def add(self, block: DrawnBlock) -> None:
        """Keep the topics of documents at their places."""
        block_rows, centre = block.at, block.theta.mean(axis=0)
        self.theta[block_rows], self.lengths[block_rows] = centre, block.lengths
        self.counts += (centre >= HAS).sum(axis=0)
        order = np.argsort(-centre, axis=1, kind="stable")[:, : self.top.shape[1]]
        self.top[block_rows] = order
        largest = np.take_along_axis(block.theta, order[None], axis=2)
        self.mean[block_rows] = largest.mean(axis=0)
        self.low[block_rows], self.high[block_rows] = bounds(largest)

    def representatives(self, most: int = BEST) -> list[list[int]]:
        """Return the documents that most surely have each topic: their places, the surest first.

        By the low end of the share, not its mean: short documents do not win by chance.
        """
        place = np.repeat(np.arange(len(self.top)), self.top.shape[1])
        topic, low = self.top.ravel(), self.low.ravel()
        sure = low >= SURE
        place, topic, low = place[sure], topic[sure], low[sure]
        order = np.lexsort((place, -low, topic))
        ends = np.searchsorted(topic[order], np.arange(len(self.counts) + 1))
        return [place[order[a:b]][:most].tolist() for a, b in pairwise(ends)]


class Correlation(DocumentVisitor):
    """Correlation of the roots of the topics' proportions over documents, in each of some draws."""

    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Start with no documents; of many topics a few draws are followed, of no samples none."""
        draws = min(draws, max(2, _PRODUCTS // (topics * topics))) if draws > 1 else 0
        self._n, self._sums = 0, np.zeros((draws, topics))
        self._products = np.zeros((draws, topics, topics))

    def add(self, block: DrawnBlock) -> None:
        """Add the roots of documents and their products."""
        root = np.sqrt(block.theta[: len(self._sums)])
        self._n += root.shape[1]
        self._sums += root.sum(axis=1, dtype=np.float64)
        for products, draw in zip(self._products, root, strict=True):
            products += draw.T @ draw

    @property
    def matrix(self) -> Doubles | None:
        """The draws' mean, (K, K): 0 if fewer than 90 % agree on the sign; None without draws."""
        draws = len(self._sums)
        if not draws:
            return None
        total, sign = np.zeros(self._products.shape[1:]), np.zeros(self._products.shape[1:])
        for products, sums in zip(self._products, self._sums / self._n, strict=True):
            covariance = products / self._n - np.outer(sums, sums)
            scale = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
            matrix = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
            total += matrix
            sign += matrix > 0
        agreed = np.maximum(sign, draws - sign) >= AGREE * draws
        mean: Doubles = np.where(agreed, total / draws, 0.0)
        np.fill_diagonal(mean, 1.0)
        return mean
