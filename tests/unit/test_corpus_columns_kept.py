"""Columns that are kept by default, and files of columns that are joined by names."""

from __future__ import annotations

import json
import time

import pytest
from listeners import Lines

from pysgrld.corpus import CorpusOptions
from pysgrld.corpus.about import archive
from pysgrld.corpus.about.details import FieldReader, WantedFields
from pysgrld.corpus.open import open_corpus
from pysgrld.corpus.phrases import find_phrases
from pysgrld.corpus.streams import SinglePassCorpus
from pysgrld.errors import CorpusError

OPTIONS = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}


@pytest.fixture
def read(tmp_path):
    """Return a function that reads inputs, and gives the columns of the corpus and the log."""
    number = iter(range(100))

    def read(*inputs, threads=1, **options):
        log = Lines()
        corpus = open_corpus(
            [str(path) for path in inputs],
            CorpusOptions(**OPTIONS | options),
            store=tmp_path / f"corpus{next(number)}",
            threads=threads,
            log=log.append,
        )
        rows = range(corpus.documents)
        about = corpus.about
        return {c.name: about.values(c.name, rows) for c in about.columns}, log

    return read


def records(n):
    return [
        {
            "id": f"d{i}",
            "text": f"mice sleep in winter {i}",
            "party": "SPD" if i % 2 else "CDU",
            "date": f"2001-05-{1 + i:02}",
            "words": 10 * i,
            "notes": "x" * (300 if i == 7 else 3),
            "tags": ["a"] if i == 3 else "a",
            "empty": None,
        }
        for i in range(n)
    ]


def test_short_columns_of_json_lines_are_kept(read, tmp_path):
    """Red with: no column by default; a column that is kept up to its first list or long value."""
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records(20)))
    kept, log = read(path)
    assert [*kept] == ["party", "date", "words"]
    assert kept["party"][:2] == ["CDU", "SPD"]
    assert kept["words"][:3] == [0, 10, 20]
    assert kept["date"][0] == "2001-05-01"
    (line,) = [line for line in log if "kept" in line]
    assert "3 columns kept: party, date, words" in line
    assert "left out: notes, tags (they have long texts or nested values)" in line
    assert read(path, meta_field="none")[0] == {}
    assert [*read(path, meta_field="words")[0]] == ["words"]


def test_tables_of_all_kinds_keep_the_same_columns(read, tmp_path):
    """CSV, TSV and workbooks. Red with: fields that a reader does not hand on."""
    rows = [{k: v for k, v in r.items() if k not in ("tags", "empty")} for r in records(6)]
    csv, tsv = tmp_path / "x.csv", tmp_path / "x.tsv"
    for path, separator in ((csv, ","), (tsv, "\t")):
        lines = [separator.join(rows[0])]
        lines += [separator.join(map(str, row.values())) for row in rows]
        path.write_text("\n".join(lines) + "\n")
    expected = {k: [r[k] for r in rows] for k in ("party", "date", "words", "notes")}
    assert read(csv)[0] == read(tsv)[0] == expected


def test_the_result_is_the_same_for_any_batches(read, tmp_path, monkeypatch):
    """A long value late in the file. Red with: columns that depend on the records read together."""
    path = tmp_path / "x.csv"
    lines = [f"d{i},mice {i},{'y' * (400 if i == 2500 else 4)},b" for i in range(3000)]
    path.write_text("id,text,late,short\n" + "\n".join(lines) + "\n")
    kept, _ = read(path)
    assert [*kept] == ["short"]
    assert read(path, threads=3)[0] == kept


def test_large_columns_of_text_are_left_out(read, tmp_path, monkeypatch):
    """Red with: a bound that is not kept, or that leaves out numbers too."""
    monkeypatch.setattr(archive, "ROOM", 100)
    path = tmp_path / "x.csv"
    lines = [f"mice {i},https://example.org/{i},{i}" for i in range(30)]
    path.write_text("text,link,number\n" + "\n".join(lines) + "\n")
    kept, log = read(path)
    assert [*kept] == ["number"]
    assert any("link (they have more than 0 MB of text)" in line for line in log)


def test_more_fields_than_columns_are_no_error(read, tmp_path):
    """Red with: too many columns as an error, though nobody asked for them."""
    path = tmp_path / "x.csv"
    names = [f"f{i}" for i in range(300)]
    path.write_text("text," + ",".join(names) + "\nmice," + ",".join(names) + "\n")
    kept, log = read(path)
    assert len(kept) == 256
    assert any("the first 256 columns kept" in line for line in log)


