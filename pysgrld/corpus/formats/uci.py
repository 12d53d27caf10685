"""UCI bag of words: three numbers D, W, NNZ, then lines "document word count", ids from 1."""

from __future__ import annotations

import re
from itertools import chain

from pysgrld.corpus._sparse import COUNT
from pysgrld.corpus.formats.entries import header_of, read_entries
from pysgrld.corpus.formats.protocol import Context, CountedDocuments
from pysgrld.corpus.formats.rows import Grouping
from pysgrld.corpus.formats.vocabulary_files import find_words, refuse_line
from pysgrld.corpus.lines import Lines

#: Begins the name of a file: docword.NAME.txt.
PREFIX = "docword."

_HEADER = re.compile(rb"(?:[ \t]*[+-]?[0-9]+[ \t\r]*\n){3}(?:\s*$|[ \t]*[+-]?[0-9][^:\n]*(?:\n|$))")
_FORM = "a UCI file begins with three lines D, W, NNZ"


def sniff(head: bytes, name: str) -> bool:
    """Whether three lines of one number and then numbers begin the file, or its name is UCI's."""
    return bool(_HEADER.match(head)) or name.startswith(PREFIX)


def read(source: Lines, context: Context) -> CountedDocuments:
    """Read the header, find the words, and leave the entries to be iterated."""
    lines = source.lines(refuse_line)
    head = b""
    while head.count(b"\n") < 3 and (more := next(lines, b"")):
        head += more
    first, second, third, rest = (head.split(b"\n", 3) + [b""] * 4)[:4]
    fields = [field.strip() for field in (first, second, third)]
    header = header_of(fields, (1, 2, 3), 4, source.label, _FORM)
    vocabulary, origin = find_words(source, context, header.words, header.documents, line=2)
    grouping = Grouping(source.label, context, header.documents, header.words, line=1)
    entries = read_entries(source.label, header, COUNT, True, chain([rest], lines))
    return CountedDocuments(vocabulary, origin, grouping.blocks(entries), numbered=True)
