"""Texts, titles and columns of documents, from files given by --texts and --metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus import Corpus
from pysgrld.corpus.about.stored import About
from pysgrld.corpus.reading import ReadingProgress
from pysgrld.errors import CorpusError, Log, MissingInputError
from pysgrld.reading.results import Results
from pysgrld.types import Int64s

#: Ids are compared for this number of documents at a time.
_BLOCK = 65_536


class AddedFiles(NamedTuple):
    """Files with texts and columns of documents, and callbacks for messages and progress.

    Attributes
    ----------
    texts : str or None
        File with texts and titles of the same documents.
    metadata : str or None
        File with ids, titles and columns, one row for each document.
    folder : Path
        Folder in which the read data are stored.
    note : Log
        Called with messages for the user.
    reading : callable
        Called with the progress of reading. By default, progress is not reported.
    """

    texts: str | None
    metadata: str | None
    folder: Path
    note: Log
    reading: Callable[[ReadingProgress], None] = lambda progress: None


class AboutWithTexts:
    """Metadata of a corpus's documents, combined with texts that are stored in another corpus.

    Parameters
    ----------
    own : About
    other : Corpus
        The corpus that has texts.
    rows : (n,) int64
        The documents that will be requested, in ascending order.
    of : (n,) int64
        Row in ``other`` of each of these documents; -1 if ``other`` lacks the document.
    """

    has_texts = True

    def __init__(self, own: About, other: Corpus, rows: Int64s, of: Int64s) -> None:
        self.own, self.other, self._rows, self._of = own, other.about, rows, of
        self.columns, self.ids, self.values = own.columns, own.ids, own.values
        self.origins, self.wholes = own.origins, own.wholes

    def titles(self, rows: npt.ArrayLike) -> list[str]:
        """Return the title of each document, or its id if it has no title."""
        if self.own.has_titles or not self.other.has_titles:
            return self.own.titles(rows)
        return self._either(rows, self.other.titles, self.own.titles)

    def own_titles(self, rows: npt.ArrayLike) -> list[str | None]:
        """Return the title of each document, or None if it has no title."""
        if self.own.has_titles or not self.other.has_titles:
            return self.own.own_titles(rows)
        return self._either(rows, self.other.own_titles, self.own.own_titles)

    def texts(self, rows: npt.ArrayLike) -> list[str | None]:
        """Return the text of each document, or None if it has no text."""
        return self._either(rows, self.other.texts, self.own.texts)

    def _either(
        self,
        rows: npt.ArrayLike,
        other: Callable[[Int64s], Sequence[Any]],
        own: Callable[[npt.ArrayLike], Sequence[Any]],
    ) -> list[Any]:
        """Return titles or texts from ``other``, or from ``own`` for documents not in ``other``."""
        at = self._of[np.searchsorted(self._rows, np.asarray(rows, np.int64))]
        found = iter(other(at[at >= 0]))
        return [next(found) if a >= 0 else b for a, b in zip(at.tolist(), own(rows), strict=True)]


#: Object from which titles, columns and texts of documents are read.
Known = About | AboutWithTexts


#: Maximum number of characters of a document's name that is taken from its text.
_FIRST_WORDS = 60


def document_names(
    about: Known, rows: npt.ArrayLike, noun: tuple[str, str], *, with_texts: bool
) -> list[str]:
    """Return a name for each document: its title, its file, or the first words of its text.

    A document with none of these is named by its id, with the noun before it if the id is a number.

    Parameters
    ----------
    about : Known
    rows : (n,) int64
        Documents of the corpus.
    noun : (str, str)
        The word for one document, and for several.
    with_texts : bool
        Whether texts may be shown.
    """
    rows = np.asarray(rows, np.int64)
    names: list[str | None] = [title or None for title in about.own_titles(rows)]
    untitled = [i for i, name in enumerate(names) if name is None]
    ids = dict(zip(untitled, about.ids(rows[untitled]), strict=True))
    for i, origin in zip(untitled, about.origins(rows[untitled]), strict=True):
        if origin.row is None and origin.file and not ids[i].isdecimal():
            names[i] = ids[i]
    without = [i for i in untitled if names[i] is None]
    if with_texts and about.has_texts and without:
        for i, text in zip(without, about.texts(rows[without]), strict=True):
            names[i] = _first_words(text or "") or None
    capital = noun[0][:1].upper() + noun[0][1:]
    return [
        name or (f"{capital} {ids[i]}" if ids[i].isdecimal() else ids[i])
        for i, name in enumerate(names)
    ]


def _first_words(text: str) -> str:
    """Shorten a text to at most `_FIRST_WORDS` characters of whole words, and an ellipsis."""
    line = " ".join(text[: 8 * _FIRST_WORDS].split())
    if len(line) <= _FIRST_WORDS:
        return line
    words, space, _ = line[: _FIRST_WORDS + 1].rpartition(" ")
    return f"{words if space else line[:_FIRST_WORDS]}…"


def lend_metadata(results: Results, path: str, folder: Path, note: Log) -> None:
    """Join the columns of a metadata file to the documents of an open run.

    Parameters
    ----------
    results : Results
    path : str
        Path of the file.
    folder : Path
        Folder for temporary files; it must exist as long as the run is used.
    note : callable
        Called with each line of a message to the user.

    Raises
    ------
    MissingInputError
        If the file or the training corpus is missing.
    CorpusError
        If the file is damaged, or does not belong to these documents.
    """
    corpus = results.training_corpus()
    if corpus is None:
        raise MissingInputError(
            f"{results.missing_corpus}, so --metadata cannot be used; leave it out"
        )
    results.lent = _with_metadata(results, corpus, path, AddedFiles(None, path, folder, note))


def _with_metadata(results: Results, corpus: Corpus, path: str, added: AddedFiles) -> About:
    """Return titles and columns of a corpus's documents, joined with a metadata file."""
    of_documents = dict.fromkeys(("chunk", "id-field", "header-line", "sheet"))
    asked: dict[str, Any] = {"metadata": path, "quote": "auto", **of_documents}
    for name in ("missing", "date-format"):
        asked[name] = results.options.plain().get(name)
    # Use a copy of the open run, because its options are changed for reading.
    reader = copy(results)
    reader.asked = asked
    return reader.read(str(corpus.path), added.folder / "metadata", added).about


