"""What macOS does otherwise: no /proc, no binding to processors, an fsync that stops at the drive."""

import errno
import fcntl
import os
import signal
import subprocess
from types import SimpleNamespace

import pytest

from pysgrld.run import files, machine
from pysgrld.train import processes


def test_threads_are_the_processors_where_no_process_is_bound_to_any(monkeypatch, tmp_path):
    """Red with: one thread, as for years."""
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert machine.processors() == []
    assert machine.threads(None, {})[:2] == (2, "processors")


def test_without_proc_nothing_is_known_and_nothing_is_made_up(monkeypatch, tmp_path):
    assert machine.sign_of_life(os.getpid())[0] in "RSD"
    assert machine.rss_bytes() > 0
    monkeypatch.setattr(machine, "_PROC", tmp_path / "none")
    assert machine.sign_of_life(os.getpid()) is None
    assert machine.rss_bytes() == 0
    assert machine.process_start() == pytest.approx(machine.boot_clock(), abs=5)


def test_the_name_of_the_processor_is_asked_of_sysctl(monkeypatch, tmp_path):
    assert machine.processor_name()
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "none")
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    answer = SimpleNamespace(stdout="Apple M2\n")
    monkeypatch.setattr(subprocess, "run", lambda *words, **how: answer)
    assert machine.processor_name() == "Apple M2"


def test_a_run_of_which_nothing_is_known_is_not_killed_for_its_silence(monkeypatch, tmp_path):
    """It may be writing a checkpoint. Red with: what is not known taken for no change."""
    woken = []
    monkeypatch.setattr(os, "kill", lambda pid, number: woken.append(number))
    process = SimpleNamespace(pid=os.getpid(), kill=lambda: woken.append("killed"))
    run = processes.RunProcess(0, process, None, None)
    monkeypatch.setattr(machine, "_PROC", tmp_path / "none")
    for _ in range(3):
        processes._wake_or_kill([run], processes.GRACE)
    assert woken == [signal.SIGCONT] * 3


def test_files_are_flushed_through_the_drive_where_that_can_be_asked_for(monkeypatch):
    """Red with: os.fsync alone; an error of the disk passed over."""
    calls = []
    monkeypatch.setattr(os, "fsync", lambda fd: calls.append(("fsync", fd)))
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda *words: calls.append(words))
    files.sync(7)
    assert calls == [(7, 51)]

    def refuse(number):
        def fail(*words):
            raise OSError(number, "no")

        monkeypatch.setattr(fcntl, "fcntl", fail)

    refuse(errno.ENOTSUP)
    files.sync(7)
    assert calls[1:] == [("fsync", 7)]
    refuse(errno.EIO)
    with pytest.raises(OSError, match="no"):
        files.sync(7)
