"""Manual pages: they have the text of --help, and groff reads them without a warning."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pysgrld.cli import COMMANDS, main
from pysgrld.cli.man import page, paths, write

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man") / "man1"
    write(folder, "1.2")
    return folder


def plain(source):
    """Return a page's text without roff commands."""
    return source.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")


def test_every_command_has_a_page_that_begins_with_what_it_is_for(pages):
    """As apropos finds it. Red with: the phrase of sgmc itself on all; no pages of `corpus build`."""
    sources = {path.stem: plain(path.read_text()) for path in pages.iterdir()}
    lines = {
        name: re.search(r"^\.SH NAME\n(.*)$", source, re.MULTILINE)[1]
        for name, source in sources.items()
    }
    for name, phrase in COMMANDS.items():
        assert lines[f"sgmc-{name}"] == f"sgmc-{name} - {phrase.rstrip('.')}"
    assert all(line.startswith(f"{name} - ") for name, line in lines.items())
    phrases = {line.partition(" - ")[2] for line in lines.values()}
    assert {"sgmc", "sgmc-corpus-build"} <= set(lines)
    assert len(phrases) == len(lines)


def test_a_page_has_every_option_of_the_help(pages):
    """Of training all, with its models and samplers. Red with: options of the first screen alone."""
    for path in paths():
        command = main
        for word in path:
            command = command.get_command(click.Context(command), word)
        text = plain((pages / f"{'-'.join(('sgmc', *path))}.1").read_text())
        for param in command.params:
            if isinstance(param, click.Option):
                option = max(param.opts, key=len)
                assert re.search(rf"^\.B .*{option}\b", text, re.MULTILINE), (path, option)
    assert '.SH "SAMPLERS"' in (pages / "sgmc-train.1").read_text()


def test_the_first_page_has_files_and_exit_codes(pages):
    text = (pages / "sgmc.1").read_text()
    assert ".B 85\nA run stopped early, by a signal" in text
    assert ".I ./sgmc\\-runs" in text


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_groff_reads_every_page_without_a_warning(pages):
    """Red with: a line of an example that begins with a dot and is not escaped."""
    for path in sorted(pages.iterdir()):
        done = subprocess.run(
            ["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-P-cbu", str(path)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == "", path.name
        assert "NAME" in done.stdout, path.name


def test_what_would_be_an_instruction_is_text(monkeypatch):
    from pysgrld.cli.man import Roff

    formatter = Roff()
    formatter.write_text("\b\n.TH x\n'quoted' a\\b")
    assert formatter.getvalue().splitlines()[-4:] == [
        ".nf",
        "\\&.TH x",
        "\\(aqquoted\\(aq a\\eb",
        ".fi",
    ]


def test_help_prints_a_page_and_refuses_strangers():
    done = CliRunner().invoke(main, ["help", "corpus", "build", "--man"], prog_name="sgmc")
    assert done.stdout.startswith('.TH SGMC-CORPUS-BUILD 1 ""')
    assert done.stdout == page(("corpus", "build"), done.stdout.split("sgmc ")[1].split('"')[0])
    wrong = CliRunner().invoke(main, ["help", "trian", "--man"], prog_name="sgmc")
    assert wrong.exit_code == 2
    assert "unknown command 'trian'" in wrong.stderr


def test_the_build_installs_the_pages():
    """The wheel puts them where man looks in an environment; the build says what it needs for it."""
    root = Path(__file__).parents[2]
    assert "${SKBUILD_DATA_DIR}/share/man/man1" in (root / "CMakeLists.txt").read_text()
    assert '"click>=' in (root / "pyproject.toml").read_text().split("[project]")[0]


def test_they_are_written_where_numpy_is_not_installed(tmp_path):
    """As where a wheel is built. Red with: a part of the help whose folder imports NumPy."""
    code = """
import pathlib, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numpy":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from pysgrld.cli.man import write
write(pathlib.Path(sys.argv[1]), "0")
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, cwd=tmp_path)
    assert (tmp_path / "sgmc.1").exists()
