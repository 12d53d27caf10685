"""How far the data followed the seed words that a person gave: the place of each in its topic."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pysgrld.reading.intervals import ENOUGH
from pysgrld.reading.results import Results
from pysgrld.report.terms import TEN, ChainOfTopics, draws_of_words

#: Seeds of a topic that are told of, at most: the first.
MOST = 100


class SeedWord(NamedTuple):
    """A seed word of a topic, as the data have it.

    Attributes
    ----------
    word : str
    rank : int
        Its place among the words of the mean topic, from 1.
    ten : float or None
        Share of the draws in which it is among the ten most probable; None of too few draws.
    """

    word: str
    rank: int
    ten: float | None


def seeds_followed(results: Results, at: int = 0) -> dict[int, tuple[SeedWord, ...]]:
    """Tell the places of the seed words in their topics, by topic; empty where none were given.

    Parameters
    ----------
    results : Results
    at : int
        The layer, counted from 0: only the lowest has seeds.
    """
    given: Any = getattr(results.options, "seed_words", None)
    if not given or at:
        return {}
    k, v = len(given), len(results.vocabulary)
    phi = results.fitted.over_words(results.mean, 0)[:, :k]
    top = results.top(min(2 * TEN, v))[:k]
    chosen = []
    for place, (_, words) in enumerate(given):
        ids = np.array([i for _, i in words])
        chosen.append(ids[np.lexsort((ids, -phi[ids, place]))][:MOST])
    longest = max(len(ids) for ids in chosen)
    words = np.concatenate([np.zeros((k, longest), np.int64), top], axis=1)
    there = np.ones(words.shape, bool)
    for place, ids in enumerate(chosen):
        words[place, : len(ids)] = ids
        there[place, len(ids) : longest] = False
        there[place, longest:] = ~np.isin(top[place], ids)
    ten, draws = np.zeros(words.shape), 0
    rows = np.where(np.arange(results.layers[0]) < k, np.arange(results.layers[0]), -1)
    for draw in draws_of_words(ChainOfTopics(results, rows), words, there, 0):
        ten += draw.among
        draws += 1
    found = {}
    for place, ids in enumerate(chosen):
        found[place] = tuple(
            SeedWord(
                results.vocabulary[i],
                int(np.count_nonzero(phi[:, place] > phi[i, place])) + 1,
                float(ten[place, n] / draws) if draws >= ENOUGH else None,
            )
            for n, i in enumerate(ids.tolist())
        )
    return found
