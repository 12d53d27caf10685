"""Topics of a run as they are shown: their words, weights and coherence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pysgrld.models.word_order import PROBABLE, distinctiveness, top_words
from pysgrld.reading.results import Results

#: Effective sample size below which a bound is called rough.
_ENOUGH = 100.0
#: First words of a topic that coherence and distinctiveness look at.
_WORDS = 10


class Word(NamedTuple):
    """A top word of a topic, with an interval of its draws if enough are kept.

    Attributes
    ----------
    word : str
    probability : float
        In the mean topic; for a topic that is a direction, the word's entry.
    low, high : float or None
        Bounds between which 90 % of its draws lie, or None if unknown.
    low_open, high_open : bool
        True if the bound lies below the value given, as top-word samples lack the word.
    ess : float or None
        Effective sample size of its draws, if known.
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
        """Return True if the effective sample size of its draws is too small."""
        return self.ess is not None and self.ess < _ENOUGH


class Topic(NamedTuple):
    """A topic in the form that is shown.

    Attributes
    ----------
    id : int
        Its row in an export.
    weight : float or None
        Share of the tokens of training, or of the stick of a mixture.
    npmi, umass : float or None
        Coherence of its first ten words.
    distinctiveness : float or None
        Mean of p(w|k) / sum_j p(w|j) over its first ten words; None of directions.
    words : tuple of Word
        The first words in the order of `Results.word_order`.
    documents : int or None
        Training documents of this component, or None if documents have several topics.
    against : tuple of Word
        Words that a direction points away from at least as strongly as to the last of its top words, the
        farthest first.
    label : str or None
        The name that a person gave it, in the run's folder or with its seed words.
    found : int or None
        Chains that have it, of those that are read as one, or None if there is one alone.
    probable : tuple of Word
        The most probable words without intervals, if ``words`` are in another order.
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
    probable: tuple[Word, ...] = ()


def topics_of(
    results: Results, n: int, *, intervals: bool, coherences: bool = True, at: int = 0
) -> list[Topic]:
    """Describe the topics of a layer, the one of greatest weight first.

    Parameters
    ----------
    results : Results
    n : int
        Words of each, in the order of `Results.word_order`.
    intervals, coherences : bool
        True to look for intervals, and for the coherence of the first ten words.
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
    found = results.coherence(_WORDS, at) if coherences else None
    layers = results.fitted.layers
    own = None
    if not results.fitted.signed:
        first = top[:, :_WORDS] if n >= _WORDS else results.order_topics(phi, _WORDS, at)
        own = distinctiveness(phi, layers[at], first)
    weights, counts = results.weights(at), results.fitted.counts()
    labels, chains = results.given_names(at), results.found_by(at)
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
        # a direction points away from the words of its lowest entries
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
                None if found is None else float(found.npmi[k]),
                None if found is None else float(found.umass[k]),
                None if own is None else float(own[k]),
                words,
                None if counts is None else int(counts[k]),
                against,
                labels.get(k),
                None if chains is None else int(chains[k]),
                ()
                if probable is None
                else tuple(
                    Word(results.vocabulary[w], float(entries[w]), None, None)
                    for w in probable[k].tolist()
                ),
            )
        )
    return sorted(topics, key=lambda topic: (-(topic.weight or 0.0), topic.id))
