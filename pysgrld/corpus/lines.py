"""Reader of a file or of standard input, which decompresses the data and converts it to UTF-8.

The size of decompressed blocks is bounded, every member of a compressed file is read, and data
after the last member is an error. The file objects of the standard library are not used because
they do not report garbage after a stream (bz2, xz) or a stream that ends early (zstd).
"""

from __future__ import annotations

import bz2
import codecs
import hashlib
import io
import lzma
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zstandard

from pysgrld.errors import CorpusError, SgmcError
from pysgrld.options.paths import STDIN, Kind, open_input, path_error, path_kind

if TYPE_CHECKING:
    from pysgrld.corpus.bzip2 import ParallelBzip2

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
UTF8 = "utf-8"
#: Number of bytes at the start of a file from which its format is detected.
HEAD = 2**16
#: Number of lines at the start of a pipe from which its format is detected.
HEAD_LINES = 4

_BOM = b"\xef\xbb\xbf"
#: Name of an error handler for decoding. It replaces malformed bytes by bytes that are invalid in
#: UTF-8, so that the tokeniser detects them later.
_MALFORMED = "pysgrld.malformed"
codecs.register_error(_MALFORMED, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]


class Lines(ExitStack):
    """Reader of a file or standard input, which yields decompressed blocks of bytes or of lines.

    Parameters
    ----------
    path : str or Path
        "-" is standard input.
    max_line : int
        Maximum length of a line in bytes.
    on_read : callable, optional
        Called with the number of bytes after each read of the file.
    threads : int
        Maximum number of threads that decompress.
    max_input : int, optional
        Maximum number of decompressed bytes.
    encoding : str
        Encoding of the file. The text is converted to UTF-8; malformed text stays malformed.

    Attributes
    ----------
    label : str
        Name of the input in messages.
    name : str
        File name without the suffix of its compression; empty for standard input.
    path : Path or None
    head : bytes
        About the first 64 KiB, or the first few lines of a pipe, without a byte-order mark.
    line : int
        Number of lines that were read completely.
    is_utf8 : bool
        True if another encoding was given, but all data read so far is UTF-8 and not only ASCII.
    """

    def __init__(
        self,
        path: str | Path,
        max_line: int,
        on_read: Callable[[int], None] | None = None,
        threads: int = 1,
        max_input: int | None = None,
        encoding: str = UTF8,
    ) -> None:
        super().__init__()
        self.max_line, self.on_read, self.line = max_line, on_read, 0
        self.file: io.RawIOBase
        self._digest, self.is_utf8 = hashlib.sha256(), False
        if str(path) == "-":
            self.label, self.name, self.path = STDIN, "", None
        else:
            self.label, self.name, self.path = str(path), plain_name(path), Path(path)
        self.file = open_input(path)
        self.callback(self.file.close)
        try:
            self._blocks = blocks(self._raw, threads, max_input)
            if encoding != UTF8:
                self._blocks = self._as_utf8(self._blocks, encoding)
            if regular := size_of(str(path)) is not None:
                self._blocks = _even(self._blocks)
            self.callback(self._blocks.close)
            # A read from a pipe returns only the bytes that are ready. So the head of a pipe is
            # measured in lines, not bytes. Its size then does not depend on timing, and the head is
            # soon complete even if lines arrive slowly.
            begun = b""
            while len(begun) < HEAD and (regular or begun.count(b"\n") < HEAD_LINES):
                if not (block := self._next()):
                    break
                begun += block
            self.head = self._begun = begun.removeprefix(_BOM)
            if not regular:
                lines = self.head[:HEAD].splitlines(keepends=True)
                self.head = b"".join(lines[:HEAD_LINES])
            # In files of old Macs, lines end with a carriage return.
            self._only_cr = b"\n" not in self.head and b"\r" in self.head
            if self._only_cr and b"\0" not in self.head:
                self.head = self.head.replace(b"\r", b"\n")
        except BaseException:
            self.close()
            raise

    def _raw(self, size: int) -> bytes:
        try:
            data: bytes = self.file.read(size) or b""
        except OSError as error:
            raise path_error(self.label, error) from None
        self._digest.update(data)
        if self.on_read is not None:
            self.on_read(len(data))
        return data

    def digest(self) -> str:
        """Read the rest of the file; return the SHA-256 of the whole file as stored on disk."""
        self.on_read = None  # Bytes that are only hashed do not count as progress.
        while self._raw(STEP):
            pass
        return self._digest.hexdigest()

    def _as_utf8(
        self, blocks: Generator[bytes, None, None], encoding: str
    ) -> Generator[bytes, None, None]:
        """Convert text from an encoding to UTF-8; record whether the text was UTF-8 already."""
        decoder = codecs.getincrementaldecoder(encoding)(_MALFORMED)
        guess, valid, beyond = codecs.getincrementaldecoder(UTF8)(), True, False
        with closing(blocks):
            try:
                for block in blocks:
                    if valid:
                        try:
                            beyond |= not guess.decode(block).isascii()
                        except UnicodeError:
                            valid = False
                    self.is_utf8 = valid and beyond
                    if text := decoder.decode(block):
                        yield text.encode(UTF8, "surrogatepass")
                if text := decoder.decode(b"", True):
                    yield text.encode(UTF8, "surrogatepass")
            # Without its byte order, text in UTF-16 or UTF-32 cannot be decoded.
            except UnicodeError:
                yield "\udcff".encode(UTF8, "surrogatepass")

    def _next(self) -> bytes:
        try:
            return next(self._blocks, b"")
        except DamagedStreamError as error:
            raise CorpusError(f"{error}; {error.advice}", self.label, self.line + 1) from None

    def blocks(self) -> Iterator[bytes]:
        """Yield the whole content in non-empty blocks of bytes."""
        block, self._begun = self._begun, b""
        while block:
            yield block
            block = self._next()

    def lines(self, bad: Callable[[str, str, str, int | None], None]) -> Iterator[bytes]:
        """Yield blocks of whole lines; `line` is the number of lines before the yielded block.

        Parameters
        ----------
        bad : callable
            Called for each line above the limit; the line is left out if the call returns.

        Yields
        ------
        bytes
            One line or more, each with its newline, which the last line of the file may lack. Empty
            if a line was left out; `line` counts that line already.
        """
        parts: list[bytes] = []
        size = 0
        lost = False  # True after the start of a line that is too long, until its end is read
        for block in self.blocks():
            if self._only_cr:
                block = block.replace(b"\r", b"\n")
            cut = block.find(b"\n") + 1
            if not lost and size + (cut - 1 if cut else len(block)) > self.max_line:
                self._too_long(bad)
                parts, size, lost = [], 0, True
            if lost:
                if not cut:
                    continue
                lost, block = False, block[cut:]
                self.line += 1
                yield b""
            end = block.rfind(b"\n") + 1
            if end:
                parts.append(block[:end])
                whole = b"".join(parts)
                parts, size = [], 0
                yield from self._without_long(whole, bad)
            if end < len(block):
                parts.append(block[end:])
                size += len(block) - end
        if parts:
            yield from self._without_long(b"".join(parts), bad)
        if lost:
            self.line += 1
            yield b""

    def _too_long(self, bad: Callable[[str, str, str, int | None], None]) -> None:
        message = (
            f"the line has more than {self.max_line} bytes; allow longer lines with --set "
            "max-line=SIZE"
        )
        bad("line too long", message, self.label, self.line + 1)

    def _without_long(
        self, whole: bytes, bad: Callable[[str, str, str, int | None], None]
    ) -> Iterator[bytes]:
        # Yield several lines together, as long as their total length is within the limit.
        start = 0
        while start < len(whole):
            stop = start + self.max_line
            end = len(whole) if len(whole) <= stop else whole.rfind(b"\n", start, stop + 1) + 1
            if end:
                yield whole[start:end]
                self.line += whole.count(b"\n", start, end)
            else:
                end = whole.find(b"\n", stop) + 1 or len(whole)
                self._too_long(bad)
                self.line += 1
                yield b""
            start = end


