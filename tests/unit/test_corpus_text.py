"""Text as lines, files and JSON: what is read, and what is done with bad documents."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from listeners import Lines

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus, token_patterns
from pysgrld.corpus.inputs import texts_of_folder
from pysgrld.corpus.stopwords import named
from pysgrld.corpus.token_patterns import TokenPattern
from pysgrld.corpus.vocabulary import stop_words
from pysgrld.errors import CorpusError, MissingInputError, UsageError

DATA = Path(__file__).parents[1] / "data"
ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}


def read(path: Path | str, store: Path, **more: object) -> Corpus:
    match = more.pop("match", None)
    log = more.pop("log", None)
    return open_corpus([str(path)], CorpusOptions(**more), store=store, match=match, log=log)


def words(corpus: Corpus) -> list[dict[str, int]]:
    found = corpus.take(range(corpus.documents))
    return [
        {
            corpus.vocabulary[found.indices[e]]: int(found.counts[e])
            for e in range(found.indptr[d], found.indptr[d + 1])
        }
        for d in range(corpus.documents)
    ]


def test_each_line_is_a_document_and_one_without_words_is_skipped(tmp_path):
    corpus = read(DATA / "tiny.txt", tmp_path / "s", **ALL)
    assert words(corpus) == [
        {"bread": 2, "and": 2, "wine": 2},
        {"the": 2, "café": 2, "serves": 2, "bread": 1, "wine": 1},
        {"zebra": 2, "in": 2, "the": 2, "café": 2},
    ]
    assert corpus.provenance["skipped"] == {"no known word": 1}


def test_words_are_numbered_by_frequency_then_alphabet(tmp_path):
    corpus = read(DATA / "tiny.txt", tmp_path / "s", **ALL)
    assert corpus.vocabulary == (
        *("café", "the", "bread", "wine"),
        *("and", "in", "serves", "zebra"),
    )


def test_english_stop_words_are_left_out_by_default_and_the_log_says_so(tmp_path):
    lines = Lines()
    corpus = read(DATA / "tiny.txt", tmp_path / "s", min_df=1, max_df=1.0, log=lines.append)
    assert not {"the", "and", "in"} & set(corpus.vocabulary)
    assert any("English stop words removed" in line for line in lines)


def test_stop_words_of_a_file_are_left_out_in_any_case(tmp_path):
    (tmp_path / "stop.txt").write_text("BREAD\nthe\n")
    corpus = read(
        DATA / "tiny.txt", tmp_path / "s", **{**ALL, "stop_words": str(tmp_path / "stop.txt")}
    )
    assert not {"bread", "the"} & set(corpus.vocabulary)


def test_lists_of_stop_words_are_joined(tmp_path):
    """Red with: the file alone, or its name with the comma taken for one file's."""
    (tmp_path / "mine.txt").write_text("Bread\n")
    corpus = read(
        DATA / "tiny.txt",
        tmp_path / "s",
        **ALL | {"stop_words": f"english,{tmp_path / 'mine.txt'}"},
    )
    assert set(corpus.vocabulary) == {"café", "wine", "serves", "zebra"}
    names = [part["name"] for part in corpus.provenance["reading"]["stop-words"]]
    assert names == ["english", str(tmp_path / "mine.txt")]


def test_stop_words_may_come_twice_and_lines_may_be_blank(tmp_path):
    (tmp_path / "stop.txt").write_text("bread\n\nthe\nBread \n")
    found = stop_words(f"english,{tmp_path / 'stop.txt'},english")
    assert [part["words"] for part in found.record] == [len(named("english")), 2]
    assert found.words == named("english") | {"bread", "the"}


@pytest.mark.parametrize(
    ("content", "piece"),
    [
        (b"\n", "the list of stop words is empty"),
        (b"the\n\0\n", "stop.txt:2: a list of stop words has a NUL"),
        (b"the\ncaf\xe9\n", "stop.txt:2: this is not UTF-8; convert the file"),
    ],
)
def test_a_list_of_stop_words_that_is_none_is_called_so(tmp_path, content, piece):
    """Red with: "this is no vocabulary"."""
    (tmp_path / "stop.txt").write_bytes(content)
    with pytest.raises(CorpusError, match=piece) as caught:
        stop_words(str(tmp_path / "stop.txt"))
    assert "vocabulary" not in str(caught.value)


