"""How many trials, draws or copies a test makes."""

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
