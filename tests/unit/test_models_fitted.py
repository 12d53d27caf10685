"""What a run found, of every model: the same promises kept by each."""

from dataclasses import replace

import numpy as np
import pytest

from pysgrld.core.draws import select_words
from pysgrld.evaluate import HeldOut
from pysgrld.models.resolve import resolve
from pysgrld.models.table import MODELS, find_model
from pysgrld.models.word_order import top_words
from pysgrld.options.option import Facts
from pysgrld.types import Documents, Key, Slicing

V, LAYERS = 7, (5, 3)
GIVEN = {
    "lda": {"topics": 5},
    "dlda": {"layers": LAYERS},
    "dtm": {"model": "dtm", "topics": 5, "time": "when"},
    "dpmm": {"model": "dpmm"},
    "sam": {"model": "sam", "topics": 5},
}


class Run:
    """A `Record` of a run that has no checkpoint but for how directions weigh words."""

    words, documents, tokens, step, place = V, 20, 300, 0, "run"
    arrays = {"idf": np.ones(V), "theta.length": np.array([0.05])}

    def __init__(self, name):
        facts = Facts(20, V, 300, 0, lambda *_: V)
        if name == "dtm":
            slicing = Slicing("when", ("early", "late"), (0.0, 1.0))
            facts = facts._replace(slicing=slicing, slice_tokens=(100, 200))
        self.options, _ = resolve(GIVEN[name], facts)


def sample(name):
    """A kept sample: a row for each topic."""
    rng = np.random.default_rng(4)
    found = {"phi": rng.dirichlet(np.ones(V), 5).astype(np.float32)}
    if name == "dlda":
        found["phi2"] = rng.dirichlet(np.ones(5), 3).astype(np.float32)
        found["r"] = np.array([[0.2, 0.5, 0.3]], np.float32)
    if name == "dtm":
        slices = rng.dirichlet(np.ones(V), (5, 2)).astype(np.float32)
        found["phi"] = np.swapaxes(slices, 1, 2).reshape(5, 2 * V)
    if name == "dpmm":
        found["w"] = np.array([[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]], np.float32)
    if name == "sam":
        found["phi"] /= np.linalg.norm(found["phi"], axis=1, keepdims=True)
    return found


def documents(name):
    some = Documents(np.array([0, 2, 5]), np.array([1, 3, 0, 3, 6], np.int32), np.ones(5, np.int32))
    if name == "dtm":
        return replace(some, slices=np.array([1, 0], np.int32), copies=2)
    return some


@pytest.mark.parametrize("name", MODELS)
def test_a_sample_is_read_alike_in_both_layouts(name):
    """Red with: rows of the lowest layer for those of another; topics not padded, or words left out."""
    run, kept = find_model(name).fitted(Run(name), 1), sample(name)
    draw = run.sample_to_draw(kept)
    for at in range(run.depth):
        k = (LAYERS if name == "dlda" else (5,))[at]
        over = run.topics_over_words(draw, at)
        assert over.shape[0] == V
        size = (over[:, :k] ** (2 if run.signed else 1)).sum(axis=0)
        np.testing.assert_allclose(size, 1.0, rtol=1e-5)
        np.testing.assert_array_equal(run.topics_of_sample(kept, at), over[:, :k].T)
    words = np.array([6, 0], np.int32)
    np.testing.assert_array_equal(run.sample_to_draw(kept, words)["phi"], draw["phi"][words])


@pytest.mark.parametrize("name", MODELS)
def test_proportions_and_scores_of_documents(name):
    """Red with: proportions of another layer; a scorer of another model."""
    run, some = find_model(name).fitted(Run(name), 1), documents(name)
    draw = run.sample_to_draw(sample(name))
    for at in range(run.depth):
        theta = run.proportions(draw, some, np.arange(2), at)
        assert theta.shape == (2, (LAYERS if name == "dlda" else (5,))[at])
        np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    assert run.score == find_model(name).score
    held_out = HeldOut(some, some, np.arange(2), 0)
    scorer = run.scorer(held_out)
    assert np.isfinite(scorer.point(Key(0, 0, 1), select_words(draw, scorer.words)))


@pytest.mark.parametrize("name", MODELS)
def test_topics_are_matched_or_quantities_compared(name):
    """A model has the one or the other, and says why where draws are not averaged."""
    run = find_model(name).fitted(Run(name), 1)
    found = run.quantities(run.sample_to_draw(sample(name)), None)
    assert (run.likeness is None) == bool(run.no_mean) == bool(found) == bool(run.titles)
    assert found.keys() <= run.titles.keys()


def test_top_words_are_the_most_probable_first():
    """Equal ones by their number. Red with: the least; those beyond the vocabulary."""
    phi = np.array([[0.1, 0.5], [0.6, 0.0], [0.1, 0.25], [0.2, 0.25]], np.float32)
    assert top_words(phi, 3).tolist() == [[1, 3, 0], [0, 2, 3]]
    assert top_words(phi, 9).shape == (2, 4)
