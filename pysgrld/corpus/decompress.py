"""Compressed files as streams of blocks: bounded output, every member, nothing after the last.

The file objects of the standard library are not used because they say nothing of garbage after a
stream (bz2, xz) or of a stream that ends early (zstd).
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import zstandard

from pysgrld.errors import SgmcError

if TYPE_CHECKING:
    from pysgrld.corpus.bzip2 import ParallelBzip2

#: Most bytes that one step may give, however much a bomb would.
STEP = 2**20

#: A dictionary or window of more than this is refused, because it would be allocated as claimed.
WINDOW = 2**27


class DamagedStreamError(Exception):
    """A compressed stream that is damaged; the message says how, `advice` what to do."""

    advice = "fetch or write it again"


class StreamTooLargeError(DamagedStreamError):
    """A stream that holds more than was allowed."""

    advice = "allow more with --max-input if it is no bomb"


_KINDS: dict[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=31)),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
    b"\xfd7zXZ": ("xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=2 * WINDOW)),
    b"\x28\xb5\x2f\xfd": (
        "zstd",
        lambda: zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj(),
    ),
}

_LONGEST_MAGIC = max(map(len, _KINDS))


def blocks(
    raw: Callable[[int], bytes], threads: int = 1, limit: int | None = None
) -> Generator[bytes, None, None]:
    """Decompress, by what the first bytes say; what is not compressed is passed on.

    Parameters
    ----------
    raw : callable
        ``raw(n)`` reads at most n bytes of the file, none at its end.
    threads : int
        Threads that decompress bzip2, at least 1. Everything else has to be read in order, and so
        by one; whoever reads may do that on a thread of its own.
    limit : int, optional
        Most bytes that may come out.

    Yields
    ------
    bytes
        Never empty; at most about `STEP` bytes (zstd: some 16 times that in the worst case). The
        same, cut elsewhere, for any number of threads.

    Raises
    ------
    DamagedStreamError
        If a stream is damaged, ends early, or is followed by something else.
    StreamTooLargeError
        If more than `limit` bytes would come out.
    """
    size = 0
    for block in _decompressed(raw, threads):
        size += len(block)
        if limit is not None and size > limit:
            raise StreamTooLargeError(f"the data expands to more than {limit} bytes")
        yield block


def _decompressed(raw: Callable[[int], bytes], threads: int) -> Iterator[bytes]:
    head = raw(STEP)
    while head and len(head) < _LONGEST_MAGIC and (more := raw(STEP)):
        head += more  # a pipe gives what it has
    for magic, (kind, new) in _KINDS.items():
        if not head.startswith(magic):
            continue
        if kind == "bzip2":
            from pysgrld.corpus.bzip2 import ParallelBzip2

            with ParallelBzip2(raw, threads, STEP, len(head)) as ahead:
                yield from _members(kind, magic, new, head, ahead.raw, ahead)
        else:
            yield from _members(kind, magic, new, head, raw)
        return
    while head:
        yield head
        head = raw(STEP)


def _members(
    kind: str,
    magic: bytes,
    new: Callable[[], Any],
    data: bytes,
    raw: Callable[[int], bytes],
    ahead: ParallelBzip2 | None = None,
) -> Iterator[bytes]:
    while True:
        try:
            rest = yield from _member(kind, new, data, raw, ahead)
        except SgmcError:
            raise  # of the file itself, not of what is in it
        except (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, EOFError) as error:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DamagedStreamError(f"the {kind} data is damaged ({why})") from None
        while not (data := rest.lstrip(b"\0")):  # padding with zeros is legal
            rest = raw(STEP)
            if not rest:
                return
        while len(data) < len(magic) and (more := raw(STEP)):
            data += more
        if not data.startswith(magic):
            raise DamagedStreamError(f"something that is not {kind} follows the {kind} data")


def _member(
    kind: str,
    new: Callable[[], Any],
    data: bytes,
    raw: Callable[[int], bytes],
    ahead: ParallelBzip2 | None,
) -> Generator[bytes, None, bytes]:
    """Decompress one member; returns the bytes after it."""
    given = 0  # bytes that another way has given already
    if ahead is not None:
        data, rest = yield from ahead.member(data)
        if rest is None:
            return data
        given = rest
    one = _one(kind, new(), data, raw)
    while True:
        try:
            block = next(one)
        except StopIteration as end:
            after: bytes = end.value
            return after
        lost = min(given, len(block))
        given -= lost
        if lost < len(block):
            yield block[lost:]


def _one(
    kind: str, engine: Any, data: bytes, raw: Callable[[int], bytes]
) -> Generator[bytes, None, bytes]:
    """Decompress one member; returns the bytes after it."""
    # zstd has no limit on its output, and expands at most about 32,000 times
    portion = 512 if kind == "zstd" else STEP
    pending = memoryview(data)
    while not engine.eof:
        if not len(pending):
            pending = memoryview(raw(STEP))
            if not len(pending):
                raise DamagedStreamError(f"the {kind} data ends early; the file was cut off")
        piece, pending = bytes(pending[:portion]), pending[portion:]
        if kind == "zstd":
            out = engine.decompress(piece)
            if out:
                yield out
        elif kind == "gzip":
            while True:
                out = engine.decompress(piece, STEP)
                if out:
                    yield out
                piece = engine.unconsumed_tail
                if engine.eof or (not piece and len(out) < STEP):
                    break
        else:
            out = engine.decompress(piece, STEP)
            if out:
                yield out
            while not engine.eof and not engine.needs_input:
                out = engine.decompress(b"", STEP)
                if out:
                    yield out
    unused: bytes = engine.unused_data
    return unused + bytes(pending)
