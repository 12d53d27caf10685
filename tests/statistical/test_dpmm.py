"""The Dirichlet-process mixture: its posterior by enumeration, and what stochastic steps keep.

docs/internals/mathematics.md, "Four observations" and "Slices".
"""

import itertools

import numpy as np
import pytest
from oracles import tiny_dp
from scipy.special import gammaln

from pysgrld.core import core
from pysgrld.models.dpmm import births
from pysgrld.models.dpmm import slice_sampling as dpmm
from pysgrld.models.dpmm.slice_sampling import Mixture, Settings
from pysgrld.types import Documents

pytestmark = pytest.mark.statistical

FIXTURE = {
    "z1 = z2": 0.46672,
    "z1 = z3": 0.17170,
    "z3 = z4": 0.57061,
    "z2 = z4": 0.25557,
    "clusters": 2.57747,
    "c": 1.22861,
}
EXACT = tiny_dp.posterior()


def documents(x):
    rows = [np.flatnonzero(row) for row in x]
    indptr = np.concatenate(([0], np.cumsum([len(r) for r in rows]))).astype(np.int64)
    counts = np.concatenate([row[r] for row, r in zip(x, rows, strict=True)])
    return Documents(indptr, np.concatenate(rows).astype(np.int32), counts.astype(np.int32))


class Held(Mixture):
    """A mixture that has its documents at hand, and knows which ones an iteration sees."""

    def __init__(self, x, words, settings, minibatch, seed, threads=1):
        super().__init__(np.arange(len(x)), words, settings, seed, threads=threads)
        self.documents, self.minibatch = x, minibatch

    def advance(self):
        ids = self.minibatch(self.step)
        self.iterate(self.documents.take(ids), ids)


def tiny(seed=1, **how):
    settings = Settings(base=tiny_dp.BASE, shape=tiny_dp.SHAPE, rate=tiny_dp.RATE, start=2, **how)
    return Held(documents(tiny_dp.X), 3, settings, lambda t: np.arange(4), seed)


def test_enumeration_gives_the_fixture():
    for name, value in FIXTURE.items():
        assert EXACT[name] == pytest.approx(value, abs=2e-5), name


def run(chain, sweeps, burn_in=200):
    """Means over 30 batches: {function: (30,)}."""
    z, c = np.empty((sweeps, 4), int), np.empty(sweeps)
    for t in range(-burn_in, sweeps):
        chain.advance()
        if t >= 0:
            z[t], c[t] = chain.z, chain.concentration
    found = tiny_dp.functions(z) | {"c": c}
    return {name: f.astype(float).reshape(30, -1).mean(axis=1) for name, f in found.items()}


def errors(found):
    """Scores by batch means."""
    return {
        name: (batch.mean() - EXACT[name]) / (batch.std(ddof=1) / np.sqrt(30))
        for name, batch in found.items()
    }


@pytest.mark.parametrize(
    ("sweeps", "how"),
    [
        pytest.param(3_000, {}, marks=pytest.mark.nightly),  # as swaps, which has every step of it
        # the two tests of Escobar and West below have the law of the concentration
        pytest.param(6_000, {"concentration": "escobar-west"}, marks=pytest.mark.nightly),
        (2_100, {"swaps": True}),
        pytest.param(21_000, {}, marks=pytest.mark.nightly),
        pytest.param(21_000, {"concentration": "escobar-west"}, marks=pytest.mark.nightly),
    ],
    ids=["sticks", "escobar-west", "swaps", "sticks-long", "escobar-west-long"],
)
def test_gibbs_has_the_enumerated_posterior(sweeps, how, monkeypatch):
    """Components are born unfitted, which is exact as well.

    Red with: sticks by the counts above and the component's own; c after the new sticks; c by the
    occupied ones before the sticks are drawn again; rate without log(1 - v); base 0.6 for 0.5; swaps
    that are always accepted; components that change places without their words; births without Γ(m).
    """
    monkeypatch.setattr(births, "STEPS", 0)
    found = run(tiny(**how), sweeps)
    assert max(map(abs, errors(found).values())) < 4.5, errors(found)
    for name, batch in found.items():
        assert batch.mean() == pytest.approx(
            EXACT[name],
            abs=(0.06 if name in ("c", "clusters") else 0.02) * (21_000 / sweeps) ** 0.5,
        )


def law(z, v):
    """Functions of allocations and sticks that tell one order of the components from another."""
    members = np.bincount(z, minlength=3)
    return (
        *(z[0] == j for j in range(3)),
        *(members[:2] * v[:2]),
        *(members[:2] ** 2),
        members[0] > members[1],
        v[1] * (members[0] == 0),
        (np.bincount(z) == 0).sum(),
        np.log(v[z] * np.append(1.0, np.cumprod(1 - v))[z]).sum(),
    )


