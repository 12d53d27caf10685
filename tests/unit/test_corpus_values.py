"""Values of columns: what is missing, and which notation of numbers and dates a column has."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from listeners import Lines
from named_corpora import ALL, every

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus._columns import distinct, iso_time
from pysgrld.corpus.about.dates import date_by_format, named_date, numeric_date, time_of
from pysgrld.corpus.about.scalars import iso
from pysgrld.corpus.about.values import MISSING_VALUES
from pysgrld.corpus.slices import slicing_of
from pysgrld.errors import CorpusError


def column_of(
    values: list[str], folder: Path, kind: str = "", **options: object
) -> tuple[str, list[object], list[str]]:
    """Return the kind of a column of CSV, its values, and the lines of the log about it."""
    with (folder / "x.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "v"), *(("mice sleep", value) for value in values)])
    said = Lines()
    corpus: Corpus = open_corpus(
        [str(folder / "x.csv")],
        CorpusOptions(**ALL, meta_field="v" + kind, **options),
        store=folder / "store",
        log=said.append,
    )
    (column,) = corpus.about.columns
    lines = [line for line in said if line.startswith("column 'v'")]
    return column.kind, corpus.about.values("v", every(corpus)), lines


@pytest.mark.parametrize("text", [*MISSING_VALUES, *(m.lower() for m in MISSING_VALUES), " ", ""])
def test_a_text_that_stands_for_a_missing_value_leaves_a_column_of_numbers_one(text, tmp_path):
    """Red with: any of these texts taken for a category, by which all numbers become categories."""
    kind, values, lines = column_of(["2001", "2002", text], tmp_path)
    assert (kind, values) == ("integer", [2001, 2002, None])
    if text.strip():
        assert lines == [f"column 'v': 1 missing value ('{text}')"]


def test_missing_adds_texts_that_stand_for_a_missing_value(tmp_path):
    kind, values, _ = column_of(["1", "2", "k.A.", "99"], tmp_path, missing="k.A.,99")
    assert (kind, values) == ("integer", [1, 2, None, None])


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        ([" 12 ", "13"], "integer", [12, 13]),
        (["99,5", "0,25", "7"], "real", [99.5, 0.25, 7.0]),
        (["1.234,5", "99,5"], "real", [1234.5, 99.5]),
        (["1,234", "987", "1,234,567"], "integer", [1234, 987, 1234567]),
        (["1,234.5", "2.5"], "real", [1234.5, 2.5]),
        (["1\u202f234,5", "2,5"], "real", [1234.5, 2.5]),
        (["12%", "7.5 %"], "real", [12.0, 7.5]),
        (["12 %", "7 %"], "integer", [12, 7]),
        (["\u22125", "3"], "integer", [-5, 3]),
        (["01234", "12345"], "string", ["01234", "12345"]),
        (["12345678901234567890", "1"], "string", ["12345678901234567890", "1"]),
        (["12%", "13"], "string", ["12%", "13"]),
    ],
)
def test_numbers_are_read_in_the_notation_that_the_column_agrees_on(cells, kind, values, tmp_path):
    assert column_of(cells, tmp_path)[:2] == (kind, values)


def test_another_notation_than_the_plain_one_is_logged_with_an_example(tmp_path):
    assert column_of(["1,234", "987"], tmp_path)[2] == ["column 'v': '1,234' is read as 1234"]


def test_a_column_of_numbers_may_have_one_in_twenty_other_values_which_are_quoted(tmp_path):
    """Red with: one such value makes categories of all numbers."""
    cells = [str(2000 + i % 9) for i in range(57)]
    kind, values, lines = column_of([*cells, "in press", "in press", "ca. 1999"], tmp_path)
    assert kind == "integer"
    assert values[57:] == [None] * 3
    assert lines == [
        "column 'v': 3 values are not numbers and are treated as missing: 'in press' (2), 'ca. "
        "1999'"
    ]
    (tmp_path / "one").mkdir()
    lines = column_of([*cells, "in press"], tmp_path / "one")[2]
    assert lines == ["column 'v': 1 value is not a number and is treated as missing: 'in press'"]
    (tmp_path / "more").mkdir()
    assert column_of([*cells, *"abcd"], tmp_path / "more")[0] != "integer"


def test_a_kind_that_a_person_wants_is_strict_but_for_missing_values(tmp_path):
    assert column_of(["2001", "NA"], tmp_path, ":integer")[:2] == ("integer", [2001, None])
    (tmp_path / "strict").mkdir()
    with pytest.raises(
        CorpusError, match=r"x\.csv:3: .*'in press', which is not of the kind integer"
    ):
        column_of(["2001", "in press"], tmp_path / "strict", ":integer")
    (tmp_path / "as_it_is").mkdir()
    kind, values, _ = column_of(["NA", " SPD"], tmp_path / "as_it_is", ":string")
    assert (kind, values) == ("string", ["NA", " SPD"])


def test_categories_are_trimmed_and_those_that_differ_in_capitals_alone_are_logged(tmp_path):
    kind, values, lines = column_of([" SPD", "SPD", "spd", "CDU"] * 5, tmp_path)
    assert (kind, set(values)) == ("category", {"SPD", "spd", "CDU"})
    assert lines == [
        "column 'v': these categories differ only in upper and lower case and are kept separate: "
        "'SPD' and 'spd'"
    ]


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["2001-05-14", "2002-01-02"], ["2001-05-14", "2002-01-02"]),
        (["05/14/2001", "01/02/2002"], ["2001-05-14", "2002-01-02"]),
        (["14.05.2001", "2.1.2002"], ["2001-05-14", "2002-01-02"]),
        (["14/05/2001", "02/01/2002"], ["2001-05-14", "2002-01-02"]),
        (["2001/05/14", "2002/1/2"], ["2001-05-14", "2002-01-02"]),
        (["2001-05", "2002-01"], ["2001-05-01", "2002-01-01"]),
        (["May 2001", "Jan 2002"], ["2001-05-01", "2002-01-01"]),
        (["14 May 2001", "May 14, 2001"], ["2001-05-14", "2001-05-14"]),
        (["Mon, 14 May 2001 10:00:00 +0200"], ["2001-05-14T08:00:00"]),
        (["Wed Oct 10 20:19:24 +0000 2018"], ["2018-10-10T20:19:24"]),
        (["5/14/2001 2:30 PM"], ["2001-05-14T14:30:00"]),
    ],
)
def test_dates_are_read_in_the_notation_that_the_column_agrees_on(cells, days, tmp_path):
    assert column_of(cells, tmp_path)[:2] == ("time", days)


def test_days_and_months_that_cannot_be_told_apart_need_a_format(tmp_path):
    cells = ["05/06/2001", "07/08/2001"]
    kind, _, lines = column_of(cells, tmp_path)
    assert kind == "string"
    assert "which number is the day and which is the month ('05/06/2001')" in lines[0]
    for name, form, first in (("a", "%d/%m/%Y", "2001-06-05"), ("b", "%m/%d/%Y", "2001-05-06")):
        (tmp_path / name).mkdir()
        kind, values, _ = column_of(cells, tmp_path / name, date_format=form)
        assert (kind, values[0]) == ("time", first)
    (tmp_path / "c").mkdir()
    with pytest.raises(CorpusError, match="--date-format %d/%m/%Y or %m/%d/%Y"):
        column_of(cells, tmp_path / "c", ":time")


@pytest.mark.parametrize(
    ("number", "day"),
    [
        (20010514, "2001-05-14"),
        (989838000, "2001-05-14T11:00:00"),
        (989838000000, "2001-05-14T11:00:00"),
        (37025, "2001-05-14"),
        (37025.5, "2001-05-14T12:00:00"),
    ],
)
def test_numbers_that_stand_for_times_give_slices_of_years(number, day):
    """Red with: such numbers taken for years, which would be millions of slices."""
    moment = time_of(number)
    assert moment is not None
    assert iso(moment) == day
    slicing = slicing_of("t", "year", [number, number])
    assert slicing.names == ("2001",)


def test_a_bad_date_is_quoted_itself():
    with pytest.raises(CorpusError, match=r"'2001-02-30' is not a date"):
        slicing_of("t", "year", ["2001-01-01", "2001-02-30", "2001-03-01"])


@pytest.mark.parametrize(
    "text", [b"5 apples", b"May", b"1.2.3", b"32.01.2001", b"99/99/2001", b"May 2001 x"]
)
def test_other_texts_are_no_dates(text):
    assert named_date(text) is None
    assert numeric_date(text) is None
    assert date_by_format(text, "%Y") is None


def test_dates_of_the_fast_path_are_those_of_the_standard_library():
    for text in (b"0000-01-01", b"2001-02-29", b"2001-05-14T24:00:00", b"2001-W05-14", b""):
        assert iso_time(text) is None
    epoch = datetime(1970, 1, 1)
    for text in ("0001-01-01", "1900-02-28", "2000-02-29", "1969-12-31T23:59:59Z", "9999-12-31"):
        moment = datetime.fromisoformat(text.removesuffix("Z"))
        assert iso_time(text.encode()) == (moment - epoch) // timedelta(microseconds=1)


def test_distinct_values_are_numbered_in_the_order_of_their_first_rows():
    data = np.frombuffer(b"bab\0a long value", np.uint8)
    values, numbers = distinct(data, np.array([1, 1, 2, 0, 12]))
    assert values == [b"b", b"a", b"b\0", b"", b"a long value"]
    assert numbers.tolist() == [0, 1, 2, 3, 4]
    values, numbers = distinct(data, np.array([1, 1, 1, 0]))
    assert (values, numbers.tolist()) == ([b"b", b"a", b""], [0, 1, 0, 2])
