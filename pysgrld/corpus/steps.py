"""Inputs of any kind as one sequence of steps, read ahead of whoever takes them.

One thread decompresses and parses, several clean and count words, and the caller gets the results in
order. A step holds all that its part of an input gave, messages and counts of bad documents too, so
what is done with the steps up to one of them does not depend on how far ahead the reading was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus._tokenize import WordCounts, count_words
from pysgrld.corpus.about.particulars import WHOLE, Particulars
from pysgrld.corpus.about.wanted import Wanted
from pysgrld.corpus.beside import vocabulary_beside
from pysgrld.corpus.digests import digest
from pysgrld.corpus.encodings import UTF8
from pysgrld.corpus.formats import (
    Context,
    CountedDocuments,
    Noticed,
    Texts,
    named_as_counts,
    recognise,
)
from pysgrld.corpus.formats.plain import read_folder
from pysgrld.corpus.inputs import left_out_of_folder, texts_of_folder
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.names import plain_name
from pysgrld.corpus.policy import BadDocuments
from pysgrld.corpus.prefetch import map_in_order
from pysgrld.corpus.reading import CorpusOptions, compiled_pattern
from pysgrld.corpus.sources import add_vocabulary, files_of, look
from pysgrld.corpus.store import Corpus, is_stored
from pysgrld.errors import CorpusError
from pysgrld.types import Documents


@dataclass(slots=True)
class Heading:
    """The beginning of an input: text or counts, and the words of its ids.

    Attributes
    ----------
    kind : {"text", "counts"}
    vocabulary : tuple of str or None
        Of counts: the word of each id; None: words are called by their number.
    origin : str
        Where the vocabulary was found, for the record.
    """

    kind: str
    vocabulary: tuple[str, ...] | None = None
    origin: str = ""


@dataclass(slots=True)
class Step:
    """A part of an input that was read: documents, messages, and counts of bad documents.

    Attributes
    ----------
    label : str
        What messages call the input.
    input, number : int
        Which input, and which step of it, both from 0.
    content : Heading, Texts, Documents or None
        None: nothing but what follows.
    about : Particulars or None
        Who its documents are; whoever leaves some out leaves them out of it too.
    words : WordCounts or None
        Of a `Texts`, when it has been counted.
    absent : int
        Documents that the input counts but has no words of.
    skipped : Counter
        Bad documents that were left out, by reason.
    notes : list of str
        To be said to a person.
    size : int
        Bytes taken from files since the step before.
    source : dict or None
        Of the last step of an input: the record of all that was read of it.
    """

    label: str
    input: int
    number: int
    content: Heading | Texts | Documents | None = None
    about: Particulars | None = None
    words: WordCounts | None = None
    absent: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    size: int = 0
    source: dict[str, Any] | None = None

    @property
    def documents(self) -> int:
        """Number of documents in the step, good or bad."""
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
) -> Generator[Step, None, None]:
    """Read inputs, one after the other.

    Parameters
    ----------
    inputs : sequence of str
        Files or folders; "-" is standard input.
    options : CorpusOptions
    keep_empty : bool
        Whether documents without words keep their place.
    threads : int
        That clean and count words.
    waiting : callable
        Called now and then while nothing is ready; may raise, to stop.
    done : (int, int)
        Begin after this step: input and number. Steps of a file are always the same, whatever the
        number of threads; those of a pipe are not.
    head : int, optional
        Cut the steps so that one of them ends with this document.
    scratch : Path, optional
        Folder with room for entries that have to be sorted; by default that of temporary files.

    Raises
    ------
    MissingInputError, CorpusError
        After the steps before the fault.
    """
    noticed, last = Noticed(), len(inputs) - 1
    files = (
        _Input(path, number, options, keep_empty, threads, scratch, noticed, last=number == last)
        for number, path in enumerate(inputs)
        if number >= done[0]
    )
    steps = _steps(files, done, head)
    pattern = compiled_pattern(options.token_pattern)
    keep = options.keep_text != "none"

    def count(step: Step) -> Step:
        texts = step.content
        if isinstance(texts, Texts):
            documents = texts.clean(texts.documents) if texts.clean else texts.documents
            if keep and step.about is not None:
                step.about.texts = list(documents)
            step.words = count_words(documents, pattern)
        return step

    with closing(map_in_order(count, steps, threads, waiting)) as counted:
        yield from counted


def _steps(
    files: Iterable[_Input], done: tuple[int, int], head: int | None
) -> Generator[Step, None, None]:
    """Yield the steps of all inputs, words of texts not yet counted."""
    for file in files:
        with closing(file.steps()) as steps:
            for step in steps:
                if (step.input, step.number) < done and not isinstance(step.content, Heading):
                    continue
                if head is not None and 0 < head < step.documents:
                    yield from _cut(step, head)
                else:
                    yield step
                if head is not None:
                    head -= step.documents


class _Input:
    """One input that is being read."""

    def __init__(
        self,
        path: str,
        number: int,
        options: CorpusOptions,
        keep_empty: bool,
        threads: int,
        scratch: Path | None,
        noticed: Noticed,
        *,
        last: bool,
    ) -> None:
        self.path, self.number, self.options, self.threads = path, number, options, threads
        self.last = last
        self.bad = BadDocuments(options.on_bad_document == "skip")
        self.label, self.absent, self.size, self.steps_given = path, 0, 0, 0
        self.given = 0  # documents so far
        self.notes: list[str] = []
        self.source: dict[str, Any] = {}
        self.context = Context(
            options,
            Wanted.of(options),
            self.bad,
            keep_empty,
            self._absent,
            self.notes.append,
            noticed,
            scratch,
        )

    def _absent(self, documents: int) -> None:
        self.absent += documents

    def _read(self, size: int) -> None:
        self.size += size

    def _texts(self, texts: Texts) -> Step:
        """Make a step of documents that are lines of a file, or files of a folder."""
        number = len(texts.documents)
        places = self.given + np.arange(number)
        name, files = Path(self.path).name, None
        names = [name]
        rows = np.full(number, WHOLE)
        if isinstance(texts.labels, list):
            folder = Path(self.path)
            name = folder.resolve().name
            names = [f"{name}/{Path(p).relative_to(folder).as_posix()}" for p in texts.labels]
            files = np.arange(number)
        elif isinstance(texts.lines, range):
            rows = np.arange(texts.lines.start, texts.lines.stop)
        elif texts.lines is not None:
            rows = np.array(texts.lines, np.int64)
        self.given += number
        return self._step(texts, Particulars(self.number, names, files, rows, places, texts.fields))

    def _step(
        self, content: Heading | Texts | Documents | None, about: Particulars | None = None
    ) -> Step:
        step = Step(
            self.label,
            self.number,
            self.steps_given,
            content,
            about,
            None,
            self.absent,
            Counter(self.bad.skipped),
            list(self.notes),
            self.size,
        )
        self.steps_given += 1
        self.absent = self.size = 0
        self.bad.skipped.clear()
        self.notes.clear()
        return step

    def steps(self) -> Generator[Step, None, None]:
        self.source = look(self.path)
        if self.path != "-" and Path(self.path).is_dir():
            yield from self._folder(Path(self.path))
        else:
            yield from self._file()
        if self.last:
            self.notes += self.context.noticed.remarks(self.options.encoding)
        last = self._step(None)  # what was noticed after the last document
        last.source = self.source
        yield last

    def _folder(self, path: Path) -> Iterator[Step]:
        if is_stored(path):
            stored = Corpus.open(path)
            yield self._step(Heading("counts", stored.vocabulary, "stored corpus"))
            keep = self.options.keep_text != "none"
            for block in stored.blocks():
                rows = self.given + np.arange(len(block))
                self.given += len(block)
                yield self._step(block, stored.about.particulars(rows, self.number, texts=keep))
            self._sealed([digest(file) for file in files_of(path)])
            return
        files = texts_of_folder(path)
        if any(named_as_counts(plain_name(file)) for file in files):
            raise CorpusError("a folder with files of counts (docword.*); name the files", path)
        if line := left_out_of_folder(path):
            self.notes.append(line)
        yield self._step(Heading("text"))
        digests: list[str] = []
        for texts in read_folder(path, files, self.context, self._read, digests.append):
            yield self._texts(texts)
        self._sealed(digests)

    def _sealed(self, digests: Sequence[str]) -> None:
        """Add what the files of a folder held to their records."""
        for record, found in zip(self.source["files"], digests, strict=True):
            record["sha256"] = found

    def _file(self) -> Iterator[Step]:
        options = self.options
        with Lines(
            self.path,
            options.max_line,
            self._read,
            self.threads,
            options.max_input,
            options.encoding,
        ) as source:
            self.label = source.label
            if not source.head:
                raise CorpusError("an empty file; there is nothing to read", source.label)
            format = recognise(source.head, source.name)
            if options.encoding != UTF8 and not format.encoded:
                raise CorpusError(
                    f"--encoding {options.encoding} is for text, CSV and JSON lines, and this is "
                    f"{format.name}: read it with --encoding {UTF8}",
                    source.label,
                )
            context = self.context
            if format.kind == "counts" and source.path is not None:
                context = context._replace(beside=vocabulary_beside(source.path))
            found = format.read(source, context)
            if isinstance(found, CountedDocuments):
                yield from self._counts(found)
                add_vocabulary(self.source, context.beside)
            else:
                yield self._step(Heading("text"))
                for texts in found:
                    yield self._texts(texts)
                if source.guess.utf8:
                    context.noticed.utf8.append(source.label)
            if "size" in self.source:
                self.source["sha256"] = sha256 = source.digest()
                contents = context.noticed.contents
                if twin := contents.get(sha256):
                    self.notes.append(
                        f"warning: {source.label}: the same as {twin}, so its documents are there twice"
                    )
                contents[sha256] = source.label

    def _counts(self, counts: CountedDocuments) -> Iterator[Step]:
        yield self._step(Heading("counts", counts.vocabulary, counts.origin))
        names = [Path(self.path).name]
        for block, rows in counts.blocks:
            places = rows - 1 if counts.numbered else self.given + np.arange(len(block))
            self.given += len(block)
            yield self._step(block, Particulars(self.number, names, None, rows, places))


def _cut(step: Step, at: int) -> Iterator[Step]:
    """Cut a step in two after its first ``at`` documents."""
    content, size = step.content, step.documents
    for begin, end in ((0, at), (at, size)):
        part: Texts | Documents
        if isinstance(content, Texts):
            part = content.part(begin, end)
        else:
            assert isinstance(content, Documents)
            part = content.take(np.arange(begin, end))
        about = None if step.about is None else step.about.take(np.arange(begin, end))
        yield (
            replace(step, content=part, about=about)
            if end == size
            else Step(step.label, step.input, step.number, part, about)
        )
