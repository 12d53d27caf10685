"""Documents keep their names: origins, ids, titles, columns and texts of a stored corpus."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import zipfile
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
import zstandard

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.about import fields, texts
from pysgrld.corpus.about.columns import LEVELS
from pysgrld.corpus.about.details import NamedDocuments
from pysgrld.corpus.build import copy_parts, drop_text, sample
from pysgrld.corpus.store import describe
from pysgrld.corpus.streams import SinglePassCorpus, named_documents
from pysgrld.corpus.write import WorkFolder
from pysgrld.errors import CorpusError, Interrupted

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}


def build(tmp_path, *inputs, name="s", log=None, **options):
    said = (lambda line: None) if log is None else log.append
    given = CorpusOptions(**ALL | options)
    return open_corpus([str(i) for i in inputs], given, store=tmp_path / name, log=said)


def every(corpus):
    return np.arange(corpus.documents)


def lines_of(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def files_about(corpus):
    return {p.name: p.read_bytes() for p in corpus.path.glob("*.npz")}


# ---- origins lead back to the very line, whatever was left out in between


def marks(corpus):
    """The words of each document that only it has, by which it is known in its file."""
    return [
        {corpus.vocabulary[i] for i in corpus.take([d]).indices if corpus.vocabulary[i][:1] == "m"}
        for d in every(corpus)
    ]


def plain_text(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"m1 is\n\nm3 bad \xff\nm4 is\nm5 NUL \0\nm6 is\n")
    return [path], lambda file, row: path.read_bytes().split(b"\n")[row - 1].decode()


def two_files(tmp_path):
    paths = [tmp_path / "x.txt", tmp_path / "y.txt"]
    paths[0].write_bytes(b"m1 is\nbad \xff\nm3 is\n")
    paths[1].write_bytes(b"bad \xff\nm4 is\n")
    return paths, lambda file, row: (tmp_path / file).read_bytes().split(b"\n")[row - 1].decode()


def folder(tmp_path):
    root = tmp_path / "texts"
    (root / "sub").mkdir(parents=True)
    for name, data in {"a": b"m1 is", "b": b"", "c": b"\xff", "sub/d": b"m4 is"}.items():
        (root / f"{name}.txt").write_bytes(data)
    return [root], lambda file, row: (tmp_path / file).read_text() if row is None else ""


def json_lines(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"text": "m1"}\n\n{"text": 3}\n{"text": "m4 \\u0000"}\n{"text": ""}\n{"text": "m6"}\n'
    )
    return [path], lambda file, row: json.loads(path.read_text().splitlines()[row - 1])["text"]


def table(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('a,text\n1,"m1 on\ntwo lines"\n2\n\n3,\n4,m5\n5,"m6"x\n6,m7\n')
    return [path], lambda file, row: path.read_text().splitlines()[row - 1]


def parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = ["m1 is", None, "m3 \0", "m4 is"]
    pq.write_table(pa.table({"text": rows}), tmp_path / "x.parquet")
    return [tmp_path / "x.parquet"], lambda file, row: rows[row - 1]


def uci(tmp_path):
    path = tmp_path / "docword.x.txt"
    path.write_text("4\n3\n3\n1 1 1\n3 2 1\n4 3 1\n")
    (tmp_path / "vocab.x.txt").write_text("m1\nm3\nm4\n")
    return [path], lambda file, row: f"m{row}"


def ldac(tmp_path):
    path = tmp_path / "x.ldac"
    path.write_text("1 0:1\n0\n1 1:2\n")
    (tmp_path / "vocab.x.txt").write_text("m1\nm3\n")
    return [path], lambda file, row: f"m{row}"


def svmlight(tmp_path):
    path = tmp_path / "x.svmlight"
    path.write_text("# two documents\n1 1:1\n0\n# between\n2 2:2\n")
    (tmp_path / "vocab.x.txt").write_text("m2\nm5\n")
    return [path], lambda file, row: f"m{row}"


def matrix_market(tmp_path):
    path = tmp_path / "x.mtx"
    path.write_text("%%MatrixMarket matrix coordinate integer general\n3 2 2\n3 2 1\n1 1 4\n")
    (tmp_path / "vocab.x.txt").write_text("m1\nm3\n")
    return [path], lambda file, row: f"m{row}"


def npz(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_matrix(np.array([[1, 0], [0, 0], [0, 2]])))
    (tmp_path / "vocab.x.txt").write_text("m1\nm3\n")
    return [tmp_path / "x.npz"], lambda file, row: f"m{row}"


def dump(tmp_path):
    pages = [
        ("m1", 0, "m1 is"),
        ("b", 1, "bad"),
        ("c", 0, " "),
        ("m4", 0, "m4 \ufffdis '''this'''"),
    ]
    path = tmp_path / "x.xml"
    path.write_text(
        '<mediawiki version="0.11">\n'
        + "".join(
            f"<page>\n<title>{t}</title><ns>{ns}</ns><id>{9 + i}</id><revision><id>1</id>"
            f"<text>{text}</text></revision></page>\n"
            for i, (t, ns, text) in enumerate(pages)
        )
        + "</mediawiki>\n"
    )
    return [path], lambda file, row: path.read_text().splitlines()[row]


@pytest.mark.parametrize(
    "kind",
    [
        *(plain_text, two_files, folder, json_lines, table, parquet),
        *(uci, ldac, svmlight, matrix_market, npz, dump),
    ],
)
def test_an_origin_leads_back_to_the_very_line(kind, tmp_path):
    """Red with: rows counted in documents that are left; bad ones left out of the counts alone."""
    inputs, at = kind(tmp_path)
    corpus = build(tmp_path, *inputs, on_bad_document="skip")
    assert corpus.documents >= 2
    for mark, origin in zip(marks(corpus), corpus.about.origins(every(corpus)), strict=True):
        (word,) = mark
        assert word in at(*origin)


def test_documents_that_lose_all_their_words_lose_their_names(tmp_path):
    """Red with: names of the first pass as they are."""
    words = ["both here", "alone", "both here", "lonely", "here both"]
    path = lines_of(tmp_path / "x.jsonl", [{"text": w, "n": i} for i, w in enumerate(words)])
    corpus = build(tmp_path, path, min_df=2, meta_field="n", title_field="text")
    about = corpus.about
    assert about.values("n", every(corpus)) == [0, 2, 4]
    assert [origin.row for origin in about.origins(every(corpus))] == [1, 3, 5]
    assert about.texts([2, 0, 1]) == ["here both", "both here", "both here"]
    assert about.texts_kept == 3


# ---- ids, titles, kinds


def test_ids_and_titles_are_those_of_the_input_or_what_stands_for_them(tmp_path):
    """Red with: the page's revision for its id; a title that is null shown as None."""
    found = build(tmp_path, dump(tmp_path)[0][0], name="d").about
    assert (found.ids([0, 1]), found.titles([0, 1])) == (["9", "12"], ["m1", "m4"])
    assert found.texts([1]) == ["m4 \ufffdis this"]
    found = build(tmp_path, folder(tmp_path)[0][0], name="f", on_bad_document="skip").about
    assert found.titles([0, 1]) == ["a.txt", "sub/d.txt"]
    path = lines_of(
        tmp_path / "x.jsonl", [{"text": "aa", "id": 7, "title": "A"}, {"text": "bb", "title": None}]
    )
    found = build(tmp_path, path, name="j").about
    assert (found.ids([1, 0]), found.titles([0, 1])) == (["2", "7"], ["A", "2"])
    found = build(tmp_path, path, name="k", id_field="title", title_field="id").about
    assert (found.ids([0]), found.titles([0])) == (["A"], ["7"])


