# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Text to word counts: the inner loop of reading text.

A token is what ``re.findall(r"\w\w+", unicodedata.normalize("NFC", text).casefold())`` finds.
The text is cut at ASCII characters that are no word characters. That cannot change a token: no
composition reaches across them (only ``<``, ``=`` and ``>`` compose with a mark at all, and neither
they nor what they become are word characters), and casefolding looks at one character at a time.
So a stretch of pure ASCII is folded and hashed byte by byte, and only stretches that hold other
characters, words like ``café``, go through Python's Unicode tables, once each (a cache).
"""

import re
import unicodedata

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy

cdef enum:
    SEPARATOR = 0
    WORD = 1
    HIGH = 2
    NUL = 3

cdef enum:
    GOOD = 0
    HAS_NUL = 1
    NOT_UTF8 = 2

cdef uint8_t[256] KIND
cdef uint8_t[256] LOWER

_WORDS = re.compile(r"\w\w+")
_BREAKS = str.maketrans("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " " * 10)
_REASONS = {HAS_NUL: "NUL", NOT_UTF8: "not UTF-8"}

#: Longer stretches hardly ever come twice (a paragraph without spaces), so they are not cached.
cdef Py_ssize_t CACHED_BYTES = 64
cdef Py_ssize_t CACHED_ENTRIES = 1 << 16


cdef void _fill_tables() noexcept:
    cdef int c
    for c in range(256):
        LOWER[c] = c
        KIND[c] = SEPARATOR
        if c >= 128:
            KIND[c] = HIGH
        elif 65 <= c <= 90:
            KIND[c] = WORD
            LOWER[c] = c + 32
        elif 97 <= c <= 122 or 48 <= c <= 57 or c == 95:
            KIND[c] = WORD
    KIND[0] = NUL


_fill_tables()


cdef struct Slot:
    uint32_t hash
    int32_t id


cdef void* _resized(void* old, size_t size) except NULL:
    cdef void* new = realloc(old, size)
    if new == NULL:
        raise MemoryError("the dictionary of words does not fit in memory")
    return new


cdef class Tokenizer:
    """A dictionary of words, and the counts of documents over it.

    Parameters
    ----------
    words : sequence of str, optional
        The only words that are known; others are counted in `unknown` and dropped. Without it
        every word is new once and gets the next id: ids are in first-seen order.
    pattern : compiled regular expression, optional
        What a token is, on the normalised, casefolded text (line breaks read as blanks); by
        default two word characters or more.

    Attributes
    ----------
    unknown : int
        Tokens so far that were not among the given words.
    """

    cdef Slot* table
    cdef uint32_t mask
    cdef uint8_t* arena          # the words' bytes, one after the other
    cdef int64_t arena_room
    cdef int64_t* ends           # ends[i]: where word i ends in the arena; word i begins at ends[i-1]
    cdef int64_t* slots          # slots[i]: where word i was last counted; see _count
    cdef int32_t size
    cdef int32_t room
    cdef bint frozen
    cdef uint8_t* scratch
    cdef Py_ssize_t scratch_room
    cdef int32_t* ids            # of the batch under way
    cdef int32_t* counts
    cdef int64_t batch_size
    cdef int64_t batch_room
    cdef int64_t batch_start     # number of entries of all batches before: makes `slots` ageless
    cdef int64_t document_start
    cdef readonly int64_t unknown
    cdef object pattern
    cdef dict cache

    def __cinit__(self):
        cdef Py_ssize_t i
        self.room = 1 << 12
        self.ends = <int64_t*>malloc(self.room * sizeof(int64_t))
        self.slots = <int64_t*>malloc(self.room * sizeof(int64_t))
        self.mask = (1 << 13) - 1
        self.table = <Slot*>malloc((<size_t>self.mask + 1) * sizeof(Slot))
        self.arena_room = 1 << 16
        self.arena = <uint8_t*>malloc(self.arena_room)
        self.batch_room = 1 << 16
        self.ids = <int32_t*>malloc(self.batch_room * sizeof(int32_t))
        self.counts = <int32_t*>malloc(self.batch_room * sizeof(int32_t))
        self.scratch_room = 1 << 12
        self.scratch = <uint8_t*>malloc(self.scratch_room)
        if (self.ends == NULL or self.slots == NULL or self.table == NULL or self.arena == NULL
                or self.ids == NULL or self.counts == NULL or self.scratch == NULL):
            raise MemoryError
        for i in range(<Py_ssize_t>self.mask + 1):
            self.table[i].id = -1

    def __dealloc__(self):
        free(self.table)
        free(self.arena)
        free(self.ends)
        free(self.slots)
        free(self.scratch)
        free(self.ids)
        free(self.counts)

    def __init__(self, words=None, pattern=None):
        self.pattern = pattern
        self.cache = {}
        if words is not None:
            for word in words:
                self._find_bytes(word.encode("utf-8"))
            self.frozen = True

    def __len__(self):
        return self.size

    def words(self):
        """The words by id: list of str."""
        cdef int32_t i
        cdef int64_t start = 0
        found = []
        for i in range(self.size):
            found.append(self.arena[start:self.ends[i]].decode("utf-8"))
            start = self.ends[i]
        return found

    def add(self, list documents):
        """Count the words of some documents.

        Parameters
        ----------
        documents : list of bytes
            UTF-8.

        Returns
        -------
        indptr : (n + 1,) int64
            n good documents; bad ones are left out.
        indices, counts : (nnz,) int32
            Distinct word ids of each document in order of first occurrence, and how often.
        bad : list of (int, str)
            Position and reason ("NUL", "not UTF-8") of each bad document.
        """
        cdef int64_t[::1] indptr
        cdef int32_t[::1] out
        cdef Py_ssize_t good = 0
        cdef int64_t unknown
        cdef int verdict
        self.batch_start += self.batch_size
        self.batch_size = 0
        ends = np.zeros(len(documents) + 1, dtype=np.int64)
        indptr = ends
        bad = []
        for position, document in enumerate(documents):
            unknown = self.unknown
            self.document_start = self.batch_size
            if self.pattern is None:
                verdict = self._scan(document)
            else:
                verdict = self._search(document)
            if verdict == GOOD:
                good += 1
                indptr[good] = self.batch_size
            else:
                self.batch_start += self.batch_size - self.document_start
                self.batch_size = self.document_start
                self.unknown = unknown
                bad.append((position, _REASONS[verdict]))
        indices = np.empty(self.batch_size, dtype=np.int32)
        counts = np.empty(self.batch_size, dtype=np.int32)
        if self.batch_size > 0:
            out = indices
            memcpy(&out[0], self.ids, self.batch_size * sizeof(int32_t))
            out = counts
            memcpy(&out[0], self.counts, self.batch_size * sizeof(int32_t))
        return ends[:good + 1], indices, counts, bad

    cdef int _scan(self, bytes document) except -1:
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(document)
        cdef Py_ssize_t length = PyBytes_GET_SIZE(document)
        cdef const uint8_t* end = p + length
        cdef const uint8_t* start
        cdef uint8_t* low
        cdef uint32_t h
        cdef uint8_t c
        if length > self.scratch_room:
            self.scratch = <uint8_t*>_resized(self.scratch, length)
            self.scratch_room = length
        while p < end:
            c = KIND[p[0]]
            if c == SEPARATOR:
                p += 1
                continue
            if c == NUL:
                return HAS_NUL
            start = p
            low = self.scratch
            h = 2166136261u
            while p < end and KIND[p[0]] == WORD:
                low[0] = LOWER[p[0]]
                h = (h ^ low[0]) * 16777619u
                low += 1
                p += 1
            if p < end and KIND[p[0]] == HIGH:
                while p < end and (KIND[p[0]] == WORD or KIND[p[0]] == HIGH):
                    p += 1
                if self._unicode(PyBytes_FromStringAndSize(<const char*>start, p - start)) != GOOD:
                    return NOT_UTF8
            elif p - start > 1:
                self._count(self._find(self.scratch, p - start, h))
        return GOOD

    cdef int _unicode(self, bytes stretch) except -1:
        cdef int32_t id
        ids = self.cache.get(stretch)
        if ids is None:
            try:
                text = stretch.decode("utf-8")
            except UnicodeDecodeError:
                return NOT_UTF8
            text = unicodedata.normalize("NFC", text).casefold()
            ids = [self._find_bytes(word.encode("utf-8")) for word in _WORDS.findall(text)]
            if len(stretch) <= CACHED_BYTES:
                if len(self.cache) >= CACHED_ENTRIES:
                    self.cache.clear()
                self.cache[stretch] = ids
        for id in ids:
            self._count(id)
        return GOOD

    cdef int _search(self, bytes document) except -1:
        if b"\0" in document:
            return HAS_NUL
        try:
            text = document.decode("utf-8")
        except UnicodeDecodeError:
            return NOT_UTF8
        text = unicodedata.normalize("NFC", text).casefold().translate(_BREAKS)
        for word in self.pattern.findall(text):
            if word:
                self._count(self._find_bytes(word.encode("utf-8")))
        return GOOD

    cdef int _count(self, int32_t id) except -1:
        # slots[id] is the entry, over all batches, where the word was last counted; it belongs to
        # this document if it is not before the document's first entry. Nothing is ever reset.
        cdef int64_t here
        if id < 0:
            self.unknown += 1
            return 0
        here = self.slots[id] - self.batch_start
        if here >= self.document_start:
            self.counts[here] += 1
            return 0
        if self.batch_size == self.batch_room:
            self.ids = <int32_t*>_resized(self.ids, 2 * self.batch_room * sizeof(int32_t))
            self.counts = <int32_t*>_resized(self.counts, 2 * self.batch_room * sizeof(int32_t))
            self.batch_room *= 2
        self.slots[id] = self.batch_start + self.batch_size
        self.ids[self.batch_size] = id
        self.counts[self.batch_size] = 1
        self.batch_size += 1
        return 0

    cdef int32_t _find_bytes(self, bytes word) except -2:
        cdef uint32_t h = 2166136261u
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(word)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(word)
        cdef Py_ssize_t i
        for i in range(n):
            h = (h ^ p[i]) * 16777619u
        return self._find(p, n, h)

    cdef int32_t _find(self, const uint8_t* word, Py_ssize_t n, uint32_t h) except -2:
        """The id of a word; -1 if it is unknown and the dictionary is closed."""
        cdef uint32_t at
        cdef int32_t id
        cdef int64_t start
        h ^= h >> 15                  # FNV's low bits alone are weak
        h *= 0x85ebca6bu
        h ^= h >> 13
        at = h & self.mask
        while self.table[at].id >= 0:
            if self.table[at].hash == h:
                id = self.table[at].id
                start = self.ends[id - 1] if id > 0 else 0
                if self.ends[id] - start == n and memcmp(self.arena + start, word, n) == 0:
                    return id
            at = (at + 1) & self.mask
        if self.frozen:
            return -1
        return self._insert(word, n, h)

    cdef int32_t _insert(self, const uint8_t* word, Py_ssize_t n, uint32_t h) except -2:
        cdef int64_t start = self.ends[self.size - 1] if self.size > 0 else 0
        cdef int64_t room = self.arena_room
        cdef uint32_t at
        if self.size == self.room:
            if self.room >= 1 << 30:
                raise MemoryError("more than 2^30 distinct words")
            self.ends = <int64_t*>_resized(self.ends, 2 * <size_t>self.room * sizeof(int64_t))
            self.slots = <int64_t*>_resized(self.slots, 2 * <size_t>self.room * sizeof(int64_t))
            self.room *= 2
            self._grow_table()
        while start + n > room:
            room *= 2
        if room > self.arena_room:
            self.arena = <uint8_t*>_resized(self.arena, room)
            self.arena_room = room
        memcpy(self.arena + start, word, n)
        self.ends[self.size] = start + n
        self.slots[self.size] = -1
        at = h & self.mask
        while self.table[at].id >= 0:
            at = (at + 1) & self.mask
        self.table[at].hash = h
        self.table[at].id = self.size
        self.size += 1
        return self.size - 1

    cdef int _grow_table(self) except -1:
        # Kept at most half full: `room` words need 2 * room places.
        cdef size_t places = 2 * <size_t>self.room
        cdef size_t i
        cdef uint32_t at
        cdef Slot* old = self.table
        cdef size_t old_places = <size_t>self.mask + 1
        cdef Slot* new = <Slot*>malloc(places * sizeof(Slot))
        if new == NULL:
            raise MemoryError("the dictionary of words does not fit in memory")
        for i in range(places):
            new[i].id = -1
        self.mask = <uint32_t>(places - 1)
        for i in range(old_places):
            if old[i].id >= 0:
                at = old[i].hash & self.mask
                while new[at].id >= 0:
                    at = (at + 1) & self.mask
                new[at] = old[i]
        self.table = new
        free(old)
        return 0


def tally(const int32_t[::1] indices, const int32_t[::1] counts,
          int64_t[::1] documents, int64_t[::1] tokens):
    """Add entries to document frequencies and corpus counts, both indexed by word id, in place."""
    cdef Py_ssize_t i
    for i in range(indices.shape[0]):
        documents[indices[i]] += 1
        tokens[indices[i]] += counts[i]
