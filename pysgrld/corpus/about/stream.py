"""Documents of a stream, with what is known of each until it is asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pysgrld.corpus.about.kinds import MISSING, STRING, TIME, spelled
from pysgrld.corpus.about.particulars import Particulars
from pysgrld.types import Documents


class Named(NamedTuple):
    """The id of a document, and the values of its fields that are wanted."""

    id: str
    values: tuple[str | int | float | bool | None, ...]


class NamedDocuments:
    """Documents of a stream; `names` gives what those that came are called, once and in order.

    Parameters
    ----------
    blocks : iterator of (int, Documents, Particulars or None)
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
        blocks: Iterator[tuple[int, Documents, Particulars | None]],
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
                [_plain(value) for value in found[name]] if name in found else [None] * len(block)
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
        """Give the names of the next so many documents that came."""
        return [self._waiting.popleft() for _ in range(number)]


def _plain(value: Any) -> str | int | float | bool | None:
    """Give a value as JSON can say it."""
    tag, text = spelled(value, True)
    if tag == MISSING:
        return None
    found: str | int | float | bool = text.decode() if tag in (STRING, TIME) else value
    return found
