"""Fixtures of kernel tests, and a check that a requested sanitizer is really loaded."""

import gc
import importlib
import json
import os
import shutil
import time
from pathlib import Path

import fork_server
import pytest

# tests run beside each other (-n): threads that wait must not take the cores from others
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from pysgrld.core import core


@pytest.fixture(params=core.available_isas())
def isa(request):
    """Run the test with every instruction set of this machine."""
    before = core.isa()
    core.use_isa(request.param)
    yield request.param
    core.use_isa(before)


def pytest_addoption(parser):
    parser.addoption(
        "--fault-record", metavar="FILE", help="write what the tests of the fault matrix did there"
    )


class FaultRecord:
    """Collect the trials made by tests of the fault matrix, in this process and in workers."""

    def __init__(self, place):
        self.place, self.tests = place, []

    def pytest_runtest_logreport(self, report):
        if hasattr(report, "fault"):
            self.tests.append(report.fault)

    def pytest_sessionfinish(self):
        date = time.strftime("%Y-%m-%d", time.gmtime())
        self.place.write_text(json.dumps({"date": date, "tests": self.tests}, indent=1) + "\n")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Return the number of workers for ``-n auto``: cores plus one, because tests often wait."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Distribute tests such that few workers create what a file's tests share."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


#: Bytes that must be free in memory if the tests' folders are there.
ROOM = 8 * 2**30


def _use_memory():
    """Put temporary folders on a file system in memory, if it has room, where flushing is free."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_configure(config):
    _use_memory()
    place = config.getoption("--fault-record")
    if place and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FaultRecord(Path(place)))


#: Functions that an instrumented module calls.
_CALLS = (b"__asan_init", b"__ubsan_handle")


def pytest_sessionstart(session):
    """Check under .ci/sanitizers that every loaded module was built there."""
    gc.disable()  # until all tests are collected
    if os.environ.get("SGMC_SANITIZER"):
        for name in ("_core", "corpus._tokenize", "corpus._wikitext"):
            file = importlib.import_module(f"pysgrld.{name}").__file__
            if any(call not in Path(file).read_bytes() for call in _CALLS):
                pytest.exit(f"{file} is not built under the sanitizers", returncode=3)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """Exclude objects made in collection from garbage collection, which would visit them repeatedly."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish():
    fork_server.close()
