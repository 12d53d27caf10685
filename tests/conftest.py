"""What tests of kernels share."""

import pytest

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
