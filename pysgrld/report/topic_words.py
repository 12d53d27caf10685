"""Words that describe topics: words to show, ranks of seed words, and automatic names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.models.word_order import (
    PROBABLE,
    FirstWords,
    iterate_blocks,
    iterate_topics,
    top_words,
)
from pysgrld.reading.intervals import ENOUGH
from pysgrld.reading.results import ChainOfTopics, Results
from pysgrld.report.sample_pass import (
    TEN,
    Bools,
    KeptSample,
    Lead,
    SampleVisitor,
    followed,
    read_samples,
)
from pysgrld.types import Doubles, Floats, Int64s

#: Number of a topic's most relevant words that are chosen for each lambda.
MOST = 30
#: Values of lambda in the relevance.
LAMBDAS = tuple(i / 10 for i in range(11))
#: A word is chosen by relevance only if it is expected to occur in the topic at least this often.
#: The relevance of a rarer word would be high by chance.
USES = 5.0
#: Maximum number of seed words of a topic for which ranks are computed. The most probable seed
#: words are chosen.
SEEDS = 100
#: Number of words in an automatic name.
NAME_WORDS = 3
#: Separator between the words of an automatic name.
BETWEEN = " · "
#: Maximum number of topics listed for a word.
TOPICS_OF_WORD = 6
#: A topic is listed for a word only if at least this fraction of the word's uses are in the topic.
LEAST_SHARE = 0.04
#: Number of words processed in one block.
_ROWS = 8192


class Terms(NamedTuple):
    """The words shown for each topic, most probable first.

    Matrices have a row for each topic. ``there`` is False in columns that only pad a row.

    Attributes
    ----------
    words : (K, n) int64
        Ids of the words.
    there : (K, n) bool
    mean, low, high : (K, n) float64
        Probabilities, or entries of directions; without intervals, low and high equal the mean.
    open : (K, n) bool
        True if the lower bound is only known to be below the value in `low`.
    ten : (K, n) float64
        Fraction of the draws in which the word is among the ten most probable.
    share : (K, n) float64
        Fraction of the word's uses that are in the topic.
    draws, pooled : int
        Number of draws used for intervals: from the first chain (0 without intervals), and from all
        chains together, if common topics are read from all.
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


# ---- choice of words


def terms(
    phi: Floats,
    weights: Doubles | None,
    tokens: int,
    counts: Int64s | None,
    sources: Sequence[ChainOfTopics],
    layer: int,
    *,
    signed: bool,
    visitors: Sequence[SampleVisitor] = (),
    needed: Int64s | None = None,
    lead: Lead | None = None,
) -> Terms:
    """Choose the words to show for each topic, and compute their statistics over the samples.

    Parameters
    ----------
    phi : (V, K or more)
        The topics that are shown.
    weights : (K,) or None
        Share of each topic in the corpus.
    tokens : int
        Number of tokens of the corpus.
    counts : (V,) or None
        Number of occurrences of each word.
    sources : sequence of ChainOfTopics
        Chains with the draws to read; the first has all topics.
    layer : int
        The layer, counted from 0.
    signed : bool
        Whether topics are directions.
    visitors : sequence of SampleVisitor
        Further visitors that get the samples in the same pass.
    needed : (K, n) int64, optional
        Ids of words of each topic that must be included.
    lead : callable, optional
        As for `pysgrld.report.sample_pass.read_samples`.
    """
    k = len(sources[0].rows)
    even = np.full(k, 1.0 / k) if weights is None else weights
    chosen = list(top_words(phi[:, :k], MOST)) if signed else candidates(phi, even * tokens, counts)
    if needed is not None:
        chosen = [
            with_needed(phi[:, row], ids, needed_words)
            for row, (ids, needed_words) in enumerate(zip(chosen, needed, strict=True))
        ]
    n = max(len(ids) for ids in chosen)
    words, is_present = np.zeros((k, n), np.int64), np.zeros((k, n), bool)
    for row, ids in enumerate(chosen):
        words[row, : len(ids)], words[row, len(ids) :] = ids, ids[0]
        is_present[row, : len(ids)] = True
    mean = phi[words, np.arange(k)[:, None]].astype(np.float64)
    share = np.zeros_like(mean) if signed else mean * even[:, None] / masses(phi, even)[words]
    intervals = followed(sources, words, is_present, layer, visitors, lead)
    low = high = mean
    open_ = np.zeros((k, n), bool)
    if intervals.interval is not None:
        low, high = (
            np.minimum(intervals.interval.low, mean),
            np.maximum(intervals.interval.high, mean),
        )
        open_ = intervals.interval.low_open & (low < mean)
    return Terms(
        words,
        is_present,
        mean,
        low,
        high,
        open_,
        intervals.ten,
        share,
        intervals.draws,
        intervals.pooled,
    )


