"""UCI bag of words: three numbers D, W, NNZ, then lines "document word count", ids from 1."""

from __future__ import annotations

import re
from itertools import chain

from pysgrld.corpus._sparse import COUNT
from pysgrld.corpus.formats.entries import header_of, parsed
from pysgrld.corpus.formats.kinds import Context, Counts
from pysgrld.corpus.formats.rows import Grouping
from pysgrld.corpus.formats.words import find_words, refuse_line
from pysgrld.corpus.stream import Stream

_HEADER = re.compile(rb"(?:[ \t]*[+-]?[0-9]+[ \t\r]*\n){3}(?:\s*$|[ \t]*[+-]?[0-9][^:\n]*(?:\n|$))")
_FORM = "a UCI file begins with three lines D, W, NNZ"


def sniff(head: bytes, name: str) -> bool:
    """Three lines of one number each, then numbers; or a file named ``docword.*``."""
    return bool(_HEADER.match(head)) or name.startswith("docword.")


def read(stream: Stream, context: Context) -> Counts:
    """Read the header, find the words, and leave the entries to be iterated."""
    lines = stream.lines(refuse_line)
    head = b""
    while head.count(b"\n") < 3 and (more := next(lines, b"")):
        head += more
    first, second, third, rest = (head.split(b"\n", 3) + [b""] * 4)[:4]
    fields = [field.strip() for field in (first, second, third)]
    header = header_of(fields, (1, 2, 3), 4, stream.label, _FORM)
    vocabulary, origin = find_words(stream, context, header.words, header.documents, line=2)
    grouping = Grouping(stream.label, context, header.documents, header.words, line=1)
    entries = parsed(stream.label, header, COUNT, True, chain([rest], lines))
    return Counts(vocabulary, origin, grouping.blocks(entries))
