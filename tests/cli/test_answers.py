"""``sgmc topics --documents``, ``--word``, ``--by`` and ``--along``: facts of the page in a terminal."""

import json

import numpy as np
import pytest

from pysgrld.cli.answers import Question, answer
from pysgrld.reading.find_runs import open_run
from pysgrld.report import document_pass

from .conftest import SGMC, Sgmc

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def run(tmp_path_factory, quarter):
    """A run whose chapters have titles and books, with 40 stored samples."""
    sgmc = Sgmc(tmp_path_factory.mktemp("answers"), (SGMC,))
    options = ["-k", "8", "--minibatch", "50", "--sweeps", "4", "--set", "warm-up=20"]
    options += ["--iterations", "200", "--set", "starts=1", "--threads", "1"]
    chapters = quarter.with_name("chapters.bible.csv")
    sgmc("train", quarter, "--metadata", chapters, "--out", "bible", *options)
    return sgmc


#: Options that ask for a topic that the run lacks.
TOO_MANY = ("--documents", "2", "--topic", "10000")


def asked(run, *question):
    return json.loads(run("topics", "bible", "--json", *question).stdout)


@pytest.fixture(scope="module")
def facts(run):
    """Return the facts on the run's page."""
    run("report", "bible", "--json", "facts.json", "-q")
    return json.loads((run.folder / "facts.json").read_text())


def test_documents_are_the_pages(run, quarter, facts):
    """Red with: documents by the mean of the share; rows of the sample taken for those of the corpus."""
    found = asked(run, "--documents", "3")["topics"]
    titles = quarter.with_name("chapters.bible.csv").read_text().splitlines()[1:]
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


def test_one_topic_alone_has_the_documents_that_it_has_among_all(run):
    """Red with: a topic's place among those listed for its number."""
    found = asked(run, "--documents", "2")["topics"]
    assert asked(run, "--documents", "2", "--topic", found[3]["topic"])["topics"] == [found[3]]
    assert "no such topic" in run("topics", "bible", *TOO_MANY, code=2).stderr


def test_documents_like_one_have_its_topics(run, facts):
    """Red with: the document itself; the least similar ones; the similarity of other documents."""
    documents = asked(run, "--documents", "1")["topics"][0]["documents"]
    found = asked(run, "--like", documents[0]["id"], "--documents", "5")["documents"]
    assert len(found) == 5
    assert documents[0]["id"] not in [each["id"] for each in found]
    values = [each["similarity"] for each in found]
    assert values == sorted(values, reverse=True)
    assert 0.8 < values[-1] <= 1.0
    (back,) = [
        each
        for each in asked(run, "--like", found[0]["id"], "--documents", "1000")["documents"]
        if each["id"] == documents[0]["id"]
    ]
    assert back["similarity"] == pytest.approx(values[0], abs=1e-6)
    assert (
        "no training document has this id" in run("topics", "bible", "--like", "?", code=2).stderr
    )


def test_the_number_of_documents_compared_with_one_is_stated(run, monkeypatch, capsys):
    """Red with: the most similar of a sample shown as the most similar of the corpus."""
    monkeypatch.setattr(document_pass, "DOCUMENTS", 125)
    key = asked(run, "--documents", "1")["topics"][0]["documents"][0]["id"]
    question = Question(5, None, key, None, None, None, None)
    answer(open_run(run.folder / "bible", 1), 0, question, as_json=False)
    compared = capsys.readouterr().out.splitlines()[-1]
    assert compared in {
        f"Only {n} of 298 documents were compared, evenly spaced in the corpus." for n in (124, 125)
    }


def test_texts_that_were_split_are_compared_as_wholes(tmp_path):
    """Red with: ids of pieces alone; a text that is like its own pieces."""
    sgmc = Sgmc(tmp_path, (SGMC,))
    books = tmp_path / "books"
    books.mkdir()
    for i, word in enumerate(("ship sea", "ship mast", "rose garden", "rose tulip")):
        (books / f"{i}.txt").write_text(f"{word} wind leaf. " * 300)
    sgmc("train", "books", "-k", "2", "--chunk", "100", "--iterations", "60", "--out", "run")
    found = json.loads(sgmc("topics", "run", "--like", "0.txt", "--json").stdout)
    assert found["documents"][0]["id"] == "1.txt"
    assert {each["title"] for each in found["documents"]} <= {"1.txt", "2.txt", "3.txt"}
    assert (found["compared"], found["total"]) == (3, 4)
    assert sgmc("topics", "run", "--like", "0.txt#1", "--json").stdout != ""


