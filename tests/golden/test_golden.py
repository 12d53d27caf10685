"""The same bits as before: topics, samples, checkpoints, scores and what is shown of every model.

The hashes were taken at 545dc69, before the package was given its present plan; those of mixtures when
their defaults changed. They are exact, as all results are on one machine; another C library may round a
logarithm of NumPy's differently.
"""

import json

import pytest
from golden.cases import HASHES, RUNS, estimator_hashes, run_hashes

pytestmark = pytest.mark.golden

GOLDEN = json.loads(HASHES.read_text())


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_the_bits_that_it_always_gave(name, tmp_path):
    assert run_hashes(name, tmp_path) == GOLDEN[name]


def test_estimators_give_the_bits_that_they_always_gave():
    assert estimator_hashes() == GOLDEN["estimators"]


def test_every_golden_case_is_still_run():
    assert set(GOLDEN) == {*RUNS, "estimators"}
