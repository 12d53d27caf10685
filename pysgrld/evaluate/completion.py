"""Perplexity by document completion, point and posterior-averaged.

theta_d is estimated from the observed tokens by Gibbs with the topics fixed; a held-out token of
word w scores p(w) = sum_k theta_dk phi_kw (Patterson and Teh 2013, eq. 12 to 15). The posterior
average takes the mean of p(w) over samples before the logarithm; tokens are pooled over documents.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pysgrld.core import check_lengths, core
from pysgrld.errors import NumericalError
from pysgrld.evaluate.split import HeldOut
from pysgrld.restore import check_topics, put_back
from pysgrld.types import UNIT, Array, Doubles, Floats, Int32s, Int64s, Key

#: Sweeps that a document's chain gets when it starts, the second half of them kept.
FRESH_SWEEPS = 50
#: Sweeps when it goes on from the previous posterior sample (its topics barely moved), one kept.
FURTHER_SWEEPS = 2


class Score(NamedTuple):
    """What an evaluation found, all on the same held-out tokens."""

    perplexity: float
    samples: int
    documents: int
    held_out_tokens: int


class Completion:
    """Scores topics on held-out documents; keeps the running posterior average.

    Parameters
    ----------
    held_out : HeldOut
    topics : int
    alpha : float
    threads : int

    Attributes
    ----------
    words : (R,) int32
        The words that occur in these documents: the rows of phi that a score needs.
    samples : int
        Posterior samples in the running average.
    """

    def __init__(self, held_out: HeldOut, topics: int, alpha: float, threads: int) -> None:
        self.held_out, self.topics, self.alpha, self.threads = held_out, topics, alpha, threads
        observed, scored = held_out.observed, held_out.held_out
        check_lengths(observed.lengths, FRESH_SWEEPS // 2, "held-out document")
        self.words: Int32s = np.union1d(observed.indices, scored.indices).astype(np.int32)
        self._observed = np.searchsorted(self.words, observed.indices).astype(np.int32)
        self._scored = np.searchsorted(self.words, scored.indices).astype(np.int32)
        self._lengths: Int64s = observed.lengths
        self._token_ptr = np.concatenate(([0], np.cumsum(self._lengths))).astype(np.int64)
        self._z: Int32s = np.full(self._token_ptr[-1], -1, np.int32)
        self._mean: Doubles = np.zeros(len(scored.indices))
        self._work = core.Workspace()
        self.samples = 0

    @property
    def tokens(self) -> int:
        """Held-out tokens that are scored."""
        return self.held_out.held_out.tokens

    @property
    def visits(self) -> int:
        """Token visits of one update of the running average: its cost beside training's."""
        return int(self._token_ptr[-1]) * FURTHER_SWEEPS + len(self._scored) // 4

    def update(self, key: Key, phi: Floats) -> float:
        """Add one posterior sample to the running average; returns the averaged perplexity.

        Each document's chain goes on from the previous sample. ``phi`` is (R, Kp) over `words`.
        """
        fresh = self.samples == 0
        p = self._predict(key, phi, core.Purpose.evaluation, self._z,
                          FRESH_SWEEPS if fresh else FURTHER_SWEEPS,
                          FRESH_SWEEPS // 2 if fresh else 1)  # fmt: skip
        self.samples += 1
        self._mean += (p - self._mean) / self.samples
        return self.perplexity()

    def perplexity(self) -> float:
        """Averaged perplexity so far; NaN before the first sample."""
        return self._perplexity(self._mean) if self.samples else math.nan

    def point(self, key: Key, phi: Floats) -> float:
        """Perplexity of one phi, every chain started afresh; the running average is not touched."""
        sweeps, kept = FRESH_SWEEPS, FRESH_SWEEPS // 2
        return self._perplexity(
            self._predict(key, phi, core.Purpose.point_evaluation, None, sweeps, kept)
        )

    def unigram(self, counts: Int64s) -> float:
        """Perplexity of the word frequencies of the training documents, plus 0.01 each."""
        q = (counts + 0.01) / (counts.sum() + 0.01 * len(counts))
        return self._perplexity(q[self.held_out.held_out.indices])

    def state(self) -> dict[str, Array]:
        """What a checkpoint must hold for the average to go on exactly."""
        return {"mean": self._mean, "z": self._z, "samples": np.array([self.samples])}

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from `state`.

        Raises
        ------
        CheckpointError
            If it is not that of these documents.
        """
        own = self.state()
        put_back(own, state, "completion.")
        check_topics("completion.z", self._z, self.topics)
        self.samples = int(own["samples"][0])

    def _predict(self, key: Key, phi: Floats, purpose: core.Purpose, z: Int32s | None,
                 sweeps: int, kept: int) -> Doubles:  # fmt: skip
        _, counts = core.documents_gibbs(
            phi=phi,
            topics=self.topics,
            indptr=self.held_out.observed.indptr,
            indices=self._observed,
            counts=self.held_out.observed.counts,
            doc_ids=self.held_out.doc_ids,
            alpha=self.alpha,
            sweeps=sweeps,
            kept=kept,
            rao_blackwell=True,
            seed=key.seed,
            chain=key.chain,
            step=key.step,
            purpose=purpose,
            z=z,
            token_ptr=None if z is None else self._token_ptr,
            want_words=False,
            want_documents=True,
            work=self._work,
            threads=self.threads,
        )
        assert counts is not None
        return core.predictive(
            phi=phi,
            topics=self.topics,
            indptr=self.held_out.held_out.indptr,
            indices=self._scored,
            doc_counts=counts,
            tokens=self._lengths,
            alpha=self.alpha,
            factor=1.0 / (UNIT * kept),
            threads=self.threads,
        )

    def _perplexity(self, p: Doubles) -> float:
        counts = self.held_out.held_out.counts
        with np.errstate(divide="ignore", invalid="ignore"):
            total = float(np.dot(counts, np.log(p)))
        if math.isnan(total):
            raise NumericalError("the probabilities of the held-out documents are no numbers")
        return math.exp(-total / self.tokens)
