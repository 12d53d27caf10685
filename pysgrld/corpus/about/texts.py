"""Storage of the texts of documents, or of a sample of them, compressed with Zstandard.

A frame is a compressed unit that can be read alone; it has some whole texts, a few hundred
kilobytes. If the compressed size is limited, a document's text is kept as long as a hash of the
document's number is below a threshold, which is halved each time the limit is exceeded. The kept
texts are therefore a uniform sample of all texts, and do not depend on threads.
"""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import zstandard

from pysgrld.corpus.prefetch import submitted
from pysgrld.corpus.vectors import (
    TOGETHER,
    GrowingFile,
    Vector,
    add_member,
    between,
    changed,
    new_archive,
)
from pysgrld.types import Int64s

#: Size in bytes, before compression, at which a frame (a block of texts that are compressed
#: together) is complete.
FRAME = 2**18
#: Maximum size in bytes of a stored text. A file that claims to have a longer text is refused.
LONGEST = 2**26
#: Window size of Zstandard in bytes that the reader always allows. The writer's compression level 1
#: uses no larger window.
WINDOW = 2**20
#: Compression level of Zstandard. Level 3 would take 1.4 times as long for files that are 5 %
#: smaller.
LEVEL = 1
#: Maximum total size in bytes of the texts that wait to be compressed.
AHEAD = 8 * FRAME
#: Number of frames between two checks of the compressed size. A fixed number makes the result
#: independent of the threads' speed.
LOOKED = 16
#: Name of the archive member with all frames, one after another.
TEXT = "text.zst"
#: Name of the archive member with the end of each frame, in compressed and in uncompressed bytes.
FRAMES = "frames.npy"
#: Name of the archive member with the end of each text.
ENDS = "ends.npy"
#: Name of the archive member with the number of each text's document.
ROWS = "rows.npy"
#: Types of the values of each archive member.
MEMBERS = {TEXT: "u1", FRAMES: "<i8", ENDS: "<i8", ROWS: "<i8"}


def keys(numbers: Int64s) -> npt.NDArray[np.uint64]:
    """Return a pseudorandom 64-bit hash of each document number, by the finaliser of SplitMix64.

    Parameters
    ----------
    numbers : array of int64
        Positions of documents.

    Returns
    -------
    array of uint64
        A hash for each number: equal numbers have equal hashes.
    """
    x = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class _UnderWay(NamedTuple):
    """Block of texts (a frame) that is being compressed on another thread.

    Attributes
    ----------
    packed : Future of bytes
        The compressed frame.
    size : int
        Uncompressed size in bytes.
    ends : array of int64
        End of each text, counted from the start of all texts.
    rows : list of int
        Row number of each text's document.
    """

    packed: Future[bytes]
    size: int
    ends: Int64s
    rows: list[int]


