"""Details of documents, written to disk as they are read; columns are made of them at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.about.details import DocumentDetails
from pysgrld.corpus.about.fields import MISSING, MOST, spelled
from pysgrld.corpus.about.texts import TextWriter
from pysgrld.corpus.vectors import TOGETHER, GrowingFile, Vector, between
from pysgrld.errors import CorpusError
from pysgrld.types import Array, Int64s

#: Bytes of values that are in memory at once, if there is more than one.
BYTES = 2**25
#: The roles of a column.
ID, TITLE, COLUMN = "id", "title", "column"


class Piece(NamedTuple):
    """Values of one column for some documents: tags, lengths, and the bytes one after the other."""

    tags: npt.NDArray[np.uint8]
    lengths: Int64s
    data: Array

    def values(self) -> list[bytes]:
        """Return the bytes cut into values."""
        whole, ends = self.data.tobytes(), np.cumsum(self.lengths).tolist()
        return [whole[a:b] for a, b in zip([0, *ends], ends, strict=False)]


class SpelledColumn(NamedTuple):
    """A column as it was spelled, read by row.

    Attributes
    ----------
    tags, ends, text : Vector
        What each value was where it was read; where each ends; their bytes, one after the other.
    """

    tags: Vector
    ends: Vector
    text: Vector

    def spans(self, rows: Int64s) -> tuple[Int64s, Int64s]:
        """Return where values begin, and their lengths; -1 is a row without a value."""
        starts, ends = between(self.ends, np.maximum(rows, 0))
        return starts, np.where(rows < 0, 0, ends - starts)

    def pieces(self, rows: Iterable[Int64s]) -> Iterator[Piece]:
        """Yield the values of rows, in bounded memory; -1 is a row without a value."""
        for some in rows:
            tags = np.where(some < 0, np.uint8(MISSING), self.tags.gather(np.maximum(some, 0)))
            starts, lengths = self.spans(some)
            total = np.cumsum(lengths)
            first = 0
            while first < len(some):
                before = int(total[first - 1]) if first else 0
                stop = max(int(np.searchsorted(total, before + BYTES, "right")), first + 1)
                here = slice(first, stop)
                data = self.text.gather(starts[here], lengths[here])
                yield Piece(tags[here], lengths[here], data)
                first = stop


class GrowingColumn:
    """Values of one column as they were spelled, on disk; documents without one at the end are left out.

    Parameters
    ----------
    folder : Path
    stem : str
        What its files begin with.
    sizes : sequence of int, optional
        Go on as `flush` has recorded it.
    """

    def __init__(self, folder: Path, stem: str, sizes: Sequence[int] | None = None) -> None:
        tags, lengths, text = sizes or (None, None, None)
        self.folder, self.stem = folder, stem
        self.tags = GrowingFile(folder / f"{stem}.tags", "u1", tags)
        self.lengths = GrowingFile(folder / f"{stem}.lengths", "<i8", lengths)
        self.text = GrowingFile(folder / f"{stem}.text", "u1", text)

    def append(self, values: Sequence[Any], typed: bool, before: int) -> None:
        """Add values of the documents after so many, those without a value among these included."""
        self._pad(before)
        pairs = [spelled(value, typed) for value in values]
        texts = [text for _, text in pairs]
        self.tags.append(bytes(tag for tag, _ in pairs))
        self.lengths.append([len(text) for text in texts])
        self.text.append(b"".join(texts))

    def _pad(self, size: int) -> None:
        while (gap := min(size - self.tags.size, TOGETHER)) > 0:
            self.tags.append(bytes(gap))
            self.lengths.append(np.zeros(gap, np.int64))

    def flush(self) -> list[int]:
        """Force all to disk, and return what is needed to go on from here."""
        return [file.flush() for file in (self.tags, self.lengths, self.text)]

    def spelled(self, size: int) -> SpelledColumn:
        """Return what was written of so many documents, to be read by row."""
        self._pad(size)
        ends = GrowingFile(self.folder / f"{self.stem}.ends", "<i8")
        total = 0
        for lengths in self.lengths.vector().blocks():
            ends.append(total + np.cumsum(lengths))
            total += int(lengths.sum())
        return SpelledColumn(self.tags.vector(), ends.vector(), self.text.vector())


class DetailsCollector:
    """Collects what is known of documents on disk, in the order in which they are read.

    Parameters
    ----------
    folder : Path
    texts : bool
        Whether texts are kept.
    limit : int or None
        Most bytes of texts, compressed.
    kinds : mapping of str to (str or None), optional
        Kinds of columns, as far as they are known.
    record : dict, optional
        Go on as `flush` has recorded it.

    Attributes
    ----------
    documents : int
        So far.
    kinds : dict of str to str
        Kinds of columns that are known.
    """

    def __init__(
        self,
        folder: Path,
        *,
        texts: bool,
        limit: int | None,
        kinds: Mapping[str, str | None] | None = None,
        record: dict[str, Any] | None = None,
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        had: dict[str, Any] = record or {}
        self.documents: int = had.get("documents", 0)
        self.kinds: dict[str, str] = had.get("kinds", {})
        self.kinds |= {name: kind for name, kind in (kinds or {}).items() if kind is not None}
        self.origin = {
            name: GrowingFile(folder / name, dtype, self.documents if record else None)
            for name, dtype in (("file", "<i4"), ("row", "<i8"), ("place", "<i8"), ("piece", "<i4"))
        }
        self.names = GrowingColumn(folder, "names", had.get("names"))
        self._last: dict[tuple[int, str], int] = {
            (input, name): number for input, name, number in had.get("last", ())
        }
        self.columns = {
            (role, name): GrowingColumn(folder, f"c{i}", sizes)
            for i, (role, name, sizes) in enumerate(had.get("columns", ()))
        }
        self.texts = TextWriter(folder, limit, had.get("texts")) if texts else None

    def add(self, found: DocumentDetails, base: int = 0) -> None:
        """Take what is known of the next documents; ``base`` documents come before their input."""
        first, size = self.documents, len(found)
        # files are numbered in order; those of the documents just before keep their numbers
        last: dict[tuple[int, str], int] = {}
        for name in found.names:
            key = found.input, name
            if key not in self._last:
                self._last[key] = self.names.tags.size
                self.names.append([name], True, self.names.tags.size)
            last[key] = self._last[key]
        self._last = last
        numbers = np.array([last[found.input, name] for name in found.names], np.int64)
        if found.files is not None:
            files = numbers[found.files]
        else:
            files = np.full(size, numbers[0] if len(numbers) else 0)
        self.origin["file"].append(files)
        self.origin["row"].append(found.rows)
        self.origin["place"].append(np.where(found.places < 0, -1, found.places + base))
        self.origin["piece"].append(np.zeros(size) if found.pieces is None else found.pieces)
        if found.fields is not None:
            values = {(ID, ""): found.fields.ids, (TITLE, ""): found.fields.titles}
            values |= {(COLUMN, name): column for name, column in found.fields.columns.items()}
            for (role, name), column in values.items():
                if (role, name) not in self.columns:
                    if role != COLUMN and all(value is None for value in column):
                        continue
                    if len(self.columns) >= MOST + 2:
                        raise CorpusError(
                            f"more than {MOST} different fields; name those that are to be kept"
                        )
                    stem = f"c{len(self.columns)}"
                    self.columns[role, name] = GrowingColumn(self.folder, stem)
                self.columns[role, name].append(column, found.fields.typed, first)
        for name, kind in found.kinds.items():
            self.kinds.setdefault(name, kind)
        if self.texts is not None and found.texts is not None:
            self.texts.add(np.arange(first, first + size), found.texts)
        self.documents += size

    def spelled(self) -> dict[tuple[str, str], tuple[SpelledColumn, str | None]]:
        """Return the columns by role and name, each open for reading, with its kind if that is known."""
        return {
            (role, name): (
                column.spelled(self.documents),
                self.kinds.get(name) if role == COLUMN else "string",
            )
            for (role, name), column in self.columns.items()
        }

    def flush(self) -> dict[str, Any]:
        """Force all to disk, and return what is needed to go on from here."""
        for file in self.origin.values():
            file.flush()
        return {
            "documents": self.documents,
            "kinds": self.kinds,
            "names": self.names.flush(),
            "last": [[input, name, number] for (input, name), number in self._last.items()],
            "columns": [
                [role, name, column.flush()] for (role, name), column in self.columns.items()
            ],
            "texts": None if self.texts is None else self.texts.flush(),
        }
