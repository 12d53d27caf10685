# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Loops over the cells of tables and the values of columns.

Lines are split into cells, values are converted to UTF-8, distinct values are numbered, and values
in simple notations are read.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.mem cimport PyMem_Free
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.math cimport isfinite
from libc.string cimport memchr, strlen
from libcpp.string cimport string
from libcpp.vector cimport vector

include "_arrays.pxi"

cdef extern from "<cstdint>":
    int64_t INT64_MIN

cdef extern from "Python.h":
    char* PyOS_double_to_string(double, char, int, int, int*) except NULL
    int Py_DTSF_ADD_DOT_0

cdef extern from * nogil:
    cppclass string_view "std::string_view":
        string_view(const char*, size_t)

cdef extern from "word_table.hpp" namespace "sgmc::text" nogil:
    cppclass Key:
        Key(string_view)
    cppclass WordTable:
        WordTable() except +
        const vector[char]& bytes()
        const vector[int64_t]& ends()
        int32_t insert(string_view, Key) except +

# Simple notations of a value.
cdef enum:
    OTHER, WHOLE, DECIMAL, ISO, NO_DIGIT

cdef int64_t _DAY = 86_400_000_000


def plain_records(bytes block not None, Py_ssize_t start, char delimiter, Py_ssize_t n_fields,
                  bint quoted, Py_ssize_t most):
    """Split lines of a table into cells, up to a line that is not one record with `n_fields` cells.

    The cells are those of `csv.reader` (strict). Lines with a NUL, or with a carriage return before
    their end, are left to it, too.

    Parameters
    ----------
    block : bytes
        Whole lines.
    start : int
        Offset of the first line to split.
    delimiter : int
        An ASCII character.
    n_fields : int
        Number of cells of a record, at least 2.
    quoted : bool
        Whether cells may be quoted.
    most : int
        Maximum number of records.

    Returns
    -------
    records : list of list of str
    end : int
        Offset of the first line that is not among the records.
    """
    cdef list records = []
    cdef const char* first = PyBytes_AS_STRING(block)
    cdef const char* end = first + PyBytes_GET_SIZE(block)
    cdef const char* line = first + start
    cdef const char* stop
    cdef const char* last
    cdef list cells
    while line < end and len(records) < most:
        stop = <const char*>memchr(line, b"\n", end - line)
        last = end if stop == NULL else stop
        if last > line and last[-1] == b"\r":
            last -= 1
        if memchr(line, b"\r", last - line) != NULL or memchr(line, 0, last - line) != NULL:
            break
        cells = _cells(line, last, delimiter, n_fields, quoted)
        if cells is None:
            break
        records.append(cells)
        line = end if stop == NULL else stop + 1
    return records, line - first


cdef list _cells(const char* place, const char* last, char delimiter, Py_ssize_t n_fields,
                 bint quoted):
    """Split a line into cells; return None if their number or a quotation mark is wrong."""
    cdef list cells = []
    cdef const char* stop
    cdef const char* quote
    cdef bint doubled
    while len(cells) < n_fields:
        if quoted and place < last and place[0] == b'"':
            place += 1
            doubled = False
            quote = place
            while True:
                quote = <const char*>memchr(quote, b'"', last - quote)
                if quote == NULL:
                    return None
                if quote + 1 == last or quote[1] != b'"':
                    break
                doubled = True
                quote += 2
            stop = quote + 1
            if stop < last and stop[0] != delimiter:
                return None
            cell = PyUnicode_DecodeUTF8(place, quote - place, "surrogateescape")
            cells.append((<str>cell).replace('""', '"') if doubled else cell)
        else:
            stop = <const char*>memchr(place, delimiter, last - place)
            if stop == NULL:
                stop = last
            cells.append(PyUnicode_DecodeUTF8(place, stop - place, "surrogateescape"))
        if stop == last:
            return cells if len(cells) == n_fields else None
        place = stop + 1
    return None


def short_values(record, tuple names, Py_ssize_t longest):
    """Return the values of fields; None if one is nested or a text of more than `longest` characters.

    Parameters
    ----------
    record : mapping of str to object
    names : tuple of str
        Fields of the record.
    longest : int
    """
    cdef list values = []
    for name in names:
        value = record[name]
        if type(value) is str:
            if len(<str>value) > longest:
                return None
        elif type(value) is list or type(value) is dict:
            return None
        values.append(value)
    return tuple(values)


