"""What intervals are of, and what is said of them.

docs/choosing-a-sampler.md, "What the draws are of".
"""

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from faults_runs import train_here, write_corpus

from pysgrld import LDA
from pysgrld.cli import main
from pysgrld.errors import CheckpointError
from pysgrld.reading import results
from pysgrld.reading.intervals import Spread, bounds, interval
from pysgrld.reading.results import Results

COUNTS = np.random.default_rng(0).poisson(1.0, (80, 9)) + 1
#: The default on a corpus of this size: a quarter of it in a minibatch.
DEFAULT = {"minibatch": 20, "warm_up": 0}


@pytest.fixture
def run(tmp_path):
    """The folder of a model that was fitted for a moment."""

    def save(**options):
        model = LDA(3, burn_in=0, max_iter=5, holdout=0, n_jobs=1, **options).fit(COUNTS)
        model.save(tmp_path / f"run-{len(list(tmp_path.iterdir()))}")
        return max(tmp_path.iterdir())

    return save


def test_exact_samplers_have_credible_intervals(run):
    found = Results(run(algo="gibbs"), 1).spread()
    assert found.faithful
    assert (found.noise, found.width) == (1.0, 1.0)
    assert found.title == "90 % interval"
    assert found.remark() is None


def test_noise_is_told_and_the_sampler_that_has_none(run):
    """Red with: the factor of the variance given the counts for that of the posterior's width."""
    found = Results(run(**DEFAULT, step_size=(1.0, 1.0, 0.0)), 1).spread()
    assert not found.faithful
    assert found.noise == pytest.approx(1 + math.tanh(0.5) * 4)
    assert found.width == pytest.approx(math.sqrt(found.noise * 2 / 3))
    assert found.title == "90 % of draws"
    assert "1.4 times as wide as credible intervals" in found.remark()
    assert found.remedy == "--exact-sweeps 1000"
    assert found.remedy in found.remark()


@pytest.mark.parametrize(("sweep", "is_unfinished"), [(5, True), (40, False)])
def test_a_stopped_refinement_is_to_be_completed(run, monkeypatch, sweep, is_unfinished):
    """Red with: advice to give --exact-sweeps 1000 for a refinement that was merely stopped."""
    plan = SimpleNamespace(sweep=sweep, sweeps=40)
    monkeypatch.setattr(results, "read_refinement_plan", lambda arrays: plan)
    opened = Results(run(**DEFAULT), 1)
    assert (opened.progress_remark() != "") is is_unfinished
    wanted = f"sgmc train --resume {opened.path}" if is_unfinished else "--exact-sweeps 1000"
    assert opened.spread().remedy == wanted


@pytest.mark.parametrize(
    ("width", "ratio"), [(1.02, "about as wide as"), (1.84, "about 1.8 times as wide as")]
)
def test_a_width_is_compared_in_words_that_make_sense(width, ratio):
    """Red with: about 1 times as wide."""
    remark = Spread("scir", False, 1.5 * width**2, width, "--exact-sweeps 1000").remark()
    assert f"{ratio} credible intervals" in remark


@pytest.mark.parametrize("sweeps", [10, 100])
def test_no_step_and_no_sweeps_make_draws_of_minibatches_the_posteriors(run, sweeps):
    """Their means are beside it. Red with: a run of little noise called credible, as it was."""
    found = Results(run(**DEFAULT | {"sweeps": sweeps}, step_size=(0.01, 1.0, 0.0)), 1).spread()
    assert not found.faithful
    assert found.noise < 1.5
    assert found.title == "90 % of draws"
    assert "may be shifted" in found.remark()


def test_where_no_factor_is_known_none_is_told(run):
    found = Results(run(algo="sgrld", **DEFAULT), 1).spread()
    assert not found.faithful
    assert (found.noise, found.width) == (None, None)
    assert "by an unknown amount; compare with --exact-sweeps 1000" in found.remark()


@pytest.fixture
def both(tmp_path, monkeypatch):
    """A run of which full and top-word samples are kept, of 12 of the 50 words."""
    monkeypatch.setattr("pysgrld.models.samples.WORDS", 12)
    write_corpus(tmp_path / "corpus.txt")
    train_here(
        tmp_path,
        starts=1,
        iterations=180,
        step_size=(1.0, 1.0, 0.0),
        alpha=0.1,
        top_word_samples=200,
        eval_every=180,
        checkpoint_every=180,
    )
    return Results(tmp_path / "run", 1)


