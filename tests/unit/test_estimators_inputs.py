"""Texts given to estimators: read as the command reads them, and the example that docs begin with."""

import json
import runpy
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from pysgrld import LDA, SAM, DeepLDA, DPMixture, simplex
from pysgrld.cli import main
from pysgrld.errors import UnknownWordsWarning, UsageError
from pysgrld.reading.results import Results

TEXTS = [
    "Moon and stars, moon!",
    "The stars; a sea",
    "sea of the moon",
    "bread, dough",
    "dough: bread",
]
WORDS = ["moon", "bread", "dough", "sea", "stars"]
QUICK = {"burn_in": 0, "max_iter": 5, "holdout": 0}


@pytest.fixture(scope="module")
def fitted():
    return LDA(2, warm_up=0, **QUICK).fit(TEXTS)


def test_words_are_those_of_the_command(fitted, tmp_path):
    """Red with: words in another order, stop words, or words that one text has."""
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    run = str(tmp_path / "run")
    typed = ["train", "-k", "2", "--iterations", "5", "--holdout", "0", "--out", run]
    result = CliRunner().invoke(main, [*typed, str(tmp_path / "texts.txt")])
    assert result.exit_code == 0, result.output
    assert tuple(fitted.feature_names_in_) == Results(tmp_path / "run", 1).vocabulary
    assert sorted(fitted.feature_names_in_) == sorted(WORDS)
    read = LDA.load(run)
    assert read.transform(TEXTS).shape == (5, 2)
    counted = np.array([[text.lower().count(w) for w in read.feature_names_in_] for text in TEXTS])
    np.testing.assert_array_equal(read.transform(TEXTS), read.transform(counted))


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series])
def test_texts_come_in_any_sequence(make, fitted):
    np.testing.assert_array_equal(fitted.transform(make(TEXTS)), fitted.transform(TEXTS))


def test_unseen_words_are_left_out_and_rows_stay_in_their_places(fitted):
    """Red with: texts without a known word left out of the rows."""
    with pytest.warns(UnknownWordsWarning, match="1 of 3 documents in X have no word"):
        theta = fitted.transform(["zebra", "moon zebra", ""])
    np.testing.assert_array_equal(theta[0], [0.5, 0.5])
    np.testing.assert_array_equal(theta[1], fitted.transform(["moon"])[0])
    np.testing.assert_array_equal(theta[2], [0.5, 0.5])


@pytest.mark.parametrize(
    "model",
    [
        DeepLDA((2, 1), warm_up=0, **QUICK),
        DeepLDA((2, 1), link="real", warm_up=0, **QUICK),
        DPMixture(max_iter=5, burn_in=1),
        SAM(2, weighting="tf", **QUICK),
    ],
    ids=lambda model: repr(model)[:25],
)
def test_every_estimator_takes_texts(model):
    model.fit(["", *TEXTS])
    assert sorted(model.feature_names_in_) == sorted(WORDS)
    assert len(model.documents_frame(TEXTS)) == 5


def test_an_empty_text_keeps_its_label():
    assert DPMixture(max_iter=5, burn_in=1).fit(["", *TEXTS]).labels_[0] == -1


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda: LDA(2).fit(["moons", "stars"]),
            "^X: all 2 words of 2 documents were removed: min-df 2 removed 2; to count",
        ),
        (lambda: LDA(2).fit([*TEXTS, "a \0 b"]), r"^X\[5\]: the text has a NUL character$"),
        (lambda: LDA(2).fit(["\ud800", *TEXTS]), r"^X\[0\]: .*surrogate"),
        (lambda: LDA(2).fit("a text"), "give a list of texts, or"),
        (lambda: LDA(2).fit([["a", b"text"]]), "which is not a token"),
        (
            lambda: LDA(2, warm_up=0, **QUICK).fit(np.eye(3)).transform(TEXTS),
            "^X has texts, but the model knows no words; fit the model to",
        ),
    ],
)
def test_what_cannot_be_read_is_said_of_x(use, message):
    """Red with: names of files that nobody has written, and options."""
    with pytest.raises(UsageError, match=message):
        use()


