"""Births and deaths of mixture components, by Metropolis-Hastings steps.

A step changes the partition of documents, given the concentration (docs/internals/mathematics.md,
"Births and deaths"). Weights and probabilities of components are integrated out, so the chain must
redraw both afterwards. The step chooses a document. It proposes either a new component that takes
this document and others from existing components (a birth), or that the documents of its component
go to other components (a death). Births and deaths undo each other: the proposal of a birth around
a document depends only on the allocations without the new component, which the reverse death
restores.
"""

from __future__ import annotations

import math

import numpy as np

from pysgrld.core.arithmetic import exp, log, log1p, logaddexp
from pysgrld.models.dpmm.likelihood import (
    count_words,
    log_gamma,
    log_likelihoods,
    log_mixture,
    logsumexp,
    pieces,
)
from pysgrld.types import Documents, Doubles, Int32s

#: Initial size of a proposed component, as a fraction of all documents. The component's initial
#: word frequencies are the mean of a document's frequencies and the corpus's.
SHARE = 0.05
#: Number of EM steps that fit a proposed component.
STEPS = 20


class Births:
    """Proposals that add or remove components, for given documents and priors.

    Parameters
    ----------
    documents : Documents
        The documents that have a component, all with words.
    words : int
        V.
    base : float
        Symmetric Dirichlet parameter of components, per word.
    concentration : float
    """

    def __init__(self, documents: Documents, words: int, base: float, concentration: float) -> None:
        self.documents, self.words = documents, words
        self._owners = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
        self.base, self.concentration = base, concentration

    def step(self, z: Int32s, choices: Doubles, u: Doubles) -> Int32s:
        """Propose a birth, a death or no change; return each document's component after the step.

        Parameters
        ----------
        z : (D,) int32
            Components, numbered from 0 without gaps.
        choices : (3,) float64
            Uniforms for the choice of the document, the kind of proposal, and acceptance.
        u : (D,) float64
            A uniform for each document.
        """
        d, components = int(choices[0] * len(z)), int(z.max()) + 1
        # A proposal takes longer if there are more components, so its probability is 1/J.
        birth = bool(choices[1] < 0.5 / components)
        if choices[1] >= 1.0 / components or (components == 1 and not birth):
            return z
        counts = self._component_counts(self.documents, z, components)
        if birth:
            log_odds = self._join_log_odds(counts, d)
            moves = log(u) - log1p(-u) < log_odds
            moves[d] = True
        else:
            moves = z == z[d]
        moved_documents = np.flatnonzero(moves)
        subset = self.documents.take(moved_documents)
        born = self._component_counts(subset, np.zeros(len(moved_documents), np.int32), 1)
        if birth:
            rest = counts - self._component_counts(subset, z[moved_documents], components)
            if not rest[-1].all():
                # Reject a birth that empties a component, because no death could restore the
                # component.
                return z
            elsewhere, log_back = self._reallocate(subset, rest, z[moved_documents])
        else:
            rest = np.delete(counts, z[d], axis=1)
            elsewhere, log_back = self._reallocate(subset, rest, u=u[moved_documents])
        without = rest + self._component_counts(subset, elsewhere, rest.shape[1])
        if not birth:
            log_odds = self._join_log_odds(without, d)
        log_forth = -logaddexp(0.0, np.where(moves, -log_odds, log_odds))
        log_forth[d] = 0.0  # The chosen document always moves.
        rows = np.unique(subset.indices)  # Only words of the moved documents change their counts.
        after_birth = np.concatenate((rest, born), axis=1)
        gain = self._log_joint(after_birth, rows) - self._log_joint(without, rows)
        gain += log_back - float(log_forth.sum())
        # The probability 1/J of a proposal changes with the number J of components.
        gain += math.log(rest.shape[1] / (rest.shape[1] + 1))
        if math.log(choices[2]) >= (gain if birth else -gain):
            return z
        moved = z.copy() if birth else z - (z > z[d])
        moved[moved_documents] = components if birth else elsewhere
        return moved

    def _component_counts(self, documents: Documents, z: Int32s, components: int) -> Doubles:
        """Return each component's word counts and, in the last row, document counts, (V + 1, J)."""
        sizes = np.bincount(z, minlength=components).astype(np.float64)
        return np.vstack((count_words(documents, z, self.words, components), sizes))

    def _log_joint(self, counts: Doubles, rows: Int32s) -> float:
        """Return the joint log probability of allocations and words, up to a constant.

        c^J prod_j Γ(m_j) Γ(V base) / Γ(V base + n_j) prod_w Γ(base + n_jw) / Γ(base), with w in `rows`.
        """
        word_counts, sizes = counts[:-1], counts[-1]
        total = self.words * self.base
        inside = log_gamma(self.base + word_counts[rows]) - math.lgamma(self.base)
        whole = math.lgamma(total) - log_gamma(total + word_counts.sum(axis=0))
        return float(
            len(sizes) * math.log(self.concentration)
            + log_gamma(sizes).sum()
            + whole.sum()
            + inside.sum()
        )

    def _means(self, counts: Doubles) -> tuple[Doubles, Doubles]:
        """Return logs of expected word probabilities, (V, J), and logs of component sizes, (J,)."""
        log_phi: Doubles = log(self.base + counts[:-1])
        log_phi -= log(self.words * self.base + counts[:-1].sum(axis=0))
        return log_phi, log(counts[-1])

    def _reallocate(
        self, subset: Documents, counts: Doubles, z: Int32s | None = None, u: Doubles | None = None
    ) -> tuple[Int32s, float]:
        """Allocate documents to other components; return the log probability of the allocation.

        The allocation is `z` if it is not None; else it is drawn with the uniforms `u`.
        """
        log_phi, log_sizes = self._means(counts)
        components, log_p = np.empty(len(subset), np.int32), np.empty(len(subset))
        for piece in pieces(len(subset), len(log_sizes)):
            logs = log_likelihoods(subset.take(piece), log_phi) + log_sizes
            logs -= logsumexp(logs)[:, None]
            if z is not None:
                components[piece] = z[piece]
            elif u is not None:
                cumulative = exp(logs).cumsum(axis=1)
                components[piece] = (cumulative <= u[piece, None] * cumulative[:, -1:]).sum(axis=1)
            log_p[piece] = logs[np.arange(len(piece)), components[piece]]
        return components, float(log_p.sum())

    def _join_log_odds(self, counts: Doubles, d: int) -> Doubles:
        """Return each document's log odds of joining a new component that resembles document d."""
        documents = self.documents
        elsewhere = log_mixture(documents, *self._means(counts))
        parent = documents.take(np.array([d]))
        frequency = self.base + counts[:-1].sum(axis=1)
        phi = 0.5 * frequency / frequency.sum()
        phi[parent.indices] += 0.5 * parent.counts / parent.tokens
        size = SHARE * len(documents)
        # The last iteration has only an expectation step, which computes the result.
        for step in range(STEPS + 1):
            logs = documents.counts * log(phi)[documents.indices]
            inside = np.bincount(self._owners, logs, len(documents))
            log_odds: Doubles = inside + math.log(size) - elsewhere
            if step < STEPS:
                share = exp(-logaddexp(0.0, -log_odds))
                size = max(float(share.sum()), np.finfo(np.float64).tiny)
                parts = documents.counts * share[self._owners]
                words = np.bincount(documents.indices, parts, self.words)
                phi = (self.base + words) / (self.words * self.base + words.sum())
        return log_odds
