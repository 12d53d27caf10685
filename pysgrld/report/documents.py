"""Documents given the topics, in bounded memory: draws of their topics, and sums over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.core.draws import Draw
from pysgrld.corpus import Corpus
from pysgrld.errors import MissingInputError
from pysgrld.reading.intervals import ENOUGH, bounds
from pysgrld.reading.results import Results, evenly_spaced
from pysgrld.types import Documents, Doubles, Floats, Int64s

#: Documents that are looked at, at most, and draws of each one's topics.
DOCUMENTS, DRAWS = 20_000, ENOUGH
#: Topics of a document that are shown.
TOPICS = 12
#: Share of a document from which on it is counted as having a topic.
HAS = 0.1
#: Documents shown of each topic, and the least low end that is sure to be more than chance.
BEST, SURE = 5, 0.01
#: Numbers of a block of documents at least, and of the sums of products behind correlations at most.
_CELLS, _PRODUCTS = 8_000_000, 10_000_000
#: Share of the draws that must agree on the sign of a correlation.
AGREE = 0.9


class GroupOfEach(NamedTuple):
    """Documents put into groups, in which shares are told.

    Attributes
    ----------
    of : (n,) int64
        Group of each document that is looked at; -1: none.
    size : int
        Groups.
    """

    of: Int64s
    size: int


class Shares(NamedTuple):
    """Shares of each topic in some groups: mean over the draws, and their quantiles, (K, groups)."""

    mean: Doubles
    low: Doubles
    high: Doubles

    @classmethod
    def of(cls, tokens: Doubles) -> Shares:
        """Divide tokens (S, groups, K) by those of their group, draw by draw."""
        total = tokens.sum(axis=2, keepdims=True)
        share = np.divide(tokens, total, out=np.zeros_like(tokens), where=total > 0)
        low, high = bounds(share)
        return cls(share.mean(axis=0).T, low.T, high.T)


class Looked(NamedTuple):
    """All that the documents tell that were looked at.

    Attributes
    ----------
    rows : (n,) int64
        Their positions in the corpus.
    lengths : (n,) int64
    theta : (n, K) float16
        Mean proportions.
    top : (n, T) int64
        Topics of the greatest mean proportions, the greatest first.
    mean, low, high : (n, T) float32
        Their proportions.
    draws : int
        Draws of each document; 1: proportions under the mean topics, without intervals.
    weights : Shares
        Of the whole, (K, 1).
    counts : (K,) int64
        Documents with a tenth or more of the topic.
    groups : list of Shares
    correlation : (K, K) float64 or None
        0 where the draws do not agree on the sign; None without draws.
    """

    rows: Int64s
    lengths: Int64s
    theta: npt.NDArray[np.float16]
    top: Int64s
    mean: Floats
    low: Floats
    high: Floats
    draws: int
    weights: Shares
    counts: Int64s
    groups: list[Shares]
    correlation: Doubles | None


class DrawnBlock(NamedTuple):
    """Draws of some documents: theta and tokens (S, n, K), and their places among those asked for."""

    at: slice
    theta: Floats
    tokens: Floats
    lengths: Int64s


def looked_at(corpus: Corpus) -> Int64s:
    """Choose the documents that are looked at: all, or 20,000 evenly spaced."""
    return evenly_spaced(np.arange(corpus.documents), DOCUMENTS)


def look(
    results: Results, corpus: Corpus, rows: Int64s, groupings: Sequence[GroupOfEach], at: int
) -> Looked:
    """Draw the topics of documents, and sum up what they tell.

    Parameters
    ----------
    results : Results
    corpus : Corpus
        That the run was trained on.
    rows : (n,) int64
        Documents of it.
    groupings : sequence of GroupOfEach
    at : int
        The layer, counted from 0.
    """
    while True:
        steps = drawn_steps(results)
        try:
            return _look(results, corpus, rows, groupings, at, steps)
        except MissingInputError:  # a run that is training has thinned its samples meanwhile
            if drawn_steps(results) == steps:
                raise


def _look(
    results: Results,
    corpus: Corpus,
    rows: Int64s,
    groupings: Sequence[GroupOfEach],
    at: int,
    steps: list[int],
) -> Looked:
    k = results.layers[at]
    draws, width = max(1, len(steps)), min(TOPICS, k)
    n = len(rows)
    theta = np.empty((n, k), np.float16)
    top = np.empty((n, width), np.int64)
    mean, low, high = (np.empty((n, width), np.float32) for _ in range(3))
    lengths = np.empty(n, np.int64)
    totals, counts = np.zeros((draws, 1, k)), np.zeros(k, np.int64)
    grouped = [np.zeros((draws, g.size, k)) for g in groupings]
    roots = _Roots(min(draws, max(2, _PRODUCTS // (k * k))), k) if len(steps) else None
    for block in drawn_blocks(results, corpus, rows, steps, at):
        here, centre = block.at, block.theta.mean(axis=0)
        theta[here], lengths[here] = centre, block.lengths
        counts += (centre >= HAS).sum(axis=0)
        order = np.argsort(-centre, axis=1, kind="stable")[:, :width]
        top[here] = order
        some = np.take_along_axis(block.theta, order[None], axis=2)
        mean[here] = some.mean(axis=0)
        low[here], high[here] = bounds(some)
        totals[:, 0] += block.tokens.sum(axis=1, dtype=np.float64)
        for sums, grouping in zip(grouped, groupings, strict=True):
            _add(sums, block.tokens, grouping.of[here])
        if roots is not None:
            roots.add(block.theta)
    return Looked(
        rows,
        lengths,
        theta,
        top,
        mean,
        low,
        high,
        draws,
        Shares.of(totals),
        counts,
        [Shares.of(sums) for sums in grouped],
        None if roots is None else roots.correlation(),
    )


def drawn_steps(results: Results) -> list[int]:
    """Give the kept samples that documents are drawn by; none where intervals cannot be told."""
    if results.fitted.no_mean or not results.fitted.draws:
        return []
    steps = results.draw_steps(DRAWS)
    return steps if len(steps) >= ENOUGH else []


def drawn_blocks(
    results: Results,
    corpus: Corpus,
    rows: Int64s,
    steps: list[int],
    at: int,
    draw: Draw | None = None,
) -> Iterator[DrawnBlock]:
    """Yield draws of some documents at a time, in memory that is bounded, or as much as topics take.

    Every block reads all samples: the larger these are, the fewer blocks there are. Without samples
    documents are read under one draw of the topics, by default their mean.
    """
    k = results.layers[at]
    cells = max(_CELLS, k * len(results.vocabulary))
    size = max(16, cells // (k * max(1, len(steps))))
    for begin in range(0, len(rows), size):
        here = slice(begin, min(begin + size, len(rows)))
        documents, ids = corpus.take(rows[here]), rows[here]
        if steps:
            found = results.document_draws(documents, ids, steps, at)
            theta, tokens = found.theta, found.tokens
        else:
            theta, tokens = _under(results, draw or results.mean, documents, ids, at)
        yield DrawnBlock(here, theta, tokens, documents.lengths)


def _under(
    results: Results, draw: Draw, documents: Documents, ids: Int64s, at: int
) -> tuple[Floats, Floats]:
    theta = results.fitted.proportions(draw, documents, ids, at).astype(np.float32)
    tokens = theta * documents.lengths[:, None].astype(np.float32)
    return theta[None], tokens[None]


def _add(sums: Doubles, tokens: Floats, of: Int64s) -> None:
    """Add tokens (S, n, K) to the groups of their documents, (S, groups, K)."""
    for group in np.unique(of[of >= 0]):
        sums[:, group] += tokens[:, of == group].sum(axis=1, dtype=np.float64)


class _Roots:
    """Sums behind the correlation of the roots of proportions, in each of some draws."""

    def __init__(self, draws: int, k: int) -> None:
        self._n, self._sums = 0, np.zeros((draws, k))
        self._products = np.zeros((draws, k, k))

    def add(self, theta: Floats) -> None:
        """Add documents, of which there are at least as many draws."""
        root = np.sqrt(theta[: len(self._sums)])
        self._n += root.shape[1]
        self._sums += root.sum(axis=1, dtype=np.float64)
        for products, draw in zip(self._products, root, strict=True):
            products += draw.T @ draw

    def correlation(self) -> Doubles:
        """Average the draws' correlations; 0 where fewer than 90 % of them agree on the sign."""
        total, sign = np.zeros(self._products.shape[1:]), np.zeros(self._products.shape[1:])
        for products, sums in zip(self._products, self._sums / self._n, strict=True):
            covariance = products / self._n - np.outer(sums, sums)
            scale = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
            found = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
            total += found
            sign += found > 0
        draws = len(self._sums)
        agreed = np.maximum(sign, draws - sign) >= AGREE * draws
        mean: Doubles = np.where(agreed, total / draws, 0.0)
        np.fill_diagonal(mean, 1.0)
        return mean


def representatives(found: Looked, k: int, most: int = BEST) -> list[list[int]]:
    """Give the documents that most surely have each topic: places among those looked at, best first.

    By the low end of the share, not its mean: short documents do not win by chance.
    """
    place = np.repeat(np.arange(len(found.rows)), found.top.shape[1])
    topic, low = found.top.ravel(), found.low.ravel()
    sure = low >= SURE
    place, topic, low = place[sure], topic[sure], low[sure]
    order = np.lexsort((place, -low, topic))
    ends = np.searchsorted(topic[order], np.arange(k + 1))
    return [place[order[ends[i] : ends[i + 1]][:most]].tolist() for i in range(k)]


def in_turn(best: list[list[int]], order: Sequence[int], n: int) -> list[int]:
    """Give all places among n in the order in which they are shown while there is room.

    The best document of each topic, then the second best, ...; then the others, such that any number
    of them is evenly spaced.
    """
    ranked = [best[k][i] for i in range(BEST) for k in order if i < len(best[k])]
    bits = max(1, (n - 1).bit_length())
    spaced = sorted(range(n), key=lambda i: int(f"{i:0{bits}b}"[::-1], 2))
    return list(dict.fromkeys([*ranked, *spaced]))
