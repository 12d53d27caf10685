"""The words of a corpus: which are kept, which are left out, and by which rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np

from pysgrld.corpus._tokenize import tally
from pysgrld.corpus.inputs import resolve_document_is
from pysgrld.corpus.lexicon import Lexicon
from pysgrld.corpus.open import check_inputs, grown, numbered
from pysgrld.corpus.reading import CorpusOptions, ReadingProgress
from pysgrld.corpus.vocabulary import RULES, Rules, choose, stop_words
from pysgrld.types import Int64s


class ListedWord(NamedTuple):
    """A word of a corpus.

    Attributes
    ----------
    word : str
    documents, tokens : int
        Documents that hold it, and its occurrences.
    rule : str or None
        Which of `RULES` leaves it out; None: it is kept.
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
    log: Callable[[str], None],
) -> list[ListedWord]:
    """Read a corpus and return its words, the most frequent first, each with what happens to it.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions
    threads : int
        That read and count words; the result does not depend on it.
    notify, log : callable
        As for `pysgrld.corpus.open_corpus`.

    Raises
    ------
    UsageError, MissingInputError, CorpusError
        As `pysgrld.corpus.open_corpus` does.
    """
    check_inputs(inputs)
    options = resolve_document_is(inputs, options)
    lexicon = Lexicon(options, None, False, log)
    known = np.zeros(0, np.int64), np.zeros(0, np.int64)  # documents, tokens by word
    with closing(numbered(inputs, options, lexicon, threads, notify)) as steps:
        for _, block in steps:
            if block is not None:
                known = _grown(known, len(lexicon.dictionary))
                tally(block.indices, block.counts, *known)
    words = lexicon.dictionary.words()
    documents, tokens = (array[: len(words)] for array in _grown(known, len(words)))
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
    ranked = sorted(range(len(words)), key=lambda at: (-tokens[at], words[at]))
    return [
        ListedWord(
            words[at],
            int(documents[at]),
            int(tokens[at]),
            None if choice.by[at] < 0 else RULES[choice.by[at]],
        )
        for at in ranked
    ]


def _grown(known: tuple[Int64s, Int64s], words: int) -> tuple[Int64s, Int64s]:
    return grown(known[0], words), grown(known[1], words)