def _even(blocks: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
    """Resize blocks to `STEP` bytes, so that they do not depend on the number of threads."""
    rest = b""
    with closing(blocks):
        try:
            for block in blocks:
                rest = rest + block if rest else block
                while len(rest) >= STEP:
                    yield rest[:STEP]
                    rest = rest[STEP:]
        except DamagedStreamError:
            if rest:
                yield rest  # The bytes before the damage are valid.
            raise
    if rest:
        yield rest


def size_of(path: str) -> int | None:
    """Return the size of a regular file in bytes; None for a folder, a pipe or standard input.

    Parameters
    ----------
    path : str
        Path as typed; "-" is standard input.

    Returns
    -------
    int or None
        Size in bytes.
    """
    if path == "-":
        return None
    return Path(path).stat().st_size if path_kind(path) is Kind.FILE else None


def plain_name(path: str | Path) -> str:
    """Return the name of a file without its folder and its compression suffix, such as ``.gz``.

    Parameters
    ----------
    path : str or Path
        Path of an input.

    Returns
    -------
    str
        The name.
    """
    return without_suffix(Path(path).name, COMPRESSED)


def without_suffix(name: str, suffixes: tuple[str, ...]) -> str:
    """Remove the first of the given suffixes with which a file name ends, if any.

    Parameters
    ----------
    name : str
        Name of a file.
    suffixes : tuple of str
        Suffixes in order; only the first match is removed.

    Returns
    -------
    str
        The name, unchanged without a match.
    """
    for suffix in suffixes:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def undecodable(encoding: str) -> str:
    """Return the error message for text that is invalid in the given encoding."""
    if encoding != UTF8:
        return f"this is not valid {encoding}; choose another --encoding"
    return (
        "this is not UTF-8 (if the whole file has another encoding, give --encoding windows-1252 "
        "for Western text and Excel's CSV, windows-1251 for Cyrillic, gb18030 for Chinese, "
        "shift_jis for Japanese)"
    )


# ---- compressed streams

#: Maximum number of bytes that one step of decompression yields, even for a malicious file. Only
#: zstd may yield more.
STEP = 2**20

#: Maximum size of an xz dictionary in bytes. Without a maximum, xz would allocate any size that a
#: file claims to need.
DICTIONARY = 2**27
#: Maximum size in bytes of the window of a zstd stream. Dumps of Reddit need 2^31. The window takes
#: memory only as it fills.
WINDOW = 2**31


class DamagedStreamError(Exception):
    """Error for a damaged compressed stream; `advice` is a remedy for the user."""

    advice = "download or export the file again"


class NeedsDictionaryError(DamagedStreamError):
    """Error for a zstd stream that needs a separate dictionary file for decompression."""

    advice = "decompress it with zstd -d -D DICTIONARY, and give the decompressed file"


class StreamTooLargeError(DamagedStreamError):
    """Error for a stream that decompresses to more bytes than allowed."""

    advice = "if you trust the file, allow more with --set max-input=SIZE"


_KINDS: dict[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=31)),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
    b"\xfd7zXZ": ("xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=2 * DICTIONARY)),
    b"\x28\xb5\x2f\xfd": (
        "zstd",
        lambda: zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj(),
    ),
}