def test_intervals_from_slim_samples_are_those_from_full_ones_where_they_are_not_open(both):
    """Red with: words that a top-word sample lacks taken for 0, or for its least value without a word."""
    top = both.top(30)
    assert both.kept() == both.kept(slim=True)
    assert both.word_steps() == (both.kept(), False)
    steps = both.kept(slim=True)
    slim = interval([[both.words_at(step, top, 0, slim=True) for step in steps]], exact=False)
    full = both.word_intervals(top)
    assert len(both.kept()) == 43
    for name, is_open in (("low", slim.low_open), ("high", slim.high_open)):
        mine, theirs = getattr(slim, name), getattr(full, name)
        np.testing.assert_array_equal(mine[~is_open], theirs[~is_open])
        assert (mine[is_open] >= theirs[is_open]).all()
        assert 0.1 < is_open.mean() < 1
    assert (slim.low_open >= slim.high_open).all()
    assert not full.low_open.any()


def test_more_slim_samples_than_full_ones_are_what_intervals_are_read_from(both):
    """Red with: intervals missing where few full samples are kept; an open end shown like another."""
    with both.run.lock():
        for step in both.kept()[5:]:
            both.run.samples.drop(step)
    assert both.word_steps() == (both.kept(slim=True), True)
    path = str(both.path)
    found = json.loads(CliRunner().invoke(main, ["topics", path, "--json", "--top", "15"]).output)
    assert (found["kept_samples"], found["top_word_samples"]) == (5, 43)
    words = [word for topic in found["topics"] for word in topic["words"]]
    assert any("low_open" in word and "high_open" not in word for word in words)
    assert any("low_open" not in word for word in words)
    said = CliRunner().invoke(main, ["topics", path, "--intervals", "--top", "15"]).output
    assert re.search(r" <\d+\.\d\d to \d", said)
    assert re.search(r" <\d+\.\d\d$", said, re.MULTILINE)


def test_a_slim_sample_of_another_model_is_refused(both):
    """Red with: a word beyond the vocabulary, which is an IndexError later."""
    step, sample = both.kept(slim=True)[0], both.read_slim(both.kept(slim=True)[0])
    with both.run.lock():
        both.run.samples.write(3, {**sample, "words": sample["words"] + 48}, top_words=True)
        both.run.samples.write(2, {n: part[:2] for n, part in sample.items()}, top_words=True)
    with pytest.raises(
        CheckpointError, match=r"top-words-step-00000003.*refers to a word beyond the 48"
    ):
        both.read_slim(3)
    with pytest.raises(
        CheckpointError, match="array 'words' has the shape 2 x 12, but the model needs 4 x 12"
    ):
        both.read_slim(2)
    path = both.run.samples.path(step, top_words=True)
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\0")
    with pytest.raises(CheckpointError, match="was changed since it was written"):
        Results(both.path, 1).read_slim(step)


def test_the_table_says_what_its_intervals_are(run):
    """Red with: "90 % interval" over the draws of any run."""
    said = CliRunner().invoke(main, ["topics", str(run(**DEFAULT)), "--intervals"]).output
    assert max(map(len, said.splitlines()[-3:])) <= 80
    assert "90 % interval" not in said
    assert "90 % of draws\n" in said
    assert "times as wide as credible intervals" in " ".join(said.split())


@pytest.mark.parametrize("draws", [1, 2, 3, 20])
@pytest.mark.parametrize("size", [np.nan, 0.0, 1.0, 1e9])
def test_bounds_of_few_draws_are_numbers_without_warnings(draws, size):
    """As after --exact-sweeps 1. Red with: an effective size of 1, by which bounds are infinitely far."""
    values = np.random.default_rng(1).dirichlet(np.ones(3), draws)
    with np.errstate(all="raise"):
        low, high = bounds(values, np.full(3, size))
    assert np.isfinite([low, high]).all()
    assert (low <= values.mean(axis=0) + 1e-12).all()
    assert (high >= values.mean(axis=0) - 1e-12).all()
