"""Topics and documents as DataFrames, and how a notebook shows a model."""

import copy
import pickle
import re
import sys
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pysgrld
from pysgrld import LDA, SAM, DeepLDA, DPMixture
from pysgrld.chain.population import RESTARTED, TYPICAL
from pysgrld.errors import UnknownWordsWarning, UsageError
from pysgrld.reading.results import Results
from pysgrld.reading.topics import topics_of

COUNTS = np.kron(np.eye(3, dtype=int), np.ones((20, 6), dtype=int)) * 2
WORDS = [f"w{i}" for i in range(18)]
FRAME = pd.DataFrame(COUNTS, columns=WORDS, index=[f"d{i}" for i in range(60)])


@pytest.fixture(scope="module")
def fitted():
    return LDA(
        3, algo="gibbs", burn_in=20, max_iter=120, holdout=0, keep_samples=50, random_state=3
    ).fit(FRAME)


@pytest.fixture(scope="module")
def refined():
    return LDA(3, minibatch=20, max_iter=20, holdout=0, exact_sweeps=400).fit(FRAME)


def test_top_words_have_intervals_that_the_command_shows_too(fitted, tmp_path):
    """Red with: quantiles of other words than those shown; samples that are not saved."""
    found = fitted.topics_frame(2)
    assert found.columns.tolist() == ["topic", "rank", "word", "probability", "low", "high"]
    assert found.attrs == {"interval_of": "posterior", "population": "these"}
    assert found.topic.tolist() == [
        f"{k} {name}" for k, name in enumerate(fitted.names_) for _ in range(2)
    ]
    assert found["rank"].tolist() == [1, 2] * 3
    fitted.save(tmp_path / "run")
    shown = topics_of(Results(tmp_path / "run", 1), 2, intervals=True)
    topics = sorted(shown, key=lambda topic: topic.id)
    rows = [(w.word, w.probability, w.low, w.high) for topic in topics for w in topic.words]
    assert found.word.tolist() == [row[0] for row in rows]
    np.testing.assert_allclose(
        found[["probability", "low", "high"]], [row[1:] for row in rows], atol=1e-6
    )
    again = LDA.load(tmp_path / "run")
    assert again.feature_names_in_.tolist() == WORDS
    pd.testing.assert_frame_equal(again.topics_frame(2), found)
    assert "low" not in again.topics_frame(2, intervals=False)


def test_the_number_of_topics_is_an_attribute(fitted):
    """Red with: a docstring that names ``n_components_``, which no model has."""
    assert fitted.n_components_ == 3
    assert not hasattr(LDA(3), "n_components_")


def test_functions_that_read_runs_have_the_names_of_the_docs():
    """Red with: a module under the name of a function, such as ``pysgrld.report``."""
    text = Path(__file__, "../../../docs/python.md").resolve().read_text()
    names = re.search(r"`([^\n]*)\n?[^\n]* read runs;", text)[0]
    functions = [attrgetter(name)(pysgrld) for name in re.findall(r"`([a-z.]+)`", names)]
    assert len(functions) == 3
    assert all(map(callable, functions))


def test_topics_have_the_names_that_the_user_gave(tmp_path):
    """Red with: names that tables do not show, or that seeds, pickles, runs or new words lose."""
    lda = LDA(3, burn_in=0, warm_up=0, max_iter=6, holdout=0, seed_words={"health": ["w0"]})
    lda.fit(FRAME)
    assert lda.names_[0] == "health"
    lda.set_names({1: "  Taxes\n"})
    lda.save(tmp_path / "run")
    shown = topics_of(Results(tmp_path / "run", 1), 2, intervals=False)
    assert {topic.id: topic.label for topic in shown} == {0: "health", 1: "Taxes", 2: None}
    for model in (lda, pickle.loads(pickle.dumps(lda)), LDA.load(tmp_path / "run")):
        assert model.names_[:2] == ["health", "Taxes"]
        assert model.topics_frame(1).topic.tolist()[:2] == ["0 health", "1 Taxes"]
        assert model.summary_frame().set_index("topic").name[1] == "Taxes"
        assert model.get_feature_names_out().tolist()[1] == "1 Taxes"
        assert model.partial_fit(FRAME[:9]).names_[1] == "Taxes"
    for names, message in (
        ({3: "a"}, "names: wanted topics from 0 to 2, found 3"),
        (["health"], "wanted names by topic, such as {0: \"taxes\"}, found \\['health'\\]"),
        ({0: " "}, "the name of topic 0 must be a text of 1 to 200 characters, found ' '"),
    ):
        with pytest.raises(UsageError, match=message):
            lda.set_names(names)
    assert lda.fit(FRAME).names_[1] != "Taxes"