def test_records_with_another_field_each_have_no_columns(read, tmp_path):
    """Red with: 256 columns as long as the corpus, with a value each, or with more than 256 of them."""
    path = tmp_path / "x.jsonl"
    records = [{"id": f"d{i}", "text": f"mice {i}", "year": i, f"f{i}": i} for i in range(1500)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    kept, log = read(path)
    assert [*kept] == ["year"]
    (line,) = [line for line in log if "column kept" in line]
    assert "1 column kept: year; left out: f0, f1" in line
    assert "and 247 more (fewer documents have values than in the kept columns)" in line


@pytest.mark.parametrize("value", ["x", 300 * "x"])
def test_the_work_for_a_record_does_not_grow_with_names_of_fields(value):
    """Red with: names of all records that are kept, or are left out again for each batch."""
    reader = FieldReader(WantedFields.of(CorpusOptions()))
    for batch in range(3):
        for i in range(500):
            reader.add({f"f{500 * batch + i}": value})
        fields = reader.fields()
        assert len(fields.columns) <= (0 if batch or len(value) > 1 else 256)
        assert len(fields.left_out) <= 256


def test_fields_beyond_the_last_column_are_not_called_long(read, tmp_path):
    """Red with: columns of a second file left out as long or nested."""
    paths = [tmp_path / f"{letter}.jsonl" for letter in "ab"]
    for path in paths:
        record = {"text": "mice sleep"} | {f"{path.stem}{i}": "x" for i in range(200)}
        path.write_text(json.dumps(record) + "\n")
    _, log = read(*paths)
    (line,) = [line for line in log if "columns kept" in line]
    assert "the first" in line
    assert "long" not in line


# ---- names of files


@pytest.fixture
def folder(tmp_path):
    for year in (1990, 1995):
        for name in ("a", "b"):
            path = tmp_path / "speeches" / name / f"sp_{year}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"mice sleep {year}\n")
    return tmp_path / "speeches"


def test_folders_and_years_are_columns(read, folder):
    """Red with: folders that need an option; a year that is text."""
    kept, _ = read(folder)
    assert kept == {"folder": ["a", "a", "b", "b"], "year": [1990, 1995, 1990, 1995]}
    assert read(*sorted((folder / "a").iterdir()))[0] == {"year": [1990, 1995]}


@pytest.mark.parametrize(
    ("part", "column", "values"),
    [
        ("a", "file", ("sp_1995.txt", "sp_1990.txt")),
        ("a", "name", ("sp_1995", "sp_1990")),
        ("", "path", ("b/sp_1995", "a/sp_1990.txt", "b/sp_1990.pdf", "a/sp_1995")),
    ],
)
def test_metadata_is_joined_by_names_of_files(read, folder, tmp_path, part, column, values):
    """Red with: rows in order although a column has the names."""
    table = tmp_path / "m.csv"
    table.write_text(f"{column},place\n" + "".join(f"{v},{v[:9]}\n" for v in values))
    kept, log = read(folder / part, metadata=str(table))
    row = {v.rpartition(".")[0] or v: v for v in values}
    names = ["a/sp_1990", "a/sp_1995", "b/sp_1990", "b/sp_1995"]
    if part:
        names = ["sp_1990", "sp_1995"]
    assert kept["place"] == [row[name][:9] for name in names]
    assert any(f"matched to documents by {column!r}" in line for line in log)


def test_metadata_without_names_is_joined_by_order(read, folder, tmp_path):
    """Red with: a message that shows no document; rows of another number that are taken."""
    table = tmp_path / "m.csv"
    table.write_text("place\nBonn\nKiel\n")
    kept, log = read(folder / "a", metadata=str(table))
    assert kept["place"] == ["Bonn", "Kiel"]
    assert any("by order (row 1 to 'sp_1990.txt'" in line for line in log)
    with pytest.raises(CorpusError, match=r"2 rows, but 4 documents.*'a/sp_1990.txt'"):
        read(folder, metadata=str(table))


def test_a_row_that_fits_files_of_two_folders_is_refused(read, folder, tmp_path):
    """Red with: one row for two documents."""
    table = tmp_path / "m.csv"
    table.write_text("file,place\nsp_1990.txt,Bonn\nsp_1995.txt,Kiel\n")
    with pytest.raises(CorpusError, match="give the full paths"):
        read(folder, metadata=str(table))


def test_metadata_is_joined_by_ids_of_another_name(read, tmp_path):
    """Red with: ids in a column of another name that are not found."""
    texts, table = tmp_path / "x.jsonl", tmp_path / "m.csv"
    texts.write_text(
        "".join(json.dumps({"id": f"d{i}", "text": f"mice {i}"}) + "\n" for i in (1, 2))
    )
    table.write_text("speech,party\nd2,SPD\nd1,CDU\n")
    kept, _ = read(texts, metadata=str(table))
    assert kept["party"] == ["CDU", "SPD"]


def test_an_id_is_not_joined_by_its_beginning(read, tmp_path):
    """Red with: the suffix of a file name removed from ids, so that 3 has the row of 3.14."""
    texts, table = tmp_path / "x.jsonl", tmp_path / "m.csv"
    texts.write_text("".join(json.dumps({"id": i, "text": f"mice {i}"}) + "\n" for i in "34"))
    table.write_text("id,party\n3.14,SPD\n4,CDU\n")
    with pytest.raises(CorpusError, match="lacks a row for 1 document"):
        read(texts, metadata=str(table), id_field="id")


def test_header_options_are_about_metadata(read, folder, tmp_path):
    """Red with: options that are for documents alone, so that a title row is the header."""
    table = tmp_path / "m.csv"
    table.write_text("Our letters\nas of May\nfile;place\nsp_1990;Bonn\nsp_1995;Kiel\n")
    assert read(folder / "a", metadata=str(table), header_line=3)[0]["place"] == ["Bonn", "Kiel"]
    table.write_text("Bonn\nKiel\n")
    kept, _ = read(folder / "a", metadata=str(table), header_line=0)
    assert kept["column1"] == ["Bonn", "Kiel"]
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["code"])
    places = book.create_sheet("places")
    for row in (["About places"], ["file", "place"], ["sp_1990", "Bonn"], ["sp_1995", "Kiel"]):
        places.append(row)
    book.save(tmp_path / "m.xlsx")
    named = {"metadata": str(tmp_path / "m.xlsx"), "sheet": "places", "header_line": 2}
    assert read(folder / "a", **named)[0]["place"] == ["Bonn", "Kiel"]


