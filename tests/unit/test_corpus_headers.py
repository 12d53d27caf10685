"""Tables as people have them: quotes that are letters, no header, lines above it, other separators."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from listeners import Lines
from named_corpora import ALL, every

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.errors import CorpusError, UsageError


class Reader:
    """Reads one file of a folder into a stored corpus."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lines, self.number = folder, Lines(), 0

    def __call__(self, name: str, data: str | bytes, **options: object) -> Corpus:
        self.number += 1
        self.lines.clear()
        path = self.folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return open_corpus(
            [str(path)],
            CorpusOptions(**ALL | options),
            store=self.folder / f"store{self.number}",
            log=self.lines.append,
        )

    def texts(self, *args: object, **options: object) -> list[str | None]:
        corpus = self(*args, **options)
        return corpus.about.texts(every(corpus))


@pytest.fixture
def reader(tmp_path):
    return Reader(tmp_path)


SWALLOWED = (
    'id;title;abstract\n1;one;mice sleep in winter\n2;"Smart cities;birds fly in summer\n'
    '3;three;fish swim\n4;pipe 5";dogs bark\n5;five;cats meow\n'
)


def test_a_quote_that_swallows_records_is_an_error_that_names_both_lines(reader):
    """Red with: three documents of five, without a word."""
    with pytest.raises(
        CorpusError, match=r"q\.csv:3: a quotation mark opened here is closed only in line 5"
    ):
        reader("q.csv", SWALLOWED, text_field="abstract")
    skipped = reader.texts("q.csv", SWALLOWED, text_field="abstract", on_bad_document="skip")
    assert skipped == ["mice sleep in winter", "fish swim", "dogs bark", "cats meow"]
    letters = reader.texts("q.csv", SWALLOWED, text_field="abstract", quote="none")
    assert len(letters) == 5


def test_line_breaks_within_a_quoted_field_are_counted(reader):
    data = 'id,text,year\n1,"mice,\nsleep, in\nwinter",2001\n2,birds,2002\n3,"a, b\nc, d",2003\n'
    assert reader.texts("x.csv", data)[0] == "mice,\nsleep, in\nwinter"
    said = "x.csv: 2 records have line breaks within a quoted field (--set quote=none"
    assert any(said in line for line in reader.lines)


def test_commas_in_the_lines_of_a_letter_are_no_records(reader):
    data = 'id,text\n1,"Dear all,\nmice sleep, you know,\nbye, Ann"\n2,birds fly\n'
    assert len(reader.texts("x.csv", data)) == 2
    data = 'author,text\nAnn,"Dear all\nmice sleep, you know\nbye, Ann"\nBob,birds fly\n'
    assert len(reader.texts("x.csv", data)) == 2


@pytest.mark.parametrize("title", ['"Smart" cities', '"Smart cities', 'pipe 5"', 'a "b" c', '"'])
def test_quotes_in_a_table_with_tabs_are_letters(reader, title):
    """Red with: such a title ends the reading, or swallows the works after it."""
    rows = [
        ("1", "one", "mice"),
        ("2", title, "birds"),
        ("3", title, "fish"),
        ("4", "four", "cats"),
    ]
    data = "id\ttitle\tabstract\n" + "".join("\t".join(row) + "\n" for row in rows)
    corpus = reader("q.tsv", data, text_field="abstract")
    assert corpus.about.texts(every(corpus)) == ["mice", "birds", "fish", "cats"]
    assert corpus.about.titles([1]) == [title]


def test_cells_that_are_quoted_as_a_whole_have_no_quotes_in_a_table_with_tabs(reader):
    data = 'id\ttitle\ttext\n1\t"a ""b"""\tmice\n2\t"odd" one\tbirds\n3\tc\t"two\nlines"\n'
    corpus = reader("q.tsv", data)
    assert corpus.about.titles(every(corpus)) == ['a "b"', '"odd" one', "c"]
    assert corpus.about.texts([2]) == ["two\nlines"]


