# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Many short pieces of a file, read by position into one buffer without the interpreter's lock.

A page of a mapped file that is gone (the file was cut, the disk is failing) ends the process by
SIGBUS; a read of it says so. Reading costs what gathering from mapped pages costs.
"""

from libc.errno cimport EINTR, errno
from posix.types cimport off_t
from posix.unistd cimport pread

include "_arrays.pxi"

cdef enum:
    ENDED = -1

#: What `gather` returns where the file ends before a piece does.
CUT = ENDED


def gather(int fd, starts, sizes, out):
    """Read the pieces, one after the other, into ``out``.

    Parameters
    ----------
    fd : int
    starts, sizes : (n,) int64
        Bytes: where each piece begins in the file, and how long it is.
    out : (sum of sizes,) uint8

    Returns
    -------
    int
        0, the number of the system's error, or `CUT`.

    Raises
    ------
    ValueError
        If the pieces do not fill ``out`` exactly.
    """
    cdef int64_t i, n = len(starts), room = len(out), total = 0, want = 0, at
    cdef const int64_t* start = _int64(starts, READ)
    cdef const int64_t* size = _int64(sizes, READ)
    cdef uint8_t* to = _bytes(out, WRITE)
    cdef Py_ssize_t got
    cdef int problem = 0
    if len(sizes) != n:
        raise ValueError("starts and sizes: one of each for every piece")
    for i in range(n):
        if start[i] < 0 or size[i] < 0 or size[i] > room - total:
            raise ValueError("the pieces do not fill the buffer")
        total += size[i]
    if total != room:
        raise ValueError("the pieces do not fill the buffer")
    with nogil:
        for i in range(n):
            at, want = start[i], size[i]
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
