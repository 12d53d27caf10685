"""Decompression of bzip2 files by several threads.

A bzip2 stream is a header, blocks of at most 900 kB before compression, and an end with a checksum
of all blocks. A block may begin at any bit. It begins with a mark of 48 bits, which hardly ever
occur by chance. The data between two marks becomes a separate stream that a thread decompresses. If
that fails (damage, the end of a truncated file, a mark by chance), one ordinary decompressor reads
the rest of the stream, as without threads, so that a single function detects errors in bzip2 data.
"""

from __future__ import annotations

import bz2
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_BLOCK, _END = 0x314159265359, 0x177245385090
_MARK = (1 << 48) - 1
_WORD = 0xFFFFFFFF
_POLYNOMIAL = 0x04C11DB7
#: Maximum size of a compressed block in bytes.
_LONGEST = 2**20


#: A block begins with six fixed bytes, and the end of a stream with six others. Both are called
#: marks, and may begin at any bit of a byte. This table is True for each pair of bytes that can be
#: the second and third byte of a mark. The search for marks skips all other pairs.
_TABLE = np.zeros(2**16, np.bool_)
_TABLE[[m << (8 - shift) >> 32 & 0xFFFF for m in (_BLOCK, _END) for shift in range(8)]] = True


class Rest(NamedTuple):
    """Part of a bzip2 stream that is left for a decompressor without threads.

    Attributes
    ----------
    data : bytes
        Data that was read and is not decompressed yet.
    given : int or None
        None if the member has ended. Else `data` begins a stream that one decompressor can read to
        the member's end, and this number of bytes of its output was yielded already.
    """

    data: bytes
    given: int | None


