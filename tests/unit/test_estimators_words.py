"""Words as people hold them in Python: tokens, bags, draws of documents, topics as lists and pictures."""

import importlib.util
import itertools
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pysgrld import LDA, SAM, DeepLDA, DPMixture
from pysgrld.cli import main
from pysgrld.errors import NotFittedError, UnknownWordsWarning, UsageError
from pysgrld.estimators.notebook import Panel, picture
from pysgrld.estimators.words import bags_in, names_in, new_documents, tokens_in
from pysgrld.reading.infer import infer, interval_steps
from pysgrld.reading.results import Results

DOCS = Path(__file__).parents[2] / "docs"
TOKENS = [
    ["Moon", "stars", "moon"],
    ["stars", "sea"],
    [],
    ["bread", "dough"],
    ["dough", "bread"],
] * 4
WORDS = ["bread", "dough", "stars", "Moon", "moon", "sea"]  # 8, 8, 8, 4, 4, 4 times
COUNTS = np.array([[Counter(tokens)[word] for word in WORDS] for tokens in TOKENS])
BAGS = [[(int(w), int(n)) for w, n in enumerate(row) if n] for row in COUNTS]
QUICK = {"burn_in": 0, "warm_up": 0, "max_iter": 30, "holdout": 0, "n_jobs": 1}


class Word(SimpleNamespace):
    """A token of spaCy."""


def spacy_document(*words):
    stop, punct = {"the", "a"}, {",", "."}
    return [
        Word(text=w, is_space=not w.strip(), is_punct=w in punct, is_stop=w.lower() in stop)
        for w in words
    ]


@pytest.fixture(scope="module")
def fitted():
    return LDA(2, **QUICK).fit(COUNTS, vocabulary=WORDS)


@pytest.mark.parametrize("make", [list, tuple, pd.Series])
def test_tokens_are_counted_as_they_are_the_most_frequent_first(make):
    """Red with: tokens in lower case, rare words or stop words left out."""
    found, names = new_documents(make(TOKENS), 1)
    assert names.tolist() == WORDS
    np.testing.assert_array_equal(found.indptr, np.cumsum([0, *(COUNTS > 0).sum(axis=1)]))
    np.testing.assert_array_equal(found.indices, np.nonzero(COUNTS)[1])
    np.testing.assert_array_equal(found.counts, COUNTS[COUNTS > 0])


@pytest.mark.parametrize(
    ("x", "vocabulary"),
    [(TOKENS, None), (TOKENS, WORDS), (BAGS, WORDS), (BAGS, dict(enumerate(WORDS)))],
    ids=["tokens", "tokens of a vocabulary", "bags", "bags of a dictionary"],
)
def test_words_fit_the_model_that_their_counts_fit(x, vocabulary, fitted):
    model = LDA(2, **QUICK).fit(x, vocabulary=vocabulary)
    np.testing.assert_array_equal(model.components_, fitted.components_)
    assert model.feature_names_in_.tolist() == WORDS
    np.testing.assert_array_equal(model.transform(x), fitted.transform(COUNTS))
    np.testing.assert_array_equal(model.transform(TOKENS), fitted.transform(BAGS))


@pytest.mark.parametrize(
    "model",
    [
        DeepLDA((2, 1), **QUICK),
        DPMixture(max_iter=5, burn_in=1),
        SAM(2, burn_in=0, max_iter=30, holdout=0),
    ],
)
def test_every_model_takes_tokens_and_bags(model):
    assert model.fit(TOKENS).feature_names_in_.tolist() == WORDS
    model.fit(BAGS, vocabulary=WORDS)
    assert [len(words) for words in model.top_words(3)] == [3] * len(model.components_)


def test_documents_of_spacy_are_words_without_stops_and_punctuation():
    """Red with: tokens as they are spelled, or with the commas among them."""
    found = tokens_in([spacy_document("The", "Moon", ",", " ", "rose", "."), spacy_document()])
    assert found == [["moon", "rose"], []]


def test_a_matrix_is_no_list_of_tokens_nor_of_bags():
    for x in (COUNTS, COUNTS.tolist(), pd.DataFrame(COUNTS), "text", ["a text"], [[]], []):
        assert tokens_in(x) is None
        assert bags_in(x) is None


