# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Conversion of texts to word counts by the built-in tokeniser or a pattern.

A token is a run of word characters (``\w``) with the combining marks that follow them. It is
spelled as `pysgrld.options.spelling.fold` returns it, and has at least two characters. The text is
split at ASCII characters that are not word characters. Splitting there cannot change a token: no
composition reaches across such a character (only ``<``, ``=`` and ``>`` compose with a mark at all,
and neither they nor the results are word characters), casefolding looks at one character at a time,
and a mark needs a letter before it. Between two splits, characters are folded one by one, with
tables derived from Python's, as long as it is certain that normalisation would change nothing;
otherwise Python normalises the text first. All of this is in cpp/text, which needs the
interpreter's lock only to get a page of the tables, or to normalise.

Chinese and Japanese have no blanks between words. Only in their scripts, tokens are defined
otherwise: a run of ideographs gives each pair of neighbouring ideographs, or the ideograph itself
if it is the only one; a run of one syllabary (Hiragana or Katakana) ends where another script
begins.
"""

from typing import NamedTuple

import numpy as np

from pysgrld.corpus import characters

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.string cimport memchr, memcpy, strncmp
from libcpp cimport bool
from libcpp.string cimport string
from libcpp.vector cimport vector

include "_arrays.pxi"


cdef extern from * nogil:
    cppclass string_view "std::string_view":
        string_view()
        string_view(const char*, size_t)
        const char* data()
        size_t size()


cdef extern from "characters.hpp" namespace "sgmc::text" nogil:
    cppclass Page:
        pass


cdef extern from "word_table.hpp" namespace "sgmc::text" nogil:
    cppclass Key:
        Key(string_view)
    cppclass WordTable:
        WordTable() except +
        int32_t size()
        const vector[char]& bytes()
        const vector[int64_t]& ends()
        int32_t find(string_view, Key)
        int32_t insert(string_view, Key) except +
        void prefetch(Key)


cdef extern from "phrases.hpp" namespace "sgmc::text" nogil:
    cppclass _Phrases "sgmc::text::Phrases":
        _Phrases() except +
        void add(string_view) except +
    cppclass PairCounts:
        PairCounts(size_t) except +
        void add(const int32_t*, size_t, const int32_t*, const uint8_t*, bool) except +
        size_t size()
        uint32_t lacking()
        void frequent(uint32_t, vector[int32_t]&, vector[int32_t]&, vector[int64_t]&) except +

cdef extern from "word_counter.hpp" namespace "sgmc::text" nogil:
    cdef enum class Verdict:
        good
        has_nul
        not_utf8
        failed
    cppclass Unicode:
        void* self
        bool (*page)(void*, uint32_t, Page&) noexcept
        bool (*normalise)(void*, string_view, string&) noexcept
    cppclass WordCounter:
        WordCounter() except +
        void in_order(const _Phrases*, bool)
        const vector[int32_t]& order()
        Verdict add(string_view, const Unicode&) except +
        void count(string_view) except +
        void commit() except +
        void clear() except +
        const WordTable& words()
        const vector[int64_t]& indptr()
        const vector[int32_t]& ids()
        const vector[int32_t]& counts()


_BREAKS = str.maketrans("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " " * 10)

#: Counters that no thread uses at the moment. They are kept, so that their memory is reused.
cdef list _SPARE = []


class WordCounts(NamedTuple):
    """Word counts of documents, with word ids that are valid in this result only.

    Attributes
    ----------
    indptr : (n + 1,) int64
        Bounds in ``ids`` and ``counts`` of the n good documents; bad documents are left out.
    ids, counts : (nnz,) int32
        Distinct words of each document in order of first occurrence, and their counts. Words are
        numbered in order of first occurrence in all documents.
    words : bytes
        The words in UTF-8, one after the other.
    ends : (number of words,) int64
        End of each word in ``words``.
    bad : list of (int, str)
        Position and reason ("NUL", "not UTF-8") of each bad document.
    order : (n,) int32 or None
        Ids of the words of good documents in the order of the text. Between two words that are not
        neighbours there is -1: at the end of a sentence or a document, or at a word of one letter.
    """

    indptr: np.ndarray
    ids: np.ndarray
    counts: np.ndarray
    words: bytes
    ends: np.ndarray
    bad: list
    order: np.ndarray = None


cdef class _Counter:
    # This is a pointer, because a C++ member that runs out of memory in its constructor ends the
    # process.
    cdef WordCounter* it
    cdef object error  # exception that stopped the counter

    def __cinit__(self):
        self.it = new WordCounter()

    def __dealloc__(self):
        del self.it


cdef class Phrases:
    """Phrases that count as one word each; several threads may use them at the same time.

    The longest phrase that begins at a word is matched.

    Parameters
    ----------
    phrases : iterable of str
        Words as the tokeniser writes them, separated by single blanks.
    """

    cdef _Phrases* it  # a pointer, as in `_Counter`

    def __cinit__(self, *args):
        self.it = new _Phrases()

    def __dealloc__(self):
        del self.it

    def __init__(self, phrases):
        for phrase in phrases:
            spelled = phrase.encode("utf-8")
            self.it.add(_view(spelled))


def count_words(documents, pattern=None, Phrases phrases=None, bint order=False):
    """Count the words of the given documents.

    The function keeps no state, and does most of the work without the interpreter's lock, so that
    threads can count different documents at the same time.

    Parameters
    ----------
    documents : sequence of bytes
        UTF-8.
    pattern : compiled regular expression, optional
        Pattern of a token in the normalised, casefolded text (line breaks are read as blanks); by
        default two word characters or more. Counting with a pattern holds the interpreter's lock
        throughout, and does not record the order of words.
    phrases : Phrases, optional
        Phrases that count as one word each.
    order : bool
        Whether to keep the sequence of words.

    Returns
    -------
    WordCounts

    Raises
    ------
    MemoryError
    """
    cdef _Counter counter = _SPARE.pop() if _SPARE else _Counter()
    cdef tuple held = tuple(documents)  # keep the documents alive while the lock is released
    cdef vector[string_view] views
    cdef vector[Verdict] verdicts
    cdef Unicode unicode
    cdef Py_ssize_t i
    cdef bytes document
    cdef const _Phrases* merged = NULL
    verdicts.resize(len(held))
    if phrases is not None or order:
        if phrases is not None:
            merged = phrases.it
        counter.it.in_order(merged, order)
    if pattern is None:
        for document in held:
            views.push_back(_view(document))
        unicode.self = <void*>counter
        unicode.page = _page
        unicode.normalise = _normalise
        with nogil:
            for i in range(<Py_ssize_t>views.size()):
                verdicts[i] = counter.it.add(views[i], unicode)
                if verdicts[i] == Verdict.failed:
                    break
        if counter.error is not None:
            raise counter.error
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
        _int32s(counter.it.order()) if order else None,
    )
    counter.it.clear()
    _SPARE.append(counter)
    return result


cdef class Dictionary:
    """Dictionary of words, which are numbered in the order of their first occurrence.

    Parameters
    ----------
    words : sequence of str, optional
        The words of a closed dictionary, to which no words are added. By default, unknown words are
        added.
    """

    cdef WordTable* table  # a pointer, as in `_Counter`
    cdef bint closed

    def __cinit__(self, *args, **kwargs):
        self.table = new WordTable()

    def __dealloc__(self):
        del self.table

    def __init__(self, words=None):
        if words is not None:
            for word in words:
                spelled = word.encode("utf-8")
                self.table.insert(_view(spelled), Key(_view(spelled)))
            self.closed = True

    def __len__(self):
        return self.table.size()

    def words(self, int32_t first=0):
        """Return a list of the words from id ``first`` on, in the order of their ids."""
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

    def place(self, bytes words not None, ends):
        """Return the ids of words, after adding new words if the dictionary is not closed.

        Parameters
        ----------
        words : bytes
            UTF-8, one after the other.
        ends : (n,) int64
            End of each word in ``words``.

        Returns
        -------
        (n,) int32
            Ids of the words; -1 for words that are not in a closed dictionary.
        """
        cdef const char* start = PyBytes_AS_STRING(words)
        cdef const int64_t* end = _int64(ends, READ)
        cdef Py_ssize_t n = len(ends)
        cdef Py_ssize_t i
        cdef int64_t begin
        cdef vector[string_view] views
        ids = np.empty(n, dtype=np.int32)
        cdef int32_t* out = _int32(ids, WRITE)
        views.reserve(n)
        for i in range(n):
            begin = end[i - 1] if i else 0
            views.push_back(string_view(start + begin, end[i] - begin))
        for i in range(n):
            if i + 8 < n:
                self.table.prefetch(Key(views[i + 8]))
            if self.closed:
                out[i] = self.table.find(views[i], Key(views[i]))
            else:
                out[i] = self.table.insert(views[i], Key(views[i]))
        return ids


cdef class Pairs:
    """Counter of pairs of neighbouring words, with bounded memory.

    Parameters
    ----------
    most : int
        Maximum number of different pairs in memory. If there are more, the rarest pairs are dropped.
    """

    cdef PairCounts* it  # a pointer, as in `_Counter`

    def __cinit__(self, size_t most):
        self.it = new PairCounts(most)

    def __dealloc__(self):
        del self.it

    @property
    def lacking(self):
        """Maximum amount by which a count may be too small."""
        return self.it.lacking()

    def add(self, order, ids, marked, bint mixed):
        """Count the pairs of neighbours in a sequence of words.

        Parameters
        ----------
        order : (n,) int32
            Words in text order, with -1 between two words that are not neighbours.
        ids : (w,) int32
            Id of each word in the counted pairs; -1 if pairs with the word are not counted.
        marked : (w,) uint8
            1 for marked words, 0 for other words.
        mixed : bool
            If True, count pairs with exactly one marked word; else pairs without a marked word.
        """
        if len(order) > 1:
            self.it.add(_int32(order, READ), len(order), _int32(ids, READ), _bytes(marked, READ),
                        mixed)

    def frequent(self, uint32_t least):
        """Return first word, second word and count of each pair that occurs at least ``least`` times."""
        cdef vector[int32_t] first, second
        cdef vector[int64_t] counts
        self.it.frequent(least, first, second, counts)
        return _int32s(first), _int32s(second), _int64s(counts)


cdef inline string_view _view(bytes text) noexcept:
    return string_view(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef _int64s(const vector[int64_t]& values):
    array = np.empty(values.size(), dtype=np.int64)
    if values.size() > 0:
        memcpy(_int64(array, WRITE), values.data(), values.size() * sizeof(int64_t))
    return array


cdef _int32s(const vector[int32_t]& values):
    array = np.empty(values.size(), dtype=np.int32)
    if values.size() > 0:
        memcpy(_int32(array, WRITE), values.data(), values.size() * sizeof(int32_t))
    return array


#: Bits for the signs of web content that `signs_in` finds in a text.
AMPERSAND, AT, LINK, GARBLED, SHORT, TAG = 1, 2, 4, 8, 16, 32


def signs_in(list texts not None, Py_ssize_t longest, bytes initials not None):
    """Find texts that contain signs of web content, such as entities, links or tags.

    Parameters
    ----------
    texts : list of bytes
    longest : int
        Maximum size of a short text in bytes, without the blanks around it.
    initials : bytes
        First bytes that the short texts to find may have.

    Returns
    -------
    list of (int, int)
        Index of each text that has a sign, and its signs as bits: `AMPERSAND`, `AT`, `LINK`,
        `GARBLED`, `SHORT`, `TAG`. An ampersand counts if a semicolon follows, as in an entity; a link
        has ``://`` or ``www.``; tags of HTML have ``</`` or ``<br``; garbled text has UTF-8 that
        was decoded as Latin-1, as in Ã©.
    """
    cdef list places = []
    cdef Py_ssize_t i
    cdef int signs
    for i in range(len(texts)):
        signs = _signs(<bytes?> texts[i], longest, initials)
        if signs:
            places.append((i, signs))
    return places


cdef int _signs(bytes text, Py_ssize_t longest, bytes initials):
    cdef const char* start = PyBytes_AS_STRING(text)
    cdef const char* end = start + PyBytes_GET_SIZE(text)
    cdef const char* last = end
    cdef int signs = 0
    if end - start < longest + 32:
        while start < last and _is_blank(start[0]):
            start += 1
        while start < last and _is_blank(last[-1]):
            last -= 1
        if start < last and last - start <= longest:
            if memchr(PyBytes_AS_STRING(initials), start[0], PyBytes_GET_SIZE(initials)) != NULL:
                signs |= 16
    if _has_entity(start, end):
        signs |= 1
    if _has(start, end, b"</", 2) or _has(start, end, b"<br", 3):
        signs |= 32
    if memchr(start, b"@", end - start) != NULL:
        signs |= 2
    # A NUL follows the last byte of a bytes object, so that no comparison reads beyond it.
    if _has(start, end, b"://", 3) or _has(start, end, b"www.", 4):
        signs |= 4
    if _has(start, end, b"\xc3\x83\xc2", 3) or _has(start, end, b"\xc3\xa2\xe2\x82\xac", 5):
        signs |= 8
    return signs


cdef bint _has_entity(const char* start, const char* end) noexcept:
    """Return True if a semicolon follows an ampersand within the length of the longest entity."""
    cdef const char* place = <const char*>memchr(start, b"&", end - start)
    while place != NULL:
        place += 1
        if memchr(place, b";", min(end - place, 40)) != NULL:
            return True
        place = <const char*>memchr(place, b"&", end - place)
    return False


cdef inline bint _is_blank(char c) noexcept:
    return c == 32 or 9 <= c <= 13


cdef bint _has(const char* start, const char* end, const char* sign, size_t size) noexcept:
    cdef const char* place = <const char*>memchr(start, sign[0], end - start)
    while place != NULL:
        if strncmp(place, sign, size) == 0:
            return True
        place += 1
        place = <const char*>memchr(place, sign[0], end - place)
    return False


cdef bool _page(void* self, uint32_t number, Page& page) noexcept with gil:
    cdef bytes rows
    try:
        rows = characters.page(number)
        if PyBytes_GET_SIZE(rows) != sizeof(Page):
            raise AssertionError("a page of characters is not what cpp/text takes it for")
        memcpy(&page, PyBytes_AS_STRING(rows), sizeof(Page))
    except BaseException as error:  # Control-C too, because C++ cannot raise it
        (<_Counter>self).error = error
        return False
    return True


cdef bool _normalise(void* self, string_view text, string& normal) noexcept with gil:
    cdef bytes spelled
    try:
        decoded = text.data()[:text.size()].decode("utf-8")
        spelled = characters.fold(decoded).encode("utf-8")
        normal.assign(PyBytes_AS_STRING(spelled), PyBytes_GET_SIZE(spelled))
    except BaseException as error:
        (<_Counter>self).error = error
        return False
    return True


cdef Verdict _search(_Counter counter, bytes document, pattern) except *:
    if b"\0" in document:
        return Verdict.has_nul
    try:
        text = document.decode("utf-8")
    except UnicodeDecodeError:
        return Verdict.not_utf8
    text = characters.fold(text).translate(_BREAKS)
    for word in pattern.findall(text):
        if word:
            spelled = word.encode("utf-8")
            counter.it.count(_view(spelled))
    counter.it.commit()
    return Verdict.good


def tally(indices, counts, documents, tokens):
    """Add the entries of documents to the numbers of documents and of tokens of each word, in place."""
    cdef Py_ssize_t i, n = len(indices)
    cdef const int32_t* word = _int32(indices, READ)
    cdef const int32_t* count = _int32(counts, READ)
    cdef int64_t* frequency = _int64(documents, WRITE)
    cdef int64_t* total = _int64(tokens, WRITE)
    for i in range(n):
        frequency[word[i]] += 1
        total[word[i]] += count[i]
