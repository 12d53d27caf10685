"""Exported topics are the same bytes for any stops, kills, threads and progress intervals."""

import json
import signal

import numpy as np
import pytest

from pysgrld.reading.find_runs import open_run

pytestmark = pytest.mark.cli


@pytest.mark.parametrize(
    "number",
    # the three in one process: tests/faults/test_signals.py
    [
        signal.SIGTERM,
        *(pytest.param(n, marks=pytest.mark.nightly) for n in (signal.SIGINT, signal.SIGUSR1)),
    ],
)
def test_stopped_by_a_signal_and_resumed(sgmc, undisturbed, number):
    code, said = sgmc.stop_midway(number)
    assert code == 85
    assert f"sgmc: {number.name}: stopped after iteration" in said
    done = sgmc.train("--eval-every", "20")
    assert "resumes from iteration" in done.stderr
    assert sgmc.topics_hash() == undisturbed


def test_killed_and_resumed(sgmc, undisturbed):
    code, _ = sgmc.stop_midway(signal.SIGKILL, "--checkpoint-every", "7")
    assert code == -signal.SIGKILL
    assert "resumes from iteration" in sgmc.train().stderr
    assert sgmc.topics_hash() == undisturbed


def test_killed_before_the_first_checkpoint_begins_again(sgmc, undisturbed):
    sgmc.stop_midway(signal.SIGKILL, "--checkpoint-every", "1h")
    assert "no checkpoint had been written" in sgmc.train().stderr
    assert sgmc.topics_hash() == undisturbed


@pytest.mark.parametrize(
    "threads", [*(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 2)), 4]
)
def test_threads(sgmc, undisturbed, threads):
    sgmc.train("--threads", threads)
    assert sgmc.topics_hash() == undisturbed


@pytest.mark.parametrize(
    "options", ["--eval-every 7 --checkpoint-every 9 --set keep=1", "--eval-every 0.01s"]
)
def test_looking(sgmc, undisturbed, options):
    sgmc.train(*options.split())
    assert sgmc.topics_hash() == undisturbed


@pytest.mark.parametrize("eta", ["0.05", pytest.param("0.005", marks=pytest.mark.nightly)])
def test_natural_rate_stopped_and_on_other_threads(sgmc, eta):
    """In rows and, below .01, in logarithms. Red with: kappa of a process's first iteration kept."""
    # stopped after 15 iterations
    natural = ("--set", "cir-rate=natural", "--eta", eta, "--set", "warm-up=4")
    sgmc.train(*natural, out="whole")
    sgmc.stop_midway(signal.SIGKILL, *natural, "--checkpoint-every", "7")
    assert "resumes from iteration" in sgmc.train(*natural, "--threads", "2").stderr
    assert sgmc.topics_hash() == sgmc.topics_hash("whole")


def test_lazy_rows_stopped_looked_at_and_on_other_threads(sgmc):
    """Red with: a look that corrects the sums of the chain itself."""
    # the warm-up is over when the run is stopped
    lazy = ("--set", "lazy=on", "--set", "samples=3", "--set", "warm-up=4")
    sgmc.train(*lazy, out="whole")
    sgmc.stop_midway(signal.SIGKILL, *lazy, "--checkpoint-every", "7")
    assert "resumes from iteration" in sgmc.train(*lazy, "--threads", "2").stderr
    assert sgmc.topics_hash() == sgmc.topics_hash("whole")
    kept = [
        sorted((p.name, p.read_bytes()) for p in (sgmc.folder / run / "samples").iterdir())
        for run in ("run", "whole")
    ]
    assert kept[0] == kept[1]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.nightly)]
)
def test_exact_draws_stopped_and_on_other_threads(sgmc, number):
    """Red with: the chain of a draw counted from a start's first, which drops the others."""
    exact = ("--exact-sweeps", "16", "--set", "samples=8", "--alpha", "learn", "--eta", "learn")
    exact += ("--iterations", "25")
    sgmc.train(*exact, "--threads", "1", out="whole")
    again = ("--checkpoint-every", "1", "--threads", "2")
    code, said = sgmc.stop_midway(number, *exact, *again, word="Gibbs refinement")
    assert code == (85 if number == signal.SIGTERM else -number)
    done = sgmc.train(*exact, "--threads", "3")
    assert "nothing to do" not in done.stderr
    if number == signal.SIGTERM:
        assert "stopped after Gibbs sweep " in said
        assert "resumes from Gibbs sweep " in done.stderr
    assert sgmc.topics_hash() == sgmc.topics_hash("whole")
    kept = [
        sorted((p.name, p.read_bytes()) for p in (sgmc.folder / run / "samples").iterdir())
        for run in ("run", "whole")
    ]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 8


def test_more_iterations_after_exact_draws_are_those_of_a_longer_run(sgmc):
    """Red with: training that resumes from the newest checkpoint, whose number counts sweeps too."""
    exact = ("--exact-sweeps", "4", "--set", "samples=4", "--iterations", "30")
    sgmc.train(*exact, "--iterations", "40", out="whole")
    sgmc.train(*exact, "--set", "keep=1")
    done = sgmc.train(*exact, "--iterations", "40", code=78)
    assert "has replaced the last checkpoint" in done.stderr
    sgmc.train(*exact, out="other")
    done = sgmc.train(*exact, "--iterations", "40", out="other")
    assert "resumes from iteration 30 " in done.stderr
    assert "is gone" not in done.stderr
    assert sgmc.topics_hash("other") == sgmc.topics_hash("whole")
    text = (sgmc.folder / "other" / "metrics.jsonl").read_text()
    steps = [json.loads(line)["iteration"] for line in text.splitlines()]
    assert steps == sorted(steps)


def test_more_exact_sweeps_go_on_from_those_that_are_done(sgmc):
    """Red with: draws of before among those of after."""
    sgmc.train("--exact-sweeps", "8", "--set", "samples=4")
    done = sgmc.train("--exact-sweeps", "20", "--set", "samples=4")
    assert "resumes from Gibbs sweep 8 " in done.stderr
    assert "(10 posterior samples" in done.stderr
    assert len(list((sgmc.folder / "run" / "samples").iterdir())) == 4
    history = open_run(sgmc.folder / "run", 1).history()
    # the last iteration of training, then each exact draw
    assert list(history)[-11:] == [60, *range(71, 81)]
    assert history[80] == json.loads(sgmc("eval", "run", "--json").stdout)["perplexity"]
    said = " ".join(sgmc("diagnose", "run").stdout.split())
    assert "intervals from one chain" not in said
    assert "--exact-sweeps 1000" in said  # twenty exact sweeps are too few
    # red with: "all have mixed; the draws of each are worth nan", as what is not known is not large
    assert "4 draws per chain are too few to judge mixing. Train longer" in said
    assert "nan" not in said


def test_current_topics_of_lazy_rows_are_brought_up_to_date(sgmc):
    """A run without samples exports a copy of its rows as of now, the same at every export.

    Red with: rows exported as they were last drawn.
    """
    sgmc.train("--set", "lazy=on", "--set", "samples=0")
    assert sgmc.topics_hash() == sgmc.topics_hash()
    sums = np.load(sgmc.folder / "run-export" / "topics.npy").sum(axis=1, dtype=float)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-5)


def test_a_longer_budget_goes_on_from_a_shorter_one(sgmc, undisturbed):
    sgmc.train("--iterations", "25")
    assert "resumes from iteration 25" in sgmc.train().stderr
    assert sgmc.topics_hash() == undisturbed
