"""Readers for word counts in text files, in the formats UCI, Matrix Market, LDA-C and SVMlight.

In UCI and Matrix Market, a header with the number of entries precedes lines "document word count".
A UCI file begins with three lines: the numbers of documents, words and entries. Its documents are in
order. A Matrix Market file has a banner, comments, and a line "documents words entries". If its
documents are not in order (in a matrix that was written by columns), the entries are sorted first.

In LDA-C and SVMlight (libsvm), each line is a document of pairs id:count. A line of LDA-C is
"N id:count ...", with the number N of pairs, and ids from 0; a line of SVMlight is "label id:count
...", with optional comments and ``qid:``. Ids of SVMlight begin at 1 by convention, but some
programs, such as scikit-learn, begin at 0. The comment ``# Column indices are zero-based`` (or
``one-based``), which scikit-learn can write, decides if it precedes the first document. Otherwise
ids begin at 0 if the id 0 occurs in the file, else at 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from pysgrld.corpus._sparse import COUNT, PATTERN, REAL, parse_entries, parse_pairs
from pysgrld.corpus.formats.counts import (
    LARGEST,
    RUN,
    Entries,
    Grouping,
    canonical,
    find_words,
    in_order,
    not_transposed,
    quoted,
    refuse_line,
    transposed,
    words_of_counts,
    wrong_count,
)
from pysgrld.corpus.formats.protocol import Context, CountedDocuments
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, plural
from pysgrld.options.paths import is_file
from pysgrld.types import Documents, Int64s

# ---- UCI and Matrix Market: one entry per line

_NAMES = ("documents", "words", "entries")
_BANNER = b"%%MatrixMarket"
_UCI = "a UCI file begins with three lines: number of documents, number of words, number of entries"
_MARKET = (
    "a Matrix Market file has, below its comments, a line with the numbers of documents, "
    "words and entries"
)
#: Kind of the counts in a Matrix Market file, by the type of numbers in the file's header. A file
#: of type "pattern" has only the positions of its entries, and no counts.
_NUMBERS: dict[bytes, int] = {
    b"integer": REAL,
    b"unsigned-integer": REAL,
    b"real": REAL,
    b"double": REAL,
    b"pattern": PATTERN,
}


def read_uci(source: Lines, context: Context) -> CountedDocuments:
    """Read the header and words of a UCI file; return its documents as word counts."""
    lines = source.lines(refuse_line)
    head = b""
    while head.count(b"\n") < 3 and (line := next(lines, b"")):
        head += line
    first, second, third, rest = (head.split(b"\n", 3) + [b""] * 4)[:4]
    fields = [field.strip() for field in (first, second, third)]
    header = _header_of(fields, (1, 2, 3), 4, source.label, _UCI)
    entries = _entries(source.label, header, COUNT, True, chain([rest], lines))
    if context.options.transpose == "on":
        header, entries = header.transposed(), in_order(transposed(entries), context.scratch)
    of_documents, of_words, _ = header.lines
    vocabulary, origin = find_words(source, context, header.words, header.documents, of_words)
    grouping = Grouping(source.label, context, header.documents, header.words, of_documents)
    return CountedDocuments(vocabulary, origin, grouping.blocks(entries), numbered=True)


def read_matrix_market(source: Lines, context: Context) -> CountedDocuments:
    """Read the header and words of a Matrix Market file; return its documents as word counts.

    Documents are rows. Entries in the order of documents are read one after the other; entries in
    another order are sorted first, on disk if they are many.
    """
    lines = source.lines(refuse_line)
    number, rest = 0, b""

    def line() -> bytes | None:
        nonlocal number, rest
        rest = rest or next(lines, b"")
        if not rest:
            return None
        first, _, rest = rest.partition(b"\n")
        number += 1
        return first

    form = _banner(line() or b"", source.label)
    size = line()
    while size is not None and (not size.strip() or size.startswith(b"%")):
        size = line()
    fields = (size or b"").split()
    if len(fields) != 3:
        raise CorpusError(
            f"{quoted(size or b'')} is not a line with the size of the matrix; {_MARKET}",
            source.label,
            number,
        )
    header = _header_of(fields, (number,) * 3, number + 1, source.label, _MARKET)
    entries = _entries(source.label, header, form, False, chain([rest] if rest else [], lines))
    if context.options.transpose == "on" or context.single_cells is not None:
        header, entries = header.transposed(), transposed(entries)
    vocabulary, origin, ids = words_of_counts(
        source, context, header.words, header.documents, number
    )
    grouping = Grouping(source.label, context, header.documents, header.words, number)
    blocks = grouping.blocks(_by_document(entries, source, context))
    return CountedDocuments(vocabulary, origin, blocks, True, ids)


def _banner(line: bytes, label: str) -> int:
    """Check the first line of a Matrix Market file, and return the notation of its counts."""
    words = line.lower().split()
    if len(words) != 5 or words[0] != _BANNER.lower() or words[1] != b"matrix":
        raise CorpusError(
            f"{quoted(line)} is not the first line of a Matrix Market file; the first line is: "
            "%%MatrixMarket matrix coordinate integer general",
            label,
            1,
        )
    if words[2] != b"coordinate":
        raise CorpusError(
            "the matrix is dense (array); write it as a sparse matrix, with the first line: "
            "%%MatrixMarket matrix coordinate integer general",
            label,
            1,
        )
    if words[4] != b"general":
        raise CorpusError(
            f"the matrix is declared as {quoted(words[4])}, but counts of words in documents need "
            "a matrix declared as general; write it again (scipy.io.mmwrite: symmetry='general')",
            label,
            1,
        )
    if words[3] not in _NUMBERS:
        raise CorpusError(
            f"the values are declared as {quoted(words[3])}, but counts must be declared as "
            "integer",
            label,
            1,
        )
    return _NUMBERS[words[3]]


def _by_document(parts: Iterator[Entries], source: Lines, context: Context) -> Iterator[Entries]:
    """Sort entries by document, unless the first entries are in ascending order already.

    In a file that was written by rows, the number of the document never decreases, and the id of
    the word decreases at the start of a row. In a file that was written by columns, the id of the
    word never decreases. In a file with fewer than `RUN` entries, only the order of the documents
    counts.
    """
    start, size = [], 0
    for part in parts:
        start.append(part)
        size += len(part.rows)
        if size >= RUN:
            break
    rows = np.concatenate([part.rows for part in start]) if start else np.empty(0, np.int64)
    words = np.concatenate([part.words for part in start]) if start else rows
    falls = bool(np.any(rows[1:] < rows[:-1]))
    by_rows = not falls and (size < RUN or bool(np.any(words[1:] < words[:-1])))
    del rows, words
    every = chain(start, parts)
    if not by_rows:
        return in_order(every, context.scratch)
    return _same_order(every, source.label)


def _same_order(parts: Iterator[Entries], label: str) -> Iterator[Entries]:
    """Yield entries unchanged; raise an error if their documents are not in ascending order."""
    last = 0
    for part in parts:
        if len(part.rows):
            steps = np.diff(part.rows, prepend=last)
            if steps.min() < 0:
                position = int(np.argmax(steps < 0))
                before = int(part.rows[position] - steps[position])
                raise CorpusError(
                    f"document {part.rows[position]} follows document {before}, but entries "
                    "before this line were sorted; sort the file by document",
                    label,
                    None if part.line is None else part.line + position,
                )
            last = int(part.rows[-1])
        yield part


class _Header(NamedTuple):
    """Header of a UCI or Matrix Market file.

    Attributes
    ----------
    documents, words, entries : int
        The numbers in the header.
    lines : (int, int, int)
        Line number of each of these numbers.
    first : int
        Line number of the first entry.
    """

    documents: int
    words: int
    entries: int
    lines: tuple[int, int, int]
    first: int

    def transposed(self) -> _Header:
        """Return the header with documents and words exchanged."""
        documents, words, entries = self.lines
        lines = words, documents, entries
        return self._replace(documents=self.words, words=self.documents, lines=lines)


def _header_of(
    fields: list[bytes], lines: tuple[int, int, int], first: int, label: str, form: str
) -> _Header:
    """Parse and check the three numbers of a header: documents, words and entries.

    Parameters
    ----------
    fields : list of bytes
        The three numbers as text.
    lines, first
        See `_Header`.
    label : str
        Name of the file in messages.
    form : str
        Description of the expected header, for the message.

    Raises
    ------
    CorpusError
    """
    numbers = []
    for name, field, line in zip(_NAMES, fields, lines, strict=True):
        problem = f"the header's number of {name} is {quoted(field)}"
        if not field.isdigit():
            raise CorpusError(f"{problem}, not a whole number; {form}", label, line)
        if len(field.lstrip(b"0")) > 18 or (name == "words" and int(field) > LARGEST):
            raise CorpusError(f"{problem}, which is too large; correct the header", label, line)
        numbers.append(int(field))
    return _Header(numbers[0], numbers[1], numbers[2], lines, first)


def _entries(
    label: str, header: _Header, form: int, ordered: bool, blocks: Iterator[bytes]
) -> Iterator[Entries]:
    """Parse all entries of a file, and compare them with the numbers in the header.

    Parameters
    ----------
    label : str
        Name of the file in messages.
    header : _Header
    form : {COUNT, REAL, PATTERN}
        Notation of the counts (`pysgrld.corpus._sparse`).
    ordered : bool
        Whether documents must be in order.
    blocks : iterator of bytes
        Blocks of whole lines, beginning with the line `header.first`.

    Raises
    ------
    CorpusError
        If a line is wrong, or the number of entries differs from the header.
    """
    line, seen, last = header.first, 0, int(ordered)
    blank = 0  # Line number of the first blank line after the entries, or 0.
    for block in blocks:
        if blank:
            if block.strip():
                raise CorpusError(
                    "there is a blank line between the entries; remove it", label, blank
                )
            continue
        rows, words, counts, wrong = parse_entries(
            block, last, header.documents, header.words, form
        )
        excess = header.entries - seen
        if len(rows) > excess:
            raise CorpusError(
                f"the header promises {plural(header.entries, 'entry', 'entries')}, but there are "
                f"more; correct line {header.lines[2]}",
                label,
                line + excess,
            )
        if ordered and len(rows):
            last = int(rows[-1])
        if wrong >= 0:
            lines = block.split(b"\n")
            if b"".join(lines[wrong:]).strip():
                message = _explain_entry(lines[wrong], last, header, form)
                raise CorpusError(message, label, line + wrong)
            blank = line + wrong
        yield Entries(rows, words, counts, line)
        seen += len(rows)
        line += len(rows)
    if seen < header.entries:
        raise CorpusError(
            f"the header promises {plural(header.entries, 'entry', 'entries')}, but the file has "
            f"{seen:,}; the file is incomplete, or line {header.lines[2]} is wrong",
            label,
            line - 1,
        )


def _explain_entry(line: bytes, last: int, header: _Header, form: int) -> str:
    names = ("document", "word", "count")[: 2 if form == PATTERN else 3]
    entry = f"{'two' if form == PATTERN else 'three'} whole numbers, {' '.join(names)}"
    fields = line.split()
    if not fields:
        return "there is a blank line between the entries; remove it"
    if len(fields) != len(names):
        return f"{quoted(line)} is not an entry; an entry is: {entry}"
    limits = (header.documents, header.words)
    for name, field, limit in zip(names[:2], fields, limits, strict=False):
        if not field.isdigit():
            return f"{name} {quoted(field)} is not a whole number of at least 1"
        if not field.strip(b"0"):
            return f"{name} is 0, but numbers start at 1"
        if len(field.lstrip(b"0")) > 18 or int(field) > limit:
            return f"{name} {quoted(field)} is above {limit}, the number in the header"
    if form != PATTERN and (reason := wrong_count(fields[2], form == COUNT)):
        return reason
    if int(fields[0]) < last:
        return f"document {int(fields[0])} follows document {last}; sort the file by document"
    return f"{quoted(line)} is not an entry; an entry is: {entry}"


# ---- LDA-C and SVMlight: one document per line, as pairs id:count

_SAID = re.compile(
    rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*?[ \t]*#[ \t]*column indices are (zero|one)-based", re.I
)
_ZEROS = (b" 0:", b"\t0:", b"\n0:")
_COMMENT = "# Column indices are zero-based"


def read_ldac(source: Lines, context: Context) -> CountedDocuments:
    """Read the words of an LDA-C file; return its documents as word counts."""
    not_transposed(context, source)
    vocabulary, origin = find_words(source, context)
    words = None if vocabulary is None else len(vocabulary)
    documents = _documents(source, 0, words, False, _explain_ldac)
    return CountedDocuments(vocabulary, origin, documents, numbered=False)


def read_svmlight(source: Lines, context: Context) -> CountedDocuments:
    """Read the words and the lowest id of an SVMlight file; return its documents as word counts."""
    not_transposed(context, source)
    vocabulary, origin = find_words(source, context)
    range_match = _SAID.match(source.head)
    if range_match:
        first = int(range_match[1].lower() == b"one")
    elif _has_zero(source.head):
        first = 0
    elif source.path is None or not is_file(source.path):
        first = 1  # A pipe can be read only once, so it cannot be searched for the word id 0 first.
    else:
        limit = context.options.max_input
        with Lines(source.path, source.max_line, max_input=limit) as ahead:
            first = int(not any(map(_has_zero, ahead.lines(refuse_line))))
    context.log(f"{source.label}: word ids are assumed to start at {first}")
    words = None if vocabulary is None else len(vocabulary)
    documents = _documents(source, first, words, True, _explain_svmlight)
    return CountedDocuments(vocabulary, origin, documents, numbered=False)


def _has_zero(block: bytes) -> bool:
    """Return True if any of the given lines of SVMlight has the word id 0."""
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
    """Yield blocks of the documents of an LDA-C or SVMlight file, with the documents' line numbers.

    Parameters
    ----------
    source : Lines
    first : int
        Id of the first word in the file, 0 or 1.
    words : int or None
        Number of words, or None if it is unknown.
    labelled : bool
        See `parse_pairs`.
    explain : callable (line, first, last) -> str
        Returns the message about a wrong line; `last` is the largest allowed id.

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
            remaining = block.split(b"\n")[wrong:]
            if (
                labelled
                or b"".join(remaining).strip()
                or any(map(bytes.strip, source.lines(refuse_line)))
            ):
                raise CorpusError(explain(remaining[0], first, last), source.label, line + wrong)
            return


