"""Real exports of literature databases, against what other programs read in them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from named_corpora import ALL

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.errors import CorpusError

EXPORTS = Path(__file__).parents[3] / "shared" / "data" / "exports"
needs_exports = pytest.mark.skipif(not EXPORTS.is_dir(), reason="needs ../shared/data/exports")

Work = dict[str, str]


def table(name: str, delimiter: str = ",", above: int = 0) -> Iterator[Work]:
    """Read a table by the module csv."""
    with (EXPORTS / name).open(newline="", encoding="utf-8-sig", errors="replace") as file:
        for _ in range(above):
            next(file)
        yield from csv.DictReader(file, delimiter=delimiter)


def sheet(name: str) -> Iterator[Work]:
    openpyxl = pytest.importorskip("openpyxl")
    rows = openpyxl.load_workbook(EXPORTS / name).active.iter_rows(values_only=True)
    names = next(rows)
    for row in rows:
        if any(cell is not None for cell in row):
            yield {n: "" if cell is None else str(cell) for n, cell in zip(names, row, strict=True)}


def ris(name: str) -> Iterator[Work]:
    rispy = pytest.importorskip("rispy")
    with (EXPORTS / name).open(encoding="utf-8-sig") as file:
        for work in rispy.load(file):
            yield {n: str(work.get(n) or "") for n in ("abstract", "year")}


def medline(name: str) -> Iterator[Work]:
    """Read a list of PubMed by regular expressions."""
    text = (EXPORTS / name).read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    for work in re.split(r"(?m)^(?=PMID- )", text)[1:]:
        found = {tag: re.search(rf"(?m)^{tag} *- (.+)", work) for tag in ("AB", "DP")}
        yield {tag: match[1] if match else "" for tag, match in found.items()}


#: By file: the works by another reader, and the fields of the text and of the year. The workbook has
#: titles and no abstracts.
READ = {
    "cochrane.csv": (lambda: table("cochrane.csv"), "Abstract", "Year"),
    "covidence.csv": (lambda: table("covidence.csv"), "Abstract", "Published Year"),
    "embase.csv": (lambda: table("embase.csv", above=3), "Abstract", "Publication Year"),
    "eppireviewer.xlsx": (lambda: sheet("eppireviewer.xlsx"), "Title", "Year"),
    "excel.csv": (lambda: table("excel.csv", ";", above=3), "Abstract", "Publication Year"),
    "openalex.csv": (lambda: table("openalex.csv"), "abstract", "publication_year"),
    "pubmed.ris": (lambda: medline("pubmed.ris"), "AB", "DP"),
    "rayyan.csv": (lambda: table("rayyan.csv"), "abstract", "year"),
    "refworks.tsv": (lambda: table("refworks.tsv", "\t"), "Abstract", "Pub Year"),
    "webofscience.ris": (lambda: ris("webofscience.ris"), "abstract", "year"),
}


def read(path: Path, folder: Path, **options: object) -> Corpus:
    return open_corpus([str(path)], CorpusOptions(**ALL | options), store=folder / "store")


@needs_exports
@pytest.mark.parametrize("name", READ)
def test_works_abstracts_and_years_are_those_of_another_reader(name, tmp_path):
    """Red with: a title above the header that counts as the header, as in excel.csv."""
    works, text, year = READ[name]
    expected = list(works())
    path, abstracts = EXPORTS / name, [work for work in expected if (work[text] or "").strip()]
    corpus = read(path, tmp_path, text_field=text, meta_field=f"{year}:string")
    assert corpus.provenance["documents_read"] == len(expected)
    assert corpus.documents == len(abstracts) > 0
    years = corpus.about.values(year, range(corpus.documents))
    assert [value or "" for value in years] == [(work[year] or "").strip() for work in abstracts]


@needs_exports
def test_a_table_without_abstracts_is_refused_by_its_columns(tmp_path):
    with pytest.raises(CorpusError, match=r"pubmed\.csv:1: no field .*'Title'.*--text-field"):
        read(EXPORTS / "pubmed.csv", tmp_path)


@needs_exports
def test_lines_that_are_no_records_are_refused_or_left_out(tmp_path):
    """A line "citations that are not yet labeled by anyone" stands before four works of 10 fields."""
    path = EXPORTS / "abstrackr.csv"
    with pytest.raises(CorpusError, match=r"abstrackr\.csv:36: the record has 1 field.*skip"):
        read(path, tmp_path)
    works = [work for work in table("abstrackr.csv") if None not in work.values()]
    corpus = read(path, tmp_path, on_bad_document="skip")
    assert corpus.documents == sum(bool(work["abstract"].strip()) for work in works)
    assert corpus.provenance["skipped"]["wrong number of fields"] == 5


def test_titles_above_a_header_in_a_table_of_excel_are_left_out(tmp_path):
    """Excel fills each line with separators. Red with: the first title as the header."""
    names = "Title;Source;Author;Year;Abstract;Language;Pages;Issue;Volume"
    row = "On mice;J. Mice;Doe, A;{};mice sleep in winter {};en;1;2;3"
    path = tmp_path / "excel.csv"
    lines = ["SEARCH QUERY;mice:ti" + 7 * ";", "-----" + 8 * ";", 8 * ";", names]
    path.write_text("\n".join([*lines, *(row.format(2000 + i, i) for i in range(5))]) + "\n")
    corpus = read(path, tmp_path, meta_field="Year")
    assert corpus.about.values("Year", range(corpus.documents)) == [2000, 2001, 2002, 2003, 2004]
