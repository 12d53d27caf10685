"""The R package in packaging/r: its example tables have the exported columns."""

import csv
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "packaging" / "r"


def header(path):
    with path.open(newline="") as file:
        return next(csv.reader(file))


def test_the_example_tables_have_the_columns_of_an_export(exported):
    """Red with: a column that exports gain, lose or rename."""
    folder = exported("lda", "csv")
    for name in ("topics.csv", "topic-words.csv"):
        assert header(FOLDER / "inst/extdata" / name) == header(folder / name)


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("R") is None, reason="R is not installed")
def test_the_package_passes_its_check(tmp_path):
    """Red with: an undocumented argument, an example that fails, a note of R CMD check."""
    for command in (
        ["build", "--no-build-vignettes", str(FOLDER)],
        ["check", "--no-manual", "--ignore-vignettes", "sgmc_1.0.0.tar.gz"],
    ):
        done = subprocess.run(
            ["R", "CMD", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout
