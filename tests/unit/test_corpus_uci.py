"""UCI bag of words: what is read, and every way in which a file can be wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from listeners import Lines

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.reading import BUILT_PATTERN
from pysgrld.errors import CorpusError, MissingInputError

DATA = Path(__file__).parents[1] / "data"
GOOD = "3\n4\n5\n1 1 2\n1 3 1\n2 2 4\n3 1 1\n3 4 1\n"


def read(path: Path, store: Path, **more: object) -> Corpus:
    match = more.pop("match", None)
    log = more.pop("log", None)
    return open_corpus([str(path)], CorpusOptions(**more), store=store, match=match, log=log)


def rows(corpus: Corpus) -> list[dict[str, int]]:
    found = corpus.take(range(corpus.documents))
    return [
        {
            corpus.vocabulary[found.indices[e]]: int(found.counts[e])
            for e in range(found.indptr[d], found.indptr[d + 1])
        }
        for d in range(corpus.documents)
    ]


@pytest.fixture
def write(tmp_path):
    def write(text: str | bytes, vocabulary: str | None = "a\nb\nc\nd\n") -> Path:
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        if vocabulary is not None:
            (folder / "vocab.x.txt").write_text(vocabulary)
        path = folder / "docword.x.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_counts_are_read_over_the_vocabulary_beside_the_file(tmp_path):
    corpus = read(DATA / "docword.tiny.txt", tmp_path / "s")
    assert corpus.vocabulary == ("bread", "café", "wine", "never", "zebra")
    assert rows(corpus) == [
        {"bread": 2, "wine": 1},
        {"café": 4, "wine": 1, "zebra": 1},
        {"bread": 1, "café": 1, "zebra": 3},
    ]


def test_absent_documents_are_skipped_and_counted_in_training(tmp_path):
    corpus = read(DATA / "docword.tiny.txt", tmp_path / "s")
    assert corpus.documents == 3
    assert corpus.provenance["skipped"] == {"no known word": 1}


def test_absent_documents_keep_their_rows_when_matched(tmp_path):
    corpus = read(DATA / "docword.tiny.txt", tmp_path / "s", match=("zebra", "wine"))
    assert rows(corpus) == [{"wine": 1}, {"zebra": 1, "wine": 1}, {}, {"zebra": 3}]
    assert corpus.provenance["unknown_tokens"] == 8


def test_absent_documents_at_the_end_keep_their_rows_when_matched(write, tmp_path):
    path = write(GOOD.replace("3\n", "5\n", 1))
    assert read(path, tmp_path / "s", match=tuple("abcd")).documents == 5


def test_words_of_a_document_may_come_in_any_order(write, tmp_path):
    path = write("2\n4\n4\n1 3 1\n1 1 2\n2 4 1\n2 2 5\n")
    assert rows(read(path, tmp_path / "s")) == [{"a": 2, "c": 1}, {"b": 5, "d": 1}]


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        GOOD.rstrip("\n"),
        GOOD + "\n \n\n",
        GOOD.replace(" ", "\t"),
        GOOD.replace("1 3 1", "  01  003 1  "),
    ],
    ids=["CRLF", "BOM", "no newline at the end", "blank lines at the end", "tabs", "padding"],
)
def test_harmless_spelling_changes_nothing(write, tmp_path, text):
    plain = read(write(GOOD), tmp_path / "plain")
    assert read(write(text), tmp_path / "s").fingerprint == plain.fingerprint


def test_a_pipe_of_counts_without_a_vocabulary_calls_words_by_number(write, tmp_path):
    lines = Lines()
    path = write("1\n30\n2\n1 20 1\n1 3 1\n", None)
    corpus = read(path, tmp_path / "s", log=lines.append)
    assert corpus.vocabulary == ("3", "20")
    assert "words are shown as numbers" in lines[0]


def test_numbers_keep_numeric_order_whatever_is_seen_first(write, tmp_path):
    path = write("2\n30\n3\n1 20 1\n2 3 1\n2 20 7\n", None)
    assert rows(read(path, tmp_path / "s")) == [{"20": 1}, {"3": 1, "20": 7}]


@pytest.mark.parametrize(
    ("docword", "vocab", "found"),
    [
        ("docword.n.train.txt", "vocab.n.train.txt", True),
        ("docword.n.train.txt", "vocab.n.txt", True),
        ("docword.n.train.part1.txt", "vocab.n.txt", True),
        ("docword.n.txt", "vocab.other.txt", True),
        ("counts.txt", "vocab.counts.txt", True),
        ("docword.n.txt", "words.txt", False),
    ],
)
def test_the_vocabulary_is_found_by_name(tmp_path, docword, vocab, found):
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(DATA / "docword.tiny.txt", folder / docword)
    shutil.copy(DATA / "vocab.tiny.txt", folder / vocab)
    corpus = read(folder / docword, tmp_path / "s")
    assert ("bread" in corpus.vocabulary) == found


def test_the_closest_vocabulary_wins_over_a_shorter_name(tmp_path):
    for name in ("n", "n.train"):
        (tmp_path / f"vocab.{name}.txt").write_text(f"{name}1\n{name}2\n")
    (tmp_path / "docword.n.train.txt").write_text("1\n2\n1\n1 1 1\n")
    assert read(tmp_path / "docword.n.train.txt", tmp_path / "s").vocabulary[0] == "n.train1"


def test_two_vocabularies_and_no_matching_name_means_numbers(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"vocab.{name}.txt").write_text("x\n")
    (tmp_path / "docword.n.txt").write_text("1\n1\n1\n1 1 1\n")
    assert read(tmp_path / "docword.n.txt", tmp_path / "s").vocabulary == ("1",)


def test_a_given_vocabulary_names_the_ids(write, tmp_path):
    (tmp_path / "mine.txt").write_text("p\nq\nr\ns\n")
    corpus = read(write(GOOD), tmp_path / "s", vocab=str(tmp_path / "mine.txt"))
    assert corpus.vocabulary == ("p", "q", "r", "s")


def test_a_longer_vocabulary_is_refused(write, tmp_path):
    with pytest.raises(
        CorpusError, match=r"the file has counts of 4 words, but the vocabulary .* has 5"
    ):
        read(write(GOOD, "a\nb\nc\nd\ne\n"), tmp_path / "s")


def test_min_df_prunes_the_corpus_s_own_vocabulary_and_keeps_its_order(write, tmp_path):
    text = "3\n4\n6\n1 1 2\n1 3 1\n2 2 4\n2 3 9\n3 1 1\n3 4 1\n"
    corpus = read(write(text), tmp_path / "s", min_df=2)
    assert corpus.vocabulary == ("a", "c")


#: What is put for GOOD; the line that must be named; a piece of the message.
WRONG = {
    "empty file": ("", None, "empty"),
    "header cut": ("3\n4\n", 3, "number of entries"),
    "header not a number": ("3\nx\n5\n1 1 1\n", 2, "number of words"),
    "header negative": ("-3\n4\n5\n1 1 1\n", 1, "number of documents"),
    "header 10^400": (f"1{'0' * 400}\n4\n5\n1 1 1\n", 1, "which is too large"),
    "header W 2^31": ("3\n2147483648\n5\n1 1 1\n", 2, "which is too large"),
    "D too few": (GOOD.replace("3\n", "2\n", 1), 7, "above 2, the number in the header"),
    "D too many": (GOOD.replace("3\n", "9\n", 1), 1, "promises 9 documents"),
    "D absurd": (GOOD.replace("3\n", "999999999999999999\n", 1), 1, "promises 999,999"),
    "W too few": (GOOD.replace("\n4\n", "\n3\n", 1), 2, "counts of 3 words"),
    "W too many": (GOOD.replace("\n4\n", "\n5\n", 1), 2, "counts of 5 words"),
    "NNZ too few": (GOOD.replace("\n5\n", "\n4\n", 1), 8, "promises 4 entries"),
    "NNZ too many": (GOOD.replace("\n5\n", "\n6\n", 1), 8, "promises 6 entries"),
    "NNZ absurd": (GOOD.replace("\n5\n", "\n99999999999\n", 1), 8, "the file has 5"),
    "two numbers": (GOOD.replace("2 2 4", "2 2"), 6, "three whole numbers"),
    "four numbers": (GOOD.replace("2 2 4", "2 2 4 4"), 6, "three whole numbers"),
    "words in a line": (GOOD.replace("2 2 4", "hello"), 6, "three whole numbers"),
    "blank line": (GOOD.replace("2 2 4", "\n2 2 4"), 6, "blank line"),
    "documents fall": (GOOD.replace("3 1 1", "1 4 1"), 7, "document 1 follows document 2"),
    "documents return": (GOOD.replace("3 4 1", "2 4 1"), 8, "document 2 follows document 3"),
    "word twice": (GOOD.replace("1 3 1", "1 1 1"), 5, "word 1 occurs twice in document 1"),
    "word twice, apart": ("1\n4\n3\n1 4 1\n1 2 1\n1 2 1\n", 6, "occurs twice"),
    "more entries than words": ("1\n4\n5\n1 1 1\n1 2 1\n1 2 1\n1 3 1\n1 4 1\n", 6, "occurs twice"),
    "all absent": ("3\n4\n0\n", 1, "promises 3 documents"),
    "nothing": ("0\n4\n0\n", None, "no document has a word"),
    "malformed UTF-8": (GOOD.encode().replace(b"2 2 4", b"2 \xff 4"), 6, "not a whole number"),
    "NUL": (GOOD.replace("2 2 4", "2 2\0 4"), 6, "not a whole number"),
    "tokens overflow": (
        GOOD.replace("1 1 2", "1 1 2147483647").replace("1 3 1", "1 3 2147483647"),
        4,
        "tokens, but the maximum is",
    ),
}
for name, value in {
    "0": "0",
    "-1": "-1",
    "2^31": str(2**31),
    "2^32": str(2**32),
    "2^63": str(2**63),
    "10^400": "1" + "0" * 400,
    "NaN": "NaN",
    "3.5": "3.5",
    "1e308": "1e308",
    "+1": "+1",
}.items():
    WRONG[f"document {name}"] = (GOOD.replace("3 4 1", f"{value} 4 1"), 8, "document")
    WRONG[f"word {name}"] = (GOOD.replace("3 4 1", f"3 {value} 1"), 8, "word")
    WRONG[f"count {name}"] = (GOOD.replace("3 4 1", f"3 4 {value}"), 8, "count")


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_refused_with_file_and_line_and_nothing_is_left(case, write, tmp_path):
    text, line, piece = WRONG[case]
    path = write(text)
    store = tmp_path / "out" / "s"
    with pytest.raises(CorpusError) as caught:
        read(path, store)
    error = caught.value
    assert error.exit_code == 65
    assert piece in str(error)
    assert error.line == line
    if line is not None:
        assert str(error).startswith(f"{path}:{line}: ")
    assert "\n" not in str(error)
    assert len(str(error)) < 500
    assert list((tmp_path / "out").iterdir()) == []


def test_skipping_bad_documents_does_not_excuse_wrong_counts(write, tmp_path):
    path = write(WRONG["count 3.5"][0])
    with pytest.raises(CorpusError, match=r"count '3\.5'"):
        read(path, tmp_path / "s", on_bad_document="skip")


def test_absurd_gaps_between_documents_are_refused_when_matched(write, tmp_path):
    path = write("999999999999\n4\n2\n1 1 1\n999999999999 1 1\n")
    with pytest.raises(CorpusError, match="only 2 documents with words were read so far"):
        read(path, tmp_path / "s", match=tuple("abcd"))


def test_absurd_gaps_between_documents_cost_nothing_in_training(write, tmp_path):
    path = write("999999999999\n4\n2\n1 1 1\n999999999999 1 1\n")
    assert read(path, tmp_path / "s").documents == 2


@pytest.mark.parametrize(
    ("vocabulary", "line", "piece"),
    [
        ("a\nb\na\nd\n", 3, "'a' occurs twice in the vocabulary, first in line 1"),
        ("a\n\nc\nd\n", 2, "line is blank"),
        ("a\nb\nc\n", 2, "has only 3"),
        ("", None, "the vocabulary is empty"),
    ],
    ids=["duplicate", "blank", "short", "empty"],
)
def test_a_wrong_vocabulary_is_refused(write, tmp_path, vocabulary, line, piece):
    path = write(GOOD, vocabulary)
    with pytest.raises(CorpusError) as caught:
        read(path, tmp_path / "s")
    assert piece in str(caught.value)
    assert caught.value.line == line


def test_a_vocabulary_that_is_not_utf8_is_refused_with_its_line(write, tmp_path):
    path = write(GOOD)
    (path.parent / "vocab.x.txt").write_bytes(b"a\nb\n\xff\nd\n")
    with pytest.raises(CorpusError, match=r"vocab.x.txt:3: this is not UTF-8"):
        read(path, tmp_path / "s")


def test_a_missing_file_is_a_missing_input(tmp_path):
    with pytest.raises(MissingInputError, match="no such file") as caught:
        read(tmp_path / "docword.none.txt", tmp_path / "s")
    assert caught.value.exit_code == 66


@pytest.mark.parametrize(
    ("words", "recorded"),
    [
        (("1", "2", "3", "4"), {"token-pattern": BUILT_PATTERN}),  # a text of numbers
        (("1", "2", "3", "4"), {"words": "named"}),  # counts, whose vocabulary has numbers
        (("1", "2", "wine"), {}),  # of a run that has no record of them
        (("1", "02"), {}),
    ],
)
def test_counts_by_number_are_refused_over_words_that_are_no_numbers_of_columns(
    write, tmp_path, words, recorded
):
    """Red with: the column of each count taken for the word that is spelled like its number."""
    path, options = write(GOOD, None), CorpusOptions.over(recorded, {})
    with pytest.raises(CorpusError, match="this file has only word numbers, but"):
        open_corpus([str(path)], options, store=tmp_path / "s", match=words)


def test_counts_by_number_are_matched_to_a_run_of_such_counts(write, tmp_path):
    path = write(GOOD, None)
    trained = read(path, tmp_path / "t")
    assert trained.reading["words"] == "numbered"
    for recorded in (trained.reading, {}):
        options = CorpusOptions.over(recorded, {})
        store = tmp_path / f"s{len(recorded)}"
        found = open_corpus([str(path)], options, store=store, match=trained.vocabulary)
        assert rows(found) == rows(trained)
    named = read(write(GOOD), tmp_path / "n")
    assert named.reading["words"] == "named"
