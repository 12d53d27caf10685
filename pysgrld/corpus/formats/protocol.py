"""Types that the readers of all formats share: their arguments and their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.corpus.about.details import FieldError, FieldReader, Fields, WantedFields
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import CorpusError, Log, Message, Severity, plural
from pysgrld.types import Documents, Int64s


class Texts(NamedTuple):
    """Batch that a reader yields, with the texts of several documents.

    Attributes
    ----------
    documents : list of bytes
        Texts in UTF-8, which is not yet checked.
    labels : list of str, or str
        Name of the file, or the name of each document's file.
    lines : sequence of int or None
        Line of each document in the file.
    clean : callable (list of bytes) -> list of bytes, optional
        Removes markup from the documents before they are split into words. Any thread may call it.
    fields : Fields, optional
        Other fields of each document.
    records : sequence of int, optional
        Number of each document's record in the input, from 1; by default its line.
    """

    documents: list[bytes]
    labels: list[str] | str
    lines: range | list[int] | None
    clean: Callable[[list[bytes]], list[bytes]] | None = None
    fields: Fields | None = None
    records: range | list[int] | None = None

    def where(self, position: int) -> tuple[str, int | None]:
        """Return the file and the line number of a document, given its position in the batch."""
        label = self.labels if isinstance(self.labels, str) else self.labels[position]
        return label, None if self.lines is None else self.lines[position]

    def part(self, start: int, stop: int) -> Texts:
        """Return a batch with the documents from position `start` to before `stop`."""
        labels = self.labels if isinstance(self.labels, str) else self.labels[start:stop]
        lines = None if self.lines is None else self.lines[start:stop]
        fields = None if self.fields is None else self.fields.take(range(start, stop))
        records = None if self.records is None else self.records[start:stop]
        return Texts(self.documents[start:stop], labels, lines, self.clean, fields, records)


class BadDocument(Exception):
    """Error for a record or a file that is not a valid document.

    The message has the cause. `reason` is a short name for the cause, by which skipped documents
    are counted; if it is empty, the error was already reported.
    """

    def __init__(self, reason: str = "", message: str = "") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass
class BadDocuments:
    """Handler of invalid documents, which raises an error, or counts them if they are skipped.

    Parameters
    ----------
    skip : bool
        Whether invalid documents are skipped and counted.

    Attributes
    ----------
    skipped : Counter
        Number of skipped documents by reason.
    """

    skip: bool
    skipped: Counter[str] = field(default_factory=Counter)

    def __call__(self, reason: str, message: str, path: str, line: int | None) -> None:
        """Count an invalid document if invalid documents are skipped, else raise an error.

        Raises
        ------
        CorpusError
            If bad documents are not skipped.
        """
        if not self.skip:
            raise CorpusError(
                f"{message}; skip such documents with --on-bad-document skip", path, line
            )
        self.skipped[reason] += 1


class CountedDocuments(NamedTuple):
    """Result of a reader of counts: documents as word counts, with their vocabulary.

    Attributes
    ----------
    vocabulary : tuple of str or None
        The word of each id, or None if words are named by their numbers.
    origin : str
        Origin of the vocabulary, for the record.
    blocks : iterator of (Documents, (n,) int64)
        Documents, with strictly increasing ids of words, and the row of each document: its line in
        the file, or its number.
    numbered : bool
        True if rows are numbers of documents, and documents without words have numbers too.
    ids : sequence of str, optional
        The id of each row.
    """

    vocabulary: tuple[str, ...] | None
    origin: str
    blocks: Iterator[tuple[Documents, Int64s]]
    numbered: bool
    ids: Sequence[str] | None = None


class SingleCells(NamedTuple):
    """Paths of two files that belong to a single-cell matrix: the genes and the cells (barcodes).

    Attributes
    ----------
    genes, barcodes : Path
    """

    genes: Path
    barcodes: Path


@dataclass
class Noticed:
    """Collector of facts about input files, so that a single message can cover several files.

    Attributes
    ----------
    by_line, by_file : list of str
        Files of plain text with a document per line, and files that are one document.
    utf8 : list of str
        Files that are UTF-8 although another encoding was given.
    contents : dict of str to str
        The last file with each content, by the SHA-256 of the content.
    twins : list of (str, str)
        Pairs of a file and a file of an earlier input that has the same content.
    text_fields : dict of str to str
        The field that was detected as the text, by file.
    """

    by_line: list[str] = field(default_factory=list)
    by_file: list[str] = field(default_factory=list)
    utf8: list[str] = field(default_factory=list)
    contents: dict[str, str] = field(default_factory=dict)
    twins: list[tuple[str, str]] = field(default_factory=list)
    text_fields: dict[str, str] = field(default_factory=dict)

    def add_contents(self, files: Mapping[str, str]) -> None:
        """Add the files of an input; note files whose content equals a file of an earlier input.

        Parameters
        ----------
        files : mapping of str to str
            Files by the SHA-256 of their content.
        """
        self.twins += [
            (file, self.contents[sha256])
            for sha256, file in files.items()
            if sha256 in self.contents
        ]
        self.contents.update(files)

    def remarks(self, encoding: str) -> Iterator[Message]:
        """Yield messages to the user, made from the collected facts."""
        if len(self.by_line) > 1:
            yield Message(
                f"{len(self.by_line):,} text files: each line is a document (--document-is file "
                "makes each file a document)"
            )
        if self.by_file:
            yield Message(
                f"{plural(len(self.by_file), 'text file')}: each file is a document "
                "(--document-is line makes each line a document)"
            )
        if self.utf8:
            n_others = plural(len(self.utf8) - 1, "other file")
            who = self.utf8[0] + (f" and {n_others}" if len(self.utf8) > 1 else "")
            yield Message(
                f"{who}: UTF-8 was read as {encoding}, so accented letters are wrong; leave out "
                "--encoding, and convert all other files to UTF-8",
                Severity.WARNING,
            )
        if self.twins:
            file, first = self.twins[0]
            said = (
                f"{file}: has the same content as {first}, so its documents occur twice; "
                "remove one of the files"
            )
            if len(self.twins) > 1:
                said = (
                    f"{len(self.twins):,} files have the same content as earlier files (for "
                    f"example {file} and {first}), so their documents occur twice; remove these "
                    "files"
                )
            yield Message(said, Severity.WARNING)


@dataclass
class RecordCounter:
    """Counter of the records of an input; the input may be a folder with several tables.

    Attributes
    ----------
    last : int
        Number of records so far, including bad records.
    """

    last: int = 0


class Context(NamedTuple):
    """Options and shared objects that every reader gets.

    Attributes
    ----------
    options : CorpusOptions
    wanted : WantedFields
        The fields of records that are to be kept.
    bad : BadDocuments
        Called for every document that cannot be read.
    keep_empty : bool
        True if documents without words stay in the corpus; else `absent` counts them.
    absent : callable (int) -> None
        Called with the number of documents without words that were left out.
    log : Log
    noticed : Noticed
        Collector of facts about files, to which the reader adds.
    counter : RecordCounter
        Counter of the records of the input, which readers advance.
    scratch : Path, optional
        Folder for large temporary files; by default the system's folder of temporary files.
    beside : Path, optional
        The vocabulary next to a file of counts.
    single_cells : SingleCells, optional
        Files with the genes and cells of a single-cell matrix.
    """

    options: CorpusOptions
    wanted: WantedFields
    bad: BadDocuments
    keep_empty: bool
    absent: Callable[[int], None]
    log: Log
    noticed: Noticed
    counter: RecordCounter
    scratch: Path | None = None
    beside: Path | None = None
    single_cells: SingleCells | None = None


class Batch:
    """Collector of records, which become a batch of texts.

    Parameters
    ----------
    label : str
        Name of the file in messages.
    context : Context
    together, most : int
        Number of documents, and of bytes of text, at which a batch is full.
    typed : bool
        Whether text in a field is always text. If False, it may represent a number, as in CSV.
    noun : str
        Noun of a record in messages, before its number; empty if the numbers are line numbers.
    header : int, optional
        Number of the row above the first record. If it is given, records are numbered by their
        rows, so that skipped rows count; otherwise records are counted.
    """

    def __init__(
        self,
        label: str,
        context: Context,
        together: int = 1024,
        most: int = 2**22,
        *,
        typed: bool = True,
        noun: str = "",
        header: int | None = None,
    ) -> None:
        self.label, self.context, self.noun = label, context, noun
        self._counter = context.counter
        # The number of a row is greater than the number of its record by this difference.
        self._shift = None if header is None else context.counter.last - header
        self.together, self.most = together, most
        self._fields = FieldReader(context.wanted, typed)
        self._documents: list[bytes] = []
        self._numbers: list[int] = []
        self._records: list[int] = []
        self._size = 0

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def full(self) -> bool:
        """True if the batch is full; the caller should then call `texts`."""
        return len(self) >= self.together or self._size >= self.most

    def add(self, text: bytes, fields: Mapping[str, Any], number: int) -> None:
        """Add a record to the batch, as its text and its other fields.

        Raises
        ------
        BadDocument
            If one of the fields cannot be a column.
        CorpusError
            If the records so far have too many columns.
        """
        try:
            self._fields.add(fields)
        except CorpusError as error:
            line = None if self.noun else number
            raise CorpusError(error.reason, self.label, line) from None
        except FieldError as error:
            raise BadDocument("field not plain", str(error)) from None
        self._count(number)
        self._keep(text, number)

    def _count(self, number: int) -> None:
        last = self._counter.last
        self._counter.last = last + 1 if self._shift is None else number + self._shift

    def _keep(self, text: bytes, number: int) -> None:
        self._documents.append(text)
        self._numbers.append(number)
        self._records.append(self._counter.last)
        self._size += len(text)

    def refuse(self, bad: BadDocument, number: int) -> None:
        """Report an invalid record, and add an empty document if empty documents are kept.

        Raises
        ------
        CorpusError
            If bad records are not skipped.
        """
        self._count(number)
        if bad.reason:
            message, line = (
                (f"{self.noun} {number}: {bad}", None) if self.noun else (str(bad), number)
            )
            self.context.bad(bad.reason, message, self.label, line)
        if self.context.keep_empty:
            self._fields.add({})
            self._keep(b"", number)

    def texts(self) -> Texts:
        """Return the collected batch, and start a new batch."""
        fields = self._fields.fields()
        texts = Texts(
            self._documents, self.label, self._numbers, fields=fields, records=self._records
        )
        self._documents, self._numbers, self._records, self._size = [], [], [], 0
        return texts


def field_names(names: Iterable[str]) -> str:
    """List up to eight field names of a record for a message, shortened to 40 characters each."""
    first = [repr(name[:40] + "..." if len(name) > 40 else name) for name in islice(names, 8)]
    return ", ".join(first) or "none"
