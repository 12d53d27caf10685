"""Topics, samples, checkpoints, scores and output of every model keep their bits.

They are exact, on any x86-64 processor: some cases are run as on others, too. Mixtures take logarithms
from the C library, and another one may round them differently. Elsewhere than on x86-64 (.ci/arm) all is
compared but what NumPy computes, which nobody has compared there.
"""

import json
import platform

import pytest
from golden.cases import HASHES, RUNS, estimator_hashes, run_hashes
from golden.variants import PROCESSORS, hashes_on

pytestmark = pytest.mark.golden

GOLDEN = json.loads(HASHES.read_text())


#: A few that are short, and have between them all that NumPy computes of a run.
ELSEWHERE = ["lda-scir", "lda-scir-learned", "dlda-sgrld", "dpmm-sgrld", "sam-gmc-bgibbs"]
#: Ends of the digests of figures that NumPy computes.
NUMPY = ("metrics", "checkpoint", "eval", "topics", "perplexity")


def compared(name, found):
    """Leave out what NumPy computes on machines other than x86-64; for mixtures, the chain too."""
    if platform.machine() == "x86_64":
        return found
    own = (*NUMPY, "chain", "infer") if "dpmm" in name else NUMPY
    return {
        what: digest
        for what, digest in found.items()
        if not what.endswith(own) and not what.startswith("DPMixture")
    }


#: Cases whose parts other cases have by day: two options together, or a model in another size.
BY_NIGHT = {
    "lda-scir-natural-log",
    "lda-scir-learned-lazy",
    "lda-gibbs-many",
    "lda-cgs-learned",
    "lda-exact-learned",
    "lda-scir-sampled",  # as preset-scir-2018
    "dpmm-gibbs-sticks",  # as preset-dpmm-2018
    "dlda-one",
    "preset-dlda-2017-gibbs",
    # the same samplers in the other kind of topics
    "dlda-scir",
    "dlda-smld",
    "dlda-smld-approx",
    "dlda-tlfsgr",
    "lda-tlasgr",
    "lda-sgrld",  # as preset-sgrld-2013
    "lda-smld",  # as lda-smld-approx, and preset-smld-2018
    "dpmm-scir",  # as dpmm-scir-reuse
    "dtm-exact",  # as lda-exact, and dtm-sgld
    "dlda-sgrld",  # by day as on another processor
    "dpmm-sgrld",
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.nightly) if n in BY_NIGHT else n for n in RUNS]
)
def test_a_run_gives_the_bits_that_it_always_gave(name, tmp_path):
    assert compared(name, run_hashes(name, tmp_path)) == compared(name, GOLDEN[name])


def test_estimators_give_the_bits_that_they_always_gave():
    found = estimator_hashes()
    assert compared("estimators", found) == compared("estimators", GOLDEN["estimators"])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its kernels are those of x86-64")
@pytest.mark.parametrize(
    "processor",
    [p if p == "SSE" else pytest.param(p, marks=pytest.mark.nightly) for p in PROCESSORS],
)
def test_a_run_gives_the_same_bits_on_another_processor(processor, tmp_path):
    """Red with: ``np.dot`` or ``@`` in `pysgrld.core.arithmetic`, or ``np.log`` and ``np.cos``."""
    found = hashes_on(processor, ELSEWHERE, tmp_path)
    assert found == {name: GOLDEN[name] for name in ELSEWHERE}


def test_every_golden_case_is_still_run():
    assert set(GOLDEN) == {*RUNS, "estimators"}
