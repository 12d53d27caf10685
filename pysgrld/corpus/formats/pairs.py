"""LDA-C and SVMlight (also libsvm): a document a line, of pairs id:count.

A line of LDA-C is "N id:count ...", N being the number of pairs and ids from 0; one of SVMlight is
"label id:count ...", with comments and ``qid:``. Ids of SVMlight begin at 1 by convention, yet some write
them from 0 (scikit-learn does). The first that holds decides: the comment ``# Column indices are
zero-based`` (``one-based``), which scikit-learn can write, before the first document; an id 0 anywhere in
the file; else the convention.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from pysgrld.corpus._sparse import parse_pairs
from pysgrld.corpus.formats.counts import (
    LARGEST,
    canonical,
    find_words,
    quoted,
    refuse_line,
    wrong_count,
)
from pysgrld.corpus.formats.protocol import Context, CountedDocuments
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, plural
from pysgrld.types import Documents, Int64s

_SAID = re.compile(
    rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*?[ \t]*#[ \t]*column indices are (zero|one)-based", re.I
)
_ZEROS = (b" 0:", b"\t0:", b"\n0:")
_COMMENT = "# Column indices are zero-based"


def read_ldac(source: Lines, context: Context) -> CountedDocuments:
    """Find the words, and leave the documents to be iterated."""
    vocabulary, origin = find_words(source, context)
    words = None if vocabulary is None else len(vocabulary)
    found = _documents(source, 0, words, False, _explain_ldac)
    return CountedDocuments(vocabulary, origin, found, numbered=False)


def read_svmlight(source: Lines, context: Context) -> CountedDocuments:
    """Find the words and the id of the first, and leave the documents to be iterated."""
    vocabulary, origin = find_words(source, context)
    said = _SAID.match(source.head)
    if said:
        first = int(said[1].lower() == b"one")
    elif _has_zero(source.head):
        first = 0
    elif source.path is None or not source.path.is_file():
        first = 1  # it cannot be read twice; an id 0 further down ends it with what to do
    else:
        limit = context.options.max_input
        with Lines(source.path, source.max_line, max_input=limit) as ahead:
            first = int(not any(map(_has_zero, ahead.lines(refuse_line))))
    context.log(f"{source.label}: word ids are read as counted from {first}")
    words = None if vocabulary is None else len(vocabulary)
    found = _documents(source, first, words, True, _explain_svmlight)
    return CountedDocuments(vocabulary, origin, found, numbered=False)


def _has_zero(block: bytes) -> bool:
    """Return whether a word has the id 0 in some lines; comments are not looked at."""
    if b"#" in block:
        block = re.sub(rb"#[^\n]*", b"", block)
    return block.startswith(b"0:") or any(zero in block for zero in _ZEROS)


def _documents(
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
        _, indices, counts = canonical(
            rows + done + 1,
            indices,
            counts,
            lambda message, position: CorpusError(
                message,
                source.label,
                line + int(lines[rows[position]]),  # noqa: B023
            ),
            first=first,
        )
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


def _explain_ldac(line: bytes, first: int, last: int) -> str:
    """Return what is wrong with a line of LDA-C."""
    fields = line.split()
    if not fields:
        return "a blank line; a document without words is a line 0"
    if not fields[0].isdigit() or len(fields[0]) > 18:
        return f"the number of pairs is {quoted(fields[0])}; a line of LDA-C is: N id:count ..."
    for pair in fields[1:]:
        word, colon, count = pair.partition(b":")
        if not colon:
            return f"{quoted(pair)} is not a pair id:count"
        if why := _wrong_id(word, first, last) or wrong_count(count, True):
            return why
    if int(fields[0]) != len(fields) - 1:
        return f"the line promises {plural(int(fields[0]), 'pair')}, but has {len(fields) - 1}"
    return f"{quoted(line)} is not a line of LDA-C: N id:count ..."


def _explain_svmlight(line: bytes, first: int, last: int) -> str:
    """Return what is wrong with a line of SVMlight."""
    fields = line.partition(b"#")[0].split()
    if fields and b":" not in fields[0]:
        if not re.fullmatch(rb"[-+0-9.,eE]+", fields[0]):
            return f"{quoted(fields[0])} is no label; a line of SVMlight is: label id:count ..."
        fields = fields[1:]
    for pair in fields:
        word, colon, count = pair.partition(b":")
        if not colon:
            return f"{quoted(pair)} is not a pair id:count"
        if word == b"qid":
            if not count.isdigit():
                return f"{quoted(pair)}: a query is a whole number"
            continue
        if first and word.isdigit() and not word.strip(b"0"):
            return f"word 0, but words were counted from 1; begin the file with a line {_COMMENT!r}"
        if why := _wrong_id(word, first, last) or wrong_count(count, False):
            return why
    return f"{quoted(line)} is not a line of SVMlight: label id:count ..."


def _wrong_id(field: bytes, first: int, last: int) -> str:
    """Return why a field is no id of a word; empty if it is one."""
    if not field.isdigit():
        return f"word {quoted(field)} is not a whole number of at least {first}"
    if len(field.lstrip(b"0")) > 18 or int(field) > last:
        return f"word {quoted(field)} is above {last}, the last one of the vocabulary"
    return f"word {quoted(field)}: they begin at {first}" if int(field) < first else ""
