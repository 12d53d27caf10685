"""Learned priors as kernels, states and estimators have them; their laws are a statistical test."""

import pickle

import numpy as np
import pytest

from pysgrld import LDA
from pysgrld.core import core, padded_width
from pysgrld.errors import UsageError
from pysgrld.evaluate.reader import draw_proportions
from pysgrld.models.lda.blocks import blocks
from pysgrld.models.token_topics import GibbsDocuments
from pysgrld.options.priors import usual_alpha
from pysgrld.samplers.concentration import GivenTopics
from pysgrld.samplers.shapes import ConjugateShapes, Shapes, ShapesSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Key, Minibatch

COUNTS = np.random.default_rng(0).poisson(0.7, (60, 12))
BASE = {"max_iter": 60, "burn_in": 20, "holdout": 0, "n_jobs": 1, "minibatch": 15, "warm_up": 10}
LEARNED = {"alpha": "learn", "eta": "learn"}


def sampled(topics, alpha, **changes):
    """Counts by word and by document of a small corpus, and its documents."""
    rng = np.random.default_rng(1)
    phi = core.zeros(12, padded_width(topics), "float32")
    phi[:, :topics] = rng.random((12, topics))
    n = 8
    arguments = {
        "phi": phi,
        "topics": topics,
        "indptr": np.arange(n + 1) * 5,
        "indices": np.concatenate([np.sort(rng.permutation(12)[:5]) for _ in range(n)]).astype(
            np.int32
        ),
        "counts": rng.integers(1, 9, 5 * n).astype(np.int32),
        "doc_ids": np.arange(n),
        "alpha": alpha,
        "sweeps": 5,
        "kept": 2,
        "rao_blackwell": True,
        "seed": 1,
        "chain": 0,
        "step": 0,
        "purpose": core.Purpose.documents,
        "want_documents": True,
        "work": core.Workspace(),
        "threads": 1,
    }
    return core.documents_gibbs(**arguments | changes)


def each(topics, value):
    alpha = np.zeros(padded_width(topics), np.float32)
    alpha[:topics] = value
    return alpha


@pytest.mark.parametrize("topics", [5, 140])
def test_equal_parameters_are_one_parameter_to_the_bit(topics):
    """Red with: a bucket of alpha_k phi_kw whose shares are not 1 where all are alike."""
    one, many = sampled(topics, 0.2), sampled(topics, each(topics, 0.2))
    assert one[0].tobytes() == many[0].tobytes()
    assert one[1].tobytes() == many[1].tobytes()


@pytest.mark.parametrize("topics", [5, 140])
def test_a_topic_of_nearly_no_alpha_is_hardly_used(topics):
    """Red with: draws from the bucket, or its spread, in proportion to phi alone."""
    alpha = each(topics, 0.3)
    alpha[1] = 1e-12
    alpha[2] = 100.0
    for counts in sampled(topics, alpha):
        share = counts.sum(axis=0) / counts.sum()
        assert share[1] < 1e-6
        assert share[2] > 0.4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": np.full(3, 0.1, np.float32)}, "alpha has shape"),
        ({"alpha": each(5, 0.0)}, "alpha: must be positive"),
        ({"alpha": each(5, np.nan)}, "alpha: must be positive"),
        ({"alpha": each(5, [1, 1, 1, 0.1, 1e38])}, "alpha: the smallest must not vanish"),
    ],
)
def test_wrong_parameters_of_documents_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        sampled(5, **change)


EVIDENCE = {
    "z": np.array([0, 1, 1], np.int32),
    "token_ptr": np.array([0, 3]),
    "doc_ids": np.arange(1),
    "alpha": each(2, 0.5),
    "topics": 2,
    "seed": 1,
    "chain": 0,
    "step": 0,
    "threads": 1,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"z": np.array([0, 2, 1], np.int32)}, "z: topics must be"),
        ({"z": np.array([0, -1, 1], np.int32)}, "z: topics must be"),
        ({"token_ptr": np.array([0, 4])}, "token_ptr: must give"),
        ({"token_ptr": np.array([2, 1])}, "token_ptr: must give"),
        ({"doc_ids": np.arange(2)}, "doc_ids has shape"),
        ({"alpha": np.ones(5, np.float32)}, "alpha: rows must be padded"),
        ({"alpha": each(2, -1.0)}, "alpha: must be positive"),
        ({"threads": 0}, "threads: wanted"),
    ],
)
def test_wrong_arguments_of_evidence_on_alpha_are_named(change, message):
    core.alpha_evidence(**EVIDENCE)
    with pytest.raises(ValueError, match=message):
        core.alpha_evidence(**EVIDENCE | change)


