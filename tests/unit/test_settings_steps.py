"""Default steps and durations: the figures that docs name."""

import pytest

from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.options.parse import duration


@pytest.mark.parametrize(
    ("documents", "minibatch", "h"),
    [(5000, 100, 0.2), (5000, 250, 0.5), (1000, 400, 1.0), (10**6, 400, 0.02)],
)
def test_the_default_step_of_scir_is_ten_minibatches_of_the_corpus(documents, minibatch, h):
    """10 B/D within 0.02 and 1, for all iterations. Red with: 20 B/D."""
    facts = Facts(documents, 2000, 400 * documents, documents, lambda *_: 900)
    options = resolve({"algo": "scir", "minibatch": minibatch}, facts).options
    assert options.step_size == pytest.approx((h, 1.0, 0.0))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0.5s", 0.5), ("15m", 900), ("2h30m", 9000), ("1d", 86_400), ("1d1s", 86_401)],
)
def test_durations_are_in_seconds(text, seconds):
    """Red with: a day of 8,640 seconds."""
    assert duration(text) == seconds
