"""Documents shown on the page: their topics, and words coloured by likeliest topic."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pysgrld.corpus.reading import compiled_pattern
from pysgrld.evaluate.reader import DRAW_SWEEPS, NEXT_DRAW_SWEEPS
from pysgrld.reading.repeated_words import WIDENED
from pysgrld.report.document_pass import BEST, DRAWS, HAS, SURE, TOPICS
from pysgrld.report.page_file import LEVEL, Packed, compact
from pysgrld.report.reported_run import Definition, ReportedRun, Section
from pysgrld.report.texts_and_metadata import document_names
from pysgrld.report.tinted_texts import KnownWords, tinted, words_by_count
from pysgrld.types import Doubles, Int64s

#: Maximum size in bytes of a page's documents, unless the user sets their number.
ROOM = 2_000_000
#: Number of documents per file of a page that is a folder.
IN_FILE = 256
#: Number of titles per file of a page that is a folder.
TITLES = 20_480
#: Minimum number of documents fetched in one block.
_TOGETHER = 64
#: Maximum number of documents fetched in one block.
_MOST = 1024
#: A topic is listed for a document if the topic's share of the document is at least this number.
LEAST = 0.005
#: Maximum number of characters of a title or an id.
TITLE = 200


class ShownDocuments(Section):
    """Documents on the page: the best documents of each topic, then evenly spaced documents.

    The page lists them in the order of the corpus.
    """

    def __init__(self, run: ReportedRun) -> None:
        super().__init__(run)
        self._topics = run.document_topics

    def main(self) -> dict[str, Any]:
        """Choose documents until the page is full; return their rows and main topics."""
        run, loadings = self.run, self._topics
        self._records: list[dict[str, Any]] = []
        self._json: list[bytes] = []
        if loadings is None or run.corpus is None or run.about is None:
            return {"docs": None, "docs_of": None, "texts": "none", "folder": None}
        self._texts = "none" if not run.asked.text else "kept" if run.about.has_texts else "words"
        reading = run.results.reading_options()
        vocabulary = run.results.vocabulary if self._texts == "kept" else ()
        self._words = KnownWords(
            {word: i for i, word in enumerate(vocabulary)},
            compiled_pattern(reading.token_pattern),
            keep_links=bool(reading.keep_links),
        )
        best = loadings.representatives()
        turn = in_turn(best, run.shown, len(run.rows))
        most = len(turn) if run.asked.documents is None else run.asked.documents
        packer, size, chosen, begin = zlib.compressobj(LEVEL), 0, {}, 0
        while begin < min(most, len(turn)) and size * 4 // 3 <= ROOM:
            # Fetch as many documents at a time as are expected to fill the page, because each fetch
            # decompresses blocks of stored texts again.
            fits = (ROOM * 3 // 4 - size) * begin // size if size else 0
            number = min(max(fits, _TOGETHER), _MOST)
            block = turn[begin : min(begin + number, most)]
            begin += number
            for place, record in zip(block, self._written(block), strict=True):
                text = compact(record)
                # Unless the user set a number, add documents until the page (in base64) is full.
                if run.asked.documents is None:
                    size += len(packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH))
                if size * 4 // 3 <= ROOM:
                    chosen[place] = record, text
        places = sorted(chosen)
        index = {place: i for i, place in enumerate(places)}
        self._records = [chosen[place][0] for place in places]
        self._json = [chosen[place][1] for place in places]
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
        """Yield records of documents, given their indices among the analysed documents."""
        loadings = self._topics
        assert loadings is not None
        theta = loadings.theta[list(places)].astype(np.float64)
        yield from self._records_of(self.run.rows[list(places)], theta, self._listed(places))

    def _listed(self, places: Sequence[int]) -> list[list[list[Any]]]:
        """Return the main topics of given documents: number, mean share and interval of each."""
        loadings = self._topics
        assert loadings is not None
        rows = list(places)
        parts = [loadings.top[rows].tolist()]
        for values in (loadings.mean, loadings.low, loadings.high):
            parts.append(np.round(values[rows].astype(np.float64), 4).tolist())
        # `LEAST` is rounded to single precision, like the shares.
        numbers = (loadings.mean[rows] >= np.float32(LEAST)).sum(axis=1).tolist()
        return [
            [*map(list, zip(*(part[:number] for part in row), strict=True))]
            for number, *row in zip(numbers, *parts, strict=True)
        ]

    def _records_of(
        self, rows: Int64s, thetas: Doubles, listed: Sequence[list[list[Any]]]
    ) -> Iterator[dict[str, Any]]:
        """Yield records of corpus documents, given their proportions and main topics."""
        run = self.run
        assert run.corpus is not None
        assert run.about is not None
        texts = run.about.texts(rows) if self._texts == "kept" else [None] * len(rows)
        with_text = np.array([text is not None for text in texts], np.bool_)
        shown = tinted(
            [text for text in texts if text is not None], self._words, run.phi, thetas[with_text]
        )
        without = ~with_text if self._texts != "none" else np.zeros(len(rows), np.bool_)
        words = words_by_count(
            run.corpus.take(rows[without]), run.phi, thetas[without], run.results.vocabulary
        )
        for i, shares in enumerate(listed):
            record: dict[str, Any] = {"theta": shares}
            if with_text[i]:
                record |= next(shown)._asdict()
            else:
                record["words"] = next(words) if without[i] else []
            yield record

    def of_topic(self, k: int) -> dict[str, Any]:
        """Return the number of documents with at least 10 % of a topic, and its best documents."""
        if self._topics is None:
            return {"docs": None, "rep": []}
        return {"docs": int(self._topics.counts[k]), "rep": self._best[k]}

    def blocks(self) -> dict[str, Packed]:
        """Return each document's topics and words."""
        if self._topics is None:
            return {}
        return {"docs": Packed().add("json", "utf8", b"[%b]" % b",".join(self._json))}

    def files(self) -> Iterator[tuple[str, bytes, int]]:
        """Yield files with `IN_FILE` documents each, and files with `TITLES` titles each.

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
            drawn = place >= 0
            thetas[drawn] = self._topics.theta[place[drawn]]
            top = np.argsort(-thetas, axis=1, kind="stable")[:, :TOPICS]
            shares = np.round(np.take_along_axis(thetas, top, axis=1), 4).tolist()
            of_drawn = iter(self._listed(place[drawn].tolist()))
            listed = [
                next(of_drawn)
                if is_drawn
                else [[k, x, None, None] for k, x in zip(*of_one, strict=True) if x >= LEAST]
                for is_drawn, *of_one in zip(drawn.tolist(), top.tolist(), shares, strict=True)
            ]
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
        share = "Expected share of the topic in the document, given the topics shown."
        if self.run.draws > 1:
            share = (
                f"Mean of {DRAWS} draws of the document's topics, each with another draw of all "
                f"topics ({DRAW_SWEEPS} Gibbs sweeps for the first draw, {NEXT_DRAW_SWEEPS} for "
                "each further draw). Intervals include the uncertainty about the topics."
            )
            if not (self.run.results.these or self.run.results.fitted.signed):
                share += f" {WIDENED}"
        return [
            Definition("Share of a document", share),
            Definition(
                "Documents that have a topic",
                f"Documents with a share of {100 * HAS:.0f} % or more. The list has the "
                "documents in which the lower end of the share's interval is at least "
                f"{100 * SURE:.0f} %, ordered by this lower end.",
            ),
            Definition(
                "Tinted words",
                "Each word has the colour of its most likely topic: the topic with the greatest "
                "product of the topic's share in the document and the word's probability in the "
                "topic. Stronger colours are more certain.",
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
