"""Texts, titles and columns that a person lends to a corpus that kept none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pysgrld.corpus import Corpus
from pysgrld.corpus.about.stored import Column
from pysgrld.corpus.reading import ReadingProgress
from pysgrld.errors import CorpusError
from pysgrld.reading.results import Results
from pysgrld.types import Int64s

#: Documents whose ids are compared at a time.
_BLOCK = 65_536


class Known(Protocol):
    """All that is known of the documents of a corpus, as `pysgrld.corpus.about.stored.About` has it."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns that documents have."""

    @property
    def has_titles(self) -> bool:
        """Whether documents have titles of their own."""

    @property
    def has_texts(self) -> bool:
        """Whether texts are there."""

    def ids(self, rows: npt.ArrayLike) -> list[str]:
        """Give the id of each document."""

    def titles(self, rows: npt.ArrayLike) -> list[str]:
        """Give the title of each document, else its id."""

    def values(self, name: str, rows: npt.ArrayLike) -> list[Any]:
        """Give a column's value of each document."""

    def texts(self, rows: npt.ArrayLike) -> list[str | None]:
        """Give the text of each document, None where it is not kept."""


class Lending(NamedTuple):
    """The files that lend something, and how they are read.

    Attributes
    ----------
    texts : str or None
        Of the same documents: texts and titles.
    metadata : str or None
        A row a document: ids, titles and columns.
    folder : Path
        Where what is read of them is stored.
    log : callable
        Told, a line at a time, what a person should know.
    """

    texts: str | None
    metadata: str | None
    folder: Path
    log: Callable[[str], None]

    def note(self, line: str) -> None:
        """Say a fact that a person should see."""
        self.log(line)

    def reading(self, progress: ReadingProgress) -> None:
        """Show nothing: other steps are shown."""


def known(results: Results, corpus: Corpus, rows: Int64s, lending: Lending) -> Known:
    """Give what is known of some documents of a corpus, with what is lent.

    Parameters
    ----------
    results : Results
    corpus : Corpus
        That the run was trained on.
    rows : (n,) int64
        The documents that will be asked for, ascending.
    lending : Lending

    Raises
    ------
    MissingInputError
        If a file is missing.
    CorpusError
        If it is damaged, or is not of these documents.
    """
    found: Known = corpus.about
    if lending.metadata is not None:
        asked: dict[str, Any] = {"metadata": lending.metadata}
        if corpus.about.has_ids:
            asked["id-field"] = results.options.plain().get("id-field") or "id"
        reader = Results(results.path, results.threads, asked)
        found = reader.read(str(corpus.path), lending.folder / "metadata", lending).about
    if lending.texts is not None:
        reader = Results(results.path, results.threads, {"keep-text": "all"})
        texts = reader.read(lending.texts, lending.folder / "texts", lending)
        found = _WithTexts(found, texts, rows, _joined(lending.texts, found, texts, rows, corpus))
    return found


def _joined(path: str, own: Known, lent: Corpus, rows: Int64s, corpus: Corpus) -> Int64s:
    """Give the document that is lent for each of some rows, by id; -1: none.

    In order where ids do not tell documents apart, as of several files.
    """
    wanted = {name: i for i, name in enumerate(own.ids(rows))}
    if len(wanted) < len(rows):
        if lent.documents != corpus.documents:
            raise CorpusError(
                f"{lent.documents:,} documents, and the corpus has {corpus.documents:,}, whose ids do "
                "not tell them apart: give a file of the same documents in order",
                path,
            )
        return rows
    found = np.full(len(rows), -1)
    for begin in range(0, lent.documents, _BLOCK):
        some = np.arange(begin, min(begin + _BLOCK, lent.documents))
        for row, name in zip(some.tolist(), lent.about.ids(some), strict=True):
            if name in wanted and found[wanted[name]] < 0:
                found[wanted[name]] = row
    if len(rows) and (found < 0).all():
        raise CorpusError(
            "no document of it has an id of the corpus's: is it another corpus?", path
        )
    return found


class _WithTexts:
    """A corpus's documents with the texts and titles of another's. A `Known`."""

    has_texts = True

    def __init__(self, own: Known, lent: Corpus, rows: Int64s, of: Int64s) -> None:
        self.own, self.lent, self._rows, self._of = own, lent.about, rows, of
        self.columns = own.columns
        self.has_titles = own.has_titles or self.lent.has_titles

    def ids(self, rows: npt.ArrayLike) -> list[str]:
        return self.own.ids(rows)

    def titles(self, rows: npt.ArrayLike) -> list[str]:
        if self.own.has_titles or not self.lent.has_titles:
            return self.own.titles(rows)
        return self._either(rows, self.lent.titles, self.own.titles)

    def values(self, name: str, rows: npt.ArrayLike) -> list[Any]:
        return self.own.values(name, rows)

    def texts(self, rows: npt.ArrayLike) -> list[str | None]:
        return self._either(rows, self.lent.texts, self.own.texts)

    def _either(
        self,
        rows: npt.ArrayLike,
        lent: Callable[[Int64s], Sequence[Any]],
        own: Callable[[npt.ArrayLike], Sequence[Any]],
    ) -> list[Any]:
        """Give what is lent of documents, else their own."""
        at = self._of[np.searchsorted(self._rows, np.asarray(rows, np.int64))]
        found = iter(lent(at[at >= 0]))
        return [next(found) if a >= 0 else b for a, b in zip(at.tolist(), own(rows), strict=True)]
