"""Words that walk through slices of time. A topic is a replicate.

Blei and Lafferty (2006); docs/internals/mathematics.md, "Words that walk".
"""

from typing import NamedTuple

import numpy as np
import pytest
from oracles.judge import P, Z, uniform_p, z_two
from scipy import stats

from pysgrld.core import core, padded_width
from pysgrld.corpus.minibatches import Epochs
from pysgrld.models.dtm.declared import MODEL
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Documents, Key, Slicing

pytestmark = pytest.mark.statistical

#: Two words in three slices: tokens of each, (T, V).
COUNTS = np.array([[1, 4], [0, 0], [30, 10]])
DRIFT, SPREAD = 0.5, 1.5


class Topics:
    """K topics over V words in T slices under a sampler, all given the same counts."""

    def __init__(
        self, algo, *, topics=2_000, words=2, slices=3, drift=DRIFT, spread=SPREAD, seed=1
    ):
        self.k, self.slices, self.seed, self.t = topics, slices, seed, 0
        shape = (words * slices, topics)
        self.block = Block(
            "phi", "walk", shape, 0.0, 0, 0.0, hyper=(drift, spread), sparse=True, copies=slices
        )
        self.state = SAMPLERS[algo].start(Key(seed, 0, 0), self.block, 2)

    def set_b(self, b):
        """Set b, (V, T, K)."""
        state = self.state
        state.b[:, : self.k] = b.reshape(-1, self.k)
        state.log_sums[:, : self.k] = np.log(np.exp(b.astype(np.float64)).sum(axis=0))

    @property
    def b(self):
        """(V, T, K) float64."""
        b = self.state.b[:, : self.k].astype(np.float64)
        return b.reshape(-1, self.slices, self.k)

    def step(self, counts, h=1.0):
        """Step by counts (V, T) of all topics, or (V, T, K)."""
        counts = np.asarray(counts)
        rows = len(self.state.b)
        wide = np.zeros((rows, padded_width(self.k)), np.int64)
        wide[:, : self.k] = counts.reshape(rows, -1)
        used = np.flatnonzero(wide.any(axis=1)).astype(np.int32)
        self.t += 1
        self.state.step(Key(self.seed, 0, self.t), Counts(used, wide[used], 1.0), h)


def exact_moments(counts, drift=DRIFT, spread=SPREAD, size=121):
    """Means and standard deviations of the logit of word 0 in each of three slices, on a grid.

    The difference of two words' walks is a walk of twice the variance, and phi_0 is its logistic.
    """
    x = np.linspace(-7.0, 7.0, size)
    log_p = stats.norm.logpdf(x, scale=spread * np.sqrt(2))[:, None, None]
    log_p = log_p + stats.norm.logpdf(x[None, :] - x[:, None], scale=drift * np.sqrt(2))[:, :, None]
    log_p = log_p + stats.norm.logpdf(x[None, :] - x[:, None], scale=drift * np.sqrt(2))[None]
    for t, (first, other) in enumerate(counts):
        at = first * stats.logistic.logcdf(x) + other * stats.logistic.logcdf(-x)
        log_p = log_p + at.reshape([-1 if axis == t else 1 for axis in range(3)])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    found = []
    for t in range(3):
        margin = p.sum(axis=tuple(axis for axis in range(3) if axis != t))
        mean = margin @ x
        found.append((mean, np.sqrt(margin @ (x - mean) ** 2)))
    return np.array(found)


def logits(topics):
    """Logits of word 0, (T, K)."""
    b = topics.b
    return b[0] - b[1]


def test_accepted_steps_draw_from_the_posterior():
    """Moments of three slices against a grid, 2,000 chains of 150 steps.

    Red with: every step accepted; the gradient half as long; spread for its square; the tie between the
    last two slices left out; the normaliser's slope at the old state alone.
    """
    topics = Topics("mala")
    for _ in range(150):
        topics.step(COUNTS.T)
    exact = exact_moments(COUNTS)
    assert 0.5 < topics.state.acceptance.mean() < 0.99
    for t, x in enumerate(logits(topics)):
        mean, sd = exact[t]
        assert abs(x.mean() - mean) < Z * sd / np.sqrt(x.size)
        assert abs((x - mean).var() / sd**2 - 1.0) < Z * np.sqrt(2.0 / x.size)


