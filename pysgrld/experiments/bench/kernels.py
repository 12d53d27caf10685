"""Benchmarks of kernels, which sample topics of documents, update topics, or draw random numbers.

The data are generated from fixed seeds, and are sparse like the counts of real topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.corpus.minibatches import compact
from pysgrld.experiments.bench.timing import Timing, nanoseconds
from pysgrld.models.dlda import documents as dlda
from pysgrld.models.token_reader import EXPECTED_PASSES
from pysgrld.models.token_topics import GibbsDocuments
from pysgrld.options.priors import usual_alpha
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.state import Counts, EnergyGradient
from pysgrld.types import UNIT, Block, Documents, Floats, Key, Minibatch


def timings(quick: bool) -> Iterator[Timing]:
    """Yield benchmarks of the kernels for documents, topics, unit vectors and random numbers."""
    few = 100 if quick else 500
    # Kernels that sample documents given topics.
    unit = "ns/token-sweep"
    for k in (100,) if quick else (50, 100, 128, 256, 500, 1000):
        for length in (50, 150):
            for sweeps in (10, 20):
                for rao_blackwell in (False, True):
                    how = "Rao-Blackwell" if rao_blackwell else "plain"
                    name = f"K={k}, {length} tokens, {sweeps} sweeps, {how}"
                    gibbs = partial(_gibbs, k, length, sweeps, rao_blackwell, few)
                    yield Timing("documents", name, unit, gibbs)
    for layers in ((128,), (128, 64), (128, 64, 32)):
        name = f"deep, K={'-'.join(map(str, layers))}, 50 tokens, 30 sweeps"
        yield Timing("documents", name, unit, partial(_deep, layers, 50, 30, 50 if quick else 200))
    for k in (100,) if quick else (100, 1000):
        name = f"new documents, K={k}, 150 tokens, {EXPECTED_PASSES} passes"
        yield Timing("documents", name, "ns/token-pass", partial(_expected, k, 150, few))
        name = f"tables of alpha, K={k}, 150 tokens"
        yield Timing("documents", name, "ns/token", partial(_tables, k, 150, few))

    # Kernels that update topics given documents. A minibatch has all words if V is small, otherwise
    # one word in twenty.
    sizes = [("in cache", 2000, 2000), ("from memory", 100_000, 5000)]
    for where, v, touched in sizes[:1] if quick else sizes:
        for title, algo, h in (
            ("SCIR", "scir", 0.1),
            ("SCIR", "scir", 1.0),
            ("SGRLD", "sgrld", 0.002),
            ("SGRHMC", "sgrhmc", 0.1),
            ("TLASGR", "tlasgr", 0.1),
            ("SMLD", "smld", 1e-6),
            ("relax", None, 0.1),
        ):
            name = f"{title}, h={h:g}, K=100, V={v:,} {where}"
            yield Timing("rows", name, "ns/element", partial(_steps, algo, h, 100, v, touched))
    if not quick:
        name = "SCIR, lazy, h=0.1, K=100, 5,000 of V=100,000"
        yield Timing("rows", name, "ns/element", partial(_lazy_steps, 0.1, 100, 100_000, 5000))

        for algo in ("sgld", "mala"):
            name = f"dynamic topics, {algo}, K=100, V={v // 10:,} in 10 slices {where}"
            walks = partial(_walks, algo, 100, v // 10, 10, touched)
            yield Timing("rows", name, "ns/element", walks)

    # Kernels of the spherical admixture model, for proportions of documents and for topics.
    for k in (20,) if quick else (20, 50, 100):
        name = f"proportions, K={k}, 60 trajectories of 10 steps"
        yield Timing("directions", name, "us/document", partial(_proportions, k, 64))
        name = f"a step of the topics, K={k}, V=5,000"
        yield Timing("directions", name, "ns/element", partial(_geodesic, k, 5000))

    # Kernels that draw random numbers.
    for kind, name, values in (
        ("normal", "one normal variate, with its Philox block", (0.0,)),
        ("gamma", "one gamma variate, with its Philox block, shape {}", (0.05, 1.5, 40.0)),
        ("poisson", "one Poisson variate, with its Philox block, mean {}", (0.05, 1.5, 40.0)),
    ):
        for value in values:
            yield Timing("draws", name.format(f"{value:g}"), "ns/draw", partial(_draw, kind, value))


# ---- sampling of documents, given topics


def _gibbs(
    k: int, length: int, sweeps: int, rao_blackwell: bool, documents: int, repeats: int
) -> list[float]:
    """Time the Gibbs sampling of the topic of each token."""
    phi, batch = _minibatch(k, length, documents)
    local = GibbsDocuments(
        topics=k,
        alpha=min(0.1, 5.0 / k),
        sweeps=sweeps,
        kept=sweeps - sweeps // 2,
        rao_blackwell=rao_blackwell,
        threads=1,
    )
    return nanoseconds(
        lambda step: local.visit(Key(1, 0, step), {"phi": phi}, batch),
        documents * length * sweeps,
        repeats,
    )


def _deep(
    layers: tuple[int, ...], length: int, sweeps: int, documents: int, repeats: int
) -> list[float]:
    """Time the sampling of documents' topic counts in all layers of a deep model."""
    phi, batch = _minibatch(layers[0], length, documents)
    rng = np.random.default_rng(1)
    parts = {"phi": phi, "r": np.zeros(padded_width(layers[-1]), np.float32)}
    for i in range(1, len(layers)):
        upper = core.zeros(layers[i - 1], padded_width(layers[i]), "float32")
        upper[:, : layers[i]] = rng.dirichlet(np.full(layers[i - 1], 0.1), layers[i]).T + 1e-6
        parts[dlda.topics_name(i)] = upper
    parts["r"][: layers[-1]] = 2.0 / layers[-1]
    local = dlda.DeepDocuments(
        layers=layers,
        hyper=dlda.Hyper(0.01, 0.01, 1.0, 1.0, "counts"),
        sweeps=sweeps,
        kept=sweeps // 3,
        held=0,
        flat=False,
        rao_blackwell=True,
        threads=1,
    )
    return nanoseconds(
        lambda step: local.visit(Key(1, 0, step), parts, batch),
        documents * length * sweeps,
        repeats,
    )


