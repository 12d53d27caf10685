# cython: language_level=3
"""Removal of MediaWiki markup from texts, by cpp/text/wikitext.hpp.

The methods are described in _wikitext.pyi. This is a separate module, so that reading a dump does
not need the compiled kernels of training.
"""

from cpython.bytes cimport PyBytes_AsStringAndSize
from libcpp.string cimport string
from libcpp.vector cimport vector


cdef extern from * nogil:
    cppclass string_view "std::string_view":
        string_view()
        string_view(const char*, size_t)
        size_t size()


cdef extern from "wikitext.hpp" namespace "sgmc::text" nogil:
    cppclass Names:
        void insert(string) except +
    cppclass Entities:
        string& operator[](string) except +
    cppclass Wiki:
        Wiki() except +
        Names files
        Names categories
        Entities entities
    size_t strip_page "sgmc::text::strip"(const Wiki&, string_view, char*, size_t&) except +


cdef class Stripper:
    # This is a pointer, because a C++ member that runs out of memory in its constructor ends the
    # process.
    cdef Wiki* wiki

    def __cinit__(self, **kwargs):
        self.wiki = new Wiki()

    def __dealloc__(self):
        del self.wiki

    def __init__(self, *, files, categories, entities):
        cdef string name
        for name in _encoded(files):
            self.wiki.files.insert(name)
        for name in _encoded(categories):
            self.wiki.categories.insert(name)
        for entity, text in entities:
            spelled = text.encode()
            if len(spelled) > len(entity.encode()) + 2:
                raise ValueError(f"entities: '{entity}' stands for more bytes than &{entity};")
            self.wiki.entities[entity.encode()] = spelled

    def strip(self, list documents not None):
        cdef tuple held = tuple(documents)  # keep the documents alive, which never change
        cdef vector[string_view] sources
        cdef vector[size_t] ends
        cdef vector[char] text
        cdef size_t i, total = 0, end = 0, work = 0
        for document in held:
            sources.push_back(_view(document))
            total += sources.back().size()
        text.resize(total)
        ends.resize(sources.size())
        with nogil:
            for i in range(sources.size()):
                end += strip_page(self.wiki[0], sources[i], text.data() + end, work)
                ends[i] = end
        return [text.data()[ends[i - 1] if i else 0 : ends[i]] for i in range(ends.size())]

    def work(self, bytes document not None):
        cdef vector[char] text
        cdef size_t work = 0
        text.resize(len(document))
        strip_page(self.wiki[0], _view(document), text.data(), work)
        return work


cdef list _encoded(names):
    return [name.encode() for name in names]


cdef string_view _view(document) except *:
    cdef char* data
    cdef Py_ssize_t size
    PyBytes_AsStringAndSize(document, &data, &size)
    return string_view(data, size)