def _explain_ldac(line: bytes, first: int, last: int) -> str:
    """Return a message that explains why a line is not valid LDA-C."""
    fields = line.split()
    if not fields:
        return "the line is blank; write 0 for a document without words"
    if not fields[0].isdigit() or len(fields[0]) > 18:
        return (
            f"the first field is {quoted(fields[0])}, not the number of pairs; a line of "
            "LDA-C is: N id:count ..."
        )
    for pair in fields[1:]:
        word, colon, count = pair.partition(b":")
        if not colon:
            return f"{quoted(pair)} is not of the form id:count"
        if reason := _wrong_id(word, first, last) or wrong_count(count, True):
            return reason
    if int(fields[0]) != len(fields) - 1:
        return (
            f"the line declares {plural(int(fields[0]), 'pair')}, but has {len(fields) - 1}; "
            "correct its first number"
        )
    return f"{quoted(line)} is not a line of LDA-C; a line of LDA-C is: N id:count ..."


def _explain_svmlight(line: bytes, first: int, last: int) -> str:
    """Return a message that explains why a line is not valid SVMlight."""
    fields = line.partition(b"#")[0].split()
    if fields and b":" not in fields[0]:
        if not re.fullmatch(rb"[-+0-9.,eE]+", fields[0]):
            return f"{quoted(fields[0])} is not a label; a line of SVMlight is: label id:count ..."
        fields = fields[1:]
    for pair in fields:
        word, colon, count = pair.partition(b":")
        if not colon:
            return f"{quoted(pair)} is not of the form id:count"
        if word == b"qid":
            if not count.isdigit():
                return f"{quoted(pair)}: a query id (qid) must be a whole number"
            continue
        if first and word.isdigit() and not word.strip(b"0"):
            return (
                "word id 0 occurs, but earlier lines suggested that ids start at 1; begin the "
                f"file with the line {_COMMENT!r}"
            )
        if reason := _wrong_id(word, first, last) or wrong_count(count, False):
            return reason
    return f"{quoted(line)} is not a line of SVMlight; a line of SVMlight is: label id:count ..."


def _wrong_id(field: bytes, first: int, last: int) -> str:
    """Return an error message if a field is not a valid word id, else an empty text."""
    if not field.isdigit():
        return f"word id {quoted(field)} is not a whole number of at least {first}"
    if len(field.lstrip(b"0")) > 18 or int(field) > last:
        return f"word id {quoted(field)} is greater than {last}, the last id of the vocabulary"
    return (
        f"word id {quoted(field)} is too small: ids start at {first}" if int(field) < first else ""
    )