def test_steps_by_minibatches_come_close_to_the_posterior():
    """Given the counts of all documents, where a short step has no bias to speak of."""
    topics = Topics("sgld")
    for _ in range(40):
        topics.step(COUNTS.T, 0.3)
    topics.state = topics.state.end_warm_up()
    for _ in range(120):
        topics.step(COUNTS.T, 0.05)
    exact = exact_moments(COUNTS)
    for t, x in enumerate(logits(topics)):
        mean, sd = exact[t]
        assert abs(x.mean() - mean) < 0.06 * sd + Z * sd / np.sqrt(x.size)
        assert abs(x.std() / sd - 1.0) < 0.04 + Z * np.sqrt(0.5 / x.size)


@pytest.mark.parametrize("h", [0.02, 0.4])
def test_a_step_is_exact_where_only_the_walk_says_what_words_are(h):
    """Without counts draws keep the law of the walk, whatever the step: a Gaussian's precision is A.

    Counts of less than one token are taken for one, so steps are a little shorter than they could be.
    Red with: sqrt(2h) for the noise; the noise not shared along the slices.
    """
    rng = np.random.default_rng(5)
    topics = Topics("sgld", words=3)
    topics.state = topics.state.end_warm_up()
    b = np.cumsum(
        rng.standard_normal((3, 3, topics.k)) * np.array([SPREAD, DRIFT, DRIFT])[:, None], axis=1
    )
    topics.set_b(b)
    for _ in range(60):
        topics.step(np.zeros((3, 3), np.int64), h)
    expected = SPREAD**2 + DRIFT**2 * np.arange(3)
    for t in range(3):
        found = topics.b[:, t].ravel()
        assert abs(found.mean()) < Z * np.sqrt(expected[t] / found.size)
        # 1 - h/2 at least, where no counts speak: half a step's bias
        assert -h / 2 - Z * np.sqrt(2 / found.size) < found.var() / expected[t] - 1.0
        assert found.var() / expected[t] - 1.0 < Z * np.sqrt(2 / found.size)


def test_topics_and_counts_have_their_joint_law():
    """Geweke: counts drawn given topics, topics stepped given counts, beside draws of the prior.

    Red with: drift for spread at the first slice; counts of one slice given to the next.
    """
    rng = np.random.default_rng(3)
    words, slices, k, n = 4, 5, 600, 12
    scales = np.array([SPREAD, *[DRIFT] * (slices - 1)])[:, None]

    def prior():
        return np.cumsum(rng.standard_normal((words, slices, k)) * scales, axis=1)

    topics = Topics("mala", topics=k, words=words, slices=slices)
    topics.set_b(prior())
    for _ in range(120):
        weights = np.exp(topics.b)
        p = np.moveaxis(weights / weights.sum(axis=0), 0, -1)
        counts = np.moveaxis(rng.multinomial(n, p), -1, 0)
        topics.step(counts)
    other = prior()

    def functions(b):
        phi = np.exp(b) / np.exp(b).sum(axis=0)
        yield from (b[:, t].ravel() for t in range(slices))
        yield from ((b[:, t] ** 2).ravel() for t in range(slices))
        yield ((b[:, 2] - b[:, 1]) ** 2).ravel()
        yield ((b[:, -1] - b[:, -2]) ** 2).ravel()
        yield phi[0, -1] ** 2
        yield phi[0, 0] * phi[1, 0]

    for found, wanted in zip(functions(topics.b), functions(other), strict=True):
        assert abs(z_two(found, wanted)) < Z


def test_phi_is_what_rows_say_in_each_slice():
    topics = Topics("sgld", topics=20, words=7, slices=4)
    rng = np.random.default_rng(2)
    b = rng.standard_normal((7, 4, 20)) * 3
    topics.set_b(b)
    expected = np.exp(b) / np.exp(b).sum(axis=0)
    rows = np.array([0, 5, 6, 27], np.int32)
    found = topics.state.rows()[:, :20].reshape(7, 4, 20)
    np.testing.assert_allclose(found, expected, rtol=2e-6)
    np.testing.assert_array_equal(topics.state.rows(rows), topics.state.rows()[rows])


def stepped(base, times, h, *, topics, steps, seed):
    """Logits under counts that are always ``base``, (T, V), and under noisy ones of that mean.

    Noisy counts are ``times`` Poisson counts: of so many times the variance of Poisson ones.
    """
    rng, found = np.random.default_rng(seed), []
    for noisy in (False, True):
        some = Topics("sgld", topics=topics)
        for stage in range(steps):
            if stage == 60:
                some.state = some.state.end_warm_up()
            counts = base.T[:, :, None] + np.zeros((2, 3, some.k), np.int64)
            some.step(times * rng.poisson(counts / times) if noisy else counts, h)
        found.append(logits(some))
    return found


