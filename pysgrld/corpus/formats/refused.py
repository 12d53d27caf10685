"""Files that sgmc knows by sight and does not read: refused by name, never taken for text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pysgrld.corpus.formats.protocol import Context, Texts
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError

_TAR = 257  # where a tar archive says that it is one
_BY_CONTENT = (
    *(
        (re.compile(rb"PK\x03\x04" + entry, re.S), what, advice)
        for entry, what, advice in (
            (rb".*\x00xl/", "an Excel workbook (.xlsx)", "save the sheet as CSV UTF-8"),
            (rb".*\x00ppt/", "a PowerPoint file (.pptx)", "save its text as plain text"),
            (
                rb".{26}mimetypeapplication/vnd\.oasis\.opendocument\.text",
                "an OpenDocument text (.odt)",
                "save it as plain text (.txt, UTF-8)",
            ),
            (
                rb".{26}mimetypeapplication/vnd\.oasis\.opendocument\.spreadsheet",
                "an OpenDocument spreadsheet (.ods)",
                "save the sheet as CSV in UTF-8",
            ),
            (
                rb".{26}mimetypeapplication/epub",
                "a book (.epub)",
                "take the text out (pandoc -t plain)",
            ),
            (rb"", "a zip archive", "unpack it and name the files"),
        )
    ),
    (
        re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        "an old Word or Excel file (.doc, .xls)",
        "save it as plain text or as CSV, in UTF-8",
    ),
    (re.compile(rb"\{\\rtf"), "rich text (.rtf)", "save it as plain text (.txt, UTF-8)"),
    (re.compile(rb".{%d}ustar" % _TAR, re.S), "a tar archive", "unpack it and name the files"),
    (
        re.compile(rb"\x93NUMPY"),
        "a dense NumPy array",
        "save the counts with scipy.sparse.save_npz(FILE, scipy.sparse.csr_matrix(X))",
    ),
    (
        re.compile(rb"\x80[\x02-\x05]"),
        "a Python pickle",
        "one is never loaded because it can run code: save counts with scipy.sparse.save_npz, or "
        "text as JSON lines",
    ),
    (
        re.compile(rb"\xff\xfe|\xfe\xff"),
        "UTF-16 text",
        "give --encoding utf-16, or convert it to UTF-8",
    ),
    (re.compile(rb"\x89HDF\r\n"), "an HDF5 file", "save counts with scipy.sparse.save_npz"),
)


def _what(head: bytes) -> tuple[str, str] | None:
    found = (row for row in _BY_CONTENT if row[0].match(head))
    return next(((what, advice) for _, what, advice in found), None)


def sniff(head: bytes, name: str) -> bool:
    """Whether the file looks like one of those that are known and not read."""
    return _what(head) is not None


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Refuse the file, saying what it is and what to do.

    Raises
    ------
    CorpusError
        Always.
    """
    what, advice = _what(source.head) or ("something else", "convert it to plain text")
    raise CorpusError(f"this is {what}, which is not read; {advice}", source.label)