def test_documents_without_tokens_say_nothing_about_alpha():
    tables, q = core.alpha_evidence(**EVIDENCE | {"token_ptr": np.zeros(2, np.int64)})
    assert not tables.any()
    assert not q.any()


def test_evidence_of_a_minibatch_is_scaled_to_the_corpus():
    """Red with: D/B left out of tables, or of q."""
    batch = Minibatch(
        np.array([0, 2, 3]),
        np.array([0, 1, 2], np.int32),
        np.array([4, 5, 6], np.int32),
        np.arange(3, dtype=np.int32),
        np.array([4, 9]),
        1.0,
    )
    documents = GibbsDocuments(
        topics=3, alpha=None, sweeps=4, kept=2, rao_blackwell=True, threads=1
    )
    draw = {"phi": np.zeros((3, 16), np.float32), "alpha": each(3, [0.1, 0.2, 0.3])}
    draw["phi"][:, :3] = [[0.5, 0.2, 0.3], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
    one, many = (
        documents.visit(Key(1, 0, 0), draw, batch._replace(scale=s))["alpha"] for s in (1.0, 7.0)
    )
    assert (one.counts == many.counts).all()
    assert many.factor == 7.0 * one.factor == 7.0
    assert many.rate == pytest.approx(7.0 * one.rate)
    assert 2 <= one.counts.sum() <= 15


def test_shapes_whose_prior_is_known_are_drawn_given_it():
    """Red with: gamma0 and c0 drawn too, with constants that are not there."""
    block = Block(
        "alpha", "positive", (1, 3), 6.0, 4, 0.0, hyper=(10.0,), settings=ShapesSettings()
    )
    state = ConjugateShapes.start(Key(1, 0, 0), block, 1).end_warm_up()
    assert state.rows()[:3].tolist() == [np.float32(0.2)] * 3
    found = Counts(np.zeros(1, np.int32), np.full((1, 16), 4000), 1.0, 0.0, 10_000.0)
    state.step(Key(1, 0, 0), found, 0.0)
    assert (state.gamma0[0], state.c0[0]) == (6.0, 10.0)
    assert state.r[:3] == pytest.approx(0.4, rel=0.1)


def test_alpha_waits_for_the_warm_up_and_eta_for_its_turn():
    """Red with: a warm-up in which alpha moves; topics that are not told of eta."""
    given = BASE | LEARNED | {"max_iter": 8, "burn_in": 0}
    lda = LDA(3, **given).fit(COUNTS)
    assert lda.alpha_.tolist() == [np.float32(0.1)] * 3
    assert lda.eta_ == np.float32(0.05)
    lda = LDA(3, **BASE, **LEARNED).fit(COUNTS)
    assert len(set(lda.alpha_)) == 3
    chain = lda._posterior.chain
    assert chain.states["eta"].eta[0] != 0.05
    assert chain.states["phi"].block.prior == np.float32(chain.states["eta"].eta[0])


@pytest.mark.parametrize("algo", ["gibbs", "cgs"])
def test_a_chain_goes_on_from_its_arrays_to_the_same_bits(algo):
    """Red with: alpha, eta, or the eta that topics go by, not restored."""
    given = {k: BASE[k] for k in ("burn_in", "holdout", "n_jobs")} | LEARNED | {"algo": algo}
    chain = LDA(3, **given, max_iter=60).fit(COUNTS)._posterior.chain
    other = LDA(3, **given, max_iter=25).fit(COUNTS)._posterior.chain
    other.restore(60, {n: a.copy() for n, a in chain.arrays().items()})
    for _ in range(5):
        chain.advance()
        other.advance()
    assert all((chain.arrays()[n] == other.arrays()[n]).all() for n in chain.arrays())


@pytest.mark.parametrize("more", [{"lazy": "on"}, {"algo": "sgrld", "eta": 0.05}])
def test_a_model_that_was_kept_goes_on_to_the_same_bits(more):
    """Red with: alpha, eta, or the eta that topics go by, not restored."""
    lda = LDA(3, **BASE | LEARNED | {"max_iter": 65} | more).fit(COUNTS)  # eta moves at 60 and 80
    kept = pickle.loads(pickle.dumps(lda))
    assert (kept.alpha_ == lda.alpha_).all()
    assert (kept.transform(COUNTS) == lda.transform(COUNTS)).all()
    for _ in range(25):
        lda.partial_fit(COUNTS)
        kept.partial_fit(COUNTS)
    assert (kept.alpha_ == lda.alpha_).all()
    assert kept.eta_ == lda.eta_
    assert (kept.components_ == lda.components_).all()


def test_threads_do_not_matter():
    one, two = (LDA(3, **BASE | {"n_jobs": n}, **LEARNED).fit(COUNTS) for n in (1, 2))
    assert (one.components_ == two.components_).all()
    assert (one.alpha_ == two.alpha_).all()
    assert one.eta_ == two.eta_


def test_fixed_priors_are_told_too():
    lda = LDA(3, **BASE, alpha=0.3).fit(COUNTS)
    assert (lda.alpha_.tolist(), lda.eta_) == ([0.3] * 3, 0.05)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"alpha": "learned"}, 'or "learn"'),
        ({"eta": "auto"}, 'or "learn"'),
        ({"alpha": "learn", "algo": "ovb"}, "does not apply to algo ovb"),
        ({"eta": "learn", "algo": "sgrld"}, "or algo scir, gibbs, cgs"),
        ({"eta": "learn", "seed_words": {"a": ["1"]}}, "seed_words needs different priors"),
    ],
)
def test_what_cannot_be_learned_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        LDA(3, **BASE, **given).fit(COUNTS)


