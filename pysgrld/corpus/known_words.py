"""Documents over the words of a trained run: stored, or as a stream of which nothing is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pysgrld.corpus.about.details import DocumentDetails, NamedDocuments
from pysgrld.corpus.inputs import resolve_document_is
from pysgrld.corpus.intake import say_left_out
from pysgrld.corpus.lexicon import Lexicon
from pysgrld.corpus.listener import ReadingProgress
from pysgrld.corpus.open import Meter, check_inputs, open_corpus
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.corpus.steps import Wish, read
from pysgrld.types import Documents

if TYPE_CHECKING:
    from pysgrld.corpus.listener import Listener
    from pysgrld.corpus.store import Corpus


def read_matched(
    path: str,
    words: Sequence[str],
    reading: CorpusOptions,
    store: Path,
    number: int,
    listener: Listener,
) -> Corpus:
    """Read a corpus over given words: matched by word, rows kept in order.

    Parameters
    ----------
    path : str
    words : sequence of str
    reading : CorpusOptions
        None that chooses a vocabulary; of counts, ``vocab`` says which words their numbers mean.
    store : Path
        Folder that the corpus is stored in.
    number : int
        Threads.
    listener : Listener
        Told how far the reading is, and what was left out.

    Raises
    ------
    SgmcError
        As `open_corpus` does.
    """
    return open_corpus(
        [path],
        reading,
        store=store,
        match=words,
        threads=number,
        notify=listener.reading,
        log=listener.note,
    )


def matched_documents(
    inputs: Sequence[str],
    options: CorpusOptions,
    words: Sequence[str],
    *,
    threads: int,
    notify: Callable[[ReadingProgress], None],
    log: Callable[[str], None],
) -> Iterator[Documents]:
    """Read inputs over given words; unknown ones are dropped and counted.

    Documents stay in order, and those without a known word stay as empty rows, as do bad ones that
    are skipped.

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
        Some consecutive ones at a time; what was read of a pipe is not held back.

    Raises
    ------
    SgmcError
        As `open_corpus` does.
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
    log: Callable[[str], None],
    fields: Sequence[str] = (),
    wanted: Wish | None = None,
) -> NamedDocuments:
    """Read inputs over given words as `matched_documents` does, with the names of documents.

    Parameters
    ----------
    inputs, options, words, threads, notify, log
        As for `matched_documents`.
    fields : sequence of str
        Fields of the documents that are wanted with their ids.
    wanted : callable (first, end) -> bool, optional
        Whether some of the documents [first, end) are wanted; others may be left out.

    Returns
    -------
    NamedDocuments

    Raises
    ------
    SgmcError
        As `open_corpus` does.
    """
    check_inputs(inputs)
    if fields:
        options = replace(options, meta_field=",".join(fields))
    return NamedDocuments(_matched(inputs, options, words, threads, notify, log, wanted), fields)


def _matched(
    inputs: Sequence[str],
    options: CorpusOptions,
    words: Sequence[str],
    threads: int,
    notify: Callable[[ReadingProgress], None],
    log: Callable[[str], None],
    wanted: Wish | None = None,
) -> Iterator[tuple[int, Documents, DocumentDetails | None]]:
    options = resolve_document_is(inputs, options)
    lexicon = Lexicon(options, words, True, log)
    meter = Meter(inputs, notify)
    first = tokens = 0
    steps = read(
        inputs,
        options,
        keep_empty=True,
        threads=threads,
        waiting=lambda: meter.show(lexicon),
        wanted=wanted,
    )
    with closing(steps):
        for step in steps:
            meter.read += step.size
            block = lexicon.take(step)
            if block is not None:
                tokens += block.tokens
                yield first, block, step.about
            first += step.unwanted if block is None else len(block)
            meter.show(lexicon)
    say_left_out(lexicon, tokens)
