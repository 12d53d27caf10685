"""Documents shown on the page: their topics, and words coloured by likeliest topic."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus import characters
from pysgrld.corpus.characters import Token, normal
from pysgrld.corpus.links import without_links
from pysgrld.corpus.reading import compiled_pattern
from pysgrld.evaluate.reader import DRAW_SWEEPS, NEXT_DRAW_SWEEPS
from pysgrld.options.spelling import fold
from pysgrld.reading.repeated_words import WIDENED
from pysgrld.report.document_pass import BEST, DRAWS, HAS, SURE, TOPICS
from pysgrld.report.page_file import LEVEL, Packed, compact
from pysgrld.report.reported_run import Definition, ReportedRun, Section
from pysgrld.report.texts_and_metadata import document_names
from pysgrld.types import Doubles, Floats, Int64s

#: Maximum size in bytes of the documents on a page, unless the user gives their number.
ROOM = 2_000_000
#: Number of documents, and of titles, per file next to a page that is a folder.
IN_FILE, TITLES = 256, 20_480
#: Number of documents fetched in one block.
_TOGETHER = 64
#: Topics with a smaller share of a document are not listed for it.
LEAST = 0.005
#: Maximum number of characters of a title or an id.
TITLE = 200
#: Maximum number of characters shown of a text and of its best stretch (the one with most of the
#: main topic), and maximum number of words shown of a document without text.
LONGEST, STRETCH, WORDS = 20_000, 300, 60
#: Blanks between words, and the distance in characters within which a long text is cut at a blank.
#: If no blank is so near, the text is cut anywhere.
_GAP, _NEAR = re.compile(r"\s+"), 40


class ShownDocuments(Section):
    """Documents on the page: those in which a topic surely occurs, then evenly spaced others.

    The page lists them in the order of the corpus.
    """

    def __init__(self, run: ReportedRun) -> None:
        super().__init__(run)
        self._topics = run.document_topics

    def main(self) -> dict[str, Any]:
        """Choose documents until the page is full; return their rows and main topics."""
        run, loadings = self.run, self._topics
        self._records: list[dict[str, Any]] = []
        if loadings is None or run.corpus is None or run.about is None:
            return {"docs": None, "docs_of": None, "texts": "none", "folder": None}
        self._texts = "none" if not run.asked.text else "kept" if run.about.has_texts else "words"
        reading = run.results.reading_options()
        self._pattern = compiled_pattern(reading.token_pattern)
        self._keep_links = bool(reading.keep_links)
        vocabulary = run.results.vocabulary if self._texts == "kept" else ()
        self._ids = {word: i for i, word in enumerate(vocabulary)}
        best = loadings.representatives()
        turn = in_turn(best, run.shown, len(run.rows))
        most = len(turn) if run.asked.documents is None else run.asked.documents
        packer, size, chosen = zlib.compressobj(LEVEL), 0, {}
        for begin in range(0, min(most, len(turn)), _TOGETHER):
            if size * 4 // 3 > ROOM:
                break
            block = turn[begin : min(begin + _TOGETHER, most)]
            for place, record in zip(block, self._written(block), strict=True):
                if run.asked.documents is None:  # add documents until the page is full, in base64
                    packed = packer.compress(compact(record)) + packer.flush(zlib.Z_SYNC_FLUSH)
                    size += len(packed)
                if size * 4 // 3 <= ROOM:
                    chosen[place] = record
        places = sorted(chosen)
        index = {place: i for i, place in enumerate(places)}
        self._records = [chosen[place] for place in places]
        self._best = [[index[place] for place in row if place in index] for row in best]
        rows = run.rows[places]
        held = np.isin(rows, run.results.training_documents(run.corpus).without)
        titles = document_names(run.about, rows, run.noun, with_texts=run.asked.text)
        names = {"id": run.about.ids(rows), "title": titles}
        docs = {
            "of": run.corpus.documents,
            "row": rows.tolist(),
            "tokens": loadings.lengths[places].tolist(),
            "held": held.astype(int).tolist(),
            "main": [
                [x for k, share, *_ in record["theta"][:3] for x in (k, share)]
                for record in self._records
            ],
            "whole": self._texts == "kept",
        }
        folder = None
        if run.asked.folder:
            folder = {"documents": run.corpus.documents, "each": IN_FILE, "titles": TITLES}
        for name, values in names.items():
            docs[name] = [_cut_name(x) for x in values]
        return {"docs": docs, "docs_of": len(run.rows), "texts": self._texts, "folder": folder}

    def _written(self, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield records of the given documents, which are indices among the drawn documents."""
        loadings = self._topics
        assert loadings is not None
        theta = loadings.theta[list(places)].astype(np.float64)
        listed = [self._listed(place) for place in places]
        yield from self._records_of(self.run.rows[list(places)], theta, listed)

    def _listed(self, place: int) -> list[list[Any]]:
        """Return the number, mean share and bounds of each main topic of a drawn document."""
        loadings = self._topics
        assert loadings is not None
        parts = (part[place] for part in (loadings.top, loadings.mean, loadings.low, loadings.high))
        return [
            [int(k), *(round(float(x), 4) for x in (mean, low, high))]
            for k, mean, low, high in zip(*parts, strict=True)
            if mean >= LEAST
        ]

    def _records_of(
        self, rows: Int64s, thetas: Doubles, listed: Sequence[list[list[Any]]]
    ) -> Iterator[dict[str, Any]]:
        """Yield records of the given documents of the corpus, with their proportions given."""
        run = self.run
        assert run.corpus is not None
        assert run.about is not None
        texts = run.about.texts(rows) if self._texts == "kept" else [None] * len(rows)
        documents = run.corpus.take(rows)
        for i, (theta, text) in enumerate(zip(thetas, texts, strict=True)):
            record: dict[str, Any] = {"theta": listed[i]}
            if self._texts == "none":
                record["words"] = []
            elif text is not None:
                how = self._pattern, self._ids, run.phi, theta
                record |= tinted(text, *how, keep_links=self._keep_links)._asdict()
            else:
                begin, end = documents.indptr[i : i + 2]
                words = documents.indices[begin:end].astype(np.int64)
                counts = documents.counts[begin:end].astype(np.int64)
                likely = likeliest(run.phi, words, theta)
                record["words"] = by_count(words, counts, likely, run.results.vocabulary)
            yield record

    def of_topic(self, k: int) -> dict[str, Any]:
        """Return the number of documents with at least 10 % of a topic, and the surest of them."""
        if self._topics is None:
            return {"docs": None, "rep": []}
        return {"docs": int(self._topics.counts[k]), "rep": self._best[k]}

    def blocks(self) -> dict[str, Packed]:
        """Return each document's topics and words."""
        if self._topics is None:
            return {}
        return {"docs": Packed().add("json", "utf8", compact(self._records))}

    def files(self) -> Iterator[tuple[str, bytes, int]]:
        """Yield files of all documents, `IN_FILE` documents each, and of titles, `TITLES` each.

        Documents without draws have mean proportions under the mean topics, without intervals.
        """
        run = self.run
        if self._topics is None or run.corpus is None or run.about is None:
            return
        training, titles = run.results.training_documents(run.corpus).without, []
        for first in range(0, run.corpus.documents, IN_FILE):
            rows = np.arange(first, min(first + IN_FILE, run.corpus.documents))
            place = np.searchsorted(run.rows, rows)
            place[run.rows[np.minimum(place, len(run.rows) - 1)] != rows] = -1
            documents = run.corpus.take(rows)
            thetas = run.results.proportions(documents, rows, run.at)
            listed = []
            for i, position in enumerate(place.tolist()):
                if position >= 0:
                    thetas[i] = self._topics.theta[position]
                    listed.append(self._listed(position))
                    continue
                top = np.argsort(-thetas[i], kind="stable")[:TOPICS]
                shares = [(int(k), round(float(thetas[i, k]), 4)) for k in top]
                listed.append([[k, x, None, None] for k, x in shares if x >= LEAST])
            names = [
                _cut_name(name)
                for name in document_names(run.about, rows, run.noun, with_texts=run.asked.text)
            ]
            ids = [_cut_name(name) for name in run.about.ids(rows)]
            held = np.isin(rows, training).astype(int).tolist()
            known = zip(names, ids, documents.lengths.tolist(), held, strict=True)
            records = [
                {"title": title, "id": document_id, "tokens": tokens, "held": out} | record
                for (title, document_id, tokens, out), record in zip(
                    known, self._records_of(rows, thetas, listed), strict=True
                )
            ]
            done = first + len(rows)
            yield f"documents/{first // IN_FILE:06}.bin", zlib.compress(compact(records)), done
            titles += names
            while len(titles) >= TITLES or (titles and done == run.corpus.documents):
                number = (done - len(titles)) // TITLES
                yield f"titles/{number:06}.bin", zlib.compress(compact(titles[:TITLES])), done
                titles = titles[TITLES:]

    def plain(self, main: Mapping[str, Any]) -> dict[str, Any]:
        """Return the documents with their topics and words."""
        return {} if main["docs"] is None else {"docs": main["docs"] | {"records": self._records}}

    def definitions(self) -> list[Definition]:
        """Define a document's shares, when a topic occurs in a document, and the colours of words."""
        if self._topics is None:
            return []
        share = "Its expected share, under the topics that are shown."
        if self.run.draws > 1:
            share = (
                f"Mean of {DRAWS} draws of the document's topics, each given one draw of the "
                f"topics: the last of {DRAW_SWEEPS} Gibbs sweeps for the first, of "
                f"{NEXT_DRAW_SWEEPS} for each further one. Intervals include the uncertainty "
                "about the topics."
            )
            if not (self.run.results.these or self.run.results.fitted.signed):
                share += f" {WIDENED}"
        return [
            Definition("Share of a document", share),
            Definition(
                "Documents that have it",
                f"Documents with a share of {100 * HAS:.0f} % or more. The list has the documents "
                f"with the greatest low end of the share, if it is at least {100 * SURE:.0f} %.",
            ),
            Definition(
                "Tinted words",
                "Each word's likeliest topic: the greatest share of the document times "
                "probability of the word; stronger the surer.",
            ),
        ]


