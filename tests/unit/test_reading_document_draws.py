"""Draws of the topics of documents, read from runs of every model."""

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from pysgrld.cli import main
from pysgrld.errors import UsageError
from pysgrld.reading.infer import interval_steps
from pysgrld.reading.results import Results
from pysgrld.types import Documents

FAMILIES = {
    "lda": ("--algo", "gibbs", "-k", "4"),
    "dlda": ("--layers", "4,3", "--algo", "tlasgr", "--set", "warm-up=0"),
    "dpmm": ("--model", "dpmm"),
    "sam": ("--model", "sam", "-k", "4"),
    "ovb": ("--algo", "ovb", "-k", "4"),
}
SAMPLES = ("--set", "burn-in=5", "--set", "sample-every=1")


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Gives the results of a run of a model, trained for a moment at its first use."""
    folder, runs = tmp_path_factory.mktemp("runs"), {}
    rng = np.random.default_rng(2)
    lines = [" ".join(f"w{w}" for w in rng.integers(0, 30, 20)) for _ in range(60)]
    (folder / "corpus.txt").write_text("\n".join(lines))

    def give(name):
        if name not in runs:
            more = () if name == "ovb" else SAMPLES
            more += ("--iterations", "45", "--out", str(folder / name), "-q")
            said = CliRunner().invoke(
                main, ["train", str(folder / "corpus.txt"), *FAMILIES[name], *more]
            )
            assert said.exit_code == 0, said.output
            runs[name] = Results(folder / name, 1)
        return runs[name]

    return give


def some(results, n=12):
    """Documents over the run's words; the third is empty."""
    counts = np.random.default_rng(4).poisson(0.7, (n, len(results.vocabulary)))
    counts[2] = 0
    filled = counts > 0
    indptr = np.concatenate(([0], np.cumsum(filled.sum(axis=1)))).astype(np.int64)
    return Documents(
        indptr, np.nonzero(filled)[1].astype(np.int32), counts[filled].astype(np.int32)
    )


@pytest.mark.parametrize(
    ("name", "at"), [("lda", 0), ("dlda", 0), ("dlda", 1), ("dpmm", 0), ("sam", 0)]
)
def test_every_family_draws_the_topics_of_documents(opened, name, at):
    """Red with: the draws of one sample for all; documents whose draws depend on their block."""
    results = opened(name)
    documents, steps = some(results), results.draw_steps(5)
    ids = np.arange(100, 112)
    found = results.document_draws(documents, ids, steps, at)
    assert found.theta.shape == found.tokens.shape == (5, 12, results.fitted.layers[at])
    assert found.theta.dtype == found.tokens.dtype == np.float32
    np.testing.assert_allclose(found.theta.sum(axis=2), 1, atol=1e-5)
    lengths = np.broadcast_to(documents.lengths, (5, 12))
    np.testing.assert_allclose(found.tokens.sum(axis=2), lengths, rtol=1e-4)
    assert (found.theta[0] != found.theta[1]).any()
    rows = np.array([7, 2])
    again = results.document_draws(documents.take(rows), ids[rows], steps, at)
    np.testing.assert_array_equal(again.theta, found.theta[:, rows])
    np.testing.assert_array_equal(again.tokens, found.tokens[:, rows])


def test_a_document_of_a_mixture_has_one_component_drawn_from_its_probabilities(opened):
    """Red with: the likeliest component in every draw."""
    results = opened("dpmm")
    documents, ids = some(results), np.arange(12)
    steps = results.draw_steps(40)
    found = results.document_draws(documents, ids, steps).theta
    assert set(np.unique(found)) == {0.0, 1.0}
    p = results.fitted.proportions(results.fitted.current, documents, ids, 0).astype(float)
    p = np.clip(p, 1e-7, 1 - 1e-7)  # of single precision
    times, n = found.sum(axis=0), len(steps)
    tail = np.minimum(stats.binom.cdf(times, n, p), stats.binom.sf(times - 1, n, p))
    assert tail.min() * tail.size > 1e-3


def test_a_fit_has_no_draws_and_a_mixture_no_intervals(opened):
    """Red with: intervals of the indicators of a mixture, which are 0 or 1."""
    with pytest.raises(UsageError, match="ovb has no samples; leave out --draws"):
        interval_steps(opened("ovb"), 20)
    with pytest.raises(UsageError, match="components differ between samples"):
        interval_steps(opened("dpmm"), 20)
    with pytest.raises(
        UsageError, match="ovb has no samples, so topics of documents cannot be drawn"
    ):
        opened("ovb").document_draws(some(opened("ovb")), np.arange(12), [])


def test_samples_that_documents_are_drawn_on_are_evenly_spaced_and_end_with_the_last(opened):
    """Red with: the first ones; evenly spaced ones that leave out the last."""
    results = opened("lda")
    assert results.kept() == list(range(6, 46))
    assert results.draw_steps(4) == [15, 25, 35, 45]
    assert results.draw_steps(1) == [45]
    assert results.draw_steps(99) == results.kept()


def tokens_by_topic(z, documents, k):
    of = np.repeat(np.arange(len(documents)), documents.lengths)
    return np.stack([np.bincount(z[of == d], minlength=k) for d in range(len(documents))])


@pytest.mark.parametrize(("name", "at"), [("lda", 0), ("dlda", 0), ("dlda", 1), ("dpmm", 0)])
def test_topics_of_tokens_have_the_law_of_the_documents_draws(opened, name, at):
    """Red with: topics of layer 2 given theta of layer 1; a word's topic whatever the document."""
    results = opened(name)
    documents, copies = some(results), np.repeat(np.arange(12), 300)
    ids, step = np.arange(len(copies)), results.checkpoint.step
    copied, k = documents.take(copies), results.fitted.layers[at]
    z = results.fitted.token_topics(copied, ids, at)
    assert z.dtype == np.int32
    assert z.shape == (copied.lengths.sum(),)
    found = tokens_by_topic(z, copied, k)
    drawn = results.document_draws(copied, ids, [step], at).tokens[0]
    if name in ("lda", "dpmm"):  # the very same draw
        np.testing.assert_array_equal(found, drawn)
    mean, expected = (x.reshape(12, 300, k).mean(axis=1) for x in (found, drawn))
    error = found.reshape(12, 300, k).std(axis=1) / np.sqrt(300)
    assert (np.abs(mean - expected) < 6 * error + 0.02).all()
    rows = np.array([3000, 7, 2])
    again = results.fitted.token_topics(copied.take(rows), ids[rows], at)
    np.testing.assert_array_equal(tokens_by_topic(again, copied.take(rows), k), found[rows])


def test_tokens_of_some_models_have_no_topics(opened):
    """Red with: proportions rounded to tokens."""
    for name, said in (
        ("sam", "a spherical admixture model does not assign topics"),
        ("ovb", "topics of their tokens cannot be drawn"),
    ):
        with pytest.raises(UsageError, match=said):
            opened(name).fitted.token_topics(some(opened(name)), np.arange(12), 0)
