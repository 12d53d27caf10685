"""Signals and the clock set a flag."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from pysgrld.errors import UsageError
from pysgrld.run import SecondInterrupt, StopFlag, boot_clock, process_start

ALL = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGXCPU, signal.SIGUSR2, signal.SIGHUP]


@pytest.mark.parametrize("number", ALL[:4])
def test_a_signal_stops_and_is_the_reason(number: signal.Signals) -> None:
    with StopFlag() as flag:
        assert not flag.should_stop(1e9)
        os.kill(os.getpid(), number)
        assert flag.should_stop(0)
        assert flag.reason == number.name


def test_the_first_reason_stays_through_a_storm() -> None:
    with StopFlag() as flag:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            os.kill(os.getpid(), signal.SIGUSR1)
        assert flag.reason == "SIGTERM"


def test_a_second_interrupt_stops_at_once_with_130() -> None:
    with StopFlag() as flag:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        assert flag.reason == "SIGTERM"
        with pytest.raises(SecondInterrupt) as caught:
            os.kill(os.getpid(), signal.SIGINT)
    assert caught.value.exit_code == 130
    assert isinstance(caught.value, KeyboardInterrupt)


def test_sigusr2_asks_for_one_checkpoint_and_the_run_goes_on() -> None:
    with StopFlag() as flag:
        os.kill(os.getpid(), signal.SIGUSR2)
        assert flag.take_checkpoint_request()
        assert not flag.take_checkpoint_request()
        assert not flag.should_stop(0)


def test_hanging_up_is_ignored_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda fd: False)
    with StopFlag() as flag:
        os.kill(os.getpid(), signal.SIGHUP)
        assert flag.reason is None


def test_hanging_up_a_terminal_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with StopFlag() as flag:
            os.kill(os.getpid(), signal.SIGHUP)
            assert flag.reason == "SIGHUP"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in ALL]
    with StopFlag():
        assert [signal.getsignal(number) for number in ALL] != before
    assert [signal.getsignal(number) for number in ALL] == before


def test_outside_the_main_thread_only_the_clock_counts() -> None:
    before = [signal.getsignal(number) for number in ALL]
    seen: list[object] = []

    def work() -> None:
        with StopFlag(1.0, start=boot_clock() - 2) as flag:
            seen.extend([[signal.getsignal(number) for number in ALL], flag.should_stop(0)])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before, True]


def test_the_limit_leaves_room_for_two_slowest_checkpoints_and_a_step() -> None:
    now = [0.0]
    flag = StopFlag(100.0, start=0.0, clock=lambda: now[0])
    flag.note_checkpoint_seconds(10.0)
    flag.note_checkpoint_seconds(3.0)
    now[0] = 76.4
    assert not flag.should_stop(3.0)
    now[0] = 76.6
    assert flag.should_stop(3.0)
    assert flag.reason == "time limit"


def test_setting_the_date_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_END_TIME", str(time.time() + 60))
    flag = StopFlag("auto")
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    assert not flag.should_stop(0)


def test_the_end_of_the_batch_job_counts_when_it_is_earlier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLURM_JOB_END_TIME", str(time.time() + 500))
    assert not StopFlag(3600.0).should_stop(100)
    assert StopFlag(3600.0).should_stop(600)
    assert StopFlag("auto").should_stop(600)
    assert StopFlag(0.001).should_stop(0)


def test_auto_without_a_batch_system_is_no_limit(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("SLURM_JOB_END_TIME", raising=False)
    assert not StopFlag("auto").should_stop(1e9)
    assert "does not report when this job ends" in caplog.text


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_a_limit_must_be_above_zero(limit: float) -> None:
    with pytest.raises(UsageError):
        StopFlag(limit)


def test_the_clock_starts_with_the_process() -> None:
    assert 0 < process_start() <= boot_clock()
    assert StopFlag(1e-3).should_stop(0)
