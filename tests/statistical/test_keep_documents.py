"""The setting ``keep-documents``: documents that go on, the whole corpus in each iteration.

docs/internals/mathematics.md, "Nine tokens".
"""

import numpy as np
import pytest
from oracles import tiny_lda
from trial_counts import counts

from pysgrld.core import core
from pysgrld.corpus.minibatches import Epochs
from pysgrld.models.lda.mean_field import MeanFieldDocuments
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.models.table import find_model
from pysgrld.options.option import Facts
from pysgrld.types import Documents, Key, Minibatch

EXACT = tiny_lda.enumerate_posterior()
#: The nine tokens with the words of each document in order, and where they stand in the fixture.
NINE = Documents(
    np.array([0, 2, 4, 7], np.int64),
    np.array([0, 1, 1, 2, 0, 2, 3], np.int32),
    np.array([2, 1, 1, 1, 1, 2, 1], np.int32),
)
ORDER = [0, 1, 2, 3, 4, 6, 7, 5, 8]


def chain_of(seed, **given):
    given = {
        **{"algo": "scir", "topics": 2, "alpha": tiny_lda.ALPHA, "eta": (tiny_lda.ETA,)},
        **{"sweeps": 1, "warm-up": 0, "step-size": (0.5, 1.0, 0.0), "seed": seed},
        **{"keep-documents": "on", **given},
    }
    options, _ = resolve(given, Facts(3, 4, 9, 0, lambda *_: 4))
    stream = Epochs.of(options, NINE, np.arange(3))
    return find_model("lda").chain(options, stream, CorpusFacts(4, 9), RunOn(1))


@pytest.mark.statistical
@counts(2, 5)
def test_topics_of_kept_documents_have_the_exact_posterior(n):
    """One sweep an iteration. Red with: documents that start afresh (.04 off); expected counts
    instead of drawn ones, which vary too little (.02 off).
    """
    found = {}
    for seed in range(n):
        chain = chain_of(seed)
        for t in range(6000):
            chain.advance()
            if t < 100:
                continue
            z = chain.arrays()["z"][ORDER]
            for name, same in tiny_lda.coassigned(z).items():
                found.setdefault(name, []).append(float(same))
        chain.close()
    off = {name: np.mean(same) - float(EXACT[name]) for name, same in found.items()}
    assert all(abs(off[name]) < 0.011 for name in off if name != "n0^2"), off


def test_documents_that_go_on_are_not_said_to_start_afresh_or_to_be_noisy():
    """Red with: a chain that asks its sampler alone."""
    chain = chain_of(0)
    assert list(chain.remarks()) == []
    assert chain.noise_inflation == 1.0
    chain.close()


def test_proportions_that_go_on_are_those_of_more_passes(monkeypatch):
    """Five visits of one pass, topics fixed, are one visit of five. Red with: gamma from 1 again."""
    monkeypatch.setattr("pysgrld.models.lda.mean_field.TOLERANCE", 0.0)
    weights = core.zeros(4, 16, "float32")
    weights[:, :2] = np.random.default_rng(1).gamma(1.0, size=(4, 2))
    entries = (NINE.indptr, NINE.indices, NINE.counts)
    batch = Minibatch(*entries, np.arange(4, dtype=np.int32), np.arange(3), 1.0)

    def fitted(passes, visits):
        documents = MeanFieldDocuments(topics=2, alpha=0.3, sweeps=passes, threads=1)
        documents.keep(NINE)
        for step in range(visits):
            counts = documents.visit(Key(0, 0, step), {"weights": weights}, batch)["phi"].counts
        return counts, documents.arrays()["gamma"]

    for one, other in zip(fitted(1, 5), fitted(5, 1), strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.abs(fitted(1, 1)[1] - fitted(5, 1)[1]).max() > 0.01