def test_a_stop_word_of_a_megabyte_is_the_longest(tmp_path):
    """Red with: a limit that is a fifth larger or smaller."""
    (list_of_words := tmp_path / "stop.txt").write_text("e" * 2**20 + "\n")
    assert stop_words(str(list_of_words)).words == {"e" * 2**20}
    list_of_words.write_text("e" * (2**20 + 1) + "\n")
    with pytest.raises(CorpusError, match="this is not a list of words"):
        stop_words(str(list_of_words))


@pytest.mark.parametrize("choice", ["none,english", "english,", ",", ""])
def test_lists_of_stop_words_that_contradict_each_other_are_wrong_usage(choice):
    with pytest.raises(UsageError):
        CorpusOptions(stop_words=choice)


def test_a_language_without_a_list_of_stop_words_is_told_what_there_is(tmp_path):
    with pytest.raises(MissingInputError, match="klingon: no such file; give english, danish"):
        read(DATA / "tiny.txt", tmp_path / "s", stop_words="klingon")


def test_defaults_keep_words_of_two_documents_and_of_half_of_them(tmp_path):
    corpus = read(DATA / "tiny.txt", tmp_path / "s")
    assert corpus.vocabulary == ("café", "bread", "wine")


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"min_df": 2}, {"bread", "wine", "the", "café"}),
        ({"min_df": 0.5}, {"bread", "wine", "the", "café"}),
        ({"max_df": 1}, {"and", "serves", "zebra", "in"}),
        ({"max_df": 0.25}, {"and", "serves", "zebra", "in"}),
        ({"max_vocab": 3}, {"café", "the", "bread"}),
    ],
)
def test_each_pruning_option_keeps_what_it_says(tmp_path, options, kept):
    corpus = read(DATA / "tiny.txt", tmp_path / "s", **{**ALL, **options})
    assert set(corpus.vocabulary) == kept


def test_when_pruning_leaves_nothing_the_error_says_what_took_it(tmp_path):
    with pytest.raises(CorpusError, match="--min-df 9 removed 5") as caught:
        read(DATA / "tiny.txt", tmp_path / "s", min_df=9)
    assert "the stop words (english) removed 3" in str(caught.value)


def test_a_given_vocabulary_is_taken_whole_in_its_order(tmp_path):
    (tmp_path / "v.txt").write_text("zebra\nnever\nbread\n")
    corpus = read(DATA / "tiny.txt", tmp_path / "s", vocab=str(tmp_path / "v.txt"))
    assert corpus.vocabulary == ("zebra", "never", "bread")
    assert words(corpus) == [{"bread": 2}, {"bread": 1}, {"zebra": 2}]
    assert corpus.provenance["unknown_tokens"] == 17


def test_a_given_vocabulary_is_pruned_only_if_asked(tmp_path):
    (tmp_path / "v.txt").write_text("zebra\nnever\nbread\n")
    corpus = read(DATA / "tiny.txt", tmp_path / "s", vocab=str(tmp_path / "v.txt"), min_df=1)
    assert corpus.vocabulary == ("zebra", "bread")


def test_capital_letters_in_a_given_vocabulary_are_warned_of(tmp_path):
    (tmp_path / "v.txt").write_text("Zebra\nbread\n")
    lines = Lines()
    read(DATA / "tiny.txt", tmp_path / "s", vocab=str(tmp_path / "v.txt"), log=lines.append)
    assert any("1 word of" in line and "can never occur" in line for line in lines)


def test_matching_keeps_every_document_in_its_row(tmp_path):
    corpus = read(DATA / "tiny.txt", tmp_path / "s", match=("zebra", "wine"))
    assert corpus.vocabulary == ("zebra", "wine")
    assert words(corpus) == [{"wine": 2}, {"wine": 1}, {}, {"zebra": 2}]
    assert corpus.provenance["empty"] == 1


def test_matching_a_corpus_of_other_words_is_bad_input(tmp_path):
    with pytest.raises(CorpusError, match="no document has a word of the run's vocabulary"):
        read(DATA / "tiny.txt", tmp_path / "s", match=("quark",))


