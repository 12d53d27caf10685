"""Births and deaths of components, each with all its documents at once: docs/internals/mathematics.md.

A Metropolis-Hastings step on which documents are together, given the concentration; weights and
probabilities of components are integrated out of it, so it is for a chain that draws both afresh next.
A document is chosen, and either a component is proposed that takes it and others out of the components
that are there (a birth), or the documents of its component go to the others (a death). Each undoes the
other: what a birth gathers around a document follows from the allocations without that component, which a
death leads back to.
"""

from __future__ import annotations

import math
from typing import NamedTuple

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

#: A component that is to be born begins as half the words of a document, half those of the corpus, with
#: this share of the documents, and is fitted by so many steps of expectation and maximisation.
SHARE, STEPS = 0.05, 20


class Evidence(NamedTuple):
    """Allocations of documents, counted.

    Attributes
    ----------
    words : (V, J) float64
        Counts of words in each component.
    sizes : (J,) float64
        Documents of each component.
    """

    words: Doubles
    sizes: Doubles

    @classmethod
    def of(cls, documents: Documents, z: Int32s, words: int, components: int) -> Evidence:
        """Count documents by their components."""
        sizes = np.bincount(z, minlength=components).astype(np.float64)
        return cls(count_words(documents, z, words, components), sizes)

    def less(self, other: Evidence) -> Evidence:
        """Take documents out."""
        return Evidence(self.words - other.words, self.sizes - other.sizes)

    def more(self, other: Evidence) -> Evidence:
        """Put documents in."""
        return Evidence(self.words + other.words, self.sizes + other.sizes)

    def beside(self, other: Evidence) -> Evidence:
        """Put components next to each other."""
        return Evidence(
            np.concatenate((self.words, other.words), axis=1),
            np.concatenate((self.sizes, other.sizes)),
        )


class Births:
    """The births and deaths of components with given documents and priors.

    Parameters
    ----------
    documents : Documents
        All that have a component; none of them empty.
    words : int
        V.
    base : float
        Symmetric Dirichlet parameter of components, per word.
    concentration : float
    """

    def __init__(self, documents: Documents, words: int, base: float, concentration: float) -> None:
        self.documents, self.words = documents, words
        self._holders = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
        self.base, self.concentration = base, concentration

    def step(self, z: Int32s, choices: Doubles, u: Doubles) -> Int32s:
        """Propose a birth or a death, or neither, and give the allocations after it.

        Parameters
        ----------
        z : (D,) int32
            Components, numbered from 0 without gaps.
        choices : (3,) float64
            Uniforms: of the document, of what is proposed, of acceptance.
        u : (D,) float64
            A uniform for each document.
        """
        d, components = int(choices[0] * len(z)), int(z.max()) + 1
        # the more components there are, the more a proposal costs: with 1/J there is one
        birth = bool(choices[1] < 0.5 / components)
        if choices[1] >= 1.0 / components or (components == 1 and not birth):
            return z
        there = Evidence.of(self.documents, z, self.words, components)
        if birth:
            log_odds = self._gathered(there, d)
            moves = log(u) - log1p(-u) < log_odds
            moves[d] = True
        else:
            moves = z == z[d]
        at = np.flatnonzero(moves)
        some = self.documents.take(at)
        own = Evidence.of(some, np.zeros(len(at), np.int32), self.words, 1)
        if birth:
            others = there.less(Evidence.of(some, z[at], self.words, components))
            if not others.sizes.all():
                return z  # no death would lead back
            elsewhere, log_back = self._spread(some, others, z[at])
        else:
            others = Evidence(*(np.delete(counts, z[d], axis=-1) for counts in there))
            elsewhere, log_back = self._spread(some, others, u=u[at])
        without = others.more(Evidence.of(some, elsewhere, self.words, len(others.sizes)))
        if not birth:
            log_odds = self._gathered(without, d)
        log_forth = -logaddexp(0.0, np.where(moves, -log_odds, log_odds))
        log_forth[d] = 0.0  # it moves whatever its odds
        rows = np.unique(some.indices)  # of other words nothing changes
        gain = self._log_law(others.beside(own), rows) - self._log_law(without, rows)
        gain += log_back - float(log_forth.sum())
        gain += math.log(len(others.sizes) / (len(others.sizes) + 1))  # 1/J, as above
        if math.log(choices[2]) >= (gain if birth else -gain):
            return z
        moved = z.copy() if birth else z - (z > z[d])
        moved[at] = components if birth else elsewhere
        return moved

    def _log_law(self, statistics: Evidence, rows: Int32s) -> float:
        """Give the log probability of allocations and words, up to what all allocations share.

        c^J prod_j Γ(m_j) Γ(V base) / Γ(V base + n_j) prod_w Γ(base + n_jw) / Γ(base): words of `rows`.
        """
        found, sizes = statistics
        total = self.words * self.base
        inside = log_gamma(self.base + found[rows]) - math.lgamma(self.base)
        whole = math.lgamma(total) - log_gamma(total + found.sum(axis=0))
        return float(
            len(sizes) * math.log(self.concentration)
            + log_gamma(sizes).sum()
            + whole.sum()
            + inside.sum()
        )

    def _means(self, statistics: Evidence) -> tuple[Doubles, Doubles]:
        """Give log probabilities of words that are expected, (V, J), and log sizes."""
        found, sizes = statistics
        log_phi: Doubles = log(self.base + found)
        log_phi -= log(self.words * self.base + found.sum(axis=0))
        return log_phi, log(sizes)

    def _spread(
        self, some: Documents, others: Evidence, z: Int32s | None = None, u: Doubles | None = None
    ) -> tuple[Int32s, float]:
        """Allocate documents to other components, and give the log probability of it.

        They are drawn by uniforms `u`, or known: `z`.
        """
        log_phi, log_sizes = self._means(others)
        found, log_p = np.empty(len(some), np.int32), np.empty(len(some))
        for at in pieces(len(some), len(log_sizes)):
            logs = log_likelihoods(some.take(at), log_phi) + log_sizes
            logs -= logsumexp(logs)[:, None]
            if z is not None:
                found[at] = z[at]
            elif u is not None:
                cumulative = exp(logs).cumsum(axis=1)
                found[at] = (cumulative <= u[at, None] * cumulative[:, -1:]).sum(axis=1)
            log_p[at] = logs[np.arange(len(at)), found[at]]
        return found, float(log_p.sum())

    def _gathered(self, there: Evidence, d: int) -> Doubles:
        """Give the log odds that each document goes to a component that is born around document d."""
        documents = self.documents
        elsewhere = log_mixture(documents, *self._means(there))
        own = documents.take(np.array([d]))
        frequency = self.base + there.words.sum(axis=1)
        phi = 0.5 * frequency / frequency.sum()
        phi[own.indices] += 0.5 * own.counts / own.tokens
        size = SHARE * len(documents)
        for _ in range(STEPS):
            log_odds = self._log_odds(phi, size, elsewhere)
            share = exp(-logaddexp(0.0, -log_odds))
            size = max(float(share.sum()), np.finfo(np.float64).tiny)
            parts = documents.counts * share[self._holders]
            found = np.bincount(documents.indices, parts, self.words)
            phi = (self.base + found) / (self.words * self.base + found.sum())
        return self._log_odds(phi, size, elsewhere)

    def _log_odds(self, phi: Doubles, size: float, elsewhere: Doubles) -> Doubles:
        parts = self.documents.counts * log(phi)[self.documents.indices]
        own = np.bincount(self._holders, parts, len(self.documents))
        log_odds: Doubles = own + math.log(size) - elsewhere
        return log_odds