def candidates(phi: Floats, tokens: Doubles, counts: Int64s | None) -> list[Int64s]:
    """Choose the words to show for each topic: the most relevant words for each value of lambda.

    Words with fewer than five expected uses in the topic are chosen by probability alone.

    Parameters
    ----------
    phi : (V, K or more)
    tokens : (K,)
        Number of tokens of the corpus in each topic.
    counts : (V,) or None
        Number of occurrences of each word; if None, words are chosen by probability.

    Returns
    -------
    list of (n,) int64
        Ids of each topic's words, the most probable first.
    """
    k, word_ids = len(tokens), []
    probable = FirstWords(k, min(MOST, len(phi)))
    used: list[list[Int64s]] = [[] for _ in range(k)]
    for words, topic, p in iterate_blocks(phi, k):
        probable.add(topic, words, p)
        if counts is not None:
            often = (p * tokens[topic] >= USES) & (counts[words] > 0)
            used[topic].append(words.start + np.flatnonzero(often))
    total = 1 if counts is None else max(1, counts.sum())
    for topic, ids in enumerate(probable.ids):
        chosen, selected = [ids], np.concatenate([ids[:0], *used[topic]])
        if counts is not None and len(selected):
            p, share = phi[selected, topic].astype(np.float64), counts[selected] / total
            for lam in LAMBDAS[:-1]:
                chosen.append(selected[best(relevance(p, share, lam), MOST)])
        word_ids.append(with_needed(phi[:, topic], *chosen))
    return word_ids


def with_needed(p: Floats, *ids: Int64s) -> Int64s:
    """Return the union of several arrays of word ids, sorted by decreasing probability ``p``."""
    union = np.unique(np.concatenate(ids))
    ranked: Int64s = union[np.lexsort((union, -p[union]))]
    return ranked


def relevance(p: Doubles, counts: Doubles, lam: float) -> Doubles:
    """Return the relevance of words in a topic: lam log p(w|k) + (1 - lam) log (p(w|k) / p(w)).

    p(w|k) is the probability of word w in topic k, and p(w) its frequency in the corpus.

    Parameters
    ----------
    p : (n,)
        Probabilities of the words in the topic.
    counts : (n,)
        Relative frequencies of the words in the corpus.
    lam : float
        1 ranks by probability in the topic; 0 ranks by its ratio to the frequency in the corpus.

    References
    ----------
    Sievert and Shirley (2014), LDAvis: a method for visualizing and interpreting topics, eq. (1).
    """
    scores: Doubles = np.log(p) - (1.0 - lam) * np.log(counts)
    return scores


def columns(phi: Floats, k: int) -> Iterator[Doubles]:
    """Yield the first k columns (topics) of a matrix with V rows, each as float64."""
    for part in iterate_topics(phi, k):
        yield from part


def best(values: Doubles, n: int) -> Int64s:
    """Return the indices of the n greatest values, greatest first."""
    n = min(n, len(values))
    if n == 0:
        return np.empty(0, np.int64)
    positions = np.argpartition(-values, n - 1)[:n]
    ranked: Int64s = positions[np.lexsort((positions, -values[positions]))]
    return ranked


def masses(phi: Floats, weights: Doubles) -> Doubles:
    """Return the probability of each word in the corpus, (V,), at least 1e-30."""
    topic_masses: Doubles = (phi[:, : len(weights)] @ weights.astype(np.float32)).astype(np.float64)
    return np.maximum(topic_masses, 1e-30, out=topic_masses)


