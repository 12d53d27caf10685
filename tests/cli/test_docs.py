"""Commands in the README and in docs/ can be typed as they stand: sgmc knows their options."""

import re
import shlex
from pathlib import Path

import pytest

from pysgrld.cli import main

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def command(name):
    found = main.get_command(None, name)
    assert found is not None, name
    return found


def in_blocks(page):
    """Give the words of each command in a block of the page, without what the shell does with it."""
    text = re.sub(r"\\\n\s*", "", page.read_text())
    for line in re.findall(r"^    (?:\$ )?sgmc (?!--)(.*)", text, re.MULTILINE):
        line = re.split(r" [|>;]|&&| #|  +[a-zA-Z]|   +|[|;]", line)[0]
        if "..." not in line:
            yield shlex.split(line)


def mentioned(page):
    """Give the name and the options of each command that a sentence of the page mentions."""
    for line in re.findall(r"`sgmc ([a-z][^`]*)`", page.read_text()):
        name, *words = line.split()
        yield name, {w.split("=")[0] for w in words if re.match(r"--?[a-zA-Z]", w)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_can_be_typed_as_they_stand(page):
    """Red with: an option that was renamed; a command that is not there yet."""
    for name, *args in in_blocks(page):
        with main.make_context("sgmc", [name], resilient_parsing=True) as above:
            command(name).make_context(name, args, parent=above)
    for name, options in mentioned(page):
        found = command(name)
        commands = getattr(found, "commands", {"": found}).values()
        known = {o for each in commands for p in each.params for o in [*p.opts, *p.secondary_opts]}
        assert options <= known | {"--help", "--"}, name


def test_there_are_commands_to_be_typed():
    assert sum(len(list(in_blocks(page))) for page in PAGES) > 50
    assert sum(len(list(mentioned(page))) for page in PAGES) > 50
