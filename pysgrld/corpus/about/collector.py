"""Names and fields of documents written down as they are read, to be made columns at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.about.details import DocumentDetails
from pysgrld.corpus.about.fields import MISSING, MOST, spelled
from pysgrld.corpus.about.tail import TOGETHER, Tail, between, picked, pieces, spans
from pysgrld.corpus.about.texts import TextWriter
from pysgrld.corpus.vectors import Vector
from pysgrld.errors import CorpusError
from pysgrld.types import Array, Int64s

#: Bytes of values that are in memory at once, if there is more than one.
BYTES = 2**25
#: The roles of a column.
ID, TITLE, COLUMN = "id", "title", "column"


class GrowingColumn:
    """Values of one column as they were spelled, documents without one left out at the end.

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
        self.tags = Tail(folder / f"{stem}.tags", "u1", tags)
        self.lengths = Tail(folder / f"{stem}.lengths", "<i8", lengths)
        self.text = Tail(folder / f"{stem}.text", "u1", text)

    def __len__(self) -> int:
        return self.tags.size

    def append(self, values: Sequence[Any], typed: bool) -> None:
        """Add values at the end."""
        pairs = [spelled(value, typed) for value in values]
        texts = [text for _, text in pairs]
        self.tags.append(bytes(tag for tag, _ in pairs))
        self.lengths.append([len(text) for text in texts])
        self.text.append(b"".join(texts))

    def pad(self, size: int) -> None:
        """Add missing values up to a size."""
        while (gap := min(size - len(self), TOGETHER)) > 0:
            self.tags.append(bytes(gap))
            self.lengths.append(np.zeros(gap, np.int64))

    def flush(self) -> list[int]:
        """Force all to disk, and return what is needed to go on from here."""
        return [tail.flush() for tail in (self.tags, self.lengths, self.text)]

    def spelled(self) -> SpelledColumn:
        """Open what was written, to be read by row."""
        ends = Tail(self.folder / f"{self.stem}.ends", "<i8")
        total = 0
        for lengths in pieces(self.lengths.vector()):
            ends.append(total + np.cumsum(lengths))
            total += int(lengths.sum())
        return SpelledColumn(self.tags.vector(), ends.vector(), self.text.vector())


class Piece(NamedTuple):
    """Values of one column for some documents: tags, lengths, and the bytes one after the other."""

    tags: npt.NDArray[np.uint8]
    lengths: Int64s
    data: Array

    def values(self) -> list[bytes]:
        """Cut the bytes into values."""
        whole, ends = self.data.tobytes(), np.cumsum(self.lengths).tolist()
        return [whole[a:b] for a, b in zip([0, *ends], ends, strict=False)]


class SpelledColumn(NamedTuple):
    """A column as it was spelled, read by row.

    Attributes
    ----------
    tags, ends, text : Vector
    """

    tags: Vector
    ends: Vector
    text: Vector

    def pieces(self, rows: Iterator[Int64s]) -> Iterator[Piece]:
        """Yield the values of rows, in bounded memory; -1 is a row without a value."""
        for some in rows:
            known = np.maximum(some, 0)
            tags = picked(self.tags, known)
            starts, ends = between(self.ends, known)
            lengths = np.where(some < 0, 0, ends - starts)
            tags = np.where(some < 0, np.uint8(MISSING), tags)
            total = np.cumsum(lengths)
            first = 0
            while first < len(some):
                before = int(total[first - 1]) if first else 0
                stop = max(int(np.searchsorted(total, before + BYTES, "right")), first + 1)
                here = slice(first, stop)
                yield Piece(
                    tags[here], lengths[here], spans(self.text, starts[here], lengths[here])
                )
                first = stop


class DetailsCollector:
    """Writes what is known of documents to disk, in the order in which they are read.

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
            name: Tail(folder / name, dtype, self.documents if record else None)
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
        numbers = self._numbers(found)
        first, size = self.documents, len(found)
        self.origin["file"].append(
            np.full(size, numbers[0] if len(numbers) else 0)
            if found.files is None
            else numbers[found.files]
        )
        self.origin["row"].append(found.rows)
        self.origin["place"].append(np.where(found.places < 0, -1, found.places + base))
        self.origin["piece"].append(np.zeros(size) if found.pieces is None else found.pieces)
        if found.fields is not None:
            fields = found.fields
            self._column(ID, "", fields.ids, fields.typed)
            self._column(TITLE, "", fields.titles, fields.typed)
            for name, values in fields.columns.items():
                self._column(COLUMN, name, values, fields.typed)
        for name, kind in found.kinds.items():
            self.kinds.setdefault(name, kind)
        if self.texts is not None and found.texts is not None:
            self.texts.add(np.arange(first, first + size), found.texts)
        self.documents += size

    def _numbers(self, found: DocumentDetails) -> Int64s:
        """Number the files of some documents: those of the documents just before keep theirs."""
        last: dict[tuple[int, str], int] = {}
        for name in found.names:
            key = found.input, name
            number = self._last.get(key)
            if number is None:
                number = len(self.names)
                self.names.append([name], True)
            last[key] = number
        self._last = last
        return np.array([last[found.input, name] for name in found.names], np.int64)

    def _column(self, role: str, name: str, values: Sequence[Any], typed: bool) -> None:
        key = role, name
        if key not in self.columns:
            if role != COLUMN and all(value is None for value in values):
                return
            if len(self.columns) >= MOST + 2:
                raise CorpusError(
                    f"more than {MOST} different fields; name those that are to be kept"
                )
            self.columns[key] = GrowingColumn(self.folder, f"c{len(self.columns)}")
        self.columns[key].pad(self.documents)
        self.columns[key].append(values, typed)

    def spelled(self) -> dict[tuple[str, str], tuple[SpelledColumn, str | None]]:
        """Open the columns, each with its kind if that is known, by role and name."""
        found = {}
        for (role, name), column in self.columns.items():
            column.pad(self.documents)
            kind = self.kinds.get(name) if role == COLUMN else "string"
            found[role, name] = column.spelled(), kind
        return found

    def flush(self) -> dict[str, Any]:
        """Force all to disk, and return what is needed to go on from here."""
        for tail in self.origin.values():
            tail.flush()
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

    def noted(self) -> None:
        """Let go of what nobody goes on from, now that the note is there."""
        if self.texts is not None:
            self.texts.noted()
