"""Small files that unpack to large ones, which libraries receive only in bounded parts. Row 51."""

from __future__ import annotations

import gzip
import io
import re
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import zstandard

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.about import texts
from pysgrld.corpus.formats import parquet as arrow
from pysgrld.corpus.formats import records
from pysgrld.errors import CorpusError

#: Memory that reading may take at its peak, in bytes, whatever a file unpacks to.
MOST = 32 * 2**20


@pytest.fixture
def peak():
    """Return the peak of Python's allocated memory during the test, in bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def read(folder, name, data, **options):
    (folder / name).write_bytes(data)
    options = {"min_df": 1, "max_df": 1.0, "stop_words": "none"} | options
    return open_corpus([str(folder / name)], CorpusOptions(**options), store=folder / "s")


@pytest.fixture
def small(monkeypatch):
    """Parse reference lists in small chunks, so that a megabyte counts as much."""
    for name, size in (("CHUNK", 2**14), ("LONGEST", 2**16), ("LOOKED_AT", 2**16)):
        monkeypatch.setattr(records, name, size)


WORKS = {
    "bib": b"@article{k, title={words of a title}, abstract={some more words to read}}\n",
    "ris": b"TY  - JOUR\nTI  - words of a title\nAB  - some more words to read\nER  - \n",
}
ENDLESS = {"bib": (b"@article{k,", b" a = 1,\n"), "ris": (b"TY  - JOUR\n", b"AU  - a\n")}


@pytest.mark.row(51)
@pytest.mark.parametrize("kind", [pytest.param("bib", marks=pytest.mark.nightly), "ris"])
def test_a_list_of_works_is_read_some_at_a_time(kind, tmp_path, peak, small, trials):
    """Red with: all of a file parsed at once (1.5 GB for 2 MB of .bib.gz)."""
    number = 2**18 // len(WORKS[kind])
    corpus = read(tmp_path, f"x.{kind}.gz", gzip.compress(WORKS[kind] * number, 1))
    assert corpus.documents == number
    assert peak() < MOST
    trials()


@pytest.mark.row(51)
@pytest.mark.parametrize("kind", ENDLESS)
def test_a_work_without_end_is_refused_or_left_out(kind, tmp_path, peak, small, trials):
    """The works before and after it are read. Red with: the size of a work not looked at."""
    begin, more = ENDLESS[kind]
    data = WORKS[kind] + begin + more * (2**20 // len(more)) + WORKS[kind]
    with pytest.raises(
        CorpusError, match=r"(work|entry) 2: the (work|entry) has more than 65536 bytes"
    ):
        read(tmp_path, f"x.{kind}.gz", gzip.compress(data, 1))
    assert read(tmp_path, f"x.{kind}", data, on_bad_document="skip").documents == 2
    assert peak() < MOST
    trials(2)


@pytest.mark.row(51)
def test_abbreviations_are_known_to_all_entries_after_them(tmp_path, monkeypatch, trials):
    """Red with: each chunk of a list in BibTeX parsed alone."""
    monkeypatch.setattr(records, "CHUNK", 200)
    data = b'@string{jmlr = "journal of learning"}\n' + b"".join(
        b"@article{k%d, abstract={w%d}, journal=jmlr}\n" % (i, i) for i in range(50)
    )
    corpus = read(tmp_path, "x.bib", data, text_field="abstract,journal")
    assert corpus.documents == 50
    assert corpus.totals.word_counts[list(corpus.vocabulary).index("journal")] == 50
    trials()


def workbook(sheet: bytes) -> bytes:
    """Return a workbook with one sheet, as small as possible."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    types = "http://schemas.openxmlformats.org/package/2006/content-types"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    related = (
        '<Relationships xmlns="{}"><Relationship Id="r1" Type="{}/{}" Target="{}"/></Relationships>'
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{types}"/>')
        archive.writestr(
            "_rels/.rels", related.format(package, office, "officeDocument", "xl/workbook.xml")
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
            '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            related.format(package, office, "worksheet", "worksheets/sheet1.xml"),
        )
        with archive.open("xl/worksheets/sheet1.xml", "w") as part:
            part.write(f'<worksheet xmlns="{main}"><sheetData>'.encode() + sheet)
            part.write(b"</sheetData></worksheet>")
    return file.getvalue()