def _cut_name(name: str) -> str:
    return name if len(name) <= TITLE else f"{name[:TITLE]}..."


def in_turn(best: list[list[int]], order: Sequence[int], n: int) -> list[int]:
    """Return the indices 0 to n - 1 in the order in which documents are chosen for the page.

    First come the best document of each topic, then the second best, and so on. The others follow
    in an order in which the first m of them are about evenly spaced, for any m.
    """
    ranked = [best[k][i] for i in range(BEST) for k in order if i < len(best[k])]
    bits = max(1, (n - 1).bit_length())
    spaced = sorted(range(n), key=lambda i: int(f"{i:0{bits}b}"[::-1], 2))
    return list(dict.fromkeys([*ranked, *spaced]))


# ---- words with their likeliest topics


class Likeliest(NamedTuple):
    """The likeliest topic of each word in a document, and its probability."""

    topics: Int64s
    probability: Doubles


def likeliest(phi: Floats, words: Int64s, theta: Doubles) -> Likeliest:
    """Return each word's topic with the greatest theta_k phi_kw, and its fraction of the sum.

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
    return Likeliest(topics, weight[np.arange(len(words)), topics] / total)


def by_count(
    words: Int64s, counts: Int64s, found: Likeliest, vocabulary: tuple[str, ...]
) -> list[list[Any]]:
    """Return a document's most frequent words, each with its count, topic and percentage."""
    order = np.lexsort((words, -counts))[:WORDS]
    return [
        [vocabulary[words[i]], int(counts[i]), int(found.topics[i]), _percent(found.probability[i])]
        for i in order.tolist()
    ]


