"""Orders in which a topic's words are shown, and the scores of words that define the orders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core.arithmetic import log
from pysgrld.errors import UsageError
from pysgrld.types import Doubles, Floats, Int64s, WordTotals

#: Number of pseudo-occurrences of a word, spread evenly over all topics, that shrink the word's
#: exclusivity. On halves of Cora and bills (K = 10, 30, 50), top words chosen with this number have
#: a greater product of NPMI and diversity than the most probable words.
ADDED = 40.0
#: Distinctive words are the default if training documents have at least this mean number of tokens
#: (docs/evaluation.md has the comparison).
TOKENS_OF_DOCUMENT = 8.0
#: Weight of exclusivity in FREX.
FREX = 0.5
#: Default of lambda in relevance.
RELEVANCE = 0.6
#: Maximum number of topics that `iterate_topics` copies at a time.
_TOGETHER = 16
#: Minimum number of topics that `iterate_topics` copies at a time.
_FEW = 2
#: If possible, `iterate_topics` copies at most this number of elements at a time.
_CELLS = 2_000_000
_TINY = 1e-12
#: Number of words that are processed at a time.
_WORDS = 1 << 16
#: Slice that selects all words.
ALL = slice(None)


class WordOrder(NamedTuple):
    """Order in which the words of a topic are shown.

    Attributes
    ----------
    name : {"distinctive", "probable", "frex", "relevance"}
    weight : float
        Lambda of relevance, from 0 to 1; other orders do not use it.
    """

    name: str
    weight: float = RELEVANCE

    def __str__(self) -> str:
        return f"{self.name}:{self.weight:g}" if self.name == "relevance" else self.name

    @property
    def needs_totals(self) -> bool:
        """Whether the order depends on word frequencies in the training documents."""
        return self.name in ("distinctive", "relevance")

    @property
    def title(self) -> str:
        """Heading of the column of words in a table."""
        return {"probable": "top words", "distinctive": "distinctive words"}.get(
            self.name, f"words by {self}"
        )


PROBABLE, DISTINCTIVE = WordOrder("probable"), WordOrder("distinctive")


def parse_order(text: Any) -> WordOrder:
    """Parse a word order, such as "frex" or "relevance:0.6".

    Parameters
    ----------
    text : str

    Raises
    ------
    UsageError
        If the order is unknown.
    """
    name, colon, weight = text.partition(":") if isinstance(text, str) else (text, "", "")
    if name in ("distinctive", "probable", "frex") and not colon:
        return WordOrder(name)
    if name == "relevance":
        try:
            lam = float(weight) if colon else RELEVANCE
        except ValueError:
            lam = -1.0
        if 0.0 <= lam <= 1.0:
            return WordOrder(name, lam)
    raise UsageError(
        f"{text!r} is not a word order; give distinctive, probable, frex, or relevance:LAMBDA "
        "with 0 <= LAMBDA <= 1"
    )


def default_order(documents: int, tokens: int) -> WordOrder:
    """Return the default order of topic words for a corpus.

    In a document of a few words, two distinctive words of one topic seldom occur together, although
    both belong to the topic. Probable words are therefore more coherent in titles.

    Parameters
    ----------
    documents, tokens : int
        Number of training documents, and of their tokens.
    """
    return DISTINCTIVE if tokens >= TOKENS_OF_DOCUMENT * max(1, documents) else PROBABLE


class WordScorer:
    """Scorer that computes the scores by which each topic's words are ordered.

    *Distinctive*: p(w|k) / sqrt(r) times a shrunken exclusivity, so that a rare word does not count
    as an exclusive word. The exclusivity is the posterior mean (n p(w|k) + 40 / K) / (n sum_j
    p(w|j) + 40) of the topic's share of the word, with a Dirichlet prior of 40 occurrences. n = N / K
    is the number of tokens of an average topic; that of each topic depends on the documents read for
    it, and is therefore not used. Occurrences of a word come r together (`WordTotals.repetition`):
    a word that few documents repeat represents the topic less.

    Parameters
    ----------
    phi : (V, K or more)
        Probabilities of the words in the topics.
    k : int
        Topics K; further columns are padding.
    order : WordOrder
    tokens : int
        Number of training tokens.
    totals : WordTotals, optional
        Word totals of the training documents. They give the repetition of words, by default 1, and for
        relevance the words' shares, by default the mean in the topics.

    References
    ----------
    Sievert and Shirley (2014), LDAvis, eq. (1), for relevance. Bischof and Airoldi (2012), Summarizing
    topical content with word frequency and exclusivity, for FREX.
    """

    def __init__(
        self, phi: Floats, k: int, order: WordOrder, tokens: int, totals: WordTotals | None = None
    ) -> None:
        self.order, self._phi, self._k = order, phi, k
        self._totals, self._average = totals, tokens / k
        self._tokens = 1 if totals is None else max(1, int(totals.occurrences.sum()))
        self._total = np.zeros(len(phi))
        if order.name != "probable":
            # Sum over contiguous copies of the topics, because the rounding errors of row-major and
            # column-major arrays would differ.
            for words in _blocks(phi):
                for part in iterate_topics(phi[words], k):
                    self._total[words] += part.sum(axis=0)
        np.maximum(self._total, 1e-300, out=self._total)

    def scores(self, p: Doubles, words: slice = ALL) -> Doubles:
        """Return the scores of words, (n,), given the words' probabilities p in a topic, (n,)."""
        scores, totals = p, self._totals
        if self.order.name == "distinctive":
            n = self._average
            scores = p * (n * p + ADDED / self._k) / (n * self._total[words] + ADDED)
            if totals is not None:
                block = WordTotals(*(row[words] for row in totals))
                scores /= np.sqrt(block.repetition)
        elif self.order.name == "frex":
            exclusive = FREX / _quantiles(p / self._total[words])
            scores = 1.0 / (exclusive + (1.0 - FREX) / _quantiles(p))
        elif self.order.name == "relevance":
            shares = self._total[words] / self._k
            if totals is not None:
                shares = totals.occurrences[words] / self._tokens
            usual = log(np.maximum(shares, _TINY))
            scores = log(np.maximum(p, _TINY)) - (1.0 - self.order.weight) * usual
        return scores

    def first(self, p: Doubles, n: int) -> Int64s:
        """Return the ids of a topic's first n words, given the topic's word probabilities p.

        Words of equal score are ordered by their probability, and then by their number.
        """
        first = FirstWords(1, min(n, len(p)))
        first.add(0, ALL, p, self.scores(p))
        ids: Int64s = first.ids[0]
        return ids

    def first_words(self, n: int) -> Int64s:
        """Return the ids of the first n (at most V) words of each topic, (K, n)."""
        if self.order.name == "probable":
            return top_words(self._phi[:, : self._k], n)
        first = FirstWords(self._k, min(n, len(self._phi)))
        # FREX ranks a word among all words, so one block contains all words.
        size = len(self._phi) if self.order.name == "frex" else _WORDS
        for words, topic, p in iterate_blocks(self._phi, self._k, size):
            first.add(topic, words, p, self.scores(p, words))
        return first.ids


