"""Every exact sampler reproduces a posterior that is summed over all 512 assignments.

docs/internals/mathematics.md, "Nine tokens".
"""

import numpy as np
import pytest
from oracles import tiny_lda
from oracles.judge import Z, z_mean
from oracles.tiny_lda import ALPHA, DOCUMENTS, ETA, HELD_OUT, WORD
from statistical.chains import Corpora, full_batch, state_of
from trial_counts import counts

from pysgrld.samplers.gibbs import Conjugate
from pysgrld.samplers.scir import Cir
from pysgrld.samplers.sgrhmc import Hamiltonian
from pysgrld.samplers.sgrld import Langevin
from pysgrld.types import Key

pytestmark = pytest.mark.statistical

EXACT = tiny_lda.enumerate_posterior()
FIXTURES = {
    "log p(x)": -13.710857099645814,
    "z1 = z2": 0.87496927,
    "z1 = z3": 0.78715563,
    "z1 = z4": 0.48342416,
    "z6 = z7": 0.85789471,
    "z1 = z8": 0.55619365,
    "sum phi_k0^2": 0.25780524,
    "sum phi_k2^2": 0.25753885,
    "n0^2": 24.13234865,
    "perplexity": 3.6061650477356304,
}
MEAN_PHI = [0.29680330, 0.23894025, 0.29527189, 0.16898456]
PREDICTIVE = [
    [0.36656407, 0.26172048, 0.23068634, 0.14102911],
    [0.25749784, 0.26381041, 0.32501665, 0.15367510],
    [0.27891792, 0.18781005, 0.34835928, 0.18491275],
]
COPIES = 400


@pytest.mark.parametrize("name", FIXTURES)
def test_enumeration_gives_the_fixture(name):
    """Red with: alpha and eta exchanged."""
    assert EXACT[name] == pytest.approx(FIXTURES[name], abs=1e-7)


def test_enumeration_gives_the_fixtures_of_words():
    """Red with: alpha and eta exchanged."""
    np.testing.assert_allclose(EXACT["mean phi"], MEAN_PHI, atol=1e-8)
    np.testing.assert_allclose(EXACT["predictive"], PREDICTIVE, atol=1e-8)


def run(form, kind, h, iterations, burn_in, *, refresh, alpha=ALPHA, eta=ETA, seed=1, **how):
    """Means over each of 400 chains: {function: (copies, ...)}."""
    corpora = Corpora(np.tile(WORD, (COPIES, 1)), [len(d) for d in DOCUMENTS], 4, alpha)
    state = state_of(form, kind, Key(seed, 0, 0), corpora.block(eta))
    total: dict[str, np.ndarray] = {}
    for t in range(iterations):
        full_batch(corpora, state, h, Key(seed, 0, t), refresh=refresh, **how)
        if t < burn_in:
            continue
        z = corpora.topics()
        phi = corpora.per_copy(state.rows())
        found = {name: f.astype(float) for name, f in tiny_lda.coassigned(z).items()}
        found["sum phi_k0^2"] = (phi[:, :, 0] ** 2).sum(axis=1)
        found["sum phi_k2^2"] = (phi[:, :, 2] ** 2).sum(axis=1)
        found["mean phi"] = phi.mean(axis=1)
        found["predictive"] = predictive(z)
        for name, value in found.items():
            total[name] = total.get(name, 0) + value
    return {name: value / (iterations - burn_in) for name, value in total.items()}


def predictive(z):
    """sum_k thetahat_dk phihat_kw given the assignments, (R, 3, 4)."""
    one = z[:, :, None] == np.arange(2)
    n_dk = np.stack([one[:, d == tiny_lda.DOC].sum(axis=1) for d in range(3)], axis=1)
    n_kw = np.stack([one[:, w == WORD].sum(axis=1) for w in range(4)], axis=2)
    theta = (ALPHA + n_dk) / (2 * ALPHA + n_dk.sum(axis=2, keepdims=True))
    phi = (ETA + n_kw) / (4 * ETA + n_kw.sum(axis=2, keepdims=True))
    return theta @ phi


def scores(found):
    """z-scores of everything, from independent chains."""
    out = {}
    for name, value in found.items():
        columns = value.reshape(COPIES, -1)
        wanted = np.ravel(EXACT[name])
        out[name] = max((z_mean(c, e) for c, e in zip(columns.T, wanted, strict=True)), key=abs)
    return out


def differences(found):
    """Largest differences of probabilities (not of the squared count, which is no probability)."""
    return {
        name: np.abs(value.mean(axis=0) - EXACT[name]).max()
        for name, value in found.items()
        if name != "n0^2"
    }


def judge(found, tolerance=0.004):
    worst = scores(found)
    assert max(map(abs, worst.values())) < Z, worst
    assert max(differences(found).values()) < tolerance, differences(found)
    p = found["predictive"].mean(axis=0)
    perplexity = np.exp(-np.mean([np.log(p[d, w]) for d, w in HELD_OUT]))
    assert perplexity == pytest.approx(FIXTURES["perplexity"], rel=0.004)


@counts(250, 1250)
@pytest.mark.parametrize("form", ["rows", "log"])
def test_blocked_gibbs_has_the_exact_posterior(form, n):
    """Red with: alpha doubled; a token not removed before it is drawn; topics of tokens not
    kept; alpha and eta exchanged; eta/2 (rows), 1.2 eta (log).
    """
    judge(run(form, Conjugate, 1.0, n, 50, refresh=False), 0.004 if n == 1250 else 0.009)


@pytest.mark.parametrize(
    "h", [0.5, *(pytest.param(h, marks=pytest.mark.nightly) for h in (0.1, 2.0))]
)
def test_scir_with_refreshed_scale_has_the_exact_posterior(h):
    """Red with: no refresh; alpha doubled; a token not removed; topics of tokens not kept; 1.2
    eta; counts times 0.9.
    """
    n, tolerance = (400, 0.006) if h == 0.5 else (700, 0.004)
    judge(run("log", Cir, h, n, 100, refresh=True), tolerance)


@pytest.mark.parametrize("h", [pytest.param(0.1, marks=pytest.mark.nightly), 0.5])
@pytest.mark.parametrize("form", ["rows", "log"])
def test_scir_as_published_differs_by_no_more_than_a_hundredth(form, h):
    """Red with: alpha doubled; a token not removed; topics of tokens not kept; eta/2 (rows)."""
    found = run(form, Cir, h, 700 if h < 0.2 else 250, 50, refresh=False)
    assert max(differences(found).values()) < 0.01


def test_sgrld_with_small_steps_is_within_two_hundredths():
    """Red with: noise variance h g for 2 h g; drift 2h; eta - 1; alpha doubled; a token not
    removed.
    """
    found = run("rows", Langevin, 0.005, 800, 300, refresh=False, sweeps=3, rao_blackwell=True)
    assert max(differences(found).values()) < 0.02, differences(found)


def test_sgrhmc_with_small_steps_is_within_two_hundredths():
    """Red with: eta - 1/2, the correction left out; friction without its noise; a rate of 1."""
    found = run("rows", Hamiltonian, 0.05, 350, 100, refresh=False, sweeps=3, rao_blackwell=True)
    assert max(differences(found).values()) < 0.02, differences(found)
