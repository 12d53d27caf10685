"""Documents in slices of time: what slices a column makes, and which one a document is in."""

import numpy as np
import pytest

from pysgrld.corpus.slices import slices_of, slicing_of
from pysgrld.errors import CorpusError, UsageError
from pysgrld.options.time import MOST_SLICES
from pysgrld.types import Documents


def places(slicing, values):
    return slices_of(slicing, values, str).tolist()


def test_numbers_make_years():
    """Years without a document are slices too: the walk goes through them."""
    found = slicing_of("year", "year", [1990, 1993, 1990, 1991])
    assert found.names == ("1990", "1991", "1992", "1993")
    assert places(found, [1990, 1993, 1992, 1991.5]) == [0, 3, 2, 1]


@pytest.mark.parametrize(
    ("by", "names", "begins"),
    [
        ("year", ("2019", "2020"), ("2019-01-01", "2020-01-01")),
        ("month", ("2019-12", "2020-01", "2020-02"), ("2019-12-01", "2020-01-01", "2020-02-01")),
        ("decade", ("2010s", "2020s"), ("2010-01-01", "2020-01-01")),
    ],
)
def test_dates_make_years_months_and_decades(by, names, begins):
    found = slicing_of("date", by, ["2019-12-31", "2020-01-01T00:00:00", "2020-02-29"])
    assert (found.names, found.begins) == (names, begins)
    last = len(names) - 1
    assert places(found, ["2019-12-31T23:59:59", "2020-02"]) == [0, last]


def test_numbers_make_decades():
    found = slicing_of("year", "decade", [1987, 2001])
    assert found.names == ("1980s", "1990s", "2000s")
    assert places(found, [1989, 1990, "2000"]) == [0, 1, 2]


def test_texts_that_are_numbers_or_dates_are_taken_as_such():
    assert slicing_of("y", "year", ["1990", "1991"]).names == ("1990", "1991")
    assert slicing_of("y", "month", ["1990-03", "1990-04-02"]).names == ("1990-03", "1990-04")


def test_so_many_slices_have_about_as_many_documents_each():
    """Documents of one value stay together."""
    found = slicing_of("y", 3, [1, 1, 1, 1, 2, 3, 4, 5, 9])
    assert found.names == ("1", "2 to 3", "4 to 9")
    assert slicing_of("y", 4, [1, 2, 3, 9, 9, 9, 9]).names == ("1", "2", "3", "9")
    dates = slicing_of("d", 2, ["2001-01-01", "2001-05-01", "2002-01-01", "2003-01-01"])
    assert dates.names == ("2001-01-01 to 2001-05-01", "2002-01-01 to 2003-01-01")


def test_slices_are_called_by_days_unless_two_begin_on_the_same_one():
    """Where they begin is kept to the second all the same."""
    days = slicing_of("d", 2, ["2001-01-01T08:00:00", "2001-02-01T09:30:00", "2001-03-01T10:00:00"])
    assert days.names == ("2001-01-01 to 2001-02-01", "2001-03-01")
    assert days.begins[1] == "2001-03-01T10:00:00"
    hours = slicing_of("d", 2, ["2001-01-01T08:00:00", "2001-01-01T09:30:00"])
    assert hours.names == ("2001-01-01T08:00:00", "2001-01-01T09:30:00")


def test_what_comes_before_the_first_or_after_the_last_slice_is_in_these():
    found = slicing_of("year", "year", [1990, 1992])
    assert places(found, [1980, 2030]) == [0, 2]


def test_a_document_without_a_value_is_named():
    found = slicing_of("year", "year", [1990, None, 1991])
    with pytest.raises(
        CorpusError,
        match=r"slice of 2 documents is unknown.*'year' has no number there .first: d1, with no",
    ):
        slices_of(found, [1990, None, "soon"], lambda i: f"d{i}")


@pytest.mark.parametrize(
    ("by", "values", "error", "said"),
    [
        (
            "year",
            ["left", "right"],
            CorpusError,
            "'left' are neither numbers nor dates.*--date-format",
        ),
        ("year", [None], CorpusError, "no document has a value"),
        ("month", [1990, 1991], UsageError, "months need dates"),
        ("year", [1, MOST_SLICES + 1], UsageError, "but the maximum"),
        (5, [1, 2, 3], UsageError, "only 3 different values; give 3 or fewer"),
    ],
)
def test_refused(by, values, error, said):
    if said == "but the maximum":  # a slice less is fine
        assert len(slicing_of("y", by, [1, MOST_SLICES]).names) == MOST_SLICES
    with pytest.raises(error, match=said):
        slicing_of("y", by, values)


def test_an_entry_reads_the_row_of_its_word_in_the_slice_of_its_document():
    indptr, words = np.array([0, 2, 2, 3]), np.array([0, 4, 4], np.int32)
    documents = Documents(indptr, words, np.ones(3, np.int32), np.array([2, 0, 1], np.int32), 3)
    assert documents.rows.tolist() == [2, 14, 13]
    assert documents.take(np.array([2, 0])).rows.tolist() == [13, 2, 14]
    assert Documents(indptr, words, np.ones(3, np.int32)).rows is words