def _expected(k: int, length: int, documents: int, repeats: int) -> list[float]:
    """Time the inference of topic proportions of new documents."""
    phi, batch = _minibatch(k, length, documents)
    work = core.Workspace()

    def once(step: int) -> None:
        del step  # The step number is not used, because every repeat does the same work.
        core.documents_expected(
            phi=phi,
            topics=k,
            indptr=batch.indptr,
            indices=batch.indices,
            counts=batch.counts,
            alpha=usual_alpha(k),
            passes=EXPECTED_PASSES,
            work=work,
            threads=1,
        )

    return nanoseconds(once, documents * length * EXPECTED_PASSES, repeats)


def _tables(k: int, length: int, documents: int, repeats: int) -> list[float]:
    """Time the computation of the sufficient statistics from which alpha is learned."""
    rng = np.random.default_rng(0)
    few = rng.integers(k, size=(documents, 20))  # A document has at most 20 topics.
    z = np.take_along_axis(few, rng.integers(20, size=(documents, length)), axis=1)
    alpha = np.zeros(padded_width(k), np.float32)
    alpha[:k] = usual_alpha(k)

    def once(step: int) -> None:
        core.alpha_evidence(
            z=z.ravel().astype(np.int32),
            token_ptr=np.arange(documents + 1) * length,
            doc_ids=np.arange(documents),
            alpha=alpha,
            topics=k,
            **Key(1, 0, step)._asdict(),
            threads=1,
        )

    return nanoseconds(once, documents * length, repeats)


# The result is cached, because timings with the same K and length follow one another.
@lru_cache(maxsize=1)
def _minibatch(k: int, length: int, documents: int, v: int = 8000) -> tuple[Floats, Minibatch]:
    """Generate topics that concentrate on few words, and documents with at most 20 topics each."""
    rng = np.random.default_rng(0)
    topics = rng.gamma(0.05, size=(k, v)) + 1e-6
    topics /= topics.sum(axis=1, keepdims=True)
    indptr, indices, counts = [0], [], []
    for _ in range(documents):
        chosen = rng.choice(k, min(k, 20), replace=False)
        words = rng.choice(v, length, p=rng.dirichlet(np.full(len(chosen), 0.3)) @ topics[chosen])
        distinct, often = np.unique(words, return_counts=True)
        indices.append(distinct)
        counts.append(often)
        indptr.append(indptr[-1] + len(distinct))
    batch = compact(
        Documents(
            np.array(indptr),
            np.concatenate(indices).astype(np.int32),
            np.concatenate(counts).astype(np.int32),
        ),
        np.arange(documents),
        1.0,
    )
    phi = core.zeros(len(batch.words), padded_width(k), "float32")
    phi[:, :k] = topics.T[batch.words]
    return phi, batch


# ---- updates of topics, given documents


def _steps(algo: str | None, h: float, k: int, v: int, touched: int, repeats: int) -> list[float]:
    """Time updates of all words' topics, by a sampler or, if none is given, without noise."""
    counts = _counts(k, v, touched)
    block = Block("phi", "simplex", (v, k), 0.05, 0, float(counts.counts.sum() / UNIT))
    # One transition over an infinite time gives a state that a long chain with these counts would
    # reach.
    start = SAMPLERS["scir"].start(Key(1, 0, 0), block, 1).end_warm_up()
    start.step(Key(1, 0, 0), counts, np.inf)
    state = SAMPLERS[algo or "scir"].from_checkpoint(block, start.arrays(), 1, warm=True)
    if algo:
        state = state.end_warm_up()
    return nanoseconds(lambda t: state.step(Key(1, 0, t + 1), counts, h), v * k, repeats)