class ParallelBzip2(ExitStack):
    """Reader of a bzip2 file; several threads decompress blocks before they are needed.

    Parameters
    ----------
    raw : callable
        ``raw(n)`` reads at most n bytes, none at the end.
    threads : int
    step : int
        Maximum number of bytes in one piece of output.
    begun : int
        Number of bytes of the file that other code has read before.
    """

    def __init__(
        self, raw: Callable[[int], bytes], threads: int, step: int, begun: int = 0
    ) -> None:
        super().__init__()
        self._raw, self._step, self._most = raw, step, threads + 2
        self._pool = ThreadPoolExecutor(threads, "sgmc-bzip2")
        self.callback(self._pool.shutdown, cancel_futures=True)
        self._read = begun  # Number of bytes of the file that were read so far.
        self._window = b""  # Bytes of the file in memory, which end with the last byte read.
        self._marks: dict[int, int] = {}  # Kind of each mark. The keys are positions in bits.
        self._searched = 0  # Number of bytes of the file that were searched so far.
        self._jobs: dict[int, Future[_Block]] = {}  # Decompressed blocks, by position in bits.
        self._header = b""

    def raw(self, size: int) -> bytes:
        """Read the next bytes of the compressed file, at most ``size``."""
        data = self._raw(size)
        self._read += len(data)
        return data

    def member(self, data: bytes) -> Generator[bytes, None, Rest]:
        """Yield the output of a bzip2 stream, decompressed by threads; return the data after it.

        Parameters
        ----------
        data : bytes
            The data that was read last; the stream begins with it.
        """
        self._window = data
        start = self._read - len(data)
        position = first = 8 * (start + 4)
        checksum = n_bytes = 0
        header = b""
        while True:
            # Data before position `needed` (in bits) are no longer used.
            needed = position if header else 8 * start
            self._window = self._from(needed // 8)
            self._marks = {bit: kind for bit, kind in self._marks.items() if bit >= needed}
            for bit in [bit for bit in self._jobs if bit < needed]:
                del self._jobs[bit]
            self._prepare()
            header = header or self._window[:4]
            kind = self._marks.get(position)
            if kind == _END and self._bits(position + 48, 32) == checksum:
                return Rest(self._from((position + 80 + 7) // 8), None)
            job = self._jobs.pop(position, None)
            if job is None:
                break
            block = job.result()
            for piece in block.pieces(self._step):
                n_bytes += len(piece)
                yield piece
            if not block.engine.eof:  # The block is incomplete or damaged.
                break
            checksum = ((checksum << 1 | checksum >> 31) & _WORD) ^ block.checksum
            position, n_bytes = block.end, 0
        if position == first:
            return Rest(self._window, n_bytes)
        return self._resumed(header, position, checksum, n_bytes)

    # -- positions of blocks ------------------------------------------------------------------

    def _from(self, place: int) -> bytes:
        return self._window[len(self._window) - (self._read - place) :]

    def _bits(self, bit: int, count: int) -> int | None:
        """Return ``count`` bits from bit ``bit`` on as a number; None beyond the file's end."""
        end = bit + count
        piece = self._from(bit // 8)[: (end + 7) // 8 - bit // 8]
        if 8 * (bit // 8 + len(piece)) < end:
            return None
        return int.from_bytes(piece, "big") >> -end % 8 & ((1 << count) - 1)

    def _prepare(self) -> None:
        """Read the file until every thread has a block to decompress."""
        most = self._most * _LONGEST
        while True:
            self._search()
            if len(self._marks) > self._most or len(self._window) > most:
                break
            data = self.raw(_LONGEST)
            if not data:
                break
            self._window += data
        for begin, end in pairwise(list(self._marks)):
            if len(self._jobs) >= self._most:
                return
            if self._marks[begin] == _END or begin in self._jobs:
                continue
            place = begin // 8
            piece = self._from(place)[: (end + 7) // 8 - place]
            if begin % 8 == 0 and place - 4 >= self._read - len(self._window):
                # If the block is the first of a stream, the four bytes before it are the stream's
                # header.
                header = self._from(place - 4)[:4]
                if header.startswith(b"BZh"):
                    self._header = header
            job = self._pool.submit(_Block, piece, self._header, begin, end, self._step)
            self._jobs[begin] = job

    def _search(self) -> None:
        start = max(self._searched, self._read - len(self._window))
        data = self._from(start)
        places = []
        for odd in (0, 1):
            # `pairs[i]` has the second and third byte of a mark that would begin in byte
            # 2 i + `odd` of `data`.
            count = max(0, len(data) - 7 - odd) // 2 + 1 if len(data) >= 7 + odd else 0
            pairs = np.frombuffer(data, ">u2", count, 1 + odd) if count else np.zeros(0, ">u2")
            places += (2 * np.flatnonzero(_TABLE[pairs]) + odd).tolist()
        for place in sorted(places):
            bits = int.from_bytes(data[place : place + 7], "big")
            for shift in range(8):
                mark = bits >> (8 - shift) & _MARK
                if mark in (_BLOCK, _END):
                    self._marks[8 * (start + place) + shift] = mark
        self._searched = max(start, self._read - 6)

    # -- decompressing the rest without threads --------------------------------------------------

    def _resumed(self, header: bytes, bit: int, checksum: int, n_bytes: int) -> Rest:
        """Return the rest of the stream as a valid bzip2 stream, which any decompressor can read.

        A small block is inserted before the rest, so that the checksum at the end of the stream is
        correct.
        """
        content, made_up = _with_checksum(header, checksum, bit % 8)
        data = self._from(bit // 8)
        if bit % 8 and data:
            joint = made_up[-1] | (data[0] & (0xFF >> bit % 8))
            made_up, data = made_up[:-1] + bytes([joint]), data[1:]
        return Rest(made_up + data, len(content) + n_bytes)


class _Block:
    """A block of a bzip2 stream, decompressed by a separate decompressor.

    The first piece of the output is decompressed at once, the others when they are requested.
    """

    def __init__(self, piece: bytes, header: bytes, begin: int, end: int, step: int) -> None:
        """Decompress the first piece of the block that occupies the bits ``begin`` to ``end``.

        ``piece`` has the bytes of the file that contain these bits.
        """
        shift, length = begin % 8, end - begin
        data: npt.NDArray[np.uint8] = np.frombuffer(piece + b"\0", np.uint8)
        if shift:
            data = (data[:-1] << np.uint8(shift)) | (data[1:] >> np.uint8(8 - shift))
        whole, over = divmod(length, 8)
        self.checksum, self.end = int.from_bytes(data[6:10].tobytes(), "big"), end
        tail = (int(data[whole]) >> (8 - over)) << 80 | _END << 32 | self.checksum
        padding = -(over + 80) % 8
        footer = (tail << padding).to_bytes((over + 80 + padding) // 8, "big")
        self.engine = bz2.BZ2Decompressor()
        self._first: bytes | None = None
        with suppress(OSError):
            self._first = self.engine.decompress(header + data[:whole].tobytes() + footer, step)

    def pieces(self, step: int) -> Generator[bytes, None, None]:
        """Yield the decompressed block in pieces, and stop silently at the first error."""
        piece = self._first
        while piece is not None:
            if piece:
                yield piece
            if self.engine.eof or self.engine.needs_input:
                return
            try:
                piece = self.engine.decompress(b"", step)
            except OSError:
                return


# -- a small block with a chosen checksum ----------------------------------------------------


def _with_checksum(header: bytes, checksum: int, bits: int) -> tuple[bytes, bytes]:
    """Return a short text with the given bzip2 checksum, and the bzip2 stream of this text.

    Parameters
    ----------
    header : bytes
        Header of the stream.
    checksum : int
    bits : int
        Number of bits used in the stream's last byte (0: all of them); the other bits are zero.

    Returns
    -------
    content, stream : bytes
        `stream` is `content` compressed.
    """
    for filler in range(2**16):
        # The number of bits in the last byte depends on the length more than on the bytes.
        content = filler.to_bytes(2, "big") + bytes(filler % 11)
        register = _WORD  # bzip2's checksum of `content`
        for byte in content:
            register ^= byte << 24
            for _ in range(8):
                register = (register << 1 ^ (_POLYNOMIAL if register >> 31 else 0)) & _WORD
        # The checksum must become `checksum` after four more bytes. They are found by reversing 32
        # steps of the checksum.
        remainder = checksum ^ _WORD
        for _ in range(32):
            remainder = (
                (remainder ^ _POLYNOMIAL) >> 1 | 1 << 31 if remainder & 1 else remainder >> 1
            )
        content += (remainder ^ register).to_bytes(4, "big")
        stream = int.from_bytes(bz2.compress(content, int(header[3:])), "big")
        padding = next(n for n in range(8) if stream >> (32 + n) & _MARK == _END)
        # `bit_length` does not count the first bit of the stream's header, which is 0, so add 1.
        size = stream.bit_length() - 80 - padding + 1
        if size % 8 == bits:
            stream = stream >> (80 + padding) << -size % 8
            return content, stream.to_bytes((size + 7) // 8, "big")
    raise AssertionError("no short bzip2 stream has the requested number of bits")
