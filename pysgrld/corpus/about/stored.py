"""The documents of a stored corpus by name: ids, titles, origins, columns and texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.about.collector import COLUMN, ID, TITLE
from pysgrld.corpus.about.columns import NUMBERS
from pysgrld.corpus.about.details import WHOLE, DocumentDetails, called, of_piece
from pysgrld.corpus.about.fields import NONE, Fields, iso
from pysgrld.corpus.about.finish import CONTENTS, FOLDER, PLACES
from pysgrld.corpus.about.tail import between, picked, spans
from pysgrld.corpus.about.texts import ENDS, FRAMES, ROWS, TEXT, StoredTexts
from pysgrld.corpus.digests import digest
from pysgrld.corpus.vectors import Vector, changed, stamp_of
from pysgrld.errors import CorpusError
from pysgrld.run.files import read_small
from pysgrld.types import Int64s

_PART = re.compile(rf"{FOLDER}/[a-z0-9][a-z0-9.-]*")


class Column(NamedTuple):
    """A column that documents have.

    Attributes
    ----------
    name : str
    kind : {"string", "category", "integer", "real", "time", "flag"}
    missing : int
        Documents without a value.
    """

    name: str
    kind: str
    missing: int


class Origin(NamedTuple):
    """Where a document came from.

    Attributes
    ----------
    file : str
        Empty where it is not known.
    row : int or None
        Line, record or row, from 1; None where the file is the document.
    """

    file: str
    row: int | None


class About:
    """The documents of a stored corpus: who they are. Of corpora without these parts: empty.

    Parameters
    ----------
    path : Path
        Folder of the corpus.
    parts : mapping
        Digest and stamp of each file, as ``meta.json`` has them.
    documents : int
    read : int
        Documents of the inputs, those that were left out too, unless its parts say it.

    Attributes
    ----------
    columns : tuple of Column
    has_texts : bool
    texts_kept : int
        Documents with a text.

    Raises
    ------
    CorpusError
        If a file is missing or was changed.
    """

    def __init__(self, path: Path, parts: Mapping[str, Any], documents: int, read: int) -> None:
        self.path, self.documents = path, documents
        self._open: dict[str, Vector] = {}
        self._parts = check_parts(path, parts)
        listed: dict[str, Any] = {"columns": [], "texts": 0}
        if self._parts:
            listed = self._listed()
        found = listed.get("read")
        self.read: int = found if isinstance(found, int) else read
        self._columns = {(c["role"], c["name"]): c for c in listed["columns"]}
        self.columns = tuple(
            Column(c["name"], c["kind"], c["missing"])
            for c in listed["columns"]
            if c["role"] == COLUMN
        )
        self.has_texts = f"{FOLDER}/{TEXT}" in self._parts
        self.texts_kept: int = listed["texts"] if self.has_texts else 0

    def _listed(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(
                read_small(self.path / FOLDER / CONTENTS, links=True)
            )
            for column in found["columns"]:
                if not re.fullmatch(r"c[0-9]+", column["file"]):
                    raise ValueError("no file of a column")
        except (OSError, ValueError, KeyError, TypeError):
            raise damaged(self.path, f"{FOLDER}/{CONTENTS}") from None
        return found

    @property
    def has_ids(self) -> bool:
        """Whether documents have ids of their own."""
        return (ID, "") in self._columns

    @property
    def has_titles(self) -> bool:
        """Whether documents have titles of their own."""
        return (TITLE, "") in self._columns

    @property
    def text_bytes(self) -> int:
        """Bytes that texts take, compressed."""
        return len(self._texts.text) if self.has_texts else 0

    def verify(self) -> None:
        """Check every byte.

        Raises
        ------
        CorpusError
            If a file was changed.
        """
        check_parts(self.path, self._parts, whole=True)

    def ids(self, rows: npt.ArrayLike) -> list[str]:
        """Give the id of each document: its own, else its file's name, else its row there."""
        rows = self._rows(rows)
        own = self._own(ID, rows)
        return [
            of_piece(key if key is not None else called(origin.file, origin.row or WHOLE), piece)
            for key, origin, piece in zip(
                own, self.origins(rows), self.pieces(rows).tolist(), strict=True
            )
        ]

    def titles(self, rows: npt.ArrayLike) -> list[str]:
        """Give the title of each document, else its id."""
        rows = self._rows(rows)
        own = self._own(TITLE, rows)
        missing = [i for i, title in enumerate(own) if title is None]
        for i, key in zip(missing, self.ids(rows[missing]), strict=True):
            own[i] = key
        return [title or "" for title in own]

    def origins(self, rows: npt.ArrayLike) -> list[Origin]:
        """Give where each document came from."""
        rows = self._rows(rows)
        if not self._parts:
            return [Origin("", row + 1) for row in rows.tolist()]
        files, at = (self._vector(f"origin-{part}.npy", d) for part, d in _ORIGIN.items())
        numbers = picked(files, rows)
        distinct, inverse = np.unique(numbers, return_inverse=True)
        names = self._strings("files", distinct.astype(np.int64))
        return [
            Origin(names[i] or "", None if row == WHOLE else row)
            for i, row in zip(inverse.tolist(), picked(at, rows).tolist(), strict=True)
        ]

    def pieces(self, rows: npt.ArrayLike) -> Int64s:
        """Tell which piece of its origin each document is, from 1; 0: all of it."""
        rows = self._rows(rows)
        if f"{FOLDER}/{_PIECE}" not in self._parts:
            return np.zeros(len(rows), np.int64)
        return picked(self._vector(_PIECE, "<i4"), rows).astype(np.int64)

    def places(self, rows: npt.ArrayLike) -> Int64s:
        """Give how many documents of the inputs came before each, left out or not; -1: not known."""
        rows = self._rows(rows)
        if PLACES in self._parts:
            return picked(self._vector(Path(PLACES).name, "<i8"), rows)
        return rows if self.read == self.documents else np.full(len(rows), -1)

    def values(self, name: str, rows: npt.ArrayLike) -> list[Any]:
        """Give a column's value of each document, None where there is none; times in ISO 8601.

        Raises
        ------
        KeyError
            If there is no such column.
        """
        return self._values(self._columns[COLUMN, name], self._rows(rows))

    def texts(self, rows: npt.ArrayLike) -> list[str | None]:
        """Give the text of each document, None where it is not kept."""
        return [
            None if text is None else text.decode("utf-8", "replace") for text in self._bytes(rows)
        ]

    def details(self, rows: npt.ArrayLike, input: int = 0, *, texts: bool) -> DocumentDetails:
        """Give all that is known of some documents, as reading them again would.

        Parameters
        ----------
        rows : (n,) integers
        input : int
            What number they have among the inputs of a reading.
        texts : bool
            Whether texts are wanted.
        """
        rows = self._rows(rows)
        origins = self.origins(rows)
        names = list(dict.fromkeys(origin.file for origin in origins))
        number = {name: i for i, name in enumerate(names)}
        return DocumentDetails(
            input,
            names,
            np.array([number[origin.file] for origin in origins], np.int64),
            np.array([WHOLE if o.row is None else o.row for o in origins], np.int64),
            self.places(rows),
            Fields(
                self._own(ID, rows),
                self._own(TITLE, rows),
                {column.name: self.values(column.name, rows) for column in self.columns},
            ),
            self._bytes(rows) if texts and self.has_texts else None,
            {column.name: column.kind for column in self.columns},
            self.pieces(rows),
        )

    # ---- files

    def _rows(self, rows: npt.ArrayLike) -> Int64s:
        found = np.asarray(rows, np.int64)
        if found.size and (found.min() < 0 or found.max() >= self.documents):
            raise IndexError(f"rows of documents must be in [0, {self.documents})")
        return found

    def _own(self, role: str, rows: Int64s) -> list[str | None]:
        column = self._columns.get((role, ""))
        return [None] * len(rows) if column is None else self._strings(column["file"], rows)

    def _values(self, column: Mapping[str, Any], rows: Int64s) -> list[Any]:
        stem, kind = column["file"], column["kind"]
        if kind == "string":
            return list(self._strings(stem, rows))
        if kind == "category":
            codes = picked(self._vector(f"{stem}.codes.npy", "<i4"), rows)
            levels = self._levels(stem)
            if len(codes) and not -1 <= codes.min() <= codes.max() < len(levels):
                raise changed(self.path / FOLDER / f"{stem}.codes.npy")
            return [None if code < 0 else levels[code] for code in codes.tolist()]
        dtype, none = NUMBERS[kind]
        found = picked(self._vector(f"{stem}.npy", dtype), rows).tolist()
        if kind == "real":
            return [None if value != value else value for value in found]
        if kind == "time":
            return [None if value == NONE else iso(value) for value in found]
        if kind == "flag":
            return [None if value == none else bool(value) for value in found]
        return [None if value == NONE else value for value in found]

    def _strings(self, stem: str, rows: Int64s) -> list[str | None]:
        ends = self._vector(f"{stem}.ends.npy", "<i8")
        path = self.path / FOLDER / f"{stem}.utf8"
        first, last = between(ends, rows)
        lengths = last - first
        if len(rows) and lengths.min() < 0:
            raise changed(path)
        whole = spans(self._plain(f"{stem}.utf8"), first, lengths).tobytes()
        edges = np.cumsum(lengths).tolist()
        return [
            whole[a:b].decode("utf-8", "replace") if b > a else None
            for a, b in zip([0, *edges], edges, strict=False)
        ]

    def _levels(self, stem: str) -> list[str]:
        with (self.path / FOLDER / f"{stem}.values.jsonl").open(encoding="ascii") as file:
            return [json.loads(line) for line in file]

    def _bytes(self, rows: npt.ArrayLike) -> list[bytes | None]:
        rows = self._rows(rows)
        return self._texts.take(rows) if self.has_texts else [None] * len(rows)

    @cached_property
    def _texts(self) -> StoredTexts:
        vectors = (self._vector(name, "<i8") for name in (FRAMES, ENDS, ROWS))
        return StoredTexts(self._plain(TEXT), *vectors)

    def _vector(self, name: str, dtype: str) -> Vector:
        try:
            if name not in self._open:
                self._open[name] = Vector.open(self.path / FOLDER / name, np.dtype(dtype))
        except (ValueError, EOFError, FileNotFoundError):
            raise damaged(self.path, f"{FOLDER}/{name}") from None
        return self._open[name]

    def _plain(self, name: str) -> Vector:
        path = self.path / FOLDER / name
        return Vector(path, np.dtype("u1"), 0, path.stat().st_size)


