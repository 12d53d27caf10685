"""Reading of inputs in all formats, as a sequence of steps; each step has a batch of documents.

One thread decompresses and parses, several threads clean and count words, and the caller gets the
results in order. A step contains all results of its part of an input, including messages and counts
of bad documents, so that the results up to a step do not depend on the threads, which work ahead of
the caller. This module also splits long documents into pieces, which are then treated as documents.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysgrld.corpus._tokenize import Phrases, WordCounts, count_words
from pysgrld.corpus.about.details import WHOLE, DocumentDetails, Fields, WantedFields
from pysgrld.corpus.chunks import chunked, without_licence
from pysgrld.corpus.formats import (
    FILE_OF_TEXT,
    IN_FOLDERS,
    TABLE,
    TEXT,
    Context,
    CountedDocuments,
    Format,
    Noticed,
    Texts,
    named_as_counts,
    recognise,
)
from pysgrld.corpus.formats.plain_text import Extract, read_folder
from pysgrld.corpus.formats.protocol import BadDocuments, RecordCounter
from pysgrld.corpus.inputs import (
    folder_in,
    input_names,
    matrix_in,
    single_cells,
    texts_of_folder,
    vocabulary_beside,
    year_in,
)
from pysgrld.corpus.lines import UTF8, Lines, plain_name
from pysgrld.corpus.links import LICENCE, plain_texts
from pysgrld.corpus.masks import masked
from pysgrld.corpus.prefetch import map_in_order
from pysgrld.corpus.reading import AUTO, FOLDER, NUMBERED, NUMBERS, OF_WORDS, YEAR, CorpusOptions
from pysgrld.corpus.segment import BETWEEN_BLANKS, segmented
from pysgrld.corpus.sources import add_vocabulary, files_of, look
from pysgrld.corpus.store import Corpus
from pysgrld.corpus.stored_files import digest, is_stored
from pysgrld.corpus.token_patterns import TokenPattern, TooSlowError, is_text
from pysgrld.errors import CorpusError, Message
from pysgrld.options.paths import is_folder
from pysgrld.types import Documents

if TYPE_CHECKING:
    from pysgrld.corpus.formats import slack

#: Function that returns True if the caller needs any document in a range, given the start and end
#: of the range. The words of all other documents are not counted.
Wish = Callable[[int, int], bool]


@dataclass(slots=True)
class Heading:
    """First item that a reader of an input yields; it states whether texts or counts follow.

    Attributes
    ----------
    kind : {"text", "counts"}
    vocabulary : tuple of str or None
        For counts: the word of each id, or None if the words are column numbers.
    origin : str
        Origin of the vocabulary, for the record.
    """

    kind: str
    vocabulary: tuple[str, ...] | None = None
    origin: str = ""


@dataclass(slots=True)
class Step:
    """Part of an input that was read: a batch of documents, and messages to the user.

    Attributes
    ----------
    label : str
        Name of the input in messages.
    input, number : int
        Number of the input, and number of the step in the input, both from 0.
    content : Heading, Texts, Documents or None
        None if the step has only messages and counts.
    about : DocumentDetails or None
        Details of the documents. Code that leaves documents out leaves out their details too.
    words : WordCounts or None
        Word counts of `content`, if it is a `Texts` and its words have been counted.
    cut, pieces : int
        Number of long documents that were split, and number of their pieces.
    unwanted : int
        Number of documents skipped because the caller does not need them.
    absent : int
        Number of documents that the input counts without giving words for them.
    skipped : Counter
        Number of bad documents that were left out, by reason.
    parts : Counter
        Number of parts removed from texts, by kind, and of placeholders for a missing text.
    notes : list of Message
        Messages to the user.
    size : int
        Number of bytes read from files since the previous step.
    source : dict or None
        In the last step of an input, the record of the input.
    read : int
        In the last step of an input, its number of documents, including documents left out.
    """

    label: str
    input: int
    number: int
    content: Heading | Texts | Documents | None = None
    about: DocumentDetails | None = None
    words: WordCounts | None = None
    absent: int = 0
    unwanted: int = 0
    cut: int = 0
    pieces: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    parts: Counter[str] = field(default_factory=Counter)
    notes: list[Message] = field(default_factory=list)
    size: int = 0
    source: dict[str, Any] | None = None
    read: int = 0

    @property
    def documents(self) -> int:
        """Number of documents in the step, including invalid documents."""
        if isinstance(self.content, Texts):
            return len(self.content.documents)
        return len(self.content) if isinstance(self.content, Documents) else 0


def read(
    inputs: Sequence[str],
    options: CorpusOptions,
    *,
    keep_empty: bool,
    threads: int,
    waiting: Callable[[], None],
    done: tuple[int, int] = (0, 0),
    head: int | None = None,
    scratch: Path | None = None,
    wanted: Wish | None = None,
    order: bool = False,
    among: Sequence[str] | None = None,
) -> Generator[Step, None, None]:
    """Read inputs one after the other; yield their documents in steps.

    Parameters
    ----------
    inputs : sequence of str
        Files or folders; "-" is standard input.
    options : CorpusOptions
    keep_empty : bool
        Whether documents without words keep their place.
    threads : int
        Number of threads that clean and count words.
    waiting : callable
        Called now and then while no step is ready. It may raise an exception to stop.
    done : (int, int)
        First step to yield: number of the input, and number of the step in it. Steps of a file are
        the same for any number of threads; steps of a pipe are not.
    head : int, optional
        Number of documents after which a step must end.
    scratch : Path, optional
        Folder with room for entries that have to be sorted; by default the folder for temporary
        files.
    wanted : callable (first, end) -> bool, optional
        Returns True if the caller needs any of the documents [first, end), where empty documents are
        counted too (`keep_empty`). The words of other documents are not counted.
    order : bool
        Whether the order of the words in each document is kept, in addition to the word counts.
    among : sequence of str, optional
        All inputs of the corpus, if ``inputs`` are the inputs of one of its shards; their names
        distinguish documents of different inputs.

    Raises
    ------
    MissingInputError, CorpusError
        After the steps before the fault.
    """
    options = options.for_documents()
    noticed, last = Noticed(), len(inputs) - 1
    names = input_names(inputs if among is None else among)
    files = (
        _Input(
            path, number, options, keep_empty, threads, scratch, noticed, names, last=number == last
        )
        for number, path in enumerate(inputs)
        if number >= done[0]
    )
    pattern = None if options.token_pattern is None else TokenPattern(options.token_pattern)
    phrases = Phrases(options.phrases) if options.phrases else None
    language = options.cuts
    keep, keep_links = options.keep_text != "none", bool(options.keep_links)

    def count(step: Step) -> Step:
        texts = step.content
        if isinstance(texts, Texts):
            documents = texts.clean(texts.documents) if texts.clean else texts.documents
            if keep and step.about is not None:
                step.about.texts = list(documents)
            documents = plain_texts(documents, keep_links=keep_links, left_out=step.parts)
            if options.mask:
                documents = masked(documents, step.parts)
            if language:
                cut = segmented(documents, language)
                step.words = count_words(cut, BETWEEN_BLANKS, phrases, order)
            elif pattern is None:
                step.words = count_words(documents, None, phrases, order)
            else:
                step.words = _matched(texts, documents, pattern)
        return step

    with closing(
        map_in_order(count, _steps(files, done, head, wanted), threads, waiting)
    ) as counted:
        yield from counted


def _matched(texts: Texts, documents: Sequence[bytes], pattern: TokenPattern) -> WordCounts:
    """Count the words that the user's token pattern matches, with a time limit per document."""
    try:
        return count_words(documents, pattern.matching())
    except TooSlowError as slow:
        read = [position for position, document in enumerate(documents) if is_text(document)]
        label, line = texts.where(read[slow.at])
        raise CorpusError(
            f"the token pattern {pattern.pattern!r} takes more than {slow.seconds:.0f} s for this "
            "document; rewrite it without a repetition inside a repetition, such as (a+)+",
            label,
            line,
        ) from None


