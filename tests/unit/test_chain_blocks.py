"""What a chain of blocks says of its settings before it is run."""

import numpy as np
import pytest

from pysgrld import LDA

COUNTS = np.random.default_rng(0).poisson(1.0, (80, 9)) + 1


def said(**options):
    """The warnings of a chain over 80 documents."""
    model = LDA(3, burn_in=0, max_iter=5, holdout=0, n_jobs=1, **options).fit(COUNTS)
    return [remark.text for remark in model._posterior.chain.remarks()]


def test_both_factors_of_minibatch_noise_are_told():
    """1 + tanh(1/2) 4 of the variance given the counts. Red with: one called the posterior's."""
    (line,) = said(minibatch=20, step_size=(1.0, 1.0, 0.0))
    assert line.endswith(
        "by 2.85 compared with training without minibatches, and by about 1.9 compared with the posterior"
    )


@pytest.mark.parametrize("sweeps", [10, 40])
def test_little_noise_is_not_taken_for_the_posterior(sweeps):
    """Red with: 40 sweeps, whose means are off too, told of as enough."""
    step = (0.02, 1.0, 0.0)
    little = {"minibatch": 20, "step_size": step, "sweeps": sweeps}
    warned = said(**little, exact_sweeps=0)[1]
    assert "average topics may be biased by more than the width of a credible interval" in warned
    assert len(said(minibatch=20, step_size=(1.0, 1.0, 0.0), exact_sweeps=0)) == 1
    assert len(said(**little)) == 1  # exact draws follow


def test_documents_that_are_kept_are_not_warned_of():
    """Red with: the sweeps of a sampler that resumes from where its documents are."""
    assert said(algo="gibbs") == []
