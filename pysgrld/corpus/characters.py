"""Tables of character classes for the tokeniser in cpp/text, made from Python's Unicode data."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from enum import IntEnum
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from pysgrld.options.spelling import fold, is_left_out, is_mark, is_vowel, is_word, word_pattern

#: Maximum number of bytes of a case-folded character in UTF-8.
_SIZE = 5
#: This number replaces a character's combining class if normal form C may change the character.
_COMPOSES = 255


class Role(IntEnum):
    """Class of a character for the tokeniser, with the same values as in cpp/text/characters.hpp."""

    SEPARATOR, LETTER, IDEOGRAPH, HIRAGANA, KATAKANA, SEVERAL, IGNORED, MARK, VOWEL = range(9)


#: Classes of the characters of scripts that put no blanks between words. Keys are the beginnings of
#: the characters' Unicode names.
_SCRIPTS = {
    "CJK ": Role.IDEOGRAPH,
    "IDEOGRAPHIC ": Role.IDEOGRAPH,
    "HIRAGANA ": Role.HIRAGANA,
    "KATAKANA": Role.KATAKANA,
    "HALFWIDTH KATAKANA": Role.KATAKANA,
}
_STARTS = tuple(_SCRIPTS)


def page(number: int) -> bytes:
    """Return the properties of 256 characters, in the layout of `Character` in cpp/text.

    Parameters
    ----------
    number : int
        Number of the page, from 0.

    Returns
    -------
    bytes
        256 records of one length.
    """
    described = []
    for code in range(256 * number, 256 * (number + 1)):
        character = chr(code)
        order, folded = unicodedata.combining(character), " "
        # Normal form C changes every character that is not normalized.
        if not unicodedata.is_normalized("NFC", character):
            order = _COMPOSES
        elif not 0xD800 <= code < 0xE000:
            # Word characters are the characters that \w of `re` matches. The underscore is excluded
            # here, because it is ASCII, which cpp/text handles itself.
            folded = _folded(character)
            if character in _composing():
                order = _COMPOSES
        spelled = folded.encode()
        described.append(bytes([len(spelled), order, _role(folded)]) + spelled.ljust(_SIZE, b"\0"))
    return b"".join(described)


def _folded(character: str) -> str:
    """Return a case-folded character in normal form C, or a blank if no word can contain it."""
    if character.isalpha() and character.casefold() == character and not is_left_out(character):
        return character  # Most letters need no conversion.
    return "".join(c if c.isalnum() or is_mark(c) else " " for c in fold(character))


def normal(text: str) -> str:
    """Return a text in Unicode's normal form C, in which letters and accents are combined.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The composed text (Unicode, normalisation form C).
    """
    return unicodedata.normalize("NFC", text)


def role(character: str) -> Role:
    """Return the class that the tokeniser uses for a character in normal form C.

    Parameters
    ----------
    character : str
        A single character in normal form C.

    Returns
    -------
    Role
        The class of the character.
    """
    if character == "_":
        return Role.LETTER
    return _role(_folded(character))


class Token(NamedTuple):
    """A token: its start and end in the text, and its spelling in the vocabulary."""

    begin: int
    end: int
    word: str


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens that the built-in tokeniser finds in a text.

    Parameters
    ----------
    text : str
        Text in normal form C.

    Yields
    ------
    Token
        Each token with its place in the text.
    """
    for match in word_pattern().finditer(text):
        start = match.start()
        for begin, end, word in tokens_in_word(match[0]):
            yield Token(start + begin, start + end, word)


# The cache has room for more words than most vocabularies have.
@lru_cache(1 << 17)
def tokens_in_word(text: str) -> tuple[Token, ...]:
    """Split consecutive word characters, which may be of several scripts, into tokens.

    The result is cached, because most words occur repeatedly.

    Parameters
    ----------
    text : str
        A match of `pysgrld.options.spelling.word_pattern` in a text in normal form C.

    Returns
    -------
    tuple of Token
        Each token with its place in the sequence.
    """
    if {_script(character) for character in text} <= _OF_ONE_TOKEN:
        word = fold(text)
        return (Token(0, len(text), word),) if is_word(word) else ()
    found, begin = [], 0
    for script, characters in groupby(_with_scripts(text), key=itemgetter(1)):
        run = [character for character, _ in characters]
        end = begin + len(run)
        if script is Role.IDEOGRAPH:
            starts = [begin + i for i, c in enumerate(run) if role(c) is Role.IDEOGRAPH]
            for i in range(max(1, len(starts) - 1)):
                last = starts[i + 1] if i + 1 < len(starts) else starts[i]
                letters = text[starts[i]] + (text[last] if last > starts[i] else "")
                found.append(Token(starts[i], last + 1, fold(letters)))
        elif is_word(word := fold(text[begin:end])):
            found.append(Token(begin, end, word))
        begin = end
    return tuple(found)


def _with_scripts(run: str) -> Iterator[tuple[str, Role]]:
    """Yield each character with its script; a mark has the script of the letter before it."""
    script = Role.LETTER
    for character in run:
        kind = _script(character)
        script = script if kind is None else kind
        yield character, script


#: Consecutive word characters stay in one token if their values of `_script` are in this set.
_OF_ONE_TOKEN = {Role.LETTER, None}


@cache
def _script(character: str) -> Role | None:
    kind = role(character)
    if kind in (Role.MARK, Role.VOWEL, Role.IGNORED):
        return None
    return kind if kind in (Role.IDEOGRAPH, Role.HIRAGANA, Role.KATAKANA) else Role.LETTER


def overlap(first: str, second: str) -> bool:
    """Return True for two words of two ideographs that have one in common, such as AB and BC.

    The tokeniser splits a run of ideographs into its pairs of neighbours, so that both words occur
    in every text with the three characters.

    Parameters
    ----------
    first, second : str
        Words of the vocabulary.

    Returns
    -------
    bool
        True for two pairs of ideographs that share one.
    """
    pair = first + second
    if len(first) != 2 or len(second) != 2 or not (first[1] == second[0] or second[1] == first[0]):
        return False
    return all(role(character) is Role.IDEOGRAPH for character in pair)


def _role(folded: str) -> Role:
    if not folded:
        return Role.IGNORED
    if len(folded) > 1:
        return Role.SEVERAL
    if folded == " ":
        return Role.SEPARATOR
    if not folded.isalpha() and is_mark(folded):
        return Role.VOWEL if is_vowel(folded) else Role.MARK
    name = unicodedata.name(folded, "")
    if not name.startswith(_STARTS):
        return Role.LETTER
    return next(role for start, role in _SCRIPTS.items() if name.startswith(start))


@cache
def _composing() -> frozenset[str]:
    """Return the characters that may combine with the character before them.

    These are the characters after the first in the decomposition of any character that decomposes.
    Most pages of Unicode have no character that decomposes, which is quick to check. The planes
    from 3 on are skipped: they have ideographs, tags and private characters.
    """
    every = np.arange(0x30000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    pages = (every[i : i + 256] for i in range(0, len(every), 256))
    apart = "".join(page for page in pages if not unicodedata.is_normalized("NFD", page))
    return frozenset(c for whole in apart for c in unicodedata.normalize("NFD", whole)[1:])
