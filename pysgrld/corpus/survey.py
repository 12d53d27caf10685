"""Check of the texts of a corpus for repeated documents and for several languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.languages import UNKNOWN, LanguageGuesser, require_guesser, told
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.corpus.repeated import Sketches
from pysgrld.errors import Log, Severity, plural
from pysgrld.options.parse import language
from pysgrld.types import Documents, Int32s, Int64s

#: Maximum number of documents that are checked. In a larger corpus, evenly spaced documents are
#: checked. If an option drops documents, all documents are checked.
SAMPLED = 1_000
#: A repeated text is reported only if at least this fraction of the documents have this text.
_SHARE = 0.01
#: A repeated text is reported only if at least this number of documents have this text.
_FEWEST = 5
#: Number of words of a repeated text that a message quotes.
_QUOTED = 8


class Survey(NamedTuple):
    """Result of a survey of texts: documents to keep, and whether several languages were found.

    Attributes
    ----------
    stays : (documents,) bool or None
        True for the documents that stay; None if all stay.
    several_languages : bool
        Whether several languages were reported.
    """

    stays: npt.NDArray[np.bool_] | None
    several_languages: bool = False


def survey(
    blocks: Iterable[Documents],
    documents: int,
    words: Sequence[str],
    frequencies: Int64s,
    options: CorpusOptions,
    stop_words: str,
    log: Log,
) -> Survey:
    """Report repeated texts and several languages; select documents if an option requires it.

    Parameters
    ----------
    blocks : iterable of Documents
        All documents, with words in the order of the text.
    documents : int
    words : sequence of str
        Words by id.
    frequencies : (V,) int64
        Number of documents with each word.
    options : CorpusOptions
    stop_words : str
        Names of the lists of stop words that are left out.
    log : callable

    Returns
    -------
    Survey

    Raises
    ------
    MissingInputError
        If ``options`` select a language that only a library detects, and it is not installed.
    """
    drops = bool(options.drop_repeated or options.language)
    step = 1 if drops else max(1, -(-documents // SAMPLED))
    line = None
    if options.language:
        require_guesser(language(options.language))
    guesser, sketches = LanguageGuesser(words, frequencies, documents), Sketches()
    guesses: list[npt.NDArray[np.int32]] = []
    beginnings: list[Int32s] = []  # First words of each document, by the document's number.
    first = seen = 0
    for block in blocks:
        sampled = np.arange(-first % step, len(block), step)
        first += len(block)
        block = block if step == 1 else block.take(sampled)
        guesses.append(guesser.guess(block))
        sketches.add(block)
        if not drops:
            ends = np.minimum(block.indptr[1:], block.indptr[:-1] + _QUOTED).tolist()
            spans = zip(block.indptr.tolist(), ends, strict=False)
            beginnings += [block.indices[begin:end].copy() for begin, end in spans]
        seen += len(block)
    if not seen:
        return Survey(None)
    languages = np.concatenate(guesses)
    same, near = sketches.groups()
    stays = np.ones(seen, np.bool_)
    if options.language:
        expected = guesser.number(language(options.language))
        stays &= (languages == expected) | (languages == UNKNOWN)
        log(
            f"{plural(int((~stays).sum()), 'document')} in other languages removed (--language), "
            f"{plural(int((languages == UNKNOWN).sum()), 'document')} of unclear language kept"
        )
    elif line := told(guesser.languages, languages.astype(np.int64), stop_words.split(",")):
        log(line, Severity.WARNING)
    if options.drop_repeated:
        repeated = near != np.arange(seen)
        log(
            f"{plural(int((stays & repeated).sum()), 'document')} removed as exact or near copies "
            "of another (--drop-repeated)"
        )
        stays &= ~repeated
    elif not drops:
        scope = f"{seen:,} documents" + (" checked (evenly spaced)" if step > 1 else "")
        _report(same, near, beginnings, words, scope, log)
    return Survey(stays if drops else None, line is not None)


def _report(
    same: Int64s,
    near: Int64s,
    beginnings: Sequence[Int32s],
    words: Sequence[str],
    scope: str,
    log: Log,
) -> None:
    """Report each text that has copies, exact or near, in more than 1 % of the documents."""
    number = len(same)
    least = max(_FEWEST, _SHARE * number)
    copies: Counter[int] = Counter()
    for groups, called in ((same, "have the same text"), (near, "differ only in a few words")):
        sizes = Counter(groups.tolist())
        large = [
            (size, head)
            for head, size in sizes.items()
            # Near copies are not reported if almost all of them are exact copies.
            if size > max(least, 1.1 * copies[head])
        ]
        copies = sizes
        if large:
            size, head = max(large, key=lambda item: (item[0], -item[1]))
            beginning = " ".join(words[i] for i in beginnings[head].tolist())
            note = ""
            if len(large) > 1:
                note = f", and copies of {plural(len(large) - 1, 'other text')} are frequent too"
            log(
                f"{size:,} of {scope} {called} ('{beginning} ...'){note}; repeated texts "
                "can form topics of their own; --drop-repeated keeps one copy of each",
                Severity.WARNING,
            )