def _lazy_steps(h: float, k: int, v: int, touched: int, repeats: int) -> list[float]:
    """Time lazy updates, in which the topics of a word skip iterations until the word occurs."""
    parts = [_counts(k, v, touched, seed) for seed in range(4)]
    mass = 4 * float(parts[0].counts.sum() / UNIT)
    settings = SAMPLERS["scir"].settings_class.from_values({"lazy": "on"})
    block = Block("phi", "simplex", (v, k), 0.05, 0, mass, sparse=True, settings=settings)
    state = SAMPLERS["scir"].start(Key(1, 0, 0), block, 1).end_warm_up()

    def once(step: int) -> None:
        key, counts = Key(1, 0, step + 1), parts[step % 4]
        state.catch_up(key, counts.rows)
        state.step(key, counts, h)

    for step in range(4):
        once(step)
    return nanoseconds(lambda step: once(step + 4), touched * k, repeats)


def _walks(algo: str, k: int, words: int, slices: int, touched: int, repeats: int) -> list[float]:
    """Time updates of topics in which words' parameters follow random walks over time slices."""
    counts = _counts(k, words * slices, touched)
    block = Block("phi", "walk", (words * slices, k), 0.0, 0, 0.0, hyper=(0.1, 3.0), copies=slices)
    state = SAMPLERS[algo].start(Key(1, 0, 0), block, 1).end_warm_up()
    return nanoseconds(
        lambda t: state.step(Key(1, 0, t + 1), counts, 0.1), words * slices * k, repeats
    )


def _counts(k: int, v: int, touched: int, seed: int = 0) -> Counts:
    """Generate topic counts of ``touched`` random words; a tenth are nonzero, as in real topics."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((touched, padded_width(k)), np.int64)
    values = (rng.random((touched, k)) < 0.1) * rng.gamma(0.5, 40.0, (touched, k))
    counts[:, :k] = values * UNIT
    rows = np.sort(rng.choice(v, touched, replace=False)).astype(np.int32)
    return Counts(rows, counts, 1.0 / UNIT)


# ---- spherical admixture model


def _proportions(k: int, documents: int, repeats: int) -> list[float]:
    """Time the sampling of the topic proportions of documents by Hamiltonian Monte Carlo."""
    rng = np.random.default_rng(0)
    beta = rng.normal(size=(500, k)) + 1.0
    beta /= np.sqrt((beta * beta).sum(axis=0))
    products = np.zeros((padded_width(k), padded_width(k))), np.zeros((documents, padded_width(k)))
    products[0][:k, :k] = beta.T @ beta
    products[1][:, :k] = (rng.dirichlet(np.ones(k), documents) @ beta.T) @ beta
    work, theta = core.Workspace(), np.zeros((documents, padded_width(k)))

    def once(step: int) -> None:
        theta[:, :k] = 1.0 / k
        core.sphere_proportions(
            gram=products[0],
            along=products[1],
            topics=k,
            kappa=3e4,
            alpha=1.0,
            length=1e-3,
            trajectories=60,
            kept=20,
            leaps=10,
            chart="root",
            doc_ids=np.arange(documents),
            theta=theta,
            seed=1,
            chain=0,
            step=step,
            purpose=core.Purpose.documents,
            work=work,
            threads=1,
        )

    return nanoseconds(once, 1000 * documents, repeats)


def _geodesic(k: int, v: int, repeats: int) -> list[float]:
    """Time geodesic steps of all topics; the gradient is zero and takes almost no time."""
    block = Block("phi", "sphere", (v, k), 1.0, 0, 0.0, np.full(v, v**-0.5))
    state = SAMPLERS["sggmc"].start(Key(1, 0, 0), block, 1)
    flat: Any = SimpleNamespace(evaluate=lambda x, **_: EnergyGradient(0.0, np.zeros_like(x)))
    flat.sample_and_evaluate = lambda key, part, x, **_: flat.evaluate(x)
    return nanoseconds(lambda t: state.step(Key(1, 0, t), flat, 1e-4), v * k, repeats)


# ---- random numbers


def _draw(kind: str, value: float, repeats: int) -> list[float]:
    """Time draws from a distribution that has one parameter."""
    parameter = np.full(1 << 16, value, np.float32)
    return nanoseconds(lambda step: core.draw(kind, parameter, 1, step), len(parameter), repeats)
