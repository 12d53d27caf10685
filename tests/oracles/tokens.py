"""Definition of a token: the specification of docs/corpora.md, by character, in Python."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

#: Property Default_Ignorable_Code_Point of Unicode, but for the zero-width space.
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)


def invisible() -> set[str]:
    characters: set[str] = set()
    for i, character in enumerate(IGNORABLE):
        if character == "-" and i > 0:
            first, last = ord(IGNORABLE[i - 1]), ord(IGNORABLE[i + 1])
            characters.update(map(chr, range(first, last)))
        else:
            characters.add(character)
    return characters


INVISIBLE = invisible()


def folded(text: str) -> str:
    seen = "".join(
        c
        for c in text
        if c not in INVISIBLE and not (c > "\x7f" and unicodedata.category(c) == "Me")
    )
    text = unicodedata.normalize("NFC", seen).replace("\u0130", "i").casefold()
    while "i\u0307" in text:
        text = text.replace("i\u0307", "i")
    return unicodedata.normalize("NFC", text)


def tokens(text: str) -> list[str]:
    words: list[str] = []
    run, script = [], ""

    def close() -> None:
        nonlocal run
        if script == "ideographs" and run:
            words.extend(["".join(pair) for pair in pairwise(run)] or run)
        elif sum(map(counts, run)) > 1 and set(run) != {"_"}:
            words.append("".join(run))
        run = []

    for character in folded(text):
        if unicodedata.category(character) in ("Mn", "Mc"):
            if run and script != "ideographs":
                run.append(character)
            continue
        kind = script_of(character)
        if kind != script:
            close()
            script = kind
        if kind:
            run.append(character)
    close()
    return words


def counts(character: str) -> bool:
    """Return True if the character counts towards a word's minimum of two."""
    mark = unicodedata.category(character) in ("Mn", "Mc")
    return not mark or unicodedata.combining(character) == 0


def script_of(character: str) -> str:
    if not character.isalnum() and character != "_":
        return ""
    name = unicodedata.name(character, "")
    if name.startswith(("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC")):
        return "ideographs"
    if name.startswith("HIRAGANA"):
        return "hiragana"
    if name.startswith(("KATAKANA", "HALFWIDTH KATAKANA")):
        return "katakana"
    return "letters"