def row(number: int, **cells: str) -> bytes:
    """Return a row of an Excel sheet."""
    inner = "".join(
        f'<c r="{column}{number}" t="inlineStr"><is><t>{text}</t></is></c>'
        for column, text in cells.items()
    )
    return f'<row r="{number}">{inner}</row>'.encode()


def open_document(rows: str) -> bytes:
    """Return an OpenDocument spreadsheet, as small as possible."""
    name = "urn:oasis:names:tc:opendocument:xmlns"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{name}:manifest:1.0"/>')
        archive.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{name}:office:1.0" '
            f'xmlns:table="{name}:table:1.0" xmlns:text="{name}:text:1.0"><office:body>'
            f'<office:spreadsheet><table:table table:name="S">{rows}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return file.getvalue()


CELL = (
    '<table:table-cell table:number-columns-repeated="{}" office:value-type="string">'
    "<text:p>{}</text:p></table:table-cell>"
)
HEAD = f"<table:table-row>{CELL.format(1, 'text')}</table:table-row>"
EMPTY = '<table:table-cell table:number-columns-repeated="16383"/>'


@pytest.mark.row(51)
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "corners.xlsx",
            lambda: workbook(row(1, A="text") + row(2, A="two words") + row(1048576, XFD="x")),
            "span 1048576 rows and 16384 columns",
        ),
        (
            "long.xlsx",
            lambda: workbook(row(1, A="text") + row(2, A="a " * 2**25)),
            r"unpacks to 6\d{7} bytes",
        ),
        (
            "repeated.ods",
            lambda: open_document(
                f'{HEAD}<table:table-row table:number-rows-repeated="1048575">'
                f"{CELL.format(90, 'two words')}</table:table-row>"
            ),
            "span 1048576 rows and 90 columns",
        ),
    ],
)
def test_a_workbook_is_measured_before_it_is_read(name, data, message, tmp_path, trials):
    """Red with: no limit (calamine allocates all cells between the corners, and aborts)."""
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, name, data())
    trials()


@pytest.mark.row(51)
def test_a_column_of_parquet_is_measured_before_it_is_read(tmp_path, trials):
    """Red with: no limit (1.4 GB for 18 kB)."""
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    made = tmp_path / "made.parquet"
    text = pyarrow.table({"text": ["ab " * 2**25]})
    parquet.write_table(text, made, compression="zstd")
    with pytest.raises(CorpusError, match=r"column 'text' unpacks to \d{9} bytes"):
        read(tmp_path, "x.parquet", made.read_bytes())
    trials()


@pytest.mark.row(51)
@pytest.mark.parametrize("is_stored", [True, False], ids=["categories", "texts"])
def test_a_long_text_that_a_dictionary_repeats_is_held_once(
    is_stored, tmp_path, monkeypatch, trials
):
    """Of 2 kB of Parquet. Red with: a copy for each of 256 rows (7 GB with texts of 20 MB)."""
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    text = pyarrow.array(["ab " * 2**18 + "word"])
    coded = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, None] * 200), text)
    made = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table({"text": coded}), made, store_schema=is_stored)
    joined, sizes, before = arrow.joined, [], pyarrow.total_allocated_bytes()

    def join_and_measure(texts):
        sizes.append(pyarrow.total_allocated_bytes())
        return joined(texts)

    monkeypatch.setattr(arrow, "joined", join_and_measure)
    with pytest.raises(CorpusError, match="the texts unpack to more than 20000000 bytes"):
        read(tmp_path, "y.parquet", made.read_bytes(), text_field="text", max_input=20_000_000)
    assert max(sizes) - before < 2**23
    trials()


