"""The file of a page: filled in one pass, under a policy; its sources; and numbers that are read back."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

from pysgrld.report.making import page_of
from pysgrld.report.page_file import STYLES, Packed, compact, linear16, log16, page, steps

FOLDER = Path(page.__code__.co_filename).parent / "page"
HOSTILE = "</script><!--DATA-->/*SCRIPT*/<!--POLICY-->\u2028\ud800 & <b>"
SCRIPTS = [str(path.relative_to(FOLDER)) for path in sorted(FOLDER.rglob("*.js"))]
REPORT = {"title": HOSTILE, "run": HOSTILE, "blocks": {}}


def between(text: str, begin: str, end: str) -> str:
    return text.split(begin, 1)[1].split(end, 1)[0]


def test_values_are_not_looked_at_again():
    """Placeholders and tags in a title are text, in the head and in the data, which comes back."""
    text = page_of(REPORT, {"b": zlib.compress(b"1")}).decode()
    assert text.count("</script>") == 3
    assert text.count("Content-Security-Policy") == 1
    assert "&lt;/script&gt;&lt;!--DATA--&gt;" in between(text, "<title>", "</title>")
    inside = between(text, '<script type="application/json" id="report">', "</script>")
    assert not re.search("[<>&\u2028]", inside)
    assert json.loads(inside) == REPORT
    assert zlib.decompress(base64.b64decode(between(text, 'id="b-b">', "</script>"))) == b"1"


def test_the_policy_is_of_what_stands_there():
    text = page_of(REPORT, {}).decode()
    policy = between(text, 'Content-Security-Policy" content="', '"')
    for kind, part in (
        ("script", between(text, "<script>", "</script>")),
        ("style", between(text, "<style>", "</style>")),
    ):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_blocks_of_the_first_view_stand_before_the_script_and_others_after_it():
    """Red with: a browser that reads all texts of a page before it shows anything."""
    text = page_of(REPORT | {"best": 1}, {"docs": b"x", "dots": b"x", "group-1": b"x"}).decode()
    order = re.findall(r'<script(?: [^>]*id="([^"]*)")?>', text)
    assert order == ["report", "b-dots", "b-group-1", "", "b-docs"]


def test_the_same_bytes_twice():
    assert page_of(REPORT, {"a": b"x"}) == page_of(REPORT, {"a": b"x"})


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        page_of({**REPORT, "x": float("nan")}, {})


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
    loads = ["fetch("] if name == "folder.js" else []  # which a page of one file has not
    assert [found[0] for found in re.finditer(FORBIDDEN, text)] == loads
    made = text.count("createElement")
    assert made == (name == "core.js"), "elements are made by h() alone"


@pytest.mark.skipif(not shutil.which("node"), reason="no node here")
def test_scripts_are_javascript():
    """Red with: a bracket that is not closed."""
    code = (
        "for (const path of process.argv.slice(1))"
        " new (require('vm').Script)(require('fs').readFileSync(path, 'utf8'), path)"
    )
    subprocess.run(["node", "-e", code, *(str(FOLDER / name) for name in SCRIPTS)], check=True)


def test_the_page_is_small_and_its_remarks_are_lines():
    """At most 154 kB of style and script, without what only readers of the sources need."""
    text = page_of(REPORT, {}).decode()
    assert (
        len(
            (between(text, "<style>", "</style>") + between(text, "<script>", "</script>")).encode()
        )
        <= 154_000
    )
    for name in (*SCRIPTS, *STYLES):
        for line in (FOLDER / name).read_text().splitlines():
            assert not line.lstrip().startswith("/*") or line.endswith("*/"), line
            assert not re.search(r"\S.*\s//\s", line), (
                "a remark behind code would hide what follows"
            )
            assert line.count("`") % 2 == 0, "a text over lines would lose its line ends"


# ---- numbers as few bytes


def test_probabilities_are_kept_to_a_fifth_of_a_thousandth():
    """Red with: another span; the greatest value rounded beyond the end."""
    p = np.exp(-np.random.default_rng(0).uniform(0, 20.7, 10_000))
    u = log16(np.concatenate([p, [1.0, 0.0, 1e-10]]))
    back = np.where(u == 65535, 0.0, np.exp(-u.astype(float) / 65535 * 20.8))
    np.testing.assert_allclose(back[:-3], p, rtol=1.6e-4)
    assert back[-3:].tolist() == [1.0, 0.0, 0.0]


def test_other_numbers_are_as_exact_as_their_steps():
    x = np.random.default_rng(1).uniform(-1, 1, 1000)
    np.testing.assert_allclose((linear16(x).astype(float) - 32768) / 32767, x, atol=1.6e-5)
    np.testing.assert_allclose(steps(x, "i8") / 127, x, atol=4e-3)
    s = np.abs(x)
    np.testing.assert_allclose(steps(s, "u16") / 65535, s, atol=8e-6)
    np.testing.assert_allclose(steps(s, "u8") / 255, s, atol=2e-3)
    assert steps([2.0, -1.0], "u8").tolist() == [255, 0]


def test_a_block_is_read_back_part_by_part():
    """Red with: parts that are not padded to four bytes."""
    block = Packed().add("n", "u8", [1, 2, 3]).add("text", "utf8", "é\nb".encode())
    block.add("x", "u32", [[7], [2**32 - 1]]).add("r", "i8", [-127])
    assert block.parts == [["n", "u8", 3], ["text", "utf8", 4], ["x", "u32", 2], ["r", "i8", 1]]
    data = zlib.decompress(block.packed())
    assert data[:3] == b"\1\2\3"
    assert data[4:8].decode() == "é\nb"
    assert np.frombuffer(data[8:16], "<u4").tolist() == [7, 2**32 - 1]
    assert np.frombuffer(data[16:17], "i1").tolist() == [-127]
    assert len(data) == 20
    assert block.packed() == block.packed()


def test_halves_of_surrogates_do_not_stop_a_page():
    assert compact(["\ud800", "é"]) == '["?","é"]'.encode()
