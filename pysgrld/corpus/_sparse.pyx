# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Parsing of word counts in text files, and renumbering of words, as compiled loops.

Parsing stops at the first malformed line. The calling Python code then examines that line to report
the error.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libcpp.algorithm cimport sort
from libcpp.bit cimport countr_zero
from libcpp.vector cimport vector

include "_arrays.pxi"

#: Notations of a count. `COUNT`: a whole number of at least 1. `REAL`: a whole number of at least 0 in
#: any decimal notation, such as 3.0. `PATTERN`: counts are not written, and are 1.
COUNT, REAL, PATTERN = 0, 1, 2

cdef enum:
    LARGEST = 2147483647
    MARKED = 1 << 24  # `_by_marks` takes memory up to this word id
    EXPONENT = 10000  # larger exponents have the same effect

cdef bint[256] LABEL


cdef void _fill_table() noexcept:
    cdef int c
    for c in range(256):
        LABEL[c] = 48 <= c <= 57 or c == 43 or c == 44 or c == 45 or c == 46 or c == 69 or c == 101


_fill_table()


cdef inline bint _blank(uint8_t c) noexcept nogil:
    return c == 32 or c == 9


cdef inline const uint8_t* _digits(
    const uint8_t* p, const uint8_t* end, int64_t* value
) noexcept nogil:
    """Read an unsigned number; return NULL if there is no digit, or more than 18 digits."""
    cdef const uint8_t* start = p
    cdef const uint8_t* first
    cdef int64_t total = 0
    while p < end and p[0] == 48:
        p += 1
    first = p
    while p < end and 48 <= p[0] <= 57:
        if p - first >= 18:
            return NULL
        total = 10 * total + (p[0] - 48)
        p += 1
    if p == start:
        return NULL
    value[0] = total
    return p


cdef const uint8_t* _real(const uint8_t* p, const uint8_t* end, int64_t* value) noexcept nogil:
    """Read a number like 3, 3.0 or 30e-1; return NULL unless it is a count of at least 0."""
    cdef const uint8_t* start = p
    cdef int64_t digits = 0     # number that the digits up to the last nonzero digit form
    cdef int64_t zeros = 0      # number of zeros after the last nonzero digit
    cdef int64_t exponent = 0
    cdef int64_t written = 0
    cdef bint point = False
    cdef bint negative = False
    cdef bint some = False
    while p < end and (48 <= p[0] <= 57 or (p[0] == 46 and not point)):
        if p[0] == 46:
            point = True
            p += 1
            continue
        some = True
        exponent -= point
        if p[0] == 48:
            zeros += digits > 0
        else:
            while zeros > 0:
                if digits > LARGEST:
                    return NULL
                digits *= 10
                zeros -= 1
            if digits > LARGEST:
                return NULL
            digits = 10 * digits + (p[0] - 48)
        p += 1
    if not some:
        return NULL
    if p < end and (p[0] == 101 or p[0] == 69):
        p += 1
        if p < end and (p[0] == 43 or p[0] == 45):
            negative = p[0] == 45
            p += 1
        start = p
        while p < end and 48 <= p[0] <= 57:
            if written < EXPONENT:
                written = 10 * written + (p[0] - 48)
            p += 1
        if p == start:
            return NULL
        exponent += -written if negative else written
    if digits == 0:
        value[0] = 0
        return p
    exponent += zeros
    if exponent < 0:
        return NULL
    while exponent > 0:
        if digits > LARGEST:
            return NULL
        digits *= 10
        exponent -= 1
    if digits > LARGEST:
        return NULL
    value[0] = digits
    return p


def parse_entries(bytes block, int64_t last, int64_t documents, int64_t words, int form):
    """Parse lines "document word count".

    Parameters
    ----------
    block : bytes
        Whole lines.
    last : int
        The smallest valid document id in the first line, if ids must not decrease from line to line;
        0 if ids may be in any order.
    documents, words : int
        The largest valid document id and the largest valid word id.
    form : {COUNT, REAL, PATTERN}
        Notation of the counts.

    Returns
    -------
    documents : (n,) int64
    words : (n,) int32
        Word ids, counted from 0.
    counts : (n,) int32
    wrong : int
        Index in the block of the first malformed line, at which parsing stopped; -1 if all lines
        are valid. A blank line is malformed.
    """
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(block)
    cdef const uint8_t* end = p + PyBytes_GET_SIZE(block)
    cdef Py_ssize_t lines = block.count(b"\n") + 1
    found_documents = np.empty(lines, dtype=np.int64)
    found_words = np.empty(lines, dtype=np.int32)
    found_counts = np.empty(lines, dtype=np.int32)
    cdef int64_t* d = _int64(found_documents, WRITE)
    cdef int32_t* w = _int32(found_words, WRITE)
    cdef int32_t* c = _int32(found_counts, WRITE)
    cdef bint ordered = last > 0
    cdef int64_t document = 0
    cdef int64_t word = 0
    cdef int64_t count = 1
    cdef int64_t least = 0 if form == REAL else 1
    cdef bint bare = form == PATTERN
    cdef bint real = form == REAL
    cdef Py_ssize_t n = 0
    cdef Py_ssize_t wrong = -1
    with nogil:
        while p < end:
            while p < end and _blank(p[0]):
                p += 1
            p = _digits(p, end, &document)
            if p == NULL or p == end or not _blank(p[0]):
                wrong = n
                break
            while p < end and _blank(p[0]):
                p += 1
            p = _digits(p, end, &word)
            if p == NULL:
                wrong = n
                break
            if not bare:
                if p == end or not _blank(p[0]):
                    wrong = n
                    break
                while p < end and _blank(p[0]):
                    p += 1
                p = _real(p, end, &count) if real else _digits(p, end, &count)
                if p == NULL:
                    wrong = n
                    break
            while p < end and (_blank(p[0]) or p[0] == 13):
                p += 1
            if ((p < end and p[0] != 10) or document < last or document < 1
                    or document > documents or word < 1 or word > words or word > LARGEST
                    or count < least or count > LARGEST):
                wrong = n
                break
            p += 1
            d[n] = document
            w[n] = <int32_t>(word - 1)
            c[n] = <int32_t>count
            if ordered:
                last = document
            n += 1
    return found_documents[:n], found_words[:n], found_counts[:n], wrong


