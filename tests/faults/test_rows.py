"""The table of faults and its tests agree."""

import ast
from pathlib import Path

import pytest
from faults.rows import ROWS

HERE = Path(__file__).parent


def marked():
    """Return the numbers of all rows named by tests in this folder."""
    found = set()
    for path in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "row":
                found |= {n.value for n in node.args if isinstance(n, ast.Constant)}
    return found


@pytest.mark.row(0)
def test_every_row_that_a_test_names_is_in_the_table():
    assert marked() - {0} <= set(ROWS)


@pytest.mark.row(0)
def test_every_row_that_is_due_has_a_test():
    assert {number for number, row in ROWS.items() if not row.later} <= marked()
