"""A single pass over documents given the topics, in bounded memory, and the sums it computes."""

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
from pysgrld.reading.intervals import ENOUGH, bounds
from pysgrld.reading.repeated_words import Repetition, proportion_bounds
from pysgrld.reading.results import Results
from pysgrld.types import Array, Doubles, Floats, Int64s, Others, Positions

#: Maximum number of documents analysed, and number of draws of each document's topics.
DOCUMENTS, DRAWS = 20_000, ENOUGH
#: Maximum number of documents on the map, and maximum number of entries in their proportions.
MAPPED, _MAPPED_CELLS = 100_000, 20_000_000
#: For a page that is a folder: maximum number of documents on the map, and in one file.
BESIDE, PLACED = 1_000_000, 102_400
#: Maximum number of a document's topics that are stored with intervals.
TOPICS = 12
#: Minimum share of a document at which a topic counts as occurring in it.
HAS = 0.1
#: Maximum number of documents listed for a topic, and minimum lower bound of its share in them; a
#: share with a lower bound may be due to chance.
BEST, SURE = 5, 0.01
#: Number of values in a block of documents (more if the topics are larger), and maximum number of
#: values in the sums of products for correlations.
_CELLS, _PRODUCTS = 8_000_000, 10_000_000
#: Minimum fraction of draws that agree on a correlation's sign.
AGREE = 0.9
#: Standard deviations within which a normal deviate is nine times in ten.
NORMAL = 1.6449


# ---- the pass


class DrawnBlock(NamedTuple):
    """Draws for a block of documents.

    Attributes
    ----------
    at : slice
        The requested rows.
    theta, tokens : (S, n, K) float32
    lengths : (n,) int64
    factors : (n, K) float64
        Factors by which intervals of proportions are widened.
    """

    at: slice
    theta: Floats
    tokens: Floats
    lengths: Int64s
    factors: Doubles


class DocumentVisitor(ABC):
    """Accumulator of sums over documents, which it receives in blocks."""

    @abstractmethod
    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Reset all sums before the first block; it may be called again to restart.

        Parameters
        ----------
        draws : int
            S, the number of draws of each document; 1 without samples.
        documents, topics : int
            n and K.
        """

    @abstractmethod
    def add(self, block: DrawnBlock) -> None:
        """Add the next block of documents."""


def looked_at(corpus: Corpus) -> Int64s:
    """Return the rows of the documents to analyse: all, or 20,000 evenly spaced ones."""
    return evenly_spaced(Others(corpus.documents, np.zeros(0, np.int64)), DOCUMENTS)


def on_map(corpus: Corpus, topics: int) -> Int64s:
    """Return the rows of the documents on the map: evenly spaced ones, more than are analysed."""
    most = DOCUMENTS * max(1, min(MAPPED, _MAPPED_CELLS // topics) // DOCUMENTS)
    return evenly_spaced(Others(corpus.documents, np.zeros(0, np.int64)), most)


def beside_map(corpus: Corpus, mapped: Int64s, topics: int) -> list[Int64s]:
    """Return, in blocks, the rows of documents that only the map of a folder page shows."""
    rows = evenly_spaced(Others(corpus.documents, np.zeros(0, np.int64)), BESIDE)
    rows = np.setdiff1d(rows, mapped, assume_unique=True)
    placed = max(1, min(PLACED, _MAPPED_CELLS // topics))
    return [rows[begin : begin + placed] for begin in range(0, len(rows), placed)]


def read_documents(
    results: Results, corpus: Corpus, rows: Int64s, layer: int, visitors: Sequence[DocumentVisitor]
) -> int:
    """Draw the topics of documents, and pass the draws to all visitors, in a single pass.

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
        Number of draws of each document; 1 if they are proportions under the mean topics, which
        have no intervals.
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
        except MissingInputError:  # a run that is training may have deleted samples in the meantime
            if drawn_steps(results) == steps:
                raise
        else:
            return draws