def test_header_options_are_not_about_documents_that_are_read_once(tmp_path):
    """Red with: the header line of the metadata searched in the documents of a stream, or of phrases."""
    texts, table = tmp_path / "x.csv", tmp_path / "m.csv"
    texts.write_text("text\n" + "mice sleep\n" * 8)
    table.write_text("Our letters\nas of May\nplace\n" + "Bonn\n" * 8)
    options = CorpusOptions(**OPTIONS, metadata=str(table), header_line=3)
    how = {"notify": lambda progress: None, "log": lambda *_: None}
    once = SinglePassCorpus([str(texts)], options, 8, store=tmp_path / "c", threads=1, **how)
    assert once.corpus.documents == 8
    assert once.corpus.about.values("place", range(8)) == ["Bonn"] * 8
    (phrase,) = find_phrases([str(texts)], options, npmi=-1, count=1, **how)
    assert phrase.occurrences == 8


def test_names_that_occur_twice_are_no_columns(read, tmp_path):
    """Red with: an error about a field that nobody has asked for."""
    path = tmp_path / "x.csv"
    path.write_text("text,by,at,by\nmice sleep,a,1,b\n")
    assert read(path)[0] == {"at": [1]}
    with pytest.raises(CorpusError, match="more than one field 'by'"):
        read(path, meta_field="by")


def test_parquet_keeps_plain_columns(read, tmp_path):
    """Red with: lists as an error, or bytes as a column, though nobody has asked for them."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {"text": ["mice sleep", "birds"], "party": ["a", "b"], "tags": [["x"], []]}
    parquet.write_table(pyarrow.table(table | {"picture": [b"1", b"2"]}), tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet")[0] == {"party": ["a", "b"]}


@pytest.mark.parametrize("form", ["csv", pytest.param("parquet", marks=pytest.mark.nightly)])
def test_thousands_of_columns_take_seconds(read, tmp_path, form):
    """Red with: a search among all names for each name."""
    names, path = ["text", *(f"c{i}" for i in range(12_000))], tmp_path / f"x.{form}"
    if form == "csv":
        path.write_text(
            f"{','.join(names)}\n" + ("mice sleep" + ",1" * (len(names) - 1) + "\n") * 3
        )
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = [pyarrow.array(["mice sleep"] * 3), *[pyarrow.array([1] * 3)] * (len(names) - 1)]
        parquet.write_table(pyarrow.table(columns, names=names), path)
    begin = time.process_time()
    read(path)
    assert time.process_time() - begin < 8