def parse_pairs(bytes block, int64_t first, int64_t last, bint labelled):
    """Parse lines "N id:count ..." (LDA-C) or "label id:count ..." (SVMlight).

    Parameters
    ----------
    block : bytes
        Whole lines.
    first, last : int
        The smallest and the largest valid word id.
    labelled : bool
        If True, SVMlight: the first number is a label or missing, ``qid:`` and comments are
        skipped, a line with nothing but blanks or a comment is no document, counts are whole
        numbers in any notation, and pairs with count 0 are left out. If False, LDA-C: the first
        number is the number of pairs, and counts are at least 1.

    Returns
    -------
    lengths : (n,) int64
        Number of pairs of each document.
    lines : (n,) int64
        Line of each document, from 0.
    words : (nnz,) int32
        Word ids, counted from 0, in the order of the pairs.
    counts : (nnz,) int32
    wrong : int
        Index of the first malformed line, at which parsing stopped; -1 if all lines are valid.
    """
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(block)
    cdef const uint8_t* end = p + PyBytes_GET_SIZE(block)
    cdef const uint8_t* start
    cdef Py_ssize_t rows = block.count(b"\n") + 1
    cdef Py_ssize_t pairs = block.count(b":")
    found_lengths = np.empty(rows, dtype=np.int64)
    found_lines = np.empty(rows, dtype=np.int64)
    found_words = np.empty(pairs, dtype=np.int32)
    found_counts = np.empty(pairs, dtype=np.int32)
    cdef int64_t* lengths = _int64(found_lengths, WRITE)
    cdef int64_t* lines = _int64(found_lines, WRITE)
    cdef int32_t* w = _int32(found_words, WRITE)
    cdef int32_t* c = _int32(found_counts, WRITE)
    cdef int64_t promised = 0
    cdef int64_t word = 0
    cdef int64_t count = 0
    cdef Py_ssize_t line = 0
    cdef Py_ssize_t n = 0
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t begin = 0
    cdef bint good = True
    with nogil:
        while p < end:
            begin = at
            while p < end and _blank(p[0]):
                p += 1
            if labelled:
                if (p == end or p[0] == 10 or p[0] == 35  # nothing, or a comment
                        or (p[0] == 13 and (p + 1 == end or p[1] == 10))):
                    while p < end and p[0] != 10:
                        p += 1
                    p += 1
                    line += 1
                    continue
                start = p
                while p < end and LABEL[p[0]]:
                    p += 1
                if p < end and p[0] == 58:  # the line has no label and begins with a pair
                    p = start
                elif p < end and not _blank(p[0]) and p[0] != 10 and p[0] != 13 and p[0] != 35:
                    if p != start:
                        good = False
                    elif not (end - p > 4 and p[0] == 113 and p[1] == 105 and p[2] == 100
                              and p[3] == 58):
                        good = False
                    if not good:
                        break
            else:
                p = _digits(p, end, &promised)
                if p == NULL or (p < end and not _blank(p[0]) and p[0] != 10 and p[0] != 13):
                    good = False
                    break
            while True:
                while p < end and _blank(p[0]):
                    p += 1
                if p == end or p[0] == 10:
                    break
                if p[0] == 13 and (p + 1 == end or p[1] == 10):
                    p += 1
                    break
                if labelled and p[0] == 35:
                    while p < end and p[0] != 10:
                        p += 1
                    break
                if labelled and end - p > 4 and (p[0] == 113 and p[1] == 105 and p[2] == 100
                                                 and p[3] == 58):
                    p = _digits(p + 4, end, &word)
                    if p == NULL:
                        good = False
                        break
                    continue
                p = _digits(p, end, &word)
                if p == NULL or p == end or p[0] != 58 or word < first or word > last:
                    good = False
                    break
                p = _real(p + 1, end, &count) if labelled else _digits(p + 1, end, &count)
                if (p == NULL or count > LARGEST or (not labelled and count < 1)
                        or (p < end and not _blank(p[0]) and p[0] != 10 and p[0] != 13
                            and not (labelled and p[0] == 35))):
                    good = False
                    break
                if count > 0:
                    w[at] = <int32_t>(word - first)
                    c[at] = <int32_t>count
                    at += 1
            if not good or (not labelled and at - begin != promised):
                good = False
                break
            lengths[n] = at - begin
            lines[n] = line
            n += 1
            line += 1
            p += 1
    if not good:
        at = begin
    return (found_lengths[:n], found_lines[:n], found_words[:at], found_counts[:at],
            -1 if good else line)