_ORIGIN = {"file": "<i4", "row": "<i8"}
_PIECE = "origin-piece.npy"


def damaged(path: Path, name: str) -> CorpusError:
    """Return the error which says that a file of what is known of documents is not what was written."""
    return CorpusError(
        f"a damaged corpus ({name} is missing, or was changed since it was written); build it again with "
        "`sgmc corpus build`",
        path,
    )


def check_parts(
    path: Path, parts: Mapping[str, Any], *, whole: bool = False
) -> dict[str, dict[str, Any]]:
    """Check the files beside the counts: that they are what was written.

    Parameters
    ----------
    path : Path
        Folder of the corpus.
    parts : mapping
        As ``meta.json`` has them.
    whole : bool
        Hash also files of the size and the time of modification that they had then.

    Raises
    ------
    CorpusError
        If one is missing or was changed, or has a name that none of ours has.
    """
    for name, said in parts.items():
        if not (_PART.fullmatch(name) and isinstance(said, dict)):
            raise damaged(path, "meta.json")
        try:
            stamp = stamp_of((path / name).stat())
        except OSError:
            raise damaged(path, name) from None
        if (whole or stamp != said.get("stamp")) and digest(path / name) != said.get("sha256"):
            raise damaged(path, name)
    return dict(parts)


def names_of(parts: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """List the files beside the counts that have names of ours, and no other."""
    return [name for name in parts if _PART.fullmatch(name)]
