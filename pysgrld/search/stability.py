"""How far the topics of a contender can be trusted: found by all chains, steady, coherent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pysgrld.evaluate.matching import assign
from pysgrld.reading.diagnosis import SAME
from pysgrld.reading.results import Results, evenly_spaced
from pysgrld.report.terms import TEN, tenth
from pysgrld.types import Doubles, Floats

#: Kept samples that are looked at for steady words: more change no digit that is shown.
SAMPLES = 40


def share_found_by_all(chains: Sequence[Results]) -> float | None:
    """Give the share of the words that lie in topics that every chain has found.

    A topic of the first chain is found by another one if its counterpart there has at least 70 % of its
    probability in common. None of one chain, and where topics cannot be matched.

    Parameters
    ----------
    chains : sequence of Results
    """
    likeness = chains[0].fitted.likeness
    if len(chains) < 2 or likeness is None:
        return None
    first = _topics(chains[0])
    found = np.ones(len(first), bool)
    for other in chains[1:]:
        topics = _topics(other)
        rows = assign(likeness.similarity(first, topics))
        found &= likeness.overlap(first, topics[rows]) >= SAME
    weights = chains[0].weights()
    if weights is None:
        weights = np.full(len(first), 1.0 / len(first))
    return float(weights[found].sum() / weights.sum())


def _topics(results: Results) -> Floats:
    """Give the mean topics of the lowest layer, (K, V)."""
    phi = results.fitted.over_words(results.mean, 0)[:, : results.layers[0]]
    return np.ascontiguousarray(phi.T)


def steady_words(results: Results) -> float | None:
    """Give how many of a topic's ten words are among its ten in a draw, averaged; None without draws.

    Parameters
    ----------
    results : Results
    """
    steps, slim = results.word_steps()
    if results.fitted.no_mean or len(steps) < 2:
        return None
    top = results.top(min(TEN, len(results.vocabulary)))
    rows, there = np.arange(len(top)), np.ones(top.shape, bool)
    shares = []
    for step in evenly_spaced(np.array(steps), SAMPLES).tolist():
        values, censored = results.words_at(step, top, 0, slim=slim)
        if slim:
            last = results.read_slim(step)["phi"][:, [top.shape[1] - 1]]
            shares.append((values >= last) & ~censored)
        else:
            least = tenth(results.rows_of(step, 0), rows, values, there)
            shares.append(values >= least[:, None])
    return float(np.mean(shares) * top.shape[1])


def coherences(results: Results) -> Doubles | None:
    """Give the NPMI of each topic's ten words over the training documents; None without the corpus."""
    found = results.coherence(TEN)
    return None if found is None else found.npmi[results.fitted.shown(0)]