cdef int _by_marks(
    vector[uint64_t]& row, vector[uint64_t]& marks, vector[int32_t]& count, int32_t* w, int32_t* c
) except -1 nogil:
    """Sort the words of a document by setting a bit for each word id; write words and counts.

    This is faster than comparison sorting if many bits are set. Return 0, with nothing written, if
    few bits would be set or a word occurs twice, else 1. All bits are 0 before and after the call.
    """
    cdef uint64_t last = 0, key = 0, word = 0, left = 0, group = 0
    cdef size_t i = 0, at = 0
    cdef bint once = True
    for i in range(row.size()):
        last = max(last, row[i] >> 32)
    if row.size() < 32 or (last >> 6) > 16 * row.size() or last >= MARKED:
        return 0
    if count.size() <= last:
        count.resize(last + 1)
        marks.resize((last >> 6) + 1)
    for i in range(row.size()):
        key = row[i]
        word = key >> 32
        once = once and not (marks[word >> 6] >> (word & 63)) & 1
        marks[word >> 6] |= <uint64_t>1 << (word & 63)
        count[word] = <int32_t><uint32_t>key
    for group in range((last >> 6) + 1):
        left = marks[group] if once else 0
        marks[group] = 0
        while left:
            word = 64 * group + <uint64_t>countr_zero(left)
            left &= left - 1
            w[at] = <int32_t>word
            c[at] = count[word]
            at += 1
    return once


def renumber(indptr, indices, counts, remap=None):
    """Renumber the words of documents, drop words with a negative id, and sort each document's words.

    Parameters
    ----------
    indptr : (documents + 1,) int64
    indices : (nnz,) int32
        Word ids, each once in a document and below the length of ``remap``. Without ``remap``,
        negative ids are dropped.
    counts : (nnz,) int32
    remap : (words,) int32, optional
        The new id of each word.

    Returns
    -------
    indptr, indices, counts : ndarray
        The renumbered documents, as arrays of the same types.

    Raises
    ------
    ValueError
        If arrays do not fit together.
    """
    cdef Py_ssize_t documents = len(indptr) - 1
    cdef int64_t entries = len(indices)
    cdef int64_t words = -1 if remap is None else len(remap)
    if documents < 0 or len(counts) != entries:
        raise ValueError(f"{len(indptr)} ends, {entries} words and {len(counts)} counts")
    new_indptr = np.zeros(documents + 1, dtype=np.int64)
    new_indices = np.empty(entries, dtype=np.int32)
    new_counts = np.empty(entries, dtype=np.int32)
    cdef const int64_t* ends = _int64(indptr, READ)
    cdef const int32_t* old = _int32(indices, READ)
    cdef const int32_t* n = _int32(counts, READ)
    cdef const int32_t* to = NULL
    if remap is not None:
        to = _int32(remap, READ)
    cdef int64_t* new_ends = _int64(new_indptr, WRITE)
    cdef int32_t* w = _int32(new_indices, WRITE)
    cdef int32_t* c = _int32(new_counts, WRITE)
    cdef vector[uint64_t] row  # word id in the upper 32 bits, count in the lower 32 bits
    cdef vector[uint64_t] marks
    cdef vector[int32_t] count
    cdef int64_t at = 0
    cdef int64_t i = 0
    cdef int32_t word = 0
    cdef uint64_t key = 0
    cdef size_t k = 0
    cdef Py_ssize_t d = 0
    cdef bint good = True
    with nogil:
        for d in range(documents):
            if not i <= ends[d + 1] <= entries:
                good = False
                break
            row.clear()
            while i < ends[d + 1]:
                word = old[i]
                if to != NULL:
                    if not 0 <= word < words:
                        good = False
                        break
                    word = to[word]
                if word >= 0:
                    row.push_back((<uint64_t>word << 32) | <uint64_t><uint32_t>n[i])
                i += 1
            if not _by_marks(row, marks, count, w + at, c + at):
                sort(row.begin(), row.end())
                for k in range(row.size()):
                    key = row[k]
                    w[at + <int64_t>k] = <int32_t>(key >> 32)
                    c[at + <int64_t>k] = <int32_t><uint32_t>key
            at += <int64_t>row.size()
            new_ends[d + 1] = at
    if not good:
        raise ValueError(f"document {d} does not fit its arrays")
    return new_indptr, new_indices[:at], new_counts[:at]
