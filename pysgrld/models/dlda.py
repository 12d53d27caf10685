"""Deep LDA, the Poisson gamma belief network: documents by upward-downward Gibbs, given topics.

Cong, Chen, Liu and Zhou (2017), section 2; the equations are in docs/deep-lda.md. Kernel:
cpp/kernels/documents_deep.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import core, padded
from pysgrld.restore import put_back
from pysgrld.schedule import Schedule
from pysgrld.types import (
    UNIT,
    Array,
    Block,
    Documents,
    Doubles,
    Floats,
    Key,
    Minibatch,
    Parts,
    Scored,
    Statistics,
)

#: Sweeps in which published settings leave p and c as they start.
HELD = 9


def name_of(layer: int) -> str:
    """Name of the topics of a layer, counted from 0: phi, phi2, phi3, ..."""
    return "phi" if layer == 0 else f"phi{layer + 1}"


class Hyper(NamedTuple):
    """Constants of the local variables: priors of p^(2), Beta, and of the rates c, Gamma."""

    a0: float
    b0: float
    e0: float
    f0: float
    link: str


class Local(NamedTuple):
    """How documents are sampled.

    Attributes
    ----------
    layers : tuple of int
        K_1, ..., K_L.
    hyper : Hyper
    sweeps, kept, held : int
        Sweeps at a visit, how many (the last) are collected, and in how many (the first) p and c
        stay as they start.
    flat : bool
        Whether theta of a document starts at 1/K rather than at its prior's mean.
    rao_blackwell : bool
        Collect expected counts instead of sampled ones.
    threads : int
    work : Workspace
        Scratch memory of the caller.
    state : dict of arrays, optional
        theta, rates and totals that are kept between visits (full batch), and how many there were.
    """

    layers: tuple[int, ...]
    hyper: Hyper
    sweeps: int
    kept: int
    held: int
    flat: bool
    rao_blackwell: bool
    threads: int
    work: core.Workspace
    state: dict[str, Array] | None = None


def blocks(options: Mapping[str, Any], v: int, tokens: float) -> tuple[Block, ...]:
    """Topics of every layer, and the shapes of the top one."""
    layers, weight = options["layers"], Schedule(*options["scale-weight"])
    natural = options.get("cir-rate") == "natural"  # runs older than the option lack it
    topics = tuple(
        Block(name_of(i), "simplex", (below, k), eta, 4 * i, float(tokens), weight, natural=natural)
        for i, (below, k, eta) in enumerate(zip((v, *layers), layers, options["eta"], strict=False))
    )
    gamma0, c0 = options["r-prior"]
    hyper = (c0, *options["r-shape-prior"], *options["r-rate-prior"])
    k = layers[-1]
    return (*topics, Block("r", "positive", (1, k), gamma0, 4 * len(layers), tokens, weight, hyper))


def local(options: Mapping[str, Any], words: int, threads: int) -> Local:
    """How these options want documents sampled."""
    del words
    published = bool(options.get("preset"))
    return Local(
        layers=tuple(options["layers"]),
        hyper=hyper_of(options),
        sweeps=options["sweeps"],
        kept=options["kept-sweeps"],
        held=min(HELD, options["sweeps"] - 1) if published else 0,
        flat=published,
        rao_blackwell=options["counts"] == "rao-blackwell",
        threads=threads,
        work=core.Workspace(),
    )


def hyper_of(options: Mapping[str, Any]) -> Hyper:
    """Constants of the local variables, out of resolved options."""
    (a0, b0), (e0, f0) = options["p-prior"], options["c-prior"]
    return Hyper(a0, b0, e0, f0, options["link"])


def keep(local: Local, documents: Documents) -> Local:
    """The same with the local variables of all documents kept between visits."""
    n, wide = len(documents), sum(padded(k) for k in local.layers)
    state: dict[str, Array] = {
        "theta": np.zeros((n, wide), np.float32),
        "rates": np.zeros((n, len(local.layers) + 1)),
        "totals": np.zeros((n, wide), np.float32),
        "visited": np.zeros(1, np.int64),
    }
    return local._replace(state=state)


def local_step(key: Key, parts: Parts, batch: Minibatch, local: Local) -> dict[str, Statistics]:
    """Sample the local variables of the minibatch's documents; count words and topics by topic.

    Cong et al. (2017), eq. 4 and 5. Randomness: purpose ``documents``, entity = document.
    """
    state = local.state
    kept: dict[str, Any] = {}
    if state is not None:
        kept = {name: state[name] for name in ("theta", "rates", "totals")}
        kept["fresh"] = not state["visited"][0]
        state["visited"] += 1
    words, above, tables, q, _ = core.documents_deep(
        **_topics(parts, local.layers, flat=local.flat),
        **local.hyper._asdict(),
        **kept,
        indptr=batch.indptr,
        indices=batch.indices,
        counts=batch.counts,
        doc_ids=batch.doc_ids,
        sweeps=local.sweeps,
        kept=local.kept,
        held=local.held,
        rao_blackwell=local.rao_blackwell,
        seed=key.seed,
        chain=key.chain,
        step=key.step,
        purpose=core.Purpose.documents,
        work=local.work,
        threads=local.threads,
    )
    assert words is not None
    assert tables is not None
    assert q is not None
    each = batch.scale / local.kept
    factor = each / (UNIT if local.rao_blackwell else 1)
    level = float(words.sum()) * factor / local.layers[0]
    found = {"phi": Statistics(batch.words, words, factor, level)}
    for i, counts in enumerate(above, 1):
        everyone = np.arange(len(counts), dtype=np.int32)
        found[name_of(i)] = Statistics(everyone, counts, factor, level)
    found["r"] = Statistics(np.zeros(1, np.int32), tables, each, level, float(q.sum()) * each)
    return found


def _topics(parts: Parts, layers: tuple[int, ...], *, flat: bool) -> dict[str, Any]:
    """What the kernel wants to know of the topics."""
    phi = [parts[name_of(i)] for i in range(len(layers))]
    means = [np.zeros(padded(k), np.float32) for k in layers]
    if flat:
        for mean, k in zip(means, layers, strict=True):
            mean[:k] = 1.0 / k
    else:
        means[-1][:] = parts["r"]
        for i in range(len(layers) - 1, 0, -1):
            means[i - 1][: layers[i - 1]] = phi[i] @ means[i]
    return {"phi": phi, "topics": list(layers), "r": parts["r"], "start": np.concatenate(means)}


def projection(parts: Parts, layers: tuple[int, ...], layer: int) -> Floats:
    """Topics of a layer over the words, Phi1 Phi2 ... Phi_l, (V, Kp) float32; layer counted from 0."""
    phi = parts["phi"]
    for i in range(1, layer + 1):
        phi = phi[:, : layers[i - 1]] @ parts[name_of(i)]
    return phi


def prior_mean(parts: Parts, layers: tuple[int, ...], layer: int) -> Doubles:
    """Expected proportions of a layer's topics in a document of which nothing is known, (K_l,)."""
    mean = parts["r"][: layers[-1]].astype(np.float64)
    for i in range(len(layers) - 1, layer, -1):
        mean = parts[name_of(i)][:, : layers[i]].astype(np.float64) @ mean
    expected: Doubles = mean / mean.sum()
    return expected


