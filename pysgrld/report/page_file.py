"""Creation of the HTML file of a page, which contains the page's numbers, scripts and styles.

The file loads nothing and runs only its own script. Format 1 of a run's page has a main JSON and
separate blocks of numbers.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pysgrld.types import Array

_HERE = Path(__file__).parent / "page"
#: Style sheets that all pages share.
STYLES = ("report.css", "media.css")
_PLACE = re.compile(r"<!--(TITLE|POLICY|DATA|LATER)-->|/\*(STYLE|SCRIPT)\*/")
#: Pattern that finds the content security policy in the head of a page.
_POLICY = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([\x20-\x7e]*?)">')
#: Pattern of the comments, empty lines and indentation that pages omit from scripts and styles.
_REMARK = re.compile(r"^ *(?://.*|/\*.*\*/)?\n|^ +", re.MULTILINE)
#: Pattern of blanks and line ends around punctuation in style sheets. Pages omit these, which is
#: safe because no string in sgmc's style sheets contains them.
_AIR = re.compile("(?<=[;:,{]) |(?<=[;{}])\n| (?=[{}])")
#: Pattern of line ends that do not end a statement in a script. Pages omit these line ends, which
#: is safe because no string in sgmc's scripts spans lines.
_JOINT = re.compile(r"(?<=[;,{(\[])\n")
#: Pattern of characters that are escaped in JSON. Some of them could end a script element or a line
#: of a script. The others are surrogates, which UTF-8 excludes.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
#: Pattern of characters that are removed from titles: control characters and surrogates.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

#: Name and version of the data format of a page.
FORMAT, VERSION = "sgmc-report", 1
#: Range of natural logarithms that are encoded in 65,535 steps, for probabilities down to 1e-9.
SPAN = 20.8
LEAST = 1e-9
#: Code of a missing value. The value is the id of a topic that is not listed, or a probability
#: below `LEAST`.
NONE = 65_535
#: Compression level of zlib for a block. Level 9 takes twice as long for 1 % fewer bytes.
LEVEL = 6
_TYPES = {"u8": "<u1", "i8": "<i1", "u16": "<u2", "u32": "<u4"}


def page(
    report: Mapping[str, Any],
    blocks: Mapping[str, bytes],
    scripts: Sequence[str],
    styles: Sequence[str] = STYLES,
    *,
    first: Collection[str] = (),
    loads: bool = False,
) -> bytes:
    """Return the HTML file of a page.

    Parameters
    ----------
    report : mapping
        Main JSON with a ``title``; it must not contain NaN or infinity.
    blocks : mapping of str to bytes
        Blocks by name, each one zlib stream.
    scripts, styles : sequence of str
        Names of source files in the folder ``page``; each may depend on earlier ones.
    first : collection of str
        Blocks that the first view needs. They are placed before the script, and the other blocks
        after it, so that a browser shows the first view before it has read the whole file.
    loads : bool
        True if the page may load files next to it.

    Returns
    -------
    bytes
        The file, UTF-8. Equal arguments give equal bytes.
    """
    style, script = (
        "".join(_REMARK.sub("", (_HERE / name).read_text(encoding="utf-8")) for name in names)
        for names in (styles, scripts)
    )
    style, script = _AIR.sub("", style), _JOINT.sub("", script)
    digests = (hashlib.sha256(text.encode()).digest() for text in (script, style))
    of_script, of_style = (base64.b64encode(digest).decode("ascii") for digest in digests)
    # With this content security policy, browsers may use this style sheet and this script, and load
    # nothing from other servers.
    policy = (
        "default-src 'none'",
        *(("connect-src 'self'",) if loads else ()),
        f"script-src 'sha256-{of_script}'",
        f"style-src 'sha256-{of_style}'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    # The data are in script elements of types that browsers do not execute.
    text = json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    data, later = [f'<script type="application/json" id="report">{text}</script>'], [""]
    for name, packed in blocks.items():
        inside = base64.b64encode(packed).decode("ascii")
        element = f'<script type="text/plain" id="b-{html.escape(name)}">{inside}</script>'
        (data if name in first else later).append(element)
    filled = {
        "TITLE": html.escape(_UNSEEN.sub("", report["title"])[:200]),
        "POLICY": f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(policy)}">',
        "STYLE": style,
        "SCRIPT": script,
        "DATA": "\n".join(data),
        "LATER": "\n".join(later),
    }
    template = (_HERE / "page.html").read_text(encoding="utf-8")
    return _PLACE.sub(lambda match: filled[match[1] or match[2]], template).encode()


def policy_of(page: bytes) -> str:
    """Return a page's content security policy, or the strictest policy if the page has none.

    Parameters
    ----------
    page : bytes

    Returns
    -------
    str
        The policy in the syntax of an HTTP header.
    """
    match = _POLICY.search(page[:4096])
    return html.unescape(match[1].decode("ascii")) if match else "default-src 'none'"


# ---- compact encodings of numbers


def log16(p: npt.ArrayLike) -> Array:
    """Encode probabilities as uint16 on a log scale in steps of 0.03 %; 65,535 means below 1e-9.

    >>> log16([1.0, 0.5, 0.0]).tolist()
    [0, 2184, 65535]
    """
    p = np.asarray(p, np.float64)
    steps = np.round(-np.log(np.maximum(p, LEAST)) * (NONE / SPAN))
    return np.where(p < LEAST, NONE, np.clip(steps, 0, NONE - 1)).astype(np.uint16)


def linear16(x: npt.ArrayLike) -> Array:
    """Encode numbers between -1 and 1 as uint16.

    >>> linear16([-1.0, 0.0, 1.0]).tolist()
    [1, 32768, 65535]
    """
    steps = np.round(np.clip(np.asarray(x, np.float64), -1, 1) * 32767)
    return (steps + 32768).astype(np.uint16)


def steps(x: npt.ArrayLike, type: Literal["u8", "u16", "i8"]) -> Array:
    """Encode fractions as unsigned integers, or values from -1 to 1 as signed integers.

    >>> steps([-0.5, 0.5, 1.0], "i8").tolist()
    [-64, 64, 127]
    """
    kind = np.dtype(_TYPES[type])
    least = -1 if kind.kind == "i" else 0
    greatest = np.iinfo(kind).max
    return np.round(np.clip(np.asarray(x, np.float64), least, 1) * greatest).astype(kind)


def finite(value: float | None, digits: int | None = None) -> float | None:
    """Return a number for JSON, rounded if `digits` is given; NaN and infinity become None."""
    if value is None or not math.isfinite(value):
        return None
    return float(value) if digits is None else round(float(value), digits)


def compact(value: Any) -> bytes:
    """Return plain values as UTF-8 JSON without blanks; lone surrogates become question marks.

    Parameters
    ----------
    value : object
        Plain values: dictionaries, lists, strings, finite numbers, booleans, None.

    Returns
    -------
    bytes
        JSON in UTF-8.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


@dataclass
class Packed:
    """Arrays packed one after another as little-endian bytes, each padded to a multiple of four.

    Attributes
    ----------
    parts : list of [str, str, int]
        Name, type and number of values of each part; for text, its number of bytes.
    """

    parts: list[list[Any]] = field(default_factory=list)
    _bytes: list[bytes] = field(default_factory=list)

    def add(self, name: str, type: str, values: npt.ArrayLike | bytes) -> Packed:
        """Append a part: an array of numbers of type u8, i8, u16 or u32, or bytes of type utf8."""
        if isinstance(values, bytes):
            length, content = len(values), values
        else:
            array = np.ascontiguousarray(np.asarray(values).ravel(), _TYPES[type])
            length, content = len(array), array.tobytes()
        self.parts.append([name, type, length])
        self._bytes.append(content + bytes(-len(content) % 4))
        return self

    def packed(self) -> bytes:
        """Return all parts compressed into a single zlib stream."""
        packer = zlib.compressobj(LEVEL)
        return b"".join([packer.compress(part) for part in self._bytes]) + packer.flush()
