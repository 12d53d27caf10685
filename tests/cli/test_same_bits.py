"""Stops, kills, threads and how often one looks: the same exported topics, byte for byte."""

import signal
import time

import pytest

pytestmark = pytest.mark.cli


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_stopped_by_a_signal_and_resumed(sgmc, undisturbed, number):
    code, said = sgmc.stop_midway(number)
    assert code == 85
    assert f"sgmc: {number.name}: stopped after iteration" in said
    done = sgmc.train("--eval-every", "20")
    assert "goes on from iteration" in done.stderr
    assert sgmc.topics_hash() == undisturbed


def test_killed_and_resumed(sgmc, undisturbed):
    code, _ = sgmc.stop_midway(signal.SIGKILL, "--checkpoint-every", "7")
    assert code == -signal.SIGKILL
    assert "goes on from iteration" in sgmc.train().stderr
    assert sgmc.topics_hash() == undisturbed


def test_killed_before_the_first_checkpoint_begins_again(sgmc, undisturbed):
    sgmc.stop_midway(signal.SIGKILL)
    assert "no checkpoint was written yet" in sgmc.train().stderr
    assert sgmc.topics_hash() == undisturbed


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads(sgmc, undisturbed, threads):
    sgmc.train("--threads", threads)
    assert sgmc.topics_hash() == undisturbed


@pytest.mark.parametrize(
    "options", ["--eval-every 7", "--eval-every 0.01s", "--checkpoint-every 9 --keep 1"]
)
def test_looking(sgmc, undisturbed, options):
    sgmc.train(*options.split())
    assert sgmc.topics_hash() == undisturbed


def test_a_longer_budget_goes_on_from_a_shorter_one(sgmc, undisturbed):
    sgmc.train("--iterations", "25")
    assert "goes on from iteration 25" in sgmc.train().stderr
    assert sgmc.topics_hash() == undisturbed


def test_the_time_limit_ends_in_time_with_85(sgmc):
    began = time.monotonic()
    done = sgmc.train("--iterations", "1000000", "--time-limit", "2s", code=85)
    assert "time limit: stopped after iteration" in done.stderr
    assert time.monotonic() - began < 2.5