_LONGEST_MAGIC = max(map(len, _KINDS))
#: Pattern of the magic number of a zstd frame without content.
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
#: Size in bytes of the header of a zstd frame without content.
_SKIPPABLE_HEAD = 8


def blocks(
    raw: Callable[[int], bytes], threads: int = 1, limit: int | None = None
) -> Generator[bytes, None, None]:
    """Decompress data in a format detected from the first bytes; yield other data unchanged.

    Parameters
    ----------
    raw : callable
        ``raw(n)`` reads at most n bytes of the file, none at its end.
    threads : int
        Number of threads that decompress bzip2, at least 1. Data of other formats has to be
        decompressed in order, and so on the caller's thread.
    limit : int, optional
        Maximum number of decompressed bytes.

    Yields
    ------
    bytes
        Never empty; at most about `STEP` bytes (zstd: about 16 times that in the worst case). The
        number of threads may change the bounds of blocks, but not the data.

    Raises
    ------
    DamagedStreamError
        If a stream is damaged, ends early, or is followed by other data.
    StreamTooLargeError
        If the data expands to more than `limit` bytes.
    """
    size = 0
    for block in _decompressed(raw, threads):
        size += len(block)
        if limit is not None and size > limit:
            raise StreamTooLargeError(f"the data expands to more than {limit} bytes")
        yield block


