"""How many Gibbs sweeps follow training, whose draws are whose, and how far apart bounds are moved."""

import time
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld import LDA
from pysgrld.chain.exact import (
    CHAINS,
    FEWEST,
    ExactPlan,
    ExactStage,
    follows,
    read_refinement_plan,
    refinement_sweeps,
    split_by_chain,
)
from pysgrld.chain.population import REPLICATES
from pysgrld.errors import CheckpointError, UsageError
from pysgrld.models import exact_tokens
from pysgrld.models.exact_sweeps import exact_bytes
from pysgrld.models.protocol import RunOn
from pysgrld.reading.intervals import bounds, interval
from pysgrld.train.begin import begin_refinement
from pysgrld.train.short_chains import Stopped

COUNTS = np.random.default_rng(0).poisson(1.0, (40, 9)) + 1


def trained(tokens, epochs, *, draws=True):
    """A chain after so many epochs."""
    stream = SimpleNamespace(per_epoch=10)
    return SimpleNamespace(draws=draws, step=10 * epochs, stream=stream, tokens=tokens)


@pytest.mark.parametrize(
    ("tokens", "epochs", "open_ended", "asked", "sweeps"),
    [
        (200_000, 20, True, "auto", 400),  # where nobody gave a budget
        (1_990_000, 20, True, "auto", 400),  # just affordable
        (2_100_000, 20, True, "auto", 0),  # too few
        (2_100_000, 500, True, "auto", 500),  # as long as training took
        (200_000, 20, False, "auto", 0),
        (200_000, 600, False, "auto", 600),
        (9_000_000, 1, False, 7, 7),
        (200_000, 20, True, 0, 0),
        (200_000, 20, True, None, 0),
    ],
)
def test_sweeps_are_as_many_as_are_affordable(tokens, epochs, open_ended, asked, sweeps):
    """Red with: sweeps of all chains for those of each; a budget that was given, overstepped."""
    options = SimpleNamespace(exact_sweeps=asked, sweeps=10)
    assert refinement_sweeps(trained(tokens, epochs), options, open_ended=open_ended) == sweeps
    none = trained(tokens, epochs, draws=False)
    assert refinement_sweeps(none, options, open_ended=open_ended) == 0


def test_training_settles_sooner_where_draws_follow_whatever_it_takes():
    assert follows(trained(2_000_000, 0), "auto")
    assert not follows(trained(2_000_001, 0), "auto")
    assert not follows(trained(10, 0), 0)
    assert follows(trained(9_000_000, 0), 600)