def with_added(results: Results, corpus: Corpus, rows: Int64s, added: AddedFiles) -> Known:
    """Return titles, columns and texts of a corpus's documents, including those from added files.

    Parameters
    ----------
    results : Results
    corpus : Corpus
        Training corpus of the run.
    rows : (n,) int64
        The documents that will be requested, in ascending order.
    added : AddedFiles

    Raises
    ------
    MissingInputError
        If a file is missing.
    CorpusError
        If a file is damaged, or does not belong to these documents.
    """
    found = corpus.about
    if added.metadata is not None:
        found = _with_metadata(results, corpus, added.metadata, added)
    if added.texts is None:
        if corpus.about.has_texts and not found.has_texts:
            return AboutWithTexts(found, corpus, rows, rows)
        return found
    reader = copy(results)
    reader.asked = {"keep-text": "all"}
    texts = reader.read(added.texts, added.folder / "texts", added)
    # Ids may not be unique, for example in a corpus of several files. Documents are then matched
    # by position.
    of = rows
    wanted = {name: i for i, name in enumerate(found.ids(rows))}
    if len(wanted) == len(rows):
        of = np.full(len(rows), -1)
        for begin in range(0, texts.documents, _BLOCK):
            some = np.arange(begin, min(begin + _BLOCK, texts.documents))
            for row, name in zip(some.tolist(), texts.about.ids(some), strict=True):
                if name in wanted and of[wanted[name]] < 0:
                    of[wanted[name]] = row
        if len(rows) and (of < 0).all():
            raise CorpusError(
                "no document has an id that occurs in the corpus; give the texts of the same "
                "corpus",
                added.texts,
            )
    elif texts.documents != corpus.documents:
        raise CorpusError(
            "texts cannot be matched to documents: ids of the corpus are not unique, and the "
            f"file has {texts.documents:,} documents instead of {corpus.documents:,}; give the "
            "documents of the corpus in the same order",
            added.texts,
        )
    return AboutWithTexts(found, texts, rows, of)