def test_intervals_are_for_other_books_and_not_for_other_chunks(tmp_path):
    """Red with: chunks drawn one by one, as if each were another book (1.9 times as wide, not 5.1)."""
    sgmc = Sgmc(tmp_path, (SGMC,))
    (tmp_path / "books").mkdir()
    generator = np.random.default_rng(5)
    for book in range(12):
        words = [f"{'sea' if book % 2 else 'rose'}{letter}" for letter in "abcdefghijkl"]
        text = generator.choice(words, 120, p=generator.dirichlet(np.full(12, 0.5)))
        (tmp_path / "books" / f"{book}.txt").write_text(" ".join(text) + "\n")
    sweeps = ("--iterations", "40", "--exact-sweeps", "400", "--threads", "1")
    sgmc("train", "books", "-k", "2", "--chunk", "30", "--max-df", "1.0", *sweeps, "--out", "run")
    alike, these = (
        json.loads(sgmc("topics", "run", "--intervals", "--json", *population).stdout)["topics"]
        for population in ((), ("--population", "these"))
    )
    widths = [
        sum(word["high"] - word["low"] for topic in topics for word in topic["words"])
        for topics in (alike, these)
    ]
    assert widths[0] > 3 * widths[1]


def test_documents_are_found_by_the_titles_that_lists_show(tmp_path):
    """Red with: ids alone, which lists of titled documents do not show."""
    sgmc = Sgmc(tmp_path, (SGMC,))
    rows = ["id,title,text"]
    for i, word in enumerate(("ship sea", "ship mast", "rose garden", "rose tulip")):
        rows.append(f"d{i},Book {min(i, 2)},{f'{word} wind leaf. ' * 60}")
    (tmp_path / "books.csv").write_text("\n".join(rows) + "\n")
    split = ("--chunk", "100", "--iterations", "60", "--out")
    sgmc(
        "train", "books.csv", "-k", "2", "--id-field", "id", "--title-field", "title", *split, "run"
    )
    by_title, by_id = (
        json.loads(sgmc("topics", "run", "--like", name, "--json").stdout)["documents"]
        for name in ("Book 0", "d0")
    )
    assert by_title == by_id
    assert "d0" not in [each["id"] for each in by_title]
    refused = sgmc("topics", "run", "--like", "Book 2", code=2).stderr
    assert "training documents have this id or title" in refused


def test_documents_like_one_are_found_by_a_column_and_shown_with_text_and_topics(tmp_path):
    """Red with: row numbers as the only ids, taken without a word for the values of a column."""
    sgmc = Sgmc(tmp_path, (SGMC,))
    lines = [
        json.dumps({"text": f"{words} wind leaf {words}", "ticket": number, "level": level})
        for number, (words, level) in enumerate(
            [("ship sea mast", "low"), ("rose tulip garden", "high")] * 20, 30
        )
    ]
    (tmp_path / "tickets.jsonl").write_text("\n".join(lines))
    sgmc(
        "train",
        "tickets.jsonl",
        "-k",
        "2",
        "--iterations",
        "60",
        "--min-df",
        "1",
        "--max-df",
        "1.0",
    )
    refused = sgmc("topics", "--like", "69", code=2).stderr
    assert (
        "no training document has this id or title; column ticket has this value: --like ticket=69"
        in refused
    )
    assert "20 training documents have" in sgmc("topics", "--like", "level=low", code=2).stderr
    assert "no training document has" in sgmc("topics", "--like", "ticket=5", code=2).stderr
    shown = sgmc("topics", "--like", "ticket=69", "--documents", "2").stdout
    assert shown.count("rose tulip garden wind leaf rose tulip garden") == 2
    record = json.loads(sgmc("topics", "--like", "ticket=69", "--json").stdout)
    (topic,) = {each["topics"][0] for each in record["documents"]}
    assert {"rose", "tulip", "garden"} & {*record["names"][str(topic)].split(" · ")}
    assert record["documents"][0]["text"].startswith("rose tulip")
    noted = " ".join(sgmc("topics", "--like", "35").stdout.split())
    assert (
        "35 was read as the number of a row; to compare with the document that has 35 in" in noted
    )
    assert "row" not in sgmc("topics", "--like", "3").stdout


