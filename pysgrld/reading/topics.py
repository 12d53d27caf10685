"""Topics of a run in the form in which they are shown: words, weights and coherence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pysgrld.models.word_order import PROBABLE, distinctiveness, top_words
from pysgrld.reading.replicated import read_replicated
from pysgrld.reading.results import Results

#: Minimum effective sample size of a word's probability. If it is smaller, the bounds of the
#: interval are called rough.
_ENOUGH = 100.0
#: Number of a topic's first words from which its coherence and its distinctiveness are computed.
_WORDS = 10


class Word(NamedTuple):
    """Top word of a topic, with the interval of its probability if enough samples are stored.

    Attributes
    ----------
    word : str
    probability : float
        Probability in the mean topic; if the topic is a direction, the word's entry.
    low, high : float or None
        Bounds between which 90 % of the draws of the probability lie, or None if unknown.
    low_open, high_open : bool
        True if the bound is known only to lie below the given value, as top-word samples lack the
        word.
    ess : float or None
        Effective sample size of the draws of the probability, or None if unknown.
    """

    word: str
    probability: float
    low: float | None
    high: float | None
    low_open: bool = False
    high_open: bool = False
    ess: float | None = None

    @property
    def rough(self) -> bool:
        """True if the effective sample size is too small for precise bounds."""
        return self.ess is not None and self.ess < _ENOUGH


class Topic(NamedTuple):
    """Topic in the form in which it is shown: number, name, words, weight and coherence.

    Attributes
    ----------
    id : int
        Row of the topic in an export.
    weight : float or None
        Share of the training tokens; for a component of a mixture, its stick-breaking weight.
    npmi, umass : float or None
        Coherence of the first ten words.
    distinctiveness : float or None
        Mean of p(w|k) / sum_j p(w|j) over the first ten words; None if topics are directions.
    words : tuple of Word
        The first words in the order of `Results.word_order`.
    documents : int or None
        Number of training documents of this component; None if a document may have several topics.
    against : tuple of Word
        If the topic is a direction: words with negative entries that are at least as large in size
        as the entry of the last top word, beginning with the lowest entry.
    label : str or None
        The name of the topic, from the run's folder or from its seed words.
    found : int or None
        Number of pooled chains that have the topic, or None for a single chain.
    replicated : int or None
        Number of replicates (new runs on halves of the documents) that found the topic, or None
        without replicates.
    probable : tuple of Word
        The most probable words, without intervals; empty if ``words`` are already in that order.
    """

    id: int
    weight: float | None
    npmi: float | None
    umass: float | None
    distinctiveness: float | None
    words: tuple[Word, ...]
    documents: int | None
    against: tuple[Word, ...] = ()
    label: str | None = None
    found: int | None = None
    replicated: int | None = None
    probable: tuple[Word, ...] = ()


def topics_of(
    results: Results, n: int, *, intervals: bool, coherences: bool = True, at: int = 0
) -> list[Topic]:
    """Return the topics of a layer in order of decreasing weight, with their words and coherence.

    Parameters
    ----------
    results : Results
    n : int
        Number of words of each topic, in the order of `Results.word_order`.
    intervals, coherences : bool
        True to compute intervals, and the coherence of the first ten words.
    at : int
        The layer, counted from 0.
    """
    phi = results.phi(at)
    top = results.order_topics(phi, n, at)
    probable = None
    if not results.fitted.signed and results.word_order != PROBABLE:
        probable = results.order_topics(phi, n, at, PROBABLE)
    followed = intervals and not results.fitted.no_mean
    bounds = results.word_intervals(top, at) if followed else None
    measured = results.coherence(_WORDS, at) if coherences else None
    npmi = results.fit_measures.npmi if coherences and at == 0 else None
    if measured is not None:
        npmi = measured.npmi
    layers = results.fitted.layers
    own = None
    if not results.fitted.signed:
        first = top[:, :_WORDS] if n >= _WORDS else results.order_topics(phi, _WORDS, at)
        own = distinctiveness(phi, layers[at], first)
    weights, counts = results.weights(at), results.fitted.counts()
    labels, chains = results.given_names(at), results.found_by(at)
    replicated = read_replicated(results, at)
    topics = []
    for k in results.fitted.shown(at).tolist():
        entries = phi[:, k]
        words = tuple(
            Word(
                results.vocabulary[w],
                float(entries[w]),
                None if bounds is None else float(bounds.low[k, i]),
                None if bounds is None else float(bounds.high[k, i]),
                bounds is not None and bool(bounds.low_open[k, i]),
                bounds is not None and bool(bounds.high_open[k, i]),
                None if bounds is None or np.isnan(bounds.ess[k, i]) else float(bounds.ess[k, i]),
            )
            for i, w in enumerate(top[k].tolist())
        )
        # If topics are unit vectors, also show the words with the lowest entries. The topic points
        # away from these words.
        least = words[-1].probability
        lowest = top_words(-entries[:, None], n)[0].tolist() if results.fitted.signed else []
        against = tuple(
            Word(results.vocabulary[w], float(entries[w]), None, None)
            for w in lowest
            if entries[w] < 0.0 and -entries[w] >= least
        )
        topics.append(
            Topic(
                k,
                None if weights is None else float(weights[k]),
                None if npmi is None else float(npmi[k]),
                None if measured is None else float(measured.umass[k]),
                None if own is None else float(own[k]),
                words,
                None if counts is None else int(counts[k]),
                against,
                labels.get(k),
                None if chains is None else int(chains[k]),
                None if replicated is None else replicated.times[k],
                ()
                if probable is None
                else tuple(
                    Word(results.vocabulary[w], float(entries[w]), None, None)
                    for w in probable[k].tolist()
                ),
            )
        )
    return sorted(topics, key=lambda topic: (-(topic.weight or 0.0), topic.id))
