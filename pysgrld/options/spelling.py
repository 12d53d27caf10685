"""Spelling of vocabulary words, which are case-folded and in Unicode normal form C.

A word begins with a letter, a digit or an underscore. Combining marks after such a character belong
to the word. This module applies the rule with Python's Unicode tables. `cpp/text` applies the same
rule with tables that `pysgrld.corpus.characters` makes.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

#: A run records how its texts were split into words. With the built-in rule, the record starts with
#: this text. The rest of the record may differ between versions of sgmc.
BUILT_IN = "built in: "

#: Ranges (first, last) of the characters that are invisible by default in Unicode. They are the
#: soft hyphen, joiners, direction marks, variation selectors and fillers. The zero-width space is
#: not included, because it separates words.
_IGNORABLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x200C, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
#: Ranges (first, last) of enclosing marks, such as a circle around a letter.
_ENCLOSING = (
    *((0x488, 0x489), (0x1ABE, 0x1ABE), (0x20DD, 0x20E0), (0x20E2, 0x20E4), (0xA670, 0xA672)),
)
#: Table for `str.translate` that removes invisible characters and enclosing marks.
_LEFT_OUT: dict[int, str | None] = {
    code: None for first, last in (*_IGNORABLE, *_ENCLOSING) for code in range(first, last + 1)
}
#: Code point of the zero-width space.
_ZERO_WIDTH_SPACE = 0x200B
#: Ranges of code points above ASCII that may be combining marks. All other code points above
#: ASCII are ideographs, unassigned or private.
_WITH_MARKS = range(0x80, 0x20000), range(0xE0000, 0xE1000)
#: Unicode categories of combining marks other than enclosing marks.
_MARKS = ("Mn", "Mc")
_REPLACED = {**_LEFT_OUT, _ZERO_WIDTH_SPACE: " "}
#: Pattern of the letter i followed by combining dots above.
_DOTS = re.compile("i\u0307+")


def visible(text: str) -> str:
    """Return a text without invisible characters, and with blanks for zero-width spaces.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        Text for a person to read.
    """
    return text.translate(_REPLACED)


def fold(text: str) -> str:
    """Return a text in the spelling of vocabularies: case-folded and in Unicode normal form C.

    The dot above that casefolding makes of the Turkish İ is left out before other marks are
    composed, so that İstanbul is the word istanbul. Zero-width spaces become blanks.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        Text in lower case and normal form C.
    """
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFC", visible(text)).replace("\u0130", "i").casefold()
    return unicodedata.normalize("NFC", _DOTS.sub("i", text))


def is_left_out(character: str) -> bool:
    """Return True for invisible characters and enclosing marks, which are left out of words.

    Parameters
    ----------
    character : str
        A single character.

    Returns
    -------
    bool
        True if text is read as if the character were missing.
    """
    return ord(character) in _LEFT_OUT


def is_mark(character: str) -> bool:
    """Return True for combining marks (categories Mn and Mc) that words may contain.

    Parameters
    ----------
    character : str

    Returns
    -------
    bool
        False for letters and for marks that are left out.
    """
    return unicodedata.category(character) in _MARKS and ord(character) not in _LEFT_OUT


def is_vowel(character: str) -> bool:
    """Return True for combining marks that count as characters of a word, such as vowel signs.

    These are the marks of combining class 0, such as the vowel signs of Indic scripts: the Hindi word
    में has a letter and two vowel signs. Accents, points of Hebrew and Arabic, and the virama do not
    count.

    Parameters
    ----------
    character : str

    Returns
    -------
    bool
        True for a mark of combining class 0.
    """
    return is_mark(character) and not unicodedata.combining(character)


def is_word(text: str) -> bool:
    """Return True if a folded text is one word of two or more characters, but not only underscores.

    Parameters
    ----------
    text : str
        As `fold` returns it.

    Returns
    -------
    bool
        False for several words, for a single character, and for underscores alone.
    """
    if text.isalnum():
        return len(text) > 1  # A text of letters and digits has no combining marks.
    if not text.strip("_") or not word_pattern().fullmatch(text):
        return False
    return sum(not is_mark(c) or is_vowel(c) for c in text) > 1


@cache
def word_pattern() -> re.Pattern[str]:
    """Return the regular expression of a word: word characters and their combining marks.

    The expression matches words both before and after `fold`.
    """
    members: list[str] = []
    first = last = -2
    marks = [
        code
        for codes in _WITH_MARKS
        for code, kind in zip(codes, map(unicodedata.category, map(chr, codes)), strict=True)
        if kind in _MARKS or code in _LEFT_OUT
    ]
    for code in (*marks, -1):
        if code != last + 1:
            if first >= 0:
                members.append(f"{chr(first)}-{chr(last)}")
            first = code
        last = code
    return re.compile(rf"\w[\w{''.join(members)}]*")
