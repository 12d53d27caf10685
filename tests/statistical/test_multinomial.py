"""The skeleton of a model: its posterior is known, Dirichlet(eta + power * counts)."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.judge import Z, z_mean, z_variance
from skeletons.multinomial.declared import MODEL
from skeletons.multinomial.resolved import MultinomialOptions

from pysgrld.corpus.minibatches import Epochs
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.types import Documents

pytestmark = pytest.mark.statistical

ETA, POWER = 0.7, 0.4
#: Documents by words.
COUNTS = np.array([[9, 0, 3, 1], [2, 4, 0, 0], [0, 8, 1, 0], [5, 0, 0, 2], [1, 1, 1, 1]])


def kept_samples(algo, number, *, minibatch=None, step=4.0):
    """The kept samples of a chain after its first hundred iterations, (number, V)."""
    rows, words = COUNTS.nonzero()
    indptr = np.searchsorted(rows, np.arange(len(COUNTS) + 1))
    documents = Documents(indptr, words.astype(np.int32), COUNTS[rows, words].astype(np.int32))
    options = MultinomialOptions.from_values(
        {
            **{
                "model": MODEL.name,
                "algo": algo,
                "eta": ETA,
                "power": POWER,
                "warm-up": 0,
                "seed": 1,
            },
            **{"minibatch": minibatch or len(COUNTS), "step-size": (step, 1.0, 0.0), "lazy": "off"},
            "scale-weight": (0.5, 21.0, 0.7),
        }
    )
    stream = Epochs.of(options, documents, np.arange(len(documents)))
    facts = CorpusFacts(COUNTS.shape[1], documents.tokens)
    chain = MODEL.chain(options, stream, facts, RunOn(threads=1))
    samples = []
    for t in range(number + 100):
        chain.advance()
        if t >= 100:
            samples.append(chain.sample()["phi"][0])
    chain.close()
    return np.array(samples)


SHAPES = ETA + POWER * COUNTS.sum(axis=0)
MEAN = SHAPES / SHAPES.sum()


@pytest.mark.parametrize("algo", ["gibbs", "scir"])
def test_samples_have_the_mean_and_the_variance_of_the_posterior(algo):
    """Red with: the power left out of the factor; the first word's prior for all of them.

    Steps of 4 are all but independent draws.
    """
    phi = kept_samples(algo, 2000)
    for word, mean in enumerate(MEAN):
        assert abs(z_mean(phi[:, word], mean)) < Z
        exact = mean * (1.0 - mean) / (SHAPES.sum() + 1.0)
        assert abs(z_variance(phi[:, word], exact, mean)) < Z


def test_minibatches_leave_the_mean_where_it_is():
    """Small steps average the noise of minibatches out. Red with: the factor without D/B."""
    phi = kept_samples("scir", 5000, minibatch=2, step=0.05)
    assert phi.mean(axis=0) == pytest.approx(MEAN, abs=0.02)
