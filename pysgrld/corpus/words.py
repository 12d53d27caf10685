"""List of all words of a corpus, with the rule that removes each word, if any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np

from pysgrld.corpus._tokenize import tally
from pysgrld.corpus.inputs import check_inputs, resolve_document_is
from pysgrld.corpus.lexicon import Lexicon
from pysgrld.corpus.open import grown, numbered
from pysgrld.corpus.reading import CorpusOptions, ReadingProgress
from pysgrld.corpus.vocabulary import RULES, Rules, choose, stop_words
from pysgrld.errors import Log
from pysgrld.types import Int64s


class ListedWord(NamedTuple):
    """A word of a corpus with its frequency, and the rule that removes it, if any.

    Attributes
    ----------
    word : str
    documents, tokens : int
        Number of documents with the word, and number of its occurrences.
    rule : str or None
        The rule in `RULES` that leaves the word out of the vocabulary, or None if the word is kept.
    """

    word: str
    documents: int
    tokens: int
    rule: str | None


def list_words(
    inputs: Sequence[str],
    options: CorpusOptions,
    *,
    threads: int = 1,
    notify: Callable[[ReadingProgress], None],
    log: Log,
) -> list[ListedWord]:
    """Read a corpus; return all of its words, the most frequent first.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions
    threads : int
        Number of threads that read and count words; the result does not depend on it.
    notify, log : callable
        As for `pysgrld.corpus.open_corpus`.

    Raises
    ------
    UsageError, MissingInputError, CorpusError
        The errors of `pysgrld.corpus.open_corpus`.
    """
    check_inputs(inputs)
    options = resolve_document_is(inputs, options)
    lexicon = Lexicon(options, None, False, log)
    # The first array has the number of documents with each word, the second the number of tokens.
    counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    with closing(numbered(inputs, options, lexicon, threads, notify)) as steps:
        for _, block in steps:
            if block is not None:
                counts = _grown(counts, len(lexicon.dictionary))
                tally(block.indices, block.counts, *counts)
    lexicon.log_removed_parts()
    words = lexicon.dictionary.words()
    documents, tokens = (array[: len(words)] for array in _grown(counts, len(words)))
    rules = Rules.of(options, built := lexicon.origin == "built")
    choice = choose(
        words,
        documents,
        tokens,
        lexicon.documents,
        rules,
        by_frequency=built,
        must_occur=built,
        stop=stop_words(rules.stop_words).words,
    )
    ranked = sorted(range(len(words)), key=lambda word_id: (-tokens[word_id], words[word_id]))
    return [
        ListedWord(
            words[word_id],
            int(documents[word_id]),
            int(tokens[word_id]),
            None if choice.by[word_id] < 0 else RULES[choice.by[word_id]],
        )
        for word_id in ranked
    ]


def _grown(counts: tuple[Int64s, Int64s], words: int) -> tuple[Int64s, Int64s]:
    return grown(counts[0], words), grown(counts[1], words)
