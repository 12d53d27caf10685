"""Effects of columns as people write them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pysgrld.cli import main

pytestmark = pytest.mark.cli


def test_a_year_that_is_missing_leaves_out_a_document_and_no_slope(tmp_path, monkeypatch):
    """Red with: nine tables of categories, "year: from 2000 to NA" among them."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},mice sleep winter fish{i % 5} dogs{i % 3},{2000 + i % 9}" for i in range(60)]
    (tmp_path / "na.csv").write_text("\n".join(["id,text,year", *rows, "61,mice sleep,NA"]) + "\n")
    everything = ("--min-df", "1", "--max-df", "1.0", "--stop-words", "none")
    short = ("-k", "2", "--iterations", "200", "--exact-sweeps", "0", "--out", "r")
    for command in (("train", "na.csv", *short, *everything), ("effect", "r", "~ year")):
        done = CliRunner().invoke(main, list(command), prog_name="sgmc")
        assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert [line for line in lines if line.startswith("year: from")] == [
        "year: from 2002 to 2006, topic shares in %"
    ]
    assert "ignored 1 document without a value in year" in lines
