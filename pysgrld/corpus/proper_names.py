"""Detection of proper names: words that have a capital letter even within sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from pysgrld.corpus.chunks import without_licence
from pysgrld.corpus.inputs import check_inputs
from pysgrld.corpus.lexicon import Lexicon
from pysgrld.corpus.open import numbered
from pysgrld.corpus.reading import CorpusOptions, ReadingProgress
from pysgrld.errors import CorpusError, Log, Severity
from pysgrld.options.spelling import fold

#: A word is a name only if it occurs at least this number of times within sentences, that is, not
#: as their first word.
LEAST_COUNT = 10
#: A word is a name only if at least this fraction of its occurrences within sentences have a
#: capital letter.
LEAST_CAPITAL = 0.9
#: Capital letters do not mark names if more than this fraction of the words within sentences have
#: one, as in German. The user is then warned.
_MOST_CAPITAL = 0.2
#: Pattern of the characters between two words of a sentence. Group 1 is the second word.
_WITHIN = re.compile(r"(?<=[^\W\d_])(?:[,;:]?[^\S\n]+|[,;:]?\n(?=[^\W\d_]))(?=([^\W\d_]{2,}))")


class ProperName(NamedTuple):
    """A word that counts as a proper name, because it usually has a capital letter.

    Attributes
    ----------
    word : str
        The word as the tokeniser spells it.
    occurrences : int
        Number of occurrences within sentences.
    capital : float
        Fraction of these occurrences that have a capital letter.
    """

    word: str
    occurrences: int
    capital: float


def find_names(
    inputs: Sequence[str],
    options: CorpusOptions,
    *,
    count: int = LEAST_COUNT,
    threads: int = 1,
    notify: Callable[[ReadingProgress], None],
    log: Log,
) -> list[ProperName]:
    """Find the words in texts that nearly always have a capital letter within sentences.

    The first word of a sentence, and words in which all letters are capitals, are not counted.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions
    count : int
        Minimum number of occurrences of a name.
    threads : int
        Number of threads that read; the result does not depend on it.
    notify, log : callable
        As for `pysgrld.corpus.open_corpus`.

    Returns
    -------
    list of ProperName
        Names, the most frequent first.

    Raises
    ------
    CorpusError
        If the inputs are counts, or cannot be read.
    MissingInputError
        If an input is missing.
    """
    check_inputs(inputs)
    spelled: Counter[str] = Counter()
    lexicon = Lexicon(replace(options, keep_text="all"), None, False, log)
    with closing(numbered(inputs, lexicon.options, lexicon, threads, notify)) as steps:
        for step, _ in steps:
            for text in (step.about.texts if step.about is not None else None) or ():
                book = without_licence(text or b"")
                spelled.update(_WITHIN.findall(book.decode(errors="replace")))
    if lexicon.kind == "counts":
        raise CorpusError(
            "this file has counts, which do not record capital letters; give the texts", inputs[0]
        )
    all_uses, with_capital = Counter[str](), Counter[str]()
    for word, uses in spelled.items():
        if word.isupper():
            continue
        all_uses[fold(word)] += uses
        if word[0].isupper():
            with_capital[fold(word)] += uses
    if with_capital.total() > _MOST_CAPITAL * all_uses.total():
        share = with_capital.total() / all_uses.total()
        log(
            f"{100 * share:.0f} % of the words within sentences have a capital letter, so capital "
            "letters do not mark names in these texts, and the list may contain other words",
            Severity.WARNING,
        )
    names = [
        ProperName(word, all_uses[word], capitals / all_uses[word])
        for word, capitals in with_capital.items()
        if all_uses[word] >= count and capitals >= LEAST_CAPITAL * all_uses[word]
    ]
    return sorted(names, key=lambda name: (-name.occurrences, name.word))
