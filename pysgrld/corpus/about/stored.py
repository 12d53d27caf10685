"""Stand-in, to be dropped at the merge: a corpus that kept nothing of its documents."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Column(NamedTuple):
    """A column that documents have."""

    name: str
    kind: str
    missing: int


class About:
    """The documents of a stored corpus: here, their rows alone."""

    columns: tuple[Column, ...] = ()
    has_texts = False
    texts_kept = 0

    def ids(self, rows: npt.ArrayLike) -> list[str]:
        """Give the row of each document, from 1."""
        return [str(row + 1) for row in np.asarray(rows, np.int64).tolist()]

    def titles(self, rows: npt.ArrayLike) -> list[str]:
        """Give the id of each document."""
        return self.ids(rows)

    def values(self, name: str, rows: npt.ArrayLike) -> list[Any]:
        """Give nothing: there is no column."""
        raise KeyError(name)

    def texts(self, rows: npt.ArrayLike) -> list[str | None]:
        """Give nothing: no text is kept."""
        return [None] * len(np.asarray(rows))
