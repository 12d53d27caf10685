"""The likeliest topic of each word in documents, by which the page colours the words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus import characters
from pysgrld.corpus.characters import Token, normal
from pysgrld.corpus.links import without_links
from pysgrld.options.spelling import fold, word_pattern
from pysgrld.types import Documents, Doubles, Floats, Int64s

#: `LONGEST`: maximum number of characters shown of a text. `STRETCH`: maximum number of characters
#: of its best stretch, which is the part with most of the document's main topic. `WORDS`: maximum
#: number of words shown of a document without text.
LONGEST, STRETCH, WORDS = 20_000, 300, 60
#: `_GAP`: pattern of blanks between words. `_NEAR`: a long text is cut at a blank within this
#: distance in characters, or anywhere if no blank is so near.
_GAP, _NEAR = re.compile(r"\s+"), 40
#: The cache has the results for at most this number of sequences of letters.
_CACHED = 1 << 17
#: First character in the order of Unicode that may be an ideograph.
_FIRST_IDEOGRAPH = "\u2e80"
#: `_CELLS`: maximum number of products of shares and probabilities in memory. `_LETTERS`: maximum
#: total number of characters of texts that are processed together.
_CELLS, _LETTERS = 2_000_000, 500_000


# ---- likeliest topics


class Likeliest(NamedTuple):
    """The likeliest topic of each word in some documents, and the probability of this topic."""

    topics: Int64s
    probability: Doubles

    @property
    def percents(self) -> list[int]:
        """Probabilities rounded to 5 %, because finer steps of colour would look the same."""
        percents: list[int] = (5 * np.rint(20 * self.probability)).astype(np.int64).tolist()
        return percents


def likeliest(phi: Floats, words: Int64s, thetas: Doubles, rows: Int64s) -> Likeliest:
    """Return the topic with the greatest theta_k phi_kw for each word w, and its probability.

    theta_k is the share of topic k in the document of the word, and phi_kw the probability of the
    word in the topic.

    Parameters
    ----------
    phi : (V, K or more)
    words : (n,) int64
    thetas : (documents, K)
        Mean proportions of the documents.
    rows : (n,) int64
        Document of each word.
    """
    topics, probability = np.empty(len(words), np.int64), np.empty(len(words))
    k = thetas.shape[1]
    step = max(1, _CELLS // k)
    for begin in range(0, len(words), step):
        part = slice(begin, begin + step)
        weight = np.maximum(phi[words[part], :k] * thetas[rows[part]], 0.0)
        topics[part] = best = weight.argmax(axis=1)
        total = np.maximum(weight.sum(axis=1), 1e-30)
        probability[part] = weight[np.arange(len(best)), best] / total
    return Likeliest(topics, probability)


def words_by_count(
    documents: Documents, phi: Floats, thetas: Doubles, vocabulary: Sequence[str]
) -> Iterator[list[list[Any]]]:
    """Yield each document's most frequent words, each with its count, topic and percentage.

    Parameters
    ----------
    documents : Documents
    phi : (V, K or more)
    thetas : (documents, K)
        Mean proportions of the documents.
    vocabulary : sequence of str
    """
    rows = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
    words = documents.indices.astype(np.int64)
    likely = likeliest(phi, words, thetas, rows)
    order = np.lexsort((words, -documents.counts.astype(np.int64), rows)).tolist()
    topics, percents = likely.topics.tolist(), likely.percents
    counts, ids = documents.counts.tolist(), words.tolist()
    for begin, end in pairwise(documents.indptr.tolist()):
        most_frequent = order[begin : min(end, begin + WORDS)]
        yield [[vocabulary[ids[i]], int(counts[i]), topics[i], percents[i]] for i in most_frequent]


# ---- words in texts


def tokens(text: str, pattern: re.Pattern[str] | None) -> Iterator[Token]:
    """Split a text in Unicode normal form C into tokens, by the rule of the corpus.

    The spelling of each token is folded separately.

    Parameters
    ----------
    text : str
    pattern : compiled regular expression or None
        Matches a token; None for the built-in rule.
    """
    if pattern is None:
        yield from characters.tokens(text)
        return
    for match in pattern.finditer(text):
        begin, end = match.span(pattern.groups)
        if begin < end:
            yield Token(begin, end, fold(text[begin:end]))


#: Position of a word of the vocabulary in a text: start, end, and the word's id.
_Place = tuple[int, int, int]


class KnownWords:
    """Finder of the words of a vocabulary in texts.

    Parameters
    ----------
    ids : mapping of str to int
        Ids of the words.
    pattern : compiled regular expression or None
        As for `tokens`.
    keep_links : bool
        Whether words in links, addresses and the like are found too.
    """

    def __init__(
        self, ids: Mapping[str, int], pattern: re.Pattern[str] | None, *, keep_links: bool
    ) -> None:
        self._ids, self._pattern, self._keep_links = ids, pattern, keep_links
        # The results are cached, because most sequences of letters occur several times.
        self._of_word = lru_cache(_CACHED)(self._in_word)

    def _in_word(self, text: str) -> list[_Place]:
        return self._known(characters.tokens_in_word(text))

    def _known(self, tokens: Iterable[Token]) -> list[_Place]:
        ids = self._ids
        return [(begin, end, ids[word]) for begin, end, word in tokens if word in ids]

    def find(self, text: str) -> list[_Place]:
        """Return the known words of a text in Unicode normal form C, in order of position."""
        read = text if self._keep_links else without_links(text)
        if self._pattern is not None:
            return self._known(tokens(read, self._pattern))
        known: list[_Place] = []
        of_word = self._of_word
        for match in word_pattern().finditer(read):
            if places := of_word(match[0]):
                start = match.start()
                known += [(start + begin, start + end, word) for begin, end, word in places]
        return known


class TintedText(NamedTuple):
    """A text as shown on the page; positions count UTF-16 units, as browsers do.

    Attributes
    ----------
    text : str
    spans : list of int
        Four numbers for each known word: gap to the previous one, length, topic, percent.
    best : (int, int)
        Start and end of the stretch with most of the document's main topic.
    cut : (int, int) or None
        Number of characters left out before and after the text, or None if it is whole.
    """

    text: str
    spans: list[int]
    best: tuple[int, int]
    cut: tuple[int, int] | None


def tinted(
    texts: Sequence[str], words: KnownWords, phi: Floats, thetas: Doubles
) -> Iterator[TintedText]:
    """Yield texts with the likeliest topic of each word; long texts are shortened.

    Parameters
    ----------
    texts : sequence of str
    words : KnownWords
        Finder of the run's words.
    phi : (V, K or more)
    thetas : (documents, K)
        Mean proportions of the documents.
    """
    begin = 0
    while begin < len(texts):
        end, letters = begin + 1, len(texts[begin])
        while end < len(texts) and letters + len(texts[end]) <= _LETTERS:
            letters += len(texts[end])
            end += 1
        yield from _tinted_together(texts[begin:end], words, phi, thetas[begin:end])
        begin = end


def _tinted_together(
    texts: Sequence[str], words: KnownWords, phi: Floats, thetas: Doubles
) -> Iterator[TintedText]:
    texts = [*map(normal, texts)]
    known = [words.find(text) for text in texts]
    rows = np.repeat(np.arange(len(known)), [*map(len, known)])
    ids = np.fromiter((word for places in known for _, _, word in places), np.int64, len(rows))
    pairs, where = np.unique(rows * len(phi) + ids, return_inverse=True)
    likely = likeliest(phi, pairs % len(phi), thetas, pairs // len(phi))
    likely = Likeliest(likely.topics[where], likely.probability[where])
    is_main = likely.topics == thetas.argmax(axis=1)[rows]
    gains = np.where(is_main, likely.probability, 0.0).tolist()
    topics, probability = likely.topics.tolist(), likely.probability.tolist()
    marks = [*zip(topics, probability, likely.percents, strict=True)]
    first = 0
    for text, places in zip(texts, known, strict=True):
        part = slice(first, first + len(places))
        yield _shown(text, places, gains[part], marks[part])
        first = part.stop


#: Likeliest topic of a word, its probability, and this probability in percent.
_Mark = tuple[int, float, int]


def _shown(text: str, places: list[_Place], gains: list[float], marks: list[_Mark]) -> TintedText:
    """Return a text with the topics of its words; a long text is shortened."""
    first, last = _best_stretch(places, gains)
    begin, end = _cut(text, first, last)
    text_part = text[begin:end]
    units: Sequence[int] = range(len(text_part) + 1)
    marked: Iterator[tuple[_Place, _Mark]] = zip(places, marks, strict=True)
    greatest = max(text, default="")
    if greatest >= _FIRST_IDEOGRAPH:
        marked = _apart(marked)  # Words that are pairs of ideographs overlap.
    if greatest > "\uffff":
        # Number of UTF-16 units before each character that is shown.
        codes = np.frombuffer(text_part.encode("utf-32-le", "surrogatepass"), "<u4")
        units = np.concatenate(([0], np.cumsum(1 + (codes > 0xFFFF)))).tolist()
    spans: list[int] = []
    done = 0
    for (start, stop, _), (topic, _, percent) in marked:
        if begin <= start and stop <= end:
            unit, unit_stop = units[start - begin], units[stop - begin]
            spans += (unit - done, unit_stop - unit, topic, percent)
            done = unit_stop
    return TintedText(
        text_part,
        spans,
        (units[max(first, begin) - begin], units[min(last, end) - begin]),
        (begin, len(text) - end) if end - begin < len(text) else None,
    )


def _best_stretch(places: list[_Place], gains: list[float]) -> tuple[int, int]:
    """Return start and end of the passage (up to 300 characters) with the greatest sum of gains."""
    best, stretch, first, total = -1.0, (0, 0), 0, 0.0
    for last, ((_, end, _), gain) in enumerate(zip(places, gains, strict=True)):
        total += gain
        while end - places[first][0] > STRETCH and first < last:
            total -= gains[first]
            first += 1
        if total > best + 1e-9:
            best, stretch = total, (places[first][0], end)
    return stretch


def _cut(text: str, first: int, last: int) -> tuple[int, int]:
    """Return the start and end of the 20,000 characters to show, which surround a given passage."""
    if len(text) <= LONGEST:
        return 0, len(text)
    begin = max(0, min((first + last - LONGEST) // 2, len(text) - LONGEST))
    end = min(len(text), begin + LONGEST)
    if begin and (gap := _GAP.search(text, begin - 1, begin + _NEAR)):
        begin = min(gap.end(), first)
    if end < len(text) and (gaps := list(_GAP.finditer(text, end - _NEAR, end + 1))):
        end = max(gaps[-1].start(), last)
    return begin, end


def _apart(marked: Iterator[tuple[_Place, _Mark]]) -> Iterator[tuple[_Place, _Mark]]:
    """Yield words without overlap; shared characters go to the word with the likelier topic."""
    waiting: tuple[_Place, _Mark] | None = None
    for place, mark in marked:
        if waiting is not None:
            (begin, end, word), waiting_mark = waiting
            if place[0] >= end:
                yield waiting
            elif mark[1] <= waiting_mark[1]:
                place = (end, *place[1:])
                yield waiting
            elif begin < place[0]:
                yield (begin, place[0], word), waiting_mark
        waiting = (place, mark) if place[0] < place[1] else None
    if waiting is not None:
        yield waiting
