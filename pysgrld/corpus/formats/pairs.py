"""Lines of pairs id:count, a document each: what LDA-C and SVMlight share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from pysgrld.corpus._sparse import parse_pairs
from pysgrld.corpus.formats.rows import LARGEST, canonical
from pysgrld.corpus.formats.vocabulary_files import quoted, refuse_line
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError
from pysgrld.types import Documents, Int64s

_LABEL = rb"[-+0-9.,eE]+"
_PAIRS = rb"(?:[ \t]+(?:qid:[0-9]+|[0-9]+:[-+0-9.eE]+|[0-9]+:[nN][aA][nN]))+[ \t]*(?:#[^\n]*)?\r?"
#: Comments, and documents without words, may come before the first line that shows what it is.
_FIRST = re.compile(
    rb"(?:[ \t]*(?:#[^\n]*|%b(?:[ \t]*#[^\n]*)?)?[ \t]*\r?\n)*?(?:%b)?%b(?:\n|$)"
    % (_LABEL, _LABEL, _PAIRS)
)


def looks_like_pairs(head: bytes) -> bool:
    """Whether the first line that is more than one number is a number and pairs."""
    return bool(_FIRST.match(head))


def begins_with_number_of_pairs(head: bytes) -> bool:
    """Whether the first number of a line is that of its pairs, in most lines of the head.

    Most, because one that differs is more likely a fault than a label; and a label is hardly ever
    that number by chance.
    """
    lines = head.split(b"\n")
    if len(lines) > 1:
        lines.pop()  # cut off, or empty
    right = wrong = 0
    for line in lines:
        number, _, pairs = line.strip().partition(b" ")
        if b"qid:" in pairs or b"#" in line:
            return False
        if number:
            if number.isdigit() and int(number[:18]) == pairs.count(b":"):
                right += 1
            else:
                wrong += 1
    return right > wrong


def documents(
    source: Lines,
    first: int,
    words: int | None,
    labelled: bool,
    explain: Callable[[bytes, int, int], str],
) -> Iterator[tuple[Documents, Int64s]]:
    """Read all documents of a file, each with its line.

    Parameters
    ----------
    source : Lines
    first : int
        What the file calls the first word, 0 or 1.
    words : int or None
        How many there are.
    labelled : bool
        See `parse_pairs`.
    explain : callable (line, first, last) -> str
        Says what is wrong with a line, `last` being the largest id.

    Raises
    ------
    CorpusError
    """
    last = (LARGEST if words is None else words) + first - 1
    done = 0
    for block in source.lines(refuse_line):
        lengths, lines, indices, counts, wrong = parse_pairs(block, first, last, labelled)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        line = source.line + 1

        def error(message: str, position: int) -> CorpusError:
            return CorpusError(message, source.label, line + int(lines[rows[position]]))  # noqa: B023

        _, indices, counts = canonical(rows + done + 1, indices, counts, error, first=first)
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        yield Documents(indptr, indices, counts), lines + line
        done += len(lengths)
        if wrong >= 0:
            left = block.split(b"\n")[wrong:]
            if (
                labelled
                or b"".join(left).strip()
                or any(map(bytes.strip, source.lines(refuse_line)))
            ):
                raise CorpusError(explain(left[0], first, last), source.label, line + wrong)
            return


def wrong_id(field: bytes, first: int, last: int) -> str:
    """Say why a field is no id of a word; empty if it is one."""
    if not field.isdigit():
        return f"word {quoted(field)} is not a whole number of at least {first}"
    if len(field.lstrip(b"0")) > 18 or int(field) > last:
        return f"word {quoted(field)} is above {last}, the last one of the vocabulary"
    return f"word {quoted(field)}: they begin at {first}" if int(field) < first else ""
