"""How many topics there are where nobody says: a rule on tokens alone."""

import numpy as np
import pytest

from pysgrld import LDA
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts


def topics(given, tokens=372_000, documents=10_033):
    options = resolve(given, Facts(documents, 9_000, tokens, 0, lambda *_: 900)).options
    return options.topics


@pytest.mark.parametrize(
    ("tokens", "expected"),
    list(
        zip(
            (1, 5000, 25_535, 94_498, 172_000, 245_000, 372_000, 4_000_000, 10**9),
            (5, 5, 15, 30, 40, 50, 60, 200, 200),
            strict=True,
        )
    ),
)
def test_topics_are_a_tenth_of_the_square_root_of_the_tokens(tokens, expected):
    assert topics({}, tokens) == expected


def test_topics_that_were_asked_for_or_published_stay():
    assert topics({"topics": 7}) == 7
    assert topics({"preset": "scir-2018"}) == 100
    assert topics({"model": "sam"}) == 20


def test_an_estimator_takes_as_many_as_the_command():
    counts = np.random.default_rng(0).poisson(2.0, (200, 40))  # about 16,000 tokens: 12.6
    lda = LDA(max_iter=60, holdout=0, exact_sweeps=0).fit(counts)
    assert lda.components_.shape == (15, 40)
    assert lda.get_params()["n_components"] is None