def test_draws_that_minibatches_widen_are_not_called_the_posterior():
    """Red with: intervals that are called credible whatever the sampler."""
    lda = LDA(3, minibatch=2, warm_up=0, burn_in=0, max_iter=120, holdout=0, keep_samples=40)
    assert lda.fit(FRAME).topics_frame(2).attrs == {"interval_of": "draws", "population": "these"}


def test_a_table_states_the_population_of_its_intervals(refined):
    """Red with: intervals for other texts that are called the posterior for these documents."""
    wide, narrow = refined.topics_frame(2), refined.topics_frame(2, population="these")
    assert wide.attrs == {"interval_of": "posterior", "population": "alike"}
    assert narrow.attrs == {"interval_of": "posterior", "population": "these"}
    assert (wide.high - wide.low).sum() > (narrow.high - narrow.low).sum()
    wide, narrow = refined.summary_frame(), refined.summary_frame(population="these")
    assert wide.attrs == {"interval_of": "posterior", "population": "alike"}
    assert narrow.attrs == {"interval_of": "posterior", "population": "these"}
    # The share is a third in each of 60 documents of equal length, or else all of the document.
    # Another start of training varies too; the fit had no short chains, which measure it.
    deviation = np.sqrt(2 / 9 / 60 * 60 / 59 * 59 / 57 + RESTARTED * TYPICAL / 9)
    np.testing.assert_allclose(wide.high - wide.share, 1.645 * deviation, rtol=0.1)
    assert (narrow.high - narrow.low < 0.03).all()
    with pytest.raises(UsageError, match="population: wanted one of alike, these, found 'all'"):
        refined.topics_frame(2, population="all")


def test_words_are_given_known_or_numbered(tmp_path):
    lda = LDA(2, burn_in=0, warm_up=0, max_iter=6, holdout=0).fit(COUNTS)
    found = lda.topics_frame(18)
    assert found.columns.tolist() == ["topic", "rank", "word", "probability"]  # too few samples
    assert set(found.word) == {f"word{i + 1}" for i in range(18)}
    assert set(lda.topics_frame(18, WORDS).word) == set(WORDS)
    with pytest.raises(UsageError, match="vocabulary has 1 word, but the model has 18"):
        lda.topics_frame(2, ["sun"])
    with pytest.raises(UsageError, match="n: wanted a number of words, at least 1, found 0"):
        lda.topics_frame(0)
    lda.save(tmp_path / "run")
    assert not hasattr(LDA.load(tmp_path / "run"), "feature_names_in_")


