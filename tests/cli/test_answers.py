"""``sgmc topics --documents``, ``--word``, ``--by``, ``--along``: the page's facts in a terminal."""

import json
from pathlib import Path

import numpy as np
import pytest

from pysgrld.reading.find_runs import open_run

from .conftest import BIBLE, SGMC, Sgmc

pytestmark = pytest.mark.cli

CHAPTERS = BIBLE.with_name("chapters.bible.csv")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose chapters have titles and books; 40 samples are kept."""
    sgmc = Sgmc(tmp_path_factory.mktemp("answers"), (SGMC,))
    options = [
        "-k",
        "8",
        "--minibatch",
        "100",
        "--sweeps",
        "4",
        "--warm-up",
        "20",
        "--iterations",
        "400",
    ]
    sgmc("train", BIBLE, "--metadata", CHAPTERS, "--out", "bible", *options)
    return sgmc


def asked(run, *question):
    return json.loads(run("topics", "bible", "--json", *question).stdout)


@pytest.fixture(scope="module")
def facts(run):
    """What the page of the run says."""
    run("report", "bible", "--json", "facts.json", "-q")
    return json.loads((run.folder / "facts.json").read_text())


def test_documents_are_the_pages(run, facts):
    """Red with: documents by the mean of the share; rows of the sample taken for those of the corpus."""
    found = asked(run, "--documents", "3")["topics"]
    titles = Path(CHAPTERS).read_text().splitlines()[1:]
    page = {topic["id"]: topic for topic in facts["topics"]}
    assert [each["topic"] for each in found] == [topic["id"] for topic in facts["topics"]]
    for each in found:
        documents = each["documents"]
        assert len(documents) == 3
        lows = [d["share"]["low"] for d in documents]
        assert lows == sorted(lows, reverse=True)
        for d in documents:
            assert titles[d["row"]].rpartition(",")[0] == d["title"]
        shown = [facts["docs"]["title"][i] for i in page[each["topic"]]["rep"][:3]]
        assert shown == [d["title"] for d in documents]
    text = run("topics", "bible", "--documents", "1").stdout
    assert found[0]["documents"][0]["title"] in text


def test_groups_are_the_pages(run, facts):
    (column,) = [c for c in facts["columns"] if c["name"] == "book"]
    found = asked(run, "--by", "book")
    assert found["groups"]["levels"] == column["levels"]
    assert column["levels"][:2] == ["Genesis", "Exodus"]
    assert sum(column["documents"]) == 1189
    for each, topic in zip(found["topics"], facts["topics"], strict=True):
        np.testing.assert_allclose(list(each["share"].values()), topic["weight"], rtol=1e-3)
        for group in each["groups"]:
            assert group["low"] <= group["mean"] <= group["high"]
    shares = np.array([[g["mean"] for g in each["groups"]] for each in found["topics"]])
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-6)


def test_only_groups_that_surely_have_more_are_listed(run):
    """Red with: groups whose mean alone is above."""
    found = asked(run, "--by", "book")
    text = run("topics", "bible", "--by", "book").stdout
    first = found["topics"][0]
    sure = [
        level
        for level, g in zip(found["groups"]["levels"], first["groups"], strict=True)
        if g["low"] > first["share"]["mean"]
    ]
    block = text.split("\n    ")[1:]
    head, *lines = text.splitlines()[3:9]
    assert head.split()[-1] == "book"
    listed = [line for line in lines if line.startswith("         ")]
    assert block
    assert all(any(level in line for level in sure) for line in listed if "more" not in line)


def test_topics_go_along_the_corpus(run):
    found = asked(run, "--along", "corpus")
    assert len(found["groups"]["levels"]) == 60
    assert found["groups"]["levels"][0] == "Genesis 1 to Genesis 20"
    assert "▁" in run("topics", "bible", "--along", "corpus").stdout


def test_a_word_is_found_in_its_topics(run):
    found = asked(run, "--word", "King")["topics"]
    results = open_run(run.folder / "bible", 1)
    phi = results.fitted.over_words(results.mean, 0)[results.vocabulary.index("king"), :8]
    share = phi * results.weights()
    share /= share.sum()
    for each in found:
        k = each["topic"]
        assert each["share"] == pytest.approx(share[k], rel=1e-5)
        assert each["probability"]["mean"] == pytest.approx(phi[k], rel=1e-5)
        assert each["probability"]["low"] <= each["probability"]["high"]
    assert found[0]["place"] == 1
    shares = [each["share"] for each in found]
    assert shares == sorted(shares, reverse=True)
    assert "king" in run("topics", "bible", "--word", "king").stdout


@pytest.mark.parametrize(
    ("question", "code", "said"),
    [
        (["--word", "kingg"], 2, "it knows king"),
        (["--word", ""], 2, "does not know"),
        (["--by", "verse"], 2, "its columns are 'book'"),
        (["--along", "book"], 2, "has no order"),
        (["--word", "king", "--by", "book"], 2, "one of them at a time"),
        (["--by", "book", "--tree"], 2, "one of them at a time"),
        (["--documents", "0"], 2, "--documents"),
        (["--documents", "3", "--names"], 2, "leave"),
    ],
)
def test_questions_without_an_answer_are_refused_in_a_line(question, code, said, run):
    done = run("topics", "bible", *question, code=code)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_without_the_corpus_it_is_said(run):
    (run.folder / "bible" / "corpus").rename(run.folder / "away")
    try:
        assert "nothing can be told" in run("topics", "bible", "--by", "book", code=66).stderr
        assert "king" in run("topics", "bible", "--word", "king").stdout
    finally:
        (run.folder / "away").rename(run.folder / "bible" / "corpus")
