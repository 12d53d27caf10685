"""Classes of characters by this Python's Unicode, in pages of 256, as cpp/text wants them."""

from __future__ import annotations

import unicodedata
from enum import IntEnum
from functools import cache

import numpy as np

#: Bytes of a folded character: no case folding is longer.
_SIZE = 5


class Role(IntEnum):
    """How the tokeniser treats a character; the numbers are those of cpp/text/characters.hpp."""

    SEPARATOR, LETTER, IDEOGRAPH, HIRAGANA, KATAKANA, SEVERAL = range(6)


#: Scripts that do without blanks, by how the names of their characters begin.
_SCRIPTS = {
    "CJK ": Role.IDEOGRAPH,
    "IDEOGRAPHIC ": Role.IDEOGRAPH,
    "HIRAGANA ": Role.HIRAGANA,
    "KATAKANA": Role.KATAKANA,
    "HALFWIDTH KATAKANA": Role.KATAKANA,
}


def page(number: int) -> bytes:
    """Describe the 256 characters from 256 * number on, each as a `Character` of cpp/text."""
    described = []
    for code in range(256 * number, 256 * (number + 1)):
        character = chr(code)
        if 0xD800 <= code < 0xE000:
            folded, role, composes = " ", Role.SEPARATOR, False
        else:
            # re's \w, but for the underscore, which is ASCII and not asked for here
            folded = "".join(c if c.isalnum() else " " for c in character.casefold())
            role = _role(folded)
            composes = character in _composing() or not unicodedata.is_normalized("NFC", character)
        spelled = folded.encode()
        described.append(bytes([len(spelled), composes, role]) + spelled.ljust(_SIZE, b"\0"))
    return b"".join(described)


def normal(text: str) -> str:
    """Return the text in normal form C."""
    return unicodedata.normalize("NFC", text)


def role(character: str) -> Role:
    """Return how the tokeniser treats a character of text in normal form C."""
    folded = "".join(c if c.isalnum() else " " for c in character.casefold())
    return Role.LETTER if character == "_" else _role(folded)


def overlap(first: str, second: str) -> bool:
    """Return whether two words are pairs of ideographs that overlap: the end of one begins the other.

    Of a run of ideographs the tokeniser makes its pairs of neighbours, so that such words stand in the
    same text wherever it has the three characters.
    """
    both = first + second
    if len(first) != 2 or len(second) != 2 or not (first[1] == second[0] or second[1] == first[0]):
        return False
    return all(role(character) is Role.IDEOGRAPH for character in both)


def _role(folded: str) -> Role:
    if len(folded) > 1:
        return Role.SEVERAL
    if folded == " ":
        return Role.SEPARATOR
    name = unicodedata.name(folded, "")
    scripts = (role for start, role in _SCRIPTS.items() if name.startswith(start))
    return next(scripts, Role.LETTER)


@cache
def _composing() -> frozenset[str]:
    """Return the characters that may become one with what is before them.

    Whatever composes comes of a character that decomposes, and is not the first of what that
    decomposes into. Most pages of Unicode have no such character, and to ask that is quick.
    """
    every = np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    pages = (every[i : i + 256] for i in range(0, len(every), 256))
    apart = "".join(page for page in pages if not unicodedata.is_normalized("NFD", page))
    return frozenset(c for whole in apart for c in unicodedata.normalize("NFD", whole)[1:])
