"""Phrases: words in a row that count as one, as a file lists them.

No NumPy here: help must be instant.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from hashlib import sha256

from pysgrld.errors import CorpusError, plural
from pysgrld.options.files import read_text

#: What a file may have, at most.
LARGEST = 64 << 20
#: Words of a phrase, at most.
LONGEST = 10
#: Signs of a phrase that a message shows.
_SHOWN = 60


def read_phrases(path: str) -> tuple[str, ...]:
    """Read phrases, one a line, as 'sgmc corpus phrases' writes them: what a tab follows is passed over.

    Returns
    -------
    tuple of str
        As the tokeniser writes their words, separated by single blanks; sorted, each once.

    Raises
    ------
    MissingInputError
        If the file cannot be read.
    CorpusError
        If a line is no phrase of two words or more, or there is none.
    """
    found = set()
    data = read_text("--phrases", path, LARGEST, "list of phrases")
    for number, line in enumerate(data.split("\n"), 1):
        text = line.split("\t", 1)[0].strip()
        if text and not text.startswith("#"):
            found.add(_phrase(text, path, number))
    if not found:
        raise CorpusError("has no phrase; write one a line, as in: new york", path)
    return tuple(sorted(found))


def spell_phrases(phrases: Sequence[str]) -> str:
    """Write a list of phrases in a line: how many there are, and a digest by which two lists differ."""
    digest = sha256("\n".join(map(str, phrases)).encode()).hexdigest()
    return f"{plural(len(phrases), 'phrase')} ({digest[:8]})"


def _phrase(text: str, path: str, number: int) -> str:
    words = unicodedata.normalize("NFC", text).casefold().split()
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    if not 2 <= len(words) <= LONGEST:
        raise CorpusError(
            f"{shown!r} has {len(words):,} word{'s' * (len(words) != 1)}: a phrase has 2 to {LONGEST}, "
            "separated by blanks",
            path,
            number,
        )
    for word in words:
        if not re.fullmatch(r"\w\w+", word):
            raise CorpusError(
                f"{shown!r} can never be found: the words of text are two letters or digits and more, "
                "without signs",
                path,
                number,
            )
    return " ".join(words)
