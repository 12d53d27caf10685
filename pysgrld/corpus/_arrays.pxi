# Pointers to the data of arrays. Typed memoryviews would do the same, but each module that uses one
# compiles 20,000 lines for it.

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBUF_WRITABLE,
    Py_buffer,
    PyBuffer_Release,
    PyObject_GetBuffer,
)


from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport strchr

cdef enum:
    READ = 0
    WRITE = PyBUF_WRITABLE


cdef void* _numbers(array, const char* codes, size_t size, int use) except? NULL:
    """Return a pointer to the first element of a contiguous vector, valid while the vector exists.

    ``codes`` has the accepted type codes (as in `struct`), ``size`` is the size of an element in
    bytes.
    """
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | use)
    try:
        if view.ndim != 1 or <size_t>view.itemsize != size or strchr(codes, view.format[0]) == NULL:
            raise ValueError(
                f"wanted a vector of {8 * size}-bit integers,"
                f" found {view.ndim} dimensions of {view.format.decode()!r}"
            )
        return view.buf
    finally:
        PyBuffer_Release(&view)


cdef int64_t* _int64(array, int use) except? NULL:
    return <int64_t*>_numbers(array, b"lq", sizeof(int64_t), use)


cdef int32_t* _int32(array, int use) except? NULL:
    return <int32_t*>_numbers(array, b"il", sizeof(int32_t), use)


cdef uint8_t* _bytes(array, int use) except? NULL:
    return <uint8_t*>_numbers(array, b"B?", sizeof(uint8_t), use)
