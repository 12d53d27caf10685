"""The file that a report is put into: filled in one pass, under a policy; and the sources of its page."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from pysgrld.report.html import SCRIPTS, STYLES, page

FOLDER = Path(page.__code__.co_filename).parent / "page"
HOSTILE = "</script><!--DATA-->/*SCRIPT*/<!--POLICY-->\u2028\ud800 & <b>"
REPORT = {"title": HOSTILE, "run": HOSTILE, "blocks": {}}


def between(text: str, begin: str, end: str) -> str:
    return text.split(begin, 1)[1].split(end, 1)[0]


def test_values_are_not_looked_at_again():
    """Placeholders and tags in a title are text, in the head and in the data, which comes back."""
    text = page(REPORT, {"b": zlib.compress(b"1")}).decode()
    assert text.count("</script>") == 3
    assert text.count("Content-Security-Policy") == 1
    assert "&lt;/script&gt;&lt;!--DATA--&gt;" in between(text, "<title>", "</title>")
    inside = between(text, '<script type="application/json" id="report">', "</script>")
    assert not re.search("[<>&\u2028]", inside)
    assert json.loads(inside) == REPORT
    assert zlib.decompress(base64.b64decode(between(text, 'id="b-b">', "</script>"))) == b"1"


def test_the_policy_is_of_what_stands_there():
    text = page(REPORT, {}).decode()
    policy = between(text, 'Content-Security-Policy" content="', '"')
    for kind, part in (
        ("script", between(text, "<script>", "</script>")),
        ("style", between(text, "<style>", "</style>")),
    ):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_same_bytes_twice():
    assert page(REPORT, {"a": b"x"}) == page(REPORT, {"a": b"x"})


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        page({**REPORT, "x": float("nan")}, {})


FORBIDDEN = (
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\bFunction\(|new Function"
    r"|setTimeout\(\s*[\"'`]|\.on[a-z]+ ?=|https?://(?!www\.w3\.org/)|\bfetch\(|XMLHttpRequest"
    r"|import\(|\.style\.[a-z]\w* ?="
    r"|setAttribute\(\"(on|style)|DOMParser|createContextualFragment"
)  # fmt: skip


@pytest.mark.parametrize(
    "name", [str(path.relative_to(FOLDER)) for path in sorted(FOLDER.rglob("*.js"))]
)
def test_scripts_have_no_way_from_text_to_markup_or_code(name):
    text = (FOLDER / name).read_text()
    assert re.findall(FORBIDDEN, text) == []
    made = text.count("createElement")
    assert made == (name == "core.js"), "elements are made by h() alone"
    if node := shutil.which("node"):
        subprocess.run([node, "--check", str(FOLDER / name)], check=True)


def test_the_page_is_small_and_its_remarks_are_lines():
    """At most 120 kB of style and script, without what only readers of the sources need."""
    text = page(REPORT, {}).decode()
    assert (
        len(
            (between(text, "<style>", "</style>") + between(text, "<script>", "</script>")).encode()
        )
        <= 120_000
    )
    for name in (*SCRIPTS, *STYLES):
        for line in (FOLDER / name).read_text().splitlines():
            assert not line.lstrip().startswith("/*") or line.endswith("*/"), line