class FirstWords:
    """First n words of each topic, sorted by score, then by probability, then by id.

    Words are added in blocks, because copies of all words take much memory.

    Parameters
    ----------
    k : int
        Number of topics.
    n : int
        Number of words to keep for each topic.
    """

    def __init__(self, k: int, n: int) -> None:
        self._n = n
        self._ids = [np.empty(0, np.int64) for _ in range(k)]
        self._keys = [np.empty((2, 0)) for _ in range(k)]

    def add(self, topic: int, words: slice, p: Doubles, scores: Doubles | None = None) -> None:
        """Update a topic's first words with a block of words, their probabilities and scores.

        By default, the scores are equal to p.
        """
        scores, n = p if scores is None else scores, min(self._n, len(p))
        if n == 0:
            return
        best = np.flatnonzero(scores >= np.partition(scores, len(p) - n)[len(p) - n])
        ids = np.concatenate([self._ids[topic], (words.start or 0) + best])
        keys = np.concatenate([self._keys[topic], [-p[best], -scores[best]]], axis=1)
        order = np.lexsort((ids, *keys))[: self._n]
        self._ids[topic], self._keys[topic] = ids[order], keys[:, order]

    @property
    def ids(self) -> Int64s:
        """Ids of the first words of each topic, (K, n)."""
        return np.array(self._ids, np.int64).reshape(len(self._ids), self._n)


