"""Detection of each document's language by stop words, by scripts, or by an optional library."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.stopwords import COMPARED, NAMED, named
from pysgrld.errors import MissingInputError
from pysgrld.options.parse import LANGUAGES, LISTED
from pysgrld.types import Documents, Int64s

#: Name of the library that detects the language of a document if neither its stop words nor its
#: script determine the language.
_LIBRARY = "py3langid"
#: A document is in a language only if at least this fraction of its tokens are stop words of the
#: language.
_SHARE = 0.1
#: A document is in a language only if at least this number of its tokens are stop words of the
#: language.
_FEWEST = 3
#: A document is in a language only if it has at least this many times as many stop words of this
#: language as of any other.
_TIMES = 1.3
#: Languages, by the script that they use. A script is named by the first word of its characters'
#: Unicode names.
_OF_SCRIPT = {"CJK": "chinese", "HIRAGANA": "japanese", "KATAKANA": "japanese", "HANGUL": "korean"}
#: The library for detecting languages gets only documents with at least this number of distinct
#: words.
_LEAST = 10
#: The library for detecting languages gets at most this number of words of a document.
_FIRST = 60
#: The most probable language of a document is accepted if its log-probability exceeds that of the
#: second language by this number.
_NATS = 5.0
#: A second language is reported only if at least this fraction of the documents are in it. The
#: library for detecting languages is used only if this fraction are in unknown languages.
_WORTH = 0.03
#: A second language is reported only if at least this number of documents are in it. The library
#: for detecting languages is used only if this number are in unknown languages.
_FEW = 3
#: Words in fewer than this fraction of the documents are not compared with lists of stop words.
_OFTEN = 0.002
#: Index for a document or word without a known language.
UNKNOWN = -1
#: Index for a word that has not occurred yet.
_UNSEEN = -2


class LanguageGuesser:
    """Detector of the language of documents, which are given as word counts.

    Parameters
    ----------
    words : sequence of str
        Words by id, as the tokeniser spells them.
    frequencies : (V,) int64
        Number of documents with each word.
    documents : int
        Number of all documents.

    Attributes
    ----------
    languages : list of str
        Names of the languages, or of scripts that belong to no single language.
    """

    def __init__(self, words: Sequence[str], frequencies: Int64s, documents: int) -> None:
        self._words, self.languages = words, list(COMPARED)
        # The threshold `_OFTEN` is smaller than `_WORTH`, because a stop word occurs in only some
        # of the documents in its language.
        often = np.flatnonzero(frequencies >= _OFTEN * documents).tolist()
        place = {words[i]: i for i in often}
        self._lists = np.zeros((len(words), len(COMPARED)), np.bool_)
        self._listed = np.zeros(len(words), np.bool_)
        for number, name in enumerate(COMPARED):
            listed = [place[w] for w in named(name) if w in place]
            self._lists[listed, number] = self._listed[listed] = True
        self._scripts = np.full(len(words), _UNSEEN, np.int32)

    def _note_scripts(self, block: Documents) -> None:
        """Determine the scripts of words that have not occurred before."""
        there = np.zeros(len(self._words), np.bool_)
        there[block.indices] = True
        new = np.flatnonzero(there & (self._scripts == _UNSEEN))
        self._scripts[new] = UNKNOWN
        # Select the words whose first letter comes after the Latin letters in Unicode.
        for i in [i for i in new.tolist() if self._words[i] > "\u0370"]:
            script = unicodedata.name(self._words[i][0], "").partition(" ")[0]
            name = _OF_SCRIPT.get(script, script.lower())
            if name in ("digit", ""):
                continue
            self._scripts[i] = self.number(name)

    def number(self, language: str) -> int:
        """Return the index of a language in `languages`, to which a new language is added."""
        if language not in self.languages:
            self.languages.append(language)
        return self.languages.index(language)

    def _ask_library(self, block: Documents, languages: npt.NDArray[np.int32]) -> None:
        """Let the library detect languages of documents without known stop words or scripts."""
        lengths = np.diff(block.indptr)
        rows = np.flatnonzero((languages == UNKNOWN) & (lengths >= _LEAST)).tolist()
        if len(rows) < max(_FEW, _WORTH * len(block)) or not has_library():
            return
        rank = import_module(_LIBRARY).rank
        for row in rows:
            begin = int(block.indptr[row])
            ids = block.indices[begin : begin + min(_FIRST, int(lengths[row]))].tolist()
            (code, best), (_, second), *_ = rank(" ".join(self._words[i] for i in ids))
            if best - second >= _NATS and code in LANGUAGES:
                languages[row] = self.number(LANGUAGES[code])

    def guess(self, block: Documents) -> npt.NDArray[np.int32]:
        """Return each document's language as an index in `languages`, or `UNKNOWN`."""
        self._note_scripts(block)
        n, size = len(block), len(COMPARED)
        rows = np.repeat(np.arange(n), np.diff(block.indptr))
        tokens = np.bincount(rows, block.counts, n)
        hits = np.flatnonzero(self._listed[block.indices])
        of_hit, language = np.nonzero(self._lists[block.indices[hits]])
        entries = hits[of_hit]
        sums = np.bincount(rows[entries] * size + language, block.counts[entries], n * size)
        sums = sums.reshape(n, size)
        best = sums.argmax(axis=1)
        ordered = np.sort(sums, axis=1)
        first, second = ordered[:, -1], ordered[:, -2]
        sure = (first >= _FEWEST) & (first >= _SHARE * tokens) & (first >= _TIMES * second)
        languages = np.where(sure, best, UNKNOWN).astype(np.int32)
        other = np.flatnonzero(self._scripts[block.indices] >= 0)
        if other.size:
            scripts = self._scripts[block.indices[other]]
            for number in np.flatnonzero(np.bincount(scripts)).tolist():
                of_it = scripts == number
                share = np.bincount(rows[other[of_it]], block.counts[other[of_it]], n)
                if self.languages[number] == "cyrillic" and "russian" in COMPARED:
                    languages[(share > 0.5 * tokens) & ~sure] = number
                else:
                    languages[share > 0.5 * tokens] = number
        self._ask_library(block, languages)
        return languages


