"""Lossless compression of large arrays in the files of checkpoints.

An array is divided into blocks of rows. In a block, the values are ordered by column, and their
bytes by significance: columns of padding, exponents and repeated values of a column are then runs of
equal bytes. All blocks of an array form one zstd frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import zstandard

from pysgrld.run.files import PIECE, Buffer, read_into
from pysgrld.types import Array

#: Minimum size in bytes of an array that is compressed. Smaller arrays are stored uncompressed.
LEAST = 1 << 16
#: Maximum compression ratio. A reader refuses a larger ratio, so that a small file cannot demand
#: much memory. The frame of an array that compresses better is padded.
MOST = 8
#: Size in bytes of a block, unless a single row is larger.
_BLOCK = 1 << 20
#: Compression level of zstd. Higher levels make a state only 1 % smaller.
_LEVEL = 1
#: Magic number of a zstd frame that decompressors skip.
_SKIPPABLE = b"\x50\x2a\x4d\x18"
#: Maximum window size of a zstd frame in bytes. A reader allocates this amount of memory.
_WINDOW = 1 << 23


def compute_packed_size(array: Array) -> int | None:
    """Return the compressed size of an array in bytes, or None if it is stored uncompressed.

    Parameters
    ----------
    array : ndarray

    Returns
    -------
    int or None
    """
    if array.nbytes < LEAST:
        return None
    size = sum(map(len, pack(array)))
    return size if size < array.nbytes else None


def pack(array: Array) -> Iterator[bytes]:
    """Compress an array, and yield the zstd frame in pieces.

    Parameters
    ----------
    array : ndarray
        A contiguous array of little-endian numbers.

    Yields
    ------
    bytes
    """
    size = 0
    for piece in _compress(array):
        size += len(piece)
        yield piece
    yield from _pad(-(-array.nbytes // MOST) - size)


def _pad(size: int) -> Iterator[bytes]:
    """Yield skippable zstd frames of at least ``size`` bytes in total."""
    while size > 0:
        room = min(max(0, size - 8), PIECE)
        yield _SKIPPABLE + room.to_bytes(4, "little") + bytes(room)
        size -= room + 8


def _compress(array: Array) -> Iterator[bytes]:
    engine = zstandard.ZstdCompressor(level=_LEVEL).compressobj(size=array.nbytes)
    for block in _split_blocks(array):
        columns = np.ascontiguousarray(block.T).reshape(-1).view(np.uint8)
        planes = np.ascontiguousarray(columns.reshape(-1, array.itemsize).T)
        yield engine.compress(planes.reshape(-1).data)
    yield engine.flush()


def unpack(fd: int, start: int, stop: int, array: Array, tell: Callable[[Buffer], None]) -> None:
    """Decompress a zstd frame, which is a part of a file, into an array.

    Parameters
    ----------
    fd : int
        Descriptor of the open file.
    start, stop : int
        Position of the frame in bytes.
    array : ndarray
        A contiguous array, which is overwritten.
    tell : callable
        Takes all bytes of the frame, in pieces.

    Raises
    ------
    ValueError
        If the frame is damaged, or does not have the size of the array.
    OSError, EOFError
        If the file cannot be read, or is too short.
    """
    source: Any = _Part(fd, start, stop, tell)
    engine = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        with engine.stream_reader(source, read_size=_BLOCK) as reader:
            for block in _split_blocks(array):
                planes = np.empty((array.itemsize, block.size), np.uint8)
                _fill(reader.readinto, planes.reshape(-1).data)
                columns = np.ascontiguousarray(planes.T).reshape(-1).view(array.dtype)
                block[...] = columns.reshape(block.shape[::-1]).T
            if reader.read(1):
                raise ValueError("the decompressed data is longer than the array")
    except zstandard.ZstdError as error:
        raise ValueError(f"the data cannot be decompressed ({error})") from None
    while source.read(PIECE):
        pass  # Read to the end, so that all bytes are passed to `tell`.


class _Part:
    """Readable part of a file; the bytes of each read are also passed to the function ``tell``."""

    def __init__(self, fd: int, start: int, stop: int, tell: Callable[[Buffer], None]) -> None:
        self._fd, self._start, self._stop, self._tell = fd, start, stop, tell

    def read(self, size: int) -> bytes:
        """Return the next bytes of the part, at most ``size``; no bytes at its end."""
        piece = bytearray(max(0, min(size, self._stop - self._start)))
        read_into(self._fd, memoryview(piece), self._start)
        self._start += len(piece)
        self._tell(piece)
        return bytes(piece)


def _fill(readinto: Callable[[memoryview], int], view: memoryview) -> None:
    while view:
        count = readinto(view)
        if not count:
            raise ValueError("the decompressed data is shorter than the array")
        view = view[count:]


def _split_blocks(array: Array) -> Iterator[Array]:
    """Yield the blocks of an array as matrices that share the array's memory."""
    width = array[0].size if array.ndim > 1 and array[0].nbytes <= _BLOCK else 1
    rows = array.reshape(-1, width)
    step = _BLOCK // (width * array.itemsize)
    for start in range(0, len(rows), step):
        yield rows[start : start + step]
