"""Statistics of the topics of documents, computed in one pass, with bounded memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pysgrld.core.draws import Draw
from pysgrld.corpus import Corpus
from pysgrld.errors import MissingInputError
from pysgrld.models.fitted import evenly_spaced
from pysgrld.reading.intervals import ENOUGH, bounds, interval
from pysgrld.reading.repeated_words import Repetition, proportion_bounds
from pysgrld.reading.results import Results
from pysgrld.types import Array, Doubles, Floats, Int64s, Positions, PositionsExcept

#: Maximum number of documents that are analysed.
DOCUMENTS = 20_000
#: Number of draws of each document's topics.
DRAWS = ENOUGH
#: Maximum number of documents on the map.
MAPPED = 100_000
#: Maximum number of entries in the matrix with the topic proportions of the documents on the map.
_MAPPED_CELLS = 20_000_000
#: Maximum number of documents on the map of a page that is written as a folder (``--folder``).
BESIDE = 1_000_000
#: Maximum number of documents in one file of a page that is written as a folder.
PLACED = 102_400
#: Maximum number of a document's topics that are stored with intervals.
TOPICS = 12
#: A topic occurs in a document if the topic's share of the document is at least this number.
HAS = 0.1
#: Maximum number of documents listed for a topic.
BEST = 5
#: A document is listed for a topic only if the lower bound of the topic's share is at least this
#: number. Smaller shares may be due to chance.
SURE = 0.01
#: Maximum number of proportions (documents x draws x topics) in a block of documents. If the topic
#: matrix has more elements, a block may have as many proportions.
_CELLS = 8_000_000
#: Maximum number of sums of products (draws x topics x topics) from which correlations are
#: computed.
_PRODUCTS = 10_000_000
#: A correlation is set to 0 unless at least this fraction of draws agree on its sign.
AGREE = 0.9
#: A standard normal variable is between minus this number and plus this number with probability
#: 0.9.
NORMAL = 1.6449


# ---- the pass


class DrawnBlock(NamedTuple):
    """Draws of the topics of several documents that are processed together.

    Attributes
    ----------
    at : slice
        Positions of the block's documents among the requested documents.
    theta, tokens : (S, n, K) float32
        Proportions of topics, and numbers of tokens of topics, in each of S draws.
    lengths : (n,) int64
        Number of tokens of each document.
    factors : (n, K) float64
        Factors by which intervals of proportions are widened.
    """

    at: slice
    theta: Floats
    tokens: Floats
    lengths: Int64s
    factors: Doubles


class DocumentVisitor(ABC):
    """Base class of statistics of documents, which are accumulated block by block."""

    @abstractmethod
    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Reset the statistics, before the first block and whenever the pass restarts.

        Parameters
        ----------
        draws : int
            Number of draws of each document; it is 1 if the run has no samples.
        documents, topics : int
            Number of documents, and number of topics.
        """

    @abstractmethod
    def add(self, block: DrawnBlock) -> None:
        """Add a block of documents to the statistics; blocks come in the order of the corpus."""


def looked_at(corpus: Corpus) -> Int64s:
    """Return the positions of the documents to analyse: all, or 20,000 evenly spaced documents."""
    return evenly_spaced(PositionsExcept(corpus.documents, np.zeros(0, np.int64)), DOCUMENTS)