def test_an_id_that_comes_twice_is_counted_and_said_and_kept(tmp_path):
    said = []
    path = lines_of(tmp_path / "x.jsonl", [{"text": "aa", "id": i} for i in "abaa"])
    corpus = build(tmp_path, path, log=said)
    assert corpus.about.ids(every(corpus)) == list("abaa")
    assert any("2 documents with an id that one before has" in line for line in said)


#: Values of a field as JSON has them, the kind that is found, and the values that come back.
TYPED = [
    ([1, None, -3], "integer", [1, None, -3]),
    ([1, 2.5], "real", [1.0, 2.5]),
    ([True, False], "flag", [True, False]),
    (["2024-01-05", "2024-01-06T10:00:00+02:00"], "time", ["2024-01-05", "2024-01-06T08:00:00"]),
    (["a", "a", "b", "b"], "category", ["a", "a", "b", "b"]),
    (["a", "b"], "string", ["a", "b"]),
    (["1", "2"], "string", ["1", "2"]),
    ([1, "x", 1, "x", True, True], "category", ["1", "x", "1", "x", "true", "true"]),
    ([2**70, 1], "string", [str(2**70), "1"]),
    ([None, None], "string", [None, None]),
]
CELLS = [
    (["1", "", "-3"], "integer", [1, None, -3]),
    (["1", "2.5e1"], "real", [1.0, 25.0]),
    (["01234", "02345"], "string", ["01234", "02345"]),
    (["2024-01-05", "2024-01-06"], "time", ["2024-01-05", "2024-01-06"]),
    (["2024-13-05", "2024-01-06"], "string", ["2024-13-05", "2024-01-06"]),
    (["true", "true"], "category", ["true", "true"]),
]


