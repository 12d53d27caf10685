"""``sgmc export``: options of each format, messages, and files that are never replaced."""

import shutil
from importlib import import_module

import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.report.exports import FORMATS

pytestmark = pytest.mark.cli


def run(*args, code=0):
    said = CliRunner().invoke(main, ["export", *map(str, args)])
    assert said.exit_code == code, said.output
    return said.output


def test_the_help_has_every_format_with_a_phrase():
    """Red with: a row of the table that help does not show."""
    said = run("--help")
    for name, row in FORMATS.items():
        assert f"  {name:<12} {row.phrase}\n" in said
    assert len(said.splitlines()) <= 60


@pytest.mark.parametrize("to", FORMATS)
def test_every_format_of_a_run_is_written_and_said_in_a_line(trained, tmp_path, to):
    """Red with: a first file that is another than what is said."""
    said = run(trained.folder / "sgmc-runs" / "bible-scir", "--to", to, "-o", tmp_path / "out")
    line = said.splitlines()[-1]
    first = line.split(": ")[0]
    assert (tmp_path / "out" / first.rsplit("/", 1)[-1]).is_file()
    assert "8 topics" in line or "8 x 1,000" in line


def test_without_a_folder_it_is_one_in_the_run(trained, tmp_path):
    """Red with: "Missing option '-o'"; a run that is no run any more."""
    copied_run = tmp_path / "run"
    shutil.copytree(trained.folder / "sgmc-runs" / "bible-scir", copied_run)
    said = run(copied_run, "--to", "csv")
    assert said.splitlines()[-1].startswith(f"{copied_run}/export-csv/topics.csv: 8 topics")
    assert (copied_run / "export-csv/topics.csv").is_file()
    assert "8 topics" in run(copied_run, "--to", "csv", "--force")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--to", "excel"), "'excel' is not one of npy, safetensors, csv"),
        (
            ("--to", "arviz", "--draw", "mean"),
            "--draw mean does not apply to --to arviz; give --draw all",
        ),
        (
            ("--to", "csv", "--draw", "all"),
            "--draw all does not apply to --to csv; give --draw mean or last",
        ),
        (("--to", "npy", "--top", "5"), "--top does not apply to --to npy, which writes all words"),
        (
            ("--to", "npy", "--sparse"),
            "--sparse applies only to --to csv and parquet; leave it out",
        ),
        (("--to", "csv", "--no-align"), "--align applies only to --to arviz; leave it out"),
        (("--to", "csv", "--mallet-old"), "--mallet-old applies only to --to mallet; leave it out"),
        (("--to", "csv", "--layer", "2"), "--layer 2: the model of"),
    ],
)
def test_what_a_format_cannot_be_asked_for_is_said(
    trained, tmp_path, monkeypatch, capsys, args, said
):
    """Red with: an option that is not looked at."""
    monkeypatch.chdir(trained.folder)
    with pytest.raises(SystemExit) as ended:
        main(["export", *args, "-o", str(tmp_path / "out")])
    line = capsys.readouterr().err
    assert ended.value.code == 2
    assert said in line
    assert len(line.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("to", ["csv", "arviz", "pyldavis", "mallet"])
def test_files_that_are_there_are_never_replaced_unasked(trained, tmp_path, capsys, to):
    """Red with: files that are looked at one by one."""
    from pysgrld.reading.find_runs import open_run

    folder = trained.folder / "sgmc-runs" / "bible-scir"
    results = open_run(folder, 1)
    from pysgrld.report.exports import ExportRequest

    asked = ExportRequest(to, tmp_path, FORMATS[to].draws[0])
    last = import_module(f"pysgrld.report.exports.{FORMATS[to].module}").files(results, asked)[-1]
    (tmp_path / last).write_text("mine")
    with pytest.raises(SystemExit) as ended:
        main(["export", str(folder), "--to", to, "-o", str(tmp_path)])
    assert ended.value.code == 73
    assert f"{last}: was not written by sgmc" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [last]
    assert (tmp_path / last).read_text() == "mine"


def test_chains_of_a_folder_are_all_in_the_draws(several, tmp_path):
    said = run(several.folder / "sgmc-runs" / "bible-scir", "--to", "arviz", "-o", tmp_path)
    assert ": 3 chains of " in said
