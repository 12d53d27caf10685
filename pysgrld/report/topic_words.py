"""Words of topics: the words that are shown, the ranks of seeds among them, and automatic names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.models.word_order import PROBABLE, in_parts
from pysgrld.reading.intervals import ENOUGH
from pysgrld.reading.results import ChainOfTopics, Results
from pysgrld.report.sample_pass import TEN, Bools, KeptSample, SampleVisitor, followed, read_samples
from pysgrld.types import Doubles, Floats, Int64s

#: Words that are taken of each order by relevance, and the orders' lambdas.
MOST, LAMBDAS = 30, tuple(i / 10 for i in range(11))
#: Expected uses in a topic below which its own words are chosen by chance.
USES = 5.0
#: Seeds of a topic that are followed, at most: the most probable.
SEEDS = 100
#: Words of an automatic name, and what stands between them.
NAME_WORDS, BETWEEN = 3, " · "
#: Topics of a word, and the least share of its uses that one has.
TOPICS_OF_WORD, LEAST_SHARE = 6, 0.04
#: Words that are processed together.
_ROWS = 8192


class Terms(NamedTuple):
    """The words that are shown of each topic, the most probable first.

    Matrices have a row for each topic; ``there`` marks the columns that are words of the topic.

    Attributes
    ----------
    words : (K, n) int64
        Ids.
    there : (K, n) bool
    mean, low, high : (K, n) float64
        Probabilities, or entries of directions; low and high are the mean without intervals.
    open : (K, n) bool
        True if the low end is only known to be below the value in `low`.
    ten : (K, n) float64
        Share of the draws in which the word is among the ten most probable.
    share : (K, n) float64
        Share of the word's uses that the topic has.
    draws, pooled : int
        Draws behind intervals: of the first chain, 0 without intervals; and of all chains together, if
        common topics are read from all.
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


# ---- which words


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
) -> Terms:
    """Describe the words of each topic, in one pass over the kept samples.

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
        Chains with the draws to read; the first has all topics.
    layer : int
        The layer, counted from 0.
    signed : bool
        Whether topics are directions.
    visitors : sequence of SampleVisitor
        Others that are shown the samples in the same pass.
    needed : (K, n) int64, optional
        Ids of further words of each topic that must be among them.
    """
    k = len(sources[0].rows)
    even = np.full(k, 1.0 / k) if weights is None else weights
    if signed:
        chosen = [best(column, MOST) for column in columns(phi, k)]
    else:
        chosen = candidates(phi, even * tokens, counts)
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
    intervals = followed(sources, words, is_present, layer, visitors)
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
    word_ids = []
    share = None if counts is None else counts / max(1, counts.sum())
    for p, n_tokens in zip(columns(phi, len(tokens)), tokens, strict=True):
        chosen = [best(p, MOST)]
        if counts is not None and share is not None:
            selected = np.flatnonzero((p * n_tokens >= USES) & (counts > 0))
            for lam in LAMBDAS[:-1] if len(selected) else ():
                chosen.append(selected[best(relevance(p[selected], share[selected], lam), MOST)])
        ids = np.unique(np.concatenate(chosen))
        word_ids.append(ids[np.lexsort((ids, -p[ids]))])
    return word_ids


def with_needed(p: Floats, ids: Int64s, needed: Int64s) -> Int64s:
    """Return the ids of a topic's words and of further ones, the most probable first."""
    union = np.union1d(ids, needed)
    ranked: Int64s = union[np.lexsort((union, -p[union]))]
    return ranked


