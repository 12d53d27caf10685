"""The experiment on a mixture of web users: the defects of the released code, each by itself."""

import numpy as np

from pysgrld.experiments.scir_dpmm import ROWS, ReleasedMixture, Row
from pysgrld.models.dpmm.slice_sampling import Settings
from pysgrld.types import Documents

#: Ten users of the first word, then ten of the second.
USERS = Documents(np.arange(21), np.arange(20, dtype=np.int32) // 10, np.full(20, 50, np.int32))
LAST = np.arange(11, 20)  # an epoch's last minibatch is smaller


def moved(**defects):
    """One component after a fresh draw, and a chain that has seen the last ten users."""
    endless = Settings("scir", start=1, step=np.inf, stick_step=np.inf)
    first = USERS.take(np.arange(10))
    chain = ReleasedMixture(Row(endless, **defects), first, np.arange(20), 2, 1)
    chain.iterate(USERS.take(LAST), LAST)
    return chain


def test_components_move_by_the_users_at_the_positions_of_those_of_the_minibatch():
    """Red with: the minibatch's own users."""
    right, wrong = moved(), moved(positions=True)
    assert np.exp(right.log_phi[1, 0]) > 0.9
    assert np.exp(wrong.log_phi[0, 0]) > 0.9
    np.testing.assert_array_equal(right._log_sticks[:, 0], wrong._log_sticks[:, 0])


def test_both_variables_of_a_stick_drift_by_its_share():
    """Red with: one minus it for the second."""
    g = np.array([[1.0, 3.0], [3.0, 1.0]])
    np.testing.assert_array_equal(moved()._shares(g), [[0.25, 0.75], [0.75, 0.25]])
    np.testing.assert_array_equal(moved(drift=True)._shares(g), [[0.25, 0.75]] * 2)


def test_rows_as_released_have_the_defects_of_their_sampler():
    """The drift is SGRLD's. Red with: right indexing in a row that is called as released."""
    found = {name: (row.positions, row.drift, row.settings.reuse) for name, row in ROWS.items()}
    assert found["scir-as-released"] == (True, False, True)
    assert found["sgrld-as-released"] == (True, True, True)
    assert found["sgrld-released-drift"] == (False, True, True)
    assert not any(any(found[name]) for name in ("gibbs", "scir", "sgrld"))