def test_the_example_of_the_docs_finds_its_two_topics(tmp_path, monkeypatch, capsys):
    """Run as a newcomer would, who has the page and an empty folder."""
    monkeypatch.chdir(tmp_path)
    found = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "newcomer.py"))
    assert "high" in capsys.readouterr().out
    best = found["lda"].transform(found["texts"]).argmax(axis=1)
    assert best[:5].tolist() == [best[0]] * 5
    assert best[5:].tolist() == [1 - best[0]] * 5
    np.testing.assert_array_equal(
        found["again"].transform(["stars"]), found["lda"].transform(["stars"])
    )
    topics = json.loads(CliRunner().invoke(main, ["topics", "my-topics", "--json"]).stdout)[
        "topics"
    ]
    assert len(topics) == 2


def test_the_page_begins_with_the_example():
    docs = Path(__file__).parents[2] / "docs"
    code = (docs / "newcomer.py").read_text().split('"""\n\n', 1)[1]
    assert code in (docs / "python.md").read_text()


def test_seed_words_guide_topics_of_texts_and_of_columns(tmp_path):
    """Red with: seed words that are not handed on; forgotten by a model that was saved."""
    texts = ["ball goal team ball goal"] * 30 + ["moon star orbit moon star"] * 30
    how = {"n_components": 2, "max_iter": 60, "holdout": 0, "seed_weight": 0.2}
    seeds = {"sky": ["orb*"], "sport": ["team", "nowhere"]}
    with pytest.warns(UserWarning, match="seed_words: ignored 1 seed that is not among .* nowhere"):
        lda = LDA(**how, seed_words=seeds).fit(texts)
    words = lda.feature_names_in_.tolist()
    assert lda.components_[:, words.index("moon")].argmax() == 0
    assert lda.components_[:, words.index("goal")].argmax() == 1
    lda.save(tmp_path / "run")
    again = LDA.load(tmp_path / "run")
    assert again.partial_fit(texts[:4]).n_iter_ == lda.n_iter_ + 1
    counts = np.kron(np.eye(2, dtype=int), np.ones((30, 3), dtype=int))
    columns = LDA(**how, seed_words={"b": [4], "a": [0]}).fit(counts)
    assert columns.components_[0].argmax() >= 3
    with pytest.raises(UsageError, match="seed_words has words, but X has only counts"):
        LDA(**how, seed_words={"a": ["ball"]}).fit(counts)
    for wrong in ({}, {"a": "ball"}, 3, {"a": [0], "b": [1], "c": [2]}):
        with pytest.raises(UsageError, match="seed_words"):
            LDA(**how, seed_words=wrong).fit(counts)


def test_words_that_partial_fit_does_not_know_are_said_once():
    """Red with: words left out without a word; a warning at each of a thousand minibatches."""
    model = LDA(2, warm_up=0, **QUICK).fit(TEXTS)
    with pytest.warns(
        UnknownWordsWarning, match=r"^X: 1 of 2 tokens ignored: .* of the model\'s vocabulary"
    ):
        model.partial_fit(["zebra moon"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(["zebra moon"])
        model.partial_fit(TEXTS[:1])


@pytest.mark.parametrize(
    "model",
    [
        *(LDA(2, **{name: True}) for name in ("alpha", "eta", "seed_weight", "total_samples")),
        LDA(2, alpha=np.True_),
        LDA(2, seed_weight=False),
        LDA(2, step_size=(True, 1.0, 0.5)),
        LDA(True),
        *(LDA(2, **{name: True}) for name in ("holdout", "max_iter", "sweeps")),
        DeepLDA((2, 1), eta=(True, 0.1)),
        DPMixture(base=True),
        DPMixture(concentration_prior=(True, 1.0)),
        DPMixture(step_size=True),
        *(SAM(2, **{name: True}) for name in ("alpha", "kappa", "sigma", "kappa0")),
    ],
    ids=repr,
)
def test_a_bool_is_no_number(model):
    with pytest.raises(UsageError, match=r"wanted .*, found .*(True|False)"):
        model.fit(np.eye(3))


def test_a_bool_is_no_number_of_methods_and_functions_either(fitted):
    with pytest.raises(UsageError, match=r"observed is .* must be a fraction"):
        fitted.perplexity(TEXTS, observed=True)
    with pytest.raises(UsageError, match="alpha is True: wanted a number"):
        simplex.sample([1, 2], alpha=True, samples=1)
