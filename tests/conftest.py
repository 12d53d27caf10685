"""What tests of kernels share."""

import os

import pytest

from pysgrld.core import core


@pytest.fixture(params=core.available_isas())
def isa(request):
    """Run the test with every instruction set that this machine has."""
    before = core.isa()
    core.use_isa(request.param)
    yield request.param
    core.use_isa(before)


@pytest.fixture
def standard_input(tmp_path):
    """Give some bytes to whatever reads standard input."""
    before = os.dup(0)

    def give(data):
        path = tmp_path / ".standard-input"
        path.write_bytes(data)
        with path.open("rb") as file:
            os.dup2(file.fileno(), 0)

    yield give
    os.dup2(before, 0)
    os.close(before)


def pytest_addoption(parser):
    parser.addoption(
        "--fault-record", metavar="FILE", help="write what the tests of the fault matrix did there"
    )