@pytest.mark.parametrize(
    ("model", "entry"),
    [
        (DeepLDA((3, 2), burn_in=0, warm_up=0, max_iter=8, holdout=0), "probability"),
        (DPMixture(max_iter=8, burn_in=2), "probability"),
        (SAM(3, weighting="tf", burn_in=0, max_iter=8, holdout=0), "entry"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_estimator_has_tables(model, entry):
    model.fit(FRAME)
    assert model.topics_frame(2).columns[3] == entry
    shares = model.documents_frame(FRAME)
    assert shares.index.tolist() == FRAME.index.tolist()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert set(model.topics_frame(1).topic) == set(shares.columns)
    assert ">w" in model._repr_html_()
    with pytest.raises(UsageError, match="layer: wanted 1"):
        model.topics_frame(2, layer=3)


def test_a_layer_has_tables_of_its_own():
    deep = DeepLDA((3, 2), burn_in=0, warm_up=0, max_iter=8, holdout=0).fit(FRAME)
    assert len(deep.topics_frame(4, layer=2)) == 8
    np.testing.assert_array_equal(
        deep.documents_frame(FRAME, layer=2).to_numpy(), deep.transform(FRAME, layer=2)
    )


def test_a_notebook_shows_the_words_of_topics(fitted):
    """Red with: words as they are, which may be tags."""
    assert LDA(3)._repr_html_() == "<pre>LDA(n_components=3)</pre>"
    assert fitted._repr_html_().count("<tr>") == 3
    odd = LDA(2, burn_in=0, warm_up=0, max_iter=6, holdout=0)
    shown = odd.fit(pd.DataFrame(np.eye(2, dtype=int), columns=["<b>", "a&b"]))._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


def test_pandas_that_is_missing_is_named(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for method in (fitted.topics_frame, lambda: fitted.documents_frame(COUNTS)):
        with pytest.raises(UsageError, match=r"_frame needs pandas: pip install pandas$"):
            method()


def test_effects_are_a_frame_of_comparisons_and_topics(fitted):
    """Red with: topics of other rows; documents without words that shift the others."""
    counts = np.vstack([COUNTS, np.zeros((1, 18), int)])
    data = pd.DataFrame({"third": np.repeat(["a", "b", "c", "d"], [20, 20, 20, 1])})
    found = fitted.effect(counts, "~ third", data)
    assert found.columns.tolist()[:5] == ["column", "from", "to", "topic", "name"]
    assert found["to"].tolist() == ["b"] * 3 + ["c"] * 6
    of_third = fitted.transform(COUNTS).reshape(3, 20, 3).mean(axis=1).argmax(axis=1)
    to_b = found[(found["from"] == "a") & (found["to"] == "b")].set_index("topic")
    assert to_b.surely[of_third[1]] == 1
    assert to_b.surely[of_third[0]] == -1
    assert to_b.second[of_third[1]] == pytest.approx(1.0, abs=0.02)
    (turned,) = {
        tuple(x)
        for x in fitted.effect(
            counts, "~ third", data, contrasts=[("third", "c", "b")], cluster="third"
        )[["from", "to"]].to_numpy()
    }
    assert turned == ("c", "b")


@pytest.mark.parametrize("kind", ["datetime64", "date", "datetime with zone"])
def test_dates_are_numbers_of_years(fitted, kind):
    """Red with: each date as a category; a missing date as a value."""
    days = pd.Series(pd.date_range("2001-01-01", periods=60, freq="90D"))
    days[3] = pd.NaT
    numbers = [None if pd.isna(d) else d.year + (d.day_of_year - 1) / 365.25 for d in days]
    if kind == "date":
        days = [None if pd.isna(day) else day.date() for day in days]
    elif kind != "datetime64":
        days = days.dt.tz_localize("UTC")
    found, by_numbers = (fitted.effect(COUNTS, "~ x", {"x": values}) for values in (days, numbers))
    assert found["from"].str.fullmatch(r"20\d\d(-\d\d)*").all()
    np.testing.assert_allclose(found.difference, by_numbers.difference, atol=0.01)


def test_effects_that_nothing_can_be_told_of_are_refused(fitted):
    with pytest.raises(UsageError, match="column x of data has 2 rows, but X has 60"):
        fitted.effect(COUNTS, "~ x", {"x": [1, 2]})
    for data in (pd.Series(range(60)), [1, 2]):
        with pytest.raises(UsageError, match=f"table with named .* a {type(data).__name__}$"):
            fitted.effect(COUNTS, "~ x", data)
    with pytest.raises(UsageError, match="no column 'y'; the columns are 'x'"):
        fitted.effect(COUNTS, "~ y", {"x": range(60)})
    vectors = np.eye(18)[np.arange(60) % 18]
    with pytest.raises(UsageError, match="has no topic shares of documents"):
        SAM(2, max_iter=9, burn_in=2, holdout=0).fit(vectors).effect(
            vectors, "~ x", {"x": range(60)}
        )


def test_topics_are_a_table_with_shares_names_and_coherence(fitted, refined, tmp_path):
    """Red with: shares of other topics; measures that are lost by pickle, save or load."""
    table = fitted.summary_frame(2)
    assert table.columns.tolist() == ["topic", "name", "share", "low", "high", "coherence", "words"]
    np.testing.assert_allclose(fitted.shares_, 1 / 3, atol=0.02)
    assert table.low.isna().all()  # draws of the shares are those of a refinement
    bounds = refined.summary_frame()
    assert (bounds.low <= bounds.share + 1e-4).all()
    assert (bounds.share <= bounds.high + 1e-4).all()
    np.testing.assert_allclose(table.coherence, fitted.coherence_[table.topic])
    of_topic = table.set_index("topic")
    assert [of_topic.name[k] for k in range(3)] == fitted.names_
    assert [of_topic.words[k] for k in range(3)] == [" ".join(t) for t in fitted.top_words(2)]
    fitted.save(tmp_path / "run")
    for again in (pickle.loads(pickle.dumps(fitted)), LDA.load(tmp_path / "run")):
        pd.testing.assert_frame_equal(again.summary_frame(2), table)
    assert b"<html" in fitted.report().html[:200]


def test_minibatches_leave_no_measures():
    """Red with: shares of former documents after other documents came."""
    lda = LDA(2, burn_in=0, warm_up=0, max_iter=6, holdout=0).fit(FRAME)
    assert lda.shares_.sum() == pytest.approx(1.0)
    lda.partial_fit(FRAME[:10])
    assert lda.summary_frame().share.isna().all()
    with pytest.raises(AttributeError, match="which partial_fit does not keep"):
        lda.shares_  # noqa: B018


@pytest.mark.parametrize("get", ["loaded", "pickled", "same"])
def test_a_refined_model_that_continues_has_no_measures_of_former_topics(refined, get, tmp_path):
    """Red with: shares, coherence, intervals or perplexity of the topics before `partial_fit`."""
    lda = pickle.loads(pickle.dumps(refined)) if get == "pickled" else copy.deepcopy(refined)
    if get == "loaded":
        refined.save(tmp_path / "run")
        lda = LDA.load(tmp_path / "run")
        assert lda.summary_frame().low.notna().all()
    lda.partial_fit(FRAME[:10])
    for model in (lda, pickle.loads(pickle.dumps(lda))):
        assert model.summary_frame()[["share", "low", "high", "coherence"]].isna().all(axis=None)
        assert "low" not in model.topics_frame(2)
        assert not hasattr(model, "perplexity_")


def test_a_report_states_what_the_fit_measured(refined):
    """Red with: a corpus that is no longer there, and shares without intervals or coherence."""
    facts, table = refined.report().facts, refined.summary_frame().set_index("topic")
    assert facts["title"] == "LDA of 60 documents"
    assert any(
        line.startswith("a fit in Python keeps no documents")
        and line.endswith("shares and coherence were computed during the fit")
        for line in facts["missing"]
    )
    for topic in facts["topics"]:
        row = table.loc[topic["id"]]
        np.testing.assert_allclose(topic["weight"], [row.share, row.low, row.high], atol=2e-6)
        assert topic["npmi"] == pytest.approx(row.coherence, abs=1e-4)


def test_a_saved_fit_has_the_shares_and_coherence_that_it_measured(fitted, tmp_path):
    """Red with: dashes in `sgmc topics` for a model that a fit has measured and saved."""
    fitted.save(tmp_path / "run")
    for topic in topics_of(Results(tmp_path / "run", 1), 2, intervals=False):
        assert topic.weight == pytest.approx(fitted.shares_[topic.id])
        assert topic.npmi == pytest.approx(fitted.coherence_[topic.id])


def test_representative_documents_have_the_greatest_share_and_a_passage():
    """Red with: documents of another topic; the beginning of a text for its typical passage."""
    filler = "unknown words " * 40
    texts = [f"{filler}moon star sea night"] * 6 + [f"{filler}bread dough oven salt"] * 6
    lda = LDA(2, algo="gibbs", burn_in=10, max_iter=60, holdout=0)
    series = pd.Series(texts, index=list("abcdefghijkl"))
    lda.fit(series, vocabulary=["moon", "star", "sea", "night", "bread", "dough", "oven", "salt"])
    with pytest.warns(UnknownWordsWarning):
        many = lda.representative_documents([*series, "zebra"], 12)
    assert 12 not in many.document.tolist()
    found = lda.representative_documents(series, 1)
    assert found.columns.tolist() == ["topic", "name", "document", "share", "text"]
    for row in found.itertuples():
        of_moon = "moon" in row.name
        assert (row.document in "abcdef") == of_moon
        assert ("moon" if of_moon else "bread") in row.text


STEMS = ("moon", "star", "sea"), ("bread", "dough", "oven")
NOUNS = [[stem + end for stem in stems for end in ("s", "er", "y", "ful")] for stems in STEMS]


@pytest.fixture(scope="module")
def dated():
    """Texts of two subjects, the second one from 2015 on, with their days and a fitted model."""
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(NOUNS[i >= 30], 15)) for i in range(60)]
    days = [f"20{10 + i // 6}-0{1 + i % 6}-09" for i in range(60)]
    lda = LDA(2, algo="gibbs", burn_in=20, max_iter=200, keep_samples=50)
    return texts, days, lda.fit(texts)


def test_topics_over_time_are_mean_shares_of_each_period(dated):
    """Red with: periods out of order; shares of other documents; bounds on the wrong side."""
    texts, days, lda = dated
    years = [int(day[:4]) for day in days]
    table = lda.topics_over_time(texts, years)
    assert table.columns.tolist() == ["topic", "name", "time", "documents", "share", "low", "high"]
    assert table.time.tolist() == [str(year) for year in range(2010, 2020)] * 2
    assert (table.documents == 6).all()
    assert ((table.low <= table.share) & (table.share <= table.high)).all()
    later = 1 - int(lda.transform([texts[0]]).argmax())
    of_later = table[table.topic == later].share.to_numpy()
    assert (of_later[:5] < 0.2).all()
    assert (of_later[5:] > 0.8).all()
    as_dates = lda.topics_over_time(texts, pd.to_datetime(pd.Series(days)))
    pd.testing.assert_frame_equal(as_dates, lda.topics_over_time(texts, days))
    assert as_dates.time[0] == "2010-01-09"
    missing = lda.topics_over_time([*texts, ""], [None, *years[1:], 2019])
    assert missing.documents.sum() == 2 * 59


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (["2010"], "times has 1 value, but X has 60 documents"),
        (["soon"] * 60, "times: neither dates nor numbers"),
        (["no date " * 99] * 60, r"^times: neither dates nor numbers: .{,160}$"),
        (None, "times: wanted the time of each document, found None"),
        ("date", "times: wanted the time of each document, found 'date'"),
        ([2010, object()] * 30, "times: wanted dates or numbers"),
    ],
)
def test_times_that_have_no_order_are_refused(dated, times, words):
    with pytest.raises(UsageError, match=words):
        dated[2].topics_over_time(dated[0], times)


