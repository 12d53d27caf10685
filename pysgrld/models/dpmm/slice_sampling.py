"""Slice sampling of a Dirichlet-process mixture of multinomials, with components added as needed.

    v_j ~ Beta(1, c),  w_j = v_j prod_{l<j} (1 - v_l),  phi_j ~ Dirichlet(base),  z_i ~ w,
    x_i ~ Multinomial(n_i, phi_{z_i}),  c ~ Gamma(shape, rate)

One iteration, given a minibatch S of the documents (Baker et al. 2018, section 4.2; exact with the whole
corpus and fresh draws: Walker 2007, Kalli et al. 2011):

1. sticks and components move, given the current allocations of S, scaled to the corpus;
2. c is drawn given the sticks; or it is drawn before step 1 given the number of components (see
   `Settings`). If components have no order, a component may then be born or die
   (`pysgrld.models.dpmm.births`);
3. labels of components are swapped, given the allocations of all documents;
4. slices u_i ~ U(0, w_{z_i}), and new components until the rest of the stick is below all of them;
5. allocations z_i, i in S, among the components with w_j > u_i: kernel cpp/kernels/documents_mixture.cpp;
   components beyond the last occupied one are removed.

The order matters: c must be drawn given the sticks of step 1 and before step 3, and step 5 uses the
likelihoods alone, as the slices already include the w_j. Proofs: docs/internals/mathematics.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.core.arithmetic import exp, log, logaddexp, normals
from pysgrld.core.draws import Draw
from pysgrld.core.restore import check_topics
from pysgrld.errors import CheckpointError, NumericalError
from pysgrld.models.dpmm.births import Births
from pysgrld.models.dpmm.likelihood import count_words, log_mixture, logsumexp, prior_predictive
from pysgrld.types import Array, Documents, Doubles, Int32s, Int64s, Key

#: Number of new components that are drawn at a time.
CHUNK = 16
#: Numbers of the random streams from which log-gamma variates are drawn. The streams are for
#: sticks, components, the concentration c, the Beta variate in the draw of c, and new components.
_STICKS, _COMPONENTS, _CONCENTRATION, _BETA, _FRESH = 1, 2, 3, 4, 8
#: The conditional distribution of the concentration c is a mixture of two gamma distributions. With
#: this value of the argument ``entity``, `_uniforms` draws the number that chooses between them.
_CHOICE = 1 << 40
#: With this value of the argument ``entity`` and the next values, `_uniforms` draws numbers for
#: label swaps.
_SWAPS = 1 << 41
#: Number of uniform random numbers that each component needs for label swaps.
_UNIFORMS = 4
#: With this value of the argument ``entity``, `_uniforms` draws numbers for a birth or a death.
_BIRTHS = 1 << 42


class Settings(NamedTuple):
    """Settings of the sampler of a Dirichlet-process mixture.

    Attributes
    ----------
    algo : {"gibbs", "scir", "sgrld"}
        How sticks and components are updated: by fresh draws, exact transitions, or Langevin steps.
    base : float
        Symmetric Dirichlet parameter of components, per word.
    shape, rate : float
        Gamma prior of the concentration c.
    start : int
        Number of components among which documents are initially distributed.
    step, stick_step : float
        Lengths h of the steps of components and of sticks; not used by ``gibbs``.
    concentration : {"sticks", "escobar-west"}
        Whether c is drawn given the sticks, or given the number of occupied components. The latter
        is exact with ``gibbs``, and an approximation with stochastic steps.
    swaps : bool
        Whether labels of components that have an order are swapped.
    reuse : bool
        Whether components beyond the last occupied one are kept, and used again when the number of
        components grows, as in the released code of Baker et al.; the chain then remembers them.
    """

    algo: str = "gibbs"
    base: float = 0.5
    shape: float = 1.0
    rate: float = 1.0
    start: int = 20
    step: float = 0.1
    stick_step: float = 0.1
    concentration: str = "sticks"
    swaps: bool = False
    reuse: bool = False


class Mixture:
    """Markov chain of a mixture: sticks, components, concentration, and allocations of documents.

    Parameters
    ----------
    doc_ids : (D,) int64
        Numbers of the documents, ascending, which key the randomness of each document.
    words : int
        V.
    settings : Settings
    seed, chain, threads : int

    Attributes
    ----------
    step : int
        Iterations done.
    z : (D,) int32
        Component of every document.
    """

    def __init__(
        self,
        doc_ids: Int64s,
        words: int,
        settings: Settings,
        seed: int,
        chain: int = 0,
        threads: int = 1,
    ) -> None:
        self.doc_ids, self.words, self.settings = doc_ids, words, settings
        self.seed, self.chain, self.threads = seed, chain, threads
        # Without an order of components, the weights are Dirichlet(m_1, ..., m_k, c). The draw of c
        # given the number of components (Escobar and West) is then exact. With an order, a stick is
        # v_j ~ Beta(1 + m_j, c + ...). The draw of c is then biased (0.04 clusters too many in a
        # tiny model), because it ignores information on c in the allocations. Minibatches need the
        # order: without it, a component without documents in the minibatch would have no weight.
        self._ordered = settings.algo != "gibbs" or settings.concentration == "sticks"
        self._work = core.Workspace()
        self.step, self.concentration = 0, 1.0
        d = len(doc_ids)
        u = core.uniforms(doc_ids, np.zeros(d, np.int64), seed, chain, core.Purpose.init, 0)
        self.z: Int32s = np.floor(u * settings.start).astype(np.int32)
        k = int(self.z.max()) + 1
        # Initially, components are drawn from the prior.
        self._log_sticks = np.empty((2, 0))
        self._log_g = np.empty((words, 0))
        self._grow(0, k)

    # ---- the state

    @property
    def components(self) -> int:
        """Number of components, including empty components before the last one with documents."""
        return self._log_sticks.shape[1]

    @property
    def sizes(self) -> Int64s:
        """Number of documents in each component, (J,)."""
        return np.bincount(self.z, minlength=self.components)

    @property
    def n_occupied(self) -> int:
        """Number of components that have documents."""
        return int(np.count_nonzero(self.sizes))

    @property
    def log_weights(self) -> tuple[Doubles, float]:
        """Log weights of the components, (J,), and log weight of the remaining stick."""
        one, two = self._log_sticks
        whole = logaddexp(one, two)
        log_rest = np.cumsum(two - whole)
        return (one - whole) + np.concatenate(([0.0], log_rest[:-1])), float(log_rest[-1])

    @property
    def log_phi(self) -> Doubles:
        """Logarithms of the word probabilities of each component, (V, J)."""
        log_g = self._log_g[:, : self.components]
        top = log_g.max(axis=0)
        logs: Doubles = log_g - (top + log(exp(log_g - top).sum(axis=0)))
        return logs

    # ---- an iteration

    def iterate(self, documents: Documents, ids: Int64s, pace: float = 1.0) -> None:
        """Do one iteration of the Markov chain, given a minibatch of documents.

        Parameters
        ----------
        documents : Documents
            The minibatch, over all words; each document has words.
        ids : (n,) int64
            Their numbers; distinct.
        pace : float
            Factor on the lengths of steps.

        Raises
        ------
        NumericalError
            If a component or a stick is not finite any more.
        """
        settings, positions = self.settings, np.searchsorted(self.doc_ids, ids)
        # If c is drawn given the number of components, the draw comes first, because it does not
        # use sticks.
        if settings.concentration != "sticks":
            self._draw_concentration()
        if not self._ordered:
            # Number the components with documents from 0, and propose a birth or a death. All other
            # variables are drawn next.
            z = np.unique(self.z, return_inverse=True)[1].astype(np.int32)
            births = Births(documents, self.words, settings.base, self.concentration)
            choices = self._uniforms(np.full(3, _BIRTHS), np.arange(3))
            u = self._uniforms(ids, np.ones(len(ids), np.int64), core.Purpose.slices)
            self.z[positions] = births.step(z[positions], choices, u)
            k = int(self.z.max()) + 1
            self._log_sticks, self._log_g = np.zeros((2, k)), np.zeros((self.words, k))
        self._move(documents, self.z[positions], len(self.doc_ids) / len(ids), pace)
        if not (np.isfinite(self._log_sticks).all() and np.isfinite(self._log_g).all()):
            raise NumericalError(
                f"values of a component are not finite after iteration {self.step}; use a smaller "
                "step size"
            )
        if settings.concentration == "sticks":
            self._draw_concentration()
        chunks = 0
        if settings.swaps and self._ordered:
            # The last component with documents may swap labels with the next component.
            self._grow(0, CHUNK)
            self._swap_labels()
            chunks = 1
        self._allocate(documents, ids, positions, chunks)
        # Remove the components after the last one with documents.
        k = int(self.z.max()) + 1
        self._log_sticks = np.ascontiguousarray(self._log_sticks[:, :k])
        if not settings.reuse:
            self._log_g = np.ascontiguousarray(self._log_g[:, :k])
        self.step += 1

    def _draw_concentration(self) -> None:
        """Draw the concentration c, given the sticks or the number of components with documents.

        Kalli et al. (2011) for sticks; Escobar and West (1995), section 6, for the number of
        components with documents: a mixture of two gamma distributions.
        """
        s = self.settings
        if s.concentration == "sticks":
            one, two = self._log_sticks
            log_rest = float((two - logaddexp(one, two)).sum())
            shape, rate = s.shape + self.components, s.rate - log_rest
        else:
            k, d = self.n_occupied, len(self.doc_ids)
            pair = np.array([[self.concentration + 1.0], [d]])
            a, b = self._gamma(np.zeros((2, 1)), pair, _BETA)
            rate = s.rate - float((a - logaddexp(a, b))[0])
            odds = (s.shape + k - 1.0) / (d * rate)
            u = self._uniforms(np.array([_CHOICE]), np.array([0]))[0]
            shape = s.shape + k - (0.0 if u < odds / (1.0 + odds) else 1.0)
        drawn = self._gamma(np.zeros((1, 1)), np.array([[shape]]), _CONCENTRATION)
        self.concentration = math.exp(float(drawn[0, 0])) / rate

    def _move(self, documents: Documents, z: Int32s, scale: float, pace: float) -> None:
        """Update sticks and components, given the allocation of a set of documents."""
        k, s = self.components, self.settings
        sizes = np.bincount(z, minlength=k)
        above = sizes[::-1].cumsum()[::-1] - sizes
        members: Doubles = scale * np.array([sizes, above], np.float64)
        prior = np.array([[1.0 if self._ordered else 0.0], [self.concentration]])
        counts = count_words(documents, z, self.words, k)
        h, stick_h = pace * s.step, pace * s.stick_step
        if s.algo == "sgrld":
            self._move_by_langevin(members, prior, counts, scale, stick_h, h)
            return
        if s.algo == "gibbs":
            h = stick_h = math.inf
        self._log_sticks = self._gamma(self._log_sticks, prior + members, _STICKS, stick_h)
        self._log_g[:, :k] = self._gamma(
            self._log_g[:, :k], s.base + scale * counts, _COMPONENTS, h
        )

    def _move_by_langevin(
        self,
        members: Doubles,
        prior: Doubles,
        counts: Doubles,
        scale: float,
        stick_h: float,
        h: float,
    ) -> None:
        """Make Langevin steps of sticks and components.

        The two gammas of a stick make an expanded-mean step, reflected at 0; components make one step of
        `pysgrld.samplers.sgrld`. docs/internals/mathematics.md, "Stochastic steps".

        Parameters
        ----------
        members : (2, J) float64
            Numbers of documents in each component, and in all components after it.
        prior : (2, 1) float64
        counts : (V, J) float64
        scale, stick_h, h : float
        """
        v, k = counts.shape
        g = exp(self._log_sticks)
        u = self._uniforms(np.arange(2 * k).repeat(2), np.tile([0, 1], 2 * k)).reshape(2, k, 2)
        drift = prior - g + members - self._shares(g) * members.sum(axis=0)
        noise = normals(u[..., 0], u[..., 1])
        moved = np.abs(g + stick_h * drift + np.sqrt(2.0 * stick_h * g) * noise)
        self._log_sticks = log(np.maximum(moved, np.finfo(np.float64).tiny))
        single, wide = (
            core.zeros(v, padded_width(k), "float32"),
            core.zeros(v, padded_width(k), "int64"),
        )
        single[:, :k], wide[:, :k] = exp(self._log_g[:, :k]), counts
        core.simplex_sgrld(
            g=single,
            sums=single.sum(axis=0, dtype=np.float64),
            topics=k,
            eta=self.settings.base,
            rows=np.arange(v, dtype=np.int32),
            counts=wide,
            factor=scale,
            h=h,
            **self.key._asdict(),
            stream=_COMPONENTS,
            work=self._work,
            threads=self.threads,
        )
        target = np.maximum(single[:, :k].astype(np.float64), np.finfo(np.float32).tiny)
        self._log_g[:, :k] = log(target)

    @property
    def key(self) -> Key:
        """Key of the random numbers of the next iteration."""
        return Key(self.seed, self.chain, self.step)

    def _gamma(self, log_g: Doubles, shape: Doubles, stream: int, h: float = math.inf) -> Doubles:
        """Move log gamma variates by CIR transitions with the stationary distribution Gamma(shape).

        The result is a fresh draw if ``h`` is infinite.
        """
        moved = np.ascontiguousarray(log_g, np.float64).copy()
        core.simplex_scir_log(
            log_g=moved,
            shape=np.ascontiguousarray(np.broadcast_to(shape, moved.shape), np.float64),
            h=h,
            **self.key._asdict(),
            stream=stream,
            threads=self.threads,
        )
        return moved

    def _shares(self, g: Doubles) -> Doubles:
        """Convert gamma variates to the stick-breaking fractions v and 1 - v, (2, J)."""
        shares: Doubles = g / g.sum(axis=0)
        return shares

    def _uniforms(
        self, entity: Int64s, ordinal: Int64s, purpose: core.Purpose = core.Purpose.stick_noise
    ) -> Doubles:
        """Return a uniform random number for each entity, which is a document or a component.

        A document uses ordinal 0 for its slice, and ordinal 1 for births.
        """
        return core.uniforms(entity, ordinal, purpose=purpose, **self.key._asdict())

    def _swap_labels(self) -> None:
        """Swap the labels of pairs of non-empty components, then of neighbouring components.

        The swaps are exact Metropolis steps given the allocations of all documents, not only of the
        minibatch. Pairs have no component in common, so all pairs of one kind are decided at once.
        docs/internals/mathematics.md, "Label swaps".
        """
        k, (one, two) = self.components, self._log_sticks
        places = _SWAPS + np.arange(k).repeat(_UNIFORMS)
        u = self._uniforms(places, np.tile(np.arange(_UNIFORMS), k)).reshape(k, _UNIFORMS)
        choice, *log_u = u[:, 0], *log(u[:, 1:]).T
        log_weights, members = self.log_weights[0], self.sizes
        log_rest = two - logaddexp(one, two)
        # The component and the stick that are at position j after the swaps were at the positions
        # `component[j]` and `stick[j]` before.
        component, stick = np.arange(k), np.arange(k)

        def swap(j: Int64s, other: Int64s, accepted: Array, *moved: Array) -> None:
            j, other = j[accepted], other[accepted]
            for array in moved:
                array[j], array[other] = array[other], array[j]

        occupied = np.flatnonzero(members)
        occupied = occupied[np.argsort(choice[occupied])]
        j, other = (
            occupied[: len(occupied) // 2],
            occupied[len(occupied) // 2 :][: len(occupied) // 2],
        )
        gain = (log_weights[j] - log_weights[other]) * (members[other] - members[j])
        swap(j, other, log_u[0][j] < gain, component, members)
        for first in (0, 1):
            j = np.arange(first, k - 1, 2)
            gain = members[j] * log_rest[j + 1] - members[j + 1] * log_rest[j]
            swap(j, j + 1, log_u[1 + first][j] < gain, component, members, stick, log_rest)
        self._log_sticks = self._log_sticks[:, stick]
        self._log_g[:, :k] = self._log_g[:, component]
        self.z = np.argsort(component).astype(np.int32)[self.z]

    def _allocate(self, documents: Documents, ids: Int64s, positions: Int64s, chunks: int) -> None:
        """Draw slice variables, add components if slices require more, and allocate documents.

        New components are drawn until the rest of the stick is below the smallest slice. ``chunks``
        is the number of groups of new components that were drawn before.
        """
        log_weights, log_rest = self.log_weights
        u = self._uniforms(ids, np.zeros(len(ids), np.int64), core.Purpose.slices)
        slices = log(u) + log_weights[self.z[positions]]
        lowest = float(slices.min())
        while log_rest > lowest:
            self._grow(chunks, CHUNK)
            chunks += 1
            log_weights, log_rest = self.log_weights
        k = self.components
        weights = np.full(padded_width(k), -np.inf, np.float32)
        weights[:k] = log_weights
        log_phi = core.zeros(self.words, padded_width(k), "float32")
        log_phi[:, :k] = self.log_phi
        self.z[positions] = core.documents_mixture(
            log_phi=log_phi,
            log_weight=weights,
            components=k,
            indptr=documents.indptr,
            indices=documents.indices,
            counts=documents.counts,
            doc_ids=ids,
            slice=slices.astype(np.float32),
            **self.key._asdict(),
            threads=self.threads,
        )

    def _grow(self, chunk: int, n: int) -> None:
        """Draw n new components from the prior, with weights broken off the remaining stick."""
        stream = _FRESH + 2 * chunk
        prior = np.array([[1.0], [self.concentration]])
        sticks = self._gamma(np.zeros((2, n)), prior, stream)
        k, base = self.components, np.full((1, 1), self.settings.base)
        self._log_sticks = np.concatenate((self._log_sticks, sticks), axis=1)
        lacking = k + n - self._log_g.shape[1]
        if lacking > 0:  # Fewer components without documents are stored than are needed.
            fresh = self._gamma(np.zeros((self.words, lacking)), base, stream + 1)
            self._log_g = np.concatenate((self._log_g, fresh), axis=1)

    # ---- draws and scores

    def log_predictive(self, documents: Documents, *, leftover: bool = True) -> Doubles:
        """Compute the log density of each document under the current components, (n,).

        The multinomial coefficient is omitted.

        Parameters
        ----------
        documents : Documents
            Documents, all with words.
        leftover : bool
            Whether the rest of the stick predicts as the prior does; if not, the weights are divided
            by their sum, as in the released code of Baker et al.
        """
        (log_weights, log_rest), log_phi = self.log_weights, self.log_phi
        if leftover:
            prior = log_rest + prior_predictive(documents, self.words, self.settings.base)
            return log_mixture(documents, log_phi, log_weights, prior)
        logs: Doubles = log_mixture(documents, log_phi, log_weights)
        logs -= logsumexp(log_weights[None, :])[0]
        return logs

    def draw(self, words: Int32s | None = None) -> Draw:
        """Return the current components and weights.

        ``phi`` (R, J) has the given words (None: all), and ``w`` is (J + 1,).

        The last weight is the rest of the stick.
        """
        log_weights, log_rest = self.log_weights
        phi = exp(self.log_phi if words is None else self.log_phi[words])
        w = exp(np.append(log_weights, log_rest))
        return {"phi": phi.astype(np.float32), "w": w.astype(np.float32)}

    # ---- checkpoints

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that the next iteration needs, by name."""
        return {
            "z": self.z,
            "sticks.log_g": self._log_sticks,
            "phi.log_g": self._log_g,
            "concentration": np.array([self.concentration]),
        }

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Restore the chain from the arrays that `arrays` returned after ``step`` iterations.

        Raises
        ------
        CheckpointError
            If the arrays are not a state of this chain.
        """
        current = self.arrays()
        for name, array in current.items():
            if name not in arrays:
                raise CheckpointError(f"the checkpoint lacks array {name!r}")
            stored, shape = arrays[name], array.shape
            # The stored arrays may have more or fewer components than this chain.
            if name.endswith(".log_g"):
                shape = (shape[0], stored.shape[-1] if stored.ndim else 0)
            if (stored.dtype, stored.shape) != (array.dtype, shape):
                raise CheckpointError(
                    f"array {name!r} of the checkpoint has type {stored.dtype} and shape "
                    f"{stored.shape}, but this run needs {array.dtype} and {shape}"
                )
        components = arrays["sticks.log_g"].shape[1]
        z, c = arrays["z"], float(arrays["concentration"][0])
        if arrays["phi.log_g"].shape[1] < components:
            raise CheckpointError(f"the checkpoint lacks some of its {components} components")
        check_topics("z", z, components)
        if z.min() < 0 or z.max() + 1 != components or not c > 0:
            raise CheckpointError(
                f"the checkpoint has inconsistent components: documents are in components {z.min()} "
                f"to {z.max()} instead of 0 to {components - 1}, or the concentration {c:g} is not "
                "positive"
            )
        self.step, self.concentration, self.z = step, c, z.copy()
        self._log_sticks = arrays["sticks.log_g"].copy()
        self._log_g = arrays["phi.log_g"].copy()