def _decompressed(raw: Callable[[int], bytes], threads: int) -> Iterator[bytes]:
    head = raw(STEP)
    while head and len(head) < _LONGEST_MAGIC and (chunk := raw(STEP)):
        head += chunk  # A read of a pipe may return fewer bytes than a magic number has.
    head = _after_skippable(head, raw)
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


def _after_skippable(data: bytes, raw: Callable[[int], bytes]) -> bytes:
    """Skip frames of zstd without content, which some programs write; return the data after them.

    Raises
    ------
    DamagedStreamError
        If a frame ends early.
    """
    while _SKIPPABLE.match(data):
        while len(data) < _SKIPPABLE_HEAD and (chunk := raw(STEP)):
            data += chunk
        n_to_skip = _SKIPPABLE_HEAD + int.from_bytes(data[4:_SKIPPABLE_HEAD], "little")
        while n_to_skip > len(data):
            n_to_skip -= len(data)
            if not (data := raw(STEP)):
                raise DamagedStreamError("the zstd data is incomplete")
        data = data[n_to_skip:] or raw(STEP)
        while data and len(data) < _LONGEST_MAGIC and (chunk := raw(STEP)):
            data += chunk
    return data


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
            raise  # The file could not be read, but its data may be intact.
        except (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, EOFError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            if kind == "zstd" and "dictionary" in reason.lower():
                raise NeedsDictionaryError("the zstd data was made with a dictionary") from None
            raise DamagedStreamError(f"the {kind} data is damaged ({reason})") from None
        # A stream may be followed by zeros, which are skipped.
        while not (data := rest.lstrip(b"\0")):
            rest = raw(STEP)
            if not rest:
                return
        if kind == "zstd" and not (data := _after_skippable(data, raw).lstrip(b"\0")):
            return
        while len(data) < len(magic) and (chunk := raw(STEP)):
            data += chunk
        if not data.startswith(magic):
            raise DamagedStreamError(f"the {kind} data is followed by other data")


def _member(
    kind: str,
    new: Callable[[], Any],
    data: bytes,
    raw: Callable[[int], bytes],
    ahead: ParallelBzip2 | None,
) -> Generator[bytes, None, bytes]:
    """Decompress a stream, by several threads if possible; return the bytes after the stream."""
    n_sent = 0  # Number of bytes that the threads have yielded so far.
    if ahead is not None:
        data, rest = yield from ahead.member(data)
        if rest is None:
            return data
        n_sent = rest
    one = _one(kind, new(), data, raw)
    while True:
        try:
            block = next(one)
        except StopIteration as end:
            after: bytes = end.value
            return after
        lost = min(n_sent, len(block))
        n_sent -= lost
        if lost < len(block):
            yield block[lost:]


def _one(
    kind: str, engine: Any, data: bytes, raw: Callable[[int], bytes]
) -> Generator[bytes, None, bytes]:
    """Decompress a stream on the calling thread; return the bytes after the stream."""
    # One step of zstd yields up to about 32,000 times its input, so each step gets little input.
    portion = 512 if kind == "zstd" else STEP
    pending = memoryview(data)
    while not engine.eof:
        if not len(pending):
            pending = memoryview(raw(STEP))
            if not len(pending):
                raise DamagedStreamError(f"the {kind} data is incomplete")
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
