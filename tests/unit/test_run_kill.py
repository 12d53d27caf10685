"""SIGKILL at every point of the protocol, and what the next start finds.

A process of its own (this file, run as a script) forks a child for each point that an operation
passes, kills it there, and checks what is left; forking the test process itself is not safe.
"""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pysgrld.run import RunDirectory, _failpoints, list_checkpoints

CONFIG = {"options": {"topics": 2}, "corpus": {"fingerprint": "abc"}}
PHI = np.array([[0.25, 0.75], [1, 0]], np.float32)


def state(step: int) -> dict[str, np.ndarray]:
    return {"g": np.full((64, 16), step, np.float32)}


def save(run: RunDirectory, step: int) -> None:
    run.save_checkpoint(step, state(step), {}, keep=2)


def line(run: RunDirectory, step: int) -> None:
    run.append_metrics({"iteration": step})
    run.samples.write(step, {"phi": PHI})


def template(path: Path) -> None:
    """Write a run with checkpoints 1, 2, 3 and work after the last of them."""
    run = RunDirectory.create(path, CONFIG, ["a", "b"])
    with run.lock():
        for step in (1, 2, 3):
            line(run, step)
            run.save_checkpoint(step, state(step), {}, keep=3)
        line(run, 4)
        run.samples.drop(2)


def go_on(run: RunDirectory) -> None:
    """Save the next checkpoint; older ones are deleted and a dropped sample as well."""
    with run.lock():
        save(run, 4)


def go_on_over(run: RunDirectory) -> None:
    """Save a checkpoint of a step that has one, with more metrics than it had."""
    with run.lock():
        save(run, 3)


def go_back(run: RunDirectory) -> None:
    """Go back to the last checkpoint."""
    with run.lock():
        run.rewind(run.load_checkpoint(required=True))


OPERATIONS = {"save": go_on, "save over": go_on_over, "rewind": go_back}


def check(path: Path) -> str | None:
    """Start again after a kill; say what is wrong, or None."""
    run = RunDirectory.open(path)
    with run.lock():
        found = run.load_checkpoint(required=True)
        assert found is not None
        if found.step not in (3, 4):
            return f"checkpoint {found.step}"
        if found.arrays["g"].tobytes() != state(found.step)["g"].tobytes():
            return "state is mixed"
        run.rewind(found)
        lines = [record["iteration"] for record in run.read_metrics()]
        samples = run.samples.steps()
        # Checkpoint 3 was written with lines 1 to 3; written over, with line 4 and without
        # sample 2.
        over = found.step == 4 or 4 in lines
        if lines != ([1, 2, 3, 4] if over else [1, 2, 3]):
            return f"metrics {lines}"
        if samples != ([1, 3, 4] if over else [1, 2, 3]):
            return f"samples {samples}"
        hidden = [p.name for p in path.rglob(".*") if not p.name.startswith(".corrupt-")]
        if hidden:
            return f"left behind: {hidden}"
        save(run, 5)
    if [report.problem for report in list_checkpoints(path)] != [None, None]:
        return "checkpoints after going on"
    return None


def in_a_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            logging.exception("in the child")
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def kill_everywhere(folder: Path, name: str) -> list[str]:
    """Return what went wrong, and the count of points as the last entry."""
    wrong = []
    template(folder / "template")
    nth = 0
    while True:
        nth += 1
        path = folder / f"run-{nth}"
        shutil.copytree(folder / "template", path)

        def work(path: Path = path, nth: int = nth) -> None:
            _failpoints.arm(f"*:kill:{nth}")
            OPERATIONS[name](RunDirectory.open(path))

        status = in_a_child(work)
        if status == 0:
            return [*wrong, str(nth - 1)]
        if os.WIFEXITED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            return [*wrong, f"{name}:{nth}: ended with {status}", "0"]
        problem = check(path)
        if problem:
            wrong.append(f"{name}:{nth}: {problem}")


def worker(path: Path) -> None:
    """Train until killed, saying which checkpoints are acknowledged."""
    run = RunDirectory.open(path)
    with run.lock():
        found = run.load_checkpoint(required=False)
        run.rewind(found)
        step = found.step if found else 0
        while True:
            step += 1
            line(run, step)
            save(run, step)
            os.write(1, f"{step}\n".encode())