@pytest.mark.row(51)
def test_a_batch_of_arrow_is_measured_before_it_is_read(tmp_path, trials):
    """Red with: no limit (1.9 GB for 88 kB)."""
    pyarrow = pytest.importorskip("pyarrow")
    made = tmp_path / "made.arrow"
    table = pyarrow.table({"text": ["ab " * 2**25]})
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    with pyarrow.ipc.new_stream(made, table.schema, options=options) as stream:
        stream.write_table(table)
    with pytest.raises(CorpusError, match=r"batch 1 of the file unpacks to 10\d{7} bytes"):
        read(tmp_path, "x.arrow", made.read_bytes())
    trials()


@pytest.mark.row(51)
def test_empty_rows_that_are_repeated_to_the_end_of_a_sheet_do_not_count(tmp_path, trials):
    """LibreOffice writes them. Red with: all cells that are repeated counted."""
    rows = (
        f"{HEAD}<table:table-row>{CELL.format(1, 'two words')}{EMPTY}</table:table-row>"
        f'<table:table-row table:number-rows-repeated="1048570">{EMPTY}</table:table-row>'
    )
    assert read(tmp_path, "x.ods", open_document(rows)).documents == 1
    trials()


@pytest.mark.row(51)
@pytest.mark.parametrize("piece", [b"<w:p/>", b"<w:x/>", b"<!--a-->"], ids=["p", "x", "comment"])
def test_a_word_document_is_read_as_a_stream(piece, tmp_path, trials):
    """200,000 empty paragraphs, other elements or comments.

    Red with: the tree of all of the document (46 MB for 1.4 MB), or of all but its paragraphs.
    """
    docx = pytest.importorskip("docx")
    document, file = docx.Document(), io.BytesIO()
    document.add_paragraph("two words")
    document.save(file)
    made = tmp_path / "x.docx"
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "word/document.xml":
                data = data.replace(b"<w:body>", b"<w:body>" + piece * 200_000, 1)
            new.writestr(name, data)
    whole = made.read_bytes()
    peak_of_process()
    before = peak_of_process()
    assert read(tmp_path, "x.docx", whole).tokens == 2
    assert peak_of_process() - before < 15 << 20
    trials()


def peak_of_process() -> int:
    """Return the peak of this process's memory since the last call, in bytes."""
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    Path("/proc/self/clear_refs").write_text("5")  # reset the recorded peak of memory
    assert peak is not None
    return int(peak[1]) << 10


class Held:
    """A vector in memory."""

    def __init__(self, values):
        self.values, self.size, self.path = np.asarray(values), len(values), Path("texts.npz")

    def read(self, first, stop):
        return self.values[first:stop]

    def gather(self, places):
        return self.values[places]


def stored(data: bytes, size: int, ends: list[int]) -> texts.StoredTexts:
    """Return texts in one frame, with the given claims about size and ends."""
    packed = np.frombuffer(data, np.uint8)
    return texts.StoredTexts(
        Held(packed), Held(np.array([len(packed), size])), Held(ends), Held(np.arange(len(ends)))
    )


@pytest.mark.row(51)
@pytest.mark.parametrize("claimed", [100, 2**20, 2**33])
def test_a_frame_of_texts_gives_no_more_than_is_asked_for(claimed, peak, trials):
    """Red with: decompress(max_output_size=...), which allocates what the frame itself states."""
    bomb = zstandard.ZstdCompressor().compress(bytes(2**26))
    before = peak()
    with pytest.raises(CorpusError, match="changed"):
        stored(bomb, claimed, [50, claimed]).take(np.array([0, 1]))
    assert peak() - before < 16 * 2**20
    trials()


@pytest.mark.row(51)
@pytest.mark.parametrize("ends", [[100, 10, 100, 10], [10, 200, 210, 220], [-5, 10, 20, 100]])
def test_texts_that_overlap_or_leave_their_frame_are_damage(ends, trials):
    """Red with: ends that are not compared, so that each text may be all of the frame."""
    data = zstandard.ZstdCompressor().compress(b"x" * 100)
    assert stored(data, 100, [10, 20, 50, 100]).take(np.array([1, 0])) == [b"x" * 10, b"x" * 10]
    with pytest.raises(CorpusError, match="changed"):
        stored(data, 100, ends).take(np.arange(4))
    trials()