class Reader:
    """Documents of which others are to be predicted: their local variables, topics fixed.

    Parameters
    ----------
    options : mapping
        Resolved.
    documents : Documents
        Observed tokens, over the rows of phi that are given later.
    doc_ids : (n,) int64
    threads : int
    """

    def __init__(
        self, options: Mapping[str, Any], documents: Documents, doc_ids: Array, threads: int
    ) -> None:
        self.documents, self.doc_ids, self.threads = documents, doc_ids, threads
        self.layers, self.hyper = tuple(options["layers"]), hyper_of(options)
        self._wide = [padded(k) for k in self.layers]
        self._theta = np.zeros((len(documents), sum(self._wide)), np.float32)
        self._rates = np.zeros((len(documents), len(self.layers) + 1))
        self._rate: Doubles = np.zeros(0)  # by scored entry, of all samples
        self._total: Doubles = np.zeros(len(documents))
        self._work = core.Workspace()

    def proportions(
        self, key: Key, parts: Parts, purpose: core.Purpose, sweeps: int, kept: int, *,
        go_on: bool, fresh: bool = True,
    ) -> list[Floats]:  # fmt: skip
        """Mean proportions of the topics of every layer, each (n, Kp) float32.

        Given shapes s and counts n, theta over its sum is Dirichlet(s + n): what is averaged is
        that mean, with n expected over the split, in the kept sweeps. ``go_on``: the documents'
        chains are kept, and go on from where they are unless ``fresh``.
        """
        state: dict[str, Any] = {}
        if go_on:
            state = {"theta": self._theta, "rates": self._rates, "fresh": fresh}
        *_, mean = core.documents_deep(
            **_topics(parts, self.layers, flat=False),
            **self.hyper._asdict(),
            **state,
            indptr=self.documents.indptr,
            indices=self.documents.indices,
            counts=self.documents.counts,
            doc_ids=self.doc_ids,
            sweeps=sweeps,
            kept=kept,
            held=0,
            rao_blackwell=True,
            seed=key.seed,
            chain=key.chain,
            step=key.step,
            purpose=purpose,
            want_words=False,
            want_mean=True,
            work=self._work,
            threads=self.threads,
        )
        assert mean is not None
        ends = np.cumsum(self._wide)[:-1]
        return [np.ascontiguousarray(part) for part in np.split(mean, ends, axis=1)]

    def predict(
        self, key: Key, parts: Parts, purpose: core.Purpose, sweeps: int, kept: int,
        scored: Scored, *, go_on: bool, fresh: bool = True,
    ) -> Doubles:  # fmt: skip
        """Probability of every scored entry, sum_k of the mean proportion times phi."""
        first = self.proportions(key, parts, purpose, sweeps, kept, go_on=go_on, fresh=fresh)[0]
        if go_on:
            self._add_rates(parts, scored, fresh=fresh)
        return self._mixture(parts, scored, first)

    def theta(
        self, key: Key, parts: Parts, purpose: core.Purpose, sweeps: int, kept: int, layer: int
    ) -> Doubles:
        """Proportions of a layer's topics, (n, K_l); of an empty document the prior's mean."""
        k = self.layers[layer]
        found = self.proportions(key, parts, purpose, sweeps, kept, go_on=False)[layer][:, :k]
        theta: Doubles = found.astype(np.float64)
        theta[self.documents.lengths == 0] = prior_mean(parts, self.layers, layer)
        theta /= theta.sum(axis=1, keepdims=True)
        return theta

    def shares(self, layer: int) -> Doubles:
        """Expected share of the tokens that each topic of a layer has as the chains stand, (K_l,)."""
        begin = int(sum(self._wide[:layer]))
        theta = self._theta[:, begin : begin + self.layers[layer]].astype(np.float64)
        lengths = self.documents.lengths[:, None]
        total = theta.sum(axis=1, keepdims=True)
        share = np.divide(theta * lengths, total, out=np.zeros_like(theta), where=total > 0)
        found: Doubles = share.sum(axis=0) / max(1, int(lengths.sum()))
        return found

    def _mixture(self, parts: Parts, scored: Scored, theta: Floats) -> Doubles:
        return core.mixture(
            phi=parts["phi"],
            topics=self.layers[0],
            indptr=scored.indptr,
            indices=scored.indices,
            theta=theta,
            threads=self.threads,
        )

    def _add_rates(self, parts: Parts, scored: Scored, *, fresh: bool) -> None:
        """Add Poisson rates of the scored entries, and their sums over the vocabulary."""
        if fresh:
            self._rate = np.zeros(len(scored.indices))
            self._total[:] = 0.0
        theta = np.ascontiguousarray(self._theta[:, : self._wide[0]])
        self._rate += self._mixture(parts, scored, theta)
        self._total += theta.sum(axis=1, dtype=np.float64)

    def figures(self, scored: Scored) -> dict[str, float]:
        """Perplexity of samples weighted by their total rate (Cong et al. 2017, section 5)."""
        if len(self._rate) != len(scored.indices):
            return {}
        totals = np.repeat(self._total, np.diff(scored.indptr))
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = float(np.dot(scored.counts, np.log(self._rate / totals)))
        return {"rate_weighted_perplexity": float(np.exp(-log_p / scored.counts.sum()))}

    def state(self) -> dict[str, Array]:
        """What a checkpoint must hold for the documents' chains to go on exactly."""
        return {
            "theta": self._theta, "rates": self._rates, "rate": self._rate, "total": self._total,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Array], prefix: str) -> None:
        """Go on from `state`.

        Raises
        ------
        CheckpointError
            If it is not that of these documents.
        """
        self._rate = np.zeros(len(state.get("rate", ())))
        put_back(self.state(), state, prefix)
