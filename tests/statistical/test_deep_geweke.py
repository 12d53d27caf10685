"""Variables given data alternating with data given variables keep the joint law of the model.

docs/internals/mathematics.md, "Joint laws".

Every copy starts in the joint law, so nothing must be burnt in and copies are independent. Statistics
are averages over rounds; vague priors have no moments, so those here are not.
"""

import numpy as np
import pytest
from oracles import deep
from oracles.judge import Z, z_two
from statistical.deep_chains import fixed, packed, unpacked, visit

pytestmark = pytest.mark.statistical

V, PRIOR = 4, deep.Prior()


def topics(rng, layers, copies=1):
    """Phi of every layer, (R, K_{j-1}, K_l); eta is .7, then .9."""
    below = (V, *layers)
    return [
        rng.dirichlet(np.full(v, 0.7 if v is below[0] else 0.9), (copies, k)).transpose(0, 2, 1)
        for v, k in zip(below, layers, strict=False)
    ]


def functions(x, theta, c, r):
    """Statistics of documents' variables, (n,) each: none of them dominated by its tail."""
    p = 1 / (1 + c[..., 0])
    found = {
        "p2": p,
        "p2^2": p**2,
        "no tokens": x.sum(axis=-1) == 0,
        "min(x, 50)": np.minimum(x.sum(axis=-1), 50),
        "share of zeros": (x == 0).mean(axis=-1),
        "ln(1 + x1)": np.log1p(x[..., 0]),
    }
    for j, own in enumerate(theta, 1):
        found[f"min(th{j}, 20)"] = np.minimum(own.sum(axis=-1), 20)
        found[f"ln(th{j} + .01)"] = np.log(own[..., 0] + 0.01)
        found[f"ln(sum th{j} + .01)"] = np.log(own.sum(axis=-1) + 0.01)
    for j in range(1, c.shape[-1]):
        found |= {f"c{j + 2}": c[..., j], f"c{j + 2}^2": c[..., j] ** 2}
        found[f"c{j + 2} ln x"] = c[..., j] * np.log1p(x.sum(axis=-1))
    found["p2 ln x"] = p * np.log1p(x.sum(axis=-1))
    return found


@pytest.mark.parametrize(
    "layers",
    [*(pytest.param(layers, marks=pytest.mark.nightly) for layers in ((3,), (3, 2))), (3, 2, 2)],
    ids=len,
)
def test_sweeps_with_topics_fixed_keep_the_joint_law_of_documents(layers):
    """Red with: theta of layer 1 in p's law; theta of the layer above in c's rate, of that below in
    its shape; p / (1 - p) for q; q of the layer above, or none, in theta's rate; tables by the sum
    of shapes; split by phi alone; rates before the counts; theta before the rates; one table
    whatever the customers; small gammas kept without being accepted.
    """
    n, rounds = 40_000, 8
    rng = np.random.default_rng(len(layers))
    phi, r = topics(rng, layers), rng.gamma(3.0, 0.4, (1, layers[-1]))
    start = deep.forward(rng, phi, r, n, PRIOR)
    theta = packed([own[0] for own in start.theta])
    rates = np.ascontiguousarray(np.concatenate((start.c[0], np.ones((n, 1))), axis=1))
    arguments = fixed([p[0] for p in phi], r[0], PRIOR, want_words=False)
    x, total = start.x[0], {}
    for t in range(rounds):
        visit(arguments, x, t, theta=theta, rates=rates)
        now = unpacked(theta, layers)
        x = rng.poisson(now[0] @ phi[0][0].T)
        for name, value in functions(x, now, rates[:, :-1], r).items():
            total[name] = total.get(name, 0) + value / rounds
    fresh = deep.forward(rng, phi, r, 10 * n, PRIOR)
    expected = functions(fresh.x[0], [own[0] for own in fresh.theta], fresh.c[0], r)
    scores = {name: z_two(total[name], expected[name]) for name in total}
    assert max(map(abs, scores.values())) < Z, scores
