"""The joint law of deep LDA under full-batch Gibbs: topics, shapes and documents.

docs/internals/mathematics.md, "Joint laws", through the model's own steps.

A visit of the kernel begins with theta of the last one's counts and ends with counts and rates. Theta
is seen, to draw data from it, by a rehearsal of the visit on a copy of the state: the draws of theta
come before those that data enter, so that the visit itself draws the same again.
"""

import numpy as np
import pytest
from oracles import deep
from oracles.judge import Z, z_two
from statistical.deep_chains import compressed, packed, unpacked
from statistical.test_deep_geweke import V, functions, topics
from trial_counts import counts

from pysgrld.core import core, padded_width
from pysgrld.models.dlda import documents as dlda
from pysgrld.samplers.gibbs import Conjugate
from pysgrld.samplers.shapes import ConjugateShapes, ShapesSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Documents, Key, Minibatch

pytestmark = pytest.mark.statistical

PRIOR = deep.Prior(e0=1.5, f0=1.5)
E1, F1, E2, F2 = 4.0, 4.0, 5.0, 5.0


def everything(rng, layers, copies, documents):
    """phi, gamma0 (R,), c0 (R,), r (R, K_L) and documents' variables from the model."""
    phi = topics(rng, layers, copies)
    gamma0, c0 = rng.gamma(E1, 1 / F1, copies), rng.gamma(E2, 1 / F2, copies)
    shape = np.repeat(gamma0[:, None] / layers[-1], layers[-1], axis=1)
    r = deep.gammas(rng, shape, c0[:, None])
    return phi, gamma0, c0, r, deep.forward(rng, phi, r, documents, PRIOR)


def of_copies(phi, gamma0, c0, r, theta, c, x):
    """Statistics of a copy, (R,) each."""
    tokens = np.log1p(x.sum(axis=(1, 2)))
    found = {name: f.mean(axis=1) for name, f in functions(x, theta, c, r).items()}
    found |= {f"phi{j} squared": (p**2).sum(axis=(1, 2)) for j, p in enumerate(phi, 1)}
    found |= {"gamma0": gamma0, "gamma0^2": gamma0**2, "c0": c0, "c0^2": c0**2}
    for name, f in (("r", r.sum(axis=1)), ("ln r", np.log(r + 0.01).sum(axis=1))):
        found |= {name: f, f"{name} ln x": f * tokens, f"{name} gamma0": f * gamma0}
        found |= {f"{name} c{j + 2}": f * c[..., j].mean(axis=1) for j in range(1, c.shape[-1])}
        found |= {f"{name} p2": f * (1 / (1 + c[..., 0])).mean(axis=1)}
    found["r^2"] = np.minimum(r.sum(axis=1), 5) ** 2
    return found


