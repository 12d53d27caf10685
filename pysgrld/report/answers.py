"""Questions that a person asks of a run in a terminal: where a topic is, and where a word is."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.corpus.stopwords import fold
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.reading.intervals import interval
from pysgrld.reading.results import Results
from pysgrld.report.documents import Looked, look, looked_at, representatives
from pysgrld.report.groups import Groups, along_column, along_corpus, column_of, grouped

#: Share of a word's uses from which on a topic is listed.
LEAST = 0.005


class Between(NamedTuple):
    """A share or a probability, and the bounds of its interval where there is one."""

    mean: float
    low: float | None
    high: float | None


class InDocument(NamedTuple):
    """A document that surely has a topic: its row in the corpus, from 0, and the topic's share."""

    row: int
    id: str
    title: str
    share: Between


class DocumentsOfTopic(NamedTuple):
    """The documents that most surely have a topic, the surest first."""

    topic: int
    documents: list[InDocument]


class WordInTopic(NamedTuple):
    """A word in one topic.

    Attributes
    ----------
    topic : int
    share : float
        Of the word's uses.
    probability : Between
        In the topic.
    place : int
        Place among the topic's words, from 1.
    """

    topic: int
    share: float
    probability: Between
    place: int


class TopicInGroups(NamedTuple):
    """Shares of a topic in the corpus and in groups of documents, in the order of the groups."""

    topic: int
    share: Between
    groups: list[Between]

    def surely_more(self) -> list[int]:
        """Give the groups whose interval lies above the share of the corpus, the greatest first."""
        above = [
            i for i, g in enumerate(self.groups) if g.low is not None and g.low > self.share.mean
        ]
        return sorted(above, key=lambda i: -self.groups[i].mean)


def documents_of_topics(results: Results, n: int, at: int) -> list[DocumentsOfTopic]:
    """Give the documents that most surely have each topic, the heaviest topic first.

    They are ordered by the low end of the topic's share: short documents do not win by chance.

    Parameters
    ----------
    results : Results
    n : int
        Documents of each topic, at most.
    at : int
        The layer, counted from 0.

    Raises
    ------
    MissingInputError
        If the training corpus is not there.
    """
    corpus = _corpus(results)
    rows = looked_at(corpus)
    found = look(results, corpus, rows, [], at)
    best = representatives(found, results.layers[at], n)
    about = corpus.about
    listed = []
    for k in _heaviest(results, found, at):
        places = np.array(best[k], np.int64)
        ids, titles = about.ids(rows[places]), about.titles(rows[places])
        listed.append(
            DocumentsOfTopic(
                k,
                [
                    InDocument(int(rows[place]), key, title, _share_in(found, place, k))
                    for place, key, title in zip(places.tolist(), ids, titles, strict=True)
                ],
            )
        )
    return listed


def word_in_topics(results: Results, word: str, at: int) -> list[WordInTopic]:
    """Give the topics that a word is used in, the one of the greatest share of its uses first.

    Raises
    ------
    UsageError
        If the run does not know the word, naming some that are spelled alike, or topics are directions.
    """
    if results.fitted.signed:
        raise UsageError("--word: directions have entries, not shares of a word's uses")
    place = {w: i for i, w in enumerate(results.vocabulary)}
    w = place.get(word, place.get(fold(word)))
    if w is None:
        near = difflib.get_close_matches(fold(word), results.vocabulary, 3)
        hint = f"; it knows {', '.join(near)}" if near else ""
        raise UsageError(f"--word {word[:60]!r}: the run does not know this word{hint}")
    k = results.layers[at]
    phi = results.fitted.over_words(results.mean, at)[:, :k]
    weights = results.weights(at)
    even = np.full(k, 1.0 / k) if weights is None else weights
    mass = phi[w].astype(np.float64) * even
    share = mass / mass.sum()
    bounds = None
    if not results.fitted.no_mean:
        bounds = interval(results.top_word_draws(np.full((k, 1), w), at))
    found = [
        WordInTopic(
            int(i),
            float(share[i]),
            Between(
                float(phi[w, i]),
                None if bounds is None else float(bounds.low[i, 0]),
                None if bounds is None else float(bounds.high[i, 0]),
            ),
            int((phi[:, i] > phi[w, i]).sum()) + 1,
        )
        for i in np.argsort(-share, kind="stable")
    ]
    return [each for each in found if each.share >= LEAST]


def topics_in_groups(
    results: Results, by: str | None, along: str | None, at: int
) -> tuple[Groups, list[TopicInGroups]]:
    """Give the shares of topics in groups of documents, the heaviest topic first.

    Parameters
    ----------
    results : Results
    by : str or None
        Column of the corpus whose values are the groups.
    along : str or None
        Column of dates or numbers, in order; "corpus" for the order of the documents.
    at : int
        The layer, counted from 0.

    Raises
    ------
    MissingInputError
        If the training corpus is not there.
    UsageError
        If there is no such column, or it has no order.
    """
    corpus = _corpus(results)
    rows, about = looked_at(corpus), corpus.about
    if by is not None:
        groups = grouped(column_of(about, by, "--by"), about.values(by, rows))
    elif along is None or along == "corpus":
        groups = along_corpus(about, rows)
    else:
        groups = along_column(about, along, rows)
    found = look(results, corpus, rows, [groups.grouping], at)
    (shares,) = found.groups
    known = found.draws > 1
    return groups, [
        TopicInGroups(
            k,
            _between(found.weights, k, 0, known=known),
            [_between(shares, k, i, known=known) for i in range(len(groups.levels))],
        )
        for k in _heaviest(results, found, at)
    ]


def plain(value: Any) -> Any:
    """Give plain values of these answers, for JSON."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(part) for name, part in value._asdict().items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def _corpus(results: Results) -> Corpus:
    corpus = results.training_corpus()
    if corpus is None:
        raise MissingInputError(f"{results.gone}: nothing can be told of its documents")
    return corpus


def _heaviest(results: Results, found: Looked, at: int) -> list[int]:
    weights = found.weights.mean[:, 0]
    shown: Sequence[int] = results.fitted.shown(at).tolist()
    return sorted(shown, key=lambda k: (-weights[k], k))


def _share_in(found: Looked, place: int, k: int) -> Between:
    """Give the share of a topic in a document of those looked at."""
    t = int(np.flatnonzero(found.top[place] == k)[0])
    mean, low, high = (float(part[place, t]) for part in (found.mean, found.low, found.high))
    return Between(mean, low, high) if found.draws > 1 else Between(mean, None, None)


def _between(shares: Any, k: int, group: int, *, known: bool) -> Between:
    low, high = float(shares.low[k, group]), float(shares.high[k, group])
    return Between(float(shares.mean[k, group]), low if known else None, high if known else None)
