"""Text that is invalid, too long, or empty. Rows 48, 49 and 50 of the matrix."""

from __future__ import annotations

import os
import threading
import tracemalloc
from pathlib import Path

import pytest
from click.testing import CliRunner
from trial_counts import counts

from pysgrld.cli import main
from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.errors import CorpusError

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}

#: A file of three documents, the text of the second of which is to be filled in, and its line.
FORMS = {
    "text": ("x.txt", b"aa bb\n%b\naa cc\n", 2),
    "JSON lines": ("x.jsonl", b'{"text": "aa bb"}\n{"text": "%b"}\n{"text": "aa cc"}\n', 2),
    "CSV": ("x.csv", b'id,text\n1,"aa\nbb"\n2,%b\n3,aa cc\n', 4),
}
GOOD = {
    "BOM": (b"dd", lambda data: b"\xef\xbb\xbf" + data),
    "CRLF": (b"dd", lambda data: data.replace(b"\n", b"\r\n")),
}
BAD = {
    "cut sequence": b"dd \xe2\x82",
    "overlong": b"\xc0\xaf dd",
    "beyond Unicode": b"\xf5\x80\x80\x80",
    "Latin-1": b"caf\xe9 dd",
    "continuation alone": b"dd \x80",
    "lone surrogate": b"\xed\xa0\x80 dd",
    "surrogate pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "NUL": b"dd \0 dd",
}
ESCAPED = {"lone surrogate": rb"dd \ud83d", "the other half": rb"\ude00 dd", "NUL": rb"dd \u0000"}


def read(folder: Path, name: str, data: bytes, **options: object) -> Corpus:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return open_corpus([str(folder / name)], CorpusOptions(**ALL, **options), store=folder / "s")


@pytest.mark.row(48)
@pytest.mark.parametrize("case", GOOD)
@pytest.mark.parametrize("form", FORMS)
def test_a_byte_order_mark_and_carriage_returns_are_read(tmp_path, trials, form, case):
    """Red with: the mark left before the first word."""
    name, data, _ = FORMS[form]
    text, change = GOOD[case]
    plain = read(tmp_path / "a", name, data % text)
    changed = read(tmp_path / "b", name, change(data % text))
    assert changed.fingerprint == plain.fingerprint
    assert set(plain.vocabulary) == {"aa", "bb", "cc", "dd"}
    trials()


CASES = [(form, case, text) for form in FORMS for case, text in BAD.items()]
CASES += [("JSON lines", f"{case}, escaped", text) for case, text in ESCAPED.items()]


@pytest.mark.row(48)
@pytest.mark.parametrize(("form", "case", "text"), CASES)
def test_text_that_is_not_utf8_stops_with_its_line_or_is_counted(
    tmp_path, trials, form, case, text
):
    """Red with: bytes that cannot be decoded replaced; surrogates let through."""
    name, data, line = FORMS[form]
    with pytest.raises(CorpusError) as caught:
        read(tmp_path / "a", name, data % text)
    assert str(caught.value).startswith(f"{tmp_path / 'a' / name}:{line}: ")
    assert caught.value.exit_code == 65
    assert [entry.name for entry in (tmp_path / "a").iterdir()] == [name]
    corpus = read(tmp_path / "b", name, data % text, on_bad_document="skip")
    assert sum(corpus.provenance["skipped"].values()) == 1
    assert corpus.documents == 2
    assert set(corpus.vocabulary) == {"aa", "bb", "cc"}
    trials()


@pytest.fixture
def gigabyte(tmp_path):
    """A pipe that yields ``before``, so many MiB without a newline, and ``after``."""
    writers = []

    def pour(path: Path, before: bytes, mib: int, after: bytes) -> None:
        piece = b"aa b" * 2**18
        try:
            with path.open("wb", buffering=0) as pipe:
                for part in (before, *[piece] * mib, after):
                    view = memoryview(part)
                    while view:
                        view = view[pipe.write(view) :]
        except BrokenPipeError:
            pass  # the reader has seen enough

    def make(name: str, before: bytes, mib: int, after: bytes) -> Path:
        os.mkfifo(tmp_path / name)
        writers.append(threading.Thread(target=pour, args=(tmp_path / name, before, mib, after)))
        writers[-1].start()
        return tmp_path / name

    yield make
    for writer in writers:
        writer.join()


