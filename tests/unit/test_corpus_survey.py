"""Repeated texts and several languages in a corpus: reported, and left out if a person wants that."""

from __future__ import annotations

import numpy as np
import pytest
from listeners import Lines
from named_corpora import build, every

from pysgrld.corpus.repeated import Sketches
from pysgrld.errors import CorpusError, UsageError
from pysgrld.options import parse
from pysgrld.types import Documents

NOUNS = (
    *("mice", "birds", "fish", "cats", "dogs", "whales", "ants"),
    *("bees", "wolves", "bears", "foxes", "hares", "seals", "crows"),
)
ENGLISH = "the {} sleep in the winter and they do not sing with the {} of this place"
SPANISH = "los {} duermen en el invierno y no cantan con los {} de este lugar"
GERMAN = "die {} schlafen im Winter und sie singen nicht mit den {} von diesem Ort"
RUSSIAN = "все {} спят и не поют"
HINDI = "{} घर में किताब पढ़ता हूँ"


def sentences(text: str, number: int) -> list[str]:
    pairs = [(a, b) for a in NOUNS for b in NOUNS if a != b]
    return [text.format(*pairs[i]) for i in range(number)]


def written(folder, *texts: str):
    path = folder / "x.txt"
    path.write_text("".join(text + "\n" for text in texts), "utf-8")
    return path


def warnings(lines: Lines, word: str) -> list[str]:
    return [line for line in lines.warnings if word in line]


@pytest.mark.parametrize(
    ("other", "name"), [(SPANISH, "Spanish"), (GERMAN, "German"), (HINDI, "Devanagari")]
)
def test_a_second_language_is_told_from_3_percent_of_the_documents_on(other, name, tmp_path):
    """Red with: tokens of the whole corpus compared, by which a half is told and a fifth is not."""
    said = Lines()
    build(tmp_path, written(tmp_path, *sentences(ENGLISH, 90), *sentences(other, 10)), log=said)
    (line,) = warnings(said, "languages")
    assert f"(English 90 %, {name} 10 %)" in line
    said.clear()
    build(
        tmp_path,
        written(tmp_path, *sentences(ENGLISH, 98), *sentences(other, 2)),
        name="t",
        log=said,
    )
    assert not warnings(said, "languages")


def test_the_right_lists_are_advised_and_not_again_when_they_are_taken(tmp_path):
    """Red with: --stop-words spanish advised, which takes the English list away from the others."""
    said = Lines()
    path = written(tmp_path, *sentences(ENGLISH, 30), *sentences(SPANISH, 70))
    build(tmp_path, path, stop_words="english", log=said)
    assert (
        "--stop-words english,spanish removes the stop words of all" in warnings(said, "langua")[0]
    )
    said.clear()
    build(tmp_path, path, name="t", stop_words="english,spanish", log=said)
    assert not [line for line in said if "--stop-words english,spanish" in line]


@pytest.mark.parametrize("name", ["en", "english"])
def test_documents_of_one_language_are_kept(name, tmp_path):
    path = written(
        tmp_path, *sentences(ENGLISH, 30), *sentences(SPANISH, 20), *sentences(RUSSIAN, 5)
    )
    said = Lines()
    corpus = build(tmp_path, path, language=name, log=said)
    assert corpus.documents == 30
    assert corpus.about.texts(every(corpus)) == sentences(ENGLISH, 30)
    assert not {"los", "все"} & set(corpus.vocabulary)
    assert any(line.startswith("25 documents in other languages removed") for line in said)
    assert corpus.provenance["documents_read"] == 55


def test_a_language_without_a_list_is_refused():
    with pytest.raises(
        UsageError, match="'xx' is not a language that can be detected; give one of da, nl"
    ):
        parse.language("xx")
    assert parse.language("ES") == "spanish"


REPORT = "report of the committee on sleep of mice and birds in fields page {} with the usual words"


def test_texts_that_are_alike_but_for_a_number_are_reported(tmp_path):
    """Red with: nothing said of 120 reprints, which become the greatest topic."""
    random = np.random.default_rng(1)
    words = [f"w{i}" for i in range(2000)]
    texts = [" ".join(random.choice(words, 20).tolist()) for _ in range(100)]
    texts += [REPORT.format(100 + i) for i in range(40)]
    said = Lines()
    build(tmp_path, written(tmp_path, *texts), log=said)
    assert any(
        line.startswith("40 of 140 documents differ only in a few words ('report of the")
        for line in said
    )


def test_a_text_in_more_than_1_percent_of_the_documents_is_reported_once(tmp_path):
    """Red with: exact copies reported as nearly alike, too."""
    said, random = Lines(), np.random.default_rng(1)
    texts = [" ".join(f"w{i}" for i in random.integers(0, 2000, 20)) for _ in range(100)]
    texts += ["this page needs scripts"] * 6
    build(tmp_path, written(tmp_path, *texts), log=said)
    start = "6 of 106 documents have the same text ('this page needs scripts ...')"
    assert any(line.startswith(start) for line in said)
    assert not any("differ only in" in line for line in said)


def test_one_of_each_repeated_text_is_kept(tmp_path):
    """Red with: columns or texts of other documents; words of documents that are left out counted."""
    short = ["mice sing", "birds sleep"]
    reports = [REPORT.format(100 + i) for i in range(9)]
    path = written(tmp_path, short[0], *reports, short[1], short[0], short[0])
    said = Lines()
    corpus = build(tmp_path, path, drop_repeated=True, log=said)
    assert corpus.about.texts(every(corpus)) == [short[0], reports[0], short[1]]
    assert "sing" in corpus.vocabulary
    assert "108" not in corpus.vocabulary
    assert any(line.startswith("10 documents removed as exact or near copies") for line in said)


def test_counts_have_no_texts_that_repeat(tmp_path):
    path = tmp_path / "docword.x.txt"
    path.write_text("1\n2\n2\n1 1 1\n1 2 1\n")
    (tmp_path / "vocab.x.txt").write_text("mice\nbirds\n")
    with pytest.raises(CorpusError, match="need text, but this file has counts"):
        build(tmp_path, path, drop_repeated=True)


def test_estimates_of_alikeness_are_those_of_the_words():
    """Red with: bins compared that neither document fills; documents that share no band joined."""
    random = np.random.default_rng(1)
    base = random.choice(10_000, 60, replace=False)
    rows = [base, np.append(base[:-2], [20_000, 20_001]), random.choice(10_000, 60, replace=False)]
    rows.append(np.append(base[:30], np.arange(30_000, 30_030)))
    documents = Documents(
        np.arange(0, 60 * len(rows) + 1, 60),
        np.concatenate(rows).astype(np.int32),
        np.ones(60 * len(rows), np.int32),
    )
    sketches = Sketches()
    sketches.add(documents)
    same, near = sketches.groups()
    assert same.tolist() == [0, 1, 2, 3]
    assert near.tolist() == [0, 0, 2, 3]
