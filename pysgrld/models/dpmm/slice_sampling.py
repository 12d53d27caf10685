"""Dirichlet-process mixture of multinomials, by slice sampling over a growing number of components.

    v_j ~ Beta(1, c),  w_j = v_j prod_{l<j} (1 - v_l),  phi_j ~ Dirichlet(base),  z_i ~ w,
    x_i ~ Multinomial(n_i, phi_{z_i}),  c ~ Gamma(shape, rate)

One iteration, given a minibatch S of the documents (Baker et al. 2018, section 4.2; exact with the whole
corpus and fresh draws: Walker 2007, Kalli et al. 2011):

1. sticks and components move, given the allocations of S as they are, scaled to the corpus;
2. c is drawn given the sticks, or before 1 given the number of components (see `Settings`), of which one
   may then be born or die where they have no order (`pysgrld.models.dpmm.births`);
3. labels of components are swapped, given the allocations of all documents;
4. slices u_i ~ U(0, w_{z_i}), and new components until what is left of the stick is below all of them;
5. allocations z_i, i in S, among the components with w_j > u_i: kernel cpp/kernels/documents_mixture.cpp;
   components beyond the last occupied one go.

Nothing of the order may change: c must be drawn by the sticks of 1 and before 3, and the weights of 5 are
the likelihoods alone, as the slices have the w_j in them already.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pysgrld.core import core, padded
from pysgrld.core.arithmetic import exp, log, logaddexp
from pysgrld.core.draws import Draw
from pysgrld.core.restore import check_topics
from pysgrld.errors import CheckpointError, NumericalError
from pysgrld.models.dpmm import langevin
from pysgrld.models.dpmm.births import Births
from pysgrld.models.dpmm.label_swaps import UNIFORMS, swapped
from pysgrld.models.dpmm.likelihood import count_words, log_mixture, logsumexp, prior_predictive
from pysgrld.models.dpmm.settings import Settings
from pysgrld.types import Address, Array, BlockAddress, Documents, Doubles, Int32s, Int64s, Key

#: Components that are drawn at a time when the stick must be broken further.
CHUNK = 16
#: Streams of the log-gamma draws of an iteration: sticks, components, c, a Beta, and all new ones.
_STICKS, _COMPONENTS, _CONCENTRATION, _BETA, _FRESH = 1, 2, 3, 4, 8
#: Entity of the uniform that chooses between the two laws of c.
_CHOICE = 1 << 40
#: First entity of the uniforms of label swaps.
_SWAPS = 1 << 41
#: Entity of the uniforms of a birth or a death.
_BIRTHS = 1 << 42


class Mixture:
    """The Markov chain of a mixture: sticks, components, concentration, allocations of documents.

    Parameters
    ----------
    doc_ids : (D,) int64
        Numbers of the documents, ascending: they key what is random of them.
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
        self._work = core.Workspace()
        self.step, self.concentration = 0, 1.0
        d = len(doc_ids)
        u = core.uniforms(doc_ids, np.zeros(d, np.int64), seed, chain, core.Purpose.init, 0)
        self.z: Int32s = np.floor(u * settings.start).astype(np.int32)
        k = int(self.z.max()) + 1
        # where there are no steps yet: draws from the prior
        self._log_sticks = np.empty((2, 0))
        self._log_g = np.empty((words, 0))
        self._grow(0, k)

    # ---- what there is

    @property
    def components(self) -> int:
        """Number of components up to the last occupied one."""
        return self._log_sticks.shape[1]

    @property
    def sizes(self) -> Int64s:
        """How many documents each component has, (J,)."""
        return np.bincount(self.z, minlength=self.components)

    @property
    def occupied(self) -> int:
        """Number of components that have documents."""
        return int(np.count_nonzero(self.sizes))

    @property
    def log_weights(self) -> tuple[Doubles, float]:
        """Logarithms of the weights w_j, (J,), and of what is left of the stick."""
        one, two = self._log_sticks
        whole = logaddexp(one, two)
        left = np.cumsum(two - whole)
        return (one - whole) + np.concatenate(([0.0], left[:-1])), float(left[-1])

    @property
    def log_phi(self) -> Doubles:
        """Logarithms of the components' probabilities, (V, J)."""
        log_g = self._log_g[:, : self.components]
        top = log_g.max(axis=0)
        logs: Doubles = log_g - (top + log(exp(log_g - top).sum(axis=0)))
        return logs

    @property
    def _address(self) -> Address:
        return Key(self.seed, self.chain, self.step).address()

    # ---- an iteration

    def advance(self, some: Documents, ids: Int64s, pace: float = 1.0) -> None:
        """Do one iteration.

        Parameters
        ----------
        some : Documents
            The minibatch, over all words; none of them empty.
        ids : (n,) int64
            Their numbers; distinct.
        pace : float
            What the lengths of steps are multiplied by.

        Raises
        ------
        NumericalError
            If a component or a stick is no number any more.
        """
        at = np.searchsorted(self.doc_ids, ids)
        if self.settings.concentration == "escobar-west":  # sticks are not in it: they come next
            self._draw_concentration(*self._given_occupied())
            if self._unordered:
                self._renew(some, ids, at)
        scale = len(self.doc_ids) / len(ids)
        self._move(some, self.z[at], scale, pace)
        if not (np.isfinite(self._log_sticks).all() and np.isfinite(self._log_g).all()):
            raise NumericalError(
                f"a component is not finite after iteration {self.step}: use smaller steps"
            )
        if self.settings.concentration == "sticks":
            self._draw_concentration(*self._given_sticks())
        chunks = 0
        if self.settings.swaps and not self._unordered:
            self._grow(0, CHUNK)  # the last occupied one may change places with the next
            self._swap_labels()
            chunks = 1
        self._allocate(some, ids, at, chunks)
        self._trim()
        self.step += 1

    @property
    def _unordered(self) -> bool:
        """Whether components have no order, their weights Dirichlet(m_1, ..., m_k, c).

        In the order of their sticks allocations tell more of c than their number does: beside sticks
        v_j ~ Beta(1 + m_j, c + ...) the law of Escobar and West is not exact (0.04 clusters too many
        in a tiny model). Without an order, v_j ~ Beta(m_j, c + ...), it is. Stochastic steps keep
        the order: a component that no document of a minibatch has would have no weight.
        """
        return self.settings.algo == "gibbs" and self.settings.concentration == "escobar-west"

    def _renew(self, documents: Documents, ids: Int64s, at: Int64s) -> None:
        """Number the occupied components from 0, of which one is born or dies; all else is drawn next."""
        z = np.unique(self.z, return_inverse=True)[1].astype(np.int32)
        births = Births(documents, self.words, self.settings.base, self.concentration)
        choices = self._uniforms(np.full(3, _BIRTHS), np.arange(3))
        self.z[at] = births.step(z[at], choices, self._of_documents(ids, 1))
        k = int(self.z.max()) + 1
        self._log_sticks, self._log_g = np.zeros((2, k)), np.zeros((self.words, k))

    def _move(self, some: Documents, z: Int32s, scale: float, pace: float) -> None:
        """Move sticks and components, given allocations of some documents."""
        k, s = self.components, self.settings
        sizes = np.bincount(z, minlength=k)
        above = sizes[::-1].cumsum()[::-1] - sizes
        members: Doubles = scale * np.array([sizes, above], np.float64)
        prior = np.array([[0.0 if self._unordered else 1.0], [self.concentration]])
        counts = count_words(some, z, self.words, k)
        h, stick_h = pace * s.step, pace * s.stick_step
        if s.algo == "sgrld":
            g = exp(self._log_sticks)
            u = self._uniforms(np.arange(2 * k).repeat(2), np.tile([0, 1], 2 * k)).reshape(2, k, 2)
            self._log_sticks = langevin.sticks(g, self._shares(g), prior, members, stick_h, u)
            g = exp(self._log_g[:, :k])
            address: BlockAddress = {**self._address, "stream": _COMPONENTS}
            self._log_g[:, :k] = langevin.components(
                g, counts, s.base, scale, h, address, self._work, self.threads
            )
            return
        if s.algo == "gibbs":
            h = stick_h = math.inf
        self._log_sticks = self._gamma(self._log_sticks, prior + members, _STICKS, stick_h)
        self._log_g[:, :k] = self._gamma(
            self._log_g[:, :k], s.base + scale * counts, _COMPONENTS, h
        )

    def _gamma(self, log_g: Doubles, shape: Doubles, stream: int, h: float = math.inf) -> Doubles:
        """Make one CIR transition of each cell towards Gamma(shape); a fresh draw where h is infinite."""
        moved = np.ascontiguousarray(log_g, np.float64).copy()
        core.simplex_scir_log(
            log_g=moved,
            shape=np.ascontiguousarray(np.broadcast_to(shape, moved.shape), np.float64),
            h=h,
            **self._address,
            stream=stream,
            threads=self.threads,
        )
        return moved

    def _shares(self, g: Doubles) -> Doubles:
        """Give v and 1 - v of the pair behind each stick, (2, J)."""
        shares: Doubles = g / g.sum(axis=0)
        return shares

    def _uniforms(self, entity: Int64s, ordinal: Int64s) -> Doubles:
        purpose = core.Purpose.stick_noise
        return core.uniforms(entity, ordinal, purpose=purpose, **self._address)

    def _of_documents(self, ids: Int64s, ordinal: int) -> Doubles:
        """Give a uniform of each document: 0 of its slice, 1 of births and deaths."""
        ordinals = np.full(len(ids), ordinal)
        return core.uniforms(ids, ordinals, purpose=core.Purpose.slices, **self._address)

    def _given_sticks(self) -> tuple[float, float]:
        """Give shape and rate of the law of c given the sticks (Kalli et al. 2011)."""
        one, two = self._log_sticks
        left = float((two - logaddexp(one, two)).sum())
        return self.settings.shape + self.components, self.settings.rate - left

    def _given_occupied(self) -> tuple[float, float]:
        """Give shape and rate of the law of c given how many components are occupied.

        Escobar and West (1995), section 6: a mixture of two gammas, one of which is chosen.
        """
        s, k, d = self.settings, self.occupied, len(self.doc_ids)
        pair = np.array([[self.concentration + 1.0], [d]])
        a, b = self._gamma(np.zeros((2, 1)), pair, _BETA)
        rate = s.rate - float((a - logaddexp(a, b))[0])
        odds = (s.shape + k - 1.0) / (d * rate)
        u = self._uniforms(np.array([_CHOICE]), np.array([0]))[0]
        return s.shape + k - (0.0 if u < odds / (1.0 + odds) else 1.0), rate

    def _draw_concentration(self, shape: float, rate: float) -> None:
        drawn = self._gamma(np.zeros((1, 1)), np.array([[shape]]), _CONCENTRATION)
        self.concentration = math.exp(float(drawn[0, 0])) / rate

    def _swap_labels(self) -> None:
        """Let components exchange their labels, by the allocations of all documents."""
        k, (one, two) = self.components, self._log_sticks
        places = _SWAPS + np.arange(k).repeat(UNIFORMS)
        u = self._uniforms(places, np.tile(np.arange(UNIFORMS), k)).reshape(k, UNIFORMS)
        log_rest = two - logaddexp(one, two)
        component, stick = swapped(self.log_weights[0], log_rest, self.sizes, u)
        self._log_sticks = self._log_sticks[:, stick]
        self._log_g[:, :k] = self._log_g[:, component]
        self.z = np.argsort(component).astype(np.int32)[self.z]

    def _allocate(self, some: Documents, ids: Int64s, at: Int64s, chunks: int) -> None:
        """Draw slices, break the stick as far as they ask for, and allocate documents to components.

        ``chunks`` new components are there already.
        """
        log_weights, _ = self.log_weights
        slices = log(self._of_documents(ids, 0)) + log_weights[self.z[at]]
        lowest = float(slices.min())
        while self.log_weights[1] > lowest:
            self._grow(chunks, CHUNK)
            chunks += 1
        log_weights, _ = self.log_weights
        k = self.components
        weights = np.full(padded(k), -np.inf, np.float32)
        weights[:k] = log_weights
        log_phi = core.zeros(self.words, padded(k), "float32")
        log_phi[:, :k] = self.log_phi
        self.z[at] = core.documents_mixture(
            log_phi=log_phi,
            log_weight=weights,
            components=k,
            indptr=some.indptr,
            indices=some.indices,
            counts=some.counts,
            doc_ids=ids,
            slice=slices.astype(np.float32),
            **self._address,
            threads=self.threads,
        )

    def _grow(self, chunk: int, n: int) -> None:
        """Break the stick further: n new components, from the prior."""
        stream = _FRESH + 2 * chunk
        prior = np.array([[1.0], [self.concentration]])
        sticks = self._gamma(np.zeros((2, n)), prior, stream)
        k, base = self.components, np.full((1, 1), self.settings.base)
        self._log_sticks = np.concatenate((self._log_sticks, sticks), axis=1)
        lacking = k + n - self._log_g.shape[1]
        if lacking > 0:  # else they are reused
            fresh = self._gamma(np.zeros((self.words, lacking)), base, stream + 1)
            self._log_g = np.concatenate((self._log_g, fresh), axis=1)

    def _trim(self) -> None:
        """Drop the components beyond the last occupied one."""
        k = int(self.z.max()) + 1
        self._log_sticks = np.ascontiguousarray(self._log_sticks[:, :k])
        if not self.settings.reuse:
            self._log_g = np.ascontiguousarray(self._log_g[:, :k])

    # ---- scores

    def log_predictive(self, documents: Documents, *, leftover: bool = True) -> Doubles:
        """Compute the log density of each document under the current components, (n,).

        The multinomial coefficient is left out.

        Parameters
        ----------
        documents : Documents
        leftover : bool
            Whether what is left of the stick predicts as the prior does; else the weights are
            divided by their sum, as in the released code of Baker et al.
        """
        (log_weights, left), log_phi = self.log_weights, self.log_phi
        if leftover:
            prior = left + prior_predictive(documents, self.words, self.settings.base)
            return log_mixture(documents, log_phi, log_weights, prior)
        found: Doubles = log_mixture(documents, log_phi, log_weights)
        found -= logsumexp(log_weights[None, :])[0]
        return found

    def parts(self, words: Int32s | None = None) -> Draw:
        """Give the current draw: ``phi`` (R, J) of some words, of all where None, and ``w`` (J + 1,).

        The last of the weights is what is left of the stick.
        """
        log_weights, left = self.log_weights
        phi = exp(self.log_phi if words is None else self.log_phi[words])
        w = exp(np.append(log_weights, left))
        return {"phi": phi.astype(np.float32), "w": w.astype(np.float32)}

    # ---- checkpoints

    def arrays(self) -> dict[str, Array]:
        """Give the arrays that the next iteration needs, by name."""
        return {
            "z": self.z,
            "sticks.log_g": self._log_sticks,
            "phi.log_g": self._log_g,
            "concentration": np.array([self.concentration]),
        }

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays` as they were after ``step`` iterations.

        Raises
        ------
        CheckpointError
            If they are no state of this chain.
        """
        own = self.arrays()
        for name, array in own.items():
            if name not in arrays:
                raise CheckpointError(f"the checkpoint lacks array {name!r}")
            found, wanted = arrays[name], array.shape
            if name.endswith(".log_g"):  # as many components as there were
                wanted = (wanted[0], found.shape[-1] if found.ndim else 0)
            if (found.dtype, found.shape) != (array.dtype, wanted):
                raise CheckpointError(
                    f"array {name!r} of the checkpoint is {found.dtype} {found.shape}, this run "
                    f"needs {array.dtype} {wanted}"
                )
        components = arrays["sticks.log_g"].shape[1]
        z, c = arrays["z"], float(arrays["concentration"][0])
        if arrays["phi.log_g"].shape[1] < components:
            raise CheckpointError(f"the checkpoint lacks some of its {components} components")
        check_topics("z", z, components)
        if z.min() < 0 or z.max() + 1 != components or not c > 0:
            raise CheckpointError(
                f"the checkpoint has {components} components, documents in {z.min()} to {z.max()} "
                f"and a concentration of {c:g}: that is no state of a mixture"
            )
        self.step, self.concentration, self.z = step, c, z.copy()
        self._log_sticks = arrays["sticks.log_g"].copy()
        self._log_g = arrays["phi.log_g"].copy()
