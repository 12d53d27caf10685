"""Formats that sgmc knows by sight and does not read yet: refused by name, never read as text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pysgrld.corpus.formats.kinds import Context, Texts
from pysgrld.corpus.stream import Stream
from pysgrld.errors import CorpusError

_SPARSE = re.compile(rb"[+-]?[0-9.]+([ \t]+[0-9]+:[0-9.eE+-]+)+[ \t\r]*(\n|$)")
_BY_CONTENT = (
    (re.compile(rb"PAR1"), "Parquet"),
    (re.compile(rb"PK\x03\x04"), "a zip archive (SciPy .npz?)"),
    (re.compile(rb"\x93NUMPY"), "a NumPy array"),
    (re.compile(rb"%%MatrixMarket"), "Matrix Market"),
    (_SPARSE, "LDA-C or SVMlight"),
    (re.compile(rb'\s*\[\s*\{\s*"'), "a JSON array (JSON lines have one object a line)"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "UTF-16 text"),
)
_BY_NAME = (
    (".csv", "CSV"),
    (".tsv", "TSV"),
    (".parquet", "Parquet"),
    (".npz", "SciPy .npz"),
    (".mtx", "Matrix Market"),
    (".mm", "Matrix Market"),
)


def _what(head: bytes, name: str) -> str | None:
    for pattern, what in _BY_CONTENT:
        if pattern.match(head):
            return what
    return next((what for suffix, what in _BY_NAME if name.lower().endswith(suffix)), None)


def sniff(head: bytes, name: str) -> bool:
    """Whether the file looks like one of these."""
    return _what(head, name) is not None


def read(stream: Stream, context: Context) -> Iterator[Texts]:
    """Refuse.

    Raises
    ------
    CorpusError
        Always.
    """
    raise CorpusError(
        f"this looks like {_what(stream.head, stream.name)}, which is not read yet; give plain "
        "text (one document a line), JSON lines, UCI bag of words or a folder written by "
        "`sgmc corpus build`",
        stream.label,
    )
