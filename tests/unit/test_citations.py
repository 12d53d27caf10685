"""What files of the repository cite can be looked up: pages of docs/, their headings, and files."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("pysgrld", "cli", "cpp", "tests", "benchmarks", "docs", "data")
SUFFIXES = (".py", ".pyi", ".pyx", ".cpp", ".hpp", ".md", ".toml")
#: A page, and the headings that are cited: docs/internals/mathematics.md, "SCIR" and "Joint laws".
PAGE = re.compile(r'docs/((?:internals/)?[\w.-]+?\.md)((?:,? (?:and )?"[^"\n]+")*)')
#: A section of a document that is no page of ours: a letter, a point, a number.
SECTION = re.compile(r"(?<![Aa]ppendix )\b[A-J]\.\d+\b")
LINK = re.compile(r"\]\(([^)\s:]*)\)")
#: A file of the repository; NAME stands for any name.
NAMED_FILE = re.compile(
    r"(?<![\w/.-])((?:pysgrld|cli|cpp|tests|benchmarks)/(?!\S*NAME)[\w./-]+\.[ch]?p[py]p?)\b"
)
#: A module, or what it holds.
DOTTED = re.compile(r"`(pysgrld(?:\.\w+)+)")


def sources() -> list[Path]:
    """Files that people write, this one left out: its examples cite what is not there."""
    found = [path for path in ROOT.glob("*") if path.suffix in SUFFIXES]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    return sorted(path for path in found if path != Path(__file__))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def joined(path: Path) -> str:
    """The text with its comments' lines put together: a citation may be broken anywhere."""
    return re.sub(r"\s*\n\s*(?://+ ?|#:? ?)?", " ", path.read_text("utf-8"))


@cache
def headings(page: Path) -> dict[str, str]:
    """Headings by their anchors, as GitHub makes them; code blocks have none."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = [match.strip() for match in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-"): h for h in found}


def wrong_citations(text: str) -> list[str]:
    """Pages and headings that a text cites and that are not there.

    A heading is cited without what stands in brackets at its end.
    """
    wrong = []
    for page, cited in PAGE.findall(text):
        path = ROOT / "docs" / page
        if not path.exists():
            wrong.append(f"docs/{page}")
            continue
        there = {re.sub(r" \([^)]*\)$", "", heading) for heading in headings(path).values()}
        wrong += [f"docs/{page}, {h!r}" for h in re.findall('"([^"]+)"', cited) if h not in there]
    return wrong


def wrong_links(page: Path) -> list[str]:
    """Links to pages or headings that are not there, of those within the repository.

    Pictures are no part of a source distribution.
    """
    wrong = []
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", page.read_text("utf-8"))):
        target, _, anchor = link.partition("#")
        path = page.parent / target if target else page
        if path.suffix == ".png":
            continue
        if not path.exists() or (anchor and anchor not in headings(path)):
            wrong.append(link)
    return wrong


@cache
def imported(dotted: str) -> bool:
    """Whether a name like pysgrld.models.lda.collapsed or pysgrld.LDA leads to something."""
    try:
        resolve_name(dotted)
    except (ImportError, AttributeError):
        return False
    return True


def test_cited_pages_and_headings_are_there():
    """Red with: docs/development.md in math.hpp; a heading of docs/internals/mathematics.md renamed."""
    wrong = {name(path): wrong_citations(joined(path)) for path in sources()}
    assert not {path: found for path, found in wrong.items() if found}


def test_no_section_is_cited_of_a_document_that_is_not_here():
    """Red with: "(B.7)" for docs/internals/mathematics.md, "What reflection costs"."""
    wrong = {name(path): SECTION.findall(path.read_text("utf-8")) for path in sources()}
    assert not {path: found for path, found in wrong.items() if found}


def test_links_of_pages_lead_somewhere():
    """Red with: a page that was renamed; an anchor without its heading."""
    wrong = {name(path): wrong_links(path) for path in sources() if path.suffix == ".md"}
    assert not {path: found for path, found in wrong.items() if found}


def test_named_files_are_there():
    """Red with: the test of deep LDA that was split; a module as it was called before it was moved."""
    wrong = {
        name(path): [f for f in NAMED_FILE.findall(joined(path)) if not (ROOT / f).exists()]
        for path in sources()
        if path.name != "CHANGELOG.md"  # which tells of what was
    }
    assert not {path: found for path, found in wrong.items() if found}


def test_named_modules_and_what_they_hold_are_there():
    """Red with: a module as it was called before it was moved."""
    wrong = {
        name(path): [dotted for dotted in DOTTED.findall(joined(path)) if not imported(dotted)]
        for path in sources()
    }
    assert not {path: found for path, found in wrong.items() if found}


def test_tests_that_the_page_of_testing_names_are_there():
    """Red with: `test_citation` for `test_citations` in docs/internals/testing.md."""
    named = set(
        re.findall(r"`(test_\w+)`", (ROOT / "docs/internals/testing.md").read_text("utf-8"))
    )
    assert named
    assert not named - {path.stem for path in (ROOT / "tests").rglob("test_*.py")}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('docs/internals/mathematics.md, "Nine tokens" and "Joint laws".', 0),
        ('(docs/internals/design.md, "Lazy rows")', 0),
        ('docs/internals/mathematics.md, "Nine tokens" and "Ten tokens".', 1),
        ("docs/specification.md has it", 1),
    ],
)
def test_a_citation_is_read_as_it_is_written(text, wrong):
    """Red with: the first of two headings alone."""
    assert len(wrong_citations(text)) == wrong
