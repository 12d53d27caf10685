"""Removal of the variable parts of log lines: paths, IP addresses and numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from pysgrld.corpus.deferred import deferred

#: Pattern of each kind of string that is removed from texts. Patterns are applied in this order.
_MASKS = {
    "path": rb"(?<![\w.])(?:[A-Za-z]:\\|~?/|\.{1,2}/)[^\s\"'<>|,;)\]}]*[^\s\"'<>|,;:.)\]}]",
    "IP address": rb"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+|/\d+)?(?!\w|\.\d)"
    rb"|(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){3,7}[0-9A-Fa-f]{1,4}(?![\w:])"
    rb"|(?<![\w:])(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?::[0-9A-Fa-f:]{1,40}(?!\w)",
    "hexadecimal": rb"(?<!\w)(?:0[xX][0-9A-Fa-f]+|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    rb"|(?=[A-Fa-f]*\d)(?=\d*[A-Fa-f])[0-9A-Fa-f]{6,})(?!\w)",
    "figure": rb"(?<![A-Za-z\d\x80-\xff])[-+]?\d+(?:[.,:/T-]\d+){0,9}(?:Z|%|[A-Za-z]{1,2}(?!\w))?"
    rb"(?![A-Za-z\x80-\xff])",
}
_MASKED = tuple((kind, deferred(pattern)) for kind, pattern in _MASKS.items())
#: Pattern of a word between blanks.
_WORD = deferred(rb"\S+")
#: Pattern of digits and slashes. Only words with one of these characters are searched for strings
#: to remove.
_SIGN = deferred(rb"[\d/\\]")
#: Kinds of strings that are removed from texts, with their names in log messages, in the singular
#: and in the plural.
CALLED = {
    "path": ("path", "paths"),
    "IP address": ("IP address", "IP addresses"),
    "hexadecimal": ("hexadecimal number", "hexadecimal numbers"),
    "figure": ("number", "numbers"),
}


def masked(documents: Iterable[bytes], left_out: Counter[str]) -> list[bytes]:
    """Return texts without paths, IP addresses, and hexadecimal or other numbers.

    Parameters
    ----------
    documents : iterable of bytes
    left_out : Counter
        Receives the number of parts left out, by kind.
    """

    def mask(match: re.Match[bytes]) -> bytes:
        word = match[0]
        if _SIGN.search(word):
            for kind, pattern in _MASKED:
                word, count = pattern.subn(b" ", word)
                if count:
                    left_out[kind] += count
        return word

    return [_WORD.sub(mask, text) for text in documents]
