"""Learned alpha and eta: what is drawn from the model stays so when all of it moves.

docs/internals/mathematics.md, "Learned priors". A small corpus is a replicate (Geweke 2004): alpha, eta,
topics, tokens' topics and words are drawn from the model, moved some iterations, and must still be of
its law.
"""

import functools

import numpy as np
import pytest
from oracles import deep
from oracles.judge import KS, P, Z, ks, pmf_p, z_mean, z_two
from scipy import special, stats
from trial_counts import counts

from pysgrld import LDA
from pysgrld.core import core, padded_width
from pysgrld.models.lda.collapsed import CollapsedDocuments
from pysgrld.models.token_topics import GibbsDocuments
from pysgrld.options.priors import ETA
from pysgrld.samplers.concentration import GivenCounts, GivenTopics, slice_sample
from pysgrld.samplers.gibbs import Conjugate, Mean
from pysgrld.samplers.log_rows import FLOAT_ETA
from pysgrld.samplers.rows import draw_initial_rows
from pysgrld.samplers.shapes import ConjugateShapes, ShapesSettings
from pysgrld.types import Block, Documents, Key, Minibatch

pytestmark = pytest.mark.statistical

K, V, LENGTHS = 3, 6, np.array([1, 2, 5, 9, 14])
SHAPE, RATE = 1.5, 2.5
ITERATIONS = 4


def priors(rng, n):
    """alpha (n, K) and eta (n,)."""
    eta = FLOAT_ETA + rng.exponential(ETA - FLOAT_ETA, n)
    return rng.gamma(SHAPE, 1 / RATE, (n, K)), eta


def dirichlet(rng, shape):
    """Rows of logarithms, also of the smallest shapes."""
    logs = np.log(rng.standard_gamma(shape + 1)) + np.log(rng.random(np.shape(shape))) / shape
    return logs - special.logsumexp(logs, axis=-1, keepdims=True)


def document_words(rng, alpha, eta):
    """phi (K, V), and topics and words of all tokens of documents, from the model."""
    phi = np.exp(dirichlet(rng, np.full((K, V), eta)))
    theta = np.exp(dirichlet(rng, np.tile(alpha, (len(LENGTHS), 1))))
    z = [rng.choice(K, n, p=t / t.sum()) for n, t in zip(LENGTHS, theta, strict=True)]
    cumulative = phi.cumsum(axis=1) / phi.sum(axis=1, keepdims=True)
    x = [(rng.random((len(own), 1)) > cumulative[own, :-1]).sum(axis=1) for own in z]
    return phi, z, x


def minibatch(z, x):
    """Documents over all words, and their topics in the order of the documents' entries."""
    indptr, indices, counts, topics = [0], [], [], []
    for own, words in zip(z, x, strict=True):
        order = np.argsort(words, kind="stable")
        distinct, repeats = np.unique(words, return_counts=True)
        indices.extend(distinct)
        counts.extend(repeats)
        indptr.append(len(indices))
        topics.extend(own[order])
    everyone = np.arange(V, dtype=np.int32)
    batch = Minibatch(
        np.array(indptr),
        np.array(indices, np.int32),
        np.array(counts, np.int32),
        everyone,
        np.arange(len(z)),
        1.0,
    )
    return batch, np.array(topics, np.int32)


def moved(seed, collapsed):
    """One replicate from the model, moved: alpha, eta and a topic's share of a document's tokens."""
    rng = np.random.default_rng(seed)
    alpha, eta = (own[0] for own in priors(rng, 1))
    key = Key(seed, 0, 0)
    block = Block("phi", "simplex", (V, K), eta, 0, 0.0)
    prior = Block(
        "alpha", "positive", (1, K), SHAPE * K, 4, 0.0, (RATE,), settings=ShapesSettings()
    )
    shapes = ConjugateShapes.start(key, prior, 1).end_warm_up()
    shapes.r[:K] = alpha
    learned = GivenCounts.start(
        key, Block("eta", "concentration", (1, 1), eta, 8, 0.0, hyper=(float(V), float(K))), 1
    )
    kind = Mean if collapsed else Conjugate
    topics = kind(block, 1, **draw_initial_rows(key, block, 1))
    phi, z, x = document_words(rng, alpha, eta)
    lengths = np.cumsum(LENGTHS)[:-1]
    for t in range(ITERATIONS):
        batch, tokens = minibatch(z, x)
        if collapsed:
            documents = CollapsedDocuments(block=block, alpha=None, sweeps=1, threads=1)
        else:
            documents = GibbsDocuments(
                topics=K, alpha=None, sweeps=1, kept=1, rao_blackwell=False, threads=1
            )
        documents.keep(Documents(batch.indptr, batch.indices, batch.counts))
        documents.arrays()["z"][:] = tokens
        key = Key(seed, 0, t)
        draw = {"phi": core.zeros(V, padded_width(K), "float32"), "alpha": shapes.rows()}
        draw["phi"][:, :K] = np.maximum(phi.T, core.PHI_FLOOR)
        found = documents.visit(key, draw | {"eta": learned.rows()}, batch)
        learned.step(key, found["phi"], 0.0)
        topics.block = topics.block._replace(prior=float(learned.eta[0]))
        topics.step(key, found["phi"], 0.0)
        shapes.step(key, found["alpha"], 0.0)
        # words given the tokens' topics, and, where topics are integrated out, topics drawn for it
        order = documents.arrays()["z"]
        z = np.split(order, lengths)
        phi = topics.rows()[:, :K].T.astype(np.float64)
        if collapsed:
            n = np.zeros((K, V))
            np.add.at(n, (order, np.repeat(batch.indices, batch.counts)), 1)
            phi = np.exp(dirichlet(rng, learned.eta[0] + n))
        cumulative = phi.cumsum(axis=1) / phi.sum(axis=1, keepdims=True)
        x = [(rng.random((len(own), 1)) > cumulative[own, :-1]).sum(axis=1) for own in z]
    return functions(shapes.r[:K], learned.eta[0], z, x)


