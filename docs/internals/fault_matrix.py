"""Writes the list of faults.md from the results of tests.

    pytest tests/faults --fault-record record.json
    python docs/internals/fault_matrix.py record.json

Several records (of continuous integration, of a night) are added up.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from faults.rows import ROWS  # noqa: E402

BEGIN, END = "<!-- table -->", "<!-- end of table -->"


def line(number: int, tests: list[dict]) -> str:
    """Write one row: the fault, its outcome and the trials; the result if it is not "holds"."""
    row = ROWS[number]
    run = [test for test in tests if test["outcome"] != "skipped"]
    failed = sum(test["outcome"] != "passed" for test in run)
    if row.later:
        result = row.later
    elif not tests:
        result = "not in this record"
    elif not run:
        result = "skipped: " + "; ".join(sorted({test["reason"] for test in tests}))
    else:
        result = f"**{failed} failed**" if failed else ""
        if skipped := len(tests) - len(run):
            result += f"{', ' * bool(result)}{skipped} skipped"
    trials = sum(test["trials"] for test in run)
    figures = ", ".join([f"{trials:,}"] * bool(run) + [result] * bool(result))
    return f"{number}. **{row.fault}**: {row.expected} ({figures})"


def table(records: list[dict]) -> str:
    """Write the list, with the dates and the number of tests."""
    tests = [test for record in records for test in record["tests"]]
    by_row = {n: [test for test in tests if n in test["rows"]] for n in ROWS}
    held = sum(bool(re.search(r"\([\d,]+\)$", line(n, by_row[n]))) for n in ROWS)
    dates = " and ".join(sorted({record["date"] for record in records}))
    return "\n".join(
        [
            f"Of {dates}: {len(tests)} tests, {sum(t['trials'] for t in tests):,} trials; "
            f"{held} of {len(ROWS)} rows hold.",
            "",
            *(line(number, by_row[number]) for number in ROWS),
        ]
    )


def main(paths: list[str]) -> None:
    """Put the table of some records into the page."""
    if not paths:
        sys.exit(__doc__)
    page = HERE / "faults.md"
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    new = table([json.loads(Path(path).read_text()) for path in paths])
    page.write_text(f"{before}{BEGIN}\n{new}\n{END}{after}")


if __name__ == "__main__":
    main(sys.argv[1:])
