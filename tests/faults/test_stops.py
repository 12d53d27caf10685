"""Training ends soon after a request, at any moment, and can be resumed."""

import signal

import pytest
from faults.stops import stops

#: Seconds within which a start is to end; five times that on a machine that others use.
LATE = 5 * 2.0


@pytest.mark.row(15)
@pytest.mark.parametrize(
    ("k", "moments", "ways"),
    [
        pytest.param(50, 2, ("SIGTERM", "limit"), marks=pytest.mark.nightly),
        pytest.param(20, 10, ("SIGTERM", "SIGINT", "limit"), marks=pytest.mark.nightly),
        pytest.param(200, 10, ("SIGTERM", "SIGINT", "limit"), marks=pytest.mark.nightly),
        pytest.param(2000, 10, ("SIGTERM", "SIGINT", "limit"), marks=pytest.mark.nightly),
    ],
)
def test_training_ends_soon_whenever_it_is_told_to(k, moments, ways, trials):
    """Red with: short chains, or their clustering, that obey no signal."""
    for stop in stops(k, moments, ways=ways):
        assert min(stop.late, stop.cpu) < LATE, stop
        before_python = -signal.SIGTERM, -signal.SIGINT
        assert stop.code in (0, 85, *before_python), stop
        assert stop.next_code == 0, stop
        trials()
