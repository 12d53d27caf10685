"""Who the documents of a step of reading are: all that is known of them beside their words."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from pysgrld.corpus.about.kinds import spelled
from pysgrld.corpus.about.wanted import Fields
from pysgrld.types import Int64s

#: The row of a document that is a file of its own.
WHOLE = -1


@dataclass(slots=True)
class Particulars:
    """Who some documents of one input are.

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

    def take(self, positions: Int64s) -> Particulars:
        """Copy those of some documents."""
        chosen = positions.tolist()

        def some(values: list[Any]) -> list[Any]:
            return [values[i] for i in chosen]

        fields = self.fields
        if fields is not None:
            columns = {name: some(values) for name, values in fields.columns.items()}
            fields = Fields(some(fields.ids), some(fields.titles), columns, fields.typed)
        return Particulars(
            self.input,
            self.names,
            None if self.files is None else self.files[positions],
            self.rows[positions],
            self.places[positions],
            fields,
            None if self.texts is None else some(self.texts),
            self.kinds,
            None if self.pieces is None else self.pieces[positions],
        )

    def ids(self) -> list[str]:
        """Give what each document is called: its id, else its file, else its row."""
        rows = self.rows.tolist()
        files = repeat(0) if self.files is None else self.files.tolist()
        found = [called(self.names[at], row) for at, row in zip(files, rows, strict=False)]
        if self.fields is not None:
            given = (spelled(key, True)[1].decode() for key in self.fields.ids)
            found = [text or key for text, key in zip(given, found, strict=True)]
        if self.pieces is not None:
            found = [of_piece(key, n) for key, n in zip(found, self.pieces.tolist(), strict=True)]
        return found


def called(file: str, row: int) -> str:
    """Call a document that has no id: by its file if it is all of it, else by its row there."""
    return file if row == WHOLE else str(row)


def of_piece(key: str, piece: int) -> str:
    """Call a piece of the document of that id, counted from 1; 0 is all of it."""
    return f"{key}#{piece}" if piece else key