def test_noise_of_minibatches_widens_draws_as_the_rule_says():
    """Counts that vary about their mean widen draws by 1 + tanh(h/2) times their variance over mean."""
    times, h = 20, 0.1
    plain, noisy = stepped(np.array([[40, 60]] * 3), times, h, topics=1_000, steps=260, seed=8)
    bound = 1.0 + np.tanh(h / 2) * times
    assert 1.1 < noisy.var() / plain.var() < bound * (1 + Z * np.sqrt(4 / 3_000))


def test_counts_of_a_minibatch_do_not_choose_the_length_of_their_own_step():
    """Means under noisy counts are those under their mean.

    Red with: the running mean brought up to date before it is used, which moves them by .1.
    """
    both = stepped(np.array([[10, 90]] * 3), 20, 0.02, topics=1_500, steps=360, seed=9)
    errors = [x.mean(axis=0).std() / np.sqrt(x.shape[1]) for x in both]
    assert abs(both[1].mean() - both[0].mean()) < 0.03 + Z * np.hypot(*errors)


@pytest.mark.parametrize("algo", ["sgld", "mala"])
def test_bits_do_not_depend_on_threads_or_instruction_sets(algo):
    found = []
    before = core.isa()
    for isa in core.available_isas():
        for threads in (1, 2, 3):
            core.use_isa(isa)
            topics = Topics(algo, topics=37, words=150, slices=3)
            topics.state.threads = threads
            counts = np.random.default_rng(0).poisson(2.0, (150, 3, 37))
            for _ in range(3):
                topics.step(counts, 0.3)
            found.append({n: a.tobytes() for n, a in topics.state.arrays().items()})
    core.use_isa(before)
    assert all(f == found[0] for f in found)


def made(rng, alpha):
    """Topics of three slices drawn from the model, and 24 documents of 6 tokens: 8 of each slice."""
    scales = np.array([SPREAD, DRIFT, DRIFT])[:, None, None]
    weights = np.exp(np.cumsum(rng.standard_normal((3, 2, 5)) * scales, axis=0))
    phi = weights / weights.sum(axis=2, keepdims=True)
    slices = np.repeat(np.arange(3), 8)
    counts = np.zeros((24, 5), np.int64)
    for d, theta in enumerate(rng.dirichlet(np.full(2, alpha), 24)):
        for topic, n in enumerate(rng.multinomial(6, theta)):
            counts[d] += rng.multinomial(n, phi[slices[d], topic])
    of, words = counts.nonzero()
    indptr = np.concatenate(([0], np.cumsum(np.bincount(of, minlength=24))))
    n = counts[of, words].astype(np.int32)
    return phi, Documents(indptr, words.astype(np.int32), n, slices.astype(np.int32), 3)


class InMemory(NamedTuple):
    """Documents as a source of minibatches."""

    documents: Documents

    def take(self, ids):
        return self.documents.take(ids)


def test_the_truth_is_one_of_the_draws_of_exact_chains():
    """Ranks of how uneven true topics are among draws of the stage are uniform, on corpora of the prior.

    Red with: alpha a quarter; drift for spread; chains that do not move.
    """
    rng, alpha, ranks = np.random.default_rng(23), 0.5, []
    slicing = Slicing("when", ("a", "b", "c"), (0.0, 1.0, 2.0))
    facts = Facts(24, 5, 144, 0, lambda *_: 5)
    facts = facts._replace(slicing=slicing, slice_tokens=(48, 48, 48))
    given = {"time": "when", "topics": 2, "alpha": alpha, "drift": DRIFT, "spread": SPREAD}
    for seed in range(60):
        phi, documents = made(rng, alpha)
        options, _ = resolve(given | {"seed": seed, "warm-up": 5, "minibatch": 8}, facts)
        stream = Epochs(InMemory(documents), np.arange(24), 8, seed, 0)
        chain = MODEL.chain(options, stream, CorpusFacts(5, 144), RunOn(1))
        for _ in range(15):
            chain.advance()
        first = MODEL.exact_chains(options, chain, RunOn(1), start=True)[seed % 4]
        draws = []
        for _ in range(4):
            first.sweep(30)
            draws.append(np.square(first.draw()["phi"][:, :2]).sum())
        ranks.append(np.sum(np.array(draws) < np.square(phi).sum()))
    assert uniform_p(np.array(ranks), 5) > P
