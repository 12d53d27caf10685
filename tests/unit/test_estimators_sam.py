"""The spherical admixture model as an estimator: directions of any sign."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from pysgrld import SAM
from pysgrld.cli import main
from pysgrld.errors import CorpusError, UsageError
from pysgrld.estimators.inputs import in_fine_units
from pysgrld.reading.results import Results
from pysgrld.reading.topics import topics_of

K, V, D = 3, 30, 200


def planted():
    """Directions of both signs near mixtures of three topics."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(K, V))
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    theta = rng.dirichlet(np.full(K, 0.5), D)
    x = theta @ topics
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return topics, theta, x + 0.03 * rng.normal(size=x.shape)


@pytest.fixture(scope="module")
def fitted():
    topics, theta, x = planted()
    return topics, theta, x, SAM(K, weighting="tf", max_iter=500, n_jobs=1).fit(x)


def test_planted_topics_and_proportions_are_found_with_their_signs(fitted):
    """Red with: entries below 0 dropped, or a mean that is no direction."""
    topics, theta, x, sam = fitted
    np.testing.assert_allclose(np.linalg.norm(sam.components_, axis=1), 1.0, rtol=1e-5)
    cosines = topics @ sam.components_.T
    partner = cosines.argmax(axis=1)
    assert sorted(partner) == [0, 1, 2]
    assert (cosines.max(axis=1) > 0.97).all()
    found = sam.transform(x)[:, partner]
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.corrcoef(found.ravel(), theta.ravel())[0, 1] > 0.97
    assert sam.score(x) == -sam.log_perplexity(x)
    assert sam.score(x) > sam.score(np.roll(x, 1, axis=1)) + 1.0
    assert np.isfinite(sam.log_perplexity_)


def test_a_row_says_the_same_whatever_its_length_and_its_neighbours(fitted):
    """Red with: rows that are not divided by their norms."""
    _, _, x, sam = fitted
    some = sam.transform(x[:4])
    np.testing.assert_array_equal(sam.transform(sparse.csr_array(x))[:4], some)
    np.testing.assert_allclose(sam.transform(1000 * x[:4]), some, atol=1e-6)
    np.testing.assert_array_equal(sam.transform(np.zeros((1, V))), np.full((1, K), 1 / K))


def test_a_model_that_was_saved_reads_documents_alike(fitted, tmp_path):
    _, _, x, sam = fitted
    sam.save(tmp_path / "run")
    again = SAM.load(tmp_path / "run")
    np.testing.assert_array_equal(again.components_, sam.components_)
    np.testing.assert_array_equal(again.transform(x[:5]), sam.transform(x[:5]))
    assert again.get_params() == sam.get_params()


@pytest.mark.parametrize(
    ("x", "changed", "error", "message"),
    [
        ([[np.nan, 1.0]], {}, UsageError, "NaN or infinity"),
        ([[np.inf, 0.5]], {}, UsageError, "NaN or infinity"),
        (np.zeros((3, 4)), {}, UsageError, "every document is empty"),
        (np.ones((5, 4)), {}, CorpusError, "use weighting=tf"),
        (
            np.ones((5, 1)),
            {"weighting": "tf"},
            UsageError,
            "X has 1 feature.*needs at least 2 words",
        ),
        (np.eye(3), {"n_components": 4}, UsageError, "is more than the 3 words"),
        (np.eye(3), {"kappa": 0}, UsageError, "kappa > 0"),
        (np.eye(3), {"weighting": "idf"}, UsageError, "weighting in tf-idf, tf"),
        (np.eye(3), {"algo": "scir"}, UsageError, "algo in sggmc"),
    ],
)
def test_bad_data_and_parameters_are_named(x, changed, error, message):
    given = {"n_components": 2, "max_iter": 3, "holdout": 0, "weighting": "tf-idf"} | changed
    with pytest.raises(error, match=message):
        SAM(**given).fit(np.array(x))


def test_a_run_of_the_command_is_loaded(tmp_path):
    """Red with: TypeError for a parameter that the class has not."""
    (tmp_path / "texts.txt").write_text("sun moon\nmoon star star\nstar sun sun\nsun star\n" * 5)
    typed = ["train", "--model", "sam", "-k", "2", "--iterations", "3", "--holdout", "0"]
    typed += ["--min-df", "1", "--max-df", "1.0", "--out", str(tmp_path / "run")]
    found = CliRunner().invoke(main, [*typed, str(tmp_path / "texts.txt")])
    assert found.exit_code == 0, found.output
    sam = SAM.load(tmp_path / "run")
    assert sam.transform(["sun moon"]).shape == (1, 2)


def test_reals_are_stored_to_nine_digits():
    """Red with: one unit for all rows, in which a short row would vanish."""
    x = np.array([[1.0, -1 / 3, 0.0], [1e-12, 2e-12, 0.0], [0.0, 0.0, 0.0]])
    for found in (in_fine_units(x), in_fine_units(sparse.csr_array(x)).toarray()):
        np.testing.assert_allclose(found[0] / found[0, 0], x[0], atol=1e-9)
        np.testing.assert_allclose(found[1] / found[1, 1], [0.5, 1.0, 0.0], atol=1e-9)
        assert not found[2].any()


def test_words_that_a_direction_points_away_from_are_shown_where_they_are_as_far_off(
    fitted, tmp_path
):
    """Red with: the least entries whatever their sign; entries called probabilities in JSON."""
    sam = fitted[3]
    sam.save(tmp_path / "run")
    results = Results(tmp_path / "run", 1)
    for topic in topics_of(results, 4, intervals=False):
        entries = sam.components_[topic.id]
        least = topic.words[-1].probability
        away = np.sort(entries[entries <= -least])[:4]
        assert [word.probability for word in topic.against] == away.tolist()
        assert topic.words[0].probability == entries.max()
    shown = CliRunner().invoke(main, ["topics", str(tmp_path / "run"), "--json"]).output
    first = json.loads(shown[shown.index("{") :])["topics"][0]
    assert set(first["words"][0]) == {"word", "entry", "low", "high"}
    assert all(word["entry"] < 0 for word in first["against"])
