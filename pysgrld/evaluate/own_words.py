"""Perplexity of predictions that combine topics with a document's observed word frequencies.

A word that occurs once in a document is likely to occur again (Doyle and Elkan 2009), more often
than the document's topics explain. So the predicted probability p(w) of a word is mixed with the
frequencies of the document's observed words. If n_w of N observed tokens are the word, its
probability is (s p(w) + n_w) / (s + N), the predictive distribution of a Dirichlet compound
multinomial of strength s. If text is not bursty, s is large, and the score is near the plain
perplexity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pysgrld.core.arithmetic import dot, exp, log
from pysgrld.evaluate.held_out import HeldOut
from pysgrld.evaluate.score import Estimate
from pysgrld.types import Doubles

#: Values to try for the strength s, from 1 to a million. The prediction of the topics counts as
#: much as s observed tokens. At the greatest value, observed words hardly matter.
_STRENGTHS = exp(np.arange(121) * 0.115)
#: Minimum number of documents, because each half of the documents is used to learn a strength.
FEWEST = 20


class OwnWords(NamedTuple):
    """Perplexity of predictions from topics and observed words, and the weight of the topics.

    Attributes
    ----------
    perplexity : Estimate
    strength : float
        Number of observed tokens to which the topics' prediction is equivalent; geometric mean over
        both halves of the documents.
    """

    perplexity: Estimate
    strength: float


def own_words_perplexity(held_out: HeldOut, logs: Doubles) -> OwnWords | None:
    """Return the perplexity of predictions from topics and a document's observed words.

    Return None for fewer than 20 documents. Documents with even numbers are scored with the
    strength that predicts the documents with odd numbers best, and vice versa, so that no document
    is scored with a strength that was fitted to it.

    Parameters
    ----------
    held_out : HeldOut
    logs : (nnz,) float64
        Log probability of every held-out word of each document, predicted by topics alone.
    """
    observed, scored = held_out.observed, held_out.held_out
    documents = len(scored)
    if documents < FEWEST:
        return None
    entry_doc = np.repeat(np.arange(documents), np.diff(scored.indptr))
    lengths = observed.lengths[entry_doc].astype(np.float64)
    own = _observed_counts(held_out, entry_doc)
    p = exp(logs)
    first = entry_doc % 2 == 0
    best = {}
    for half in (True, False):
        some = first == half
        scores = [
            dot(scored.counts[some], log((s * p[some] + own[some]) / (s + lengths[some])))
            for s in _STRENGTHS
        ]
        best[half] = float(_STRENGTHS[int(np.argmax(scores))])
    strength = np.where(first, best[False], best[True])
    mixed = log((strength * p + own) / (strength + lengths))
    of_documents = scored.sum_by_document(mixed * scored.counts)
    value = math.exp(-dot(scored.counts, mixed) / scored.tokens)
    tokens = scored.lengths.astype(np.float64)
    return OwnWords(
        Estimate.perplexity(value, of_documents, tokens), (best[True] * best[False]) ** 0.5
    )


def _observed_counts(held_out: HeldOut, entry_doc: np.ndarray) -> Doubles:
    """Count the occurrences of each held-out word in the observed part of its document, (nnz,)."""
    observed, scored = held_out.observed, held_out.held_out
    observed_doc = np.repeat(np.arange(len(observed)), np.diff(observed.indptr))
    base = 1 + max(int(part.indices.max(initial=0)) for part in (observed, scored))
    keys = observed_doc * base + observed.indices
    order = np.argsort(keys, kind="stable")
    wanted = entry_doc * base + scored.indices
    near = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    counts: Doubles = np.where(keys[near] == wanted, observed.counts[near], 0).astype(np.float64)
    return counts
