"""Intervals for other texts like these: bursty documents, and documents that the model made."""

from functools import cache

import numpy as np
import pytest
from trial_counts import counts as seeds

from pysgrld import LDA
from pysgrld.reading.intervals import bounds
from pysgrld.types import Array

V, DOCUMENTS, TOKENS = 24, 400, 12


def counts(repeats: int, seed: int) -> tuple[Array, Array]:
    """Documents of two topics without common words, in which each word comes ``repeats`` times."""
    rng = np.random.default_rng(seed)
    phi = np.zeros((2, V))
    phi[0, : V // 2], phi[1, V // 2 :] = np.full(V // 2, 2.0 / V), np.full(V // 2, 2.0 / V)
    topic = rng.integers(0, 2, DOCUMENTS)
    return phi, np.stack([rng.multinomial(TOKENS // repeats, phi[t]) * repeats for t in topic])


@cache
def trained(repeats: int, seed: int) -> tuple[Array, LDA]:
    """True topics, and a model of documents that have them."""
    phi, x = counts(repeats, seed)
    lda = LDA(
        2, alpha=0.1, eta=0.1, exact_sweeps=500, keep_samples=100, holdout=0, max_iter=60,
        random_state=seed, n_jobs=1, starts=2,
    ).fit(x)  # fmt: skip
    return phi, lda


def covered(repeats: int, seed: int, *, widened: bool) -> float:
    """Share of the words whose 90 % interval holds their true probability."""
    phi, lda = trained(repeats, seed)
    fitted = lda._fitted()
    draws = np.stack(
        [
            (fitted.widen_sample(step, sample) if widened else sample)["phi"]
            for step, sample in lda._samples.items()
        ]
    )
    mean = draws.mean(axis=0)
    order = [0, 1] if mean[0, : V // 2].sum() > mean[1, : V // 2].sum() else [1, 0]
    low, high = bounds(draws[:, order])
    here = phi > 0
    return float(((low <= phi) & (phi <= high))[here].mean())


@pytest.mark.statistical
@seeds(2, 8)
# intervals of documents that are not bursty fail as well if they are too wide
@pytest.mark.parametrize("repeats", [pytest.param(1, marks=pytest.mark.nightly), 4])
def test_intervals_hold_the_truth_in_bursty_documents_too(repeats, n):
    """Red with the posterior draws alone, which hold .64 in bursty documents (24 seeds: .88, .87)."""
    shares = [covered(repeats, seed, widened=True) for seed in range(n)]
    assert 0.81 <= np.mean(shares) <= 0.985


@pytest.mark.statistical
def test_posterior_intervals_are_too_narrow_for_bursty_documents():
    """What replicates are for: four equal tokens are one piece of evidence, not four."""
    assert np.mean([covered(4, seed, widened=False) for seed in range(1)]) < 0.75
