"""Expected topics of new documents, against NumPy and against sums over all topics of their tokens."""

import numpy as np
import pytest
from oracles import expected

from pysgrld.core import core, padded_width
from pysgrld.errors import NumericalError
from pysgrld.models.token_reader import EXPECTED_PASSES

WORDS = 11


def some_documents():
    """Counts of words, (D, V): an empty document, one of a single token, long ones."""
    rng = np.random.default_rng(1)
    table = rng.poisson(0.7, (9, WORDS))
    table[0], table[1] = 0, np.eye(WORDS, dtype=int)[3]
    table[2] *= 200
    return table


def csr(table):
    """Documents as kernels take them."""
    rows, words = np.nonzero(table)
    return {
        "indptr": np.searchsorted(rows, np.arange(len(table) + 1)).astype(np.int64),
        "indices": words.astype(np.int32),
        "counts": table[rows, words].astype(np.int32),
    }


def topics_of(k, seed=2):
    """Topics phi, (V, Kp) float32."""
    phi = core.zeros(WORDS, padded_width(k), "float32")
    phi[:, :k] = np.random.default_rng(seed).dirichlet(np.full(WORDS, 0.3), k).T + 1e-9
    return phi


def found(k, table, **changed):
    arguments = {
        "phi": topics_of(k),
        "topics": k,
        "alpha": 0.1,
        "passes": 4,
        "work": core.Workspace(),
        "threads": 2,
        **csr(table),
    } | changed
    return core.documents_expected(**arguments)


@pytest.mark.parametrize("k", [1, 15, 16, 17, 100, 300])
@pytest.mark.parametrize("passes", [0, 1, 4])
def test_counts_are_those_of_numpy(isa, k, passes):
    """With one alpha, and with one for each topic.

    Red with: a word's own share left in; alpha left out; a pass too many; N of the pass that runs.
    """
    table = some_documents()
    alphas = np.zeros(padded_width(k), np.float32)
    alphas[:k] = np.random.default_rng(3).gamma(1.0, 0.2, k) + 0.01
    phi = topics_of(k)[:, :k].astype(float)
    for given, wanted in ((0.1, 0.1), (alphas, alphas[:k].astype(float))):
        counts = found(k, table, alpha=given, passes=passes)
        oracle = expected.counts(phi, table, wanted, passes)
        np.testing.assert_allclose(counts[:, :k], oracle, rtol=2e-4, atol=2e-4)
        np.testing.assert_allclose(counts.sum(axis=1), table.sum(axis=1), rtol=1e-5)
        assert (counts[:, k:] == 0).all()


def test_a_document_does_not_depend_on_threads_or_neighbours(isa):
    """Red with: scratch of a document that the one before has left."""
    table = some_documents()
    whole = found(40, table)
    for threads in (1, 3):
        np.testing.assert_array_equal(found(40, table, threads=threads), whole)
    for d in range(len(table)):
        np.testing.assert_array_equal(found(40, table[d : d + 1]), whole[d : d + 1])


@pytest.mark.parametrize(("alpha", "most"), [(0.05, 0.127), (0.5, 0.019)])
def test_proportions_are_near_the_posterior_mean(alpha, most):
    """300 documents of one to seven tokens, three topics: the root mean square of what they are off.

    Nearer than fifty Gibbs sweeps whose second half is kept, which is what they took the place of
    (0.19 and 0.044). Red with: a word's own share left in; 2 passes; 16 and more at the small alpha.
    """
    k, rng = 3, np.random.default_rng(5)
    phi = core.zeros(WORDS, padded_width(k), "float32")
    phi[:, :k] = rng.dirichlet(np.full(WORDS, 0.5), k).T + 1e-4
    documents = [rng.choice(WORDS, 1 + i % 7).tolist() for i in range(300)]
    table = np.array([np.bincount(words, minlength=WORDS) for words in documents])
    alphas = np.full(k, alpha)
    posterior = np.array([expected.exact(phi[:, :k].astype(float), w, alphas) for w in documents])
    lengths = table.sum(axis=1, keepdims=True) + k * alpha

    def error(counts):
        return float(np.sqrt((((counts - posterior) / lengths) ** 2).sum(axis=1).mean()))

    _, gibbs = core.documents_gibbs(
        phi=phi,
        topics=k,
        **csr(table),
        doc_ids=np.arange(len(table)),
        alpha=alpha,
        sweeps=50,
        kept=25,
        rao_blackwell=True,
        seed=1,
        chain=0,
        step=0,
        purpose=core.Purpose.test,
        want_words=False,
        want_documents=True,
        work=core.Workspace(),
        threads=1,
    )
    eight = error(found(k, table, phi=phi, alpha=alpha, passes=EXPECTED_PASSES)[:, :k])
    assert eight < most
    assert eight < 0.8 * error(gibbs[:, :k] / (core.UNIT * 25))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"passes": -1}, "passes"),
        ({"topics": 17}, "padded"),
        ({"indices": np.full(9, WORDS, np.int32)}, "indices|counts"),
    ],
)
def test_what_it_refuses(changed, said):
    with pytest.raises(ValueError, match=said):
        found(5, some_documents(), **changed)


def test_topics_that_nothing_can_be_of_are_refused():
    nothing = np.zeros((WORDS, 16), np.float32)
    with pytest.raises(NumericalError, match="row 0 sums to"):
        found(5, some_documents(), phi=nothing)


@pytest.mark.parametrize("k", [1, 7, 16, 100, 129, 300, 1000])
def test_proportions_are_those_of_numpy_to_the_last_bit(k):
    """Red with: alpha left out; sums one after the other; pads among the topics."""
    counts = core.zeros(70, padded_width(k), "float32")
    counts[:, :k] = np.random.default_rng(1).gamma(0.3, 4.0, (70, k))
    alpha = np.random.default_rng(2).gamma(1.0, 0.1, k)
    wanted = counts[:, :k].astype(np.float64) + alpha
    wanted /= wanted.sum(axis=1, keepdims=True)
    for threads in (1, 2):
        found = core.proportions_of(counts=counts, alpha=alpha, threads=threads)
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="counts: rows must be padded"):
        core.proportions_of(counts=counts, alpha=np.ones(padded_width(k) + 1), threads=1)
