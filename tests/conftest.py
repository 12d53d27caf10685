"""What tests of kernels share, and the word of honour that a sanitizer is really there."""

import importlib
import os
from pathlib import Path

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


#: What a module that is instrumented calls.
_CALLS = {"address": b"__asan_init", "undefined": b"__ubsan_handle"}


def pytest_sessionstart(session):
    """Under .ci/sanitizers, every module that is loaded must be one that was built there."""
    sanitizer = os.environ.get("SGMC_SANITIZER")
    if sanitizer:
        for name in ("_core", "corpus._tokenize", "corpus._wikitext"):
            file = importlib.import_module(f"pysgrld.{name}").__file__
            if _CALLS[sanitizer] not in Path(file).read_bytes():
                pytest.exit(f"{file} is not built with -fsanitize={sanitizer}", returncode=3)
