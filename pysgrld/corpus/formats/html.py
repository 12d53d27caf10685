"""Pages of the web: known by sight and refused, before one is taken for XML or for text with tags."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pysgrld.corpus.formats.protocol import Context, Texts
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError

_NAMES = (".html", ".htm", ".xhtml")
_PAGE = re.compile(
    rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!DOCTYPE\s+html|html|head|body|title|meta)[\s/>]",
    re.I | re.S,
)


def sniff(head: bytes, name: str) -> bool:
    """Whether the file begins as a page, or is named so."""
    return bool(_PAGE.match(head)) or name.lower().endswith(_NAMES)


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Refuse the file, saying what to do.

    Raises
    ------
    CorpusError
        Always.
    """
    raise CorpusError(
        "this is an HTML page, which is not read; take the text out (html2text, or pandoc -t plain), "
        "and give a document a line or a folder of .txt files",
        source.label,
    )
