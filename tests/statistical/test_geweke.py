"""Parameters given data alternating with data given parameters keep the prior.

Geweke (2004): docs/internals/mathematics.md, "Joint laws".
"""

import numpy as np
import pytest
from oracles.judge import Z, z_two
from statistical.chains import Corpora, full_batch, state_of

from pysgrld.samplers.gibbs import Conjugate
from pysgrld.samplers.scir import Cir
from pysgrld.types import Key

pytestmark = pytest.mark.statistical

V, ALPHA, ETA, LENGTHS = 4, 0.3, 0.7, [4, 4, 4]
COPIES, ITERATIONS = 500, 300


def forward(rng, n):
    """phi (n, 2, V), z and x (n, 12) from the model."""
    phi = rng.dirichlet(np.full(V, ETA), (n, 2))
    theta = rng.dirichlet([ALPHA, ALPHA], (n, 3))
    z = (rng.random((n, 12)) >= np.repeat(theta[:, :, 0], 4, axis=1)).astype(np.int32)
    return phi, z, words(rng, phi, z)


def words(rng, phi, z):
    """x ~ phi of the token's topic."""
    cumulative = np.cumsum(phi, axis=2)[np.arange(len(z))[:, None], z]
    return (rng.random(z.shape)[:, :, None] > cumulative[:, :, :-1]).sum(axis=2)


def functions(phi, z, x):
    """Label-free functions, (n,) each; log phi sees the sparse end."""
    return {
        "sum phi_k0^2": (phi[:, :, 0] ** 2).sum(axis=1),
        "sum log phi_k1": np.log(phi[:, :, 1]).sum(axis=1),
        "z1 = z2": z[:, 0] == z[:, 1],
        "z1 = z5": z[:, 0] == z[:, 4],
        "x1 = x2": x[:, 0] == x[:, 1],
        "x1 = x5": x[:, 0] == x[:, 4],
        "x1 = 0": x[:, 0] == 0,
    }


def successive(form, kind, h, refresh):
    """Means over each of 500 chains that start in the prior, so that nothing must be burnt in."""
    rng = np.random.default_rng(11)
    phi, z, x = forward(rng, COPIES)
    corpora = Corpora(x, LENGTHS, V, ALPHA)
    corpora.z[:] = z.ravel()
    state = state_of(form, kind, Key(1, 0, 0), corpora.block(ETA))
    g = phi * rng.gamma(V * ETA + 6, size=(COPIES, 2, 1))
    g = np.ascontiguousarray(g.transpose(2, 0, 1).reshape(V, 2 * COPIES))
    if form == "rows":
        state.g[:, : 2 * COPIES] = g
        state.sums[:] = state.g.sum(axis=0, dtype=np.float64)
    else:
        state.log_g[:] = np.log(g)
    total: dict[str, np.ndarray] = {}
    for t in range(ITERATIONS):
        full_batch(corpora, state, h, Key(1, 0, t), refresh=refresh)
        phi = corpora.per_copy(state.rows())
        corpora.words = words(rng, phi, corpora.topics())
        for name, f in functions(phi, corpora.topics(), corpora.words).items():
            total[name] = total.get(name, 0) + f
    return {name: value / ITERATIONS for name, value in total.items()}


def judge(found):
    prior = functions(*forward(np.random.default_rng(12), 100_000))
    worst = {name: z_two(found[name], prior[name]) for name in prior}
    assert max(map(abs, worst.values())) < Z, worst


@pytest.mark.parametrize(
    # logarithms by day: tests/statistical/test_tiny_lda.py
    "form",
    ["rows", pytest.param("log", marks=pytest.mark.nightly)],
)
def test_blocked_gibbs_keeps_the_joint_distribution(form):
    """Red with: alpha doubled; eta 0.6 for 0.7; topics of tokens not kept; theta from the prior
    2 alpha.
    """
    judge(successive(form, Conjugate, 1.0, False))


@pytest.mark.parametrize("h", [pytest.param(0.1, marks=pytest.mark.nightly), 0.5])
def test_scir_with_refreshed_scale_keeps_the_joint_distribution(h):
    """Red with: alpha doubled; eta 0.6 for 0.7; topics of tokens not kept; theta from the prior
    2 alpha.
    """
    judge(successive("log", Cir, h, True))
