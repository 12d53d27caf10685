"""The only door: any input becomes a stored corpus."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from pysgrld.corpus.formats import Context, Counts, recognise
from pysgrld.corpus.formats.plain import read_folder
from pysgrld.corpus.inputs import inputs_record, missing, texts_of_folder
from pysgrld.corpus.intake import Intake
from pysgrld.corpus.options import CorpusOptions, Progress
from pysgrld.corpus.store import Corpus, is_stored
from pysgrld.corpus.stream import Stream, size_of
from pysgrld.corpus.write import Workshop
from pysgrld.errors import CorpusError, UsageError


def open_corpus(
    inputs: Sequence[str],
    options: CorpusOptions,
    *,
    store: Path,
    match: Sequence[str] | None = None,
    notify: Callable[[Progress], None] | None = None,
    log: Callable[[str], None] | None = None,
) -> Corpus:
    """Turn inputs into one stored corpus and open it.

    A single folder written by ``sgmc corpus build`` is opened where it lies, unless something is
    to be done to its vocabulary. Anything else is streamed once into ``store``, which appears by
    a rename when it is complete; on any error nothing is left behind.

    Parameters
    ----------
    inputs : sequence of str
        Files or folders; "-" is standard input.
    options : CorpusOptions
    store : Path
        Folder to be made; must not exist, or be empty.
    match : sequence of str, optional
        The vocabulary of a trained run: the corpus gets exactly these words, unknown ones are
        dropped and counted, and documents without a known word stay as empty rows.
    notify : callable, optional
        Told now and then how far the reading is.
    log : callable, optional
        Told, a line at a time, what a person should know.

    Returns
    -------
    Corpus

    Raises
    ------
    UsageError
        If options contradict each other.
    MissingInputError
        If an input is missing or cannot be read.
    CorpusError
        If an input is not what it should be; says file, line, and what to do.
    OutputError, WriteError
        If the store cannot be made, or the disk is full.
    """
    say = log if log is not None else _nobody
    if not inputs:
        raise UsageError("no corpus was given")
    if list(inputs).count("-") > 1:
        raise UsageError("standard input (-) can be read only once")
    untouched = match is None and options.vocab is None and not options.prunes
    if untouched and len(inputs) == 1 and is_stored(Path(inputs[0])):
        return Corpus.open(inputs[0])
    for path in inputs:  # what is missing is said before anything is read
        if path != "-":
            try:
                Path(path).stat()
            except OSError as error:
                raise missing(path, error) from None
    provenance = {"inputs": inputs_record(inputs), "options": asdict(options)}
    with Workshop(Path(store)) as workshop:
        intake = Intake(options, match, workshop, say)
        intake.label = inputs[0] if len(inputs) == 1 else f"{inputs[0]} and {len(inputs) - 1} more"
        meter = _Meter(inputs, notify)
        for path in inputs:
            with closing(_read(path, intake, meter)) as steps:  # a file is closed on any error
                for _ in steps:
                    meter.tell(intake.documents + intake.bad.skipped.total())
        intake.finish(provenance)
    return Corpus.open(store)


def _read(path: str, intake: Intake, meter: _Meter) -> Generator[None, None, None]:
    """Read one input, block by block."""
    context = Context(
        intake.options,
        intake.bad,
        intake.match is not None,
        intake.absent,
        intake.log,
        intake.workshop.folder,
    )
    if path != "-" and Path(path).is_dir():
        if is_stored(Path(path)):
            intake.expect("counts", path)
            stored = Corpus.open(path)
            yield from intake.add_counts(
                Counts(stored.vocabulary, "stored corpus", stored.blocks()), path
            )
            return
        files = texts_of_folder(Path(path))
        if any(file.name.startswith("docword.") for file in files):
            raise CorpusError("a folder with files of counts (docword.*); name the files", path)
        intake.expect("text", path)
        for texts in read_folder(files, context, meter.add):
            intake.add_text(texts)
            yield
        return
    with Stream(path, intake.options.max_line, meter.add) as stream:
        if not stream.head:
            raise CorpusError("an empty file; there is nothing to read", stream.label)
        format = recognise(stream.head, stream.name)
        found = format.read(stream, context)
        intake.expect(format.kind, stream.label)
        if isinstance(found, Counts):
            yield from intake.add_counts(found, stream.label)
        else:
            for texts in found:
                intake.add_text(texts)
                yield


class _Meter:
    """Bytes taken from files so far."""

    def __init__(self, inputs: Sequence[str], notify: Callable[[Progress], None] | None) -> None:
        self.notify, self.read = notify, 0
        self.total: int | None = 0
        if notify is not None:
            for path in inputs:
                files = [path]
                if path != "-" and Path(path).is_dir():
                    if is_stored(Path(path)):
                        continue
                    files = [str(file) for file in texts_of_folder(Path(path))]
                for file in files:
                    size = size_of(file)
                    self.total = None if size is None or self.total is None else self.total + size

    def add(self, size: int) -> None:
        self.read += size

    def tell(self, documents: int) -> None:
        if self.notify is not None:
            self.notify(Progress(self.read, self.total, documents))


def _nobody(line: str) -> None:
    """Where lines go that nobody asked for."""
