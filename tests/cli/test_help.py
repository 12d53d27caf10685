import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pysgrld.cli import COMMANDS, main
from pysgrld.models.options import OPTIONS
from pysgrld.models.table import all_models
from pysgrld.samplers import SAMPLERS

pytestmark = pytest.mark.cli


def leaves():
    """Return the words of every command that does something, including its group's name."""
    for name in COMMANDS:
        command = main.get_command(None, name)
        within = getattr(command, "commands", None)
        yield from [[name, sub] for sub in within] if within else [[name]]


LEAVES = list(leaves())


@functools.cache
def shown(*args):
    done = CliRunner().invoke(main, list(args), prog_name="sgmc", terminal_width=80)
    assert done.exit_code == 0
    return done.output


def test_help_is_what_it_was():
    assert shown("--help") == Path(__file__).with_name("help.txt").read_text()


def test_help_fits_on_a_screen():
    lines = shown("--help").splitlines()
    assert len(lines) <= 32
    assert max(map(len, lines)) <= 80


def test_help_lists_every_command():
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", shown("--help"), re.MULTILINE)


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_has_an_example_and_fits_the_width(path):
    text = shown(*path, "--help")
    assert f"sgmc {' '.join(path)}" in text.split("Example")[1]
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_option_shows_its_default(path):
    text = " ".join(shown(*path, "--help").split())
    for name in re.findall(r" (--[a-z][a-z0-9-]+)", text.split("Example")[0]):
        if name not in ("--help", "--help-all"):
            assert re.search(rf"{name}\b[^[]*\[[^]]+\]", text), name


@pytest.mark.parametrize("name", OPTIONS)
def test_all_help_of_train_has_every_option_of_the_table(name):
    text = " ".join(shown("train", "--help-all").split())
    typed = f" {name}=" if OPTIONS[name].setting else f"--{name} "
    assert re.search(rf"{typed}.*?\[{re.escape(OPTIONS[name].shown)}\]", text)


def test_help_of_train_has_the_usual_options_and_says_where_the_others_are():
    """Red with: an option of a paper's baseline marked as one of the first."""
    whole = shown("train", "--help")
    text = whole.split("Examples:")[0]
    first = {name for name, option in OPTIONS.items() if option.first}
    assert 10 <= len(first) <= 16
    assert next(line for line in text.split("Options:")[1].splitlines() if line).startswith(
        "  -k, --topics"
    )
    assert {name for name in OPTIONS if re.search(rf"--{name} ", text)} == first
    assert "--help-all" in text
    assert len(whole.splitlines()) <= 48  # two screens


def test_all_help_of_train_has_a_heading_for_each_model_with_options_of_its_own():
    text = shown("train", "--help-all")
    assert max(map(len, text.splitlines())) <= 80
    for heading in ("Deep LDA (--model dlda):", "  Mixtures (--model dpmm):"):
        assert f"\n{heading}\n" in text
    tables = text.split("\nModels:")[1]
    for row in (*all_models(), *SAMPLERS.values()):
        assert f"\n  {row.name} " in tables


def test_help_imports_no_numpy_and_no_core(tmp_path):
    code = (
        "import sys\nfrom pysgrld.cli import main\n"
        "for args in (['--help'], ['train', '--help'], ['train', '--help-all'], ['eval', '--help'],\n"
        "             ['corpus', '--help'],\n"
        "             ['bench', '--help'], ['reproduce', '--help'], ['reproduce'],\n"
        "             ['diagnose', '--help']):\n"
        "    try: main(args)\n"
        "    except SystemExit as end: assert end.code == 0\n"
        "print([m for m in sys.modules if m in ('numpy', 'tqdm', 'pysgrld.core')])"
    )
    # run elsewhere: at the root of a clone "-c" would find the sources, not the package
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_version_names_instruction_set_compiler_and_threads():
    text = shown("--version")
    for word in ("sgmc ", "instruction set", "baseline", "compiler", "threads"):
        assert word in text


def test_no_command_shows_the_help_and_is_wrong_usage():
    done = CliRunner().invoke(main, [], prog_name="sgmc")
    assert done.exit_code == 2
    assert "Commands:" in done.stderr
    assert done.stdout == ""


def test_a_misspelt_command_is_answered_with_the_nearest():
    done = CliRunner().invoke(main, ["topic"], prog_name="sgmc")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "did you mean 'topics'" in done.stderr