def _percent(p: float) -> int:
    """Round a probability to 5 %, as finer tints look the same but compress worse."""
    return 5 * round(20 * float(p))


def tokens(text: str, pattern: re.Pattern[str] | None) -> Iterator[Token]:
    """Yield the tokens of a text in normal form C, as the corpus counts them.

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
    text: str,
    pattern: re.Pattern[str] | None,
    ids: Mapping[str, int],
    phi: Floats,
    theta: Doubles,
    *,
    keep_links: bool = False,
) -> TintedText:
    """Find the likeliest topic of each word in a text; shorten a long text around its best part.

    Parameters
    ----------
    text : str
    pattern : compiled regular expression or None
        Matches a token; None for the built-in rule.
    ids : mapping of str to int
        Ids of the run's words.
    phi : (V, K or more)
    theta : (K,)
        Mean proportions of the document.
    keep_links : bool
        Whether words in links, addresses and the like are coloured too.
    """
    text = normal(text)
    read = text if keep_links else without_links(text)
    known_tokens = [t for t in tokens(read, pattern) if t.word in ids]
    words, where = np.unique([ids[t.word] for t in known_tokens] or [0], return_inverse=True)
    likely = likeliest(phi, words, theta)
    topics, sure = likely.topics[where], likely.probability[where]
    gain = np.where(topics == int(np.argmax(theta)), sure, 0.0)[: len(known_tokens)]
    first, last = _best_stretch(known_tokens, gain)
    begin, end = _cut(text, first, last)
    # number of UTF-16 units before each shown character
    codes = np.frombuffer(text[begin:end].encode("utf-32-le", "surrogatepass"), "<u4")
    units = np.concatenate(([0], np.cumsum(1 + (codes > 0xFFFF)))).tolist()
    spans, done = [], 0
    for token, topic, p in _apart(known_tokens, topics.tolist(), sure.tolist()):
        if begin <= token.begin and token.end <= end:
            begin_unit, stop = units[token.begin - begin], units[token.end - begin]
            spans += [begin_unit - done, stop - begin_unit, topic, _percent(p)]
            done = stop
    return TintedText(
        text[begin:end],
        spans,
        (units[max(first, begin) - begin], units[min(last, end) - begin]),
        (begin, len(text) - end) if end - begin < len(text) else None,
    )


def _best_stretch(known_tokens: list[Token], gain: Doubles) -> tuple[int, int]:
    """Return the start and end of the part of at most 300 characters with the greatest gain."""
    best, stretch, first, total = -1.0, (0, 0), 0, 0.0
    for last, token in enumerate(known_tokens):
        total += gain[last]
        while token.end - known_tokens[first].begin > STRETCH and first < last:
            total -= gain[first]
            first += 1
        if total > best + 1e-9:
            best, stretch = total, (known_tokens[first].begin, token.end)
    return stretch


def _cut(text: str, first: int, last: int) -> tuple[int, int]:
    """Return the start and end of the text to show, 20,000 characters around the given part."""
    begin = max(0, min((first + last - LONGEST) // 2, len(text) - LONGEST))
    end = min(len(text), begin + LONGEST)
    if begin and (gap := _GAP.search(text, begin - 1, begin + _NEAR)):
        begin = min(gap.end(), first)
    if end < len(text) and (gaps := list(_GAP.finditer(text, end - _NEAR, end + 1))):
        end = max(gaps[-1].start(), last)
    return begin, end


def _apart(
    known_tokens: list[Token], topics: list[int], sure: list[float]
) -> Iterator[tuple[Token, int, float]]:
    """Yield tokens that do not overlap; of two overlapping tokens, the surer one stays whole."""
    waiting: tuple[Token, int, float] | None = None
    for token, topic, p in zip(
        known_tokens, topics[: len(known_tokens)], sure[: len(known_tokens)], strict=True
    ):
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