def drawn_steps(results: Results) -> list[int]:
    """Return the stored samples for which documents are drawn; empty if too few for intervals.

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
    """Yield draws of documents in blocks of bounded memory, or of the topics' size if that is larger.

    Every block reads all samples: the larger the samples, the fewer blocks are used. Without
    samples, documents are read under one draw of the topics, by default their mean. Blocks are
    small then, because the topics' rows of the documents' words are copied.
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
    """Topics' shares in groups of documents: mean and quantiles over draws, (K, groups)."""

    mean: Doubles
    low: Doubles
    high: Doubles

    @classmethod
    def of(cls, tokens: Doubles, effective: Doubles | None = None) -> Shares:
        """Divide tokens (S, groups, K) by the number of tokens of the group in each draw.

        ``effective`` has the effective number of draws of each topic's share, (K,).
        """
        total = tokens.sum(axis=2, keepdims=True)
        share = np.divide(tokens, total, out=np.zeros_like(tokens), where=total > 0)
        low, high = bounds(share, effective)
        return cls(share.mean(axis=0).T, low.T, high.T)

    def widen(self, deviation: Doubles) -> Shares:
        """Add a normal deviate with the given standard deviations, (K,), to the draws."""
        more = NORMAL * deviation[:, None]
        low = self.mean - np.hypot(self.mean - self.low, more)
        high = self.mean + np.hypot(self.high - self.mean, more)
        return Shares(self.mean, np.maximum(0.0, low), np.minimum(1.0, high))

    def about(self, weights: Doubles | None) -> Shares:
        """Replace means by weights in the whole corpus, (K,); intervals move with the means."""
        if weights is None:
            return self
        mean = weights[:, None]
        low, high = (np.clip(part + mean - self.mean, 0.0, 1.0) for part in (self.low, self.high))
        return Shares(mean, np.minimum(low, mean), np.maximum(high, mean))


class TopicShares(DocumentVisitor):
    """Shares of all topics among the tokens of documents.

    Parameters
    ----------
    effective : (K,) float64, optional
        Effective sample sizes of the shares, if their draws are not independent.
    counted : (n,) bool, optional
        True for the documents that count, as the training documents; by default all do.
    alike : bool
        True for intervals for other texts like these: the variance of the shares over samples of
        documents, as of a ratio of two sums, is added to the variance of the draws. If f is the
        effective number of documents minus 1, the variance has a factor of f / (f - 2), as that of
        Student's t.
    """

    def __init__(
        self, effective: Doubles | None = None, counted: Array | None = None, *, alike: bool = False
    ) -> None:
        self._effective, self._counted, self._alike = effective, counted, alike

    @classmethod
    def in_training(cls, results: Results, corpus: Corpus | None, rows: Int64s) -> Self:
        """Return the visitor for shares in those of the given documents that the run trained on."""
        counted = None
        if corpus is not None:
            counted = ~np.isin(rows, results.training_documents(corpus).without)
        return cls(results.share_sizes(), counted, alike=not results.these)

    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Reset the number of tokens to 0."""
        self._tokens = np.zeros((draws, 1, topics))
        # numbers of documents, and sums over them of N^2, tokens x N and tokens^2
        self._number, self._squares = 0, 0.0
        self._products, self._powers = np.zeros(topics), np.zeros(topics)

    def add(self, block: DrawnBlock) -> None:
        """Add the tokens of documents."""
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
        freedom = total**2 / self._squares - 1
        if freedom <= 2:
            return shares.widen(np.ones(len(share)))
        number = self._number / (self._number - 1) * freedom / (freedom - 2)
        return shares.widen(np.sqrt(np.maximum(apart, 0.0) * number) / total)


class DocumentTopics(DocumentVisitor):
    """Topics of each document: all mean proportions, and intervals of the greatest proportions.

    Attributes
    ----------
    lengths : (n,) int64
    theta : (n, K) float16
        Mean proportions.
    top : (n, T) int64
        Topics of the greatest mean proportions, the greatest first.
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
        """Return the indices of the documents in which each topic most surely occurs, surest first.

        They are ranked by the lower bound of the topic's share, not by its mean, so that short
        documents do not come first by chance.
        """
        place = np.repeat(np.arange(len(self.top)), self.top.shape[1])
        topic, low = self.top.ravel(), self.low.ravel()
        sure = low >= SURE
        place, topic, low = place[sure], topic[sure], low[sure]
        order = np.lexsort((place, -low, topic))
        ends = np.searchsorted(topic[order], np.arange(len(self.counts) + 1))
        return [place[order[a:b]][:most].tolist() for a, b in pairwise(ends)]


class Correlation(DocumentVisitor):
    """Correlation over documents of square roots of topic proportions, for each draw used."""

    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Reset the sums; fewer draws are used if topics are many, and none without samples."""
        draws = min(draws, max(2, _PRODUCTS // (topics * topics))) if draws > 1 else 0
        self._n, self._sums = 0, np.zeros((draws, topics))
        self._products = np.zeros((draws, topics, topics))

    def add(self, block: DrawnBlock) -> None:
        """Add the square roots of a block's proportions, and their products."""
        root = np.sqrt(block.theta[: len(self._sums)])
        self._n += root.shape[1]
        self._sums += root.sum(axis=1, dtype=np.float64)
        for products, draw in zip(self._products, root, strict=True):
            products += draw.T @ draw

    @property
    def matrix(self) -> Doubles | None:
        """Mean correlation, (K, K), 0 if under 90 % of draws agree on the sign; None without draws."""
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