def test_draws_take_turns():
    plan = ExactPlan(begun=100, sweep=31, sweeps=31, burn_in=15, every=2)
    assert [plan.chain_number(100 + 15 + 2 * n) for n in range(1, 9)] == [0, 1, 2, 3, 0, 1, 2, 3]
    found = split_by_chain(np.arange(10.0))
    assert found.tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_kept_draws_are_as_many_of_each_chain():
    """Red with: every second draw, which is of two chains alone."""
    lda = LDA(2, max_iter=30, holdout=0, exact_sweeps=80, keep_samples=20, n_jobs=1).fit(COUNTS)
    plan = lda._stage
    assert plan.draws == 40
    which = [(step - plan.begun - plan.burn_in) // plan.every - 1 for step in lda._samples]
    assert len(which) == 20
    assert np.bincount(np.array(which) % CHAINS).tolist() == [5, 5, 5, 5]
    assert lda.n_samples_ == 40


def test_draws_are_those_of_their_sweep_although_chains_go_on_meanwhile(monkeypatch):
    """Red with: a draw that is looked at in the chain itself, which has gone on."""
    alone = LDA(2, max_iter=30, holdout=5, exact_sweeps=80, keep_samples=20, n_jobs=1).fit(COUNTS)
    take = ExactStage._take

    def late(stage):
        time.sleep(0.01)  # the sweeps to the next draw are over
        take(stage)

    monkeypatch.setattr(ExactStage, "_take", late)
    both = LDA(2, max_iter=30, holdout=5, exact_sweeps=80, keep_samples=20, n_jobs=2).fit(COUNTS)
    own, other = alone._stage.arrays(), both._stage.arrays()
    assert own.keys() == other.keys()
    assert all((own[name] == other[name]).all() for name in own)
    assert alone._samples.keys() == both._samples.keys()
    assert all(
        (one["phi"] == both._samples[step]["phi"]).all() for step, one in alone._samples.items()
    )


def test_the_spread_is_of_the_top_words_of_training():
    """Red if they are those of the random topics that a chain of the refinement is made with."""
    lda = LDA(2, max_iter=30, holdout=10, exact_sweeps=FEWEST, n_jobs=1).fit(COUNTS)
    words = lda._stage.arrays()["exact.spread.words"]
    phi = lda._posterior.chain.draw()["phi"][:, :2].T
    assert (np.diff(np.take_along_axis(phi, words, axis=1), axis=1) <= 0).all()


def test_the_variance_between_short_chains_is_kept_with_chain_and_refinement():
    """Red if a resumed training, or a refinement with more sweeps, forgets how it began."""
    lda = LDA(2, max_iter=30, holdout=10, exact_sweeps=FEWEST, starts=4, n_jobs=1).fit(COUNTS)
    chain, variance = lda._posterior.chain, lda._posterior.chain.start_variance
    assert variance.shape == (2,)
    assert (lda._stage.arrays()["exact.spread.start_variance"] == variance).all()
    arrays, stage = chain.arrays(), lda._stage.arrays()
    chain.start_variance = None
    chain.restore(chain.step, arrays)
    assert (chain.start_variance == variance).all()
    again = begin_refinement(
        lda._posterior, lda._options, 9, RunOn(1), None, sweeps=FEWEST, start=False
    )
    again.restore(stage, 2 * FEWEST)
    assert (again.arrays()["exact.spread.start_variance"] == variance).all()


def test_replicates_follow_where_bounds_are_intervals():
    """Red if replicates are left out of a run, or made after sweeps that give no intervals."""
    few = LDA(2, max_iter=30, holdout=10, exact_sweeps=40, n_jobs=1).fit(COUNTS)
    assert (few._stage.complete, few._stage.replicates) == (True, 0)
    enough = LDA(2, max_iter=30, holdout=10, exact_sweeps=FEWEST, n_jobs=1).fit(COUNTS)
    assert (enough._stage.complete, enough._stage.replicates) == (True, REPLICATES)
    nothing_kept = LDA(2, max_iter=30, exact_sweeps=FEWEST, keep_samples=0, n_jobs=1).fit(COUNTS)
    assert (nothing_kept._stage.complete, nothing_kept._stage.replicates) == (True, 0)


@pytest.mark.parametrize("done", [pytest.param(0, marks=pytest.mark.nightly), 3, REPLICATES])
def test_replicates_resume_with_the_same_bits(done):
    """Red if a replicate depends on the ones before it, or on the process that began the stage."""
    lda = LDA(2, max_iter=30, holdout=10, exact_sweeps=FEWEST, n_jobs=1)
    lda.fit(COUNTS)
    whole = lda._stage.arrays()
    part = {**whole, "exact.spread.replicates": whole["exact.spread.replicates"][:done]}
    stage = begin_refinement(
        lda._posterior, lda._options, 9, RunOn(2), None, sweeps=FEWEST, start=False
    )
    stage.restore(part)
    assert stage.replicates == done
    while not stage.complete:
        stage.replicate(lambda: None)
    resumed = stage.arrays()
    assert (resumed["exact.spread.replicates"] == whole["exact.spread.replicates"]).all()
    assert (resumed["exact.last.phi"] == whole["exact.last.phi"]).all()


def test_a_replicate_stops_between_sweeps():
    lda = LDA(2, max_iter=30, holdout=10, exact_sweeps=FEWEST, n_jobs=1).fit(COUNTS)
    lda._stage._spread.replicates.pop()
    with pytest.raises(Stopped):
        lda._stage.replicate(lambda: (_ for _ in ()).throw(Stopped()))
    assert lda._stage.replicates == REPLICATES - 1


def test_the_plan_of_memory_counts_the_tokens_of_a_replicate():
    """Red with: 12 bytes a token, without the weight and the cells of each token."""
    counts = np.random.default_rng(2).poisson(1.0, (1000, 200))
    tokens = int(counts.sum())
    stage = LDA(2, max_iter=2, starts=1, holdout=0, exact_sweeps=4, n_jobs=1).fit(counts)._stage
    sweeps = iter([None, None])

    def waiting():
        if next(sweeps, Stopped) is Stopped:
            raise Stopped

    tracemalloc.start()
    try:
        with pytest.raises(Stopped):
            stage.chains[0].replicate(0, 1, waiting)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    chains = (8 + 4 * CHAINS) * tokens
    assert 20 * tokens < peak < exact_bytes(SimpleNamespace(tokens=tokens), 0) - chains


def test_watched_words_are_read_a_few_rows_at_a_time(monkeypatch):
    """Red with: rows of all of them, which are K² values for each; a row of another word."""
    counts = np.random.default_rng(2).poisson(1.0, (60, 40))
    stage = LDA(3, max_iter=2, starts=1, holdout=0, exact_sweeps=4, n_jobs=1).fit(counts)._stage
    whole = stage.chains[0].monitored_values()["words"]
    topics, sizes = stage.chains[0].states["phi"], []
    rows = topics.rows
    monkeypatch.setattr(topics, "rows", lambda words: sizes.append(len(words)) or rows(words))
    monkeypatch.setattr(exact_tokens, "_CELLS", 3 * 4)
    assert np.array_equal(stage.chains[0].monitored_values()["words"], whole)
    assert set(sizes) == {4, 2}


def test_sweeps_compute_no_probabilities_of_words(monkeypatch):
    """Topics are integrated out. Red with: rows of all words for each sweep."""
    stage = LDA(2, max_iter=2, starts=1, holdout=0, exact_sweeps=4, n_jobs=1).fit(COUNTS)._stage
    first, other = stage.chains[:2]
    for chain in (first, other):
        monkeypatch.setattr(chain.states["phi"], "rows", None)
    first.sweep(1, [other])
    assert first.step == other.step == 6


def test_bounds_allow_for_few_independent_draws():
    """Red with: bounds that do not know it; a factor of the variance for one of the width."""
    draws = np.random.default_rng(1).normal(5.0, 0.1, (400, 2))
    low, high = bounds(draws)
    wide = bounds(draws, np.array([4.0, 400.0]))
    mean = draws.mean(axis=0)
    factor = np.sqrt((1 + 1 / np.array([4, 400])) / (1 - 1 / np.array([4, 400])))
    np.testing.assert_allclose(wide[0], mean + (low - mean) * factor)
    np.testing.assert_allclose(wide[1], mean + (high - mean) * factor)
    assert bounds(draws - 5.0, np.array([4.0, 4.0]))[0].min() == 0.0  # no probability is below 0


def test_chains_that_disagree_widen_an_interval():
    """Red with: draws in turn taken for one chain, whose neighbours seem independent."""
    rng, known = np.random.default_rng(2), np.zeros(1, bool)
    places = np.array([0.4, 0.5, 0.6, 0.7])[np.arange(80) % 4]
    draws = [(np.array([p]), known) for p in places + rng.normal(0, 0.01, 80)]
    one, four = interval([draws], exact=False), interval([draws], exact=True)
    assert (four.high - four.low) > 1.1 * (one.high - one.low)


def test_a_plan_that_cannot_be_is_refused():
    assert read_refinement_plan({}) is None
    with pytest.raises(CheckpointError, match="not a valid plan of sweeps"):
        read_refinement_plan({"exact.plan": np.array([3, 9, 8, 4, 1])})


@pytest.mark.parametrize("wrong", [-1, 2.5, "many", True])
def test_exact_sweeps_that_are_no_number_are_refused(wrong):
    with pytest.raises(UsageError, match="exact_sweeps"):
        LDA(2, max_iter=3, holdout=0, exact_sweeps=wrong).fit(COUNTS)


def test_partial_fit_has_no_exact_draws():
    lda = LDA(2, max_iter=30, holdout=0, exact_sweeps=20, n_jobs=1).fit(COUNTS)
    before = lda.components_.copy()
    lda.partial_fit(COUNTS)
    assert lda._stage is None
    assert (lda.components_ != before).any()


def test_the_current_topics_are_the_last_exact_draw():
    """Red with: the last draw of training, with the noise of its minibatches."""
    lda = LDA(2, max_iter=30, holdout=8, exact_sweeps=20, keep_samples=100, n_jobs=1).fit(COUNTS)
    last = list(lda._samples.values())[-1]["phi"]
    np.testing.assert_array_equal(lda._fitted().current["phi"][:, :2].T, last)
