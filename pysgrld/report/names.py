"""Names of topics, made of their words where no person gave one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np

from pysgrld.errors import MissingInputError
from pysgrld.reading.results import Results
from pysgrld.report.terms import ChainOfTopics, Terms, terms
from pysgrld.types import Doubles, Int64s

#: Words of a name, and what stands between them.
WORDS, BETWEEN = 3, " · "
#: Of a word's score: how much is for being probable, for being the topic's own, and against words
#: that many topics have among their first.
PROBABLE, OWN, COMMON, FIRST = 0.6, 0.4, 0.5, 16
_TINY = 1e-12


def automatic(
    found: Terms, vocabulary: Sequence[str], counts: Int64s | None, order: Sequence[int]
) -> dict[int, str]:
    """Name topics by three words each, of which the first is no other topic's first.

    A word scores 0.6 log p + 0.4 log lift - 0.5 log n: p is the low end of its probability in the
    topic, lift p over its share of the corpus, and n the topics that have it among their 16 first words.

    Parameters
    ----------
    found : Terms
    vocabulary : sequence of str
    counts : (V,) or None
        Occurrences of each word; without them lift is left out.
    order : sequence of int
        Topics in the order in which they may choose.
    """
    shown = np.asarray(order, np.int64)
    first = found.words[shown, :FIRST][found.there[shown, :FIRST]]
    holders = np.bincount(first, minlength=len(vocabulary))
    names: dict[int, str] = {}
    taken: set[int] = set()
    for k in order:
        ids = found.words[k][found.there[k]]
        ranked = ids[np.argsort(-_scores(found, k, counts, holders), kind="stable")].tolist()
        head = next((w for w in ranked if w not in taken), ranked[0])
        taken.add(head)
        chosen = [head, *(w for w in ranked if w != head)][:WORDS]
        names[k] = BETWEEN.join(vocabulary[w] for w in chosen)
    return names


def _scores(found: Terms, k: int, counts: Int64s | None, holders: Int64s) -> Doubles:
    ids, low = found.words[k][found.there[k]], found.low[k][found.there[k]]
    scores: Doubles = PROBABLE * np.log(np.maximum(low, _TINY))
    scores -= COMMON * np.log(np.maximum(holders[ids], 1))
    if counts is not None:
        own = np.maximum(low, _TINY) * counts.sum() / np.maximum(counts[ids], 1)
        scores += OWN * np.log(own)
    return scores


def names_of(results: Results, at: int) -> dict[int, str]:
    """Name the topics of a run, of a layer counted from 0, by its seeds or its own draws alone."""
    phi, weights = results.fitted.over_words(results.mean, at), results.weights(at)
    counts, k = None, results.layers[at]
    with contextlib.suppress(MissingInputError):
        counts = results.word_counts()
    signed = results.fitted.signed
    source = ChainOfTopics(results, np.arange(k))
    tokens = results.run.config["corpus"]["training_tokens"]
    found = terms(phi, weights, tokens, counts, [source], at, signed=signed)
    shown = results.fitted.shown(at).tolist()
    heavy = shown if weights is None else sorted(shown, key=lambda k: (-weights[k], k))
    names = automatic(found, results.vocabulary, None if signed else counts, heavy)
    return names | results.seed_names(at)