def functions(alpha, eta, z, x):
    """What is compared with the model: a row of numbers."""
    longest, words = z[-1], x[-1]
    of_topics = [np.bincount(own, minlength=K) / len(own) for own in z]
    of_words = [np.bincount(own, minlength=V) / len(own) for own in x]
    first = of_topics[-1][0]
    return (
        np.log(alpha[0]),
        alpha.sum(),
        np.log(eta),
        first * np.log(alpha[0]),
        first * np.log(alpha[1]),
        np.unique(longest).size * np.log(alpha.sum()),
        np.unique(words).size * np.log(eta),
        np.dot(of_topics[-1], sum(of_topics[:-1])),
        np.dot(of_words[-1], sum(of_words[:-1])),
        (of_topics[-1] ** 2).sum(),
        (of_words[-1] ** 2).sum(),
    )


NAMES = [
    "alpha_0",
    "sum alpha",
    "eta",
    "own",
    "other",
    "topics",
    "words",
    "z apart",
    "x apart",
    "z together",
    "x together",
]


@functools.cache
def model(n):
    """Functions of ``n`` draws from the model."""
    rng = np.random.default_rng(3)
    found = []
    for alpha, eta in zip(*priors(rng, n), strict=True):
        _, z, x = document_words(rng, alpha, eta)
        found.append(functions(alpha, eta, z, x))
    return np.array(found)


@counts(100, 1000)
@pytest.mark.parametrize("collapsed", [False, True], ids=["gibbs", "cgs"])
def test_learned_priors_keep_the_joint_distribution(collapsed, n):
    found = np.array([moved(1000 + seed, collapsed) for seed in range(n)])
    worst = {name: z_two(found[:, i], model(8 * n)[:, i]) for i, name in enumerate(NAMES)}
    assert max(map(abs, worst.values())) < Z, worst
    assert ks(stats.gamma.cdf(np.exp(found[:, 0]), SHAPE, scale=1 / RATE), lambda u: u) < KS
    beyond = (np.exp(found[:, 2]) - FLOAT_ETA) / (ETA - FLOAT_ETA)
    assert ks(-np.expm1(-beyond), lambda u: u) < KS


def test_tables_and_rates_of_documents_have_their_laws_and_are_keyed_by_document():
    """Red with: alpha_1 for alpha_0 in the tables; N_d + 1 in the beta; places for ids of documents."""
    n, alpha = 4000, np.zeros(16, np.float32)
    alpha[:3] = 0.2, 1.1, 0.03
    of_each = np.array([0] * 5 + [1] * 7 + [2], np.int32)
    one, ids = len(of_each), np.arange(n) * 3
    arguments = {"alpha": alpha, "topics": 3, "seed": 1, "chain": 0, "step": 0}
    found, q = np.zeros((n, 3), np.int64), np.zeros(n)
    z, places = np.tile(of_each, n), np.arange(n + 1) * one
    tables, q = core.alpha_evidence(z=z, token_ptr=places, doc_ids=ids, threads=2, **arguments)
    for d in range(n):
        found[d] = core.alpha_evidence(
            z=of_each, token_ptr=places[:2], doc_ids=ids[d : d + 1], threads=1, **arguments
        )[0][:3]
    before = core.isa()
    for isa in core.available_isas():
        core.use_isa(isa)
        alike = core.alpha_evidence(z=z, token_ptr=places, doc_ids=ids, threads=1, **arguments)
        assert (alike[0] == tables).all()
        assert (alike[1] == q).all()
    core.use_isa(before)
    assert tables[:3].tolist() == found.sum(axis=0).tolist()
    assert not tables[3:].any()
    assert pmf_p(found[:, 0], deep.crt_pmf(5, 0.2)) > P
    assert pmf_p(found[:, 1], deep.crt_pmf(7, float(alpha[1]))) > P
    assert (found[:, 2] == 1).all()
    assert ks(np.exp(-q), lambda u: stats.beta.cdf(u, alpha.sum(), one)) < KS
    assert abs(z_mean((q - q.mean()) * (found[:, 1] - found[:, 1].mean()), 0.0)) < Z


