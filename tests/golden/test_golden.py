"""The same bits as before: topics, samples, checkpoints, scores and what is shown of every model.

The hashes were taken at 545dc69, before the package was given its present plan; those of mixtures when
their defaults changed. They are exact, as all results are on one machine; another C library may round a
logarithm of NumPy's differently. What the kernels make is the same on any processor: elsewhere than on
x86-64 (.ci/arm) all is compared but the figures that NumPy's logarithms and its BLAS have a part in.
"""

import json
import platform

import pytest
from golden.cases import HASHES, RUNS, estimator_hashes, run_hashes

pytestmark = pytest.mark.golden

GOLDEN = json.loads(HASHES.read_text())


#: Ends of the digests whose last bits are NumPy's.
NUMPY = ("metrics", "checkpoint", "eval", "topics", "perplexity")


def compared(name, found):
    """Leave out, on another processor, what NumPy rounds in its own way there.

    Of mixtures that is their chain as well: its weights are NumPy's, samples are single precision.
    """
    if platform.machine() == "x86_64":
        return found
    own = (*NUMPY, "chain", "infer") if "dpmm" in name else NUMPY
    return {
        what: digest
        for what, digest in found.items()
        if not what.endswith(own) and not what.startswith("DPMixture")
    }


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_the_bits_that_it_always_gave(name, tmp_path):
    assert compared(name, run_hashes(name, tmp_path)) == compared(name, GOLDEN[name])


def test_estimators_give_the_bits_that_they_always_gave():
    found = estimator_hashes()
    assert compared("estimators", found) == compared("estimators", GOLDEN["estimators"])


def test_every_golden_case_is_still_run():
    assert set(GOLDEN) == {*RUNS, "estimators"}
