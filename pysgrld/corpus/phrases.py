"""Detection of phrases: words that follow each other much more often than by chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pysgrld.core.arithmetic import log as log_of
from pysgrld.corpus._tokenize import Dictionary, Pairs
from pysgrld.corpus.inputs import check_inputs
from pysgrld.corpus.lexicon import Lexicon
from pysgrld.corpus.open import grown, numbered
from pysgrld.corpus.reading import BUILT_STOP_WORDS, CorpusOptions, ReadingProgress
from pysgrld.corpus.stopwords import warned_of_language
from pysgrld.corpus.vocabulary import stop_words
from pysgrld.errors import CorpusError, Log, Severity, UsageError, no_log, plural
from pysgrld.options.paths import is_stream
from pysgrld.types import Int64s

#: Minimum normalised pointwise mutual information of a phrase's parts.
LEAST_NPMI = 0.5
#: Minimum number of occurrences of a phrase.
LEAST_COUNT = 20
#: Maximum number of different pairs of words that are counted in memory (128 MB).
MOST_PAIRS = 1 << 22
#: Counts may be too low if rare pairs were dropped. The user is warned if counts may be too low by
#: this number or more.
EXACT_ENOUGH = 5


class Phrase(NamedTuple):
    """A phrase of two or three words, with the number of its occurrences.

    Attributes
    ----------
    words : str
        Words of the phrase, separated by blanks.
    occurrences : int
    npmi : float
        Normalised pointwise mutual information ln(p(ab) / (p(a) p(b))) / -ln p(ab) of the parts a and
        b of the phrase, with their relative frequencies p. It is 1 if the parts only occur together,
        and 0 if they occur together as often as by chance.
    """

    words: str
    occurrences: int
    npmi: float


def find_phrases(
    inputs: Sequence[str],
    options: CorpusOptions,
    *,
    npmi: float = LEAST_NPMI,
    count: int = LEAST_COUNT,
    threads: int = 1,
    notify: Callable[[ReadingProgress], None],
    log: Log,
) -> list[Phrase]:
    """Find phrases of two words, and phrases that consist of such a phrase and a third word.

    Inputs are read twice. Only words of the same sentence are neighbours; stop words are ignored.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions
    npmi, count : float, int
        Minimum normalised pointwise mutual information, and minimum number of occurrences, of a
        phrase.
    threads : int
        Number of threads that read and count words; the result does not depend on it.
    notify, log : callable
        As for `pysgrld.corpus.open_corpus`.

    Returns
    -------
    list of Phrase
        Phrases, the most frequent first.

    Raises
    ------
    UsageError
        If the inputs cannot be read twice, or ``options`` has a token pattern.
    CorpusError
        If the inputs are counts, or cannot be read.
    MissingInputError
        If an input is missing.
    """
    if any(map(is_stream, inputs)):
        raise UsageError(
            "finding phrases reads the input twice, but standard input (-) can be read only "
            "once; give a file"
        )
    if options.token_pattern is not None:
        raise UsageError("phrases require the built-in tokeniser; leave out token_pattern")
    check_inputs(inputs)
    left_out = options.stop_words or BUILT_STOP_WORDS
    stop = stop_words(left_out).words
    pairs = _pairs(inputs, options, stop, (), npmi, count, threads, notify, log)
    if not pairs:
        return []
    two = tuple(sorted(phrase.words for phrase in pairs))
    pairs += _pairs(inputs, options, stop, two, npmi, count, threads, notify, no_log)
    return sorted(pairs, key=lambda phrase: (-phrase.occurrences, phrase.words))


def _pairs(
    inputs: Sequence[str],
    options: CorpusOptions,
    stop: Iterable[str],
    phrases: tuple[str, ...],
    npmi: float,
    count: int,
    threads: int,
    notify: Callable[[ReadingProgress], None],
    log: Log,
) -> list[Phrase]:
    """Find phrases of two words or, given phrases of two words as ``phrases``, of three words."""
    words, pairs = Dictionary(), Pairs(MOST_PAIRS)
    counts: Int64s = np.zeros(0, np.int64)
    tokens = 0
    stops = Dictionary(sorted(stop))
    phrases_by_token = {phrase.replace(" ", "_"): phrase for phrase in phrases}
    dictionary = Dictionary(list(phrases_by_token))
    reading = replace(options, phrases=phrases or None, keep_text="none")
    lexicon = Lexicon(reading, None, False, log)
    with closing(numbered(inputs, reading, lexicon, threads, notify, order=True)) as steps:
        for step, _ in steps:
            if (step_words := step.words) is not None:
                ids = words.place(step_words.words, step_words.ends)
                counts = grown(counts, len(words))
                np.add.at(counts, ids[step_words.ids], step_words.counts)
                tokens += int(step_words.counts.sum(dtype=np.int64))
                word_ids = np.where(
                    stops.place(step_words.words, step_words.ends) >= 0, np.int32(-1), ids
                )
                marked = (dictionary.place(step_words.words, step_words.ends) >= 0).astype(np.uint8)
                pairs.add(step_words.order, word_ids, marked, bool(phrases))
    if lexicon.kind == "counts":
        raise CorpusError(
            "this file has counts, which do not record the order of words; give the texts",
            inputs[0],
        )
    if (lacking := pairs.lacking) >= EXACT_ENOUGH:
        log(
            f"the texts have more than {MOST_PAIRS:,} different pairs of words, so rare pairs "
            f"were dropped, and the counts of phrases may be too small by up to {lacking:,}",
            Severity.WARNING,
        )
    seen = words.words()
    english = (options.stop_words or BUILT_STOP_WORDS) == "english"
    if english and not phrases and (warning := warned_of_language(seen, counts[: len(seen)])):
        log(warning, Severity.WARNING)
    first, second, together = pairs.frequent(max(1, count))
    if not len(together):
        return []
    p = together / float(tokens)
    ratio = p / (counts[first] / float(tokens) * (counts[second] / float(tokens)))
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(p < 1.0, log_of(ratio) / -log_of(p), 0.0)
    names = [phrases_by_token.get(word, word) for word in seen]
    return [
        Phrase(f"{names[first[i]]} {names[second[i]]}", int(together[i]), float(score[i]))
        for i in np.flatnonzero(score >= npmi).tolist()
    ]


def lines(phrases: Iterable[Phrase], given: str) -> str:
    """Format phrases as lines of a file for the option ``--phrases``.

    Each line has a phrase, its number of occurrences and its NPMI, separated by tabs.

    Parameters
    ----------
    phrases : iterable of Phrase
        The phrases, in their order.
    given : str
        Name of the corpus, for the first line.

    Returns
    -------
    str
        Text with a comment as its first line.
    """
    rows = list(phrases)
    head = (
        f"# {plural(len(rows), 'phrase')} of {given}: occurrences, NPMI; delete the lines "
        "that are not phrases\n"
    )
    return head + "".join(f"{p.words}\t{p.occurrences}\t{p.npmi:.3f}\n" for p in rows)