def spelled_values(values, uint8_t text_tag, uint8_t integer_tag, uint8_t real_tag, spell):
    """Convert values to their type tags, their lengths in UTF-8, and their concatenated bytes.

    Parameters
    ----------
    values : iterable
    text_tag, integer_tag, real_tag : int
        Tags of `str`, `int` and `float`; missing values have the tag 0.
    spell : callable (value) -> (int, bytes)
        Returns the tag and the bytes of a value of any other type.

    Returns
    -------
    tags : bytes
    lengths : bytes
        One int64 for each value.
    data : bytes
    """
    cdef string tags, lengths, data
    cdef int64_t size
    cdef Py_ssize_t n
    cdef const char* text
    cdef char* digits
    for value in values:
        size = 0
        if value is None:
            tags.push_back(0)
        elif type(value) is str:
            try:
                text = PyUnicode_AsUTF8AndSize(value, &n)
                data.append(text, n)
            except UnicodeEncodeError:  # an unpaired surrogate
                value = (<str>value).encode("utf-8", "replace")
                n = PyBytes_GET_SIZE(value)
                data.append(PyBytes_AS_STRING(value), n)
            size = n
            tags.push_back(text_tag if n else 0)
        elif type(value) is int:
            value = str(value)
            text = PyUnicode_AsUTF8AndSize(value, &n)
            data.append(text, n)
            size = n
            tags.push_back(integer_tag)
        elif type(value) is float and isfinite(PyFloat_AS_DOUBLE(value)):
            digits = PyOS_double_to_string(
                PyFloat_AS_DOUBLE(value), b"r", 0, Py_DTSF_ADD_DOT_0, NULL
            )
            size = <int64_t>strlen(digits)
            data.append(digits, size)
            PyMem_Free(digits)
            tags.push_back(real_tag)
        else:
            tag, value = spell(value)
            size = PyBytes_GET_SIZE(<bytes?>value)
            data.append(PyBytes_AS_STRING(value), size)
            tags.push_back(<uint8_t>tag)
        lengths.append(<const char*>&size, sizeof(size))
    return _object(tags), _object(lengths), _object(data)


cdef bytes _object(const string& data):
    return PyBytes_FromStringAndSize(data.data(), data.size())


def distinct(data, lengths):
    """Number the different values of a column in the order of their first rows.

    Parameters
    ----------
    data : (sum of lengths,) uint8
        Values, one after the other.
    lengths : (n,) int64

    Returns
    -------
    values : list of bytes
    numbers : (n,) int32
        For each row, the position of its value in ``values``.
    """
    cdef int64_t n = len(lengths), i, begin = 0
    cdef const int64_t* length = _int64(lengths, READ)
    cdef const char* text = <const char*>_bytes(data, READ)
    numbers = np.empty(n, np.int32)
    cdef int32_t* number = _int32(numbers, WRITE)
    cdef WordTable* table = new WordTable()
    cdef list values = []
    try:
        with nogil:
            for i in range(n):
                number[i] = table.insert(
                    string_view(text, length[i]), Key(string_view(text, length[i]))
                )
                text += length[i]
        for i in range(<int64_t>table.ends().size()):
            values.append(
                PyBytes_FromStringAndSize(table.bytes().data() + begin, table.ends()[i] - begin)
            )
            begin = table.ends()[i]
    finally:
        del table
    return values, numbers


