"""Fixtures of the fault matrix's tests, and the record of their trials.

A test names its row with ``@pytest.mark.row(17)`` and says how many trials it made with the fixture
``trials``. With ``--fault-record FILE`` the outcome of every test is written there as JSON;
``docs/internals/fault_matrix.py`` makes the table of docs/internals/faults.md of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from faults.forks import Forks
from faults_runs import train_here, write_corpus

_HERE = Path(__file__).parent
_TRIALS = pytest.StashKey[int]()


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A folder with corpus.txt and a finished run on it, which tests must copy and not change."""
    folder = tmp_path_factory.mktemp("whole")
    write_corpus(folder / "corpus.txt")
    train_here(folder)
    return folder


@pytest.fixture
def copied(whole, tmp_path):
    """A copy of `whole` for a single test."""
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@pytest.fixture
def trials(request):
    """Record the given number of trials that were made and judged."""

    def add(n=1):
        request.node.stash[_TRIALS] = request.node.stash.get(_TRIALS, 0) + n

    return add


@pytest.fixture(scope="session")
def fast(tmp_path_factory):
    """Return folders on a file system in memory, if there is one, where flushing is free."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield lambda: tmp_path_factory.mktemp("forks")
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="sgmc-tests-") as place:
        yield lambda: Path(tempfile.mkdtemp(dir=place))


@pytest.fixture
def forks(fast):
    """Starts of ``sgmc`` in a separate folder, each a fork of one process."""
    forks = Forks(fast())
    yield forks
    forks.close()
    shutil.rmtree(forks.folder)


@pytest.fixture(scope="module")
def forks_of_module(fast):
    """The same, shared by several tests of a file."""
    return Forks(fast())


def pytest_collection_modifyitems(items):
    for item in items:
        if str(item.path).startswith(f"{_HERE}/") and item.get_closest_marker("row") is None:
            raise pytest.UsageError(f"{item.nodeid}: which row of the fault matrix? mark it row(n)")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    rows = [number for mark in item.iter_markers("row") for number in mark.args]
    if not rows or (report.when != "call" and report.passed):
        return
    reason = str(report.longrepr[2]) if report.skipped and report.longrepr else ""
    report.fault = {
        "rows": rows,
        "test": item.nodeid,
        "outcome": report.outcome,
        "reason": reason.removeprefix("Skipped: "),
        "trials": item.stash.get(_TRIALS, 0),
        "seconds": round(report.duration, 2),
        "nightly": item.get_closest_marker("nightly") is not None,
    }
