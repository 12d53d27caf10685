"""Spreadsheets, lists of works, Arrow, and folders of tables: what librarians and data hubs export."""

from __future__ import annotations

import io
import zipfile
from datetime import date
from pathlib import Path

import pytest
from listeners import Lines

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.errors import CorpusError, MissingInputError

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}
ROWS = [
    ["Key", "Title", "Abstract", "Year", "Seen"],
    ["a1", "Whales", "whales of the north", 1999, date(2020, 5, 1)],
    ["b2", "Ice", "", 2004, None],
    ["c3", "Snow", "snow and ice", 2010.5, None],
]
RIS = """TY  - JOUR
ID  - a1
TI  - Whales
AU  - Melville, Herman
AU  - Other, An
AB  - whales of
the north
PY  - 1999
ER  - 

TY  - BOOK
ID  - b2
T1  - Ice
ER  - 

TY  - CHAP
ID  - c3
T1  - Snow
N2  - snow and ice
ER  - 
"""
BIBTEX = r"""% exported
@string{old = "1999"}
@article{a1, title = {{Whales}}, abstract = {whales of the n{\"o}rth}, author = {A and B}, year = old}
@book{b2, title = "Ice"}
@misc{c3, title = {Snow}, abstract = {snow and ice}, year = 2010}
"""
ODS = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
    '<table:table table:name="A">{}</table:table></office:spreadsheet></office:body>'
    "</office:document-content>"
)


MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="/" '
    'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>'
)


def workbook(path: Path, *sheets: list[list]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for at, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {at}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture
def read(tmp_path):
    def read(path: Path, **more):
        said = Lines()
        store = tmp_path / f"s{len(list(tmp_path.iterdir()))}"
        return open_corpus(
            [str(path)], CorpusOptions(**ALL, **more), store=store, log=said.append
        ), said

    return read


def works(tmp_path: Path, kind: str) -> Path:
    """The three works, of which the second has no abstract, in one of the formats."""
    path = tmp_path / f"works.{kind}"
    if kind == "xlsx":
        return workbook(path, ROWS)
    pytest.importorskip({"ris": "rispy", "bib": "bibtexparser"}[kind])
    path.write_text({"ris": RIS, "bib": BIBTEX}[kind])
    return path


@pytest.mark.parametrize("kind", ["xlsx", "ris", "bib"])
def test_works_are_documents_by_their_abstracts(tmp_path, read, kind):
    """Red with: a list of works read as lines of text."""
    corpus, said = read(works(tmp_path, kind))
    north = "nörth" if kind == "bib" else "north"
    assert set(corpus.vocabulary) == {"whales", "of", "the", north, "snow", "and", "ice"}
    assert corpus.about.ids([0, 1]) == ["a1", "c3"]
    assert corpus.about.titles([0, 1]) == ["Whales", "Snow"]
    assert any("the text is in the field" in line for line in said)
    assert any("1 document without a known word skipped" in line for line in said)


@pytest.mark.parametrize("kind", ["xlsx", "ris", "bib"])
def test_titles_and_abstracts_are_joined(tmp_path, read, kind):
    names = "Title,Abstract" if kind == "xlsx" else "title,abstract"
    corpus, _ = read(works(tmp_path, kind), text_field=names)
    assert corpus.documents == 3


def test_cells_of_a_sheet_keep_their_kinds(tmp_path, read):
    """Red with: the year 1999.0; a day without its date."""
    corpus, _ = read(works(tmp_path, "xlsx"), text_field="Title", meta_field="Year,Seen:time")
    assert corpus.about.values("Year", [0, 2]) == [1999, 2010.5]
    assert str(corpus.about.values("Seen", [0])[0]).startswith("2020-05-01")


def test_fields_of_a_work_that_are_lists_are_joined(tmp_path, read):
    corpus, _ = read(works(tmp_path, "ris"), meta_field="authors,year")
    assert corpus.about.values("authors", [0]) == ["Melville, Herman; Other, An"]


def test_the_first_sheet_with_rows_is_read_and_named(tmp_path, read):
    path = workbook(
        tmp_path / "x.xlsx", [["a cover"]], [[], ["text", ""], ["whales"]], [["text"], ["x"]]
    )
    corpus, said = read(path)
    assert corpus.vocabulary == ("whales",)
    assert corpus.about.origins([0]) == [("x.xlsx", 3, 1)]
    assert said[0].endswith(
        "only the sheet 'sheet 1' is read, not 'sheet 0', 'sheet 2' (choose another with --sheet "
        "NAME)"
    )


def test_a_sheet_of_libreoffice_is_read(tmp_path, read):
    pytest.importorskip("python_calamine")
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    rows = "".join(
        f"<table:table-row>{cell.format(t)}</table:table-row>" for t in ("text", "whales")
    )
    with zipfile.ZipFile(tmp_path / "x.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", MANIFEST)
        archive.writestr("content.xml", ODS.format(rows))
    assert read(tmp_path / "x.ods")[0].vocabulary == ("whales",)


BAD = {
    "x.xlsx": (b"PK\x03\x04 no workbook", "not a spreadsheet, or it is damaged"),
    "x.ris": (
        b"TY  - JOUR\nTI  - a\n\nTY  - JOUR\nTI  - b\nER  - \n",
        "2 works of the list have a beginning (TY)",
    ),
    "y.ris": (b"TY  - JOUR\nTI  - \xff\nER  - \n", "y.ris:2: this is not UTF-8"),
    "x.bib": (
        b"@misc{a, abstract={b}}\n@misc{b, title={c\n",
        "entry 2: this is not an entry of BibTeX, in line 2",
    ),
    "y.bib": (b"@article{a, title={b}}\n", "no field 'text' (the fields are 'title', 'id', 'type'"),
}


@pytest.mark.parametrize("name", BAD)
def test_damage_is_told_in_a_line(tmp_path, read, name):
    for module in ("python_calamine", "rispy", "bibtexparser"):
        pytest.importorskip(module)
    (tmp_path / name).write_bytes(BAD[name][0])
    with pytest.raises(CorpusError) as caught:
        read(tmp_path / name)
    assert BAD[name][1] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path, read):
    path = works(tmp_path, "xlsx")
    with pytest.raises(CorpusError, match="allow more with --set max-input"):
        read(path, max_input=path.stat().st_size + 1)


