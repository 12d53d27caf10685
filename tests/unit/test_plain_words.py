"""Plain English in docstrings, comments, messages and docs: the measured rates may only fall."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest
from parsed import without_collections

ROOT = Path(__file__).parents[2]
KINDS = ("docstring", "comment", "message", "docs")
#: Pattern, and the highest rate for 10,000 words of docstrings, comments, messages and docs.
PHRASES = {
    r"\bbeside\b": (1, 1, 1, 1),
    r"\bthose\b": (7, 7, 7, 7),
    r"\bwhat (?:is|was|are|were|it|they|there)\b": (2, 2, 2, 2),
    r"\b(?:return|give|say|raise|yield|take|show|tell) (?:wh(?:at|ere|y|ether|ich|o)|how|those)\b": (
        *(1, 1, 1, 1),
    ),
    r"\b(?:said|says?)\b": (4, 4, 4, 4),
    r"\b(?:told|tells?)\b": (2.5, 2, 3, 2),
    r"\bwhose\b": (8, 8, 8, 8),
    r"\bwhere\b": (24, 24, 24, 24),
    r"\bgo(?:es)? on\b": (1, 1, 1, 1),
    r"\bof (?:which|whom|what|whose)\b": (1, 1, 1.5, 1),
    r"\b(?:whoever|somebody|nobody|anybody)\b": (1, 1, 2, 1),  # messages: a list of stop words
    r"\bso (?:many|much|great|long)\b": (1, 1, 1, 1),
    r"\b(?:is|are) of\b|\bmade of\b": (2, 2, 2.5, 2),
    r"\balike\b|\banew\b|\bas far as\b|\bworth\b": (1, 1, 1.5, 1),
    r"\bat rest\b|come to rest|\bsettled?\b": (1, 1, 1, 1),
    r"\bhas no meaning\b": (0, 0, 0, 0),
    r"\bthere (?:is|are) no(?:ne)?\b|\bnone where\b|; none\b": (5, 2, 2.5, 2),
}
#: Names of variables that do not say what the value is, and their highest number for 1,000 bindings.
VAGUE = {
    *("found", "said", "told", "asked", "had", "given", "wanted", "kept", "known", "own", "each"),
    *("both", "more", "beside", "worth", "here", "there", "some", "others", "left", "what", "why"),
    *("at", "of", "by"),
}
MOST_VAGUE = 9.0
#: A comment: on a line of its own, or two blanks after the code.
COMMENT = re.compile(r"^\s*(#.*)$|\s\s(#.*)$", re.MULTILINE)
#: Nodes with a docstring.
NAMED = {ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef}


def pieces(source: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the texts of a module with their kinds, and the names that it binds."""
    texts, names, docstrings, nodes = [], [], set(), [ast.parse(source)]
    while nodes:  # ast.walk takes three times as long
        node = nodes.pop()
        kind = type(node)
        if kind is ast.Constant:
            if (
                type(node.value) is str
                and node.value.count(" ") >= 3
                and id(node) not in docstrings
            ):
                texts.append(("message", node.value))
            continue
        if kind is ast.Name:
            if type(node.ctx) is ast.Store:
                names.append(node.id)
            continue
        if kind is ast.arg:
            names.append(node.arg)
        elif kind in NAMED and (text := ast.get_docstring(node, clean=False)) is not None:
            docstrings.add(id(node.body[0].value))
            texts.append(("docstring", text))
        for value in node.__dict__.values():
            if type(value) is list:
                nodes += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                nodes.append(value)
    texts += [("comment", own or trailing) for own, trailing in COMMENT.findall(source)]
    return texts, names


@cache
def measured() -> tuple[dict[str, str], dict[str, int], Counter[str]]:
    """Return all texts by kind in lower case, their numbers of words, and bindings of each name."""
    texts, names = defaultdict(list), Counter()
    for folder in ("pysgrld", "cli"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "pysgrld/cli" in path.as_posix():  # a link for mypy
                continue
            with without_collections():
                found, bound = pieces(path.read_text())
            names.update(bound)
            for kind, text in found:
                texts[kind].append(text.lower())
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    texts["docs"] = [p.read_text().lower() for p in pages if p.name != "CHANGELOG.md"]
    joined = {kind: "\n".join(texts[kind]) for kind in KINDS}
    return joined, {kind: len(text.split()) for kind, text in joined.items()}, names


@pytest.mark.parametrize("pattern", PHRASES)
def test_phrases_are_no_more_frequent_than_before(pattern):
    """Red with: "Return what is beside it" in some docstrings and messages."""
    texts, lengths, _ = measured()
    rates = {
        kind: 1e4 * len(re.findall(pattern, text)) / max(1, lengths[kind])
        for kind, text in texts.items()
    }
    above = {k: r for (k, r), most in zip(rates.items(), PHRASES[pattern], strict=True) if r > most}
    assert not above, f"write the noun instead of {pattern}: {above} for 10,000 words"


def test_vague_names_are_no_more_frequent_than_before():
    """Red with: ten variables called `found`."""
    *_, names = measured()
    vague = {name: n for name, n in names.items() if name in VAGUE}
    assert 1000 * sum(vague.values()) / names.total() <= MOST_VAGUE, vague


def test_a_piece_of_each_kind_is_found():
    """Red with: docstrings counted as messages; comments at the end of a line missed."""
    source = (
        'def f(found):\n    """Say what is."""\n    at = "what is of a"  # beside\n    # said\n'
    )
    texts, names = pieces(source)
    assert sorted(texts) == [
        *(("comment", "# beside"), ("comment", "# said")),
        *(("docstring", "Say what is."), ("message", "what is of a")),
    ]
    assert sorted(names) == ["at", "found"]
