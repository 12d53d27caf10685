"""Words of topics: which are shown, how sure they are, and how much of a word's uses a topic has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.errors import MissingInputError
from pysgrld.models.samples import looked_up
from pysgrld.reading.intervals import Interval, interval
from pysgrld.reading.results import Results
from pysgrld.types import Doubles, Floats, Int64s

Bools = npt.NDArray[np.bool_]

#: Words that are taken of each order by relevance, and the orders' lambdas.
MOST, LAMBDAS = 30, tuple(i / 10 for i in range(11))
#: Expected uses in a topic below which its own words are chosen by chance.
USES = 5.0
#: Words that are a topic's face: how many of them stay is told.
TEN = 10
#: Topics of a word, and the least share of its uses that one has.
TOPICS_OF_WORD, LEAST_SHARE = 6, 0.04
#: Topics whose columns are copied together.
_COLUMNS = 64
#: Words that are worked on together.
ROWS = 8192


class Terms(NamedTuple):
    """The words that are shown of each topic, the most probable first.

    Matrices have a row for each topic; ``there`` says how many of its columns are words of it.

    Attributes
    ----------
    words : (K, n) int64
        Ids.
    there : (K, n) bool
    mean, low, high : (K, n) float64
        Probabilities, or entries of directions; low and high are the mean without intervals.
    open : (K, n) bool
        Whether the low end is only known to be below what is given.
    ten : (K, n) float64
        Share of the draws in which the word is among the ten most probable.
    share : (K, n) float64
        Share of the word's uses that the topic has.
    draws, pooled : int
        Draws behind intervals: of the first chain, 0 if there are none; and of all chains together, where
        they tell of topics that they share.
    """

    words: Int64s
    there: Bools
    mean: Doubles
    low: Doubles
    high: Doubles
    open: Bools
    ten: Doubles
    share: Doubles
    draws: int
    pooled: int


class ChainOfTopics(NamedTuple):
    """A chain whose draws tell how sure the words are.

    Attributes
    ----------
    results : Results
    rows : (K,) int64
        The chain's topic for each topic that is shown; -1 where it has none of that kind.
    """

    results: Results
    rows: Int64s


def columns(phi: Floats, k: int) -> Iterator[Doubles]:
    """Yield the topics of a matrix (V, K or more), one after the other, each (V,) float64."""
    for begin in range(0, k, _COLUMNS):
        yield from np.ascontiguousarray(phi[:, begin : min(begin + _COLUMNS, k)].T, np.float64)


def best(values: Doubles, n: int) -> Int64s:
    """Give the places of the n greatest values, the greatest first."""
    n = min(n, len(values))
    if n == 0:
        return np.empty(0, np.int64)
    some = np.argpartition(-values, n - 1)[:n]
    found: Int64s = some[np.lexsort((some, -values[some]))]
    return found


def relevance(p: Doubles, counts: Doubles, lam: float) -> Doubles:
    """Give the relevance of words of a topic: lam log p(w|k) + (1 - lam) log (p(w|k) / p(w)).

    Parameters
    ----------
    p : (n,)
        Probabilities in the topic.
    counts : (n,)
        Shares of the corpus that the words have.
    lam : float
        1 orders by probability, 0 by how much more probable a word is here than elsewhere.

    References
    ----------
    Sievert and Shirley (2014), LDAvis: a method for visualizing and interpreting topics, eq. (1).
    """
    found: Doubles = np.log(p) - (1.0 - lam) * np.log(counts)
    return found


def candidates(phi: Floats, tokens: Doubles, counts: Int64s | None) -> list[Int64s]:
    """Choose the words of each topic that are shown: the first by relevance of every lambda.

    Words with fewer than five expected uses in the topic are chosen by probability alone.

    Parameters
    ----------
    phi : (V, K or more)
    tokens : (K,)
        Tokens of the corpus that each topic has.
    counts : (V,) or None
        Occurrences of each word; without them words are chosen by probability.

    Returns
    -------
    list of (n,) int64
        Ids of each topic's words, the most probable first.
    """
    found = []
    share = None if counts is None else counts / max(1, counts.sum())
    for p, own in zip(columns(phi, len(tokens)), tokens, strict=True):
        chosen = [best(p, MOST)]
        if counts is not None and share is not None:
            some = np.flatnonzero((p * own >= USES) & (counts > 0))
            for lam in LAMBDAS[:-1] if len(some) else ():
                chosen.append(some[best(relevance(p[some], share[some], lam), MOST)])
        ids = np.unique(np.concatenate(chosen))
        found.append(ids[np.lexsort((ids, -p[ids]))])
    return found


def terms(
    phi: Floats,
    weights: Doubles | None,
    tokens: int,
    counts: Int64s | None,
    sources: Sequence[ChainOfTopics],
    at: int,
    *,
    signed: bool,
) -> Terms:
    """Describe the words of each topic.

    Parameters
    ----------
    phi : (V, K or more)
        The topics that are shown.
    weights : (K,) or None
        Share of the corpus that each has.
    tokens : int
        Of the corpus.
    counts : (V,) or None
        Occurrences of each word.
    sources : sequence of ChainOfTopics
        Chains whose draws are read; the first has all topics.
    at : int
        The layer, counted from 0.
    signed : bool
        Whether topics are directions.
    """
    k = len(sources[0].rows)
    even = np.full(k, 1.0 / k) if weights is None else weights
    if signed:
        chosen = [best(column, MOST) for column in columns(phi, k)]
    else:
        chosen = candidates(phi, even * tokens, counts)
    n = max(len(ids) for ids in chosen)
    words, there = np.zeros((k, n), np.int64), np.zeros((k, n), bool)
    for row, ids in enumerate(chosen):
        words[row, : len(ids)], words[row, len(ids) :] = ids, ids[0]
        there[row, : len(ids)] = True
    mean = phi[words, np.arange(k)[:, None]].astype(np.float64)
    share = np.zeros_like(mean) if signed else mean * even[:, None] / masses(phi, even)[words]
    spread = followed(sources, words, there, at)
    low = high = mean
    open_ = np.zeros((k, n), bool)
    if spread.interval is not None:
        low, high = np.minimum(spread.interval.low, mean), np.maximum(spread.interval.high, mean)
        open_ = spread.interval.low_open & (low < mean)
    return Terms(
        words, there, mean, low, high, open_, spread.ten, share, spread.draws, spread.pooled
    )


def masses(phi: Floats, weights: Doubles) -> Doubles:
    """Give the share of the corpus that each word has under the topics, (V,); above 0."""
    found: Doubles = (phi[:, : len(weights)] @ weights.astype(np.float32)).astype(np.float64)
    return np.maximum(found, 1e-30)


class Followed(NamedTuple):
    """Some words of each topic over the draws.

    Attributes
    ----------
    interval : Interval or None
        None where draws are too few.
    ten : (K, n) float64
        Share of the draws in which a word is among the ten most probable.
    draws : int
        Those of the first chain; 0 where there are no intervals.
    pooled : int
        Those of all chains together, for topics that they share.
    """

    interval: Interval | None
    ten: Doubles
    draws: int
    pooled: int


def followed(sources: Sequence[ChainOfTopics], words: Int64s, there: Bools, at: int) -> Followed:
    """Follow words of each topic, (K, n), over the samples of some chains; ``there``: not repeated."""
    own: list[tuple[Floats, Bools]] = []
    among = np.zeros(words.shape)
    for draw in draws_of_words(sources[0], words, there, at):
        own.append((draw.values, draw.censored))
        among += draw.among
    found = interval(own)
    if found is None:
        return Followed(None, np.zeros(words.shape), 0, 0)
    first, draws = len(own), np.full(len(words), float(len(own)))
    shared = np.flatnonzero(np.all([s.rows >= 0 for s in sources], axis=0))
    if len(sources) > 1 and len(shared):
        own = [(values[shared], censored[shared]) for values, censored in own]
        for source in sources[1:]:
            for draw in draws_of_words(source, words, there, at):
                mine = np.searchsorted(draw.rows, shared)
                own.append((draw.values[mine], draw.censored[mine]))
                among[draw.rows] += draw.among
                draws[draw.rows] += 1
        for part, pooled in zip(found, interval(own) or (), strict=False):
            part[shared] = pooled
    return Followed(found, there * among / draws[:, None], first, len(own))


class _DrawOfWords(NamedTuple):
    """Words of some topics in one sample: values, which are but bounds, and who is among the ten."""

    rows: Int64s
    values: Floats
    censored: Bools
    among: Bools


def draws_of_words(
    source: ChainOfTopics, words: Int64s, there: Bools, at: int
) -> Iterator[_DrawOfWords]:
    """Yield the words of each topic in every kept sample, full or slim."""
    results, rows = source.results, np.flatnonzero(source.rows >= 0)
    if results.fitted.no_mean:
        return
    mine, wanted = source.rows[rows], words[rows]
    steps, slim = results.word_steps(at)
    for step in steps:
        with contextlib.suppress(MissingInputError):
            if slim:
                sample = {name: part[mine] for name, part in results.read_slim(step).items()}
                values, censored = looked_up(sample, wanted)
                last = min(TEN, sample["phi"].shape[1]) - 1
                among = (values >= sample["phi"][:, [last]]) & ~censored
            else:
                phi = results.rows_of(step, at)
                values, censored = phi[mine[:, None], wanted], np.zeros(wanted.shape, bool)
                among = values >= tenth(phi, mine, values, there[rows])[:, None]
            yield _DrawOfWords(rows, values, censored, among)


def tenth(phi: Floats, rows: Int64s, values: Floats, there: Bools) -> Floats:
    """Give the tenth greatest value of some rows of ``phi``, (n,).

    Where no other word is above the tenth of the words at hand, that is it, at the price of a
    comparison; only other rows are partitioned.

    Parameters
    ----------
    phi : (K, V)
    rows : (n,) int64
    values : (n, m)
        Entries of these rows that are likely to be great, ten or more of each where V allows.
    there : (n, m) bool
        Which of them are not repetitions.
    """
    place = min(TEN, phi.shape[1]) - 1
    known = np.where(there, values, -np.inf)
    found: Floats = -np.partition(-known, place, axis=1)[:, place]
    above = (known > found[:, None]).sum(axis=1)
    for i, row in enumerate(rows):
        if np.count_nonzero(phi[row] > found[i]) != above[i]:
            found[i] = -np.partition(-phi[row], place)[place]
    return found.astype(phi.dtype)


class Words(NamedTuple):
    """The words of the vocabulary that are shown, the most frequent first.

    Attributes
    ----------
    ids : (W,) int64
    counts : (W,) int64
        Occurrences; 0 where they are not known.
    n : (W,) int64
        Topics that have a fair share of each word's uses.
    topics : (P,) int64
        These, word by word, the greatest share first.
    shares : (P,) float64
    """

    ids: Int64s
    counts: Int64s
    n: Int64s
    topics: Int64s
    shares: Doubles


def words_shown(
    phi: Floats,
    weights: Doubles | None,
    counts: Int64s | None,
    needed: Int64s,
    most: int,
    k: int,
    *,
    signed: bool,
) -> Words:
    """Choose the words that are shown, and tell which topics each is used in.

    Parameters
    ----------
    phi : (V, K or more)
    weights : (K,) or None
    counts : (V,) or None
    needed : int64 array
        Ids that must be among them.
    most : int
        How many of the most frequent.
    k : int
        Topics.
    signed : bool
        Whether topics are directions, which have no shares of a word.
    """
    even = np.full(k, 1.0 / k) if weights is None else weights
    if counts is not None:
        often = counts.astype(np.float64)
    else:
        often = -np.arange(len(phi), dtype=np.float64) if signed else masses(phi, even)
    order = np.lexsort((np.arange(len(often)), -often))
    keep = np.zeros(len(often), bool)
    keep[order[:most]] = True
    keep[needed] = True
    ids = order[keep[order]]
    total = np.zeros(len(ids), np.int64) if counts is None else counts[ids]
    n, topics, shares = np.zeros(len(ids), np.int64), [], []
    for begin in range(0, 0 if signed else len(ids), ROWS):
        mine = phi[ids[begin : begin + ROWS], :k] * even.astype(np.float32)
        mine /= np.maximum(mine.sum(axis=1, keepdims=True), 1e-30)
        row, topic = np.nonzero(mine >= LEAST_SHARE)
        share = mine[row, topic]
        ranked = np.lexsort((topic, -share, row))
        row, topic, share = row[ranked], topic[ranked], share[ranked]
        first = np.searchsorted(row, np.arange(len(mine)))
        few = np.arange(len(row)) - first[row] < TOPICS_OF_WORD
        n[begin : begin + ROWS] = np.bincount(row[few], minlength=len(mine))
        topics.append(topic[few])
        shares.append(share[few].astype(np.float64))
    return Words(
        ids,
        total,
        n,
        np.concatenate(topics) if topics else np.empty(0, np.int64),
        np.concatenate(shares) if shares else np.empty(0),
    )