def test_swaps_of_labels_keep_the_law_of_sticks_and_allocations():
    """Before and after, of draws from the prior, which is a posterior without data.

    Red with: either exponent halved, turned round, or of the other component; neighbours without the
    empty one beyond the last; any two labels and not only occupied ones.
    """
    rng = np.random.default_rng(3)
    n, c, draws = 12, 4.0, 1_500
    chain = Mixture(np.arange(n), 1, Settings(swaps=True), 1)
    chain.concentration = c
    changes = []
    for t in range(draws):
        v = rng.beta(1, c, 200)
        left = np.cumprod(1 - v)
        chain.z = np.searchsorted(-left, -rng.random(n)).astype(np.int32)
        k = max(3, chain.z.max() + 1)
        before = law(chain.z, v)
        chain.step, chain._log_g = t, np.zeros((1, k))
        chain._log_sticks = np.log([v[:k], 1 - v[:k]])
        chain._grow(0, dpmm.CHUNK)
        chain._swap_labels()
        moved = np.exp(chain._log_sticks[0] - np.logaddexp(*chain._log_sticks))
        changes.append(np.subtract(law(chain.z, moved), before, dtype=float))
    mean, spread = np.mean(changes, axis=0), np.std(changes, axis=0)
    assert (spread > 0).all()
    score = mean / spread * np.sqrt(draws)
    assert np.abs(score).max() < 4, score


@pytest.mark.nightly
def test_weights_twice_are_seen(monkeypatch):
    """The control of test_gibbs_has_the_enumerated_posterior.

    Allocations by w_j times the likelihood, where slices have the w_j already.
    """
    plain = core.documents_mixture

    def twice(*, log_phi, log_weight, indptr, indices, counts, **more):
        n, width = len(indptr) - 1, log_phi.shape[1]
        wider = core.zeros(len(log_phi) + 1, width, "float32")
        wider[:-1], wider[-1] = log_phi, np.maximum(log_weight, -1e30)
        rows = [np.append(indices[a:b], len(log_phi)) for a, b in itertools.pairwise(indptr)]
        times = [np.append(counts[a:b], 1) for a, b in itertools.pairwise(indptr)]
        return plain(
            log_phi=wider,
            log_weight=log_weight,
            indptr=indptr + np.arange(n + 1),
            indices=np.concatenate(rows).astype(np.int32),
            counts=np.concatenate(times).astype(np.int32),
            **more,
        )

    monkeypatch.setattr(dpmm.core, "documents_mixture", twice)
    assert max(map(abs, errors(run(tiny(), 3_000)).values())) > 6


def test_the_whole_corpus_by_endless_steps_is_gibbs():
    """h to infinity: the transition is a fresh draw. Red with: steps of components for sticks."""
    one, two = tiny(), tiny(algo="scir", step=np.inf, stick_step=np.inf)
    for _ in range(50):
        one.advance()
        two.advance()
    assert one.z.tolist() == two.z.tolist()
    assert one.concentration == two.concentration


@pytest.mark.parametrize(
    ("algo", "step"), [("scir", 1.0), pytest.param("sgrld", 0.02, marks=pytest.mark.nightly)]
)
def test_stochastic_steps_on_the_whole_corpus_are_near_the_posterior(algo, step):
    """Exact given fixed counts, not in concert with them: within a few hundredths.

    Red with: counts not scaled by base's side; the reflection's noise doubled; sticks exchanged.
    """
    found = run(tiny(algo=algo, step=step, stick_step=step), 1_500)
    for name in ("z1 = z2", "z1 = z3", "z3 = z4", "z2 = z4"):
        assert found[name].mean() == pytest.approx(EXACT[name], abs=0.08), name
    assert found["clusters"].mean() == pytest.approx(EXACT["clusters"], abs=0.3)


def test_escobar_and_west_keep_the_prior_of_the_concentration():
    """c ~ prior, k ~ CRP(c, 30), update: c is of the prior again.

    Red with: D for D rate in the odds; shape + k + 1.
    """
    rng = np.random.default_rng(7)
    n, draws = 30, 4000
    prior = rng.gamma(2.0, 0.5, draws)
    chain = Held(
        documents(np.ones((n, 2), int)),
        2,
        Settings(shape=2.0, rate=2.0, concentration="escobar-west"),
        lambda t: np.arange(n),
        1,
    )
    after = np.empty(draws)
    for i, c in enumerate(prior):
        k = 1 + int((rng.random(n - 1) < c / (c + np.arange(1, n))).sum())
        chain.z = np.minimum(np.arange(n), k - 1).astype(np.int32)
        chain.concentration, chain.step = float(c), i
        chain._draw_concentration()
        after[i] = chain.concentration
    both = np.sort(prior), np.sort(after)
    grid = np.concatenate(both)
    gap = np.abs(np.searchsorted(both[0], grid) - np.searchsorted(both[1], grid)).max() / draws
    assert gap * np.sqrt(draws / 2) < 2.0
    assert after.mean() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("k", [1, pytest.param(2, marks=pytest.mark.nightly), 4])