def test_groups_are_the_pages(run, facts):
    (column,) = [c for c in facts["columns"] if c["name"] == "book"]
    found = asked(run, "--by", "book")
    assert found["groups"]["levels"] == column["levels"]
    assert column["levels"][:2] == ["Genesis", "Exodus"]
    assert sum(column["documents"]) == 298
    for each, topic in zip(found["topics"], facts["topics"], strict=True):
        of_words = [each["share"]["words"][part] for part in ("mean", "low", "high")]
        assert of_words == pytest.approx(topic["weight"], abs=1e-6)
        for group in each["groups"]:
            for share in (group[kind][part] for kind in group for part in ("share", "more")):
                assert share["low"] <= share["mean"] <= share["high"]
    for kind in ("documents", "words"):
        shares, more = (
            np.array([[g[kind][part]["mean"] for g in each["groups"]] for each in found["topics"]])
            for part in ("share", "more")
        )
        np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-6)
        np.testing.assert_allclose(more.sum(axis=0), 0.0, atol=1e-6)
        shown = np.array(column["shares"][kind]["mean"])[
            [each["topic"] for each in found["topics"]]
        ]
        np.testing.assert_allclose(shown, shares, atol=1e-6)


def test_only_groups_that_surely_have_more_are_listed(run):
    """Red with: groups whose mean alone is above; those that surely have less."""
    found = asked(run, "--by", "book")
    text = run("topics", "bible", "--by", "book").stdout
    lines = iter(text.split("\n\n")[1].splitlines()[1:])
    listed: dict[int, list[str]] = {}
    for line in lines:
        if line[:5].strip():
            topic = int(line[:5])
            listed[topic] = []
        elif " and " not in line[:70]:
            listed[topic].append(line[59:].strip())
    levels, some = found["groups"]["levels"], 0
    for each in found["topics"]:
        sure = [i for i, g in enumerate(each["groups"]) if g["documents"]["surely"] == 1]
        sure.sort(key=lambda i: -each["groups"][i]["documents"]["share"]["mean"])
        assert listed[each["topic"]] == [levels[i] for i in sure[:4]]
        some += len(sure)
    assert some > 20
    assert "false discovery rate 5 %" in " ".join(text.split())


def test_a_column_that_others_lie_within_is_told_and_counts_by_clusters(tmp_path, quarter):
    """Testaments of books: with books as units the intervals are much wider."""
    books = quarter.with_name("chapters.bible.csv").read_text().splitlines()
    rows = [f"{line},{'new' if i > 233 else 'old'}" for i, line in enumerate(books[1:], 1)]
    table = tmp_path / "chapters.csv"
    table.write_text("\n".join([f"{books[0]},testament", *rows]) + "\n")
    sgmc = Sgmc(tmp_path, (SGMC,))
    options = ["-k", "4", "--set", "starts=1", "--minibatch", "50", "--iterations", "120"]
    options += ["--set", "warm-up=20", "--sweeps", "4"]
    sgmc("train", quarter, "--metadata", table, "--out", "bible", *options)
    alone = sgmc("topics", "bible", "--by", "testament").stdout
    assert "All documents of a book have the same testament" in " ".join(alone.split())
    found = [
        json.loads(sgmc("topics", "bible", "--by", "testament", "--json", *more).stdout)
        for more in ([], ["--cluster", "book"])
    ]
    assert (
        "All documents of a book"
        not in sgmc("topics", "bible", "--by", "testament", "--cluster", "book").stdout
    )
    assert [f["groups"]["within"] for f in found] == ["book", None]
    widths = []
    for record in found:
        more = [g["documents"]["more"] for topic in record["topics"] for g in topic["groups"]]
        widths.append(np.mean([each["high"] - each["low"] for each in more]))
    assert widths[1] > 1.5 * widths[0]
    assert "requires --by or --along" in sgmc("topics", "bible", "--cluster", "book", code=2).stderr


