"""Details of documents in memory: where each came from, its id, title, columns and text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, NamedTuple

from pysgrld.corpus.about.fields import MISSING, STRING, TIME, Fields, spelled
from pysgrld.types import Documents, Int64s

#: The row of a document that is a file of its own.
WHOLE = -1


@dataclass(slots=True)
class DocumentDetails:
    """Details of some documents of one input, beside their words.

    Attributes
    ----------
    input : int
        Which input they are of, from 0.
    names : list of str
        Names of files.
    files : (n,) int64 or None
        The file of each document, by its place in `names`; None: all are of the first.
    rows : (n,) int64
        Line, record or row of each document in its file, from 1; `WHOLE` where the file is the document.
    places : (n,) int64
        How many documents of the input come before each, left out or not; -1: it is not known.
    fields : Fields or None
    texts : list of (bytes or None) or None
        None: texts are not kept.
    kinds : dict of str to str
        Kinds of columns, where they are known.
    pieces : (n,) int64 or None
        Which piece of a long document each is, from 1; 0, and None of all: it is whole.
    """

    input: int
    names: list[str]
    files: Int64s | None
    rows: Int64s
    places: Int64s
    fields: Fields | None = None
    texts: list[bytes | None] | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    pieces: Int64s | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, positions: Int64s) -> DocumentDetails:
        """Return those of some of the documents, by their positions in these."""
        chosen = positions.tolist()
        return DocumentDetails(
            self.input,
            self.names,
            None if self.files is None else self.files[positions],
            self.rows[positions],
            self.places[positions],
            None if self.fields is None else self.fields.take(chosen),
            None if self.texts is None else [self.texts[i] for i in chosen],
            self.kinds,
            None if self.pieces is None else self.pieces[positions],
        )

    def ids(self) -> list[str]:
        """Return what each document is called: its id, else its file, else its row."""
        own = repeat(None) if self.fields is None else self.fields.ids
        files = repeat(0) if self.files is None else self.files.tolist()
        pieces = repeat(0) if self.pieces is None else self.pieces.tolist()
        return [
            called(spelled(key, True)[1].decode(), self.names[at], row, piece)
            for key, at, row, piece in zip(own, files, self.rows.tolist(), pieces, strict=False)
        ]


def called(own: str | None, file: str, row: int, piece: int) -> str:
    """Return what a document is called: its own id, else its file if it is all of it, else its row there.

    A piece of one has its number behind that, from 1; 0 is all of it.
    """
    name = own or (file if row == WHOLE else str(row))
    return f"{name}#{piece}" if piece else name


class Named(NamedTuple):
    """The id of a document, and the values of its fields that are wanted."""

    id: str
    values: tuple[str | int | float | bool | None, ...]


class NamedDocuments:
    """Documents of a stream; `names` returns what those that came are called, once and in order.

    Parameters
    ----------
    blocks : iterator of (int, Documents, DocumentDetails or None)
        With the place of the first of the documents.
    fields : sequence of str
        Names of the fields that are wanted.

    Attributes
    ----------
    fields : tuple of str
    absent : set of str
        Fields that no document had so far.
    first : int
        Place of the first document of the block that came last.
    """

    def __init__(
        self,
        blocks: Iterator[tuple[int, Documents, DocumentDetails | None]],
        fields: Sequence[str] = (),
    ) -> None:
        self._blocks, self.fields = blocks, tuple(fields)
        self.absent = set(fields)
        self._waiting: deque[Named] = deque()
        self.first = 0

    def __iter__(self) -> Iterator[Documents]:
        for first, block, about in self._blocks:
            self.first = first
            ids = about.ids() if about else [str(self.first + i + 1) for i in range(len(block))]
            found = about.fields.columns if about and about.fields else {}
            columns = [
                [_as_json(value) for value in found[name]] if name in found else [None] * len(block)
                for name in self.fields
            ]
            self.absent -= {
                name
                for name, values in zip(self.fields, columns, strict=True)
                if any(value is not None for value in values)
            }
            rows = zip(*columns, strict=True) if columns else ((),) * len(block)
            self._waiting.extend(map(Named, ids, rows))
            yield block

    def names(self, number: int) -> list[Named]:
        """Return the names of the next so many documents that came."""
        return [self._waiting.popleft() for _ in range(number)]


def _as_json(value: Any) -> str | int | float | bool | None:
    """Return a value as JSON can say it; None where there is none."""
    tag, text = spelled(value, True)
    if tag == MISSING:
        return None
    found: str | int | float | bool = text.decode() if tag in (STRING, TIME) else value
    return found
