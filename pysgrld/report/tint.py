"""Words of a document, each with its likeliest topic: of its text where that is kept, else by count."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus.characters import Role, normal, role
from pysgrld.types import Doubles, Floats, Int64s

#: Letters of a text that are shown, around its best stretch; letters of that; words of one without text.
LONGEST, STRETCH, WORDS = 20_000, 300, 60
#: Between words; and where none is within so many letters, as in Chinese, a text is cut anywhere.
_GAP, _NEAR = re.compile(r"\s+"), 40
_WORD = re.compile(r"\w+")


class Tint(NamedTuple):
    """Likeliest topic of some words in a document, and its probability."""

    topics: Int64s
    probability: Doubles


def likeliest(phi: Floats, words: Int64s, theta: Doubles) -> Tint:
    """Give the likeliest topic of each word: the greatest theta_k phi_kw, as a share of their sum.

    Parameters
    ----------
    phi : (V, K or more)
    words : (n,) int64
    theta : (K,)
        Mean proportions of the document.
    """
    weight = np.maximum(phi[words, : len(theta)] * theta, 0.0)
    topics = weight.argmax(axis=1)
    total = np.maximum(weight.sum(axis=1), 1e-30)
    return Tint(topics, weight[np.arange(len(words)), topics] / total)


def by_count(
    words: Int64s, counts: Int64s, tint: Tint, vocabulary: tuple[str, ...]
) -> list[list[Any]]:
    """Give the words of a document with count, topic and percent, the most frequent first."""
    order = np.lexsort((words, -counts))[:WORDS]
    return [
        [vocabulary[words[i]], int(counts[i]), int(tint.topics[i]), _percent(tint.probability[i])]
        for i in order.tolist()
    ]


def _percent(p: float) -> int:
    """Round a probability to 5 %: nobody sees a finer tint, and it packs to half."""
    return 5 * round(20 * float(p))


class Token(NamedTuple):
    """A token of a text: where it begins and ends, and how it is spelled in the vocabulary."""

    begin: int
    end: int
    word: str


def tokens(text: str, pattern: re.Pattern[str] | None) -> Iterator[Token]:
    """Find the tokens of a text in normal form C, as they are counted; each is folded by itself.

    Parameters
    ----------
    text : str
    pattern : compiled regular expression or None
        What a token is; None: two word characters or more, ideographs by pairs, kana by syllabary.
    """
    if pattern is not None:
        for match in pattern.finditer(text):
            begin, end = match.span(pattern.groups)
            if begin < end:
                yield Token(begin, end, text[begin:end].casefold())
        return
    for match in _WORD.finditer(text):
        at = match.start()
        for kind, letters in groupby(match[0], _script):
            n = sum(1 for _ in letters)
            if kind is Role.IDEOGRAPH:
                for i in range(at, at + max(1, n - 1)):
                    yield Token(i, min(i + 2, at + n), text[i : min(i + 2, at + n)])
            elif len(folded := text[at : at + n].casefold()) > 1:
                yield Token(at, at + n, folded)
            at += n


@cache
def _script(character: str) -> Role:
    """Say which script without blanks a character is of; `Role.LETTER`: of none."""
    found = role(character)
    return found if found in (Role.IDEOGRAPH, Role.HIRAGANA, Role.KATAKANA) else Role.LETTER


class TintedText(NamedTuple):
    """A text as it is shown; positions count UTF-16 units, as browsers do.

    Attributes
    ----------
    text : str
    spans : list of int
        Skip, length, topic, percent; ... of each word that is known.
    best : (int, int)
        Begin and end of the stretch with most of the document's main topic.
    cut : (int, int) or None
        Letters that are left out before and after.
    """

    text: str
    spans: list[int]
    best: tuple[int, int]
    cut: tuple[int, int] | None


def show(
    text: str, pattern: re.Pattern[str] | None, ids: Mapping[str, int], phi: Floats, theta: Doubles
) -> TintedText:
    """Tint a text, cut around its best stretch where it is long.

    Parameters
    ----------
    text : str
    pattern : compiled regular expression or None
        What a token is.
    ids : mapping of str to int
        Word ids of the run.
    phi : (V, K or more)
    theta : (K,)
        Mean proportions of the document.
    """
    text = normal(text)
    known = [t for t in tokens(text, pattern) if t.word in ids]
    words, where = np.unique([ids[t.word] for t in known] or [0], return_inverse=True)
    tint = likeliest(phi, words, theta)
    topics, sure = tint.topics[where], tint.probability[where]
    main = int(np.argmax(theta))
    gain = np.where(topics == main, sure, 0.0)[: len(known)]
    first, last = _stretch(known, gain)
    begin, end = _cut(text, first, last)
    units = _Units(text[begin:end], begin)
    spans, done = [], 0
    for token, topic, p in _apart(known, topics.tolist(), sure.tolist()):
        if begin <= token.begin and token.end <= end:
            at, stop = units.at(token.begin), units.at(token.end)
            spans += [at - done, stop - at, topic, _percent(p)]
            done = stop
    first, last = max(first, begin), min(last, end)
    return TintedText(
        text[begin:end],
        spans,
        (units.at(first), units.at(last)),
        (begin, len(text) - end) if end - begin < len(text) else None,
    )


def _apart(
    known: list[Token], topics: list[int], sure: list[float]
) -> Iterator[tuple[Token, int, float]]:
    """Yield tokens that do not overlap: of pairs of ideographs that share one, the surer has it."""
    waiting: tuple[Token, int, float] | None = None
    for token, topic, p in zip(known, topics[: len(known)], sure[: len(known)], strict=True):
        if waiting is not None and token.begin < waiting[0].end:
            if p > waiting[2]:
                if waiting[0].begin < token.begin:
                    yield waiting[0]._replace(end=token.begin), *waiting[1:]
            else:
                token = token._replace(begin=waiting[0].end)
                yield waiting
        elif waiting is not None:
            yield waiting
        waiting = (token, topic, p) if token.begin < token.end else None
    if waiting is not None:
        yield waiting


def _cut(text: str, first: int, last: int) -> tuple[int, int]:
    """Give begin and end of what is shown: 20,000 letters around a stretch, less pieces of words."""
    begin = max(0, min((first + last - LONGEST) // 2, len(text) - LONGEST))
    end = min(len(text), begin + LONGEST)
    if begin and (gap := _GAP.search(text, begin - 1, begin + _NEAR)):
        begin = min(gap.end(), first)
    if end < len(text) and (gaps := list(_GAP.finditer(text, end - _NEAR, end + 1))):
        end = max(gaps[-1].start(), last)
    return begin, end


def _stretch(known: list[Token], gain: Doubles) -> tuple[int, int]:
    """Give begin and end of the stretch of at most 300 letters that gains most."""
    best, found, first, total = -1.0, (0, 0), 0, 0.0
    for last, token in enumerate(known):
        total += gain[last]
        while token.end - known[first].begin > STRETCH and first < last:
            total -= gain[first]
            first += 1
        if total > best + 1e-9:
            best, found = total, (known[first].begin, token.end)
    return found


class _Units:
    """Turns positions in a text into UTF-16 units of a part of it."""

    def __init__(self, part: str, begin: int) -> None:
        codes = np.frombuffer(part.encode("utf-32-le", "surrogatepass"), "<u4")
        self._ends = np.concatenate(([0], np.cumsum(1 + (codes > 0xFFFF))))
        self._begin = begin

    def at(self, place: int) -> int:
        """Give the units before a place."""
        return int(self._ends[place - self._begin])
