# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Text to word counts, and lines of three integers to arrays: the two inner loops of reading.

A token is what ``re.findall(r"\w\w+", unicodedata.normalize("NFC", text).casefold())`` finds.
The text is cut at ASCII characters that are no word characters. That cannot change a token: no
composition reaches across them (only ``<``, ``=`` and ``>`` compose with a mark at all, and neither
they nor what they become are word characters), and casefolding looks at one character at a time.
So a stretch of pure ASCII is folded and hashed byte by byte (cpp/text/word_counter.cpp), and only
stretches that hold other characters, words like ``café``, go through Python's Unicode tables.
"""

import re
import unicodedata
from typing import NamedTuple

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy
from libcpp.string cimport string
from libcpp.vector cimport vector


cdef extern from * nogil:
    cppclass string_view "std::string_view":
        string_view()
        string_view(const char*, size_t)
        const char* data()
        size_t size()


cdef extern from "word_table.hpp" namespace "sgmc::text" nogil:
    uint32_t hash_word(string_view)
    cppclass WordTable:
        int32_t size()
        const vector[char]& bytes()
        const vector[int64_t]& ends()
        int32_t find(string_view, uint32_t)
        int32_t insert(string_view, uint32_t) except +
        void prefetch(uint32_t)


cdef extern from "word_counter.hpp" namespace "sgmc::text" nogil:
    cdef enum class Verdict:
        good
        has_nul
        not_utf8
        no_memory
    cppclass WordCounter:
        Verdict add(string_view, Verdict (*)(string_view, string&) noexcept) except +
        void count(string_view) except +
        void commit() except +
        void clear() except +
        const WordTable& words()
        const vector[int64_t]& indptr()
        const vector[int32_t]& ids()
        const vector[int32_t]& counts()


_WORDS = re.compile(r"\w\w+")
_BREAKS = str.maketrans("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " " * 10)

#: Folded stretches. Longer ones hardly ever come twice (a paragraph without spaces).
cdef dict _CACHE = {}
cdef size_t CACHED_BYTES = 64
cdef Py_ssize_t CACHED_ENTRIES = 1 << 16

#: Counters that nobody uses; their memory is worth keeping. One for each thread at most.
cdef list _SPARE = []


class WordCounts(NamedTuple):
    """The words of some documents, numbered among themselves.

    Attributes
    ----------
    indptr : (n + 1,) int64
        n good documents; bad ones are left out.
    ids, counts : (nnz,) int32
        Distinct words of each document in order of first occurrence, and how often. Words are
        numbered by first sight over all the documents.
    words : bytes
        The words in UTF-8, one after the other.
    ends : (number of words,) int64
        Where each of them ends.
    bad : list of (int, str)
        Position and reason ("NUL", "not UTF-8") of each bad document.
    """

    indptr: np.ndarray
    ids: np.ndarray
    counts: np.ndarray
    words: bytes
    ends: np.ndarray
    bad: list


cdef class _Counter:
    cdef WordCounter it


def count_words(documents, pattern=None):
    """Count the words of some documents.

    Stateless, and most of the work is done without the interpreter's lock: threads may count
    different documents at the same time.

    Parameters
    ----------
    documents : sequence of bytes
        UTF-8.
    pattern : compiled regular expression, optional
        What a token is, on the normalised, casefolded text (line breaks read as blanks); by
        default two word characters or more. Needs the interpreter's lock throughout.

    Returns
    -------
    WordCounts

    Raises
    ------
    MemoryError
    """
    cdef _Counter counter = _SPARE.pop() if _SPARE else _Counter()
    cdef tuple held = tuple(documents)  # nobody else can let go of them
    cdef vector[string_view] views
    cdef vector[Verdict] verdicts
    cdef Py_ssize_t i
    cdef bytes document
    verdicts.resize(len(held))
    if pattern is None:
        for document in held:
            views.push_back(_view(document))
        with nogil:
            for i in range(<Py_ssize_t>views.size()):
                verdicts[i] = counter.it.add(views[i], _fold)
    else:
        for i, document in enumerate(held):
            verdicts[i] = _search(counter, document, pattern)
    bad = []
    for i in range(len(held)):
        if verdicts[i] != Verdict.good:
            bad.append((i, "NUL" if verdicts[i] == Verdict.has_nul else "not UTF-8"))
    cdef const WordTable* words = &counter.it.words()
    result = WordCounts(
        _int64s(counter.it.indptr()),
        _int32s(counter.it.ids()),
        _int32s(counter.it.counts()),
        words.bytes().data()[:words.bytes().size()],
        _int64s(words.ends()),
        bad,
    )
    counter.it.clear()
    _SPARE.append(counter)
    return result


cdef class Dictionary:
    """Words by number, in order of first sight.

    Parameters
    ----------
    words : sequence of str, optional
        The only words that are known. Without it every word is new once.
    """

    cdef WordTable table
    cdef bint closed

    def __init__(self, words=None):
        if words is not None:
            for word in words:
                spelled = word.encode("utf-8")
                self.table.insert(_view(spelled), hash_word(_view(spelled)))
            self.closed = True

    def __len__(self):
        return self.table.size()

    def words(self, int32_t first=0):
        """The words by id, from the given one on: list of str."""
        cdef const char* start = self.table.bytes().data()
        cdef int64_t begin = self.table.ends()[first - 1] if first > 0 else 0
        cdef int64_t end
        cdef int32_t i
        found = []
        for i in range(first, self.table.size()):
            end = self.table.ends()[i]
            found.append(start[begin:end].decode("utf-8"))
            begin = end
        return found

    def place(self, bytes words, const int64_t[::1] ends):
        """Look words up; unless the dictionary is closed, new ones get the next ids.

        Parameters
        ----------
        words : bytes
            UTF-8, one after the other.
        ends : (n,) int64
            Where each ends.

        Returns
        -------
        (n,) int32
            Their ids; -1 for words that a closed dictionary does not know.
        """
        cdef const char* start = PyBytes_AS_STRING(words)
        cdef Py_ssize_t n = ends.shape[0]
        cdef Py_ssize_t i
        cdef vector[string_view] views
        cdef vector[uint32_t] hashes
        ids = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] out = ids
        views.reserve(n)
        hashes.reserve(n)
        for i in range(n):
            views.push_back(string_view(start + (ends[i - 1] if i else 0),
                                        ends[i] - (ends[i - 1] if i else 0)))
            hashes.push_back(hash_word(views[i]))
        for i in range(n):
            if i + 8 < n:
                self.table.prefetch(hashes[i + 8])
            if self.closed:
                out[i] = self.table.find(views[i], hashes[i])
            else:
                out[i] = self.table.insert(views[i], hashes[i])
        return ids


cdef inline string_view _view(bytes text) noexcept:
    return string_view(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef _int64s(const vector[int64_t]& values):
    cdef int64_t[::1] out
    array = np.empty(values.size(), dtype=np.int64)
    if values.size() > 0:
        out = array
        memcpy(&out[0], values.data(), values.size() * sizeof(int64_t))
    return array


cdef _int32s(const vector[int32_t]& values):
    cdef int32_t[::1] out
    array = np.empty(values.size(), dtype=np.int32)
    if values.size() > 0:
        out = array
        memcpy(&out[0], values.data(), values.size() * sizeof(int32_t))
    return array


cdef Verdict _fold(string_view stretch, string& tokens) noexcept with gil:
    try:
        raw = stretch.data()[:stretch.size()]
        found = _CACHE.get(raw)
        if found is None:
            text = unicodedata.normalize("NFC", raw.decode("utf-8")).casefold()
            found = "".join([word + "\n" for word in _WORDS.findall(text)]).encode("utf-8")
            if len(raw) <= CACHED_BYTES:
                if len(_CACHE) >= CACHED_ENTRIES:
                    _CACHE.clear()
                _CACHE[raw] = found
        tokens.append(PyBytes_AS_STRING(found), PyBytes_GET_SIZE(found))
    except UnicodeDecodeError:
        return Verdict.not_utf8
    except MemoryError:
        return Verdict.no_memory
    return Verdict.good


cdef Verdict _search(_Counter counter, bytes document, pattern) except *:
    if b"\0" in document:
        return Verdict.has_nul
    try:
        text = document.decode("utf-8")
    except UnicodeDecodeError:
        return Verdict.not_utf8
    text = unicodedata.normalize("NFC", text).casefold().translate(_BREAKS)
    for word in pattern.findall(text):
        if word:
            spelled = word.encode("utf-8")
            counter.it.count(_view(spelled))
    counter.it.commit()
    return Verdict.good


def tally(const int32_t[::1] indices, const int32_t[::1] counts,
          int64_t[::1] documents, int64_t[::1] tokens):
    """Add entries to document frequencies and corpus counts, both indexed by word id, in place."""
    cdef Py_ssize_t i
    for i in range(indices.shape[0]):
        documents[indices[i]] += 1
        tokens[indices[i]] += counts[i]


cdef inline const uint8_t* _number(const uint8_t* p, const uint8_t* end, int64_t* value) noexcept:
    """Read one decimal number after blanks; NULL unless it is one of at most 18 digits."""
    cdef int digits = 0
    cdef int64_t total = 0
    while p < end and (p[0] == 32 or p[0] == 9):
        p += 1
    while p < end and p[0] == 48:
        p += 1
        digits = 1
    cdef const uint8_t* first = p
    while p < end and 48 <= p[0] <= 57:
        if p - first >= 18:
            return NULL
        total = 10 * total + (p[0] - 48)
        p += 1
    if digits == 0 and p == first:
        return NULL
    value[0] = total
    return p


def parse_triples(bytes block, int64_t last, int64_t documents, int64_t words):
    """Parse lines "document word count" of a UCI bag-of-words file.

    Parameters
    ----------
    block : bytes
        Whole lines.
    last : int
        The smallest document id that may come now.
    documents, words : int
        The largest ids that may come at all.

    Returns
    -------
    documents : (n,) int64
        Never decreasing.
    words : (n,) int32
        Counted from 0.
    counts : (n,) int32
        At least 1.
    wrong : int
        Position in the block of the first line that is not three such numbers, where parsing
        stopped; -1 if all are. A blank line counts as wrong.
    """
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(block)
    cdef const uint8_t* end = p + PyBytes_GET_SIZE(block)
    cdef Py_ssize_t lines = block.count(b"\n") + 1
    found_documents = np.empty(lines, dtype=np.int64)
    found_words = np.empty(lines, dtype=np.int32)
    found_counts = np.empty(lines, dtype=np.int32)
    cdef int64_t[::1] d = found_documents
    cdef int32_t[::1] w = found_words
    cdef int32_t[::1] c = found_counts
    cdef int64_t document = 0
    cdef int64_t word = 0
    cdef int64_t count = 0
    cdef Py_ssize_t n = 0
    cdef Py_ssize_t wrong = -1
    while p < end:
        p = _number(p, end, &document)
        if p == NULL or p == end or (p[0] != 32 and p[0] != 9):
            wrong = n
            break
        p = _number(p, end, &word)
        if p == NULL or p == end or (p[0] != 32 and p[0] != 9):
            wrong = n
            break
        p = _number(p, end, &count)
        if p == NULL:
            wrong = n
            break
        while p < end and (p[0] == 32 or p[0] == 9 or p[0] == 13):
            p += 1
        if ((p < end and p[0] != 10) or document < last or document < 1 or document > documents
                or word < 1 or word > words or word > 2147483647
                or count < 1 or count > 2147483647):
            wrong = n
            break
        p += 1
        d[n] = document
        w[n] = <int32_t>(word - 1)
        c[n] = <int32_t>count
        last = document
        n += 1
    return found_documents[:n], found_words[:n], found_counts[:n], wrong
