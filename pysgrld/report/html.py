"""The page of a report: one HTML file, filled in one pass, that loads nothing and runs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent / "page"
#: Styles and scripts of the page of a run, in the order in which they build on each other.
SCRIPTS = (
    *("core.js", "data.js", "pieces.js", "lists.js"),
    *(f"charts/{name}.js" for name in ("figure", "marks", "lines", "map", "field")),
    *(
        f"views/{name}.js"
        for name in ("overview", "topics", "components", "layers", "map", "words")
    ),
    *(f"views/{name}.js" for name in ("documents", "groups", "agreement", "method")),
    "app.js",
)
STYLES = ("report.css", "media.css")
_PLACE = re.compile(r"<!--(TITLE|POLICY|DATA)-->|/\*(STYLE|SCRIPT)\*/")
#: Lines and blanks of a script or style that are for its readers: they stay in the sources.
_REMARK = re.compile(r"^ *(?://.*|/\*.*\*/)?\n|^ +", re.MULTILINE)
#: Blanks and line ends beside the punctuation of a style; no string in ours has any there.
_AIR = re.compile("(?<=[;:,{]) |(?<=[;{}])\n| (?=[{}])")
#: What could end a script or a line in it, and halves of surrogate pairs, which UTF-8 does not have.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def page(
    report: Mapping[str, Any],
    blocks: Mapping[str, bytes],
    styles: Sequence[str] = STYLES,
    scripts: Sequence[str] = SCRIPTS,
) -> bytes:
    """Give the HTML file of a report.

    Parameters
    ----------
    report : mapping
        Main JSON of the format "sgmc-report"; without NaN and infinities.
    blocks : mapping of str to bytes
        Blocks by name, each one zlib stream.
    styles, scripts : sequence of str
        Sources of another page than that of a run.

    Returns
    -------
    bytes
        The file, UTF-8. Equal arguments give equal bytes.
    """
    style, script = ("".join(map(_source, names)) for names in (styles, scripts))
    style = _AIR.sub("", style)
    filled = {
        "TITLE": html.escape(_visible(report["title"])),
        "POLICY": _policy(style, script),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": _data(report, blocks),
    }
    template = (_HERE / "page.html").read_text(encoding="utf-8")
    return _PLACE.sub(lambda found: filled[found[1] or found[2]], template).encode()


def _source(name: str) -> str:
    return _REMARK.sub("", (_HERE / name).read_text(encoding="utf-8"))


def _data(report: Mapping[str, Any], blocks: Mapping[str, bytes]) -> str:
    """Give elements that hold the main JSON and the blocks: no browser runs them."""
    text = json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    lines = [f'<script type="application/json" id="report">{text}</script>']
    for name, packed in blocks.items():
        inside = base64.b64encode(packed).decode("ascii")
        lines.append(f'<script type="text/plain" id="b-{html.escape(name)}">{inside}</script>')
    return "\n".join(lines)


def _policy(style: str, script: str) -> str:
    """Give the content policy: this style and this script, no other, and nothing from anywhere."""
    rules = (
        "default-src 'none'",
        f"script-src '{_digest(script)}'",
        f"style-src '{_digest(style)}'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _visible(title: str) -> str:
    """Leave out what no title has: control signs and halves of surrogate pairs."""
    return re.sub("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", "", title)[:200]