@pytest.mark.parametrize(
    ("bags", "said"),
    [
        ([[(0, 1)], [(6, 1)]], r"^X\[1\] has the pair \(6, 1\): wanted a column from 0 to 5"),
        ([[(-1, 1)]], "wanted a column from 0 to 5"),
        ([[("moon", 1)]], "wanted a column"),
        ([[(0, 0.5)]], "counts must be whole numbers .*tf-idf"),
        ([[(0, float("nan"))]], "counts must be whole numbers"),
        ([[(0, -1)]], "counts must be whole numbers"),
        ([[(0, 2**31)]], "counts must be whole numbers"),
        ([[(0, 2**30), (0, 2**30)]], "a word more than 2147483647 times"),
    ],
)
def test_a_pair_that_is_no_count_of_a_column_is_named(bags, said, fitted):
    with pytest.raises(UsageError, match=said):
        fitted.transform(bags)


def test_a_word_that_is_twice_in_a_bag_is_added_up(fitted):
    np.testing.assert_array_equal(
        fitted.transform([[(3, 1), (0, 2), (3, 2.0)]]), fitted.transform([[2, 0, 0, 3, 0, 0]])
    )


def test_tokens_that_nobody_knows_are_left_out_and_said_once(fitted):
    np.testing.assert_array_equal(
        fitted.transform([["zebra", "moon"]]), fitted.transform([["moon"]])
    )
    model = LDA(2, total_samples=20, **QUICK).partial_fit(TOKENS)
    with pytest.warns(UnknownWordsWarning, match="1 of 2 tokens ignored: not among the 6 words"):
        model.partial_fit([["zebra", "moon"]])


def test_the_first_minibatch_brings_the_words():
    """Red with: "the model knows no words"."""
    model = LDA(2, total_samples=20, **QUICK)
    texts = ["moon and stars", "stars of the moon", "bread", "bread dough", "dough"]
    assert set(model.partial_fit(texts).feature_names_in_) == {"moon", "stars", "bread", "dough"}
    with pytest.raises(UsageError, match="vocabulary: the model already has its words"):
        model.partial_fit(texts, vocabulary=WORDS)


@pytest.mark.parametrize(
    ("vocabulary", "names"),
    [
        (WORDS, WORDS),
        (np.array(WORDS), WORDS),
        (dict(enumerate(WORDS)), WORDS),
        ({word: n for n, word in enumerate(WORDS)}, WORDS),
        ({0: "a", 2: "c"}, ["a", "word2", "c"]),
        (SimpleNamespace(get_feature_names_out=lambda: WORDS), WORDS),
    ],
)
def test_a_vocabulary_is_a_list_a_dictionary_or_a_vectorizer(vocabulary, names):
    assert names_in(vocabulary).tolist() == names


@pytest.mark.parametrize(
    "vocabulary", ["words", 3, {"a": "b"}, {0.5: "a"}, {-1: "a"}, {"a": 0, "b": 0}]
)
def test_what_names_no_columns_is_refused(vocabulary):
    with pytest.raises(UsageError, match="vocabulary: wanted"):
        LDA(2, **QUICK).fit(COUNTS, vocabulary=vocabulary)


def test_a_vocabulary_of_another_size_and_a_table_of_texts_are_refused():
    with pytest.raises(UsageError, match="vocabulary has 2 words, but X has 6 columns"):
        LDA(2, **QUICK).fit(COUNTS, vocabulary=["a", "b"])
    with pytest.raises(UsageError, match=r"give the column of texts, such as X\['text'\]"):
        LDA(2, **QUICK).fit(pd.DataFrame({"id": ["a", "b"], "text": ["one two", "three"]}))


# ---- seeds


@pytest.mark.parametrize(
    ("make", "drawn"),
    [
        (np.random.RandomState, lambda s: np.random.RandomState(s).randint(2**31 - 1)),
        (np.random.default_rng, lambda s: np.random.default_rng(s).integers(2**31 - 1)),
    ],
)
def test_generators_of_numpy_draw_a_seed_that_is_saved(make, drawn, tmp_path):
    """Red with: a seed of 0 for all; a run that cannot be written."""
    model = LDA(2, random_state=make(5), **QUICK).fit(COUNTS)
    again = LDA(2, random_state=int(drawn(5)), **QUICK).fit(COUNTS)
    np.testing.assert_array_equal(model.components_, again.components_)
    model.save(tmp_path / "run")
    assert LDA.load(tmp_path / "run").random_state == drawn(5)
    assert make(5) is not model.random_state