def test_a_vocabulary_beside_a_match_of_text_is_refused(tmp_path):
    (tmp_path / "v.txt").write_text("zebra\n")
    with pytest.raises(UsageError, match="--vocab"):
        read(DATA / "tiny.txt", tmp_path / "s", vocab=str(tmp_path / "v.txt"), match=("zebra",))


def test_a_token_pattern_says_what_a_token_is(tmp_path):
    corpus = read(DATA / "tiny.txt", tmp_path / "s", **ALL, token_pattern=r"[^\W\d_]")
    assert max(map(len, corpus.vocabulary)) == 1
    assert corpus.tokens == sum(
        c.isalpha() for c in (DATA / "tiny.txt").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("pattern", ["(", "(a)(b)", "*"])
def test_a_pattern_that_is_none_is_wrong_usage(pattern):
    with pytest.raises(UsageError, match="--token-pattern"):
        CorpusOptions(token_pattern=pattern)


def test_json_lines_equal_the_same_text(tmp_path):
    text = read(DATA / "tiny.txt", tmp_path / "a")
    assert read(DATA / "tiny.jsonl", tmp_path / "b").fingerprint == text.fingerprint


def test_the_text_field_is_chosen_by_name(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "wrong", "body": "right words"}\n')
    corpus = read(path, tmp_path / "s", **ALL, text_field="body")
    assert set(corpus.vocabulary) == {"right", "words"}


def test_a_folder_of_files_is_read_in_order_of_path(tmp_path):
    folder = tmp_path / "texts"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "1.txt").write_text("second\nfile")
    (folder / "a.txt").write_text("first file")
    for name in ("c.md", "d.png", "b/e.PNG", "README", ".hidden"):
        (folder / name).write_text("not read")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.txt").write_text("not read")
    (folder / "b" / "2.txt").touch()
    said = Lines()
    corpus = read(folder, tmp_path / "s", **ALL, log=said.append)
    assert said == [
        f"{folder}: 3 files in this folder and in 1 folder below it, each a document",
        f"{folder}: ignored 2 .png, 1 without a suffix, 1 .md, because only .html, .htm, "
        ".xhtml, .docx, .pdf, .eml and .txt files of a folder are read",
        f"{folder}: ignored 2 files or folders (hidden)",
        f"{folder}: 1 empty file",
        "1 document without a known word skipped",
        "1 column kept: folder (choose other columns with --meta-field NAME,...)",
    ]
    assert words(corpus) == [{"first": 1, "file": 1}, {"second": 1, "file": 1}]


@pytest.mark.parametrize(
    "ours",
    ["config.json checkpoints/x", "meta.json indptr.npy", "topics.npy", "topics.safetensors"],
)
def test_what_was_written_into_a_folder_of_texts_is_none_of_them(tmp_path, ours):
    """As by two `sgmc train .`. Red with: the vocabulary of the first for a document of the second."""
    (tmp_path / "letter.txt").write_text("dear madam")
    for name in [*ours.split(), "vocab.txt", "meta/vocab.txt"]:
        path = tmp_path / "sgmc-runs" / "x" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("dear")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "note.txt").write_text("dear")
    (tmp_path / "config.json").touch()  # which alone says nothing
    assert texts_of_folder(tmp_path).files == [tmp_path / "letter.txt"]


def test_a_run_is_no_folder_of_texts(tmp_path):
    """Red with: its lists of words for documents."""
    (tmp_path / "checkpoints").mkdir()
    for name in ("config.json", "vocab.txt"):
        (tmp_path / name).touch()
    with pytest.raises(CorpusError, match="a run, not a folder of texts; resume it with"):
        read(tmp_path, tmp_path / "s", **ALL)


def test_texts_beside_a_meta_json_of_others_say_what_to_do(tmp_path):
    """Red with: no corpus of sgmc, which nobody had said it was."""
    (tmp_path / "meta.json").write_text("{}")
    (tmp_path / "letter.txt").write_text("dear madam")
    with pytest.raises(CorpusError, match=r"if this is a folder of texts, move meta\.json away"):
        read(tmp_path, tmp_path / "s", **ALL)


def test_a_folder_without_texts_is_a_missing_input(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingInputError, match=r"contains no texts"):
        read(tmp_path / "empty", tmp_path / "s")