ROWS = [
    (str(i), f"mice sleep in the winter of every year, and number {i} sings", str(2000 + i))
    for i in range(9)
]


def table(separator: str, *above: str, header: str = "id,text,year") -> str:
    lines = [*above, *([header.replace(",", separator)] if header else [])]
    cells = [[f'"{c}"' if separator in c else c for c in row] for row in ROWS]
    return "".join(f"{line}\n" for line in [*lines, *map(separator.join, cells)])


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("header", ["id,text,year", ""])
def test_a_table_without_a_header_loses_no_document(reader, separator, header):
    """Red with: the first document becomes the name of the field, and is lost; pipes are text."""
    corpus = reader("x.csv", table(separator, header=header), meta_field="all")
    assert corpus.about.texts(every(corpus)) == [row[1] for row in ROWS]
    names = [column.name for column in corpus.about.columns]
    assert names == (["year"] if header else ["column1", "column3"])
    assert any("the first row looks like data" in line for line in reader.lines) == (not header)


def test_no_header_may_be_asked_for(reader):
    corpus = reader("x.csv", "mice,1\nbirds,2\n", header_line=0, text_field="column1")
    assert corpus.about.texts(every(corpus)) == ["mice", "birds"]
    with pytest.raises(
        UsageError, match="--header-line -1 is negative; give the number of a line, or 0"
    ):
        CorpusOptions(header_line=-1)


@pytest.mark.parametrize(
    "above",
    [
        ["Search results of 2001"],
        ['"SEARCH QUERY","dinosaur:ti"', "-----", ""],
        ["A title,,", ",,"],
        ["sep=,"],
    ],
)
def test_lines_above_a_header_are_left_out(reader, above):
    """Red with: refused, as no option names the header's line."""
    assert reader.texts("x.csv", table(",", *above)) == [row[1] for row in ROWS]
    assert reader.texts("x.csv", table(",", *above), header_line=len(above) + 1) == [
        row[1] for row in ROWS
    ]


def test_a_header_without_the_field_names_its_line(reader):
    with pytest.raises(
        CorpusError, match=r"x\.csv:2: no field 'body' in the header \(the fields are 'id'"
    ):
        reader("x.csv", table(",", "A title"), text_field="body")


def test_a_header_with_more_names_than_the_records_have_fields_is_no_title(reader):
    """Red with: the header is left out as a title, and the fields have no names."""
    with pytest.raises(
        CorpusError, match=r"x\.csv:2: the record has 2 fields, but the header has 3"
    ):
        reader("x.csv", "id,text,year\n" + "".join(f'{row[0]},"{row[1]}"\n' for row in ROWS))


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_a_sheet_of_a_workbook_is_chosen_by_name(reader):
    pytest.importorskip("python_calamine")
    rows = [["id", "text", "year"], *map(list, ROWS)]
    path = reader.folder / "x.xlsx"
    workbook(
        path, {"Codebook": [["name", "text"], ["id", "a number"]], "Data": [["Study 1"], [], *rows]}
    )
    data = path.read_bytes()
    assert reader.texts("x.xlsx", data, sheet="Data") == [row[1] for row in ROWS]
    assert reader.texts("x.xlsx", data) == ["a number"]
    assert any("the sheet 'Codebook' is read, not 'Data'" in line for line in reader.lines)
    with pytest.raises(CorpusError, match=r"no sheet 'Dta'.*'Codebook', 'Data'"):
        reader("x.xlsx", data, sheet="Dta")


def test_what_the_module_csv_writes_is_read_with_tabs_too(reader):
    rows = [["1", 'mice "sleep"\n, in'], ["2", "tab\there"], ["3", '"""birds'], ["4", ""]]
    path = reader.folder / "w.tsv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([["id", "text"], *rows])
    assert reader.texts("w.tsv", path.read_bytes())[:3] == [row[1] for row in rows[:3]]
