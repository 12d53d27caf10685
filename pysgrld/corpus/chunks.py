"""Functions that split long documents, such as books, and remove Project Gutenberg's licence."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pysgrld.corpus.formats import Texts
from pysgrld.types import Int64s

#: Pattern of a word in UTF-8. Chinese and Japanese have no blanks between words, so each of their
#: characters counts as a word.
_WORD = re.compile(rb"[\xe3-\xe9][\x80-\xbf]{2}|[^\s\xe3-\xe9]+|[\xe3-\xe9]")
#: Patterns of the places at which a piece may end, best first: between paragraphs, between
#: sentences, between lines.
_ENDS = tuple(
    re.compile(end)
    for end in (rb"\n[ \t\r]*\n", rb"[.!?][\"')\]]*\s|\xe3\x80\x82|\xef\xbc[\x81\x9f]", rb"\n")
)
#: The end of a piece is searched near its ideal end, within 1 / `_WINDOW` of the piece's length.
_WINDOW = 5

#: Patterns of the lines that begin and end the text of a Project Gutenberg book. The licence is
#: outside of these lines.
_BEGIN = re.compile(rb"\*{3} ?START OF TH(?:E|IS) PROJECT GUTENBERG EBOOK[^*]{0,400}\*{3}", re.I)
_END = re.compile(rb"\*{3} ?END OF TH(?:E|IS) PROJECT GUTENBERG EBOOK", re.I)


class Chunked(NamedTuple):
    """Pieces of the documents of a batch, after long documents were split.

    Attributes
    ----------
    texts : Texts
        Pieces as documents, each with the line and the fields of the document that it comes from.
    of : (n,) int64
        Index of the document that each piece comes from.
    pieces : (n,) int64
        Number of each piece in its document, from 1; 0 if it is the whole document.
    """

    texts: Texts
    of: Int64s
    pieces: Int64s


def chunked(texts: Texts, words: int) -> Chunked:
    """Remove markup from documents, and split them into pieces of about `words` words.

    Parameters
    ----------
    texts : Texts
        Documents as they were read.
    words : int
        Intended length of a piece, in words.

    Returns
    -------
    Chunked
        Pieces as documents, with their origins.
    """
    documents = texts.clean(texts.documents) if texts.clean else texts.documents
    cut = [pieces(document, words) for document in documents]
    lengths = np.array([len(document_pieces) for document_pieces in cut], np.int64)
    documents_of_pieces = np.repeat(np.arange(len(cut)), lengths)
    number = (
        np.arange(len(documents_of_pieces)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    )
    places = documents_of_pieces.tolist()
    lines, labels, fields = texts.lines, texts.labels, texts.fields
    new = Texts(
        [piece for document_pieces in cut for piece in document_pieces],
        labels if isinstance(labels, str) else [labels[i] for i in places],
        None if lines is None else [lines[i] for i in places],
        None,
        None
        if fields is None
        else fields.take(places),  # Each piece has the fields of its document.
        None if texts.records is None else [texts.records[i] for i in places],
    )
    return Chunked(new, documents_of_pieces, np.where(np.repeat(lengths, lengths) > 1, number, 0))


def without_licence(text: bytes) -> bytes:
    """Return a book of Project Gutenberg without the notes and the licence at its start and end.

    Parameters
    ----------
    text : bytes
        Any text; texts without both marks of Project Gutenberg are returned as they are.
    """
    if (begin := _BEGIN.search(text)) and (end := _END.search(text, begin.end())):
        return text[begin.end() : end.start()].strip()
    return text


def pieces(text: bytes, words: int) -> list[bytes]:
    """Split a text into pieces of about `words` words, at ends of paragraphs, sentences or lines.

    The number of pieces is the number of words divided by `words`, rounded. A boundary between pieces
    of equal length moves to the nearest end of a paragraph within a window, else to that of a
    sentence or of a line. Only blanks between pieces are lost. Text that is not UTF-8, or has a NUL,
    stays whole, because it is not a valid document.

    Parameters
    ----------
    text : bytes
        Text in UTF-8.
    words : int
        Intended length of a piece, in words.

    Returns
    -------
    list of bytes
        Pieces in order; together they make up the text.
    """
    if len(text) < words:
        return [text]
    ends = [match.end() for match in _WORD.finditer(text)]
    number = max(1, round(len(ends) / words))
    if number == 1:
        return [text]
    try:
        if "\0" in text.decode():
            return [text]
    except UnicodeDecodeError:
        return [text]
    cuts, reach = [0], max(1, len(ends) // number // _WINDOW)
    for i in range(1, number):
        # This word would end the piece if all pieces had the same number of words.
        target = i * len(ends) // number - 1
        cut, first, last = (
            ends[target],
            ends[max(0, target - reach)],
            ends[min(len(ends) - 2, target + reach)],
        )
        for pattern in _ENDS:
            match_ends = [match.end() for match in pattern.finditer(text, first, last + 1)]
            if match_ends:
                cut = min(match_ends, key=lambda end: (abs(end - ends[target]), end))
                break
        cuts.append(cut)
    cuts.append(len(text))
    return [text[a:b].strip() for a, b in pairwise(cuts)]