def test_a_folder_of_counts_is_refused(tmp_path):
    (tmp_path / "docword.x.txt").write_text("1\n1\n1\n1 1 1\n")
    with pytest.raises(CorpusError, match="give the names of the files"):
        read(tmp_path, tmp_path / "out" / "s")


def test_standard_input_is_read_like_a_file(tmp_path, standard_input):
    file = read(DATA / "tiny.txt", tmp_path / "a")
    standard_input((DATA / "tiny.txt").read_bytes())
    assert read("-", tmp_path / "b").fingerprint == file.fingerprint


@pytest.mark.parametrize(
    "change",
    [lambda b: b.replace(b"\n", b"\r\n"), lambda b: b"\xef\xbb\xbf" + b, lambda b: b.rstrip()],
    ids=["CRLF", "BOM", "no newline at the end"],
)
def test_harmless_spelling_of_text_changes_nothing(tmp_path, change):
    path = tmp_path / "x.txt"
    path.write_bytes(change((DATA / "tiny.txt").read_bytes()))
    plain = read(DATA / "tiny.txt", tmp_path / "a")
    assert read(path, tmp_path / "b").fingerprint == plain.fingerprint


#: What stands in the second of three lines; a piece of the message; the reason it is counted under.
BAD_TEXT = {
    "malformed UTF-8": (b"bad \xff word", "not UTF-8", "not UTF-8"),
    "cut UTF-8": (b"bad caf\xc3", "not UTF-8", "not UTF-8"),
    "encoded surrogate": (b"bad \xed\xa0\x80", "not UTF-8", "not UTF-8"),
    "overlong": (b"bad \xc0\xaf", "not UTF-8", "not UTF-8"),
    "NUL": (b"bad \0 word", "a NUL", "NUL"),
    "too long": (b"bad " * 30, "more than 100 bytes", "line too long"),
}
BAD_JSON = {
    "not JSON": (b'{"text": ', "not JSON", "not JSON"),
    "malformed UTF-8": (b'{"text": "\xff"}', "not UTF-8", "not UTF-8"),
    "no field": (b'{"body": "x"}', "no field 'text' (the object has 'body'", "field missing"),
    "number": (b'{"text": 3}', "not a string but int", "field not a string"),
    "list": (b"[1, 2]", "not an object", "not an object"),
    "surrogate": (b'{"text": "\\ud800"}', "surrogate", "not UTF-8"),
    "NUL": (b'{"text": "\\u0000"}', "a NUL", "NUL"),
    "raw NUL": (b'{"text": "\0"}', "not JSON", "not JSON"),
    "two objects": (b'{"text": "a"} {}', "not JSON", "not JSON"),
    "nested": (b'{"text": ' + b"[" * 80, "not JSON", "not JSON"),
    "too long": (b'{"text": "' + b"x" * 100 + b'"}', "more than 100 bytes", "line too long"),
}
CASES = [("txt", name) for name in BAD_TEXT] + [("jsonl", name) for name in BAD_JSON]


def bad_file(folder: Path, kind: str, name: str) -> tuple[Path, str, str]:
    line, piece, reason = (BAD_TEXT if kind == "txt" else BAD_JSON)[name]
    good = [b"good one", b"good two"]
    if kind == "jsonl":
        good = [json.dumps({"text": text.decode()}).encode() for text in good]
    path = folder / f"x.{kind}"
    path.write_bytes(b"\n".join([good[0], line, good[1]]) + b"\n")
    return path, piece, reason


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_bad_document_stops_with_file_and_line_and_nothing_is_left(tmp_path, kind, name):
    path, piece, _ = bad_file(tmp_path, kind, name)
    with pytest.raises(CorpusError) as caught:
        read(path, tmp_path / "out" / "s", **ALL, max_line=100)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert piece in str(caught.value)
    assert "--on-bad-document skip" in str(caught.value)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_bad_document_is_skipped_and_counted_if_asked(tmp_path, kind, name):
    path, _, reason = bad_file(tmp_path, kind, name)
    lines = Lines()
    corpus = read(
        path, tmp_path / "s", **ALL, max_line=100, on_bad_document="skip", log=lines.append
    )
    assert words(corpus) == [{"good": 1, "one": 1}, {"good": 1, "two": 1}]
    assert corpus.provenance["skipped"] == {reason: 1}
    assert any("1 bad document skipped" in line for line in lines)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_bad_document_that_is_skipped_keeps_its_row_when_matched(tmp_path, kind, name):
    path, _, reason = bad_file(tmp_path, kind, name)
    options = {"max_line": 100, "on_bad_document": "skip"}
    corpus = read(path, tmp_path / "s", **options, match=("good", "two"))
    assert words(corpus) == [{"good": 1}, {}, {"good": 1, "two": 1}]
    assert corpus.provenance["skipped"] == {reason: 1}
    assert corpus.provenance["documents_read"] == 3