def _steps(
    files: Iterable[_Input], done: tuple[int, int], head: int | None, wish: Wish | None
) -> Generator[Step, None, None]:
    """Yield all steps of reading after step ``done``; drop documents that ``wish`` excludes."""
    first = 0
    for file in files:
        with closing(file.steps()) as steps:
            for step in steps:
                if (step.input, step.number) < done and not isinstance(step.content, Heading):
                    continue
                parts = [step]
                if head is not None:
                    if 0 < head < step.documents:
                        parts = _cut(step, head)
                    head -= step.documents
                for part in parts:
                    begin, first = first, first + part.documents
                    if wish is not None and begin < first and not wish(begin, first):
                        part.content = part.about = None
                        part.unwanted, part.skipped = first - begin, Counter()
                    yield part


def _cut(step: Step, place: int) -> list[Step]:
    """Split a step of reading in two parts; the first part has ``place`` documents and no messages."""
    content, places = step.content, np.arange(step.documents)
    if isinstance(content, Texts):
        first: Texts | Documents = content.part(0, place)
        second: Texts | Documents = content.part(place, len(places))
    else:
        assert isinstance(content, Documents)
        first, second = content.take(places[:place]), content.take(places[place:])
    abouts = [
        None if step.about is None else step.about.take(p) for p in (places[:place], places[place:])
    ]
    return [
        Step(step.label, step.input, step.number, first, abouts[0]),
        replace(step, content=second, about=abouts[1]),
    ]


