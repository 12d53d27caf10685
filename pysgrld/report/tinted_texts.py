"""The likeliest topic of each word in documents, by which the page colours the words."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus import characters
from pysgrld.corpus.characters import Token, normal
from pysgrld.corpus.links import without_links
from pysgrld.options.spelling import fold, word_pattern
from pysgrld.types import Documents, Doubles, Floats, Int64s

#: Maximum number of characters shown of a text.
LONGEST = 20_000
#: Maximum number of characters of a text's best passage, which is the part with most of the
#: document's main topic.
STRETCH = 300
#: Maximum number of words shown of a document without text.
WORDS = 60
#: Pattern of blanks between words.
_GAP = re.compile(r"\s+")
#: Maximum number of characters by which the end of a shortened text is moved to avoid a cut in a
#: word.
_NEAR = 40
#: Maximum number of sequences of letters in the cache. If there are more, the cache is emptied.
_CACHED = 1 << 17
#: First character in the order of Unicode that may be an ideograph.
_FIRST_IDEOGRAPH = "\u2e80"
#: Maximum number of products of shares and probabilities in memory.
_CELLS = 2_000_000
#: Maximum total number of characters of texts that are processed together.
_LETTERS = 500_000


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


class Places(NamedTuple):
    """Positions of words of a vocabulary in several texts, in the order of the texts.

    Attributes
    ----------
    begin, end : (n,) int64
        Start and end of each word in its text.
    word : (n,) int64
        Ids of the words.
    row : (n,) int64
        Index of the text of each word.
    """

    begin: Int64s
    end: Int64s
    word: Int64s
    row: Int64s


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
        # Because the pattern has parentheses, `split` returns gaps and sequences of letters
        # alternately.
        self._parts = re.compile(f"({word_pattern().pattern})")
        self._clear()

    def _clear(self) -> None:
        # Cache the known words of each sequence of letters, because most sequences occur several
        # times. The entries of sequence i in `_words` are from `_bounds[i]` to `_bounds[i + 1]`.
        self._cached: dict[str, int] = {}
        self._bounds, self._words = array("q", [0]), array("q")

    def _add(self, letters: str) -> int:
        """Cache the words found in a sequence of letters; return the index of the cache entry."""
        for place in self._known(characters.tokens_in_word(letters)):
            self._words.extend(place)
        self._bounds.append(len(self._words) // 3)
        self._cached[letters] = number = len(self._bounds) - 2
        return number

    def _known(self, tokens: Iterable[Token]) -> list[tuple[int, int, int]]:
        ids = self._ids
        return [(begin, end, ids[word]) for begin, end, word in tokens if word in ids]

    def find(self, texts: Sequence[str]) -> Places:
        """Return the known words of texts in Unicode normal form C, in order of position."""
        read = texts if self._keep_links else [*map(without_links, texts)]
        if self._pattern is not None:
            known = [self._known(tokens(text, self._pattern)) for text in read]
            flat = np.array([place for places in known for place in places], np.int64)
            begin, end, ids = flat.reshape(-1, 3).T
            return Places(begin, end, ids, np.repeat(np.arange(len(known)), [*map(len, known)]))
        if len(self._cached) > _CACHED:
            self._clear()
        # A line end is not part of any word, so joined texts have the same words as the single
        # texts.
        parts = self._parts.split("\n".join(read))
        letters, cached = parts[1::2], self._cached
        starts = np.cumsum([*map(len, parts)])[:-1:2]
        number = np.array(
            [cached[word] if word in cached else self._add(word) for word in letters], np.int64
        )
        bounds = np.frombuffer(self._bounds, np.int64)
        begin, end, ids = np.frombuffer(self._words, np.int64).reshape(-1, 3).T
        first, many = bounds[number], np.diff(bounds)[number]
        sequence = np.repeat(np.arange(len(many)), many)
        place = first[sequence] + np.arange(len(sequence)) - (np.cumsum(many) - many)[sequence]
        begins = np.cumsum([0, *(len(text) + 1 for text in read)])
        row = np.searchsorted(begins, starts, side="right")[sequence] - 1
        start = starts[sequence] - begins[row]
        return Places(start + begin[place], start + end[place], ids[place], row)


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
    places = words.find(texts)
    pairs, where = np.unique(places.row * len(phi) + places.word, return_inverse=True)
    likely = likeliest(phi, pairs % len(phi), thetas, pairs // len(phi))
    likely = Likeliest(likely.topics[where], likely.probability[where])
    is_main = likely.topics == thetas.argmax(axis=1)[places.row]
    ends = np.searchsorted(places.row, np.arange(len(texts) + 1))
    stretches = _best_stretches(places, np.where(is_main, likely.probability, 0.0), ends)
    gaps = places.begin - np.concatenate(([0], places.end[:-1]))[: len(places.begin)]
    begins = ends[:-1][np.diff(ends) > 0]
    gaps[begins] = places.begin[begins]
    # Spans of texts that are shown as a whole and in which each character is one unit of UTF-16.
    spans: list[int] = (
        np.stack((gaps, places.end - places.begin, likely.topics, likely.percents), axis=1)
        .ravel()
        .tolist()
    )
    for row, (text, stretch) in enumerate(zip(texts, stretches, strict=True)):
        part = slice(int(ends[row]), int(ends[row + 1]))
        greatest = max(text, default="")
        if greatest < _FIRST_IDEOGRAPH and len(text) <= LONGEST:
            yield TintedText(text, spans[4 * part.start : 4 * part.stop], stretch, None)
        else:
            marks = zip(
                *(values[part].tolist() for values in places[:2]),
                likely.topics[part].tolist(),
                likely.probability[part].tolist(),
                spans[4 * part.start + 3 : 4 * part.stop : 4],
                strict=True,
            )
            yield _shown(text, greatest, marks, stretch)


#: A word in a text. The numbers are its start, its end, the likeliest topic, the topic's
#: probability, and this probability in percent.
_Mark = tuple[int, int, int, float, int]


def _shown(
    text: str, greatest: str, marks: Iterator[_Mark], stretch: tuple[int, int]
) -> TintedText:
    """Return a text with the topics of its words; a long text is shortened.

    ``greatest`` is the greatest character of the text, in the order of Unicode.
    """
    first, last = stretch
    begin, end = _cut(text, first, last)
    text_part = text[begin:end]
    units: Sequence[int] = range(len(text_part) + 1)
    if greatest >= _FIRST_IDEOGRAPH:
        marks = _apart(marks)  # Words are pairs of adjacent ideographs, so they overlap.
    if greatest > "\uffff":
        # Number of UTF-16 units before each character that is shown.
        codes = np.frombuffer(text_part.encode("utf-32-le", "surrogatepass"), "<u4")
        units = np.concatenate(([0], np.cumsum(1 + (codes > 0xFFFF)))).tolist()
    spans: list[int] = []
    done = 0
    for start, stop, topic, _, percent in marks:
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


def _best_stretches(places: Places, gains: Doubles, ends: Int64s) -> list[tuple[int, int]]:
    """Return the start and end of each text's passage in which its main topic is strongest.

    A passage has at most 300 characters, or one word. A text without words has the passage (0, 0).

    Parameters
    ----------
    places : Places
    gains : (n,) float64
        Probability of the text's main topic for each word, or 0 for words of other topics.
    ends : (texts + 1,) int64
        Index of the first word of each text, and the number of all words.
    """
    stretches = np.zeros((len(ends) - 1, 2), np.int64)
    has_words = np.diff(ends) > 0
    if not has_words.any():
        return [(0, 0)] * len(stretches)
    words = np.arange(len(gains))
    width = int(places.end.max()) + STRETCH + 1
    # Gaps between the positions of different texts keep a passage from spanning two texts.
    base = places.row * width
    first = np.minimum(np.searchsorted(base + places.begin, base + places.end - STRETCH), words)
    total = np.concatenate(([0.0], np.cumsum(gains)))
    # The gains of a text are differences of cumulative sums over all texts, so their last decimals
    # depend on the texts before. Round the gains to remove these decimals.
    gain = np.round(total[1:] - total[first], 9)
    most = np.maximum.reduceat(gain, ends[:-1][has_words])
    best = np.flatnonzero(gain == np.repeat(most, np.diff(ends)[has_words]))
    best = best[np.searchsorted(best, ends[:-1][has_words])]
    stretches[has_words] = np.stack((places.begin[first[best]], places.end[best]), axis=1)
    return [(begin, end) for begin, end in stretches.tolist()]


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


def _apart(marks: Iterator[_Mark]) -> Iterator[_Mark]:
    """Cut overlapping words: the common part belongs to the word with the likelier topic."""
    waiting: _Mark | None = None
    for mark in marks:
        begin, end, _, probability, _ = mark
        if waiting is not None:
            if begin >= waiting[1]:
                yield waiting
            elif probability <= waiting[3]:
                begin = waiting[1]
                yield waiting
            elif waiting[0] < begin:
                yield (waiting[0], begin, *waiting[2:])
        waiting = (begin, *mark[1:]) if begin < end else None
    if waiting is not None:
        yield waiting
