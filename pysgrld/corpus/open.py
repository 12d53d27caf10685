"""Any input becomes a stored corpus, or is opened as the one that it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from pysgrld.corpus.corpus_builder import CorpusBuilder
from pysgrld.corpus.inputs import resolve_document_is, texts_of_folder
from pysgrld.corpus.lexicon import Lexicon
from pysgrld.corpus.lines import missing, size_of
from pysgrld.corpus.reading import CorpusOptions, ReadingProgress
from pysgrld.corpus.sources import look, recipe
from pysgrld.corpus.steps import read
from pysgrld.corpus.store import Corpus
from pysgrld.corpus.stored_files import is_stored
from pysgrld.corpus.write import WorkFolder
from pysgrld.errors import Interrupted, UsageError, plural

#: Seconds of reading between two notes of how far it is.
NOTE_EVERY = 30.0


def open_corpus(
    inputs: Sequence[str],
    options: CorpusOptions,
    *,
    store: Path,
    match: Sequence[str] | None = None,
    threads: int = 1,
    resumable: bool = False,
    shard: bool = False,
    notify: Callable[[ReadingProgress], None] | None = None,
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
    threads : int
        That decompress, clean and count words; the result does not depend on it.
    resumable : bool
        When `notify` raises `Interrupted`, or the process is killed, keep what was read beside
        ``store``: the same call goes on from there. Not where an input is a pipe.
    shard : bool
        Whether it is a part of a corpus, which alone may lack words, and fields that were asked for.
    notify : callable, optional
        Told now and then how far the reading is; may raise, to stop.
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
    say = log if log is not None else lambda _: None
    asked = options.vocab, options.metadata, options.phrases
    untouched = match is None and asked == (None, None, None) and not options.prunes
    if untouched and len(inputs) == 1 and is_stored(Path(inputs[0])):
        named = options.id_field, options.title_field, options.meta_field, options.metadata
        if named != (None, None, None, None) or options.keep_text != "auto":
            say(
                f"{inputs[0]}: is stored already, with the names and texts that were kept when it "
                "was built"
            )
        return Corpus.open(inputs[0])
    check_inputs(inputs)
    read_by = recipe(options)
    identity = read_by | {"inputs": [look(path) for path in inputs]}
    # a pipe gives something else when it is read again
    resumable = resumable and all(
        path != "-" and (Path(path).is_file() or Path(path).is_dir()) for path in inputs
    )
    options = resolve_document_is(inputs, options)
    with WorkFolder(Path(store), identity if resumable else None) as work:
        lexicon = Lexicon(options, match, match is not None, say)
        lexicon.label = inputs[0] if len(inputs) == 1 else f"{inputs[0]} and {len(inputs) - 1} more"
        builder = CorpusBuilder(lexicon, work)
        if builder.done != (0, 0):
            say(f"goes on after {plural(lexicon.documents, 'document')} read before")
        meter = Meter(inputs, notify)
        steps = read(
            inputs,
            options,
            keep_empty=lexicon.keep_empty,
            threads=threads,
            waiting=lambda: meter.show(lexicon),
            done=builder.done,
            scratch=work.folder,
        )
        noted = time.monotonic()
        try:
            with closing(steps):
                for step in steps:
                    builder.add(step)
                    meter.read += step.size
                    meter.show(lexicon)
                    if time.monotonic() - noted > NOTE_EVERY:
                        builder.note()
                        noted = time.monotonic()
        except Interrupted:
            builder.note()
            raise
        builder.finish({"inputs": builder.sources} | read_by, whole=True, shard=shard)
    return Corpus.open(store)


def check_inputs(inputs: Sequence[str]) -> None:
    """Refuse inputs that are missing before anything is read.

    Raises
    ------
    UsageError
        If nothing is given, or standard input twice.
    MissingInputError
        If a file is missing or cannot be looked at.
    """
    if not inputs:
        raise UsageError("no corpus was given")
    if list(inputs).count("-") > 1:
        raise UsageError("standard input (-) can be read only once")
    for path in inputs:
        if path != "-":
            try:
                Path(path).stat()
            except OSError as error:
                raise missing(path, error) from None


class Meter:
    """Counts the bytes taken from files, and reports them.

    Parameters
    ----------
    inputs : sequence of str
    notify : callable or None
        To be told.
    """

    def __init__(
        self, inputs: Sequence[str], notify: Callable[[ReadingProgress], None] | None
    ) -> None:
        self.notify, self.read = notify, 0
        self.total: int | None = 0
        if notify is not None:
            for path in inputs:
                files = [path]
                if path != "-" and Path(path).is_dir():
                    if is_stored(Path(path)):
                        continue
                    files = [str(file) for file in texts_of_folder(Path(path)).files]
                for file in files:
                    size = size_of(file)
                    self.total = None if size is None or self.total is None else self.total + size

    def show(self, lexicon: Lexicon) -> None:
        """Report how far the reading is."""
        if self.notify is not None:
            documents = lexicon.documents + (0 if lexicon.keep_empty else lexicon.skipped.total())
            self.notify(ReadingProgress(self.read, self.total, documents))
