"""Which step each iteration makes, and which sweeps of a document are counted."""

import numpy as np
import pytest

from pysgrld import LDA
from pysgrld.errors import ConvergenceWarning
from pysgrld.models.resolve import resolve
from pysgrld.models.token_topics import GibbsDocuments
from pysgrld.options.option import Facts
from pysgrld.types import WARM_UP, Key, Minibatch

COUNTS = np.random.default_rng(0).poisson(1.0, (80, 9)) + 1


def chain_after(iterations, warm_up):
    options = {"warm_up": warm_up, "burn_in": warm_up, "step_size": (0.5, 10.0, 0.7)}
    model = LDA(3, max_iter=iterations, holdout=0, n_jobs=1, minibatch=20, **options)
    with pytest.warns(ConvergenceWarning, match="ends before the first posterior sample"):
        model.fit(COUNTS)
    return model._posterior.chain


@pytest.mark.parametrize("done", [2, 3, 4])
def test_an_iteration_makes_the_step_of_its_own_number(done):
    """a (1 + t/b)^-c from t = 0 at the end of the warm-up of 3 iterations.

    Red with: `<=` for `<` at the end of the warm-up; t from the first iteration; the next one's step.
    """
    chain = chain_after(done, 3)
    wanted = WARM_UP(2) if done < 3 else 0.5 * (1 + (done - 3) / 10) ** -0.7
    assert chain.step_size == pytest.approx(wanted)
    assert chain.advance(chain.stream.minibatch(done)).step_size == pytest.approx(wanted)


@pytest.mark.parametrize(("sweeps", "kept"), [(10, 5), (7, 4), (1, 1)])
def test_the_last_half_of_a_document_s_sweeps_are_counted(sweeps, kept):
    """Red with: all of them, the first of which are not yet at the law of the document."""
    facts = Facts(5000, 2000, 400_000, 10_000, lambda *_: 900)
    assert resolve({"algo": "scir", "sweeps": sweeps}, facts).options.kept_sweeps == kept


def test_what_is_counted_are_the_last_sweeps():
    """Counts of six sweeps of which two are kept are those after five and after six.

    Red with: all six; the first two.
    """
    rng = np.random.default_rng(1)
    phi = np.zeros((9, 16), np.float32)
    phi[:, :3] = rng.dirichlet(np.ones(9), 3).T
    indptr, indices = np.arange(0, 81 * 9, 9), np.tile(np.arange(9, dtype=np.int32), 80)
    counts = COUNTS.astype(np.int32).ravel()
    words, ids = np.arange(9, dtype=np.int32), np.arange(80)
    batch = Minibatch(indptr, indices, counts, words, ids, 1.0)

    def counted(sweeps, kept):
        options = {"topics": 3, "alpha": 0.5, "rao_blackwell": False, "threads": 1}
        documents = GibbsDocuments(sweeps=sweeps, kept=kept, **options)
        found = documents.visit(Key(1, 0, 0), {"phi": phi}, batch)["phi"]
        return found.counts[:, :3] * found.factor

    np.testing.assert_allclose(counted(6, 2), (counted(5, 1) + counted(6, 1)) / 2)
    assert not np.allclose(counted(6, 2), (counted(1, 1) + counted(2, 1)) / 2)
