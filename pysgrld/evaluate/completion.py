"""Perplexity by document completion, point and posterior-averaged.

theta_d is estimated from the observed tokens by Gibbs with the topics fixed; a held-out token of
word w scores p(w) = sum_k theta_dk phi_kw (Patterson and Teh 2013, eq. 12 to 15). The posterior
average takes the mean of p(w) over samples before the logarithm; tokens are pooled over documents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pysgrld.core import check_lengths, core
from pysgrld.errors import NumericalError
from pysgrld.evaluate.split import HeldOut
from pysgrld.models import documents_of
from pysgrld.restore import put_back
from pysgrld.types import Array, Documents, Doubles, Int32s, Int64s, Key, Parts, Scored

#: Sweeps that a document's chain gets when it starts, the second half of them kept.
FRESH_SWEEPS = 50
#: Sweeps when it goes on from the previous posterior sample (its topics barely moved), one kept.
FURTHER_SWEEPS = 2


def visits(held_out: HeldOut | None) -> int:
    """Token visits of one update of the running perplexity: its cost beside that of training."""
    if held_out is None:
        return 0
    return held_out.observed.tokens * FURTHER_SWEEPS + len(held_out.held_out.indices) // 4


class Completion:
    """Scores topics on held-out documents; keeps the running posterior average. A `Scorer`.

    Parameters
    ----------
    held_out : HeldOut
    options : mapping
        Resolved: the model, and what its documents depend on.
    threads : int

    Attributes
    ----------
    words : (R,) int32
        The words that occur in these documents: the rows of phi that a score needs.
    samples : int
        Posterior samples in the running average.
    """

    prefix = "completion."

    def __init__(self, held_out: HeldOut, options: Mapping[str, Any], threads: int) -> None:
        self.held_out = held_out
        observed, scored = held_out.observed, held_out.held_out
        check_lengths(observed.lengths, FRESH_SWEEPS // 2, "held-out document")
        self.words: Int32s = np.union1d(observed.indices, scored.indices).astype(np.int32)
        rows = np.searchsorted(self.words, observed.indices).astype(np.int32)
        self._reader = documents_of(options).reader(
            options, Documents(observed.indptr, rows, observed.counts), held_out.doc_ids, threads
        )
        self._scored = Scored(
            scored.indptr,
            np.searchsorted(self.words, scored.indices).astype(np.int32),
            scored.counts,
        )
        self._mean: Doubles = np.zeros(len(scored.indices))
        self.samples = 0

    @property
    def tokens(self) -> int:
        """Held-out tokens that are scored."""
        return self.held_out.held_out.tokens

    def update(self, key: Key, parts: Parts) -> float:
        """Add one posterior sample to the running average; returns the averaged perplexity.

        Each document's chain goes on from the previous sample. ``phi`` is (R, Kp) over `words`.
        """
        self._take(key, parts)
        return self.average()

    def draw(self, key: Key, parts: Parts) -> float:
        """The same; returns the perplexity of this one draw of topics, and of documents' topics."""
        return self._perplexity(self._take(key, parts, kept=1))

    def _take(self, key: Key, parts: Parts, kept: int = FRESH_SWEEPS // 2) -> Doubles:
        """Add a sample; ``kept`` of the sweeps of its first one are averaged, one of the others'."""
        fresh = self.samples == 0
        sweeps, kept = (FRESH_SWEEPS, kept) if fresh else (FURTHER_SWEEPS, 1)
        p = self._reader.predict(key, parts, core.Purpose.evaluation, sweeps, kept, self._scored,
                                 go_on=True, fresh=fresh)  # fmt: skip
        self.samples += 1
        self._mean += (p - self._mean) / self.samples
        return p

    def shares(self, layer: int = 0) -> Doubles:
        """Share of the observed tokens that each topic of a layer has in the last draw, (K,)."""
        return self._reader.shares(layer)

    def average(self) -> float:
        """Averaged perplexity so far; NaN before the first sample."""
        return self._perplexity(self._mean) if self.samples else math.nan

    def figures(self) -> dict[str, float]:
        """Further figures of the same samples, as the model's paper defines them."""
        return self._reader.figures(self._scored) if self.samples else {}

    def point(self, key: Key, parts: Parts) -> float:
        """Perplexity of one phi, every chain started afresh; the running average is not touched."""
        return self._perplexity(
            self._reader.predict(
                key, parts, core.Purpose.point_evaluation, FRESH_SWEEPS, FRESH_SWEEPS // 2,
                self._scored, go_on=False,
            )
        )  # fmt: skip

    def unigram(self, counts: Int64s) -> float:
        """Perplexity of the word frequencies of the training documents, plus 0.01 each."""
        q = (counts + 0.01) / (counts.sum() + 0.01 * len(counts))
        return self._perplexity(q[self.held_out.held_out.indices])

    def bought(self, before: float, now: float) -> float:
        """Share of the perplexity that it has fallen by."""
        return 1.0 - now / before

    def state(self) -> dict[str, Array]:
        """What a checkpoint must hold for the average to go on exactly."""
        own = {"mean": self._mean, "samples": np.array([self.samples])}
        return own | self._reader.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from `state`.

        Raises
        ------
        CheckpointError
            If it is not that of these documents.
        """
        own = {"mean": self._mean, "samples": np.array([self.samples])}
        put_back(own, state, self.prefix)
        self._reader.restore(state, self.prefix)
        self.samples = int(own["samples"][0])

    def _perplexity(self, p: Doubles) -> float:
        counts = self.held_out.held_out.counts
        with np.errstate(divide="ignore", invalid="ignore"):
            total = float(np.dot(counts, np.log(p)))
        if math.isnan(total):
            raise NumericalError("the probabilities of the held-out documents are no numbers")
        return math.exp(-total / self.tokens)