class TextWriter:
    """Writer of texts to compressed frames, with a limit on the total compressed size.

    A separate thread compresses the frames.

    Parameters
    ----------
    folder : Path
        Folder to work in.
    limit : int or None
        Maximum size of the compressed texts in bytes.
    record : dict, optional
        State that `flush` returned, to continue from.
    """

    def __init__(
        self, folder: Path, limit: int | None, record: dict[str, Any] | None = None
    ) -> None:
        self.folder, self.limit = folder, limit
        self.halved: int = record["halved"] if record else 0
        sizes: dict[str, int] = record["sizes"] if record else {}
        self.files = self._files(sizes)
        self.end: int = record["end"] if record else 0
        self.frames = self.files[FRAMES].size // 2
        self._waiting: list[bytes] = []
        self._rows: list[int] = []
        self._size = 0
        self._engine = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self._pool = ThreadPoolExecutor(1, "texts")
        self._under_way: deque[_UnderWay] = deque()
        for path in folder.glob("text-*"):
            if record and not path.name.startswith(f"text-{self.halved}-"):
                # The process was killed while it removed half of the texts. The record does not
                # list this file, so delete it.
                path.unlink()
        if record and record["rows"]:
            self._rows = record["rows"]
            whole = base64.b64decode(record["waiting"])
            ends = np.cumsum(record["lengths"]).tolist()
            self._waiting = [whole[a:b] for a, b in zip([0, *ends], ends, strict=False)]
            self._size = len(whole)

    def _files(self, sizes: dict[str, int]) -> dict[str, GrowingFile]:
        return {
            name: GrowingFile(self.folder / f"text-{self.halved}-{name}", dtype, sizes.get(name))
            for name, dtype in MEMBERS.items()
        }

    def add(self, rows: Int64s, texts: Sequence[bytes | None]) -> None:
        """Add the texts of the next documents, except empty texts and texts that are too long."""
        chosen: Iterable[int] = range(len(rows))
        if self.halved:
            chosen = np.flatnonzero(keys(rows) < np.uint64(2 ** (64 - self.halved))).tolist()
        numbers = rows.tolist()
        for i in chosen:
            text = texts[i]
            if text and len(text) <= LONGEST:
                self._waiting.append(text)
                self._rows.append(numbers[i])
                self._size += len(text)
                if self._size >= FRAME:
                    self._frame()

    def _frame(self, *, last: bool = False) -> None:
        """Compress the added texts into a frame; above the size limit, drop half of all texts."""
        if self._waiting:
            ends = self.end + np.cumsum([len(text) for text in self._waiting])
            self.end += self._size
            packed = submitted(self._pool, self._engine.compress, b"".join(self._waiting))
            self._under_way.append(_UnderWay(packed, self._size, ends, self._rows))
            self.frames += 1
            self._waiting, self._rows, self._size = [], [], 0
            self._write(AHEAD)
        if last or self.frames % LOOKED == 0:
            self._write(0)
            while (
                self.limit is not None and self.files[TEXT].size > self.limit and self.halved < 63
            ):
                # The remaining texts are written to new files. The old files are kept until the new
                # files are recorded, because an interrupted reading resumes from the recorded
                # files.
                old = self.stored()
                self.halved += 1
                limit, self.limit = self.limit, None
                self.files, self.end, self.frames = self._files({}), 0, 0
                for rows, texts in old.all():
                    self.add(rows, texts)
                self._frame(last=True)
                self.limit = limit

    def add_stored(self, texts: StoredTexts, before: int) -> None:
        """Add all texts of a stored corpus, with the first document as row number ``before``.

        Raises
        ------
        CorpusError
            If the texts were changed since they were written.
        """
        self._frame(last=True)
        if self.halved:
            for rows, texts_of_rows in texts.all():
                self.add(before + rows, texts_of_rows)
            return
        if len(texts.frames) and int(texts.frames[-1, 0]) != texts.text.size:
            raise changed(texts.text.path)
        ends = texts.frames + np.array([self.files[TEXT].size, self.end])
        for block in texts.text.blocks():
            self.files[TEXT].append(block.tobytes())
        self.files[FRAMES].append(ends.ravel())
        for block in texts.ends.blocks():
            self.files[ENDS].append(self.end + block)
        for block in texts.rows.blocks():
            self.files[ROWS].append(before + block)
        self.frames = self.files[FRAMES].size // 2
        self.end = int(ends[-1, 1]) if len(ends) else self.end

    def _write(self, bytes_left: int) -> None:
        """Write compressed frames in order, until at most `bytes_left` bytes remain unwritten."""
        size = sum(frame.size for frame in self._under_way)
        while size > bytes_left:
            frame = self._under_way.popleft()
            size -= frame.size
            self.files[TEXT].append(frame.packed.result())
            self.files[FRAMES].append([self.files[TEXT].size, int(frame.ends[-1])])
            self.files[ENDS].append(frame.ends)
            self.files[ROWS].append(frame.rows)

    def flush(self) -> dict[str, Any]:
        """Force all data to disk, and return a state with which a new writer can continue."""
        self._write(0)
        sizes = {name: file.flush() for name, file in self.files.items()}
        return {
            "halved": self.halved,
            "sizes": sizes,
            "end": self.end,
            "rows": self._rows,
            "lengths": [len(text) for text in self._waiting],
            "waiting": base64.b64encode(b"".join(self._waiting)).decode(),
        }

    def noted(self) -> None:
        """Delete outdated text files, after the caller has recorded the result of `flush`."""
        for path in self.folder.glob("text-*"):
            if not path.name.startswith(f"text-{self.halved}-"):
                path.unlink()

    def stored(self) -> StoredTexts:
        """Open the texts of all frames written so far."""
        return StoredTexts(*(file.vector() for file in self.files.values()))

    @property
    def empty(self) -> bool:
        """True if no text is stored."""
        return not self._waiting and self.frames == 0

    def finish(self, path: Path, stays: npt.NDArray[np.bool_] | None = None) -> int:
        """Write the texts of all or some documents to an archive, and force the archive to disk.

        Parameters
        ----------
        path : Path
            Path of the archive, which must not exist.
        stays : (documents,) bool, optional
            True for the selected documents, which get new row numbers; by default all are selected.

        Returns
        -------
        int
            Number of texts written.
        """
        self._frame(last=True)
        if stays is not None and not stays.all():
            folder = self.folder / "some"
            folder.mkdir(exist_ok=True)
            writer = TextWriter(folder, None)
            before = counted = 0
            for rows, block in self.stored().all():
                last = int(rows[-1]) + 1
                new = counted + np.cumsum(stays[before:last]) - 1
                stay_positions = np.flatnonzero(stays[rows])
                writer.add(
                    new[rows[stay_positions] - before], [block[i] for i in stay_positions.tolist()]
                )
                before, counted = last, counted + int(stays[before:last].sum())
            return writer.finish(path)
        with new_archive(path) as archive:
            for name, file in self.files.items():
                dtype = None if name == TEXT else MEMBERS[name]
                add_member(archive, name, file.vector().blocks(), dtype, file.size)
        return self.files[ROWS].size


