"""Text in other encodings than UTF-8, read, guessed at and refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from listeners import Lines

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.errors import CorpusError, UsageError

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}


def read(path: Path | str, store: Path, **more: object) -> Corpus:
    return open_corpus([str(path)], CorpusOptions(**more), store=store)


ENCODED = {
    "x.txt": "un été\nà Zürich\n",
    "x.csv": "nom;text\ncafé;un été\nthé;à Zürich\n",
    "x.jsonl": '{"text": "un été"}\n{"text": "à Zürich"}\n',
}


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "shift_jisx0213"])
def test_text_of_another_encoding_is_read_as_if_it_were_utf_8(tmp_path, name, encoding):
    """Red with: lines cut before they are decoded (UTF-16)."""
    (tmp_path / name).write_bytes(ENCODED[name].encode(encoding))
    corpus = read(tmp_path / name, tmp_path / "s", **ALL, encoding=encoding)
    assert set(corpus.vocabulary) == {"un", "été", "zürich"}
    assert corpus.provenance["reading"]["encoding"] == encoding


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.jsonl"])
def test_what_is_not_utf_8_says_how_it_is_read(tmp_path, name):
    """Red with: "mend it" and no word how."""
    (tmp_path / name).write_bytes(ENCODED[name].encode("latin-1"))
    with pytest.raises(CorpusError, match=r"not UTF-8 .*-1252 for Western .*-1251 for"):
        read(tmp_path / name, tmp_path / "s", **ALL)


def test_bytes_that_an_encoding_has_not_make_a_bad_document(tmp_path):
    """Red with: such bytes replaced in silence."""
    path = tmp_path / "x.txt"
    path.write_bytes(b"good one\nbad \x81\ngood two\n")
    with pytest.raises(CorpusError, match=r"x\.txt:2: this is not valid cp1252"):
        read(path, tmp_path / "s", **ALL, encoding="cp1252")
    skipped = read(path, tmp_path / "s", **ALL, encoding="cp1252", on_bad_document="skip")
    assert skipped.documents == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_text_whose_bytes_are_in_no_known_order_is_a_bad_document(tmp_path, encoding):
    """Red with: the decoder's error let through (an internal error)."""
    path = tmp_path / "x.txt"
    path.write_bytes("bread wine bread wine\n".encode(f"{encoding}-le") * 9)
    with pytest.raises(CorpusError, match=f"not valid {encoding}"):
        open_corpus([str(path)], CorpusOptions(encoding=encoding), store=tmp_path / "s")


def test_the_texts_of_a_folder_may_be_of_another_encoding(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_bytes("un été".encode("latin-1"))
    corpus = read(tmp_path / "in", tmp_path / "s", **ALL, encoding="iso8859-1")
    assert corpus.vocabulary == ("un", "été")


@pytest.mark.parametrize("of_a_folder", [True, False])
def test_utf_8_that_is_read_in_another_encoding_is_warned_of(tmp_path, of_a_folder):
    """Red with: letters of two files in three encodings wrong without a word."""
    texts = {
        "1": "un été".encode("latin-1"),
        "2": "un été".encode(),
        "3": b"un",
        "4": b"\xef\xbb\xbfun",
    }
    (folder := tmp_path / "letters").mkdir()
    for name, data in texts.items():
        (folder / f"{name}.txt").write_bytes(data)
    said = Lines()
    inputs = [str(folder)] if of_a_folder else sorted(map(str, folder.iterdir()))
    options = CorpusOptions(**ALL, encoding="cp1252")
    open_corpus(inputs, options, store=tmp_path / "stored", log=said.append)
    (warned,) = [line for line in said if "UTF-8 was read as cp1252" in line]
    assert warned.startswith(f"{folder / '2.txt'} and 1 other file: ")


def test_an_encoding_of_what_says_its_own_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="this file is UCI bag of words; leave out --encoding"):
        read(
            Path(__file__).parents[1] / "data" / "docword.tiny.txt",
            tmp_path / "s",
            encoding="cp1252",
        )


@pytest.mark.parametrize("name", ["", "x", "hex", "idna", "undefined", "utf-8\0", "rot13"])
def test_a_name_that_is_no_encoding_is_wrong_usage(name):
    with pytest.raises(UsageError, match="is not a known encoding; give utf-8, windows-1252"):
        CorpusOptions(encoding=name)
