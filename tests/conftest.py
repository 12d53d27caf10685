"""What tests of kernels share, and the word of honour that a sanitizer is really there."""

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
    """Run the test with every instruction set that this machine has."""
    before = core.isa()
    core.use_isa(request.param)
    yield request.param
    core.use_isa(before)


def pytest_addoption(parser):
    parser.addoption(
        "--fault-record", metavar="FILE", help="write what the tests of the fault matrix did there"
    )


class FaultRecord:
    """Collects what the tests of the fault matrix did, in this process and in workers'."""

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
    """Of ``-n auto``: one more than there are cores, as a quarter of the tests' time is waiting."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Share tests out by neighbours, so that few workers make what a file's tests share."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


#: Bytes that are free in memory where the tests' folders lie there.
ROOM = 8 * 2**30


def _use_memory():
    """Put the tests' folders on a file system in memory, if there is room: flushing costs nothing."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_configure(config):
    _use_memory()
    place = config.getoption("--fault-record")
    if place and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FaultRecord(Path(place)))


#: What a module that is instrumented calls.
_CALLS = (b"__asan_init", b"__ubsan_handle")


def pytest_sessionstart(session):
    """Under .ci/sanitizers, every module that is loaded must be one that was built there."""
    if os.environ.get("SGMC_SANITIZER"):
        for name in ("_core", "corpus._tokenize", "corpus._wikitext"):
            file = importlib.import_module(f"pysgrld.{name}").__file__
            if any(call not in Path(file).read_bytes() for call in _CALLS):
                pytest.exit(f"{file} is not built under the sanitizers", returncode=3)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """Take what collection made out of reach of the garbage collector, which else visits it each time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    fork_server.close()
