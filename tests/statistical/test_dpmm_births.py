"""Births and deaths of components: what they keep, and what they find.

docs/internals/mathematics.md, "Births and deaths".
"""

import numpy as np
import pytest
from oracles import tiny_dp
from scipy.special import gammaln
from trial_counts import counts

from pysgrld.models.dpmm import births
from pysgrld.models.dpmm.births import Births
from pysgrld.models.dpmm.slice_sampling import Mixture, Settings
from pysgrld.types import Documents

pytestmark = pytest.mark.statistical


def documents(x):
    at, words = np.nonzero(x)
    indptr = np.searchsorted(at, np.arange(len(x) + 1))
    return Documents(indptr, words.astype(np.int32), x[at, words].astype(np.int32))


@counts(3_000, 9_000)
def test_births_and_deaths_lead_to_and_fro_alike(n, monkeypatch):
    """Four documents, all 15 partitions: one is left for another as often as the other way.

    What a birth gathers does not matter, so nothing is fitted. A proposal is always made, and
    a partition of J components is 1/J times as frequent for it.

    Red with: the chosen document's odds counted, as if it might stay behind; the documents' way back,
    the concentration, or 1/J and 1/(J + 1), left out; Γ(m + 1) for Γ(m); components left empty.
    """
    monkeypatch.setattr(births, "STEPS", 0)
    monkeypatch.setattr(births, "SHARE", 1.0)
    rng, c = np.random.default_rng(1), 3.0
    partitions = [np.array(z, np.int32) for z in tiny_dp.partitions(4)]
    components = np.array([z.max() + 1 for z in partitions])
    log_p = components * np.log(c) - np.log(components)
    for i, z in enumerate(partitions):
        parts = [tiny_dp.X[z == j] for j in range(components[i])]
        log_p[i] += sum(tiny_dp.marginal(x) + gammaln(len(x)) for x in parts)
    p = np.exp(log_p) / np.exp(log_p).sum()
    number = {(z[:, None] == z).tobytes(): i for i, z in enumerate(partitions)}
    chain = Births(documents(tiny_dp.X), 3, tiny_dp.BASE, c)
    moved = np.zeros((15, 15))
    for i in rng.choice(15, n, p=p):
        choices = rng.random(3) / [1, components[i], 1]
        z = chain.step(partitions[i], choices, rng.random(4))
        moved[i, number[(z[:, None] == z).tobytes()]] += 1
    both = moved + moved.T
    often = np.triu(both >= 10, 1)
    score = (moved - moved.T)[often] / np.sqrt(both[often])
    assert len(score) > 20
    assert (score**2).mean() < 1.8


def test_a_death_is_weighed_by_what_its_birth_would_gather(monkeypatch):
    """From all documents in the components that are left. Red with: its own component among them."""
    seen, gathered = [], Births._join_log_odds
    monkeypatch.setattr(
        Births,
        "_join_log_odds",
        lambda self, there, d: (seen.append(there), gathered(self, there, d))[1],
    )
    z = np.array([0, 1, 2, 1], np.int32)
    Births(documents(tiny_dp.X), 3, tiny_dp.BASE, 1.0).step(
        z, np.array([0.5, 0.3, 0.5]), np.full(4, 0.5)
    )
    (there,) = seen
    assert there[-1].shape == (2,)
    assert there[-1].sum() == 4
    np.testing.assert_array_equal(there[:-1].sum(axis=1), tiny_dp.X.sum(axis=0))


def test_one_component_becomes_those_that_were_planted():
    """Red with: no births, as the component stays alone then."""
    rng = np.random.default_rng(3)
    which = rng.integers(3, size=200)
    p = np.array([np.repeat(np.eye(3)[j], 4) * 0.24 + 0.04 / 12 for j in range(3)])
    x = documents(np.array([rng.multinomial(12, p[j]) for j in which]))
    ids = np.arange(200)
    chain = Mixture(ids, 12, Settings(start=1, concentration="escobar-west"), 1)
    for _ in range(30):
        chain.iterate(x, ids)
    together = (chain.z[:, None] == chain.z) == (which[:, None] == which)
    assert together.mean() > 0.95
