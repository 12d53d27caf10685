"""Detection of inactive topics, which suggest that the number of topics is too great."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.core.arithmetic import product
from pysgrld.errors import plural
from pysgrld.reading.results import Results
from pysgrld.types import Array

#: A topic is inactive if its weight is less than this fraction of the average weight. In a model of
#: 400 posts, topics without a theme have at most 0.13 of the average weight. In models of six
#: corpora without inactive topics, all topics have at least 0.2.
HARDLY = 0.15
#: A topic of less than this fraction of the average weight is also inactive if it is a copy of
#: another topic. In models of real corpora with 20 topics, all topics have more than this fraction.
LIGHT = 0.5
#: A topic is a copy if its similarity (Bhattacharyya coefficient) to another topic is at least this.
#: In a model with twice the true number of topics, similarities are 0.73 to 0.88. In models of real
#: corpora with 20 topics, they are below 0.65.
COPY = 0.75
#: Number of words over which similarities are summed at a time.
_WORDS = 4_096
#: Minimum number of topics for the remark on inactive topics at the end of training.
FEWEST = 20
#: Maximum number of topics x words for this remark, because larger matrices may exceed the memory
#: limit.
MOST_CELLS = 1 << 22


class Use(NamedTuple):
    """Inactive topics of a layer, and the remark about them.

    Attributes
    ----------
    inactive : frozenset of int
        Numbers of the inactive topics; empty unless the model has one layer and a chosen K.
    remark : str or None
        A line with the number of inactive topics and advice, or None if all topics are active.
    """

    inactive: frozenset[int]
    remark: str | None


def use_of_topics(results: Results, weights: Sequence[float | None], layer: int = 0) -> Use:
    """Return the inactive topics of a layer, and the remark about them.

    Parameters
    ----------
    results : Results
    weights : sequence of float or None
        Each shown topic's share of the corpus, or None if unknown.
    layer : int
        The layer, counted from 0.
    """
    chosen = results.options.topics is not None and len(results.fitted.layers) == 1
    if not chosen or None in weights:
        return Use(frozenset(), None)
    shares = np.array(weights, np.float64)
    inactive = shares * len(shares) < HARDLY
    ids = results.fitted.shown(layer)
    if not results.fitted.signed:
        inactive |= copies(results.phi(layer), ids, shares)
    few = int(inactive.sum())
    if not few:
        return Use(frozenset(), None)
    return Use(frozenset(ids[inactive].tolist()), advice(results.fitted.noun, few, len(shares)))


def copies(phi: Array, ids: Array, weights: Array) -> Array:
    """Return a mask, (K,), that is True for each topic of low weight that copies another topic.

    Parameters
    ----------
    phi : (V, K or more) float
    ids : (K,) int
        Columns of the topics.
    weights : (K,) float64
        Shares of the topics in the corpus.
    """
    light = np.flatnonzero(weights * len(weights) < LIGHT)
    light = light[np.argsort(weights[light], kind="stable")]
    similarity = np.zeros((len(light), len(weights)))
    for first in range(0, len(phi) if len(light) else 0, _WORDS):
        roots = np.sqrt(phi[first : first + _WORDS, ids])
        similarity += product(roots[:, light].T, roots)
    copy = np.zeros(len(weights), bool)
    for row, k in zip(similarity, light.tolist(), strict=True):
        row[k] = 0.0
        copy[k] = row[~copy].max() >= COPY
    return copy


def remark_at_the_end(results: Results) -> str | None:
    """Return the remark about inactive topics in a run that has ended, or None.

    The result is None if all topics are active, or if the run has too few topics or too many topics
    x words.

    Parameters
    ----------
    results : Results

    Returns
    -------
    str or None
        One line.
    """
    topics = results.fitted.layers[0]
    if topics < FEWEST or topics * len(results.vocabulary) > MOST_CELLS:
        return None
    weights = results.weights()
    if weights is None:
        return None
    return use_of_topics(results, weights[results.fitted.shown(0)].tolist()).remark


def advice(noun: str, few: int, topics: int) -> str:
    """Return the remark about a given number of inactive topics.

    Parameters
    ----------
    noun : str
        The model's word for a topic.
    few, topics : int
        Number of inactive topics, and of all topics.
    """
    used = topics - few
    better = used if used < 20 else round(used / 5) * 5 if used < 50 else round(used / 10) * 10
    if better >= topics:  # Rounding may give the current number of topics.
        better = used
    are = "is" if few == 1 else "are"
    return f"{plural(few, noun)} of {topics} {are} inactive; try -k {better}, or 'sgmc search'"
