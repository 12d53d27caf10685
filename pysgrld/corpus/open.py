"""Conversion of inputs to a stored corpus (`open_corpus`).

Documents are written to disk as they are read, and the vocabulary is chosen after all documents
were read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus import masks
from pysgrld.corpus._tokenize import tally
from pysgrld.corpus.about.archive import Stays, write_about
from pysgrld.corpus.about.columns import COLUMN, ID, TITLE, DetailsCollector
from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.about.metadata import Metadata
from pysgrld.corpus.inputs import check_inputs, resolve_document_is
from pysgrld.corpus.lexicon import Lexicon
from pysgrld.corpus.lines import size_of
from pysgrld.corpus.links import CALLED, GARBLED, LICENCE
from pysgrld.corpus.reading import AUTO, CorpusOptions, ReadingProgress
from pysgrld.corpus.segment import SEGMENTERS
from pysgrld.corpus.sources import files_of, look, recipe
from pysgrld.corpus.steps import Step, Wish, read
from pysgrld.corpus.stopwords import warned_of_language, warned_of_letters, warned_of_script
from pysgrld.corpus.store import Corpus
from pysgrld.corpus.stored_files import is_stored
from pysgrld.corpus.survey import Survey, survey
from pysgrld.corpus.vocabulary import RULES, Rules, choose, resolved, stop_words
from pysgrld.corpus.write import ABOUT, WorkFolder, Writer, renumber, without_empty, work_folder
from pysgrld.errors import IGNORED, CorpusError, Interrupted, Log, Message, Severity, no_log, plural
from pysgrld.options.paths import is_folder, is_stream
from pysgrld.types import Documents, Int64s

#: Reason in ``meta.json`` under which documents without known words are counted.
EMPTY = "no known word"
#: Reason in ``meta.json`` under which repeated or foreign-language documents are counted.
UNWANTED = "repeated, or in another language"
#: A corpus is split into pieces, like books, only if it has at most this number of documents.
FEW = 20
#: A corpus is split into pieces only if documents have at least this number of tokens on average.
LONG = 2000
#: The user is warned if more than this fraction of the tokens are numbers, which are left out.
MOSTLY = 0.5
#: Number of seconds between two records of the progress.
NOTE_EVERY = 30.0


def open_corpus(
    inputs: Sequence[str],
    options: CorpusOptions,
    *,
    store: Path,
    match: Sequence[str] | None = None,
    threads: int = 1,
    resumable: bool = False,
    among: Sequence[str] | None = None,
    notify: Callable[[ReadingProgress], None] | None = None,
    log: Log | None = None,
) -> Corpus:
    """Convert inputs to a single stored corpus, and open the corpus.

    A single folder written by ``sgmc corpus build`` is opened in place, unless an option changes its
    vocabulary. Any other input is read once and written to ``store``, which is renamed into place
    when it is complete; after an error nothing is left behind.

    Parameters
    ----------
    inputs : sequence of str
        Files or folders; "-" is standard input.
    options : CorpusOptions
    store : Path
        Folder to create; must not exist, or be empty.
    match : sequence of str, optional
        The vocabulary of a trained run: the corpus gets exactly these words, unknown words are
        dropped and counted, and documents without a known word stay as empty rows.
    threads : int
        Number of threads that decompress, clean and count words; the result does not depend on it.
    resumable : bool
        Whether documents stay next to ``store`` when `notify` raises `Interrupted` or the process is
        killed, so that the same call resumes the reading; not possible if an input is a pipe.
    among : sequence of str, optional
        All inputs of the corpus, if ``inputs`` are the inputs of one of its shards. A shard may
        lack words and requested fields.
    notify : callable, optional
        Called from time to time with the progress of the reading. It may raise an exception to stop.
    log : callable, optional
        Called with each line of a message to the user.

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
        If an input is invalid; the message names file, line, and remedy.
    OutputError, WriteError
        If the store cannot be made, or the disk is full.
    """
    say = log if log is not None else no_log
    word_options = options.vocab, options.metadata, options.phrases
    untouched = match is None and word_options == (None, None, None) and not options.prunes
    if untouched and len(inputs) == 1 and is_stored(Path(inputs[0])):
        named = options.id_field, options.title_field, options.metadata
        chosen = options.meta_field != AUTO or options.keep_text != "auto"
        if named != (None, None, None) or chosen:
            say(
                f"{inputs[0]}: this corpus is already built, so options for ids, titles, columns "
                "and texts have no effect"
            )
        return Corpus.open(inputs[0])
    check_inputs(inputs)
    read_by = recipe(options)
    identity = read_by | {"inputs": [look(path) for path in inputs]}
    # A pipe cannot be read again, so an interrupted reading of a pipe cannot resume.
    resumable = resumable and all(not is_stream(path) for path in inputs)
    options = resolve_document_is(inputs, options)
    with work_folder(Path(store), identity if resumable else None) as work:
        lexicon = Lexicon(options, match, match is not None, say)
        lexicon.label = inputs[0] if len(inputs) == 1 else f"{inputs[0]} and {len(inputs) - 1} more"
        builder = CorpusBuilder(lexicon, work)
        if builder.done != (0, 0):
            say(f"resuming: {plural(lexicon.documents, 'document')} already read")
        meter = Meter(inputs, notify)
        steps = read(
            inputs,
            options,
            keep_empty=lexicon.keep_empty,
            threads=threads,
            waiting=lambda: meter.show(lexicon),
            done=builder.done,
            scratch=work.folder,
            among=among,
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
        builder.finish({"inputs": builder.sources} | read_by, whole=True, shard=among is not None)
    return Corpus.open(store)


class Meter:
    """Counter of the bytes read, which reports progress as a fraction of the inputs' total size.

    Parameters
    ----------
    inputs : sequence of str
    notify : callable or None
        Called with the progress.
    """

    def __init__(
        self, inputs: Sequence[str], notify: Callable[[ReadingProgress], None] | None
    ) -> None:
        self.notify, self.read = notify, 0
        self.total: int | None = 0
        if notify is not None:
            for path in inputs:
                files = [path]
                if path != "-" and is_folder(path):
                    if is_stored(Path(path)):
                        continue
                    files = [str(file) for file in files_of(Path(path))]
                for file in files:
                    size = size_of(file)
                    self.total = None if size is None or self.total is None else self.total + size

    def show(self, lexicon: Lexicon) -> None:
        """Report the progress of reading."""
        if self.notify is not None:
            documents = lexicon.documents + (0 if lexicon.keep_empty else lexicon.skipped.total())
            self.notify(ReadingProgress(self.read, self.total, documents))


def numbered(
    inputs: Sequence[str],
    options: CorpusOptions,
    lexicon: Lexicon,
    threads: int,
    notify: Callable[[ReadingProgress], None],
    *,
    wanted: Wish | None = None,
    order: bool = False,
) -> Generator[tuple[Step, Documents | None], None, None]:
    """Read inputs in steps; yield each step, and its documents as word ids and counts.

    Parameters
    ----------
    inputs, options, threads, wanted, order
        As for `pysgrld.corpus.steps.read`.
    lexicon : Lexicon
        Assigns the word ids, refuses bad documents, and counts documents that are left out.
    notify : callable
        Called with the progress of the reading. It may raise an exception to stop.
    """
    meter = Meter(inputs, notify)
    steps = read(
        inputs,
        options,
        keep_empty=lexicon.keep_empty,
        threads=threads,
        waiting=lambda: meter.show(lexicon),
        wanted=wanted,
        order=order,
    )
    with closing(steps):
        for step in steps:
            meter.read += step.size
            yield step, lexicon.take(step)
            meter.show(lexicon)


class CorpusBuilder:
    """Builder of a corpus: it stores documents while inputs are read, and then the vocabulary.

    Parameters
    ----------
    lexicon : Lexicon
    work : WorkFolder
    """

    def __init__(self, lexicon: Lexicon, work: WorkFolder) -> None:
        self.lexicon, self.work = lexicon, work
        self.log, self.options = lexicon.log, lexicon.options
        # Stop words are read first, so that a missing list is reported before inputs are read.
        self.stop = {b: stop_words(Rules.of(self.options, b).stop_words) for b in (False, True)}
        # Number of the current input, and number of the next step of reading within this input.
        self.done = 0, 0
        # Number of documents with each word, and number of occurrences of each word.
        self.known = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.words_noted = 0
        self.sources: list[dict[str, Any]] = []  # Records of the inputs that were read completely.
        self.base = 0  # Number of documents in earlier inputs, with omitted documents.
        self.placed = True  # False if documents were omitted at unknown positions
        self.collector = DetailsCollector(
            work.folder / ABOUT,
            texts=self.options.keep_text != "none",
            limit=self.options.text_limit,
            wanted=WantedFields.of(self.options),
            record=work.record["about"] if work.record else None,
        )
        self.metadata: Metadata | None = None
        if self.options.metadata is not None:
            folder = work.folder / ABOUT / "metadata"
            self.metadata = Metadata(self.options.metadata, self.options, folder, self.log)
        if (record := work.record) is None:
            self.writer = work.writer("read")
        else:  # An interrupted reading resumes.
            self.done = record["done"][0], record["done"][1]
            self.sources = record["sources"]
            self.words_noted, self.base = record["words"], record["base"]
            self.placed = record["placed"]
            self.writer = work.writer("read", record["writer"])
            grows = self.lexicon.fixed is None
            self.lexicon.restore(record["lexicon"], work.words(self.words_noted) if grows else [])
            words = len(self.lexicon.dictionary)
            self.known = np.zeros(words, np.int64), np.zeros(words, np.int64)
            for block in self.writer.blocks():
                tally(block.indices, block.counts, *self.known)

    def add(self, step: Step) -> None:
        """Add the documents of a step of reading to the corpus."""
        # If an interrupted reading resumes, the input yields its `Heading` a second time. `done`
        # must not change then.
        new = (step.input, step.number) >= self.done
        if step.skipped:
            self.placed = False
        if step.skipped and self.metadata is not None and self.metadata.skipped_in is None:
            self.metadata.skipped_in = step.label
        block = self.lexicon.take(step)
        if new:
            self.done = step.input, step.number + 1
        if step.source is not None:
            self.sources.append(step.source)
            self.base += step.read
        if block is None:
            return
        words = len(self.lexicon.dictionary)
        if len(self.known[0]) < words:
            self.known = grown(self.known[0], words), grown(self.known[1], words)
        tally(block.indices, block.counts, *self.known)
        self.writer.append(block)
        if step.about is not None:
            self.collector.add(step.about, self.base)

    def note(self) -> None:
        """Record the progress of reading on disk, so that another process can resume."""
        words = self.lexicon.dictionary.words(self.words_noted)
        self.words_noted += len(words)
        record = {
            "done": self.done,
            "sources": self.sources,
            "lexicon": self.lexicon.record(),
            "words": self.words_noted,
            "writer": self.writer.flush(),
            "base": self.base,
            "placed": self.placed,
            "about": self.collector.flush(),
        }
        self.work.note(words if self.lexicon.fixed is None else [], record)
        if self.collector.texts is not None:
            self.collector.texts.noted()

    def finish(self, provenance: dict[str, Any], *, whole: bool, shard: bool = False) -> None:
        """Choose the vocabulary, rewrite the documents with it, and move the corpus into place.

        Parameters
        ----------
        provenance : dict
        whole : bool
            Whether all inputs were read to their end.
        shard : bool
            Whether this is a shard of a corpus; it may then lack words and fields of other shards.

        Raises
        ------
        CorpusError
            If no document or no word is left, or if metadata does not have a row for each document.
        """
        lexicon = self.lexicon
        words = lexicon.dictionary.words()
        if self.writer.tokens == 0 and not shard:
            cause = "no document has a word; check that this is the right file"
            if lexicon.match is not None:
                cause = (
                    "no document has a word of the run's vocabulary; check that corpus "
                    "and run belong together"
                )
            elif lexicon.unknown:
                cause = (
                    f"no document has a word of the vocabulary {lexicon.origin}; check "
                    "that this is the right vocabulary"
                )
            if lexicon.skipped:
                cause += f" (skipped: {plural(lexicon.skipped.total(), 'bad document')})"
            raise CorpusError(cause, lexicon.label)
        if self.metadata is not None and whole:
            self.metadata.documents_read = self.base
        built = lexicon.origin == "built"
        rules = Rules.of(self.options, built)
        writer, removed = self.writer, dict[str, int]()
        stays: Stays | None = None
        if not lexicon.final:
            writer, words, removed, stays = self._second(words, built, rules)
        say_left_out(lexicon, writer.tokens)
        skipped = dict(sorted(lexicon.skipped.items()))
        if lexicon.empty and not lexicon.keep_empty:
            skipped[EMPTY] = lexicon.empty
        keeps_empty = lexicon.keep_empty
        provenance |= {
            "documents_read": lexicon.documents + (0 if keeps_empty else lexicon.skipped.total()),
            "skipped": skipped,
            "empty": lexicon.empty if keeps_empty else 0,
            "unknown_tokens": lexicon.unknown,
            "vocabulary": {"from": lexicon.origin, "removed": removed},
            "reading": resolved(
                self.options.for_documents(), rules, self.stop[built], text=lexicon.kind == "text"
            ),
        }
        # Other shards may have texts in the same column. So a column has numbers only if all of its
        # values in this shard are numbers.
        if shard:
            self.collector.rules = replace(self.collector.rules, share=1.0)
        parts = write_about(
            self.collector,
            writer.folder,
            stays,
            self.log,
            None if self.metadata is None else self.metadata.sources,
            # Documents that are read for a run may lack fields of the run's corpus.
            asked_fields(self.options) if lexicon.match is None and not shard else {},
            read=self.base if whole and self.placed else None,
        )
        writer.finish_corpus(words, provenance, parts)
        self.work.commit(writer.folder)

    def _cut(
        self, words: list[str], tokens: Int64s, rules: Rules, *, several: bool
    ) -> Message | None:
        """Return the message about stop words and splitting into words, or None if none is needed.

        With several languages, the stop words were already reported together with the languages.
        """
        if self.options.cuts:
            library = SEGMENTERS[self.options.cuts].called
            return Message(
                f"text is segmented into words by {library}; stop words removed: {rules.stop_words}"
            )
        if self.options.token_pattern is None and (remark := warned_of_script(words, tokens)):
            return Message(remark)
        if rules.stop_words != "english" or several:
            return None
        if warning := warned_of_language(words, tokens) or warned_of_letters(words, tokens):
            return Message(warning, Severity.WARNING)
        return Message(
            "English stop words removed (--stop-words none keeps them; 'sgmc corpus stop-words' "
            "lists other languages)"
        )

    def _second(
        self, words: list[str], built: bool, rules: Rules
    ) -> tuple[Writer, list[str], dict[str, int], Stays]:
        """Choose the vocabulary, and write all documents again with only the chosen words."""
        lexicon = self.lexicon
        counts = tuple(grown(array, len(words))[: len(words)] for array in self.known)
        surveyed = Survey(None)
        if lexicon.kind == "text":
            surveyed = survey(
                self.writer.blocks(),
                self.writer.documents,
                words,
                counts[0],
                self.options,
                rules.stop_words,
                self.log,
            )
        staying = surveyed.stays  # True for the documents that stay in the corpus
        if staying is not None:
            counts = np.zeros(len(words), np.int64), np.zeros(len(words), np.int64)
            for block in _some(self.writer.blocks(), staying):
                tally(block.indices, block.counts, *counts)
            left_out = int((~staying).sum())
            lexicon.documents -= left_out
            if left_out:
                lexicon.skipped[UNWANTED] += left_out
        if built and (
            message := self._cut(words, counts[1], rules, several=surveyed.several_languages)
        ):
            self.log(*message)
        choice = choose(
            words,
            counts[0],
            counts[1],
            lexicon.documents,
            rules,
            by_frequency=built,
            must_occur=built,
            stop=self.stop[built].words,
        )
        kept_ids = choice.kept
        if numbers := choice.removed["numbers"]:
            left_out = counts[1][choice.by == RULES.index("numbers")].sum()
            is_most = left_out > MOSTLY * counts[1].sum()
            self.log(
                f"{plural(numbers, 'different number')} removed from the vocabulary"
                + (", except years" if rules.numbers == "years" else "")
                + " (--numbers keep keeps them; 'sgmc corpus words' lists removed words)",
                Severity.WARNING if is_most else Severity.NOTE,
            )
        # Column numbers are sorted, because the order in which they first occurred is arbitrary.
        if lexicon.numbers:
            kept_ids = kept_ids[
                np.argsort([int(words[i]) for i in kept_ids.tolist()], kind="stable")
            ]
        if len(kept_ids) == 0:
            named = {
                "stop words": f"the stop words ({rules.stop_words})",
                "numbers": f"--numbers {rules.numbers}",
                "min_df": f"--min-df {rules.min_df}",
                "max_df": f"--max-df {rules.max_df}",
                "max_vocab": f"--max-vocab {rules.max_vocab}",
            }
            removed = choice.removed.items()
            took = ", ".join(
                f"{named[rule]} removed {n:,}" for rule, n in removed if n and rule in named
            )
            advice = "for a small corpus, try --min-df 1 --max-df 1.0"
            if lexicon.documents <= FEW and counts[1].sum() >= LONG * lexicon.documents:
                advice = "the documents are few and long; split them into pieces: --chunk 500"
            raise CorpusError(
                f"all {len(words):,} words of {plural(lexicon.documents, 'document')} were "
                f"removed: {took}; " + advice,
                lexicon.label,
            )
        remap = np.full(len(words), -1, np.int32)
        remap[kept_ids] = np.arange(len(kept_ids), dtype=np.int32)
        writer = self.work.writer("corpus")
        stays = np.ones(self.writer.documents, np.bool_)
        first = 0
        for block in self.writer.blocks():
            new, remaining = without_empty(renumber(block, remap))
            if remaining is not None:
                stays[first : first + len(block)] = False
                stays[first + remaining] = True
            empty = len(block) - len(new)
            if staying is not None:
                block_stays = staying[first : first + len(block)]
                empty = int((block_stays & ~stays[first : first + len(block)]).sum())
                positions = np.arange(len(block)) if remaining is None else remaining
                new = new.take(np.flatnonzero(block_stays[positions]))
                stays[first : first + len(block)] &= block_stays
            first += len(block)
            lexicon.empty += empty
            writer.append(new)
        return writer, [words[i] for i in kept_ids.tolist()], choice.removed, stays


def _some(blocks: Iterable[Documents], stays: Stays) -> Iterator[Documents]:
    """Yield blocks of documents; leave out the documents for which ``stays`` is False."""
    first = 0
    for block in blocks:
        yield block.take(np.flatnonzero(stays[first : first + len(block)]))
        first += len(block)


def asked_fields(options: CorpusOptions) -> dict[str, tuple[tuple[str, str], str]]:
    """Map each field that the user named to its column, and to the option that named it."""
    fields = WantedFields.of(options, metadata=options.metadata is not None)
    options_by_field = {name: ((COLUMN, name), "--meta-field") for name in fields.columns}
    if options.id_field is not None:
        options_by_field[options.id_field] = (ID, ""), "--id-field"
    if options.title_field is not None:
        options_by_field[options.title_field] = (TITLE, ""), "--title-field"
    return options_by_field


def say_left_out(lexicon: Lexicon, tokens: int) -> None:
    """Log which documents and parts of texts were left out of a corpus of `tokens` tokens."""
    if lexicon.options.chunk:
        whole = plural(lexicon.cut, "long document")
        pieces = f"{plural(lexicon.pieces, 'piece')} of about {lexicon.options.chunk:,} words"
        lexicon.log(f"{whole} split into {pieces} (--chunk none keeps them whole)")
    if licences := lexicon.parts[LICENCE]:
        lexicon.log(
            f"licence text of Project Gutenberg removed from {plural(licences, 'document')}"
        )
    bad = {reason: n for reason, n in sorted(lexicon.skipped.items()) if reason != UNWANTED}
    if lexicon.options.on_bad_document == "skip" and bad:
        reasons = ", ".join(f"{n} {reason}" for reason, n in bad.items())
        lexicon.log(f"{plural(sum(bad.values()), 'bad document')} skipped ({reasons})")
    lexicon.log_removed_parts()
    if garbled := lexicon.parts[GARBLED]:
        lexicon.log(
            f"{plural(garbled, 'document')} with wrong characters such as 'Ã©' instead of 'é': "
            "another program read UTF-8 as Latin-1; export the file again as UTF-8",
            Severity.WARNING,
        )
    of_texts = {*CALLED, *masks.CALLED, GARBLED, LICENCE}
    placeholders = {text: n for text, n in lexicon.parts.items() if text not in of_texts}
    if placeholders:
        shown = ", ".join(f"{text} ({n:,})" for text, n in sorted(placeholders.items()))
        total = plural(sum(placeholders.values()), "document")
        lexicon.log(f"{total} read as empty, because the text is only a placeholder: {shown}")
    if lexicon.empty:
        outcome = "kept as empty" if lexicon.keep_empty else "skipped"
        lexicon.log(f"{plural(lexicon.empty, 'document')} without a known word {outcome}")
    if lexicon.unknown:
        total = plural(lexicon.unknown + tokens, "token")
        where = "in the vocabulary"
        if lexicon.match is not None:  # The unknown words include stop words.
            n_words = plural(len(lexicon.match), "word")
            where = (
                f"among the {n_words} of the run's vocabulary (stop words and rare words are "
                "not part of it)"
            )
        lexicon.log(f"{lexicon.unknown:,} of {total} {IGNORED}{where}")


def grown(array: Int64s, size: int) -> Int64s:
    """Return an array of at least `size` values; a shorter array grows at least twofold.

    Parameters
    ----------
    array : array of int64
        The current values, which are followed by zeros in an enlarged array.
    size : int
        Minimum number of values.

    Returns
    -------
    array of int64
        The same array if it is large enough, otherwise a copy.
    """
    if len(array) >= size:
        return array
    grown = np.zeros(max(size, 2 * len(array)), np.int64)
    grown[: len(array)] = array
    return grown
