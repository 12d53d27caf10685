"""Numeric values that no model can use are refused before anything is read."""

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from pysgrld import LDA, DeepLDA, DPMixture
from pysgrld.cli import main
from pysgrld.estimators import fitting as resources
from pysgrld.estimators.fitting import jobs
from pysgrld.run.machine import threads
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Documents

X = np.eye(6, dtype=int) + 1
TINY = ["1e-320", "1e-300", "1e-46", "1e-38"]


@pytest.mark.row(77)
@pytest.mark.parametrize("algo", SAMPLERS)
@pytest.mark.parametrize("option", ["alpha", "eta"])
def test_a_prior_below_single_precision_is_refused(tmp_path, monkeypatch, trials, option, algo):
    """Red with: any number above 0 taken, which was 0 as soon as topics were made of it."""
    monkeypatch.chdir(tmp_path)
    for value in TINY:
        args = ["train", "nothing", "--algo", algo, f"--{option}", value]
        done = CliRunner().invoke(main, args, prog_name="sgmc")
        assert done.exit_code == 2, done.output
        assert f"'{value}' is not a number greater than 1.17549e-38" in done.stderr
        assert done.stderr.count("\n") == 1
        trials()


@pytest.mark.row(77)
@pytest.mark.parametrize("value", [float(tiny) for tiny in TINY])
@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda value: LDA(2, alpha=value), "alpha"),
        (lambda value: LDA(2, eta=value), "eta"),
        (lambda value: DeepLDA((2,), eta=value), "eta"),
        (lambda value: DPMixture(base=value), "base"),
    ],
)
def test_a_class_refuses_it_by_the_name_of_its_parameter(trials, made, name, value):
    """Red with: any number above 0 taken."""
    with pytest.raises(ValueError, match=f"^{name}: wanted .* above 0|{name} > 0, between 1.2e-38"):
        made(value).fit(X)
    trials()


def far(word):
    """Return SciPy rows with a 64-bit word id, which SciPy itself does not check."""
    x = sparse.csr_matrix(X)
    x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    x.indices[7] = word
    return x


def few(word):
    """Return `Documents` with one word id that may be too large."""
    return Documents(np.array([0, 2]), np.array([0, word], np.int32), np.array([1, 2], np.int32))


@pytest.mark.row(79)
@pytest.mark.parametrize("word", [-1, 6, 2**32 + 3, 2**40])
@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform", "perplexity"])
def test_words_beyond_the_columns_are_refused(trials, method, word):
    """Red with: 64 bits cut to 32, so that 2^32 + 3 was word 3; IndexError for the others."""
    lda = LDA(2, warm_up=0, burn_in=0, max_iter=5, holdout=0).fit(X)
    with pytest.raises(
        ValueError, match=rf"^X\[1\] has a count of word {word}, but words are numbered"
    ):
        getattr(lda, method)(far(word))
    if word in (-1, 6) and method != "fit":
        with pytest.raises(ValueError, match=rf"^X\[0\] has a count of word {word}"):
            getattr(lda, method)(few(word))
    trials()


@pytest.mark.row(79)
def test_a_sparse_vector_is_no_matrix(trials):
    """Red with: IndexError."""
    with pytest.raises(ValueError, match=r"^X has 1 dimension, but must have 2"):
        LDA(2).fit(sparse.coo_array(np.array([1, 0, 2])))
    trials()


@pytest.mark.row(79)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_components": 2**31 - 1}, "n_components: wanted n_components >= 1 and <= 262144"),
        ({"n_components": 0}, "n_components: wanted"),
        ({"n_jobs": 0}, "n_jobs: wanted a number of threads, or -1 for all"),
        ({"n_jobs": 1.5}, "n_jobs: wanted"),
        ({"n_jobs": "all"}, "n_jobs: wanted"),
        ({"holdout": float("nan")}, "holdout: wanted a number of documents >= 0, or a fraction"),
        ({"holdout": float("inf")}, "holdout: wanted"),
        ({"holdout": 1.5}, "holdout: wanted"),
        ({"holdout": "ten"}, "holdout: wanted"),
        ({"total_samples": 0}, "total_samples: wanted a number of documents >= 1"),
        ({"total_samples": -1}, "total_samples: wanted"),
        ({"total_samples": float("nan")}, "total_samples: wanted"),
        ({"total_samples": "many"}, "total_samples: wanted"),
        (
            {"random_state": 2**64},
            "random_state: wanted random_state >= 0 and <= 9223372036854775807",
        ),
        ({"random_state": -1}, "random_state: wanted"),
        ({"sweeps": 2**31}, "sweeps: wanted sweeps >= 1 and <= 100000"),
        ({"max_iter": 0}, "max_iter: wanted"),
        ({"minibatch": 2**31}, "minibatch: wanted"),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_parameter_out_of_range_is_named(trials, changes, message, method):
    """Red with: names of options, std::bad_alloc, or overflows in the core."""
    with pytest.raises(ValueError, match=f"^{message}"):
        getattr(LDA(**{"n_components": 2, "max_iter": 2} | changes), method)(X)
    trials()


@pytest.mark.row(79)
@pytest.mark.parametrize("made", [lambda: LDA(2, max_iter=2), lambda: DPMixture(max_iter=300)])
def test_more_words_than_memory_are_refused(monkeypatch, trials, made):
    """Red with: std::bad_alloc."""
    monkeypatch.setattr(resources, "allowed_memory", lambda: 8 << 30)
    x = sparse.csr_matrix((np.ones(3, int), [0, 1, 2], [0, 2, 3]), shape=(2, 2**31 - 1))
    with pytest.raises(ValueError, match=r"^topics over the 2147483647 features of X need"):
        made().fit(x)
    x = sparse.csr_matrix((np.ones(3, int), [0, 1, 2], [0, 2, 3]), shape=(2, 2**31 + 1))
    with pytest.raises(
        ValueError, match=r"^X has 2147483649 features, but the maximum is 2147483647"
    ):
        made().fit(x)
    trials()


@pytest.mark.row(79)
def test_threads_are_counted_as_scikit_learn_does(trials):
    """Red with: n_jobs=-1 refused as "found 0" threads."""
    every = threads(None, {}).number
    assert [jobs(n) for n in (1, -1, -2, -(10**6))] == [1, every, max(1, every - 1), 1]
    one, all_of_them = (
        LDA(2, warm_up=0, burn_in=0, max_iter=5, holdout=0, n_jobs=n).fit(X) for n in (1, -1)
    )
    assert one.components_.tobytes() == all_of_them.components_.tobytes()
    trials()
