"""Exact draws after training: the truth is one of them, and topics vary as given the tokens' topics.

docs/calibration.md has the coverage of whole runs, by benchmarks/calibration.py.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from oracles.judge import P, Z, uniform_p, z_mean
from trial_counts import counts

from pysgrld import LDA
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Block, Key

pytestmark = pytest.mark.statistical

K, V, ALPHA, ETA = 2, 6, 0.5, 0.5


def made(rng):
    """Topics, 12 documents of 6 tokens drawn from them, and the tokens of each topic in them."""
    phi, theta = rng.dirichlet(np.full(V, ETA), K), rng.dirichlet(np.full(K, ALPHA), 12)
    tokens = np.array([rng.multinomial(6, row) for row in theta])
    counts = sum(np.array([rng.multinomial(n, phi[k]) for n in tokens[:, k]]) for k in range(K))
    return phi, counts, tokens


def unevenness(shares, axes):
    """How uneven topics are, whatever their names: the sum of squares."""
    return np.square(shares, dtype=np.float64).sum(axis=axes)


@counts(24, 120)
def test_the_truth_is_one_of_the_draws(n):
    """Red with: alpha fourfold, or eta a quarter, in the stage; chains that do not move."""
    rng, of_words, of_tokens = np.random.default_rng(11), [], []
    for seed in range(n):
        phi, found, tokens = made(rng)
        lda = LDA(
            K, alpha=ALPHA, eta=ETA, max_iter=30, burn_in=0, warm_up=5, sweeps=2, minibatch=3,
            holdout=0, exact_sweeps=160, keep_samples=80, n_jobs=1, random_state=seed,
        ).fit(found)  # fmt: skip
        draws = unevenness(lda.samples(), (-1, -2))[::4]  # of one chain
        of_words.append((draws < unevenness(phi, (-1, -2))).sum() // 4)
        last = [lda._stage.arrays()[f"exact.{chain}.z"].reshape(12, 6) for chain in range(4)]
        drawn = np.array([unevenness(np.sum(z == 1, axis=1) - 3, 0) for z in last])
        truth = unevenness(tokens[:, 1] - 3, 0)  # the same whichever topic is counted
        of_tokens.append((drawn + 0.01 * rng.random(4) < truth + 0.01 * rng.random()).sum())
    for ranks in (np.minimum(of_words, 4), of_tokens):
        assert uniform_p(np.array(ranks), 5) > P


def test_kept_topics_are_drawn_given_the_counts():
    """Dirichlet(eta + n). Red with: their mean; a Gamma of half the shape."""
    block, n, times = (
        Block("phi", "simplex", (3, 2), 0.5, 0, 0.0),
        np.array([[4.0, 0], [1, 9], [0, 2]]),
        4000,
    )
    state = SAMPLERS["cgs"].start(Key(1, 0, 0), block, 1).end_warm_up()
    state.g[:, :2] = n + 0.5
    state.sums[:2] = state.g[:, :2].sum(axis=0)
    draws = np.array([state.draw_rows(Key(1, 0, t))[:, :2] for t in range(times)], float)
    a = n + 0.5
    s = a.sum(axis=0)
    for w in range(3):
        for k in range(2):
            mean, variance = a[w, k] / s[k], a[w, k] * (s[k] - a[w, k]) / s[k] ** 2 / (s[k] + 1)
            assert abs(z_mean(draws[:, w, k], mean)) < Z
            assert abs(z_mean((draws[:, w, k] - mean) ** 2, variance)) < Z


@pytest.mark.nightly
def test_intervals_of_whole_runs_hold_the_truth():
    """Twelve corpora drawn from the model, each trained on without any option but -k and priors.

    Red with: draws of training (words .93, shares .82, new documents .81); bounds of 80 %; new documents
    given draws of the topics (.77).
    """
    place = Path(__file__).parents[2] / "benchmarks" / "calibration.py"
    spec = importlib.util.spec_from_file_location("calibration", place)
    calibration = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(calibration)
    found = [calibration.covered(seed, [])["0.9"] for seed in range(100, 112)]
    for name, slack in (("words", 0.03), ("shares", 0.07), ("documents", 0.03), ("new", 0.05)):
        held, of = np.array([record[name] for record in found]).sum(axis=0)
        assert abs(held / of - 0.9) < slack, (name, held, of)
