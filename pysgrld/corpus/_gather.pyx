# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Reading of many short pieces of a file into one buffer, without the interpreter's lock.

The file is not memory-mapped. If a page of a mapped file is lost (the file was truncated, the disk
is failing), SIGBUS ends the process; reading the file returns an error instead, and takes as long as
copying from mapped pages.
"""

from libc.errno cimport EINTR, errno
from libc.string cimport memcpy
from posix.types cimport off_t
from posix.unistd cimport pread

include "_arrays.pxi"

cdef enum:
    ENDED = -1

#: Return value of `copy` and `gather` if a piece extends beyond the end of the data.
CUT = ENDED


cdef bint _fill(const int64_t* start, const int64_t* size, int64_t n, int64_t room) noexcept:
    """Return True if no start or size is negative, and the sum of the sizes is ``room``."""
    cdef int64_t i
    for i in range(n):
        if start[i] < 0 or size[i] < 0 or size[i] > room:
            return False
        room -= size[i]
    return room == 0


def copy(whole, starts, sizes, out):
    """Copy pieces of an array in memory, one after the other, into ``out``.

    Parameters
    ----------
    whole : (n,) uint8
    starts, sizes, out
        As for `gather`.

    Returns
    -------
    int
        0, or `CUT` if a piece extends beyond the end of ``whole``.

    Raises
    ------
    ValueError
        If the pieces do not fill ``out`` exactly.
    """
    cdef int64_t i, n = len(starts), end = len(whole)
    cdef const int64_t* start = _int64(starts, READ)
    cdef const int64_t* size = _int64(sizes, READ)
    cdef const uint8_t* begin = _bytes(whole, READ)
    cdef uint8_t* to = _bytes(out, WRITE)
    cdef int problem = 0
    if len(sizes) != n or not _fill(start, size, n, len(out)):
        raise ValueError("the pieces do not fill the buffer")
    with nogil:
        for i in range(n):
            if start[i] > end - size[i]:
                problem = ENDED
                break
            memcpy(to, begin + start[i], <size_t> size[i])
            to += size[i]
    return problem


def gather(int fd, starts, sizes, out):
    """Read pieces of a file, one after the other, into ``out``.

    Parameters
    ----------
    fd : int
    starts, sizes : (n,) int64
        Offset of each piece in the file and its size, in bytes.
    out : (sum of sizes,) uint8

    Returns
    -------
    int
        0, the ``errno`` of a failed read, or `CUT` if a piece extends beyond the end of the file.

    Raises
    ------
    ValueError
        If the pieces do not fill ``out`` exactly.
    """
    cdef int64_t i = 0, n = len(starts), want = 0, at
    cdef const int64_t* start = _int64(starts, READ)
    cdef const int64_t* size = _int64(sizes, READ)
    cdef uint8_t* to = _bytes(out, WRITE)
    cdef Py_ssize_t got
    cdef int problem = 0
    if len(sizes) != n or not _fill(start, size, n, len(out)):
        raise ValueError("the pieces do not fill the buffer")
    with nogil:
        while i < n:
            at, want = start[i], size[i]
            i += 1
            while i < n and start[i] == at + want:  # adjacent pieces are read together
                want += size[i]
                i += 1
            while want > 0 and problem == 0:
                got = pread(fd, to, <size_t> want, <off_t> at)
                if got > 0:
                    to += got
                    at += got
                    want -= got
                elif got == 0:
                    problem = ENDED
                elif errno != EINTR:
                    problem = errno
            if problem != 0:
                break
    return problem
