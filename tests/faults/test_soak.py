"""Stopping and resuming, repeatedly. Row 65; `soak.py` beside this does it for hours."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
from pathlib import Path

import pytest
from faults_runs import opened, result, stopped_here, train_here
from trial_counts import counts

from pysgrld.errors import Interrupted
from pysgrld.run.machine import rss_bytes

SIGNALS = [signal.SIGUSR1, signal.SIGTERM, signal.SIGXCPU, signal.SIGINT]
OPTIONS = {"samples": 4, "top_word_samples": 6, "eval_every": 7, "checkpoint_every": 9, "starts": 1}


def held(folder):
    """Return this process's descriptors and memory in bytes, and the run's files."""
    gc.collect()  # what is in a circle of references goes whenever Python looks
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    return descriptors, rss_bytes(), sum(1 for path in (folder / "run").rglob("*"))


@pytest.mark.row(65)
@counts(12, 500)
def test_many_stops_change_nothing_and_leave_nothing_behind(n, whole, tmp_path, trials):
    """The same bits as undisturbed; descriptors, memory and files stay flat (2 %).

    Red with: a temporary folder that the next start leaves; a corpus whose file is not closed; the
    topics of held-out documents not put back.
    """
    rng = random.Random(n)
    once, often = tmp_path / "once", tmp_path / "often"
    for folder in (once, often):
        folder.mkdir()
        shutil.copy(whole / "corpus.txt", folder)
    step, seen = 0, []
    gc.collect()
    gc.freeze()  # what other tests of this process left is not looked through at every stop
    for _ in range(n):
        step += rng.randint(1, 6)
        changes = OPTIONS | {"iterations": 6 * n + 1, "threads": 1 + (step % 6 == 0)}
        stopped_here(often, step, **changes)
        assert opened(often).status["step"] == step
        seen.append(held(often))
        trials()
    options = OPTIONS | {"iterations": step + 3}
    train_here(often, **options)
    train_here(once, **options)
    assert result(often) == result(once)
    lines = [line["iteration"] for line in opened(often).read_metrics()]
    assert lines == sorted(set(lines))
    # The heap finds its size in the first half: it grows in steps of a megabyte, and then no more.
    early, late = seen[n // 2 : 3 * n // 4], seen[3 * n // 4 :]
    for kind, name in enumerate(("descriptors", "memory", "files")):
        before, after = (max(values[kind] for values in part) for part in (early, late))
        assert after <= 1.02 * before, f"{name}: {before} -> {after}"


@pytest.mark.row(65)
@pytest.mark.parametrize("number", SIGNALS)
def test_every_signal_of_the_soak_stops(number, whole, tmp_path):
    """What `soak.py` sends ends a run with a checkpoint."""
    shutil.copy(whole / "corpus.txt", tmp_path)

    def send(step):
        if step == 3:
            os.kill(os.getpid(), number)

    with pytest.raises(Interrupted, match=f"{number.name}: stopped after iteration 3"):
        train_here(tmp_path, send)