def has_library() -> bool:
    """Return True if the library py3langid, which detects further languages, is installed."""
    return find_spec(_LIBRARY) is not None


def require_guesser(language: str) -> None:
    """Raise an error if only a library can detect a language and the library is not installed.

    Parameters
    ----------
    language : str
        Name of the language.

    Raises
    ------
    MissingInputError
    """
    if language not in [*LANGUAGES.values()][:LISTED] and not has_library():
        raise MissingInputError(
            f"--language {language} needs py3langid, which detects it: pip install {_LIBRARY}"
        )


def told(languages: Sequence[str], guesses: Int64s, lists: Sequence[str]) -> str | None:
    """Return a message about the languages of the documents, or None unless several are frequent.

    Parameters
    ----------
    languages : sequence of str
    guesses : (n,) int
        Index in ``languages`` of each document's language.
    lists : sequence of str
        Names of the lists of stop words that are left out.
    """
    recognised = guesses[guesses != UNKNOWN]
    counts = np.bincount(recognised, minlength=len(languages))
    order = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
    frequent = [i for i in order[1:] if counts[i] >= max(_FEW, _WORTH * len(guesses))]
    if not frequent:
        return None
    shown = ", ".join(
        f"{languages[i].title()} {100 * counts[i] / len(guesses):.0f} %"
        for i in (order[0], *frequent)
    )
    named_lists = [languages[i] for i in (order[0], *frequent) if languages[i] in NAMED]
    advice = f"--language {languages[order[0]]} keeps only the documents of that language"
    if "none" not in lists and any(name not in lists for name in named_lists):
        advice = (
            f"--stop-words {','.join(sorted(named_lists))} removes the stop words of all these "
            "languages, " + advice
        )
    return f"documents are in several languages ({shown}): {advice}"
