"""Deep LDA where its options reach kernels, and where its chain reaches samplers."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.core import core, padded_width
from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import CheckpointError
from pysgrld.evaluate import Completion, pair_parts
from pysgrld.models.dlda.documents import documents
from pysgrld.models.dlda.reader import DeepFitted, deep_readers
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.models.table import find_model
from pysgrld.models.word_order import top_words
from pysgrld.options.option import Facts
from pysgrld.types import Documents, Key, Minibatch

V, D, B, LAYERS = 20, 40, 10, (6, 3)
SURE = 1e6  # of a gamma law: its relative deviation is 1/1000


def corpus(n=D, seed=0):
    counts = 1 + np.random.default_rng(seed).poisson(2.0, (n, V))
    each = np.tile(np.arange(V, dtype=np.int32), n)
    return Documents(V * np.arange(n + 1), each, counts.astype(np.int32).ravel())


def resolved(**given):
    given = {name.replace("_", "-"): value for name, value in given.items()}
    facts = Facts(D, V, corpus().tokens, 0, lambda *_: V)
    return resolve({"layers": LAYERS, "minibatch": B, "warm-up": 0} | given, facts).options


def chain_of(options):
    data = corpus()
    stream = Epochs.of(options, data, np.arange(D))
    return find_model("dlda").chain(options, stream, CorpusFacts(V, data.tokens), RunOn(1))


def draw(seed=0):
    rng = np.random.default_rng(seed)
    found = {"r": np.zeros(padded_width(LAYERS[-1]), np.float32)}
    found["r"][: LAYERS[-1]] = 1.0
    for name, below, k in (("phi", V, LAYERS[0]), ("phi2", *LAYERS)):
        found[name] = core.zeros(below, padded_width(k), "float32")
        found[name][:, :k] = rng.dirichlet(np.ones(below), k).T
    return found


def batch_of(data):
    words = np.arange(V, dtype=np.int32)
    ids = np.arange(len(data))
    return Minibatch(data.indptr, data.indices, data.counts, words, ids, D / len(data))


def test_priors_of_documents_reach_the_kernels_in_their_order():
    """p is sure to be 1/4 and c 1/2, in training and in reading. Red with: e0 for f0, or a0 for b0."""
    options = resolved(p_prior=(SURE, 3 * SURE), c_prior=(SURE, 2 * SURE), kept_sweeps=1)
    data = corpus(B)
    trained = documents(options, V, 1)
    trained.keep(data)
    trained.visit(Key(1, 0, 0), draw(), batch_of(data))
    held = Completion(pair_parts(data, corpus(B, 1)), deep_readers(options), 1)
    held.update(Key(1, 0, 0), draw())
    for c in (trained.arrays()["rates"], held.arrays()["rates"]):
        assert c[:, 0] == pytest.approx(3.0, rel=0.01)
        assert c[:, 1] == pytest.approx(0.5, rel=0.01)


def test_priors_of_shapes_reach_their_sampler_in_their_order():
    """Red with: E1 for F1, E2 for F2, the two priors exchanged, or GAMMA0 for C0."""
    start = chain_of(resolved(r_prior=(2.0, 7.0))).states["r"].arrays()
    assert (start["gamma0"], start["c0"]) == ([2.0], [7.0])
    priors = {"r_shape_prior": (SURE, 2 * SURE), "r_rate_prior": (SURE, 4 * SURE)}
    chain = chain_of(resolved(algo="gibbs", minibatch=D, **priors))
    chain.advance()
    after = chain.states["r"].arrays()
    assert after["gamma0"] == pytest.approx(0.5, rel=0.01)
    assert after["c0"] == pytest.approx(0.25, rel=0.01)


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ({"algo": "scir", "step_size": (0.02, 1.0, 0.0)}, B / D),
        ({"preset": "dlda-2017", "step_size": (0.02, 1.0, 0.0)}, 1.0),
        ({"algo": "smld", "step_size": (1e-4, 1.0, 0.0)}, B / D),
    ],
    ids=["relative", "published", "not relative"],
)
def test_shapes_go_as_far_as_topics_in_proportion_to_the_share_that_was_seen(given, share):
    """Times N / K where a step of topics is not relative. Red with: B/D left out, or put in as
    published; the level left out.
    """
    chain, steps = chain_of(resolved(**given)), {}
    chain.advance()  # its states are those of sampling from here on
    for name, state in chain.states.items():
        state.step = lambda key, statistics, h, name=name: steps.__setitem__(
            name, (h, statistics.level)
        )
    chain.advance()
    h = given["step_size"][0]
    assert (steps["phi"][0], steps["phi2"][0]) == (h, h)
    level = steps["r"][1] if given.get("algo") == "smld" else 1.0
    assert steps["r"][0] == pytest.approx(h * level * share)


def test_tlfsgr_scales_all_layers_by_the_tokens_of_a_topic_of_the_lowest():
    """Tokens of the minibatch, times D/B, over K1. Red with: K2, or the tables of layer 2, for it."""
    chain = chain_of(resolved(algo="tlfsgr"))
    batch = chain.next_batch()
    chain.advance(batch)
    scale = batch.counts.sum() * D / B / LAYERS[0]
    for name in ("phi", "phi2"):
        assert chain.states[name].arrays()["m"] == pytest.approx(scale, rel=1e-5)


def test_the_rate_weighted_figure_is_of_summed_rates_normalised_once():
    """By hand from the chains' states at three samples (Cong et al. 2017, section 5).

    Red with: samples normalised before they are summed; expected proportions for those drawn; one
    sample's sum for that of all.
    """
    observed, scored = corpus(B), corpus(B, 1)
    held = Completion(pair_parts(observed, scored), deep_readers(resolved()), 1)
    rate, total = np.zeros((B, V)), np.zeros((B, 1))
    for t in range(3):
        parts = draw(t)
        held.update(Key(1, 0, t), parts)
        theta = held.arrays()["theta"][:, : LAYERS[0]].astype(float)
        rate += theta @ parts["phi"][:, : LAYERS[0]].T
        total += theta.sum(axis=1, keepdims=True)
    x = scored.counts.reshape(B, V)
    expected = np.exp(-(x * np.log(rate / total)).sum() / x.sum())
    found = held.metrics()["rate_weighted_perplexity"]
    assert found == pytest.approx(expected, rel=1e-6)
    assert abs(found / held.average() - 1) > 1e-4


def test_rates_of_other_held_out_words_are_refused():
    """Red with: sums of rates of any length from a checkpoint (a traceback, 70)."""
    held = Completion(pair_parts(corpus(B), corpus(B, 1)), deep_readers(resolved()), 1)
    held.update(Key(1, 0, 0), draw())
    held.restore(held.arrays() | {"rate": np.ones(1)})
    with pytest.raises(
        CheckpointError, match="array 'rate' of the checkpoint has 1 values for 200"
    ):
        held.update(Key(1, 0, 1), draw())


def test_rates_of_any_length_are_not_copied_before_they_are_checked():
    """Red with: 40 MB of a forged checkpoint copied for sums of rates."""
    held = Completion(pair_parts(corpus(B), corpus(B, 1)), deep_readers(resolved()), 1)
    arrays = held.arrays() | {"rate": np.ones(1_000_000)}
    tracemalloc.start()
    held.restore(arrays)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6


def test_the_tree_shows_what_is_used_and_edges_of_three_times_an_even_share():
    """Nineteen twentieths of the top layer, in the order of use: here two of its three topics."""
    found = draw()
    found["r"][: LAYERS[-1]] = [0.12, 0.03, 0.85]
    found["phi2"][:, :] = 0.0
    found["phi2"][:, :3] = np.array(
        [[0.49, 0.51, 0.0, 0.0, 0.0, 0.0]] * 3
    ).T  # an even share is 1/6
    fitted = SimpleNamespace(mean=found, layers=LAYERS, depth=2)
    fitted.topics_over_words = lambda draw, at: DeepFitted.topics_over_words(fitted, draw, at)
    fitted.first_words = lambda phi, n, at, order: top_words(phi[:, : LAYERS[at]], n)
    nodes = DeepFitted.tree(fitted, [f"w{i}" for i in range(V)], 3)
    assert [node.id for node in nodes] == [2, 0]
    assert [child.id for child in nodes[0].children] == [1]
