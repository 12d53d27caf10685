"""Documents keep their names: origins, ids, titles and columns of a stored corpus."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from listeners import Lines
from named_corpora import build, every, lines_of, uci

from pysgrld.corpus import CorpusOptions
from pysgrld.corpus.about import scalars as fields
from pysgrld.corpus.about.archive import LEVELS
from pysgrld.corpus.about.details import NamedDocuments
from pysgrld.corpus.streams import named_documents
from pysgrld.errors import CorpusError

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
        assert word in at(origin.file, origin.row)


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
    said = Lines()
    path = lines_of(tmp_path / "x.jsonl", [{"text": "aa", "id": i} for i in "abaa"])
    corpus = build(tmp_path, path, log=said)
    assert corpus.about.ids(every(corpus)) == list("abaa")
    assert any("2 documents with the same id as an earlier document" in line for line in said)


#: Values of a field as JSON has them, the kind that is found, and the values that come back.
TYPED = [
    ([1, None, -3], "integer", [1, None, -3]),
    ([1, 2.5], "real", [1.0, 2.5]),
    ([True, False], "flag", [True, False]),
    (["2024-01-05", "2024-01-06T10:00:00+02:00"], "time", ["2024-01-05", "2024-01-06T08:00:00"]),
    (
        ["2024/05/14 1:11:00 PM GMT+1", "2024/05/15 1:11:00 AM GMT-10"],
        "time",
        ["2024-05-14T12:11:00", "2024-05-15T11:11:00"],
    ),
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
    with pytest.raises(CorpusError, match=r"column 'l' is list.*single values"):
        build(tmp_path, tmp_path / "x.parquet", name="t", meta_field="all")


def test_a_million_different_values_are_strings_or_refused_as_categories(tmp_path, monkeypatch):
    """Red with: levels without a bound."""
    path = lines_of(tmp_path / "x.jsonl", [{"text": "aa", "v": f"v{i}"} for i in range(3000)] * 2)
    assert build(tmp_path, path, meta_field="v").about.columns[0].kind == "string"
    assert LEVELS == 1000
    monkeypatch.setattr("pysgrld.corpus.about.archive.MOST_LEVELS", 2000)
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
            r"x.jsonl:2: field 'v' is 'two', which is not of the kind int",
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
    with pytest.raises(
        CorpusError, match=r"x.jsonl:257: .* more than 256 columns, too many to keep all; name"
    ):
        build(tmp_path, lines_of(tmp_path / "x.jsonl", records), meta_field="all")


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
        log=lambda *_: None,
        fields=("v", "nix"),
    )
    assert isinstance(found, NamedDocuments)
    assert sum(len(block) for block in found) == 4
    assert found.names(3) == [("a", ("1", None)), ("2", (None, None)), ("c", ("3", None))]
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