def test_escobar_and_west_keep_the_exact_law_of_the_concentration_given_few_documents(k):
    """c from its law given k components of four documents, integrated on a grid; c is of it again.

    The law is prior times c^k Gamma(c) / Gamma(c + D) (Escobar and West 1995, section 6, eq. 14). With
    few documents the choice between the two gammas weighs most.

    Red with: A0 + k for A0 + k - 1 in the odds; c for c + 1 in the Beta. (D + 1 for D stays green.)
    """
    n, draws, shape, rate = 4, 5_000, 0.5, 1.0
    log_c = np.linspace(-30.0, 5.0, 400_001)
    c = np.exp(log_c)
    log_p = (shape + k) * log_c - rate * c - sum(np.log(c + i) for i in range(n))
    cdf = np.cumsum(np.exp(log_p - log_p.max()))
    cdf /= cdf[-1]
    before = np.exp(np.interp(np.random.default_rng(k).random(draws), cdf, log_c))
    chain = Held(
        documents(np.ones((n, 2), int)),
        2,
        Settings(shape=shape, rate=rate, concentration="escobar-west"),
        lambda t: np.arange(n),
        1,
    )
    chain.z = np.minimum(np.arange(n), k - 1).astype(np.int32)
    after = np.empty(draws)
    for i, start in enumerate(before.tolist()):
        chain.concentration, chain.step = start, i
        chain._draw_concentration()
        after[i] = chain.concentration
    for sample in (before, after):
        at = np.interp(np.log(np.sort(sample)), log_c, cdf)
        steps = np.arange(draws + 1) / draws
        gap = max(np.abs(at - steps[1:]).max(), np.abs(at - steps[:-1]).max())
        assert np.sqrt(draws) * gap < 2.2


def test_allocations_follow_likelihoods_within_the_slice(isa):
    """Frequencies of one document's components. Red with: a component below the slice; counts of 1."""
    n, k = 60_000, 20
    rng = np.random.default_rng(2)
    log_phi = core.zeros(3, 32, "float32")
    log_phi[:, :k] = np.log(rng.dirichlet(np.ones(3), k)).T
    weights = np.full(32, -np.inf, np.float32)
    weights[:k] = np.log(rng.dirichlet(np.ones(k)))
    slice_ = np.float32(np.sort(weights[:k])[8])  # twelve are in it
    z = core.documents_mixture(
        log_phi=log_phi,
        log_weight=weights,
        components=k,
        indptr=np.arange(0, 2 * n + 1, 2),
        indices=np.tile([0, 2], n).astype(np.int32),
        counts=np.tile([3, 1], n).astype(np.int32),
        doc_ids=np.arange(n),
        slice=np.full(n, slice_),
        seed=1,
        chain=0,
        step=0,
        threads=2,
    )
    inside = weights[:k] >= slice_
    p = np.exp(3.0 * log_phi[0, :k] + log_phi[2, :k]) * inside
    expected = n * p / p.sum()
    seen = np.bincount(z, minlength=k)
    assert inside.sum() == 12
    assert (seen[~inside] == 0).all()
    assert ((seen - expected)[inside] ** 2 / expected[inside]).sum() < 40


def test_a_minibatch_speaks_for_the_corpus():
    """Fresh draws given a quarter of the documents: gamma totals have four times their counts.

    Red with: counts of words, or of members, not scaled by D/B.
    """
    x, _ = planted(n=100)
    ids = np.arange(0, 100, 4)
    endless = Settings("scir", step=np.inf, stick_step=np.inf, start=3)
    chain = Held(documents(x), 12, endless, lambda t: ids, 1)
    tokens = np.bincount(chain.z[ids], x[ids].sum(axis=1), minlength=3)
    sizes = np.bincount(chain.z[ids], minlength=3)
    above = [sizes[1:].sum(), sizes[2:].sum(), 0]
    shapes = {
        "components": 12 * 0.5 + 4.0 * tokens,
        "sticks": 1.0 + 4.0 * sizes,
        "beyond": chain.concentration + 4.0 * np.array(above),
    }
    drawn = {name: [] for name in shapes}
    for t in range(400):
        chain.step = t
        chain._move(chain.documents.take(ids), chain.z[ids], 4.0, 1.0)
        drawn["components"].append(np.exp(chain._log_g).sum(axis=0))
        drawn["sticks"].append(np.exp(chain._log_sticks[0]))
        drawn["beyond"].append(np.exp(chain._log_sticks[1]))
    for name, shape in shapes.items():
        score = (np.mean(drawn[name], axis=0) - shape) / np.sqrt(shape / 400)
        assert np.abs(score).max() < 4.5, (name, score)