def top_words(phi: Floats, n: int) -> Int64s:
    """Return the ids of each topic's n most probable words, (K, n), most probable first.

    Parameters
    ----------
    phi : (V, K)
    n : int
        Number of words; all words are returned if V is less.
    """
    first = FirstWords(phi.shape[1], min(n, len(phi)))
    for words, topic, p in iterate_blocks(phi, phi.shape[1]):
        first.add(topic, words, p)
    return first.ids


def distinctiveness(phi: Floats, k: int, top: Int64s) -> Doubles:
    """Return the mean exclusivity p(w|k) / sum_j p(w|j) of the first words of each topic, (K,).

    Parameters
    ----------
    phi : (V, K or more)
        Probabilities of the words in the topics.
    k : int
        Topics K; further columns are padding.
    top : (K, n)
        Ids of the first words of each topic.

    Returns
    -------
    Doubles
        From 1/K, if all topics share the words equally, to 1, if no other topic has them.
    """
    values = np.ones(k)
    for topic, words in enumerate(top.tolist()):
        rows = np.ascontiguousarray(phi[words, :k], np.float64)
        with np.errstate(invalid="ignore"):  # Infinite values give NaN without a warning.
            values[topic] = (rows[:, topic] / np.maximum(rows.sum(axis=1), 1e-300)).mean()
    return values


def iterate_blocks(phi: Floats, k: int, size: int = _WORDS) -> Iterator[tuple[slice, int, Doubles]]:
    """Yield tuples (block of words, topic, the words' probabilities in the topic), block by block.

    Parameters
    ----------
    phi : (V, K or more)
    k : int
        Topics K; further columns are padding.
    size : int
        Maximum number of words in a block.

    Yields
    ------
    slice, int, (n,) float64
        The next probabilities replace them.
    """
    for words in _blocks(phi, size):
        topics = (p for part in iterate_topics(phi[words], k) for p in part)
        yield from ((words, topic, p) for topic, p in enumerate(topics))


def iterate_topics(phi: Floats, k: int) -> Iterator[Doubles]:
    """Yield contiguous copies of a few topics at a time, (n, V) float64.

    Parameters
    ----------
    phi : (V, K or more)
    k : int
        Topics K; further columns are padding.

    Yields
    ------
    (n, V) float64
        A copy has fewer topics if the topics have more words. The next copy replaces its values.
    """
    copy = np.empty((0, len(phi)))
    for topics in _parts(phi, k):
        rows = phi[:, topics].T
        copy = copy if len(copy) == len(rows) else np.empty(rows.shape)
        copy[:] = rows
        yield copy


def _blocks(phi: Floats, size: int = _WORDS) -> Iterator[slice]:
    return (slice(first, first + size) for first in range(0, len(phi), size))


def _parts(phi: Floats, k: int) -> Iterator[slice]:
    width = max(_FEW, min(_TOGETHER, _CELLS // max(1, len(phi))))
    return (slice(first, min(first + width, k)) for first in range(0, k, width))


def _quantiles(values: Doubles) -> Doubles:
    """Return, for each value, the fraction of all values that are not above the value."""
    ranks: Doubles = np.searchsorted(np.sort(values), values, side="right") / len(values)
    return ranks
