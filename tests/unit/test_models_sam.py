"""Documents of a spherical admixture model: weights, and how proportions start and go on."""

import numpy as np
import pytest

from pysgrld.core import core, padded_width
from pysgrld.models.resolve import resolve
from pysgrld.models.sam import chain as module
from pysgrld.models.sam.chain import inverse_frequencies, mean_direction
from pysgrld.models.sam.documents import ACCEPTED, RATE, SphericalDocuments, blocks
from pysgrld.models.sam.proportions import Products, directions, start, walk
from pysgrld.options.option import Facts
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Documents, Key, Minibatch

COUNTS = np.array(
    [[2, 1, 0, 0], [0, 1, 3, 0], [0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0], [4, 0, 0, 0]]
)
V = COUNTS.shape[1]


def documents(counts=COUNTS):
    present = counts > 0
    return Documents(
        np.concatenate(([0], np.cumsum(present.sum(axis=1)))),
        np.nonzero(present)[1].astype(np.int32),
        counts[present].astype(np.int32),
    )


def dense(of, v=V):
    out = np.zeros((len(of.indptr) - 1, v))
    out[np.repeat(np.arange(len(out)), np.diff(of.indptr)), of.indices] = of.values
    return out


def test_documents_are_weighed_and_divided_by_their_norm():
    """Red with: weights of words taken by the place of an entry; the norm of the counts."""
    idf = np.array([0.5, 0.0, 2.0, 1.0])
    found = directions(documents(), idf)
    expected = COUNTS * idf
    norms = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(dense(found), expected / np.where(norms > 0, norms, 1), rtol=1e-15)
    assert found.weightless.tolist() == [False, False, True, False, True, False]


@pytest.mark.parametrize("block", [2, 4096])
def test_weights_and_their_centre_are_those_of_the_training_documents(block, monkeypatch):
    """Read some at a time; ln(D/df), 0 of a word that none has.

    Red with: the corpus's D; words counted as often as they occur.
    """
    monkeypatch.setattr(module, "BLOCK", block)
    train = np.array([0, 1, 2, 3, 4])
    idf = inverse_frequencies(documents(), train, V)
    np.testing.assert_allclose(idf, [np.log(5 / 2), np.log(5 / 4), np.log(5 / 2), 0.0])
    total = dense(directions(documents(), idf))[train].sum(axis=0)
    found = mean_direction(documents(), train, idf)
    np.testing.assert_allclose(found, total / np.linalg.norm(total), rtol=1e-14)
    assert not mean_direction(documents(), train, np.zeros(V)).any()


def products(beta, v):
    k = beta.shape[1]
    gram, along = (
        core.zeros(padded_width(k), padded_width(k), "float64"),
        core.zeros(len(v), padded_width(k), "float64"),
    )
    gram[:k, :k], along[:, :k] = beta.T @ beta, v @ beta
    return Products(gram, along)


@pytest.mark.parametrize("k", [1, 3, 17])
def test_proportions_start_at_least_squares_away_from_the_faces(k):
    """A document whatever the others are. Red with: no floor; a row of another pivot."""
    rng = np.random.default_rng(k)
    beta, v = rng.random((20, k)), rng.random((9, 20))
    of = products(beta, v)
    found = start(of, k)
    fitted = np.maximum(np.linalg.lstsq(beta, v.T, rcond=None)[0].T, 0.1 / k)
    np.testing.assert_allclose(found[:, :k], fitted / fitted.sum(axis=1, keepdims=True), rtol=1e-5)
    assert not found[:, k:].any()
    assert start(of._replace(along=of.along[4:5]), k).tobytes() == found[4:5].tobytes()


def test_topics_that_are_the_same_have_a_start_all_the_same():
    """Red with: nothing added to the diagonal, which then holds a 0."""
    found = start(products(np.ones((6, 3)), np.ones((2, 6))), 3)[:, :3]
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def model(**given):
    facts = Facts(len(COUNTS), V, int(COUNTS.sum()), 0, lambda *_: V)
    given = {"model": "sam", "algo": "sggmc", "topics": 2, "burn-in": 3, "inner-steps": 2} | given
    return SphericalDocuments(resolve(given, facts).options, np.ones(V), np.full(V, V**-0.5), 1)


def asked(of, key, part, x, potential=None):
    some, ids = documents(), np.arange(len(COUNTS))
    batch = Minibatch(
        some.indptr, some.indices, some.counts, np.arange(V, dtype=np.int32), ids, 1.0
    )
    potential = potential or of.visit(key, {}, batch)["phi"]
    potential.sample_and_evaluate(key, part, x)
    return potential


@pytest.mark.parametrize("resample", ["on", "off"])
def test_proportions_are_drawn_anew_for_an_inner_step_or_kept(resample):
    """With numbers of their own. Red with: the same numbers for all inner steps; ``resample`` ignored."""
    of, key = model(resample=resample), Key(1, 0, 9)
    (block,) = blocks(of.options, V, np.full(V, V**-0.5))
    state = SAMPLERS["sggmc"].start(Key(1, 0, 0), block, 1)
    potential = asked(of, key, 0, state.x)
    seen = []

    class Watched:
        def sample_and_evaluate(self, key, part, x, *, noise=False):
            return self.saw(potential.sample_and_evaluate(key, part, x, noise=noise))

        def evaluate(self, x, *, noise=False):
            return self.saw(potential.evaluate(x, noise=noise))

        def saw(self, found):
            seen.append(potential.samples.tobytes())
            return found

    state.step(key, Watched(), 1e-9)  # points that stay: other numbers alone make other proportions
    assert len(seen) == 2
    assert (seen[0] == seen[1]) == (resample == "off")


def test_the_step_of_proportions_is_adapted_in_the_burn_in_and_stays():
    """Red with: a step that is adapted for ever, or that was given."""
    x, of = core.zeros(V, 16, "float64"), model()
    x[:2, :2] = np.eye(2)
    before = float(of.length[0])
    asked(of, Key(1, 0, 2), 0, x)
    acceptance, jump = of.moved
    assert 0 < acceptance < 1
    assert acceptance != pytest.approx(ACCEPTED, abs=0.01)
    assert jump > 0
    assert of.length[0] == pytest.approx(before * np.exp(RATE * (acceptance - ACCEPTED)))
    after = of.length.copy()
    asked(of, Key(1, 0, 3), 0, x)
    assert of.length.tolist() == after.tolist()
    fixed = model(**{"theta-step": 0.02})
    asked(fixed, Key(1, 0, 0), 0, x)
    assert fixed.length.tolist() == [0.02]
    assert fixed.metrics() == dict(
        zip(("theta_acceptance", "theta_jump"), fixed.moved.tolist(), strict=True)
    )


def test_documents_of_the_whole_corpus_go_on_from_where_they_were(monkeypatch):
    """Red with: least squares in every iteration."""
    begun, of = [], model(algo="gmc-bgibbs", **{"inner-steps": None})

    def spy(*arguments):
        begun.append(arguments[5].copy())
        return walk(*arguments)

    monkeypatch.setattr("pysgrld.models.sam.documents.walk", spy)
    of.keep(documents())
    x = core.zeros(V, 16, "float64")
    x[:2, :2] = np.eye(2)
    asked(of, Key(1, 0, 0), 0, x)
    kept = of.arrays()["theta"].copy()
    np.testing.assert_allclose(kept.sum(axis=1), 1.0)
    asked(of, Key(1, 0, 1), 0, x)
    assert begun[1].tobytes() == kept.tobytes() != begun[0].tobytes()
