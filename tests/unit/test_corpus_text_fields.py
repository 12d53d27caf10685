"""The fields of records that are the text: named, joined, or found where nobody has named them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from listeners import Lines

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.errors import CorpusError

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}
LONG = "whales swim far below the northern ice in winter"
#: Records of a library: short titles, long notes, places and numbers.
BOOKS = [
    {"no": str(i), "name": f"about whales {i}", "remarks": f"{LONG} {LONG}", "url": "x" * 300}
    for i in range(4)
]


def written(path: Path, records: list[dict]) -> Path:
    """Write records in the format that the name says."""
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(records[0]))
            table.writeheader()
            table.writerows(records)
    elif path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(records), path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(records))
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def read(tmp_path):
    def read(name: str, records: list[dict], **more):
        said = Lines()
        options, store = (
            CorpusOptions(**ALL | {"meta_field": "none"}, **more),
            tmp_path / f"s{len(list(tmp_path.iterdir()))}",
        )
        path = written(tmp_path / name, records)
        return open_corpus([str(path)], options, store=store, log=said.append), said

    return read


FORMATS = ("x.csv", "x.jsonl", "x.json", "x.parquet")


@pytest.mark.parametrize("name", FORMATS)
def test_two_fields_are_joined(read, name):
    """Red with: a field called "name,remarks" looked for."""
    corpus, said = read(name, BOOKS, text_field="name,remarks")
    assert {"about", "northern"} <= set(corpus.vocabulary)
    assert corpus.reading["text-field"] == "name,remarks"
    assert not said


@pytest.mark.parametrize("name", FORMATS)
def test_a_field_that_is_empty_leaves_the_others(read, name):
    records = [{"title": "only whales", "abstract": None}, {"title": "more", "abstract": "of ice"}]
    corpus, _ = read(name, records, text_field="title,abstract", title_field="title")
    assert corpus.documents == 2
    assert corpus.about.titles([0]) == ["only whales"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("field", ["abstract", "Abstract Note", "Body", "content", "Text"])
def test_a_field_of_a_usual_name_is_the_text_and_the_log_says_so(read, name, field):
    """Red with: "no field 'text'" for a table with a column of abstracts."""
    records = [
        {"key": "a", field: "whales of ice", "notes": LONG},
        {"key": "b", field: "", "notes": ""},
    ]
    corpus, said = read(name, records)
    assert set(corpus.vocabulary) == {"whales", "of", "ice"}
    assert len(said) >= 1
    assert f"the text is in the field '{field}' (choose others with --text-field NAME" in said[0]
    assert corpus.reading["text-field"] == field


@pytest.mark.parametrize("name", FORMATS)
def test_the_field_called_text_comes_first_and_nothing_is_said(read, name):
    corpus, said = read(name, [{"abstract": "ice ice", "text": "whales far"}] * 2)
    assert set(corpus.vocabulary) == {"whales", "far"}
    assert not said
    assert corpus.reading["text-field"] == "text"


@pytest.mark.parametrize("name", FORMATS)
def test_the_only_long_field_is_the_text(read, name):
    corpus, said = read(name, BOOKS)
    assert "northern" in corpus.vocabulary
    assert "about" not in corpus.vocabulary
    assert "the text is in the field 'remarks'" in said[0]


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_where_two_fields_are_long_or_none_the_fields_are_listed(read, name):
    two = [row | {"story": row["remarks"]} for row in BOOKS]
    for records in (two, [{"no": "1", "remarks": "ice"}]):
        with pytest.raises(CorpusError, match=r"'text'.*'remarks'.*choose one with --text-field"):
            read(name, records)


@pytest.mark.parametrize(("times", "found"), [(3.1, True), (2.9, False)])
def test_the_long_text_is_three_times_as_long_as_any_other(read, times, found):
    a = "whale " * 100
    records = [{"notes": a[: round(40 * times)], "place": a[:40]}]
    if found:
        assert "the text is in the field 'notes'" in read("x.jsonl", records)[1][0]
    else:
        with pytest.raises(CorpusError, match="choose one with --text-field"):
            read("x.jsonl", records)


def test_long_texts_of_a_script_without_blanks_are_long(read):
    """Red with: words counted between blanks."""
    records = [{"id": "1", "正文": "鯨在北方的冰下游得很遠" * 6, "題": "鯨"}]
    assert "the text is in the field '正文'" in read("x.csv", records)[1][0]


def test_what_was_found_is_what_new_documents_are_read_by(read):
    corpus, _ = read("x.csv", BOOKS)
    assert CorpusOptions.over(corpus.reading, {"text-field": "auto"}).text_field == "remarks"
    plain, _ = read("y.csv", [{"text": "whales"}])
    assert CorpusOptions.over(plain.reading, {"text-field": "auto"}).text_field == "auto"


def test_zotero_is_read_as_it_is_exported(read):
    rows = [
        {"Key": "AB12", "Item Type": "book", "Title": "Whales", "Abstract Note": LONG, "Url": "x"},
        {"Key": "CD34", "Item Type": "book", "Title": "Ice", "Abstract Note": "", "Url": "x"},
    ]
    corpus, _ = read("zotero.csv", rows)
    assert corpus.documents == 1
    assert corpus.about.ids([0]) == ["AB12"]
    assert corpus.about.titles([0]) == ["Whales"]
    corpus, said = read("again.csv", rows, text_field="title,abstract note")
    assert corpus.documents == 2
    assert not said