def test_every_bad_document_among_many_keeps_its_row_when_matched(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xff\ngood one\n\xff\n\xff\ngood two\n\xff\n")
    corpus = read(path, tmp_path / "s", on_bad_document="skip", match=("good", "one"))
    assert words(corpus) == [{}, {"good": 1, "one": 1}, {}, {}, {"good": 1}, {}]


def test_documents_that_pruning_empties_are_skipped_and_counted(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("both here\nrare words\nboth here\n\nother things\n")
    corpus = read(path, tmp_path / "s", min_df=2, max_df=1.0, stop_words="none")
    assert words(corpus) == [{"both": 1, "here": 1}] * 2
    assert corpus.provenance["skipped"] == {"no known word": 3}
    assert corpus.provenance["documents_read"] == 5


def test_a_bad_file_of_a_folder_keeps_its_row_when_matched(tmp_path):
    (tmp_path / "1.txt").write_bytes(b"good " * 50)
    (tmp_path / "2.txt").write_bytes(b"\xff")
    (tmp_path / "3.txt").write_bytes(b"good")
    options = {"max_line": 100, "on_bad_document": "skip"}
    corpus = read(tmp_path, tmp_path / "o" / "s", **options, match=("good",))
    assert words(corpus) == [{}, {}, {"good": 1}]


def test_a_null_is_a_document_without_words(tmp_path):
    """Of JSON lines as of Parquet; an empty field of CSV is the same. Red with: a bad document."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "good one"}\n{"text": null}\n{"text": "good two"}\n')
    assert words(read(path, tmp_path / "s", match=("good",))) == [{"good": 1}, {}, {"good": 1}]


def test_of_several_files_it_is_said_that_their_lines_are_documents(tmp_path):
    """As a shell makes of letters/*.txt. Red with: a letter for each line, without a word."""
    said = Lines()
    (folder := tmp_path / "letters").mkdir()
    for name in "ab":
        (folder / f"{name}.txt").write_text("one two\nthree four\n")
    inputs = sorted(map(str, folder.iterdir()))
    for number, what in enumerate([inputs[:1], [str(folder)], inputs]):
        store = tmp_path / f"stored-{number}"
        open_corpus(what, CorpusOptions(**ALL), store=store, log=said.append)
    (line,) = [line for line in said if "each line is a document" in line]
    assert line.startswith("2 text files: ")


def test_a_file_that_is_given_twice_is_warned_of(tmp_path):
    """Red with: held-out documents that are trained on, without a word."""
    said = Lines()
    for name, text in {"a": "one two\n", "b": "one two\n", "c": "three four\n"}.items():
        (tmp_path / name).write_text(text)
    inputs = [str(tmp_path / name) for name in "acb"]
    open_corpus(inputs, CorpusOptions(**ALL), store=tmp_path / "s", log=said.append)
    (line,) = [line for line in said if "occur twice" in line]
    assert line.startswith(f"{inputs[2]}: has the same content as {inputs[0]}")


def test_a_folder_that_is_given_twice_is_warned_of(tmp_path):
    """A stored corpus, a folder of texts, and a file that is in one. Red with: files alone compared."""
    (folder := tmp_path / "f").mkdir()
    for name, text in {"a": "one two\n", "b": "one two\n", "c": "three four\n"}.items():
        (folder / f"{name}.txt").write_text(text)
    once = open_corpus([str(folder)], CorpusOptions(**ALL), store=tmp_path / "once")
    file = str(folder / "a.txt")
    for number, (inputs, wanted) in enumerate(
        [
            ([str(folder)], None),  # files that are alike in a folder are no mistake
            ([str(folder)] * 2, "2 files have the same content as earlier files"),
            ([str(folder), file], "its documents occur twice"),
            ([str(once.path)] * 2, "its documents occur twice"),
        ]
    ):
        said = Lines()
        open_corpus(inputs, CorpusOptions(**ALL), store=tmp_path / f"s{number}", log=said.append)
        lines = [line for line in said.warnings if "occur twice" in line]
        assert len(lines) == (wanted is not None)
        assert all(wanted in line for line in lines)


def test_json_nested_beyond_any_stack_is_a_bad_line(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": ' + b"[" * 500_000 + b"\n")
    with pytest.raises(CorpusError, match=":1: not JSON"):
        read(path, tmp_path / "s")


def test_a_json_number_of_many_digits_is_a_bad_line(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": "a b", "n": ' + b"1" * 10_000 + b"}\n")
    with pytest.raises(CorpusError, match=":1: not JSON"):
        read(path, tmp_path / "s")


def test_a_bad_file_of_a_folder_is_named_and_can_be_skipped(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "1.txt").write_bytes(b"good words")
    (folder / "2.txt").write_bytes(b"\xff")
    (folder / "3.txt").write_bytes(b"long " * 50)
    with pytest.raises(CorpusError, match=r"2\.txt: this is not UTF-8"):
        read(folder, tmp_path / "s", **ALL, max_line=100)
    corpus = read(folder, tmp_path / "s", **ALL, max_line=100, on_bad_document="skip")
    assert corpus.documents == 1
    assert corpus.provenance["skipped"] == {"line too long": 1, "not UTF-8": 1}


@pytest.mark.parametrize("size", [99, 100, 101, 2**16, 2**20 + 3, 3 * 2**20])
def test_the_limit_of_a_line_is_exact_wherever_blocks_are_cut(tmp_path, size):
    path = tmp_path / "x.txt"
    path.write_bytes(b"a b\n" + b"w" * size + b"\nlast line\n")
    options = {**ALL, "on_bad_document": "skip"}
    assert read(path, tmp_path / "a", **options, max_line=size).documents == 2
    corpus = read(path, tmp_path / "b", **options, max_line=size - 1)
    assert corpus.vocabulary == ("last", "line")
    with pytest.raises(CorpusError, match=":2: the line has more than"):
        read(path, tmp_path / "c", **ALL, max_line=size - 1)


@pytest.mark.parametrize(
    ("content", "piece"),
    [
        (b"", "the file is empty"),
        (b"\n\n\n", "no document has a word"),
        (b"a b c", "no document has"),
    ],
    ids=["empty file", "empty documents", "no tokens"],
)
def test_a_file_without_words_is_bad_input(tmp_path, content, piece):
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=piece):
        read(path, tmp_path / "s")


def test_a_pattern_that_goes_over_letters_again_and_again_is_ended(tmp_path, monkeypatch):
    """And names the line. Red with: matched in this process (it hangs, and Ctrl-C does not help)."""
    monkeypatch.setattr(token_patterns, "LIMIT", 0.5)
    path = tmp_path / "a.txt"
    path.write_bytes(b"aa bb\n\xff\n" + b"a" * 40 + b"b\ncc\n")
    slow = {**ALL, "token_pattern": "(a+)+$", "on_bad_document": "skip"}
    with pytest.raises(CorpusError, match=r"a.txt:3: the token pattern .* takes more than [01] s"):
        read(path, tmp_path / "s", **slow)
    found = read(path, tmp_path / "t", **{**slow, "token_pattern": "a+b?|c+"})
    assert set(found.vocabulary) == {"aa", "a" * 40 + "b", "cc"}


def test_a_pattern_is_matched_as_in_this_process_on_many_threads_and_in_a_fork(tmp_path):
    pattern, texts = TokenPattern(r"(\w+)-"), [f"é{i}-a b-{i}\ud800-" for i in range(300)]
    wanted = [re.findall(r"(\w+)-", text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: pattern.matching().findall(text), texts)) == wanted
    child = os.fork()
    if child == 0:
        os._exit(pattern.matching().findall(texts[0]) != wanted[0])
    assert pattern.matching().findall(texts[1]) == wanted[1]
    assert os.waitpid(child, 0)[1] == 0