# ---- draws of documents


def test_samples_are_kept_unasked_in_so_much_memory(monkeypatch):
    model = LDA(2, **QUICK).fit(COUNTS)
    assert model.samples().shape == (model.n_samples_, 2, 6)
    monkeypatch.setattr("pysgrld.estimators.kept.AUTO_BYTES", 4 * 2 * 6 * 3)
    assert len(LDA(2, **QUICK).fit(COUNTS).samples()) in (2, 3)


def test_draws_are_those_of_the_command(tmp_path):
    """Red with: one draw for all documents; draws given other topics."""
    settings = {"algo": "gibbs", "burn_in": 5, "max_iter": 205, "holdout": 0, "n_jobs": 1}
    model = LDA(2, **settings).fit(COUNTS, vocabulary=WORDS)
    draws = model.transform(COUNTS, draws=40)
    assert draws.shape == (40, 20, 2)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0, atol=1e-5)
    assert (draws[1:] != draws[:-1]).any(axis=(1, 2)).all()
    model.save(tmp_path / "run")
    results = Results(tmp_path / "run", 1)
    documents = model._documents_like(COUNTS)
    (found,) = infer(results, [documents], steps=interval_steps(results, 40))
    full = COUNTS.sum(axis=1) > 0
    np.testing.assert_allclose(draws.mean(axis=0)[full], found.theta[full], atol=1e-6)


def test_no_more_draws_than_samples_and_none_without(fitted):
    model = LDA(2, keep_samples=3, **QUICK).fit(COUNTS)
    with pytest.warns(UserWarning, match=r"draws: only \d samples? of the topics are stored.* 50"):
        drawn = model.transform(COUNTS, draws=50)
    assert len(drawn) == len(model.samples()) <= 3
    with pytest.raises(
        UsageError, match="draws: the model has no posterior samples; set keep_samples"
    ):
        LDA(2, keep_samples=0, **QUICK).fit(COUNTS).transform(COUNTS, draws=5)
    for wrong in (0, 1.5, True):
        with pytest.raises(UsageError, match="draws: wanted a number of draws"):
            fitted.transform(COUNTS, draws=wrong)


def test_draws_of_a_deep_layer_have_its_topics():
    model = DeepLDA((3, 2), **QUICK).fit(COUNTS)
    assert model.transform(COUNTS, layer=2, draws=4).shape[1:] == (20, 2)


# ---- shown


def test_topics_are_lists_of_words(fitted):
    order = np.argsort(-fitted.components_, axis=1, kind="stable")
    assert fitted.topics_ == [[WORDS[w] for w in row] for row in order]
    assert fitted.top_words(2) == [row[:2] for row in fitted.topics_]
    names = [word.upper() for word in WORDS]
    assert fitted.top_words(1, names) == [[row[0].upper()] for row in fitted.topics_]
    with pytest.raises(NotFittedError):
        LDA(2).topics_  # noqa: B018
    assert not hasattr(LDA(2), "topics_")
    with pytest.raises(UsageError, match="n: wanted a number of words"):
        fitted.top_words(0)


def test_bars_are_probabilities_and_lines_where_the_draws_are():
    figure = LDA(2, algo="gibbs", burn_in=5, max_iter=300, holdout=0).fit(COUNTS, vocabulary=WORDS)
    drawn = figure.plot_topics([1], 3)
    (axes,) = drawn.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == figure.top_words(3)[1]
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(widths, sorted(figure.components_[1])[::-1][:3], rtol=1e-6)
    ends = axes.collections[0].get_segments()
    frame = figure.topics_frame(3)
    of_it = frame[frame.topic.str.startswith("1 ")]
    np.testing.assert_allclose([s[0][0] for s in ends], of_it.low, atol=1e-6)
    np.testing.assert_allclose([s[1][0] for s in ends], of_it.high, atol=1e-6)
    assert "90 % interval" in drawn.get_supxlabel()
    unsure = LDA(2, **QUICK | {"max_iter": 300}, exact_sweeps=0).fit(COUNTS)
    assert "90 % of the draws" in unsure.plot_topics().get_supxlabel()
    with pytest.raises(UsageError, match="topics: wanted numbers from 0 to 1, found 2"):
        figure.plot_topics(topics=[2])
    with pytest.raises(
        UsageError, match="wanted a number of topics or a list of rows, found 'tax'"
    ):
        figure.plot_topics("tax")