class Words(NamedTuple):
    """Words of the vocabulary that can be looked up on the page, most frequent first.

    Attributes
    ----------
    ids : (W,) int64
    counts : (W,) int64
        Number of occurrences; 0 if it is unknown.
    n : (W,) int64
        Number of topics that are listed for each word.
    topics : (P,) int64
        Topics listed for the first word, then for the second, and so on; for each word, the topic
        with the greatest share first.
    shares : (P,) float64
        Fraction of the word's uses that are in the topic, for each entry of `topics`.
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
    """Choose the words that can be looked up on the page, and the topics listed for each word.

    Parameters
    ----------
    phi : (V, K or more)
    weights : (K,) or None
    counts : (V,) or None
    needed : int64 array
        Ids of words that must be included.
    most : int
        Number of the most frequent words to include.
    k : int
        Number of topics.
    signed : bool
        Whether topics are directions, which have no share of a word's uses.
    """
    even = np.full(k, 1.0 / k) if weights is None else weights
    often: Int64s | Doubles
    often = counts if counts is not None else -np.arange(len(phi)) if signed else masses(phi, even)
    ids = np.union1d(greatest(often, most), needed)
    ids = ids[np.lexsort((ids, -often[ids]))]
    total = np.zeros(len(ids), np.int64) if counts is None else counts[ids]
    n, topics, shares = np.zeros(len(ids), np.int64), [], []
    for begin in range(0, 0 if signed else len(ids), _ROWS):
        mine = phi[ids[begin : begin + _ROWS], :k] * even.astype(np.float32)
        mine /= np.maximum(mine.sum(axis=1, keepdims=True), 1e-30)
        row, topic = np.nonzero(mine >= LEAST_SHARE)
        share = mine[row, topic]
        ranked = np.lexsort((topic, -share, row))
        row, topic, share = row[ranked], topic[ranked], share[ranked]
        first = np.searchsorted(row, np.arange(len(mine)))
        few = np.arange(len(row)) - first[row] < TOPICS_OF_WORD
        n[begin : begin + _ROWS] = np.bincount(row[few], minlength=len(mine))
        topics.append(topic[few])
        shares.append(share[few].astype(np.float64))
    return Words(
        ids,
        total,
        n,
        np.concatenate(topics) if topics else np.empty(0, np.int64),
        np.concatenate(shares) if shares else np.empty(0),
    )


def greatest(values: Int64s | Doubles, n: int) -> Int64s:
    """Return the sorted indices of the n greatest values; of equal values, the first are taken."""
    if n >= len(values):
        return np.arange(len(values))
    if n <= 0:
        return np.empty(0, np.int64)
    least = np.partition(values, len(values) - n)[len(values) - n]
    above = np.flatnonzero(values > least)
    return np.union1d(above, np.flatnonzero(values == least)[: n - len(above)])


# ---- seed words


class SeedWord(NamedTuple):
    """A seed word of a topic, with its rank in the fitted topic.

    Attributes
    ----------
    word : str
    rank : int
        Rank among the words of the mean topic, from 1.
    ten : float or None
        Fraction of the draws in which the word is among the ten most probable, or None if draws are
        too few.
    """

    word: str
    rank: int
    ten: float | None


class SeedsFollowed:
    """Ranks of seed words in the fitted topics, which show how well the data support the words.

    Parameters
    ----------
    results : Results
        A run that was trained with seed words, which apply to its lowest layer.
    """

    def __init__(self, results: Results) -> None:
        seed_words: Any = getattr(results.options, "seed_words", ())
        self._results, k = results, len(seed_words)
        self._phi = results.phi()[:, :k]
        self._chosen = []
        for place, (_, words) in enumerate(seed_words):
            ids = np.array([i for _, i in words])
            self._chosen.append(ids[np.lexsort((ids, -self._phi[ids, place]))][:SEEDS])
        # Look up the top words of each topic, too. Whether a seed word is in the top ten depends on
        # the probability of the tenth most probable word.
        top = results.top(min(2 * TEN, len(results.vocabulary)), order=PROBABLE)[:k]
        longest = max(len(ids) for ids in self._chosen)
        self._words = np.concatenate([np.zeros((k, longest), np.int64), top], axis=1)
        self._there = np.ones(self._words.shape, bool)
        for place, ids in enumerate(self._chosen):
            self._words[place, : len(ids)] = ids
            self._there[place, len(ids) : longest] = False
            self._there[place, longest:] = ~np.isin(top[place], ids)
        self._ten, self._draws = np.zeros(self._words.shape), 0

    def add(self, sample: KeptSample) -> None:
        """Count the samples in which each seed word is among its topic's ten top words."""
        if sample.chain == 0:
            rows = np.arange(len(self._words))
            self._ten += sample.look_up(rows, self._words, self._there)[2]
            self._draws += 1

    def found(self) -> dict[int, tuple[SeedWord, ...]]:
        """Return each topic's seed words with their ranks, the most probable words first."""
        found = {}
        for place, ids in enumerate(self._chosen):
            p, ten = self._phi[:, place], self._ten[place]
            found[place] = tuple(
                SeedWord(
                    self._results.vocabulary[i],
                    int(np.count_nonzero(p > p[i])) + 1,
                    float(ten[n] / self._draws) if self._draws >= ENOUGH else None,
                )
                for n, i in enumerate(ids.tolist())
            )
        return found