@pytest.mark.row(49)
@counts(160, 1024)
@pytest.mark.parametrize("policy", ["stop", "skip"])
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("x.txt", b"aa bb\n", b"\naa cc\n"),
        ("x.jsonl", b'{"text": "aa bb"}\n{"text": "', b'"}\n{"text": "aa cc"}\n'),
        ("x.csv", b'text\n"aa\nbb"\n', b"\naa cc\n"),
    ],
)
def test_a_line_of_a_gigabyte_is_bounded_by_max_line(
    gigabyte, trials, tmp_path, name, before, after, policy, n
):
    """By day of 160 MiB. Red with: the limit looked at when the line is complete."""
    path = gigabyte(name, before, n, after)
    options = CorpusOptions(**ALL, on_bad_document=policy)
    tracemalloc.start()
    try:
        if policy == "stop":
            with pytest.raises(
                CorpusError, match="the line has more than 67108864 bytes"
            ) as caught:
                open_corpus([str(path)], options, store=tmp_path / "s")
            assert caught.value.line == before.count(b"\n") + 1
        else:
            corpus = open_corpus([str(path)], options, store=tmp_path / "s")
            assert corpus.documents == 2
            assert corpus.provenance["skipped"] == {"line too long": 1}
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()
    trials()


TRAIN = ("-k", "2", "--iterations", "4", "--set", "warm-up=1", "--set", "burn-in=1", "--quiet")
TRAIN += ("--set", "starts=1")
REFUSED = {
    "empty file": ("", (), "the file is empty"),
    "empty documents": ("\n\n \n\t\n", (), "no document has a word"),
    "no word at all": ("a b c\n. ! ?\n1 2\n", (), "no document has a word"),
    "all stop words": ("the and of\nto the and\n", (), "stop words"),
    "no word twice": ("aa\nbb\ncc\ndd\n", (), "--min-df"),
    "unknown words": ("aa bb\ncc\n", ("--vocab", "vocab.txt"), "no document has a word of the"),
}


@pytest.fixture
def sgmc(tmp_path, monkeypatch):
    """The command in this process, in its own folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, [*map(str, arguments)])


@pytest.mark.row(50)
@pytest.mark.parametrize("case", REFUSED)
def test_a_corpus_without_words_is_refused_with_its_cause(tmp_path, sgmc, trials, case):
    """Red with: an empty corpus written; a share of no documents divided by."""
    text, options, piece = REFUSED[case]
    (tmp_path / "vocab.txt").write_text("zz\n")
    (tmp_path / "x.txt").write_text(text)
    done = sgmc("train", "x.txt", *TRAIN, *options)
    assert done.exit_code == 65, done.output
    assert piece in done.stderr
    assert "x.txt" in done.stderr
    assert "Traceback" not in done.output
    assert not list(tmp_path.glob("sgmc-runs/*/corpus"))
    trials()


TRAINED = {
    "one-word documents": "aa\nbb\n" * 20,
    "one word in all": "aa\n" * 20,
    "two documents": "aa bb\nbb aa\n",
    "one document": "aa bb aa bb\n",
    "words between empty documents": "\n\naa bb\n\n" * 20,
    "one document of many words": " ".join(f"w{i}" for i in range(999)) + "\naa\naa\n",
}


@pytest.mark.row(50)
@pytest.mark.parametrize("holdout", ["0", "0.5"])
@pytest.mark.parametrize("case", TRAINED)
def test_a_corpus_of_hardly_anything_is_trained_or_refused(tmp_path, sgmc, trials, case, holdout):
    """Red with: a mean over no held-out tokens."""
    (tmp_path / "x.txt").write_text(TRAINED[case])
    words = ("--min-df", "1", "--max-df", "1.0", "--stop-words", "none")
    done = sgmc("train", "x.txt", *TRAIN, *words, "--holdout", holdout, "--out", "run")
    assert done.exit_code in (0, 2, 65), (done.output, done.exception)
    assert done.exit_code == 0 or len(done.stderr.strip().splitlines()[-1]) > 20
    assert "Traceback" not in done.output
    assert "nan" not in done.output
    trials()
    if done.exit_code == 0:
        topics = sgmc("topics", "run", "--json")
        assert topics.exit_code == 0
        assert "NaN" not in topics.output