def test_the_greatest_topics_are_drawn_and_every_column_has_numbers():
    """Red with: the first rows for the greatest topics; numbers below the last row alone."""
    rng = np.random.default_rng(1)
    lda = LDA(6, algo="gibbs", burn_in=2, max_iter=10, holdout=0).fit(rng.poisson(1, (30, 12)))
    words = [f"w{i}" for i in range(12)]
    drawn = lda.plot_topics(5, 3, words)
    greatest = np.argsort(-lda.shares_, kind="stable")[:5]
    titles = [axes.get_title(loc="left") for axes in drawn.axes[:5]]
    assert [int(title.split()[0]) for title in titles] == greatest.tolist()
    assert titles[0].endswith(f", {100 * lda.shares_.max():.1f} %")
    assert "w" in titles[0]
    numbered = [axes.xaxis.get_tick_params()["labelbottom"] for axes in drawn.axes[:5]]
    assert numbered == [False, True, True, True, True]


def test_long_titles_of_charts_stay_within_the_figure():
    """Red with: one line, which is cut at the right edge and covers the next title."""
    titles = ["1 righteousness, unrighteousness, acknowledgement, 5.2 %", "2 $x$ and $y$, 1 %"]
    panels = [Panel(titles[k % 2], ["w"], np.ones(1), None) for k in range(4)]
    for count in (1, 3, 4):
        drawn = picture(panels[:count], "probability")
        drawn.draw_without_rendering()
        boxes = [axes._left_title.get_window_extent() for axes in drawn.axes[:count]]
        assert boxes[-1].x1 <= drawn.bbox.x1
        assert max(box.y1 for box in boxes) <= drawn.bbox.y1
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
        lines = [axes.get_title(loc="left") for axes in drawn.axes[:count]]
        assert [" ".join(line.split()).replace("\\$", "$") for line in lines] == [
            panel.title for panel in panels[:count]
        ]


def test_a_pipeline_shows_itself_and_names_the_words():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    texts = ["moon <b>stars</b>", "stars moon", "bread dough", "dough bread"]
    pipe = make_pipeline(CountVectorizer(), LDA(2, **QUICK)).fit(texts)
    assert set(pipe[-1].top_words(1, pipe[:-1])[0]) <= {"moon", "stars", "bread", "dough", "b"}
    assert "CountVectorizer" in pipe._repr_html_()
    named = LDA(2, **QUICK).fit(COUNTS, vocabulary=["<i>", *WORDS[1:]])
    assert "&lt;i&gt;" in named._repr_html_()
    assert "<i>" not in named._repr_html_()


@pytest.mark.filterwarnings("ignore:draws. only")
def test_the_notebook_runs_and_is_stored_with_outputs(monkeypatch):
    """Red with: a cell without its output; no picture; a cell that no longer runs."""
    path = DOCS / "internals" / "notebook.py"
    spec = importlib.util.spec_from_file_location("notebook_runner", path)
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    notebook = json.loads(runner.NOTEBOOK.read_text())
    monkeypatch.chdir(DOCS)

    def quick(source):
        return source.replace("max_iter=300", "max_iter=70, burn_in=10, starts=1")

    kinds = set()
    for count, (cell, value) in enumerate(runner.run_cells(notebook, quick), 1):
        (stored,) = cell["outputs"]
        assert cell["execution_count"] == stored["execution_count"] == count
        assert stored["data"].keys() == runner.output_of(value, count)["data"].keys()
        kinds |= stored["data"].keys()
    assert {"image/png", "text/html"} <= kinds
    words = {word for _, topic in value for word in topic}
    assert {"school", "schools", "education", "students"} & words