def on_map(corpus: Corpus, topics: int) -> Int64s:
    """Return the rows of the documents that the map shows: all, or an evenly spaced sample."""
    most = DOCUMENTS * max(1, min(MAPPED, _MAPPED_CELLS // topics) // DOCUMENTS)
    return evenly_spaced(PositionsExcept(corpus.documents, np.zeros(0, np.int64)), most)


def beside_map(corpus: Corpus, mapped: Int64s, topics: int) -> list[Int64s]:
    """Return blocks of further documents, which only a page that is a folder adds to its map."""
    rows = evenly_spaced(PositionsExcept(corpus.documents, np.zeros(0, np.int64)), BESIDE)
    rows = np.setdiff1d(rows, mapped, assume_unique=True)
    placed = max(1, min(PLACED, _MAPPED_CELLS // topics))
    return [rows[begin : begin + placed] for begin in range(0, len(rows), placed)]


def read_documents(
    results: Results, corpus: Corpus, rows: Int64s, layer: int, visitors: Sequence[DocumentVisitor]
) -> int:
    """Draw the topics of the given documents once, and pass the draws to all visitors.

    Parameters
    ----------
    results : Results
    corpus : Corpus
        Training corpus of the run.
    rows : (n,) int64
        Documents of the corpus.
    layer : int
        The layer, counted from 0.
    visitors : sequence of DocumentVisitor

    Returns
    -------
    int
        Number of draws of each document. If it is 1, visitors got the proportions under the mean
        topics, which have no intervals.
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
        # If the run is still training, it may have deleted samples in the meantime.
        except MissingInputError:
            if drawn_steps(results) == steps:
                raise
        else:
            return draws


def drawn_steps(results: Results) -> list[int]:
    """Return the iterations of the stored topic samples that are used to analyse documents.

    Parameters
    ----------
    results : Results
        The open run.

    Returns
    -------
    list of int
        Iterations of the samples; empty if they are too few for intervals.
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
    """Yield draws of the topics of documents, in blocks of bounded memory.

    Each block reads all samples, so a block may use as much memory as the matrix of topics. Without
    samples, proportions are computed under one draw of the topics, by default their mean. Blocks
    are small then, because the rows of the topics for the documents' words are copied.
    """
    k = results.fitted.layers[layer]
    if steps:
        size = max(_CELLS, k * len(results.vocabulary)) // (k * len(steps))
    else:
        size = _CELLS // (k * max(1, corpus.nnz // max(1, corpus.documents)))
    size, repetition = max(16, size), Repetition(results, layer) if steps else None
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
        factors = np.ones(theta.shape[1:])
        if repetition is not None:
            factors = repetition.factors(documents, theta.mean(axis=0))
        yield DrawnBlock(block_rows, theta, tokens, documents.lengths, factors)


# ---- sums over documents


class Shares(NamedTuple):
    """Share of each topic in each group of documents: mean and interval over draws, (K, groups)."""

    mean: Doubles
    low: Doubles
    high: Doubles

    @classmethod
    def of(cls, tokens: Doubles, effective: Doubles | None = None) -> Shares:
        """Compute shares from the tokens of each topic in each group and draw, (S, groups, K).

        The first axis of ``tokens`` is over S draws. ``effective`` has the effective number of
        draws of each topic's share, (K,).
        """
        total = tokens.sum(axis=2, keepdims=True)
        share = np.divide(tokens, total, out=np.zeros_like(tokens), where=total > 0)
        low, high = bounds(share, effective)
        return cls(share.mean(axis=0).T, low.T, high.T)

    @classmethod
    def traced(cls, trace: Doubles, deviation: Doubles | None) -> Shares | None:
        """Compute shares from their draws in a Gibbs refinement, (S, K); None if S is too small.

        ``deviation`` is that of `share_deviation`, (K,), or None for these documents alone.
        """
        certain = np.zeros(trace.shape[1], bool)
        if (limits := interval([[(draw, certain) for draw in trace]], exact=True)) is None:
            return None
        mean = trace.mean(axis=0, dtype=np.float64)
        shares = cls(mean[:, None], limits.low[:, None], limits.high[:, None])
        return shares if deviation is None else shares.widen(deviation)

    def widen(self, deviation: Doubles) -> Shares:
        """Widen the intervals for an additional normal error with the given standard deviations."""
        more = NORMAL * deviation[:, None]
        low = self.mean - np.hypot(self.mean - self.low, more)
        high = self.mean + np.hypot(self.high - self.mean, more)
        return Shares(self.mean, np.maximum(0.0, low), np.minimum(1.0, high))

    def about(self, weights: Doubles | None) -> Shares:
        """Shift means and intervals so that the means become the given topic weights, (K,)."""
        if weights is None:
            return self
        mean = weights[:, None]
        low, high = (np.clip(part + mean - self.mean, 0.0, 1.0) for part in (self.low, self.high))
        return Shares(mean, np.minimum(low, mean), np.maximum(high, mean))


class TopicShares(DocumentVisitor):
    """Visitor that computes the share of each topic in the tokens of the documents.

    Parameters
    ----------
    effective : (K,) float64, optional
        Effective sample sizes of the shares, if their draws are not independent.
    counted : (n,) bool, optional
        True for documents that are counted, such as the training documents; by default, all are
        counted.
    alike : bool
        If True, intervals hold for other texts like these: the variance of the shares over samples
        of documents (`share_deviation`) is added to the variance of the draws.
    restarted : (K,) float64, optional
        Variance of the logarithm of each share between runs that start again, which is added too.
    """

    def __init__(
        self,
        effective: Doubles | None = None,
        counted: Array | None = None,
        *,
        alike: bool = False,
        restarted: Doubles | None = None,
    ) -> None:
        self._effective, self._counted, self._alike = effective, counted, alike
        self._restarted = restarted

    @classmethod
    def in_training(cls, results: Results, corpus: Corpus | None, rows: Int64s) -> Self:
        """Return a visitor that gets the documents ``rows``, but counts training documents only."""
        counted = None
        if corpus is not None:
            counted = ~np.isin(rows, results.training_documents(corpus).without)
        population = results.population
        return cls(
            results.share_sizes(),
            counted,
            alike=not results.these,
            restarted=None if population is None else population.restarted,
        )

    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Reset the number of tokens to 0."""
        self._tokens = np.zeros((draws, 1, topics))
        # These are the number of documents, and sums over documents: of N^2, of N n, and of n^2. N
        # is the number of tokens of a document, and n the number of its tokens in a topic.
        self._number, self._squares = 0, 0.0
        self._products, self._powers = np.zeros(topics), np.zeros(topics)

    def add(self, block: DrawnBlock) -> None:
        """Add the tokens of a block of documents."""
        tokens = block.tokens
        if self._counted is not None:
            tokens = tokens[:, self._counted[block.at]]
        self._tokens[:, 0] += tokens.sum(axis=1, dtype=np.float64)
        mean = tokens.mean(axis=0, dtype=np.float64)
        lengths = mean.sum(axis=1)
        self._number += len(mean)
        self._squares += float(lengths @ lengths)
        self._products += lengths @ mean
        self._powers += (mean**2).sum(axis=0)

    @property
    def shares(self) -> Shares:
        """Shares of the topics, (K, 1)."""
        shares = Shares.of(self._tokens, self._effective)
        if not self._alike or len(self._tokens) == 1 or not self._squares:
            return shares
        total, share = float(self._tokens.mean(axis=0).sum()), shares.mean[:, 0]
        apart = self._powers - 2 * share * self._products + share**2 * self._squares
        deviation = share_deviation(apart, self._squares, total, self._number)
        if self._restarted is not None:
            deviation = np.hypot(deviation, share * np.sqrt(self._restarted))
        return shares.widen(deviation)


def share_deviation(
    apart: Doubles, squares: float, total: float, number: int, of: int | None = None
) -> Doubles:
    """Return the standard deviation of topics' shares over samples of documents, (K,).

    It is that of a ratio of two sums. If f is the effective number of documents minus 1, the
    variance is multiplied by f / (f - 2), as for Student's t; without f > 2, the deviation is 1.

    Parameters
    ----------
    apart : (K,) float64
        Sum over documents of (n - N share)^2, for N tokens of a document and n tokens of a topic.
    squares : float
        Sum of N^2.
    total : float
        Sum of N.
    number : int
        Number of documents in the sums.
    of : int, optional
        Number of documents of which these are a part; by default ``number``.
    """
    part = 1.0 if of is None else number / of
    freedom = total**2 / squares / part - 1
    if freedom <= 2 or number < 2:
        return np.ones(len(apart))
    factor = number / (number - 1) * freedom / (freedom - 2) * part
    deviation: Doubles = np.sqrt(np.maximum(apart, 0.0) * factor) / total
    return deviation


class DocumentTopics(DocumentVisitor):
    """Visitor that stores documents' topic proportions, and intervals of the greatest proportions.

    Attributes
    ----------
    lengths : (n,) int64
    theta : (n, K) float16
        Mean proportions.
    top : (n, T) int64
        Topics with the greatest mean proportions in each document, the greatest first.
    mean, low, high : (n, T) float32
        Mean proportions of these topics, and the bounds of their intervals.
    counts : (K,) int64
        Number of documents in which the topic has a share of at least a tenth.
    """

    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Allocate the arrays for all documents."""
        wide = documents, min(TOPICS, topics)
        self.lengths = np.empty(documents, np.int64)
        self.theta: npt.NDArray[np.float16] = np.empty((documents, topics), np.float16)
        self.top = np.empty(wide, np.int64)
        self.mean, self.low, self.high = (np.empty(wide, np.float32) for _ in range(3))
        self.counts = np.zeros(topics, np.int64)

    def add(self, block: DrawnBlock) -> None:
        """Store the topics of a block of documents."""
        block_rows, centre = block.at, block.theta.mean(axis=0)
        self.theta[block_rows], self.lengths[block_rows] = centre, block.lengths
        self.counts += (centre >= HAS).sum(axis=0)
        order = np.argsort(-centre, axis=1, kind="stable")[:, : self.top.shape[1]]
        self.top[block_rows] = order
        largest = np.take_along_axis(block.theta, order[None], axis=2)
        self.mean[block_rows] = largest.mean(axis=0)
        factors = np.take_along_axis(block.factors, order, axis=1)
        self.low[block_rows], self.high[block_rows] = proportion_bounds(largest, factors)

    def representatives(self, most: int = BEST) -> list[list[int]]:
        """Return the indices of the documents with the greatest shares of each topic.

        Documents are sorted by decreasing lower bound of the topic's share. If they were sorted by
        the mean share, short documents would come first by chance.
        """
        place = np.repeat(np.arange(len(self.top)), self.top.shape[1])
        topic, low = self.top.ravel(), self.low.ravel()
        sure = low >= SURE
        place, topic, low = place[sure], topic[sure], low[sure]
        order = np.lexsort((place, -low, topic))
        ends = np.searchsorted(topic[order], np.arange(len(self.counts) + 1))
        return [place[order[a:b]][:most].tolist() for a, b in pairwise(ends)]


class Correlation(DocumentVisitor):
    """Visitor that correlates the square roots of topics' proportions in each draw."""

    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Set all sums to 0; with many topics, sum over fewer draws to limit memory."""
        draws = min(draws, max(2, _PRODUCTS // (topics * topics))) if draws > 1 else 0
        self._n, self._sums = 0, np.zeros((draws, topics))
        self._products = np.zeros((draws, topics, topics))

    def add(self, block: DrawnBlock) -> None:
        """Add the square roots of a block's proportions, and the products of these roots."""
        root = np.sqrt(block.theta[: len(self._sums)])
        self._n += root.shape[1]
        self._sums += root.sum(axis=1, dtype=np.float64)
        for products, draw in zip(self._products, root, strict=True):
            products += draw.T @ draw

    @property
    def matrix(self) -> Doubles | None:
        """Mean of the correlations in all draws, (K, K), or None without draws.

        An entry is 0 if fewer than 90 % of the draws agree on its sign.
        """
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