@pytest.mark.parametrize(("values", "kind", "back"), TYPED)
def test_the_kind_of_a_column_of_json_is_found_out(values, kind, back, tmp_path):
    path = lines_of(tmp_path / "x.jsonl", [{"text": "aa", "v": value} for value in values])
    corpus = build(tmp_path, path, meta_field="all")
    (column,) = corpus.about.columns
    assert column == ("v", kind, sum(value is None for value in back))
    assert corpus.about.values("v", every(corpus)) == back


@pytest.mark.parametrize(("values", "kind", "back"), CELLS)
def test_the_kind_of_a_column_of_csv_is_found_out(values, kind, back, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("text,v\n" + "".join(f"aa,{value}\n" for value in values))
    corpus = build(tmp_path, path, meta_field="v")
    assert corpus.about.columns[0].kind == kind
    assert corpus.about.values("v", every(corpus)) == back


def test_parquet_keeps_its_types(tmp_path):
    """Red with: nanoseconds, which Python's times have not."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    when = pa.array([1_700_000_000_123_456_789, None], pa.timestamp("ns"))
    group = pa.array(["x", "x"]).dictionary_encode()
    rows = pa.table({"text": ["aa", "bb"], "when": when, "n": [1, 2], "g": group, "l": [[1], [2]]})
    pq.write_table(rows, tmp_path / "x.parquet")
    corpus = build(tmp_path, tmp_path / "x.parquet", meta_field="when,n,g:category")
    values = [corpus.about.values(name, [0, 1]) for name in ("when", "n", "g")]
    assert values == [["2023-11-14T22:13:20.123456", None], [1, 2], ["x", "x"]]
    with pytest.raises(CorpusError, match=r"column 'l' is list.*plain values"):
        build(tmp_path, tmp_path / "x.parquet", name="t", meta_field="all")


def test_a_million_different_values_are_strings_or_refused_as_categories(tmp_path, monkeypatch):
    """Red with: levels without a bound."""
    path = lines_of(tmp_path / "x.jsonl", [{"text": "aa", "v": f"v{i}"} for i in range(3000)] * 2)
    assert build(tmp_path, path, meta_field="v").about.columns[0].kind == "string"
    assert LEVELS == 1000
    monkeypatch.setattr("pysgrld.corpus.about.columns.MOST_LEVELS", 2000)
    with pytest.raises(CorpusError, match="more than 2,000 different values"):
        build(tmp_path, path, name="t", meta_field="v:category")


# ---- what cannot be kept


@pytest.mark.parametrize(
    ("record", "options", "why"),
    [
        ({"v": [1]}, {"meta_field": "v"}, r"x.jsonl:2: field 'v' is a list"),
        ({"v": {"a": 1}}, {"meta_field": "all"}, r"x.jsonl:2: field 'v' is an object"),
        ({"id": {"$oid": "x"}}, {"id_field": "id"}, r"x.jsonl:2: field 'id' is an object"),
        (
            {"v": "two"},
            {"meta_field": "v:integer"},
            r"x.jsonl:2: field 'v' is 'two', which is no int",
        ),
    ],
)
def test_a_field_that_cannot_be_kept_is_said_with_its_line(record, options, why, tmp_path):
    """Red with: lists spelled out; an error without its line."""
    first = {"text": "aa", "id": "a", "v": 1}
    path = lines_of(tmp_path / "x.jsonl", [first, {"text": "bb"} | record, first | {"id": "c"}])
    with pytest.raises(CorpusError, match=why):
        build(tmp_path, path, **options)
    corpus = build(tmp_path, path, on_bad_document="skip", **options)
    assert corpus.about.ids(every(corpus)) == ["a", "c"]


def test_an_id_that_nobody_has_asked_for_may_be_anything(tmp_path):
    path = lines_of(tmp_path / "x.jsonl", [{"text": "aa", "id": {"$oid": "x"}, "title": [1]}])
    assert build(tmp_path, path).about.titles([0]) == ["1"]


@pytest.mark.parametrize("option", ["id_field", "title_field", "meta_field"])
def test_a_field_that_no_document_has_is_an_error(option, tmp_path):
    path = lines_of(tmp_path / "x.jsonl", [{"text": "aa"}])
    flag = "--" + option.replace("_", "-")
    with pytest.raises(CorpusError, match=rf"no document has a field 'nix' \({flag}\)"):
        build(tmp_path, path, **{option: "nix"})


def test_hostile_names_and_values_come_back_and_make_no_file(tmp_path):
    """Red with: files, or members of the archive, called by a column's name."""
    names = ["../x", "__proto__", "a\0b", "/etc/passwd", "", "<script>", "n" * 5000, "\u202egnp"]
    title = "<b>" + "\0" + "t" * 2**20
    record = {"text": "aa", "title": title} | dict.fromkeys(names, "v\0\ud800")
    corpus = build(tmp_path, lines_of(tmp_path / "x.jsonl", [record]), meta_field="all")
    assert {column.name for column in corpus.about.columns} == set(names)
    assert corpus.about.values("../x", [0]) == ["v\0?"]
    assert corpus.about.titles([0]) == [title]
    with np.load(corpus.path / "documents.npz") as archive:
        inside = archive.zip.namelist()
    for name in [path.name for path in tmp_path.rglob("*")] + inside:
        assert re.fullmatch(r"s|[a-z0-9.-]+\.(npy|npz|utf8|json|jsonl|txt)", name)


def test_too_many_different_fields_are_no_columns(tmp_path):
    records = [{"text": "aa", f"f{i}": 1} for i in range(300)]
    with pytest.raises(CorpusError, match=r"x.jsonl:257: more than 256 different fields"):
        build(tmp_path, lines_of(tmp_path / "x.jsonl", records), meta_field="all")


# ---- metadata


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
            with pytest.raises(CorpusError, match=r"1 document without a row in it, of 4 rows"):
                build(tmp_path, rows, **given)
        corpus = build(tmp_path, rows, name=name, log=said, on_bad_document="skip", **given)
    assert corpus.about.values("n", every(corpus)) == [10, 30, None]
    assert any("1 row with an id of one before" in line for line in said)
    assert any("2 rows of no document" in line for line in said)
    assert any("1 document without a row" in line for line in said)


def test_metadata_by_order_want_every_document(tmp_path):
    """Red with: rows that move up where a bad document was left out."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "aa"}\nnothing\n{"text": "bb"}\n')
    meta = lines_of(tmp_path / "m.jsonl", [{"v": i} for i in range(3)])
    with pytest.raises(CorpusError, match=r"a bad document was left out.*--id-field"):
        build(tmp_path, path, on_bad_document="skip", metadata=str(meta))


@pytest.mark.parametrize("skip", ["stop", "skip"])
def test_metadata_by_order_are_as_many_as_the_documents_that_were_read(rows, tmp_path, skip):
    """Red with: rows of an other number said, and given to other documents."""
    meta = tmp_path / "n.csv"
    for n in (3, 5):
        meta.write_text("n\n" + "1\n" * n)
        with pytest.raises(
            CorpusError, match=rf"n.csv: {n} rows, and 4 documents in what was read"
        ):
            build(tmp_path, rows, name="s", metadata=str(meta), on_bad_document=skip)


def test_metadata_that_lack_the_line_of_names_are_told_what_they_lack(rows, tmp_path):
    """Red with: a row too few, and no word on where it went."""
    meta = tmp_path / "n.tsv"
    meta.write_text("a\tb\n" * 4)
    with pytest.raises(CorpusError, match="put a line of names before it"):
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
    with pytest.raises(CorpusError, match=r"12 rows, and 4 documents in what was read"):
        build(tmp_path, one, metadata=str(meta))


def test_metadata_by_order_are_refused_where_bad_documents_were_left_out_of_a_stored_corpus(
    tmp_path,
):
    """Red with: places that do not count the bad ones."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "aa"}\nnothing\n{"text": "bb"}\n')
    kept = build(tmp_path, path, name="kept", on_bad_document="skip").path
    meta = lines_of(tmp_path / "m.jsonl", [{"v": i} for i in range(3)])
    with pytest.raises(CorpusError, match=r"does not say which were left out.*--id-field"):
        build(tmp_path, kept, metadata=str(meta))


def test_metadata_are_records(tmp_path):
    (tmp_path / "x.txt").write_text("aa\n")
    with pytest.raises(CorpusError, match=r"metadata is CSV.*this is plain text"):
        build(tmp_path, tmp_path / "x.txt", metadata=str(tmp_path / "x.txt"))


# ---- texts


@pytest.fixture
def many(tmp_path, monkeypatch):
    """JSON lines in many steps, frames of a kilobyte."""
    monkeypatch.setattr("pysgrld.corpus.decompress.STEP", 2**14)
    monkeypatch.setattr("pysgrld.corpus.lines.HEAD", 2**14)
    monkeypatch.setattr(texts, "FRAME", 1024)
    monkeypatch.setattr("pysgrld.corpus.vectors.HELD", 512)
    draw = np.random.default_rng(3)
    words = np.array([f"w{i}" for i in range(500)])
    records = [
        {"text": " ".join(words[draw.integers(500, size=12)]), "id": f"d{i}", "v": i % 7}
        for i in range(800)
    ]
    records[3]["text"], records[4]["v"] = "", None
    return lines_of(tmp_path / "many.jsonl", records), records


def test_texts_come_back_in_any_order(many, tmp_path):
    path, records = many
    corpus = build(tmp_path, path)
    rows = np.random.default_rng(0).permutation(corpus.documents)[:200]
    ids = corpus.about.ids(rows)
    assert corpus.about.texts(rows) == [records[int(key[1:])]["text"] for key in ids]
    assert build(tmp_path, path, name="none", keep_text="none").about.texts([0]) == [None]


def test_a_sample_of_texts_is_even_bounded_and_the_same_for_any_threads(many, tmp_path):
    """Red with: the first documents; a threshold that whoever reads ahead has halved."""
    path, _ = many
    options = CorpusOptions(**ALL, keep_text=6000)
    found = [open_corpus([str(path)], options, store=tmp_path / f"s{n}", threads=n) for n in (1, 3)]
    about = found[0].about
    kept = np.flatnonzero([text is not None for text in about.texts(every(found[0]))])
    assert (len(kept), about.text_bytes <= 6000) == (about.texts_kept, True)
    assert 50 < len(kept) < 500
    thirds = np.histogram(kept, 3, (0, found[0].documents))[0]
    expected = len(kept) / 3
    assert ((thirds - expected) ** 2 / expected).sum() < 13.8  # chi-square, 2 degrees: 0.001
    assert files_about(found[0]) == files_about(found[1])


def test_a_sample_of_texts_is_the_same_whenever_frames_are_compressed_and_noted(
    tmp_path, monkeypatch
):
    """Red with: the size looked at as soon as a frame is written, or at a note."""
    monkeypatch.setattr(texts, "FRAME", 1024)
    monkeypatch.setattr(texts, "AHEAD", 8 * 1024)
    draw = np.random.default_rng(5)
    some = [draw.bytes(70) for _ in range(3000)]

    def late(pool, function, item):
        future = Future()
        future.result = lambda: function(item)  # never before somebody waits for it
        return future

    def stored(name, *, notes, submit=texts.submitted):
        monkeypatch.setattr(texts, "submitted", submit)
        (tmp_path / name).mkdir()
        writer = texts.TextWriter(tmp_path / name, 30_000)
        for start in range(0, 3000, 50):
            writer.add(np.arange(start, start + 50), some[start : start + 50])
            if start in notes:
                writer.flush()
        assert 50 < writer.finish(tmp_path / name / "end") < 500
        return (tmp_path / name / "end").read_bytes()

    plain = stored("plain", notes=())
    assert stored("late", notes=(), submit=late) == plain
    assert stored("noted", notes=range(3000)) == plain


# ---- readings that are interrupted


class Kills:
    """Copies what a process that is killed when so many documents are read would leave."""

    def __init__(self, tmp_path, at):
        self.tmp_path, self.at = tmp_path, at

    def __call__(self, progress):
        for at in self.at:
            if progress.documents >= at and not (left := self.tmp_path / f".k{at}.tmp").exists():
                shutil.copytree(self.tmp_path / ".s.tmp", left)


@pytest.mark.parametrize(
    "options", [{"keep_text": 6000, "metadata": "m.csv"}, {"keep_text": "all", "min_df": 16}]
)
def test_a_killed_reading_goes_on_to_equal_files(many, tmp_path, monkeypatch, options):
    """Red with: frames cut at a note; halved texts gone before it; rows of metadata from the note."""
    monkeypatch.setattr("pysgrld.corpus.open.NOTE_EVERY", 0.0)
    if "metadata" in options:
        (tmp_path / options["metadata"]).write_text("v\n" + "".join(f"{i}\n" for i in range(800)))
        monkeypatch.chdir(tmp_path)
    given = CorpusOptions(**ALL | options, meta_field="v")
    kills = Kills(tmp_path, (100, 350, 600))
    whole = open_corpus([str(many[0])], given, store=tmp_path / "s", resumable=True, notify=kills)
    for at in kills.at:
        left = tmp_path / f".k{at}.tmp"
        assert (left / "progress.json").is_file()
        for file in filter(Path.is_file, (left / "about").iterdir()):
            with file.open("ab") as tail:
                tail.write(b"not noted" * 8)
        found = open_corpus([str(many[0])], given, store=tmp_path / f"k{at}", resumable=True)
        assert files_about(found) == files_about(whole)


def test_a_reading_that_is_killed_before_its_last_rename_goes_on(many, tmp_path, monkeypatch):
    """Red with: texts moved into the corpus, not copied; archives that are there already."""
    monkeypatch.setattr("pysgrld.corpus.open.NOTE_EVERY", 0.0)
    (tmp_path / "words").write_text("".join(f"w{i}\n" for i in range(500)))
    given = CorpusOptions(vocab=str(tmp_path / "words"), meta_field="v")
    commit = WorkFolder.commit

    def killed(self, folder):
        monkeypatch.setattr(WorkFolder, "commit", commit)
        shutil.copytree(self.folder, tmp_path / ".k.tmp")
        self.commit(folder)

    monkeypatch.setattr(WorkFolder, "commit", killed)
    whole = open_corpus([str(many[0])], given, store=tmp_path / "s", resumable=True)
    found = open_corpus([str(many[0])], given, store=tmp_path / "k", resumable=True)
    assert found.fingerprint == whole.fingerprint
    assert files_about(found) == files_about(whole)


def test_a_stopped_reading_goes_on_to_equal_files(many, tmp_path):
    """Red with: a reading that is stopped at the heading begins the input anew."""
    given = CorpusOptions(**ALL, meta_field="v", keep_text=6000)
    whole = open_corpus([str(many[0])], given, store=tmp_path / "whole")
    for at in (100, 100, 600, 10**9):  # the second at the heading

        def stop(progress, at=at):
            if progress.documents >= at:
                raise Interrupted("now")

        try:
            found = open_corpus(
                [str(many[0])], given, store=tmp_path / "s", resumable=True, notify=stop
            )
        except Interrupted:
            assert at < 10**9
    assert found.fingerprint == whole.fingerprint
    assert files_about(found) == files_about(whole)


# ---- corpora that are made of others


@pytest.fixture
def stored(tmp_path):
    records = [
        {"text": f"both w{i}" if i else "alone", "id": f"d{i}", "g": "xy"[i % 2], "n": i}
        for i in range(20)
    ]
    return build(
        tmp_path, lines_of(tmp_path / "x.jsonl", records), meta_field="g,n:real", name="of"
    )


def test_a_sample_carries_names_along(stored, tmp_path):
    cut = sample(stored, 7, 0, tmp_path / "cut").about
    numbers = cut.values("n", range(7))
    assert [int(key[1:]) for key in cut.ids(range(7))] == numbers
    assert cut.texts(range(7)) == [f"both w{int(n)}" if n else "alone" for n in numbers]
    assert [origin.row for origin in cut.origins(range(7))] == [n + 1 for n in numbers]
    assert [column.kind for column in cut.columns] == ["category", "real"]


def test_a_stored_corpus_that_is_pruned_or_joined_to_another_keeps_names(stored, tmp_path):
    more = build(
        tmp_path, lines_of(tmp_path / "y.jsonl", [{"text": "both", "id": "e"}]), name="more"
    )
    both = build(tmp_path, stored.path, more.path, name="both", min_df=2)
    assert both.about.ids(every(both)) == [f"d{i}" for i in range(1, 20)] + ["e"]
    assert both.about.values("g", [0, 18, 19]) == ["y", "y", None]
    assert both.about.origins([0, 19]) == [("x.jsonl", 2), ("y.jsonl", 1)]
    assert both.about.texts([0, 19]) == ["both w1", "both"]


def test_any_reader_of_archives_has_names_and_texts(stored):
    """Red with: a member whose header says another size; members that are compressed."""
    with np.load(stored.path / "documents.npz") as archive:
        found = dict(archive)
    assert found["origin-row"].tolist() == list(range(1, 21))
    assert found["c0.utf8"] == b"".join(b"d%d" % i for i in range(20))
    assert found["c0.ends"].tolist() == np.cumsum([2] * 10 + [3] * 10).tolist()
    assert found["c1.codes"].tolist() == [0, 1] * 10
    assert found["c1.values.jsonl"] == b'"x"\n"y"\n'
    assert found["c2"].tolist() == [*map(float, range(20))]
    assert json.loads(found["columns.json"])["texts"] == 20
    with np.load(stored.path / "texts.npz") as archive:
        whole = zstandard.ZstdDecompressor().decompress(archive["text.zst"], 2**16)
        assert whole.startswith(b"alone" + b"both w1" + b"both w2")
        assert archive["ends"][-1] == archive["frames"][-1] == len(whole)
        assert archive["rows"].tolist() == list(range(20))


def test_a_copy_has_the_same_files(stored, tmp_path):
    copy_parts(stored.path, tmp_path / "copy", link=True)
    copied = Corpus.open(tmp_path / "copy")
    assert files_about(copied) == files_about(stored)
    assert copied.about.ids([3]) == ["d3"]


def test_texts_are_taken_out_and_nothing_else(stored, tmp_path):
    """Red with: files left behind; the copy of a run emptied through its hard links."""
    copy_parts(stored.path, tmp_path / "copy", link=True)
    assert drop_text(stored.path) > 0
    found = Corpus.open(stored.path)
    found.verify()
    assert (found.about.has_texts, found.about.texts([3]), found.about.ids([3])) == (
        False,
        [None],
        ["d3"],
    )
    assert found.fingerprint == stored.fingerprint
    assert not list(stored.path.rglob("text*"))
    assert drop_text(stored.path) == 0
    assert Corpus.open(tmp_path / "copy").about.texts([3]) == ["both w3"]


def test_the_stored_beginning_of_a_stream_keeps_names(many, tmp_path):
    quiet = {"notify": lambda progress: None, "log": lambda line: None}
    given = CorpusOptions(**ALL, meta_field="v")
    once = SinglePassCorpus([str(many[0])], given, 100, store=tmp_path / "head", threads=1, **quiet)
    about = once.corpus.about
    assert about.ids([0, 3, 98]) == ["d0", "d4", "d99"]
    assert about.values("v", [2, 3]) == [2, None]
    assert len(once.take(10)) == 10
    once.close()


def test_figures_say_which_columns_and_texts_are_kept(stored):
    found = describe(stored)
    assert [column["name"] for column in found["columns"]] == ["g", "n"]
    assert found["texts"]["documents"] == 20
    with np.load(stored.path / "texts.npz") as archive:
        assert found["texts"]["bytes"] == len(archive["text.zst"])
    assert (found["ids"], found["titles"]) == (True, False)


# ---- damage, and corpora without names


@pytest.mark.parametrize("how", ["cut", "changed", "missing"])
def test_a_damaged_column_is_bad_input(stored, how):
    """Red with: parts that nobody looks at."""
    for name in sorted(Corpus.open(stored.path).parts):
        path = stored.path / name
        data = path.read_bytes()
        path.unlink()
        if how != "missing":
            path.write_bytes(data[:-1] if how == "cut" else data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(CorpusError, match=f"damaged.*{name}"):
            Corpus.open(stored.path).about  # noqa: B018
        path.write_bytes(data)
    assert Corpus.open(stored.path).about.ids([0]) == ["d0"]


def _compressed(path):
    with np.load(path) as archive:
        np.savez_compressed(path.with_name("new"), **{n: archive[n] for n in ("c2", "origin-row")})


def _rewritten(path, change):
    """Write the members of an archive again, each as a change of its name and bytes has it."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(path.with_name("new.npz"), "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))


FORGED = {
    "no archive": lambda path: path.with_name("new.npz").write_bytes(b"PK\3\4" + bytes(99)),
    "compressed": _compressed,
    "no columns": lambda path: _rewritten(
        path, lambda name, data: data[: 9 * ("json" not in name)]
    ),
    "cut vectors": lambda path: _rewritten(
        path, lambda name, data: data[:-8] if name.endswith("npy") else data
    ),
    "other vectors": lambda path: _rewritten(path, lambda name, data: data.replace(b"<i8", b"<f8")),
    "other columns": lambda path: _rewritten(
        path, lambda name, data: data.replace(b'"file": "c', b'"file": "../c')
    ),
}


@pytest.mark.parametrize("how", FORGED)
def test_an_archive_that_is_none_of_ours_is_bad_input(stored, how):
    """Red with: an error of `zipfile` that nobody catches; members that are read as they are packed."""
    FORGED[how](stored.path / "documents.npz")
    (stored.path / "new.npz").rename(stored.path / "documents.npz")
    meta = json.loads((stored.path / "meta.json").read_text())
    data = (stored.path / "documents.npz").read_bytes()
    meta["parts"]["documents.npz"]["sha256"] = hashlib.sha256(data).hexdigest()
    (stored.path / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(CorpusError, match=r"damaged.*documents\.npz"):
        Corpus.open(stored.path).about.ids([0])


def test_a_list_of_parts_names_no_other_file(stored, tmp_path):
    meta = json.loads((stored.path / "meta.json").read_text())
    meta["parts"]["../secret"] = {}
    (stored.path / "meta.json").write_text(json.dumps(meta))
    (tmp_path / "secret").write_text("x")
    with pytest.raises(CorpusError, match="damaged"):
        Corpus.open(stored.path).about  # noqa: B018
    (tmp_path / "copies").mkdir()
    copy_parts(stored.path, tmp_path / "copies" / "of")
    assert not (tmp_path / "copies" / "secret").exists()


def test_rows_that_are_not_there_are_refused(stored):
    with pytest.raises(IndexError, match=r"must be in \[0, 20\)"):
        stored.about.ids([20])


# ---- streams


def test_a_stream_of_documents_has_ids_and_fields(tmp_path):
    """Red with: names of documents that are not handed out yet; bad ones that shift them."""
    path = tmp_path / "x.csv"
    path.write_text("id,text,v\na,king,1\nb,lord\nc,,3\nd,king,\n")
    found = named_documents(
        [str(path)],
        CorpusOptions(on_bad_document="skip").for_known_words(),
        ("king",),
        threads=1,
        notify=lambda progress: None,
        log=lambda line: None,
        fields=("v", "nix"),
    )
    assert isinstance(found, NamedDocuments)
    assert sum(len(block) for block in found) == 4
    assert found.names(3) == [("a", ("1", None)), ("3", (None, None)), ("c", ("3", None))]
    assert found.names(1) == [("d", (None, None))]
    assert found.absent == {"nix"}


def test_times_are_utc_and_dates_stay_dates():
    for text, back in {
        b"2024-01-05": "2024-01-05",
        b"2024-01-05T00:30:00+01:00": "2024-01-04T23:30:00",
        b"1582-10-15 12:00:00.000001": "1582-10-15T12:00:00.000001",
    }.items():
        number = fields.microseconds(text)
        assert number is not None
        assert fields.iso(number) == back
    for text in (b"2024", b"20240105", b"soon", b"2024-02-30", b"9999-99-99"):
        assert fields.microseconds(text) is None


def test_what_is_written_as_csv_is_no_formula():
    from pysgrld.reading.proportion_files import csv_lines

    cells = ("=1+1", "@x", "a,b", -2, None, "\tx")
    line = csv_lines([cells])[0].decode()
    assert next(csv.reader(io.StringIO(line))) == ["'=1+1", "'@x", "a,b", "-2", "", "'\tx"]