@pytest.mark.parametrize(
    "name",
    # "save over" saves as well
    [pytest.param(n, marks=pytest.mark.nightly) if n == "save" else n for n in OPERATIONS],
)
def test_a_kill_at_any_point_loses_nothing_that_was_acknowledged(name: str, tmp_path: Path) -> None:
    """Broken twice: writing into the final folder without a rename failed all three, deleting the
    old checkpoint of a step before the new one has its name failed "save over".
    """
    done = script("everywhere", str(tmp_path), name)
    *wrong, count = json.loads(done)
    assert wrong == []
    assert int(count) >= (7 if name == "rewind" else 20)


def script(*arguments: str) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-W", "ignore", __file__, *arguments]
    return subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True, timeout=280
    ).stdout


def random_kills(folder: Path, count: int) -> list[str]:
    rng, wrong = random.Random(3), []
    path = folder / "run"
    RunDirectory.create(path, CONFIG, ["a", "b"])
    longest = 0.05
    for trial in range(count + 1):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writing, 1)
            try:
                worker(path)
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading) as file:
            first = ""
            if trial == 0:  # how long a checkpoint takes here, where all may be slow
                began = time.monotonic()
                first = file.readline()
                longest = min(1.0, max(longest, 2.0 * (time.monotonic() - began)))
            else:
                time.sleep(rng.uniform(0.0, longest))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            acknowledged = [int(text) for text in (first + file.read()).split()]
        run = RunDirectory.open(path)
        found = run.load_checkpoint(required=False)
        step = found.step if found else 0
        if found and found.arrays["g"].tobytes() != state(step)["g"].tobytes():
            wrong.append(f"{trial}: state of step {step}")
        if acknowledged and step < acknowledged[-1]:
            wrong.append(f"{trial}: {acknowledged[-1]} was acknowledged, {step} is there")
    with run.lock():
        found = run.load_checkpoint(required=True)
        run.rewind(found)
    lines = [record["iteration"] for record in run.read_metrics()]
    if found is None or lines != list(range(1, found.step + 1)) or run.samples.steps() != lines:
        wrong.append(f"metrics {lines[:3]}..{lines[-3:]}")
    return [*wrong, str(count)]


def test_kills_at_random_times_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    assert json.loads(script("random", str(tmp_path), "15")) == ["15"]


@pytest.mark.nightly
def test_many_kills_at_random_times(tmp_path: Path) -> None:
    assert json.loads(script("random", str(tmp_path), "500")) == ["500"]


def test_listing_while_checkpoints_are_written_never_sees_a_part_of_one(tmp_path: Path) -> None:
    path = tmp_path / "run"
    RunDirectory.create(path, CONFIG, ["a", "b"])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", __file__, "work", str(path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seen = [list_checkpoints(path) for _ in range(150)]
        found = [RunDirectory.open(path).load_checkpoint(required=True) for _ in range(10)]
        process.kill()
        process.stdout.read()
    assert [r.problem for reports in seen for r in reports if r.problem is not None] == []
    assert all(found)


@pytest.mark.parametrize("test", ["0", "1"])
def test_the_environment_arms_a_fail_point_in_tests_only(test: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    RunDirectory.create(path, CONFIG, ["a", "b"])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "SGMC_FAILPOINT": "commit.rename:kill",
        "SGMC_TEST": test,
    }
    command = [sys.executable, "-W", "ignore", __file__, "once", str(path)]
    done = subprocess.run(command, env=environment, check=False)
    assert done.returncode == (-signal.SIGKILL if test == "1" else 0)


def once(path: Path) -> None:
    run = RunDirectory.open(path)
    with run.lock():
        save(run, 1)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    task, place, *rest = sys.argv[1:]
    if task == "everywhere":
        sys.stdout.write(json.dumps(kill_everywhere(Path(place), rest[0])))
    elif task == "random":
        sys.stdout.write(json.dumps(random_kills(Path(place), int(rest[0]))))
    elif task == "work":
        worker(Path(place))
    else:
        once(Path(place))