def relevance(p: Doubles, counts: Doubles, lam: float) -> Doubles:
    """Return the relevance of words of a topic: lam log p(w|k) + (1 - lam) log (p(w|k) / p(w)).

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
    scores: Doubles = np.log(p) - (1.0 - lam) * np.log(counts)
    return scores


def columns(phi: Floats, k: int) -> Iterator[Doubles]:
    """Yield the topics of a matrix (V, K or more), one after the other, each (V,) float64."""
    for part in in_parts(phi, k):
        yield from part


def best(values: Doubles, n: int) -> Int64s:
    """Return the places of the n greatest values, the greatest first."""
    n = min(n, len(values))
    if n == 0:
        return np.empty(0, np.int64)
    positions = np.argpartition(-values, n - 1)[:n]
    ranked: Int64s = positions[np.lexsort((positions, -values[positions]))]
    return ranked


def masses(phi: Floats, weights: Doubles) -> Doubles:
    """Return the share of the corpus that each word has under the topics, (V,); above 0."""
    topic_masses: Doubles = (phi[:, : len(weights)] @ weights.astype(np.float32)).astype(np.float64)
    return np.maximum(topic_masses, 1e-30)


class Words(NamedTuple):
    """The words of the vocabulary that can be looked up, the most frequent first.

    Attributes
    ----------
    ids : (W,) int64
    counts : (W,) int64
        Occurrences; 0 if they are not known.
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
    """Choose the words that can be looked up, and the topics that each is used in.

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


# ---- seeds


class SeedWord(NamedTuple):
    """A seed word of a topic, as the data have it.

    Attributes
    ----------
    word : str
    rank : int
        Its place among the words of the mean topic, from 1.
    ten : float or None
        Share of the draws in which it is among the ten most probable; None with too few draws.
    """

    word: str
    rank: int
    ten: float | None


class SeedsFollowed:
    """The seed words that a person gave, over the samples: how far the data followed them.

    Parameters
    ----------
    results : Results
        A run that was trained with seed words; its lowest layer has them.
    """

    def __init__(self, results: Results) -> None:
        seed_words: Any = getattr(results.options, "seed_words", ())
        self._results, k = results, len(seed_words)
        self._phi = results.phi()[:, :k]
        self._chosen = []
        for place, (_, words) in enumerate(seed_words):
            ids = np.array([i for _, i in words])
            self._chosen.append(ids[np.lexsort((ids, -self._phi[ids, place]))][:SEEDS])
        # in addition to the seeds, the first words of each topic, to find its tenth word
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
        """Count the seeds among the ten most probable words, of the first chain."""
        if sample.chain == 0:
            rows = np.arange(len(self._words))
            self._ten += sample.look_up(rows, self._words, self._there)[2]
            self._draws += 1

    def found(self) -> dict[int, tuple[SeedWord, ...]]:
        """Return the places of the seed words in their topics, by topic, the most probable first."""
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
    """Return the ranks of the seed words in their topics, by topic; empty without seed words.

    Parameters
    ----------
    results : Results
    layer : int
        The layer, counted from 0: only the lowest has seeds.
    """
    if layer or not getattr(results.options, "seed_words", None):
        return {}
    seeds = SeedsFollowed(results)
    read_samples([ChainOfTopics(results, np.arange(results.fitted.layers[0]))], 0, [seeds.add])
    return seeds.found()


# ---- names


def automatic(first: Int64s, vocabulary: Sequence[str], order: Sequence[int]) -> dict[int, str]:
    """Name topics by three of their first words each, with a first word that no other name begins with.

    Parameters
    ----------
    first : (K, n) int64
        Ids of the first words of each topic, in the order in which they are shown.
    vocabulary : sequence of str
    order : sequence of int
        Topics in the order in which they may choose.
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
    """Name the topics of a run, of a layer counted from 0, by its seeds or its first words.

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
    """Return records of topics in the one order of JSON and files, by number, each with its label.

    Parameters
    ----------
    results : Results
    at : int
        The layer, counted from 0.
    records : sequence of mapping
    key : str
        Name of the topic's number in a record.

    Returns
    -------
    list of dict
        With ``label``, the name of the topic everywhere, and ``named``, whether a person gave it.
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
    """Return some topics, the greatest weight first; in their order if weights are unknown.

    Parameters
    ----------
    shown : array of int64
        Ids of topics.
    weights : array of float64, (K,), or None
        Shares of the corpus.

    Returns
    -------
    list of int
        The ids, ordered.
    """
    if weights is not None:
        shown = shown[np.lexsort((shown, -weights[shown]))]
    order: list[int] = shown.tolist()
    return order
