"""Reading of the ids, titles, origins, columns and texts of the documents of a stored corpus."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.about.archive import CONTENTS, NUMBERS
from pysgrld.corpus.about.columns import COLUMN, ID, TITLE
from pysgrld.corpus.about.details import WHOLE, DocumentDetails, Fields, document_id
from pysgrld.corpus.about.scalars import iso
from pysgrld.corpus.about.texts import MEMBERS, TEXT, StoredTexts
from pysgrld.corpus.stored_files import BESIDE, DOCUMENTS, TEXTS, damaged, digest, part_of
from pysgrld.corpus.vectors import TOGETHER, Vector, between, changed, members, stamp_of
from pysgrld.run.schema import NATURAL, Each, Schema, misfit
from pysgrld.types import Int64s

#: Types of the entries in `CONTENTS`, the archive member that lists the columns.
_CONTENTS: Schema = {
    "columns": Each(
        {
            **dict.fromkeys(("role", "name", "file"), str),
            "kind": Literal["string", "category", "integer", "real", "time", "flag"],
            "missing": NATURAL,
        }
    ),
    "texts": NATURAL,
    "read": NATURAL | None,
    "several_inputs": bool | None,
}


class Column(NamedTuple):
    """Name, kind and number of missing values of a column of documents.

    Attributes
    ----------
    name : str
    kind : {"string", "category", "integer", "real", "time", "flag"}
    missing : int
        Number of documents without a value.
    """

    name: str
    kind: str
    missing: int


class Origin(NamedTuple):
    """File from which a document was read, and the position of the document in the file.

    Attributes
    ----------
    file : str
        Name of the file; empty if it is unknown.
    row : int or None
        Line, record or row in the file, from 1, or None if the file is the document.
    record : int or None
        Number of the record in the input, from 1, or None if the file is the document.
    """

    file: str
    row: int | None
    record: int | None


class About:
    """Reader of the ids, titles, origins, columns and texts of the documents of a stored corpus.

    Without stored ids, ids are file names or numbers of records; without titles, titles are ids.

    Parameters
    ----------
    path : Path
        Folder of the corpus.
    parts : mapping
        Digest and stamp of each file, from ``meta.json``.
    documents : int
    read : int
        Number of documents of the inputs, including omitted documents; used if no file records it.

    Attributes
    ----------
    columns : tuple of Column
    has_ids, has_titles, has_texts : bool
        Whether the inputs gave ids and titles of documents, and whether texts are kept.
    several_inputs : bool
        True if documents come from several inputs, so that ids include file names.
    numbers_records : bool
        Whether the record number of each document is known; False for corpora of sgmc before 1.0.
    texts_kept, text_bytes : int
        Number of documents with a text, and size of the compressed texts in bytes.
    read : int

    Raises
    ------
    CorpusError
        If a file is missing or was changed.
    """

    def __init__(self, path: Path, parts: Mapping[str, Any], documents: int, read: int) -> None:
        self.path, self.documents, self.parts = path, documents, parts
        self.verify(whole=False)
        self._open: dict[tuple[str, str], Vector] = {}
        self._texts: StoredTexts | None = None
        self._members: dict[str, dict[str, tuple[int, int]]] = {}
        for name in parts.keys() & {DOCUMENTS, TEXTS}:
            with self._believed(name):
                self._members[name] = members(path / name)
        listed: dict[str, Any] = {"columns": [], "texts": 0}
        if DOCUMENTS in parts:
            with self._believed(DOCUMENTS):
                contents = self._vector(CONTENTS, "u1")
                listed = json.loads(contents.read(0, contents.size).tobytes())
                if problem := misfit(listed, _CONTENTS):
                    raise ValueError(problem)
                for column in listed["columns"]:
                    if not re.fullmatch(r"c[0-9]+", column["file"]):
                        raise ValueError("the file of a column has an invalid name")
        stored = listed.get("read")
        self.read: int = read if stored is None else stored
        self.several_inputs = listed.get("several_inputs") is True
        self.numbers_records = DOCUMENTS not in parts or "several_inputs" in listed
        self._columns = {(c["role"], c["name"]): c for c in listed["columns"]}
        self.columns = tuple(
            Column(c["name"], c["kind"], c["missing"])
            for c in listed["columns"]
            if c["role"] == COLUMN
        )
        self.has_ids, self.has_titles = ((role, "") in self._columns for role in (ID, TITLE))
        self.has_texts = TEXTS in parts
        self.texts_kept: int = listed["texts"] if self.has_texts else 0
        self.text_bytes = self._vector(TEXT, "u1", TEXTS).size if self.has_texts else 0

    def verify(self, *, whole: bool = True) -> None:
        """Check the SHA-256 of all files or, if not ``whole``, of files whose size or time changed.

        Raises
        ------
        CorpusError
            If a file is missing or was changed, or is not a file of a corpus.
        """
        for name, record in self.parts.items():
            if name not in BESIDE or not isinstance(record, dict):
                raise damaged(self.path, f"meta.json lists an unknown file {name[:40]!r}")
            with part_of(self.path, name) as part:
                stamp = stamp_of(part.stat())
            if (whole or stamp != record.get("stamp")) and digest(part) != record.get("sha256"):
                raise damaged(self.path, f"{name} was changed since it was written")

    def ids(self, rows: npt.ArrayLike) -> list[str]:
        """Return the id of each document: the value of its id field, or its file or record number."""
        rows = self._rows(rows)
        keys, several = self._own(ID, rows), self.several_inputs
        return [
            document_id(key, origin.file, origin.record or WHOLE, several, piece)
            for key, origin, piece in zip(
                keys, self.origins(rows), self.pieces(rows).tolist(), strict=True
            )
        ]

    def titles(self, rows: npt.ArrayLike) -> list[str]:
        """Return the title of each document, or its id if it has no title."""
        rows = self._rows(rows)
        titles = self.own_titles(rows)
        missing = [i for i, title in enumerate(titles) if title is None]
        for i, key in zip(missing, self.ids(rows[missing]), strict=True):
            titles[i] = key
        return [title or "" for title in titles]

    def own_titles(self, rows: npt.ArrayLike) -> list[str | None]:
        """Return the title of each document, or None for a document without a title."""
        return self._own(TITLE, self._rows(rows))

    def origins(self, rows: npt.ArrayLike) -> list[Origin]:
        """Return the file, row and record from which each document was read."""
        rows = self._rows(rows)
        if DOCUMENTS not in self.parts:
            return [Origin("", row + 1, row + 1) for row in rows.tolist()]
        numbers = self._vector("origin-file.npy", "<i4").gather(rows)
        distinct, inverse = np.unique(numbers, return_inverse=True)
        names = self._strings("files", distinct.astype(np.int64))
        lines = records = self._vector("origin-row.npy", "<i8").gather(rows)
        if "origin-record.npy" in self._members[DOCUMENTS]:
            records = self._vector("origin-record.npy", "<i8").gather(rows)
        return [
            Origin(
                names[i] or "", None if line == WHOLE else line, None if record == WHOLE else record
            )
            for i, line, record in zip(
                inverse.tolist(), lines.tolist(), records.tolist(), strict=True
            )
        ]

    def files_named(self, names: Iterable[str]) -> set[str]:
        """Return the subset of ``names`` that name files with documents of this corpus."""
        name_set = set(names)
        if DOCUMENTS not in self.parts:
            return set()
        size = self._vector("files.ends.npy", "<i8").size
        return {
            name
            for begin in range(0, size, TOGETHER)
            for name in self._strings("files", np.arange(begin, min(begin + TOGETHER, size)))
            if name in name_set
        }

    def pieces(self, rows: npt.ArrayLike) -> Int64s:
        """Return the number of each piece of a long document, from 1, or 0 for whole documents."""
        rows = self._rows(rows)
        if "origin-piece.npy" not in self._members.get(DOCUMENTS, ()):
            return np.zeros(len(rows), np.int64)
        return self._vector("origin-piece.npy", "<i4").gather(rows).astype(np.int64)

    def wholes(self, rows: npt.ArrayLike) -> Int64s | None:
        """Assign a number to each document; all pieces of a long document have the same number.

        Return None if the corpus has no document that was cut into pieces.
        """
        rows = self._rows(rows)
        if "origin-piece.npy" not in self._members.get(DOCUMENTS, ()):
            return None
        parts = ("origin-file.npy", "<i4"), ("origin-row.npy", "<i8")
        keys = np.stack([self._vector(*part).gather(rows).astype(np.int64) for part in parts])
        return np.unique(keys, axis=1, return_inverse=True)[1].ravel().astype(np.int64)

    def places(self, rows: npt.ArrayLike) -> Int64s:
        """Return each document's position in the inputs, counted from 0, or -1 if unknown.

        Documents that were left out of the corpus count too.
        """
        rows = self._rows(rows)
        if "origin-place.npy" in self._members.get(DOCUMENTS, ()):
            return self._vector("origin-place.npy", "<i8").gather(rows)
        return rows if self.read == self.documents else np.full(len(rows), -1)

    def values(self, name: str, rows: npt.ArrayLike) -> list[Any]:
        """Return each document's value of a column (None if missing); times are in ISO 8601.

        Raises
        ------
        KeyError
            If the column is missing.
        """
        column, rows = self._columns[COLUMN, name], self._rows(rows)
        stem, kind = column["file"], column["kind"]
        if kind == "string":
            return list(self._strings(stem, rows))
        if kind == "category":
            codes = self._vector(f"{stem}.codes.npy", "<i4").gather(rows)
            lines = self._vector(f"{stem}.values.jsonl", "u1")
            with self._believed(DOCUMENTS):
                levels = list(map(json.loads, lines.read(0, lines.size).tobytes().splitlines()))
                if not all(type(level) is str for level in levels):
                    raise TypeError("a category of a column is not a string")
            if len(codes) and not -1 <= codes.min() <= codes.max() < len(levels):
                raise changed(self.path / DOCUMENTS)
            return [None if code < 0 else levels[code] for code in codes.tolist()]
        dtype, none = NUMBERS[kind]
        values = self._vector(f"{stem}.npy", dtype).gather(rows).tolist()
        if kind == "real":
            return [None if value != value else value for value in values]
        if kind == "integer":
            return [None if value == none else value for value in values]
        shown = iso if kind == "time" else bool
        return [None if value == none else shown(value) for value in values]

    def texts(self, rows: npt.ArrayLike) -> list[str | None]:
        """Return the text of each document, or None for a document without a stored text."""
        return [
            None if text is None else text.decode("utf-8", "replace") for text in self._bytes(rows)
        ]

    def details(self, rows: npt.ArrayLike, input: int = 0, *, texts: bool) -> DocumentDetails:
        """Return the origins, ids, titles, columns and texts of documents as `DocumentDetails`.

        Parameters
        ----------
        rows : (n,) integers
        input : int
            Number of this corpus among the inputs of a reading.
        texts : bool
            Whether to include texts.
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
            np.array([WHOLE if o.record is None else o.record for o in origins], np.int64),
            self.places(rows),
            Fields(
                self._own(ID, rows),
                self._own(TITLE, rows),
                {column.name: self.values(column.name, rows) for column in self.columns},
            ),
            self._bytes(rows) if texts and self.has_texts else None,
            {column.name: column.kind for column in self.columns},
            self.pieces(rows),
            self.several_inputs,
        )

    def stored_texts(self) -> StoredTexts | None:
        """Return a reader of the compressed texts, or None if the corpus has no texts."""
        if self._texts is None and self.has_texts:
            self._texts = StoredTexts(
                *(self._vector(name, dtype, TEXTS) for name, dtype in MEMBERS.items())
            )
        return self._texts

    # ---- members of the archives

    def _rows(self, rows: npt.ArrayLike) -> Int64s:
        positions = np.asarray(rows, np.int64)
        if positions.size and (positions.min() < 0 or positions.max() >= self.documents):
            raise IndexError(f"row numbers of documents must be below {self.documents}, from 0")
        return positions

    def _own(self, role: str, rows: Int64s) -> list[str | None]:
        column = self._columns.get((role, ""))
        return [None] * len(rows) if column is None else self._strings(column["file"], rows)

    def _strings(self, stem: str, rows: Int64s) -> list[str | None]:
        first, last = between(self._vector(f"{stem}.ends.npy", "<i8"), rows)
        lengths = last - first
        if len(rows) and lengths.min() < 0:
            raise changed(self.path / DOCUMENTS)
        whole = self._vector(f"{stem}.utf8", "u1").gather(first, lengths).tobytes()
        edges = np.cumsum(lengths).tolist()
        return [
            whole[a:b].decode("utf-8", "replace") if b > a else None
            for a, b in zip([0, *edges], edges, strict=False)
        ]

    def _bytes(self, rows: npt.ArrayLike) -> list[bytes | None]:
        rows, texts = self._rows(rows), self.stored_texts()
        return [None] * len(rows) if texts is None else texts.take(rows)

    def _vector(self, name: str, dtype: str, archive: str = DOCUMENTS) -> Vector:
        """Return a member of an archive as a vector; each member is opened only once."""
        if (archive, name) not in self._open:
            path = self.path / archive
            with self._believed(archive):
                start, length = self._members[archive][name]
                self._open[archive, name] = (
                    Vector.open(path, np.dtype(dtype), start, length)
                    if name.endswith(".npy")
                    else Vector(path, np.dtype(dtype), start, length)
                )
        return self._open[archive, name]

    @contextlib.contextmanager
    def _believed(self, name: str) -> Iterator[None]:
        """Context manager that raises a `CorpusError` about a changed archive if reading fails."""
        try:
            yield
        except (ValueError, EOFError, KeyError, TypeError, FileNotFoundError):
            raise damaged(self.path, f"{name} was changed since it was written") from None
