"""How many trials, draws or copies a test makes."""

import os

import pytest


def counts(ci, nightly):
    """Parametrise ``n``: of one run of continuous integration, and of one night."""
    return pytest.mark.parametrize(
        "n",
        [
            pytest.param(ci, id=f"n{ci}"),
            pytest.param(nightly, id=f"n{nightly}", marks=pytest.mark.nightly),
        ],
    )


def examples(night):
    """Return how many examples Hypothesis makes of a property: a third by day of those of a night."""
    return night if os.environ.get("SGMC_NIGHT") else -(-night // 3)
