"""PDF: each file is a document. Read by pypdf, which is an extra."""

from __future__ import annotations

import logging
import re
from io import BytesIO

from pysgrld.corpus.formats.protocol import BadFile, Whole
from pysgrld.corpus.formats.whole import one_document
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import MissingInputError

SUFFIXES = (".pdf",)

#: A word that is divided at the end of a line.
_DIVIDED = re.compile(r"(?<=[^\W\d_])-\n(?=[a-zà-öø-ÿ])")


def sniff(head: bytes, name: str) -> bool:
    """Whether the file begins as a PDF does, or is named so."""
    return head.startswith(b"%PDF-") or name.lower().endswith(SUFFIXES)


def text(data: bytes, options: CorpusOptions) -> Whole:
    """Give the text of all pages; words that are divided at the end of a line are put together.

    Raises
    ------
    BadFile
        If it is damaged, protected by a password, or has more than ``max_line`` bytes of text.
    MissingInputError
        If pypdf is not installed.
    """
    try:
        import pypdf
    except ImportError:
        raise MissingInputError(
            "reading PDF needs pypdf: pip install 'pysgrld[documents]'"
        ) from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of every oddity of a file
    pages: list[str] = []
    size = 0
    try:
        file = pypdf.PdfReader(BytesIO(data))
        if file.is_encrypted and not file.decrypt(""):
            raise BadFile("protected by a password", "protected by a password; save it without one")
        for page in file.pages:
            pages.append(page.extract_text())
            size += len(pages[-1])
            if size > options.max_line:
                raise BadFile("line too long", f"more than {options.max_line} bytes (--max-line)")
    except (BadFile, MemoryError):
        raise
    except Exception as error:  # whatever its parsers make of damage
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadFile("damaged file", f"no PDF, or damaged ({why[:120]}); write it again") from None
    return Whole(_DIVIDED.sub("", "\n".join(pages)).encode("utf-8", "replace"))


read = one_document(text)