@pytest.mark.parametrize(("v", "topics"), [(4, 1), (40, 12)])
def test_eta_given_topics_keeps_the_joint_distribution(v, topics):
    """Half of the probabilities of the smallest eta are below the floor of single precision.

    Red with: log(eta) of the integral left out; the floor for a value; no Jacobian.
    """
    n = 700
    rng = np.random.default_rng(5)
    _, eta = priors(rng, n)
    found = np.empty(n)
    block = Block("eta", "concentration", (1, 1), ETA, 8, 0.0, hyper=(float(v), float(topics)))
    for i, own in enumerate(eta):
        logs = dirichlet(rng, np.full((topics, v), own)).T
        phi = np.maximum(np.exp(logs), core.PHI_FLOOR).astype(np.float32)
        state = GivenTopics(block, 1, eta=np.array([own]))
        for t in range(3):
            state.step(Key(i, 0, t), phi, 0.0)
        found[i] = state.eta[0]
    assert ks(-np.expm1(-(found - FLOAT_ETA) / (ETA - FLOAT_ETA)), lambda u: u) < KS
    assert abs(z_mean(found - eta, 0.0)) < Z
    assert (found != eta).mean() > 0.9


def test_slices_keep_a_law_with_bounds_and_two_modes():
    """Red with: a level of u squared."""
    rng = np.random.default_rng(6)
    grid = np.linspace(-1.0, 1.0, 20_001)
    log_density = lambda x: float(np.log(np.exp(-80 * (x - 0.2) ** 2) + 0.3 + 0.2 * x))  # noqa: E731
    weights = np.array([np.exp(log_density(x)) for x in grid])
    cdf = np.cumsum(weights) / weights.sum()
    start = np.interp(rng.random(8000), cdf, grid)
    found = [slice_sample(log_density, x, -1.0, 1.0, rng.random(100)) for x in start]
    assert ks(found, lambda x: np.interp(x, grid, cdf)) < KS
    assert abs(z_mean(found - start, 0.0)) < Z
    assert (np.abs(found) <= 1.0).all()


def made(rng, documents, length, alpha, eta, v):
    """Counts (documents, V) of a corpus drawn from the model."""
    phi = rng.dirichlet(np.full(v, eta), len(alpha))
    theta = rng.dirichlet(alpha, documents)
    return phi, np.array([rng.multinomial(length, p / p.sum()) for p in theta @ phi])


@pytest.mark.parametrize(
    ("algo", "eta_within", "more"),
    [
        ("gibbs", 0.12, {}),
        pytest.param("cgs", 0.12, {}, marks=pytest.mark.nightly),
        ("scir", 0.4, {"minibatch": 150, "sweeps": 12}),
    ],
)
def test_known_priors_are_found_again(algo, eta_within, more):
    """alpha within four standard deviations of its logarithm, 1 / sqrt(tables); eta more coarsely.

    Minibatches widen what topics are drawn from, and eta with it. Red with: either left where it starts.
    """
    alpha, eta, v, documents, length = np.array([0.04, 0.1, 0.3, 0.9]), 0.15, 100, 600, 40
    phi, counts = made(np.random.default_rng(8), documents, length, alpha, eta, v)
    lda = LDA(
        n_components=4,
        algo=algo,
        alpha="learn",
        eta="learn",
        max_iter=300,
        burn_in=100,
        holdout=0,
        n_jobs=1,
        **more,
    ).fit(counts)
    near = np.argmax(phi @ lda.components_.T, axis=1)
    assert sorted(near) == [0, 1, 2, 3]
    rate = documents * (special.psi(length + alpha.sum()) - special.psi(alpha.sum()))
    assert np.abs(np.log(lda.alpha_[near] / alpha) * np.sqrt(alpha * rate)).max() < 4.0
    assert abs(np.log(lda.eta_ / eta)) < eta_within