# ---- scores


def test_scores_are_mixtures_of_likelihoods_and_what_is_left_is_the_prior():
    """Red with: multinomial coefficients; weights not divided by their sum; the rest left out."""
    chain = tiny()
    for _ in range(5):
        chain.advance()
    log_w, left = chain.log_weights
    phi, w = np.exp(chain.log_phi), np.exp(log_w)
    assert w.sum() + np.exp(left) == pytest.approx(1.0)
    np.testing.assert_allclose(phi.sum(axis=0), 1.0)
    x = np.array([[1, 0, 2], [4, 0, 0]])
    likelihood = np.array([[np.prod(p**row) for p in phi.T] for row in x])
    np.testing.assert_allclose(
        chain.log_predictive(documents(x), leftover=False), np.log(likelihood @ (w / w.sum()))
    )
    b, total = tiny_dp.BASE, 3 * tiny_dp.BASE
    prior = np.exp(
        [
            gammaln(total) - gammaln(total + row.sum()) + (gammaln(b + row) - gammaln(b)).sum()
            for row in x
        ]
    )
    np.testing.assert_allclose(
        chain.log_predictive(documents(x)), np.log(likelihood @ w + np.exp(left) * prior)
    )


# ---- runs


def planted(seed=3, n=400):
    """Documents from three components over disjoint words."""
    rng = np.random.default_rng(seed)
    which = rng.integers(3, size=n)
    x = np.array(
        [rng.multinomial(12, np.repeat(np.eye(3)[j], 4) * 0.24 + 0.04 / 12) for j in which]
    )
    return x, which


@pytest.mark.parametrize("algo", ["gibbs", "scir", "sgrld"])
def test_planted_components_are_found(algo):
    """Nearly all documents are together with their own kind, and apart from others."""
    x, which = planted()
    order = np.random.default_rng(4).permutation(400)

    def minibatch(t):
        return (
            np.arange(400) if algo == "gibbs" else np.sort(order[(t % 4) * 100 : (t % 4 + 1) * 100])
        )

    step = 0.1 if algo != "sgrld" else 0.005
    chain = Held(documents(x), 12, Settings(algo, step=step, stick_step=step), minibatch, 1)
    for _ in range(300):
        chain.advance()
    same, together = which[:, None] == which, chain.z[:, None] == chain.z
    assert (together & ~same).sum() < 0.02 * (~same).sum()
    assert (together & same).sum() > 0.6 * same.sum()
    assert 3 <= chain.n_occupied < 40


@pytest.mark.parametrize(
    ("algo", "concentration"),
    [("gibbs", "sticks"), ("gibbs", "escobar-west"), ("scir", "sticks"), ("sgrld", "sticks")],
)
def test_threads_stops_and_seeds(algo, concentration):
    """Red with: allocations keyed by the position in the minibatch and run on."""
    x, _ = planted()
    order = np.random.default_rng(4).permutation(400).reshape(4, 100)

    def chain(threads=1, seed=1):
        batch = (lambda t: np.arange(400)) if algo == "gibbs" else (lambda t: order[t % 4])
        settings = Settings(algo, step=0.01, stick_step=0.01, concentration=concentration)
        return Held(documents(x), 12, settings, batch, seed, threads=threads)

    def bytes_of(c):
        return b"".join(a.tobytes() for a in c.arrays().values())

    whole, other, parted = chain(), chain(threads=7), chain()
    for t in range(12):
        whole.advance()
        other.advance()
        if t == 5:
            kept = {name: a.copy() for name, a in parted.arrays().items()}
            parted = chain(threads=2)
            parted.restore(5, kept)
        parted.advance()
    assert bytes_of(whole) == bytes_of(other) == bytes_of(parted)
    another = chain(seed=2)
    for _ in range(12):
        another.advance()
    assert bytes_of(another) != bytes_of(whole)


def test_components_that_are_reused_keep_their_memory():
    x, _ = planted(n=60)
    chain = Held(documents(x), 12, Settings("scir", reuse=True), lambda t: np.arange(60), 1)
    for _ in range(30):
        chain.advance()
    assert chain._log_g.shape[1] > chain.components
    assert chain.log_phi.shape == (12, chain.components)