class StoredTexts:
    """Reader of compressed texts; a text is looked up by its document's row number.

    Parameters
    ----------
    text, frames, ends, rows : Vector
        The members of the archive, as in `MEMBERS`.

    Attributes
    ----------
    frames : (frames, 2) int64
        End of each frame, compressed and uncompressed, in bytes.
    """

    def __init__(self, text: Vector, frames: Vector, ends: Vector, rows: Vector) -> None:
        self.text, self.ends, self.rows = text, ends, rows
        self.frames: Int64s = frames.read(0, frames.size).reshape(-1, 2)
        self._packed, self._plain = self.frames[:, 0], self.frames[:, 1]
        self._path = frames.path
        self._sorted: Int64s | None = None

    def all(self) -> Iterator[tuple[Int64s, list[bytes | None]]]:
        """Yield blocks of all texts in order, with the row numbers of the texts' documents."""
        for start in range(0, self.rows.size, TOGETHER):
            stop = min(start + TOGETHER, self.rows.size)
            places = np.arange(start, stop)
            edges = np.stack(between(self.ends, places), axis=1)
            frames = np.searchsorted(self._plain, edges[:, 0], "right")
            for frame in np.unique(frames).tolist():
                in_frame = frames == frame
                yield self.rows.read(start, stop)[in_frame], self._cut(frame, edges[in_frame])

    def take(self, rows: Int64s) -> list[bytes | None]:
        """Return the text of each document, or None if the document has no stored text."""
        if self._sorted is None:
            self._sorted = self.rows.read(0, self.rows.size)
        places = np.searchsorted(self._sorted, rows)
        stored_rows = np.flatnonzero(
            self._sorted[np.minimum(places, self.rows.size - 1)] == rows
            if self.rows.size
            else rows < 0
        )
        row_texts: list[bytes | None] = [None] * len(rows)
        edges = np.stack(between(self.ends, places[stored_rows]), axis=1)
        frames = np.searchsorted(self._plain, edges[:, 0], "right")
        for frame in np.unique(frames).tolist():
            in_frame = frames == frame
            for position, text in zip(
                stored_rows[in_frame].tolist(), self._cut(frame, edges[in_frame]), strict=True
            ):
                row_texts[position] = text
        return row_texts

    def _cut(self, frame: int, edges: Int64s) -> list[bytes | None]:
        """Decompress a frame, and return the texts between the given starts and ends."""
        if frame >= len(self._packed):
            raise changed(self._path)
        first = int(self._plain[frame - 1]) if frame else 0
        start = int(self._packed[frame - 1]) if frame else 0
        size = int(self._plain[frame]) - first
        if not 0 < size <= FRAME + LONGEST:
            raise changed(self._path)
        packed = self.text.read(start, int(self._packed[frame])).tobytes()
        # `decompress` would allocate any size that a damaged frame claims. The stream reader reads
        # at most `size` bytes.
        engine = zstandard.ZstdDecompressor(max_window_size=max(WINDOW, size))
        try:
            with engine.stream_reader(packed) as stream:
                whole = stream.read(size)
                if len(whole) != size or stream.read(1):
                    raise changed(self.text.path)
        except zstandard.ZstdError:
            raise changed(self.text.path) from None
        places = np.unique(edges - first, axis=0)
        if len(places) and (
            places[0, 0] < 0 or (np.diff(places.ravel()) < 0).any() or places[-1, 1] > size
        ):
            raise changed(self._path)
        return [whole[a:b] for a, b in (edges - first).tolist()]