class _Input:
    """Reader of an input, which is a file, a folder or standard input."""

    def __init__(
        self,
        path: str,
        number: int,
        options: CorpusOptions,
        keep_empty: bool,
        threads: int,
        scratch: Path | None,
        noticed: Noticed,
        names: Mapping[str, str],
        *,
        last: bool,
    ) -> None:
        self.path, self.number, self.options, self.threads = path, number, options, threads
        self.input_name, self.several_inputs = names[path], len(names) > 1
        self.last = last
        self.bad = BadDocuments(options.on_bad_document == "skip")
        self.label, self.absent, self.size, self.steps_given = path, 0, 0, 0
        self.name = self.input_name
        self.folder: Path | None = None  # Path of the input if it is a folder of texts.
        self.slack: slack.Export | None = None
        # `given` is the number of documents in yielded steps, `read` that of omitted documents.
        self.given = self.read = 0
        self.notes: list[Message] = []
        self.source: dict[str, Any] = {}
        self.context = Context(
            options,
            WantedFields.of(options),
            self.bad,
            keep_empty,
            self._absent,
            lambda *message: self.notes.append(Message(*message)),
            noticed,
            RecordCounter(),
            scratch,
        )

    def _absent(self, documents: int) -> None:
        self.absent += documents
        self.read += documents

    def _size(self, size: int) -> None:
        self.size += size

    def _texts(self, texts: Texts) -> Step:
        """Split long texts if requested; return a step with texts and details of documents."""
        whole, licences = len(texts.documents), 0
        if self.options.document_is == "file":
            books = [without_licence(document) for document in texts.documents]
            licences = sum(map(operator.ne, books, texts.documents))
            texts = texts._replace(documents=books)
        places, cut = self.given + np.arange(whole), None
        if self.options.chunk:
            cut = chunked(texts, self.options.chunk)
            texts, places = cut.texts, places[cut.of]
        number = len(texts.documents)
        name, files = self.name, None
        names = [name]
        rows = np.full(number, WHOLE)
        if isinstance(texts.labels, list):
            fields = texts.fields
            folder = Path(self.path)
            below = [Path(path).relative_to(folder).as_posix() for path in texts.labels]
            name = self.input_name  # Each file's name begins with the name of the input folder.
            names = [f"{name}/{path}" for path in below]
            files = np.arange(number)
            # Files in different input folders may have equal names.
            if fields is not None and self.several_inputs:
                ids = [
                    name if key == path else key
                    for key, path, name in zip(fields.ids, below, names, strict=True)
                ]
                texts = texts._replace(fields=fields._replace(ids=ids))
        elif self.folder is not None:
            file = Path(texts.labels).relative_to(self.folder)
            names = [f"{self.input_name}/{file.as_posix()}"]
        if isinstance(texts.lines, range):
            rows = np.arange(texts.lines.start, texts.lines.stop)
        elif texts.lines is not None:
            rows = np.array(texts.lines, np.int64)
        if (self.folder is not None or self.several_inputs) and self.slack is None:
            texts = self._with_names(texts, names)
        self.given += whole
        records = rows if texts.records is None else np.array(texts.records, np.int64)
        about = DocumentDetails(self.number, names, files, rows, records, places, texts.fields)
        about.several_inputs = self.several_inputs
        if cut is not None:
            about.pieces = cut.pieces
        step = self._step(texts, about)
        step.parts[LICENCE] += licences
        if cut is None:
            return step
        step.cut, step.pieces = int((cut.pieces == 1).sum()), int((cut.pieces > 0).sum())
        return step

    def _with_names(self, texts: Texts, names: list[str]) -> Texts:
        """Add the requested columns ``folder`` and ``year``, which are derived from file names."""
        fields, wanted = texts.fields, self.context.wanted
        columns = {} if fields is None else dict(fields.columns)
        for column, of_name in ((FOLDER, folder_in), (YEAR, year_in)):
            if not (wanted.everything or column in wanted.columns):
                continue
            if any(value is not None for value in columns.get(column, ())):
                continue
            values = [of_name(name) for name in names]
            if any(value is not None for value in values):
                columns[column] = values * (len(texts.documents) // len(values))
        if not columns:
            return texts
        if fields is None:
            none = [None] * len(texts.documents)
            fields = Fields(none, none, {})
        return texts._replace(fields=fields._replace(columns=columns))

    def _step(
        self, content: Heading | Texts | Documents | None, about: DocumentDetails | None = None
    ) -> Step:
        step = Step(
            self.label,
            self.number,
            self.steps_given,
            content,
            about,
            absent=self.absent,
            skipped=Counter(self.bad.skipped),
            notes=list(self.notes),
            size=self.size,
        )
        self.steps_given += 1
        self.absent = self.size = 0
        self.bad.skipped.clear()
        self.notes.clear()
        return step

    def steps(self) -> Generator[Step, None, None]:
        self.source = look(self.path)
        if self.path != "-" and is_folder(self.path):
            yield from self._folder(Path(self.path))
        else:
            yield from self._file(self.path)
        if self.last:
            self.notes += self.context.noticed.remarks(self.options.encoding)
        last = self._step(None)  # The last step has no documents, only the remaining messages.
        last.source, last.read = self.source, self.given + self.read
        yield last

    def _folder(self, path: Path) -> Iterator[Step]:
        digests: list[str] = []
        if is_stored(path):
            self._refuse_chunks()
            stored = Corpus.open(path)
            numbered = stored.reading.get(OF_WORDS) == NUMBERED
            origin = NUMBERS if numbered else "stored corpus"
            yield self._step(Heading("counts", stored.vocabulary, origin))
            keep = self.options.keep_text != "none"
            for block in stored.blocks():
                rows = self.given + np.arange(len(block))
                self.given += len(block)
                about = stored.about.details(rows, self.number, texts=keep)
                about.several_inputs |= self.several_inputs
                yield self._step(block, about)
            self.read = stored.about.read - stored.documents
            digests += [digest(file) for file in files_of(path)]
            self.context.noticed.add_contents({stored.fingerprint: str(path)})
        elif matrix := matrix_in(path):
            yield from self._file(str(matrix))
            digests += [digest(file) for file in files_of(path)]
        else:
            files, remarks = texts_of_folder(path)
            if any(named_as_counts(plain_name(file)) for file in files):
                raise CorpusError(
                    "the folder has files of counts (docword.*); give the names of the files", path
                )
            self.notes += map(Message, remarks)
            from pysgrld.corpus.formats import slack  # Only folders need this import.

            self.folder = path
            self.slack = slack.export_in(path)
            yield self._step(Heading("text"))
            how = self.context, self._opened, self._read_in_folder, digests.append
            for texts in read_folder(path, files, *how):
                yield self._texts(texts)
            if self.slack is not None:
                self.notes += self.slack.remarks()
            if (field := next(iter(self.context.noticed.text_fields.values()), None)) is not None:
                self.source["text-field"] = field
            alike = dict(zip(digests, map(str, files), strict=True))
            self.context.noticed.add_contents(alike)
        for record, file_digest in zip(self.source["files"], digests, strict=True):
            record["sha256"] = file_digest

    def _opened(self, path: Path) -> Lines:
        """Open a file of a folder, with the user's encoding if the file's format is text."""
        options = self.options
        format = IN_FOLDERS.get(path.suffix.lower()) or recognise(b"", plain_name(path))
        encoding = options.encoding if format.encoded else UTF8
        return Lines(path, options.max_line, self._size, self.threads, options.max_input, encoding)

    def _read_in_folder(self, source: Lines) -> Extract | Iterator[Texts]:
        """Return the documents in a file; for a single document, return a function to read it.

        Raises
        ------
        CorpusError
            If the file contains counts, or has a refused format.
        """
        if self.slack is not None:
            return self.slack.read(source, self.context)
        format = recognise(source.head, source.name)
        if format.kind == "counts":
            raise CorpusError(
                f"this is a file of counts ({format.name}) in a folder of texts; give the files of "
                "counts in a separate command",
                source.label,
            )
        format = FILE_OF_TEXT if format is TEXT else format
        self._check_fields(format, source.label)
        if format.whole:
            extract: Extract = format.function()
            return extract
        content = format.read(source, self.context) if source.head else iter(())
        assert not isinstance(content, CountedDocuments)
        return content

    def _file(self, path: str) -> Iterator[Step]:
        options = self.options
        with Lines(
            path, options.max_line, self._size, self.threads, options.max_input, options.encoding
        ) as source:
            self.label = source.label
            by_file = options.document_is == "file"
            if not source.head and not by_file:
                raise CorpusError("the file is empty; give a file with documents", source.label)
            format = recognise(source.head, source.name)
            if format is TEXT and options.header_line is not None:
                format = TABLE
            if format is TEXT and by_file:
                format = FILE_OF_TEXT
                self.context.noticed.by_file.append(source.label)
            if options.encoding != UTF8 and not format.encoded:
                raise CorpusError(
                    f"--encoding {options.encoding} applies only to text, CSV and JSON lines, but "
                    f"this file is {format.name}; leave out --encoding for this file",
                    source.label,
                )
            self._check_fields(format, source.label)
            context = self.context
            if format.kind == "counts" and source.path is not None:
                vocabulary, cells = vocabulary_beside(source.path), single_cells(source.path)
                context = context._replace(beside=vocabulary, single_cells=cells)
            content = format.read(source, context)
            if isinstance(content, CountedDocuments):
                self._refuse_chunks()
                yield self._step(Heading("counts", content.vocabulary, content.origin))
                names = [self.name if path == self.path else Path(path).name]
                for block, rows in content.blocks:
                    places = rows - 1 if content.numbered else self.given + np.arange(len(block))
                    self.given += len(block)
                    fields = None
                    if content.ids is not None:
                        ids = [content.ids[row - 1] for row in rows.tolist()]
                        fields = Fields(ids, [None] * len(ids), {})
                    about = DocumentDetails(
                        self.number, names, None, rows, places + 1, places, fields
                    )
                    about.several_inputs = self.several_inputs
                    yield self._step(block, about)
                if path == self.path:
                    add_vocabulary(self.source, context.beside)
            else:
                yield self._step(Heading("text"))
                for texts in content:
                    yield self._texts(texts)
                if source.is_utf8:
                    context.noticed.utf8.append(source.label)
            if (field := context.noticed.text_fields.get(source.label)) is not None:
                self.source["text-field"] = field
            if "size" in self.source:
                self.source["sha256"] = sha256 = source.digest()
                if source.head:
                    context.noticed.add_contents({sha256: source.label})

    def _check_fields(self, format: Format, label: str) -> None:
        """Raise an error if the user named a text field, but a file's format has no fields.

        Raises
        ------
        CorpusError
        """
        options = self.options
        if options.text_field != AUTO and not (
            format.fields or options.as_recorded or format.refused
        ):
            raise CorpusError(
                f"this is {format.name}, which has no fields; leave out --text-field, or give a "
                f"file with a field {options.text_field!r}",
                label,
            )

    def _refuse_chunks(self) -> None:
        if self.options.chunk:
            raise CorpusError(
                "documents given as counts cannot be split into pieces; give --chunk none",
                self.label,
            )