def test_similar_documents_share_topics_and_leave_the_document_out(dated):
    """Red with: the document itself; documents of the other subject; rows for the index."""
    texts, _, lda = dated
    series = pd.Series(texts, index=[f"d{i}" for i in range(60)])
    table = lda.similar_documents(series, 3, 5)
    assert table.columns.tolist() == ["document", "similarity", "topics", "text"]
    assert len(table) == 5
    assert "d3" not in table.document.tolist()
    assert all(int(name[1:]) < 30 for name in table.document)
    assert table.similarity.is_monotonic_decreasing
    pd.testing.assert_frame_equal(lda.similar_documents(series, "d3", 5), table)
    numbered = pd.Series(texts, index=range(1000, 1060))
    with pytest.raises(UsageError, match=r"found 1003; X\.index has this label in row 3"):
        lda.similar_documents(numbered, 1003)
    assert table.text[0] == texts[int(table.document[0][1:])]
    new = lda.similar_documents(texts, "breads and doughs in ovens", 60)
    assert len(new) == 60
    assert all(row >= 30 for row in new.document[:30])
    with pytest.raises(UsageError, match="a row from 0 to 59, found 60"):
        lda.similar_documents(texts, 60)


def test_a_report_shows_texts_that_it_is_given(dated):
    """Red with: a page that says that a fit keeps no documents; counts taken for texts."""
    texts, _, lda = dated
    facts = lda.report(texts).facts
    assert facts["title"] == "LDA of 60 documents"
    assert facts["docs"]["of"] == 60
    assert not any("keeps no documents" in line for line in facts["missing"])
    with pytest.raises(UsageError, match="only if X is a list of texts"):
        lda.report(np.ones((2, 24)))


def test_perplexity_has_a_standard_error_that_is_saved(dated, fitted, tmp_path):
    """Red with: an error of other documents; one that save, load or a later step loses or keeps."""
    lda = dated[2]
    assert 0 < lda.perplexity_error_ < lda.perplexity_
    lda.save(tmp_path / "run")
    assert LDA.load(tmp_path / "run").perplexity_error_ == lda.perplexity_error_
    with pytest.raises(AttributeError, match="fit held out"):
        fitted.perplexity_error_  # noqa: B018


def test_more_topics_than_texts_are_told(dated):
    """Red without the warning; with one for as many topics as texts bear."""
    with pytest.warns(
        UserWarning, match="^50 topics are too many for 20 documents with 300 tokens"
    ):
        LDA(50, max_iter=6, burn_in=0, warm_up=0, holdout=0).fit(dated[0][20:40])
