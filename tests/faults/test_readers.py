"""Reading a run while it is written, and after its process was killed. Rows 27 and 59."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from faults_runs import SGMC, command_line, opened, result, sgmc, train_command, train_here
from trial_counts import counts

from pysgrld.reading.results import Results
from pysgrld.run import list_checkpoints


class Training:
    """`sgmc train` in a separate process that writes all the time; a context manager."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        options = command_line(eval_every=1, checkpoint_every=1, sample_every=1, samples=20, keep=2)
        self.process = subprocess.Popen(
            [SGMC, "train", "corpus.txt", *options, "--iterations", "1000000", "--out", "run"],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not (self.folder / "run").is_dir() or not list_checkpoints(self.folder / "run"):
            assert self.process.poll() is None
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGUSR1)
        assert self.process.wait(60) == 85


@pytest.fixture
def folder(whole, tmp_path):
    """A folder with only the corpus."""
    shutil.copy(whole / "corpus.txt", tmp_path)
    return tmp_path


@pytest.mark.row(27)
@counts(100, 5_000)
def test_readers_never_see_a_part(folder, trials, n):
    """Call everything that reads a run, in turn, while checkpoints, samples and lines are written.

    Red with: a checkpoint written under its final name; one that retention deletes called damaged.
    """
    steps = set()
    with Training(folder):
        path = folder / "run"
        for trial in range(n):
            kind = trial % 5
            if kind == 0:
                reports = list_checkpoints(path)
            elif kind == 1:
                reports = list_checkpoints(path, verify=True)
            elif kind == 2:
                reports = []
                found = opened(folder).load_checkpoint(required=True)
                steps.add(found.step)
            elif kind == 3:
                reports = []
                lines = [line["iteration"] for line in opened(folder).read_metrics()]
                assert lines == list(range(1, len(lines) + 1))
                assert opened(folder).status["state"] == "running"
            else:
                reports = []
                assert Results(path, 1).mean["phi"].shape == (48, 16)
            assert [report.problem for report in reports if report.problem] == []
            trials()
    assert len(steps) > n // 50


@pytest.mark.row(27)
def test_commands_read_a_run_that_is_being_written(folder, trials):
    with Training(folder):
        for command in (
            "checkpoint list",
            "checkpoint show",
            "checkpoint verify",
            "topics",
            "eval",
            "export --to npy -o out",
        ):
            name, *rest = command.split(" --")[0].split()
            options = command.split(" ")[1 + len(rest) :]
            sgmc(folder, name, *rest, "run", *options)
            trials()


@pytest.mark.row(59)
def test_after_a_kill_the_next_start_says_that_the_one_before_ended_without_a_word(folder, trials):
    """SIGKILL stands for the kernel's out-of-memory killer. Red with: no warning of the lock."""
    with Training(folder) as training:
        training.process.kill()
        assert training.process.wait(60) == -signal.SIGKILL
        training.process.wait = lambda timeout: 85
    status = opened(folder).status
    assert status["state"] == "running"  # a killed process could not update its status
    options = {"sample_every": 1, "samples": 20, "iterations": 150}
    done = train_command(folder, **options)
    assert re.search(rf"pid {training.process.pid}, which died", done.stderr)
    assert "resumes from iteration" in done.stderr
    trials()
    os.rename(folder / "run", folder / "killed")  # noqa: PTH104
    train_here(folder, **options)
    assert result(folder) == result(folder, "killed")
