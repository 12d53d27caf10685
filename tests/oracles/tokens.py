"""What a token is: the specification of docs/corpora.md, by Python's own Unicode and `re`."""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby, pairwise


def folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def plain(text: str) -> list[str]:
    """Where no script does without spaces."""
    return re.findall(r"\w\w+", folded(text))


def tokens(text: str) -> list[str]:
    found = []
    for word in re.findall(r"\w+", folded(text)):
        for script, characters in groupby(word, script_of):
            run = "".join(characters)
            if script == "ideographs":
                found += ["".join(pair) for pair in pairwise(run)] or [run]
            elif len(run) > 1:
                found.append(run)
    return found


def script_of(character: str) -> str:
    name = unicodedata.name(character, "")
    if name.startswith(("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC")):
        return "ideographs"
    if name.startswith("HIRAGANA"):
        return "hiragana"
    if name.startswith(("KATAKANA", "HALFWIDTH KATAKANA")):
        return "katakana"
    return "letters"
