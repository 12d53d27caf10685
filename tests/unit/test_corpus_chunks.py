"""Long documents cut into pieces: where, what they are called, and what they carry along."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from listeners import Lines

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.chunks import pieces
from pysgrld.corpus.streams import SinglePassCorpus, named_documents
from pysgrld.errors import CorpusError

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}
LONG = "\n\n".join(f"Paragraph {i} has these words. It has a few more of them!" for i in range(40))


def read(path: Path, store: Path, log=None, **more: object) -> Corpus:
    return open_corpus([str(path)], CorpusOptions(**ALL | more), store=store, log=log)


def test_pieces_are_even_and_together_the_text():
    """Red with: a last piece of what is left over; a word lost at a cut."""
    text = " ".join(f"w{i}" for i in range(1060)).encode()
    found = pieces(text, 100)
    assert [len(piece.split()) for piece in found] == [96, 96, 97, 96, 96, 97, 96, 96, 97, 96, 97]
    assert b" ".join(found) == text


@pytest.mark.parametrize(
    ("words", "number"), [(0, 1), (100, 1), (149, 1), (151, 2), (249, 2), (251, 3)]
)
def test_a_text_becomes_as_many_pieces_as_are_nearest_to_the_size(words, number):
    assert len(pieces(b"word " * words, 100)) == number


def test_a_piece_ends_with_a_paragraph_else_a_sentence_else_a_line_else_a_word():
    """Red with: each of the patterns left out."""
    end = {p: f"{p}" for p in ("\n \n", ". ", "\n", " ")}
    for given, other in pairwise(end):
        text = "word " * 97 + f"last{given}" + "word " * 3 + f"word{other}" + "word " * 96
        first, _ = pieces(text.encode(), 100)
        assert first.split()[-1].startswith(b"last"), repr(given)
    assert all(p.endswith(b"!") for p in pieces(LONG.encode(), 60))


def test_chinese_is_cut_by_characters_and_at_its_sentences():
    text = "主题模型很有用。" * 100
    found = [piece.decode() for piece in pieces(text.encode(), 100)]
    assert len(found) == 8
    assert all(piece.endswith("。") for piece in found)
    assert "".join(found) == text


@pytest.mark.parametrize("bad", [b"\xff", b"\0"])
def test_a_document_that_is_bad_stays_one_bad_document(tmp_path, bad):
    """Red with: the good pieces of it taken."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "bad.txt").write_bytes(LONG.encode() + bad)
    (tmp_path / "x" / "good.txt").write_text(LONG)
    corpus = read(tmp_path / "x", tmp_path / "s", chunk=100, on_bad_document="skip")
    assert corpus.provenance["skipped"] == {"NUL" if bad == b"\0" else "not UTF-8": 1}
    assert corpus.about.ids(range(corpus.documents)) == [f"good.txt#{i}" for i in range(1, 6)]


@pytest.fixture
def posts(tmp_path):
    path = tmp_path / "x.jsonl"
    records = [
        {"id": "a", "title": "First", "text": LONG, "year": 1999},
        {"id": "b", "title": "Second", "text": "a short one", "year": 2001},
        {"text": LONG[: len(LONG) // 2], "year": 2003},
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def test_pieces_keep_title_and_columns_and_are_called_by_number(posts, tmp_path):
    """Red with: columns of the first piece alone; a warning that ids come twice."""
    said = Lines()
    corpus = read(posts, tmp_path / "s", said.append, chunk=200, meta_field="year")
    about, every = corpus.about, range(corpus.documents)
    assert about.ids(every) == ["a#1", "a#2", "b", "3"]
    assert about.titles(every) == ["First", "First", "Second", "3"]
    assert about.values("year", every) == [1999, 1999, 2001, 2003]
    assert about.pieces(every).tolist() == [1, 2, 0, 0]
    assert [origin.row for origin in about.origins(every)] == [1, 1, 2, 3]
    assert any(
        line.startswith("1 long document split into 2 pieces of about 200 words") for line in said
    )
    assert not any("warning" in line for line in said)
    assert "\n\n".join(about.texts([0, 1])) == LONG
    whole = read(posts, tmp_path / "t")
    assert corpus.tokens == whole.tokens
    again = open_corpus(
        [str(tmp_path / "s"), str(tmp_path / "s")], CorpusOptions(**ALL), store=tmp_path / "u"
    )
    assert again.about.ids(range(5)) == ["a#1", "a#2", "b", "3", "a#1"]


@pytest.mark.parametrize("given", [{}, {"id_field": "id"}])
def test_metadata_of_a_document_are_those_of_all_its_pieces(posts, tmp_path, given):
    """Red with: a row for each piece."""
    meta = tmp_path / "m.csv"
    meta.write_text("id,group\na,one\nb,two\n3,three\n")
    corpus = read(posts, tmp_path / "s", chunk=100, metadata=str(meta), **given)
    assert corpus.about.values("group", range(corpus.documents)) == [
        *(["one"] * 5),
        "two",
        *(["three"] * 2),
    ]


def test_other_documents_are_cut_the_same_and_keep_their_rows(posts, tmp_path):
    corpus = read(posts, tmp_path / "s", chunk=100)
    stream = named_documents(
        [str(posts)],
        CorpusOptions(chunk=100),
        corpus.vocabulary,
        threads=1,
        notify=lambda _: None,
        log=lambda *_: None,
    )
    lengths = [n for block in stream for n in block.lengths.tolist()]
    assert lengths == corpus.lengths().tolist()
    assert [name.id for name in stream.names(len(lengths))] == corpus.about.ids(range(len(lengths)))


def test_a_stream_counts_pieces(posts, tmp_path):
    """Red with: a head of so many documents before they are cut."""
    once = SinglePassCorpus(
        [str(posts)],
        CorpusOptions(**ALL, chunk=100),
        3,
        store=tmp_path / "s",
        threads=1,
        notify=lambda _: None,
        log=lambda *_: None,
    )
    assert once.corpus.documents == 3
    assert len(once.take(99)) == 4  # of five, one without a known word
    once.close()


def test_counts_are_not_cut(tmp_path):
    (tmp_path / "docword.x.txt").write_text("1\n1\n1\n1 1 1\n")
    with pytest.raises(CorpusError, match=r"counts cannot be split into pieces; give --chunk none"):
        read(tmp_path / "docword.x.txt", tmp_path / "s", chunk=5)