def test_without_intervals_no_group_is_said_to_be_surely_more(tmp_path, quarter):
    """Red with: a list that is empty, said to have few that are wrong."""
    sgmc = Sgmc(tmp_path, (SGMC,))
    chapters = quarter.with_name("chapters.bible.csv")
    options = ["-k", "4", "--set", "starts=1", "--iterations", "60", "--minibatch", "50"]
    sgmc("train", quarter, "--metadata", chapters, "--out", "bible", *options)
    said = sgmc("topics", "bible", "--by", "book").stdout
    assert "There are no intervals, and groups with a higher share are not listed" in " ".join(
        said.split()
    )
    assert "at most 5 %" not in said


def test_topics_go_along_the_corpus(run):
    found = asked(run, "--along", "corpus")
    assert len(found["groups"]["levels"]) == 60
    assert found["groups"]["levels"][0] == "Genesis 1 to Genesis 17"
    assert "▁" in run("topics", "bible", "--along", "corpus").stdout


def test_a_word_is_found_in_its_topics(run):
    found = asked(run, "--word", "King")["topics"]
    results = open_run(run.folder / "bible", 1)
    phi = results.fitted.topics_over_words(results.mean, 0)[results.vocabulary.index("king"), :8]
    share = phi * results.weights()
    share /= share.sum()
    for each in found:
        k = each["topic"]
        assert each["share"] == pytest.approx(share[k], rel=1e-5)
        assert each["probability"]["mean"] == pytest.approx(phi[k], rel=1e-5)
        assert each["probability"]["low"] <= each["probability"]["high"]
    assert max(found, key=lambda each: each["share"])["place"] == 1
    assert [each["topic"] for each in found] == sorted(each["topic"] for each in found)
    assert "king" in run("topics", "bible", "--word", "king").stdout


@pytest.mark.parametrize(
    ("question", "code", "said"),
    [
        (["--word", "kingg"], 2, "did you mean king"),
        (["--word", ""], 2, "not in the run's vocabulary"),
        (["--by", "verse"], 2, "its columns are 'book'"),
        (["--along", "book"], 2, "has no order"),
        (["--by", "book", "--cluster", "verse"], 2, "--cluster 'verse': the corpus has no such"),
        (["--word", "king", "--by", "book"], 2, "cannot be combined"),
        (["--by", "book", "--tree"], 2, "cannot be combined"),
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
        assert (
            "so documents cannot be described"
            in run("topics", "bible", "--by", "book", code=66).stderr
        )
        assert "king" in run("topics", "bible", "--word", "king").stdout
    finally:
        (run.folder / "away").rename(run.folder / "bible" / "corpus")


def test_a_wide_interval_of_few_long_documents_is_explained():
    """Red with: an interval by words, several times as wide as by documents, without a reason."""
    from pysgrld.cli.answers import _is_uneven
    from pysgrld.report.answers import AllShares, Between

    documents = Between(0.057, 0.050, 0.066)
    assert _is_uneven(AllShares(documents, Between(0.079, 0.023, 0.123)))
    assert not _is_uneven(AllShares(documents, Between(0.079, 0.070, 0.090)))
    assert not _is_uneven(AllShares(documents, Between(0.079, None, None)))


def test_a_line_over_years_has_years_at_its_ends():
    """Red with: a line of bars alone, whose years are told once, after all topics."""
    from types import SimpleNamespace

    from pysgrld.cli.answers import _group_lines
    from pysgrld.report.answers import AllShares, Between, InGroup, SharesInGroup, TopicInGroups

    share = [InGroup(Between(x, 0.0, 0.3), Between(0.0, -1.0, 1.0), 0) for x in (0.05, 0.2)]
    row = TopicInGroups(
        0, AllShares(share[0].share, share[1].share), [SharesInGroup(x, x) for x in share]
    )
    for levels, line in (
        (["1987", "1999"], "1987 ▃█ 1999"),
        (["Genesis 1 to Genesis 20"] * 2, "▃█"),
    ):
        grouping = SimpleNamespace(cluster=None)
        groups = SimpleNamespace(levels=levels, within=None, grouping=grouping)
        lines = _group_lines(groups, [row], {0: "law"}, None, "year", None)
        assert line in [each.strip() for each in lines]
