"""Inputs that people bring, and the options that help with them: folders, tables without names, dates."""

from __future__ import annotations

import json

import numpy as np
import pytest
from listeners import Lines
from named_corpora import build, every

from pysgrld.corpus import CorpusOptions
from pysgrld.corpus.slices import put_in_slices
from pysgrld.errors import CorpusError, MissingInputError
from pysgrld.types import Documents, Slicing


def test_files_without_a_suffix_keep_their_folder_in_their_ids(tmp_path):
    """Red with: ids without the newsgroup, which is the label of the example."""
    paths = []
    for group, name in (("alt.atheism", "49960"), ("sci.space", "60001")):
        (tmp_path / group).mkdir()
        paths.append(tmp_path / group / name)
        paths[-1].write_text("From: a@b.org\nSubject: x\n\nmice sleep\n")
    corpus = build(tmp_path, *paths)
    assert corpus.about.ids(every(corpus)) == ["alt.atheism/49960", "sci.space/60001"]


@pytest.mark.parametrize("suffix", ["json", "xml"])
def test_a_folder_of_json_or_xml_alone_is_read(suffix, tmp_path):
    (tmp_path / "f").mkdir()
    for i, text in enumerate(("mice sleep", "birds fly")):
        data = json.dumps({"id": f"d{i}", "text": text}, indent=1)
        if suffix == "xml":
            data = f'<records><record id="d{i}"><text>{text}</text></record></records>'
        (tmp_path / "f" / f"{i}.{suffix}").write_text(data)
    corpus = build(tmp_path, tmp_path / "f")
    assert corpus.about.ids(every(corpus)) == ["d0", "d1"]


def test_text_with_tabs_is_a_table_without_names_if_a_person_says_so(tmp_path):
    """Red with: --header-line none without effect on .txt, so that names and labels are words."""
    lines = [
        f"doc{i}\tlabel{i % 2}\tmice sleep in winter and birds fly over the sea" for i in range(4)
    ]
    (tmp_path / "x.txt").write_text("\n".join(lines) + "\n")
    corpus = build(tmp_path, tmp_path / "x.txt", header_line=0)
    assert "label0" not in corpus.vocabulary
    assert corpus.documents == 4


def test_a_title_above_a_sheet_of_two_columns_is_no_header(tmp_path):
    """Red with: the title taken for the name of the only column."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    for row in (["Export"], [], ["id", "text"], ["a", "mice sleep"], ["b", "birds fly"]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    corpus = build(tmp_path, tmp_path / "x.xlsx")
    assert corpus.about.ids(every(corpus)) == ["a", "b"]


def test_features_of_10x_are_a_vocabulary_of_names(tmp_path):
    (tmp_path / "features.tsv").write_text("G1\tcat\tGene Expression\nG2\tdog\tGene Expression\n")
    (tmp_path / "x.txt").write_text("cat dog\ndog\n")
    corpus = build(tmp_path, tmp_path / "x.txt", vocab=str(tmp_path / "features.tsv"))
    assert corpus.vocabulary == ("cat", "dog")


def test_numbers_that_are_most_of_the_tokens_are_a_warning(tmp_path):
    (tmp_path / "x.txt").write_text("".join(f"{i} {i + 1} 1999\n" for i in range(10, 30)))
    said = Lines()
    build(tmp_path, tmp_path / "x.txt", log=said)
    assert any(
        line.startswith("21 different numbers removed from the vocabulary")
        for line in said.warnings
    )


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_fields_within_structs_are_named_by_their_path(suffix, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    rows = [{"body": "mice sleep", "n": {"year": 2001}}, {"body": "birds fly", "n": {"year": 2002}}]
    path = tmp_path / f"x.{suffix}"
    write = parquet.write_table if suffix == "parquet" else feather.write_feather
    write(pa.table({"data": rows}), str(path))
    corpus = build(tmp_path, path, text_field="data.body", meta_field="data.n.year")
    assert corpus.column("data.n.year") == [2001, 2002]
    assert corpus.tokens == 4
    with pytest.raises(
        CorpusError, match=r"no column 'data.text' \(the columns are 'data', 'data.body'"
    ):
        build(tmp_path, path, name="t", text_field="data.text")


@pytest.mark.parametrize("value", ["2001-02-30", "", "NA"])
def test_a_document_without_a_date_is_named_or_left_out(value, tmp_path):
    """Red with: a message about another document; a run that cannot do without it."""
    (tmp_path / "x.csv").write_text(f"text,date\nmice,2001-01-01\nbirds,{value}\nfish,2001-03-01\n")
    for how, options in (("stop", {}), ("skip", {"on_bad_document": "skip"})):
        given = {"time_field": "date", "meta_field": "date"} | options
        if how == "stop":
            with pytest.raises(CorpusError, match=r"x.csv:3: field 'date' \(--time\)"):
                build(tmp_path, tmp_path / "x.csv", **given)
        else:
            corpus = build(tmp_path, tmp_path / "x.csv", name="t", **given)
            assert corpus.column("date") == ["2001-01-01", "2001-03-01"]


def test_dates_of_a_stream_are_read_by_their_format():
    """Red with: 05/06/2001 without a slice, or in May; an error for an empty document."""
    slicing = Slicing("date", ("2001-05", "2001-06"), ("2001-05-01", "2001-06-01"))
    block = Documents(np.array([0, 1, 1]), np.zeros(1, np.int32), np.ones(1, np.int32))
    placed = put_in_slices(slicing, block, ["05/06/2001", None], str, "%d/%m/%Y")
    assert placed.slices.tolist() == [1, 0]


def test_dates_and_missing_values_of_new_documents_are_read_as_in_training(tmp_path):
    (tmp_path / "x.csv").write_text("text,date\nmice,05/06/2001\nbirds,06/06/2001\n")
    options = {"meta_field": "date", "date_format": "%d/%m/%Y", "missing": "99"}
    recorded = build(tmp_path, tmp_path / "x.csv", **options).reading
    new = CorpusOptions.over(recorded, {})
    assert (new.date_format, new.missing) == ("%d/%m/%Y", "99")


POLISH = "wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw"
ENGLISH = "all human beings are born free and equal in dignity and rights and should act"


def test_a_language_without_a_list_is_detected_by_the_library(tmp_path):
    pytest.importorskip("py3langid")
    (tmp_path / "x.txt").write_text(
        "".join(f"{ENGLISH} x{i}\n" for i in range(15))
        + "".join(f"{POLISH} y{i}\n" for i in range(5))
    )
    said = Lines()
    build(tmp_path, tmp_path / "x.txt", log=said)
    assert any("(English 75 %, Polish 25 %)" in line for line in said)
    assert build(tmp_path, tmp_path / "x.txt", name="t", language="polish").documents == 5


def test_a_language_that_the_library_detects_asks_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr("pysgrld.corpus.languages.find_spec", lambda name: None)
    (tmp_path / "x.txt").write_text(f"{ENGLISH}\n{POLISH}\n")
    with pytest.raises(MissingInputError, match="pip install py3langid"):
        build(tmp_path, tmp_path / "x.txt", language="polish")
