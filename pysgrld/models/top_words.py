"""Top-word samples: of every topic its most probable words alone, for runs of which few full samples fit.

All rows of a draw are brought up to date for one, also those that lazy samplers left behind: the gamma
variate that a row waits for has no upper bound, so each may be among the most probable; and the sums of
the topics are exact for all rows together only. So a top-word sample is a part of the full one of its
iteration, to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pysgrld.types import Array, Condition, Floats, Invariant

#: Words that a top-word sample has of each topic.
WORDS = 256
#: Invariants of its arrays: ``words`` are the ids, ``phi`` what they have, the most probable first.
SLIM = {"words": Invariant(Condition.FINITE), "phi": Invariant(Condition.FINITE)}

#: The next topic's words are looked for above this share of the last one's least value.
_ABOVE = 0.5


def width(v: int) -> int:
    """Give how many words of each topic a top-word sample over V words has."""
    return min(WORDS, v)


def slim_sample(phi: Floats) -> dict[str, Array]:
    """Give the slim part of a sample of topics over words, (K, V): arrays (K, 256), or (K, V) if fewer.

    The most probable words first; of words alike those of smaller number.
    """
    k, v = phi.shape
    n = width(v)
    words = np.empty((k, n), np.uint32)
    guess = 0.0
    for row, values in enumerate(phi):
        words[row] = _largest(values, n, guess)
        guess = _ABOVE * float(values[words[row, -1]])
    return {"words": words, "phi": np.take_along_axis(phi, words.astype(np.int64), axis=1)}


def _largest(values: Floats, n: int, guess: float) -> Array:
    """Give the places of the n largest values, the largest first; quick if ``guess`` is just below."""
    places = np.flatnonzero(values >= guess)
    if len(places) < n:
        places = np.flatnonzero(values >= np.partition(values, len(values) - n)[-n])
    return places[np.argsort(-values[places], kind="stable")[:n]]


def looked_up(sample: Mapping[str, Array], words: Array) -> tuple[Floats, Array]:
    """Look words of each topic up in a top-word sample.

    Parameters
    ----------
    sample : mapping
    words : (K, n) int
        Ids of words.

    Returns
    -------
    values : (K, n) float32
        What the words have; of those that the sample lacks an upper bound, its least value.
    censored : (K, n) bool
        Whether the sample lacks them: they have at most that.
    """
    ids, phi = sample["words"], sample["phi"]
    values = np.empty(words.shape, np.float32)
    censored = np.empty(words.shape, bool)
    for k, wanted in enumerate(words):
        order = np.argsort(ids[k])
        sorted_ids = ids[k][order]
        at = np.minimum(np.searchsorted(sorted_ids, wanted), len(order) - 1)
        censored[k] = sorted_ids[at] != wanted
        values[k] = np.where(censored[k], phi[k, -1], phi[k][order[at]])
    return values, censored