cdef class Tally:
    """Counts of a column's values by the notations of numbers and dates in which they can be read.

    Parameters
    ----------
    missing : frozenset of bytes
        Texts that stand for a missing value.
    notations : callable (bytes) -> int
        Returns a bit mask of the notations in which a text can be read.
    simple : sequence of int
        Bit mask of values in no simple notation, of whole numbers, decimal numbers, ISO dates,
        and values without digits; -1 if `notations` is to be called.
    most_levels, most_examples : int
        Maximum number of distinct values that are kept, and of examples for each bit mask.

    Attributes
    ----------
    rows, documents : int
        Number of values that are not missing, and number of all values.
    by_bits : dict of int to int
        Number of values for each bit mask.
    examples : dict of int to (dict of bytes to int)
        For each bit mask, some values and their counts.
    levels : set of bytes
        Distinct values; a value more than the maximum shows that there are too many.
    missing : dict of bytes to int
        Texts that stand for a missing value, with their counts.
    seen : set of int
        Type tags of the values.
    """

    cdef readonly int64_t rows, documents
    cdef readonly dict by_bits, examples, missing
    cdef readonly set levels, seen
    cdef frozenset _missing
    cdef object _notations
    cdef int _simple[5]
    cdef Py_ssize_t _most_levels, _most_examples

    def __init__(self, missing, notations, simple, most_levels, most_examples):
        self._missing, self._notations = missing, notations
        self._simple = simple
        self._most_levels, self._most_examples = most_levels, most_examples
        self.by_bits, self.examples, self.missing = {}, {}, {}
        self.levels, self.seen = set(), set()

    def add(self, list values not None, numbers, tags):
        """Add rows, given the distinct values, and the value and the type tag of each row."""
        cdef int64_t i, count, n = len(numbers)
        cdef const int32_t* number = _int32(numbers, READ)
        cdef const uint8_t* tag = _bytes(tags, READ)
        cdef vector[int64_t] counts
        cdef vector[uint8_t] types  # a bit for each type tag of a value
        cdef uint8_t seen = 0
        cdef bytes text
        cdef int bits
        cdef dict examples
        if len(tags) != n:
            raise ValueError("the rows and their tags differ in number")
        counts.resize(len(values))
        types.resize(len(values))
        for i in range(n):
            if tag[i]:
                counts[number[i]] += 1
                types[number[i]] |= 1 << tag[i]
        self.documents += n
        for i in range(len(values)):
            count = counts[i]
            text = (<bytes>values[i]).strip()
            if not count or not text:
                continue
            if text in self._missing:
                self.missing[text] = self.missing.get(text, 0) + count
                continue
            seen |= types[i]
            self.rows += count
            if len(self.levels) <= self._most_levels:
                self.levels.add(text)
            bits = self._simple[_notation(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))]
            if bits < 0:
                bits = self._notations(text)
            self.by_bits[bits] = self.by_bits.get(bits, 0) + count
            if bits not in self.examples:
                self.examples[bits] = {}
            examples = self.examples[bits]
            if text in examples or len(examples) < self._most_examples:
                examples[text] = examples.get(text, 0) + count
        self.seen.update([i for i in range(8) if seen >> i & 1])


def iso_time(bytes text not None):
    """Return the microseconds since 1970 of a text such as 2001-05-14 or 2001-05-14T16:00:00Z.

    A blank may replace the T, and the Z may be missing. Return None for any other text.
    """
    cdef int64_t time = _iso_time(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
    return None if time == INT64_MIN else time


cdef bint _is_digit(char c) noexcept nogil:
    return b"0" <= c <= b"9"


cdef int _notation(const char* text, Py_ssize_t size) noexcept nogil:
    """Return the simple notation of a value.

    A whole number has at most 18 digits and no leading zero. The point of a decimal number cannot
    separate thousands.
    """
    cdef const char* end = text + size
    cdef const char* first = text + (size > 0 and text[0] == b"-")
    cdef const char* p = first
    cdef const char* point
    if _iso_time(text, size) != INT64_MIN:
        return ISO
    while p < end and _is_digit(p[0]):
        p += 1
    if p > first and p - first <= 18 and (first[0] != b"0" or p - first == 1):
        if p == end:
            return WHOLE
        point = p
        if point[0] == b".":
            p += 1
            while p < end and _is_digit(p[0]):
                p += 1
            # A group of three digits may be thousands.
            if p == end and p - point > 1 and p - point != 4:
                return DECIMAL
    if p > first:
        return OTHER
    while p < end and not _is_digit(p[0]):
        p += 1
    return NO_DIGIT if p == end else OTHER


cdef int _number(const char* text, int size) noexcept nogil:
    """Return the number that a text of digits stands for; -1 if a character is no digit."""
    cdef int number = 0, i
    for i in range(size):
        if not _is_digit(text[i]):
            return -1
        number = 10 * number + (text[i] - 48)
    return number


cdef int64_t _iso_time(const char* text, Py_ssize_t size) noexcept nogil:
    cdef int year, month, day, hour, minute, second, length
    cdef int64_t days, before
    if size == 20 and text[19] == b"Z":
        size = 19
    if (size != 10 and size != 19) or text[4] != b"-" or text[7] != b"-":
        return INT64_MIN
    year, month, day = _number(text, 4), _number(text + 5, 2), _number(text + 8, 2)
    if year < 1 or month < 1 or month > 12 or day < 1:
        return INT64_MIN
    if month == 2:
        length = 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    else:
        length = 30 if month in (4, 6, 9, 11) else 31
    if day > length:
        return INT64_MIN
    # Count the days since 1 March of the year 0; leap days are then the last days of the years.
    before = year - 1 if month < 3 else year
    days = 365 * before + before // 4 - before // 100 + before // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days -= 719468
    if size == 10:
        return days * _DAY
    if (text[10] != b"T" and text[10] != b" ") or text[13] != b":" or text[16] != b":":
        return INT64_MIN
    hour, minute, second = _number(text + 11, 2), _number(text + 14, 2), _number(text + 17, 2)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
        return INT64_MIN
    return days * _DAY + (3600 * hour + 60 * minute + second) * <int64_t>1_000_000