def seeds_followed(results: Results, layer: int = 0) -> dict[int, tuple[SeedWord, ...]]:
    """Return each topic's seed words with their ranks; empty if the run has no seed words.

    Parameters
    ----------
    results : Results
    layer : int
        The layer, counted from 0; only the lowest layer has seed words.
    """
    if layer or not getattr(results.options, "seed_words", None):
        return {}
    seeds = SeedsFollowed(results)
    read_samples([ChainOfTopics(results, np.arange(results.fitted.layers[0]))], 0, [seeds.add])
    return seeds.found()


# ---- names


def automatic(first: Int64s, vocabulary: Sequence[str], order: Sequence[int]) -> dict[int, str]:
    """Name each topic by three of its first words; names begin with different words if possible.

    Parameters
    ----------
    first : (K, n) int64
        Ids of the first words of each topic, in the order in which they are shown.
    vocabulary : sequence of str
    order : sequence of int
        Topics in the order in which their names are chosen.
    """
    names: dict[int, str] = {}
    taken: set[int] = set()
    for k in order:
        ranked = first[k].tolist()
        head = next((w for w in ranked if w not in taken), ranked[0])
        taken.add(head)
        chosen = [head, *(w for w in ranked if w != head)][:NAME_WORDS]
        names[k] = BETWEEN.join(vocabulary[w] for w in chosen)
    return names


def names_of(results: Results, layer: int) -> dict[int, str]:
    """Return a name for each topic of a layer: from its seed words, or else from its first words.

    Parameters
    ----------
    results : Results
        The open run.
    layer : int
        Layer of topics, from 0.

    Returns
    -------
    dict of int to str
        Names by the ids of the topics.
    """
    order = heaviest(results.fitted.shown(layer), results.weights(layer))
    names = automatic(results.top(MOST, layer), results.vocabulary, order)
    return names | results.seed_names(layer)


def labelled(
    results: Results, at: int, records: Sequence[Mapping[str, Any]], key: str = "id"
) -> list[dict[str, Any]]:
    """Add labels to the records of topics, and sort the records by topic number for JSON files.

    Parameters
    ----------
    results : Results
    at : int
        The layer, counted from 0.
    records : sequence of mapping
    key : str
        Key of the topic's number in a record.

    Returns
    -------
    list of dict
        The records, with the topic's name as ``label``, and ``named``: whether a person gave the
        name.
    """
    names, labels = names_of(results, at), results.given_names(at)
    return [
        {
            **record,
            "label": labels.get(record[key], names[record[key]]),
            "named": record[key] in labels,
        }
        for record in sorted(records, key=lambda record: int(record[key]))
    ]


def heaviest(shown: Int64s, weights: Doubles | None) -> list[int]:
    """Return topics sorted by decreasing weight, or in the given order if weights are unknown.

    Parameters
    ----------
    shown : array of int64
        Ids of topics.
    weights : array of float64, (K,), or None
        Shares of the corpus.

    Returns
    -------
    list of int
        The sorted ids.
    """
    if weights is not None:
        shown = shown[np.lexsort((shown, -weights[shown]))]
    order: list[int] = shown.tolist()
    return order
