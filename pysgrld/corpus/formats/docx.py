"""Word documents (.docx): each file is a document. Read by python-docx, which is an extra."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from pysgrld.corpus.formats.protocol import BadFile, Whole
from pysgrld.corpus.formats.whole import one_document
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import MissingInputError

SUFFIXES = (".docx",)

_DOCUMENT = re.compile(rb"PK\x03\x04.*\x00word/", re.S)
#: What a document is wrapped in that is protected by a password; old Word files are too.
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MOST_PARTS = 10_000


def sniff(head: bytes, name: str) -> bool:
    """Whether the file begins as a Word document does, or is named so."""
    return bool(_DOCUMENT.match(head)) or name.lower().endswith(SUFFIXES)


def text(data: bytes, options: CorpusOptions) -> Whole:
    """Give the text of a document, a line for each paragraph.

    Raises
    ------
    BadFile
        If it is damaged, protected by a password, or unpacks to more than ``max_line`` bytes.
    MissingInputError
        If python-docx is not installed.
    """
    try:
        import docx
    except ImportError:
        raise MissingInputError(
            "reading Word documents needs python-docx: pip install 'pysgrld[documents]'"
        ) from None
    if data.startswith(_COMPOUND):
        raise BadFile(
            "protected by a password",
            "protected by a password, or an old .doc; save it as .docx without one",
        )
    try:
        _check_size(data, options.max_line)
        body = docx.Document(BytesIO(data)).element.body
        return Whole("".join(_pieces(body)).encode("utf-8", "surrogatepass"))
    except (BadFile, MemoryError):
        raise
    except Exception as error:  # whatever its parsers make of damage
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadFile(
            "damaged file", f"no Word document, or damaged ({why[:120]}); save it again"
        ) from None


def _check_size(data: bytes, limit: int) -> None:
    """Refuse a bomb: what its parts say that they unpack to is the most that is read of them."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if size > limit or len(parts) > _MOST_PARTS:
        raise BadFile(
            "line too long",
            f"a document that unpacks to {size} bytes, more than {limit} (--max-line)",
        )


def _pieces(body: Any) -> Iterator[str]:
    """Yield the text of paragraphs, tables and boxes; not what was deleted, nor boxes twice."""
    from docx.oxml.ns import qn
    from lxml import etree

    fallback = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
    etree.strip_elements(body, fallback, with_tail=False)
    paragraph, run = qn("w:p"), qn("w:t")
    blank = {qn("w:tab"), qn("w:br"), qn("w:cr")}
    for element in body.iter(paragraph, run, *blank):
        if element.tag == paragraph:
            yield "\n"
        else:
            yield element.text or "" if element.tag == run else " "


read = one_document(text)
