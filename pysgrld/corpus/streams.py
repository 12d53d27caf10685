"""Streams of documents, which are yielded as soon as they are read and never stored."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from pysgrld.corpus.about.details import DocumentDetails, NamedDocuments
from pysgrld.corpus.inputs import check_inputs, resolve_document_is
from pysgrld.corpus.lexicon import Lexicon
from pysgrld.corpus.open import CorpusBuilder, Meter, numbered, say_left_out
from pysgrld.corpus.reading import CorpusOptions, ReadingProgress
from pysgrld.corpus.slices import put_in_slices
from pysgrld.corpus.sources import look, recipe
from pysgrld.corpus.steps import Heading, Step, Wish, read
from pysgrld.corpus.store import Corpus
from pysgrld.corpus.write import work_folder
from pysgrld.errors import Interrupted, Log, UsageError
from pysgrld.types import Documents, Slicing


def matched_documents(
    inputs: Sequence[str],
    options: CorpusOptions,
    words: Sequence[str],
    *,
    threads: int,
    notify: Callable[[ReadingProgress], None],
    log: Log,
) -> Iterator[Documents]:
    """Read inputs; yield their documents as counts of the given words.

    Other words are dropped and counted. Documents keep their order. Documents without a known word,
    and skipped bad documents, become empty documents.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions
    words : sequence of str
    threads : int
    notify, log : callable
        As for `open_corpus`.

    Yields
    ------
    Documents
        Blocks of consecutive documents; documents of a pipe are yielded without delay.

    Raises
    ------
    SgmcError
        The errors of `open_corpus`.
    """
    check_inputs(inputs)
    for _, block, _ in _matched(inputs, options, words, threads, notify, log):
        yield block


def named_documents(
    inputs: Sequence[str],
    options: CorpusOptions,
    words: Sequence[str],
    *,
    threads: int,
    notify: Callable[[ReadingProgress], None],
    log: Log,
    fields: Sequence[str] = (),
    wanted: Wish | None = None,
    slicing: Slicing | None = None,
) -> NamedDocuments:
    """Read inputs as counts of the given words, and collect the documents' ids and fields.

    Parameters
    ----------
    inputs, options, words, threads, notify, log
        As for `matched_documents`.
    fields : sequence of str
        Fields of the documents to return with their ids.
    wanted : callable (first, end) -> bool, optional
        Returns True if the caller needs any of the documents [first, end). Other documents may be
        left out.
    slicing : Slicing, optional
        Time slices to which the documents are assigned.

    Returns
    -------
    NamedDocuments

    Raises
    ------
    SgmcError
        The errors of `open_corpus`.
    """
    check_inputs(inputs)
    if fields:
        options = replace(options, meta_field=",".join(fields))
    options = options.keeping(slicing and slicing.field)
    blocks = _matched(inputs, options, words, threads, notify, log, wanted)
    put = partial(put_in_slices, slicing, date_format=options.date_format) if slicing else None
    sliced = None if slicing is None or put is None else (slicing.field, put)
    return NamedDocuments(blocks, fields, sliced)


def _matched(
    inputs: Sequence[str],
    options: CorpusOptions,
    words: Sequence[str],
    threads: int,
    notify: Callable[[ReadingProgress], None],
    log: Log,
    wish: Wish | None = None,
) -> Iterator[tuple[int, Documents, DocumentDetails | None]]:
    options = resolve_document_is(inputs, options)
    lexicon = Lexicon(options, words, True, log)
    first = tokens = 0
    with closing(numbered(inputs, options, lexicon, threads, notify, wanted=wish)) as steps:
        for step, block in steps:
            if block is not None:
                tokens += block.tokens
                yield first, block, step.about
            first += step.unwanted if block is None else len(block)
    say_left_out(lexicon, tokens)


class SinglePassCorpus:
    """Corpus that is read in one pass; it stores its first documents, and yields the others.

    The first ``head`` documents become a stored corpus, from which the vocabulary is built. Other
    words of later documents are ignored. Documents without a word of the vocabulary are left out.

    Parameters
    ----------
    inputs : sequence of str
        Files, or "-" for standard input; nothing is read twice.
    options : CorpusOptions
    head : int
        Number of documents to store, including documents without words and skipped bad documents.
    store : Path
        Folder to create for the stored documents.
    threads : int
    notify, log : callable
        As for `open_corpus`; `notify` is called for the head only.

    Attributes
    ----------
    corpus : Corpus
        The stored first documents.

    Raises
    ------
    SgmcError
        The errors of `open_corpus`.
    """

    def __init__(
        self,
        inputs: Sequence[str],
        options: CorpusOptions,
        head: int,
        *,
        store: Path,
        threads: int,
        notify: Callable[[ReadingProgress], None],
        log: Log,
    ) -> None:
        check_inputs(inputs)
        if options.drop_repeated or options.language:
            raise UsageError(
                "--drop-repeated and --language need all documents at once, but a stream is read "
                "once; build the corpus first (sgmc corpus build), or leave them out"
            )
        looked_at = [look(path) for path in inputs]
        requested, options = options, resolve_document_is(inputs, options)
        self.log = log
        self._closed = False
        self._meter: Meter | None = Meter(inputs, notify)
        self._lexicon = Lexicon(options, None, False, log)
        self._lexicon.label = inputs[0]
        self._block: Documents | None = None
        self._at = 0
        self._steps = read(
            inputs, options, keep_empty=False, threads=threads, waiting=self._waiting, head=head
        )
        # `Heading` of the current input, which the lexicon for the rest of the stream needs, too
        heading, remaining = Step("", 0, 0), head
        try:
            provenance = {"inputs": looked_at, "head": head} | recipe(requested)
            with work_folder(store) as work:
                builder = CorpusBuilder(self._lexicon, work)
                for step in self._steps:
                    builder.add(step)
                    if isinstance(step.content, Heading):
                        heading = Step(step.label, step.input, step.number, step.content)
                    self._meter.read += step.size
                    self._meter.show(self._lexicon)
                    remaining -= step.documents
                    if remaining <= 0:
                        break
                builder.finish(provenance, whole=False)
        except BaseException:
            self.close()
            raise
        self.corpus = Corpus.open(store)
        self._meter = None
        stream_options = options.for_known_words()
        self._lexicon = Lexicon(stream_options, self.corpus.vocabulary, False, log)
        self._lexicon.take(heading)

    def _waiting(self) -> None:
        if self._closed:
            raise Interrupted("reading of the stream was stopped")
        if self._meter:
            self._meter.show(self._lexicon)

    def take(self, n: int) -> Documents:
        """Read and return the next ``n`` documents, or fewer at the end of the inputs.

        The calling thread waits for the documents.

        Raises
        ------
        CorpusError
            If a document is bad.
        """
        parts: list[Documents] = []
        while n > 0:
            if self._block is None or self._at == len(self._block):
                step = next(self._steps, None)
                if step is None:
                    break
                self._block, self._at = self._lexicon.take(step), 0
                continue
            stop = min(self._at + n, len(self._block))
            rows = self._block.indptr[self._at : stop + 1]
            entries = slice(int(rows[0]), int(rows[-1]))
            parts.append(
                Documents(rows - rows[0], self._block.indices[entries], self._block.counts[entries])
            )
            n -= stop - self._at
            self._at = stop
        if len(parts) == 1:
            return parts[0]
        lengths = [np.diff(part.indptr) for part in parts]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([*lengths, []]))])
        return Documents(
            indptr.astype(np.int64),
            np.concatenate([part.indices for part in parts] or [np.zeros(0, np.int32)]),
            np.concatenate([part.counts for part in parts] or [np.zeros(0, np.int32)]),
        )

    def say_left_out(self, tokens: int) -> None:
        """Log what was left out of the documents that are read after the stored documents.

        ``tokens`` is the number of tokens that were used.
        """
        say_left_out(self._lexicon, tokens)

    def close(self) -> None:
        """Close the inputs; a call of `take` that waits for documents then ends."""
        self._closed = True
        # Closing the inputs fails while another thread reads them. That thread then stops by
        # itself.
        with contextlib.suppress(ValueError):
            self._steps.close()