@pytest.mark.parametrize("kind", ["xlsx", "ris", "bib"])
def test_without_its_library_a_format_says_what_to_install(tmp_path, read, kind, monkeypatch):
    path = works(tmp_path, kind)
    for module in ("python_calamine", "rispy", "bibtexparser"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingInputError, match=r"works\.\w+: reading .* needs .*: pip install"):
        read(path)


# ---- Arrow, and folders of tables


def arrow(path: Path, texts: list[str], kind: str = "stream") -> Path:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"label": list(range(len(texts))), "text": texts})
    sink = io.BytesIO()
    new = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with new(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(sink.getvalue())
    return path


@pytest.mark.parametrize("kind", ["stream", "file"])
def test_arrow_is_read(tmp_path, read, kind):
    corpus, _ = read(arrow(tmp_path / "x.arrow", ["aa bb", "cc", "dd"], kind), meta_field="label")
    assert corpus.documents == 3
    assert corpus.about.values("label", [0, 1, 2]) == [0, 1, 2]


def test_a_damaged_arrow_is_told_in_a_line(tmp_path, read):
    path = arrow(tmp_path / "x.arrow", ["aa bb", "cc", "dd"])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(CorpusError, match=r"the Arrow file is damaged \("):
        read(path)


def test_a_folder_that_datasets_saved_is_read(tmp_path, read):
    """Red with: "a folder without .txt files"."""
    folder = tmp_path / "news"
    arrow(folder / "train" / "data-00000-of-00002.arrow", ["aa", "bb"])
    arrow(folder / "train" / "data-00001-of-00002.arrow", ["cc"])
    arrow(folder / "train" / "cache-123.arrow", ["old"])
    (folder / "train" / "state.json").write_text("{}")
    (folder / "dataset_dict.json").write_text('{"splits": ["train"]}')
    corpus, said = read(folder)
    assert set(corpus.vocabulary) == {"aa", "bb", "cc"}
    assert (
        "2 files in this folder and in 1 folder below it, each a table with one document per row"
        in said[0]
    )
    origin = corpus.about.origins([2])[0]
    assert (origin.file, origin.row) == ("news/train/data-00001-of-00002.arrow", 1)


def test_tables_beside_documents_are_left_out_as_they_were(tmp_path, read):
    folder = tmp_path / "letters"
    arrow(folder / "x.arrow", ["aa"])
    (folder / "a.txt").write_text("bb")
    corpus, said = read(folder)
    assert corpus.vocabulary == ("bb",)
    assert any("1 .arrow" in line for line in said)