def test_a_document_is_drawn_by_its_own_parameters():
    """Red with: the least parameter for all; empty documents of a topic at random."""
    n = 4000
    counts = np.zeros((n, 16), np.int64)
    counts[: n // 2, 1] = 3
    alpha = each(3, [0.5, 1e-9, 2.0])
    theta = draw_proportions(counts, 3, alpha, Key(1, 0, 0), np.arange(n), core.Workspace(), 1)
    assert theta[: n // 2].mean(axis=0) == pytest.approx([0.5 / 5.5, 3 / 5.5, 2 / 5.5], abs=0.02)
    assert theta[n // 2 :].mean(axis=0) == pytest.approx([0.2, 0.0, 0.8], abs=0.03)


def test_an_alpha_of_any_size_can_be_drawn_with():
    """Red with: whole numbers of a forged alpha of 1e30 (a warning of NumPy)."""
    alpha = np.zeros(padded_width(3), np.float32)
    alpha[:3] = 0.1, 1e30, 0.1
    counts = np.ones((2, padded_width(3)), np.int64)
    theta = draw_proportions(counts, 3, alpha, Key(1, 0, 0), np.arange(2), core.Workspace(), 1)
    assert theta[:, 1].min() > 0.99


def test_probabilities_below_the_floor_are_censored_not_taken_as_the_floor():
    """eta as it is known from topics half of whose cells are lost. Red with: the floor's logarithm."""
    rng = np.random.default_rng(4)
    v, k, eta = 2000, 3, 0.02
    g = np.exp(np.log(rng.standard_gamma(eta + 1, (v, k))) + np.log(rng.random((v, k))) / eta)
    phi = np.maximum(g / g.sum(axis=0), core.PHI_FLOOR).astype(np.float32)
    assert 0.1 < (phi <= core.PHI_FLOOR).mean() < 0.4
    block = Block("eta", "concentration", (1, 1), 0.05, 8, 0.0, hyper=(float(v), float(k)))
    state = GivenTopics(block, 1, eta=np.array([0.05]))
    found = []
    for t in range(60):
        state.step(Key(1, 0, t), phi, 0.0)
        found.append(state.eta[0])
    assert np.mean(found[10:]) == pytest.approx(eta, rel=4 / np.sqrt(v * k * 0.7))


def test_blocks_are_the_topics_and_what_is_learned():
    lda = LDA(3, **BASE, **LEARNED).fit(COUNTS)
    parts = blocks(lda._options, 12, 500.0)
    assert [b.name for b in parts] == ["phi", "alpha", "eta"]
    assert parts[1].prior / (3 * parts[1].hyper[0]) == pytest.approx(0.1)
    assert isinstance(lda._posterior.chain.states["alpha"], Shapes)


@pytest.mark.parametrize(
    ("k", "mean"), [(50, 0.1), (100, 0.05), (500, 0.015), (2000, 0.0075), (5000, 0.005)]
)
def test_a_learned_alpha_has_a_mean_a_priori_by_the_number_of_topics(k, mean):
    assert usual_alpha(k) == mean