class Copies:
    """Small corpora, each with topics and shapes of its own; topics of all move in one call."""

    def __init__(self, layers, phi, gamma0, c0, r, local, totals):
        self.layers, self.number = layers, len(r)
        self.blocks = [
            Block("phi", "simplex", (v, self.number * k), 0.7 if j == 0 else 0.9, 4 * j, 0.0)
            for j, (v, k) in enumerate(zip((V, *layers), layers, strict=False))
        ]
        self.phi = phi
        self.states = [Conjugate.start(Key(1, 0, 0), b, 1).end_warm_up() for b in self.blocks]
        shapes = Block(
            "r", "positive", (1, layers[-1]), 1.0, 40, 0.0, hyper=(1.0, E1, F1, E2, F2)
        )._replace(settings=ShapesSettings())
        self.r, self.documents = [], []
        for i in range(self.number):
            own = ConjugateShapes.start(Key(1, i, 0), shapes, 1).end_warm_up()
            own.r[: layers[-1]] = r[i]
            own.gamma0[:], own.c0[:] = gamma0[i], c0[i]
            self.r.append(own)
            self.documents.append(
                self.sampler(
                    {
                        "theta": packed([t[i] for t in local.theta]),
                        "rates": np.concatenate(
                            (local.c[i], np.ones((len(local.c[i]), 1))), axis=1
                        ),
                        "totals": packed([n[i] for n in totals]),
                        "visited": np.ones(1, np.int64),
                    }
                )
            )

    def sampler(self, arrays):
        """Documents of a copy, whose local variables are these."""
        documents = dlda.DeepDocuments(
            layers=self.layers,
            hyper=dlda.Hyper(*PRIOR, "counts"),
            sweeps=1,
            kept=1,
            held=0,
            flat=False,
            rao_blackwell=False,
            threads=1,
        )
        n = len(arrays["theta"])
        documents.keep(
            Documents(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
        )
        documents.restore(arrays)
        return documents

    def visit(self, i, t, x, documents):
        """Counts of copy i, its documents (D, V)."""
        parts = {dlda.topics_name(j): self.rows[j][i] for j in range(len(self.layers))}
        parts["r"] = self.r[i].rows()
        batch = Minibatch(
            **compressed(x),
            words=np.arange(V, dtype=np.int32),
            doc_ids=np.arange(len(x)),
            scale=1.0,
        )
        return documents.visit(Key(1, i, t), parts, batch)

    def prepare(self):
        """Topics of every copy and layer as the kernel reads them, (R, K_{j-1}, 16)."""
        self.rows = []
        for own in self.phi:
            wide = core.zeros(own.shape[0] * own.shape[1], 16, "float32")
            wide[:, : own.shape[2]] = own.reshape(-1, own.shape[2])
            self.rows.append(wide.reshape(*own.shape[:2], 16))

    def theta(self, i, t, x):
        """Theta with which the visit will begin."""
        rehearsal = self.sampler(self.documents[i].arrays())
        self.visit(i, t, x, rehearsal)
        return unpacked(rehearsal.arrays()["theta"], self.layers)

    def move(self, i, t, x):
        """The visit: counts of every layer and r's statistics; draws gamma0, c0 and r."""
        found = self.visit(i, t, x, self.documents[i])
        counts = [
            found[dlda.topics_name(j)].counts[:, :k].copy() for j, k in enumerate(self.layers)
        ]  # the first is overwritten by the next visit
        self.r[i].step(Key(1, i, t), found["r"], 1.0)
        return counts

    def draw_topics(self, t, counts):
        """Topics of all copies, given their counts, [layer][copy]."""
        for j, (block, own) in enumerate(zip(self.blocks, counts, strict=True)):
            v, columns = block.shape
            wide = np.zeros((v, padded_width(columns)), np.int64)
            wide[:, :columns] = np.concatenate(own, axis=1)
            found = Counts(np.arange(v, dtype=np.int32), wide, 1.0)
            self.states[j].step(Key(1, 0, t), found, 1.0)
            drawn = self.states[j].rows()[:, :columns].astype(float)
            self.phi[j] = drawn.reshape(v, self.number, -1).transpose(1, 0, 2)


def successive(layers, documents, copies, rounds):
    """Averages over rounds, (R,) each."""
    rng = np.random.default_rng(7)
    phi, gamma0, c0, r, start = everything(rng, layers, copies, documents)
    counts, _ = deep.upward(rng, start.x, phi, start.theta, r)
    chains = Copies(layers, phi, gamma0, c0, r, start, [n for _, n in counts])
    x, total = start.x, {}
    for t in range(rounds):
        chains.prepare()
        theta = [chains.theta(i, t, x[i]) for i in range(copies)]
        theta = [np.stack(own) for own in zip(*theta, strict=True)]
        x = rng.poisson(deep.mixed(chains.phi[0], theta[0]))
        found = of_copies(
            chains.phi,
            *(
                np.concatenate([getattr(own, name) for own in chains.r])
                for name in ("gamma0", "c0")
            ),
            np.stack([own.r[: layers[-1]] for own in chains.r]),
            theta,
            np.stack([own.arrays()["rates"][:, :-1] for own in chains.documents]),
            x,
        )
        for name, value in found.items():
            total[name] = total.get(name, 0) + value / rounds
        moved = [chains.move(i, t, x[i]) for i in range(copies)]
        chains.draw_topics(t, list(zip(*moved, strict=True)))
    return total


@pytest.mark.parametrize(
    ("layers", "documents"),
    [
        pytest.param((3,), 3, marks=pytest.mark.nightly),
        ((3, 2), 1),
        # layers above the second are all alike; test_deep_geweke has three with topics fixed
        pytest.param((3, 2, 2), 2, marks=pytest.mark.nightly),
    ],
    ids=str,
)
@counts(400, 2500)
def test_full_batch_sweeps_keep_the_joint_law_of_everything(layers, documents, n):
    """With a single document r and its c^(L+1) depend on each other most: an order that breaks
    that is seen. Red with: r drawn where theta of the old r is kept; r by q from before the visit;
    nine tenths of q; customers for tables in gamma0.
    """
    found = successive(layers, documents, n, 10)
    phi, gamma0, c0, r, local = everything(np.random.default_rng(8), layers, 100_000, documents)
    expected = of_copies(phi, gamma0, c0, r, local.theta, local.c, local.x)
    scores = {name: z_two(found[name], expected[name]) for name in found}
    assert max(map(abs, scores.values())) < Z, scores
