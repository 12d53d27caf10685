"""Commands in the README and docs/ work as printed, and the first ones print what is shown."""

import re
import shlex
from pathlib import Path

import pytest

from pysgrld.cli import main

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[2]
README, FIRST_SESSION = ROOT / "README.md", ROOT / "docs" / "getting-started.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]


def command(name):
    found = main.get_command(None, name)
    assert found is not None, name
    return found


def in_blocks(page):
    """Return the words of each command in a block of the page, without shell syntax."""
    text = re.sub(r"\\\n\s*", "", page.read_text())
    for line in re.findall(r"^    (?:\$ )?sgmc (?!--)(.*)", text, re.MULTILINE):
        line = re.split(r" [|>;]|&&| #|  +[a-zA-Z]|   +|[|;]", line)[0]
        if "..." not in line:
            yield shlex.split(line)


def mentioned(page):
    """Return the name and options of each command that a sentence of the page mentions."""
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


def shown(page):
    """Return the lines of output, score and topics that a page shows of training."""
    lines = page.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.strip().startswith("bible: "))
    last = max(i for i, line in enumerate(lines) if re.match(r" +\d+ +\d\.\d %", line))
    blocks = re.findall(
        r"^    (?!\$).+|^```\n[^`]*", "\n".join(lines[first - 1 : last + 1]), re.MULTILINE
    )
    output = (line.strip("` ") for block in blocks for line in block.splitlines())
    return [line for line in output if line and line != "..."]


@pytest.mark.nightly
def test_the_first_commands_print_what_is_shown(sgmc, bible):
    """Red with: a page of an older default, or of another way to find shares of topics."""
    trained = sgmc("train", "--algo", "scir", "-k", "20", bible)
    scored, topics = sgmc("eval", "--perplexity"), sgmc("topics")
    said = " ".join((trained.stderr + scored.stdout + topics.stdout).split())
    for page, least in ((README, 7), (FIRST_SESSION, 20)):
        lines = shown(page)
        assert len(lines) >= least
        assert [line for line in lines if " ".join(line.split()) not in said] == [], page


def test_the_first_commands_print_lines_as_they_are_shown(sgmc, bible):
    """Return the same commands with less training, which changes only what is learned.

    Red with: a page of an older default number of documents, of other headings or other units.
    """
    few = ("--iterations", "30", "--exact-sweeps", "8", "--set", "starts=2")
    trained = sgmc("train", "--algo", "scir", "-k", "20", bible, *few)
    scored, topics = sgmc("eval", "--perplexity"), sgmc("topics")

    said = re.sub(r"^\S+Z ", "", trained.stderr, flags=re.MULTILINE) + scored.stdout + topics.stdout
    assert shown(README)[:2] == said.splitlines()[:2]

    def form(lines):
        return {re.sub(r"[\d.,]+", "#", " ".join(line.split())) for line in lines}

    learned = re.compile(r"# # % |perplexity # ± # \(# posterior samples")
    for page in (README, FIRST_SESSION):
        forms = {line for line in form(shown(page)) if not learned.match(line)}
        assert forms <= form(said.splitlines()), page