# ---- words that come later


def of_themes(rng, n, which):
    words = [[f"{theme}{i}" for i in range(15)] for theme in "abc"]
    return [rng.choice(words[which[i % len(which)]], 20).tolist() for i in range(n)]


def test_a_model_grows_by_the_words_of_a_theme_that_comes(tmp_path):
    """Red with: words left out; topics that begin anew; rows of new words among the old ones."""
    rng = np.random.default_rng(0)
    model = LDA(4, total_samples=1000, warm_up=20, burn_in=40, n_jobs=1)
    for _ in range(50):
        model.partial_fit(of_themes(rng, 40, [0, 1]))
    before, old = model.components_, model.feature_names_in_
    seen = model._seen
    for _ in range(70):
        model.partial_fit(of_themes(rng, 40, [0, 1, 2]), grow=True)
    assert model.feature_names_in_[: len(old)].tolist() == old.tolist()
    assert {f"c{i}" for i in range(15)} == set(model.feature_names_in_[len(old) :])
    assert model._seen == seen + 2800
    new = model.components_[:, len(old) :].sum(axis=1)
    assert sorted(new > 0.9) == [False] * 3 + [True]
    kept = np.minimum(before, model.components_[:, : len(old)]).sum(axis=1)[new < 0.5]
    assert (kept > 0.8).sum() >= 2
    model.save(tmp_path / "run")
    again = LDA.load(tmp_path / "run").partial_fit([["zebra", "c0", "zebra"]], grow=True)
    assert again.feature_names_in_[-1] == "zebra"
    assert again.n_features_in_ == model.n_features_in_ + 1


def test_known_words_grow_nothing():
    model = LDA(2, total_samples=20, n_jobs=1).partial_fit(TOKENS)
    other = LDA(2, total_samples=20, n_jobs=1).partial_fit(TOKENS)
    model.partial_fit(TOKENS, grow=True)
    np.testing.assert_array_equal(model.components_, other.partial_fit(TOKENS).components_)


@pytest.mark.parametrize(
    ("make", "x", "said"),
    [
        (lambda: LDA(2, total_samples=20).partial_fit(COUNTS), TOKENS, "counts without words"),
        (lambda: LDA(2, total_samples=20).partial_fit(TOKENS), COUNTS, "X has counts"),
        (lambda: DeepLDA((2, 1), total_samples=20).partial_fit(TOKENS), TOKENS, "layers"),
    ],
)
def test_what_cannot_grow_says_why(make, x, said):
    with pytest.raises(UsageError, match=f"grow=True .*{said}"):
        make().partial_fit(x, grow=True)


def test_tokens_that_differ_in_capitals_alone_are_told():
    """Red with: unknown tokens that give the prior without a word."""
    fitted = LDA(2, **QUICK).fit(COUNTS, vocabulary=WORDS)
    with pytest.warns(UnknownWordsWarning, match=f"spelled as in fit: '{WORDS[0]}', not"):
        fitted.transform([[WORDS[0].upper()], [WORDS[0]]])
    with pytest.raises(UsageError, match="including capital letters"):
        LDA(2, **QUICK).fit(TOKENS, vocabulary=[word.upper() for word in WORDS])
    assert np.isfinite(fitted.transform([[], [WORDS[0]]])).all()


def test_a_loaded_run_masks_texts_as_the_command_did(tmp_path):
    """Red with: paths of further texts that count as words, although the run has none."""
    words = [f"{a}{b}" for a in ("disk", "host", "user") for b in ("fail", "open", "lost")]
    lines = [" ".join(words[(i * j) % 9] for j in range(12)) for i in range(1, 80)]
    (tmp_path / "log.txt").write_text("\n".join(lines))
    command = ["train", str(tmp_path / "log.txt"), "--mask", "-k", "2", "--iterations", "60"]
    command += ["--exact-sweeps", "0", "--max-df", "1.0", "-q", "--out", str(tmp_path / "run")]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert not ended.value.code
    plain, with_path = LDA.load(tmp_path / "run").transform(
        ["diskfail hostopen", "diskfail hostopen /var/userlost/diskopen"]
    )
    np.testing.assert_array_equal(plain, with_path)
