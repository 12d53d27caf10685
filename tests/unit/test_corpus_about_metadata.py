"""Tables of metadata beside the documents: by order, joined by id, and what is refused."""

from __future__ import annotations

import pytest
from named_corpora import build, every, lines_of, uci

from pysgrld.errors import CorpusError


@pytest.fixture
def rows(tmp_path):
    """Four documents of counts, the second without words, and a table of them."""
    path = uci(tmp_path)[0][0]
    (tmp_path / "m.csv").write_text("id;title;n\n3;C;30\n1;A;10\n2;B;20\n4;D;40\n")
    return path


def test_metadata_are_a_row_a_document_or_joined_by_id(rows, tmp_path):
    """Red with: rows counted in documents with words."""
    meta = str(tmp_path / "m.csv")
    found = build(tmp_path, rows, name="order", metadata=meta).about
    assert (found.titles([0, 1, 2]), found.values("n", [0, 1, 2])) == (
        ["C", "B", "D"],
        [30, 20, 40],
    )
    found = build(tmp_path, rows, name="joined", metadata=meta, id_field="id").about
    assert (found.ids([0, 1, 2]), found.titles([0, 1, 2])) == (["1", "3", "4"], ["A", "C", "D"])


def test_metadata_of_several_inputs_go_on_where_the_last_has_ended(tmp_path):
    """Red with: documents counted anew in each input."""
    for name, text in {"x": "aa\n\nbb\n", "y": "cc\ndd\n"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    meta = lines_of(tmp_path / "m.jsonl", [{"v": i} for i in range(5)])
    corpus = build(tmp_path, tmp_path / "x.txt", tmp_path / "y.txt", metadata=str(meta))
    assert corpus.about.values("v", every(corpus)) == [0, 2, 3, 4]


def test_metadata_with_too_few_rows_or_unknown_ids_stop_or_are_said(rows, tmp_path):
    said, meta = [], tmp_path / "m.csv"
    meta.write_text("id,n\n1,10\n3,30\n9,90\n3,31\n")
    for name, options in {"o": {}, "j": {"id_field": "id"}}.items():
        given = {"metadata": str(meta), **options}
        if name == "j":
            with pytest.raises(
                CorpusError,
                match=r"this table of 4 rows lacks a row for 1 document \(the first such document is",
            ):
                build(tmp_path, rows, **given)
        corpus = build(tmp_path, rows, name=name, log=said, on_bad_document="skip", **given)
    assert corpus.about.values("n", every(corpus)) == [10, 30, None]
    assert any("1 row with the same id as an earlier row" in line for line in said)
    assert any("2 rows that match no document" in line for line in said)
    assert any("lacks a row for 1 document" in line for line in said)


def test_metadata_by_order_want_every_document(tmp_path):
    """Red with: rows that move up where a bad document was left out."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "aa"}\nnothing\n{"text": "bb"}\n')
    meta = lines_of(tmp_path / "m.jsonl", [{"v": i} for i in range(3)])
    with pytest.raises(CorpusError, match=r"an unreadable document was left out.*--id-field"):
        build(tmp_path, path, on_bad_document="skip", metadata=str(meta))


@pytest.mark.parametrize("skip", ["stop", "skip"])
def test_metadata_by_order_are_as_many_as_the_documents_that_were_read(rows, tmp_path, skip):
    """Red with: rows of an other number said, and given to other documents."""
    meta = tmp_path / "n.csv"
    for n in (3, 5):
        meta.write_text("n\n" + "1\n" * n)
        with pytest.raises(CorpusError, match=rf"n.csv: .*{n} rows, but 4 documents"):
            build(tmp_path, rows, name="s", metadata=str(meta), on_bad_document=skip)


def test_metadata_that_lack_the_line_of_names_are_told_what_they_lack(rows, tmp_path):
    """Red with: a row too few, and no word on where it went."""
    meta = tmp_path / "n.tsv"
    meta.write_text("a\tb\n" * 4)
    with pytest.raises(CorpusError, match="put a line of column names before it"):
        build(tmp_path, rows, metadata=str(meta))


def test_metadata_of_a_stored_corpus_go_by_the_order_of_what_it_was_built_of(tmp_path):
    """Red with: the order of the documents that were not left out."""
    (tmp_path / "x.txt").write_text("\naa bb\n\ncc dd\n")
    one = build(tmp_path, tmp_path / "x.txt", name="one").path
    two = build(tmp_path, one, one, name="two").path
    for n, inputs in {4: [one], 8: [one, one], 12: [two, one]}.items():
        meta = lines_of(tmp_path / "m.jsonl", [{"v": i} for i in range(n)])
        found = build(tmp_path, *inputs, name=f"s{n}", metadata=str(meta))
        assert found.about.values("v", every(found)) == list(range(1, n, 2))
    with pytest.raises(CorpusError, match=r"the table has 12 rows, but 4 documents"):
        build(tmp_path, one, metadata=str(meta))


def test_metadata_by_order_are_refused_where_bad_documents_were_left_out_of_a_stored_corpus(
    tmp_path,
):
    """Red with: places that do not count the bad ones."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "aa"}\nnothing\n{"text": "bb"}\n')
    kept = build(tmp_path, path, name="kept", on_bad_document="skip").path
    meta = lines_of(tmp_path / "m.jsonl", [{"v": i} for i in range(3)])
    with pytest.raises(
        CorpusError, match=r"does not record which documents were left out.*--id-field"
    ):
        build(tmp_path, kept, metadata=str(meta))


def test_metadata_are_records(tmp_path):
    (tmp_path / "x.txt").write_text("aa\n")
    with pytest.raises(CorpusError, match=r"metadata must be CSV.*this file is plain text"):
        build(tmp_path, tmp_path / "x.txt", metadata=str(tmp_path / "x.txt"))
