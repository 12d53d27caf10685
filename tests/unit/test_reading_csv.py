"""Tables that are written as CSV: what goes in comes back, and nothing is a formula."""

import csv
import io

import pytest

from pysgrld.reading.proportion_files import csv_lines


def read_back(rows):
    text = b"".join(csv_lines(rows)).decode()
    return list(csv.reader(io.StringIO(text, newline="")))


def test_what_is_written_as_csv_is_no_formula():
    cells = ["=1+1", "@x", "a,b", -2, None, "\tx"]
    assert read_back([cells]) == [["'=1+1", "'@x", "a,b", "-2", "", "'\tx"]]


@pytest.mark.parametrize("code", [*range(32), 0x7F, 0x85, 0x2028, 0x2029])
def test_every_control_character_stays_in_its_cell(code):
    """Red with: a carriage return not quoted: half of the cell begins a row, unguarded."""
    sign = chr(code)
    rows = [[f"a{sign}=19", "b"], [f"a{sign}", f"{sign * 2}b"], ["c", "d"]]
    guarded = [["'" + cell if cell[0] in "\t\r" else cell for cell in row] for row in rows]
    assert read_back(rows) == guarded


def test_a_row_ends_in_a_line_feed():
    assert b"".join(csv_lines([["a", "b\r"], ["c", "d"]])) == b'a,"b\r"\nc,d\n'
