"""Answers from a run: the documents of a topic, the topics of a word, and shares in groups."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.corpus.about.stored import About
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.options.spelling import fold
from pysgrld.reading.results import Results
from pysgrld.report.document_pass import (
    DocumentTopics,
    Shares,
    TopicShares,
    looked_at,
    read_documents,
)
from pysgrld.report.population import EstimatedShares, PopulationShares
from pysgrld.report.sections.groups import Groups, along_column, along_corpus, by_columns, clustered
from pysgrld.report.topic_words import heaviest
from pysgrld.types import Array

#: Maximum number of characters of an excerpt of a document's text.
EXCERPT = 200
#: An excerpt is chosen from the first part of a text, which has at most this number of characters.
_READ = 100_000
#: Two sums of weights are regarded as equal if they differ by at most this number, because sums
#: have rounding errors.
_ROUNDING = 1e-9
#: Similar documents are listed with their common topics. A topic is named only if its contribution
#: to the similarity is at least this number.
_COMMON = 0.05
#: Pattern of a word in a text.
_WORD = re.compile(r"\w+")
#: A piece of a long text has an id with a suffix such as #2. This is the suffix's pattern.
_PIECE = re.compile(r"#\d+$")
#: A topic is listed for a word if the topic has at least this fraction of the word's occurrences.
LEAST = 0.005


class Between(NamedTuple):
    """Estimate of a share or probability, and the bounds of its interval if they are known."""

    mean: float
    low: float | None
    high: float | None


class InDocument(NamedTuple):
    """Document in which a topic occurs, with the topic's share and an excerpt of the text.

    ``row`` is the position of the document in the corpus, counted from 0.

    The excerpt is the part of the document's text with the most probable words of the topic; it is
    "" if the document has no text.
    """

    row: int
    id: str
    title: str
    share: Between
    excerpt: str


class DocumentsOfTopic(NamedTuple):
    """Documents of a topic, sorted by decreasing lower bound of the topic's share."""

    topic: int
    documents: list[InDocument]


class SimilarDocument(NamedTuple):
    """A document whose topic proportions are similar to those of a given document.

    Attributes
    ----------
    row : int
        Position of the document in the corpus, from 0.
    id, title : str
    similarity : float
        Sum over topics of sqrt(p q), the Bhattacharyya coefficient of the mean proportions p and q
        of both documents. 1: equal proportions; 0: no topic in common.
    topics : list of int
        Topics that contribute most to the similarity, at most three.
    text : str
        Start of the text; "" if the document has no text.
    """

    row: int
    id: str
    title: str
    similarity: float
    topics: list[int]
    text: str


class SimilarDocuments(NamedTuple):
    """Documents that are most similar to a given document, and the number of compared documents.

    Attributes
    ----------
    documents : list of SimilarDocument
    compared, total : int
        Number of documents that were compared, and of all other documents and the document itself.
    columns : list of str
        Columns in which another document has the number by which the document was chosen, if
        documents have no ids but their row numbers.
    """

    documents: list[SimilarDocument]
    compared: int
    total: int
    columns: list[str]


class WordInTopic(NamedTuple):
    """One topic in which a given word occurs, with the word's probability and rank in the topic.

    Attributes
    ----------
    topic : int
    share : float
        Fraction of the word's uses that are in the topic.
    probability : Between
        Probability of the word in the topic.
    place : int
        Rank of the word among the topic's words, from 1.
    """

    topic: int
    share: float
    probability: Between
    place: int


class InGroup(NamedTuple):
    """Share of a topic in a group of documents, compared with its share in the other documents.

    Attributes
    ----------
    share : Between
        Share of the topic in the group's documents. The interval holds for further documents like
        these.
    more : Between
        Difference from the topic's share in the other documents.
    surely : int or None
        1 if the share is surely greater, -1 if surely smaller, else 0; None without intervals.
    """

    share: Between
    more: Between
    surely: int | None


class SharesInGroup(NamedTuple):
    """Shares of a topic in a group of documents: mean over documents, and fraction of all words."""

    documents: InGroup
    words: InGroup


class AllShares(NamedTuple):
    """Share of a topic in the corpus: mean over documents, and fraction of all words."""

    documents: Between
    words: Between


class TopicInGroups(NamedTuple):
    """Share of a topic in the corpus and in each group of documents."""

    topic: int
    share: AllShares
    groups: list[SharesInGroup]

    def surely_more(self) -> list[int]:
        """Return the groups with a significantly higher share of the topic than other documents.

        Groups are indices into ``groups``, sorted by decreasing share.
        """
        above = [i for i, g in enumerate(self.groups) if g.documents.surely == 1]
        return sorted(above, key=lambda i: -self.groups[i].documents.share.mean)


def documents_of_topics(
    results: Results, n: int, layer: int, only: int | None = None
) -> list[DocumentsOfTopic]:
    """Return the documents with the greatest shares of each topic; sort topics by frequency.

    The documents of a topic are sorted by the lower bound of its share, so that short documents do
    not come first by chance.

    Parameters
    ----------
    results : Results
    n : int
        Maximum number of documents of each topic.
    layer : int
        The layer, counted from 0.
    only : int, optional
        The topic to describe; by default all topics are described.

    Raises
    ------
    MissingInputError
        If the training corpus is missing.
    UsageError
        If there is no such topic.
    """
    described = results.fitted.shown(layer)
    if only is not None and only not in described:
        raise UsageError(f"--topic {only}: there is no such topic; 'sgmc topics' lists the numbers")
    corpus = _corpus(results)
    rows, about = looked_at(corpus), corpus.about
    weights, loadings = TopicShares.in_training(results, corpus, rows), DocumentTopics()
    draws = read_documents(results, corpus, rows, layer, [weights, loadings])
    best = loadings.representatives(n)
    phi = np.abs(results.phi(layer))
    of_uses = phi / np.maximum(phi.sum(1, keepdims=True), np.finfo(np.float32).tiny)
    listed = []
    shares = weights.shares.about(results.weights(layer))
    if only is not None:
        described = np.array([only])
    for topic in heaviest(described, shares.mean[:, 0]):
        places = np.array(best[topic], np.int64)
        documents = []
        for place, key, title in zip(
            places.tolist(), about.ids(rows[places]), about.titles(rows[places]), strict=True
        ):
            column = int(np.flatnonzero(loadings.top[place] == topic)[0])
            mean, low, high = (
                float(x[place, column]) for x in (loadings.mean, loadings.low, loadings.high)
            )
            share = Between(mean, low, high) if draws > 1 else Between(mean, None, None)
            documents.append(InDocument(int(rows[place]), key, title, share, ""))
        texts = about.texts(rows[places])
        if any(texts):
            uses = dict(zip(results.vocabulary, of_uses[:, topic].tolist(), strict=True))
            documents = [
                document._replace(excerpt=excerpt_of(text or "", uses))
                for document, text in zip(documents, texts, strict=True)
            ]
        listed.append(DocumentsOfTopic(topic, documents))
    return listed


def documents_like(results: Results, key: str, n: int, layer: int) -> SimilarDocuments:
    """Return the documents whose topic proportions are most similar to those of a document.

    Parameters
    ----------
    results : Results
    key : str
        Id or title of the document, or ``COLUMN=VALUE`` with a value that no other document has; or
        the id or title of a text that was split into documents: then whole texts are compared, by
        the mean proportions of their pieces.
    n : int
        Maximum number of documents to return.
    layer : int
        The layer, counted from 0.

    Raises
    ------
    MissingInputError
        If the training corpus is missing.
    UsageError
        If no document has the id, title or value, or several documents have it.
    """
    corpus = _corpus(results)
    about, names = corpus.about, corpus.about.ids(np.arange(corpus.documents))
    chosen, whole = [row for row, name in enumerate(names) if name == key], False
    column, _, value = key.partition("=")
    of_column = not chosen and column in {each.name for each in about.columns}
    # Columns need not be read if the user named a document by its id.
    homes = {}
    if not (chosen and about.has_ids):
        homes = _documents_by_column(about, value if of_column else key)
    if of_column:
        chosen = homes.pop(column, [])
    elif not chosen:
        names = [_PIECE.sub("", name) for name in names]
        chosen = [row for row, name in enumerate(names) if name == key]
        whole = bool(chosen)
        if not chosen:  # The user may have given a title instead of an id.
            own_titles = about.own_titles(np.arange(corpus.documents))
            chosen = [row for row, title in enumerate(own_titles) if title == key]
            if len(chosen) > 1 and len({names[row] for row in chosen}) == 1:
                key, whole = names[chosen[0]], True
    if len(chosen) != 1 and not whole:
        number = f"{len(chosen)} training documents have" if chosen else "no training document has"
        advice = "'sgmc export' writes the ids of all documents"
        if not chosen and homes and not of_column:
            column = next(iter(homes))
            advice = f"column {column} has this value: --like {shlex.quote(f'{column}={key}')}"
        raise UsageError(f"--like {key[:60]!r}: {number} this id or title; {advice}")
    rows = np.union1d(looked_at(corpus), chosen)
    loadings = DocumentTopics()
    read_documents(results, corpus, rows, layer, [loadings])
    theta = loadings.theta.astype(np.float32)
    titles = about.titles(rows)
    if whole:  # A text that was split has the mean proportions of its pieces.
        labels, first, text = np.unique(
            [names[row] for row in rows], return_index=True, return_inverse=True
        )
        sums = np.zeros((len(labels), theta.shape[1]), np.float32)
        np.add.at(sums, text, theta)
        theta = (sums / np.bincount(text)[:, None]).astype(np.float32)
        rows = rows[first]
        titles = [_PIECE.sub("", titles[row]) for row in first]
        chosen = [int(rows[np.flatnonzero(labels == key)[0]])]
    place_of_chosen = int(np.flatnonzero(rows == chosen[0])[0])
    similar: list[SimilarDocument] = []
    for place, similarity, common in most_similar(theta, theta[place_of_chosen], n + 1):
        if place != place_of_chosen and len(similar) < n:
            row = int(rows[place])
            similar.append(SimilarDocument(row, names[row], titles[place], similarity, common, ""))
    texts = about.texts([document.row for document in similar])
    similar = [
        document._replace(text=" ".join((text or "")[:_READ].split())[:EXCERPT])
        for document, text in zip(similar, texts, strict=True)
    ]
    total = len(set(names)) if whole else corpus.documents
    of_others = [name for name, places in homes.items() if len(places) == 1 and places != chosen]
    if of_column or about.has_ids:
        of_others = []
    return SimilarDocuments(similar, len(rows) - 1, total, of_others)


def _spell(value: Any) -> str:
    """Return a column's value as a user types it: 1990, not 1990.0, for a whole number."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _documents_by_column(about: About, value: str) -> dict[str, list[int]]:
    """Return, for each column that contains a value, the rows of the documents with this value."""
    rows = np.arange(about.documents)
    places = {}
    for column in about.columns:
        values = about.values(column.name, rows)
        matches = [
            row for row, each in enumerate(values) if each is not None and _spell(each) == value
        ]
        if matches:
            places[column.name] = matches
    return places


def most_similar(theta: Array, chosen: Array, n: int) -> list[tuple[int, float, list[int]]]:
    """Return the n rows of proportions that are most similar to given proportions.

    Parameters
    ----------
    theta : (rows, K) float
    chosen : (K,) float
    n : int

    Returns
    -------
    list of (int, float, list of int)
        For each row its place, its similarity and at most three topics, as in `SimilarDocument`.
    """
    roots, of_chosen = np.sqrt(theta), np.sqrt(chosen)
    similarity = np.clip(roots @ of_chosen, 0.0, 1.0)
    similar = []
    for place in np.argsort(-similarity, kind="stable")[:n].tolist():
        parts = roots[place] * of_chosen
        topics = np.argsort(-parts, kind="stable")[:3]
        common = [int(topic) for topic in topics if parts[topic] >= _COMMON]
        similar.append((place, float(similarity[place]), common))
    return similar


def excerpt_of(text: str, weights: Mapping[str, float], letters: int = EXCERPT) -> str:
    """Return the passage of a text whose words have the greatest sum of weights.

    Parameters
    ----------
    text : str
    weights : mapping of str to float
        Weights of words in lower case; all other words have weight 0.
    letters : int
        Maximum number of characters of the passage.
    """
    line = " ".join(text[:_READ].split())
    words = [
        (match.start(), match.end(), weights.get(fold(match[0]), 0.0))
        for match in _WORD.finditer(line)
    ]
    first, total, best, stretch = 0, 0.0, -1.0, (0, min(letters, len(line)))
    for start, end, weight in words:
        total += weight
        while end - words[first][0] > letters and words[first][0] < start:
            total -= words[first][2]
            first += 1
        if total > best + _ROUNDING:
            best, stretch = total, (words[first][0], end)
    start, end = stretch
    end = max([end, *(e for s, e, _ in words if s >= end and e - start <= letters)])
    end = min(end, start + letters)
    return f"{'... ' if start else ''}{line[start:end]}{' ...' if end < len(line) else ''}"


def word_in_topics(results: Results, word: str, layer: int) -> list[WordInTopic]:
    """Return the topics in which a word occurs, sorted by decreasing share of the occurrences.

    Parameters
    ----------
    results : Results
        The open run.
    word : str
        The word as typed; it is folded if the vocabulary lacks it.
    layer : int
        Layer of topics, from 0.

    Returns
    -------
    list of WordInTopic
        Topics that have at least the fraction `LEAST` of the word's occurrences.

    Raises
    ------
    UsageError
        If the vocabulary lacks the word (the message names words of similar spelling), or topics
        are directions.
    """
    if results.fitted.signed:
        raise UsageError(
            "--word does not apply to this model, because its topics are directions, not "
            "distributions over words; leave out --word"
        )
    place = {w: i for i, w in enumerate(results.vocabulary)}
    w = place.get(word, place.get(fold(word)))
    if w is None:
        near = difflib.get_close_matches(fold(word), results.vocabulary, 3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise UsageError(
            f"--word {word[:60]!r}: is not in the run's vocabulary, which has no stop "
            f"words and no rare words{hint}"
        )
    k = results.fitted.layers[layer]
    phi = results.phi(layer)[:, :k]
    weights = results.weights(layer)
    even = np.full(k, 1.0 / k) if weights is None else weights
    mass = phi[w].astype(np.float64) * even
    share = mass / mass.sum()
    bounds = None
    if not results.fitted.no_mean:
        bounds = results.word_intervals(np.full((k, 1), w), layer)
    rows = [
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
    return [row for row in rows if row.share >= LEAST]


def topics_in_groups(
    results: Results, by: str | None, along: str | None, cluster: str | None, layer: int
) -> tuple[Groups, list[TopicInGroups]]:
    """Return the shares of each topic in groups of documents; sort topics by frequency.

    Parameters
    ----------
    results : Results
    by : str or None
        Column of the corpus that names the group of each document.
    along : str or None
        Column of dates or numbers that orders the documents; "corpus" for the order in the corpus.
    cluster : str or None
        Column with clusters of documents as values.
    layer : int
        The layer, counted from 0.

    Raises
    ------
    MissingInputError
        If the training corpus is missing.
    UsageError
        If the column is missing, or its values have no order.
    """
    corpus = _corpus(results)
    rows, about = looked_at(corpus), corpus.about
    if by is not None:
        (groups,) = by_columns(about, [by], rows)
    elif along is None or along == "corpus":
        groups = along_corpus(about, rows)
    else:
        groups = along_column(about, along, rows)
    (groups,) = clustered(about, [groups], cluster, rows)
    visitor = PopulationShares(groups.grouping)
    in_all = TopicShares.in_training(results, corpus, rows)
    counts = read_documents(results, corpus, rows, layer, [visitor, in_all]) > 1
    estimate_pair = visitor.shares

    def in_group(estimate: EstimatedShares, topic: int, group: int) -> InGroup:
        share, *bounds = (
            float(x[topic, group]) for x in (estimate.mean, estimate.low, estimate.high)
        )
        log_ratio, *ends = (
            float(x[topic, group]) for x in (estimate.more, estimate.more_low, estimate.more_high)
        )
        if not counts:
            return InGroup(Between(share, None, None), Between(log_ratio, None, None), None)
        return InGroup(
            Between(share, *bounds), Between(log_ratio, *ends), int(estimate.sign[topic, group])
        )

    # Topics' shares of all words equal the shares on the page and in exports. The intervals are
    # equal, too, unless the user chose clusters, which make intervals wider.
    topic_rows, of_words = [], in_all.shares.about(results.weights(layer))
    if groups.grouping.cluster is not None:
        of_clusters = Shares(*(part[:, -1:] for part in estimate_pair.words[:3]))
        of_words = of_clusters.about(of_words.mean[:, 0])
    for topic in heaviest(results.fitted.shown(layer), of_words.mean[:, 0]):
        weight, low, high = (float(part[topic, 0]) for part in of_words)
        everywhere = AllShares(
            in_group(estimate_pair.documents, topic, -1).share,
            Between(weight, low, high) if counts else Between(weight, None, None),
        )
        in_each = [
            SharesInGroup(*(in_group(part, topic, group) for part in estimate_pair))
            for group in range(len(groups.levels))
        ]
        topic_rows.append(TopicInGroups(topic, everywhere, in_each))
    return groups, topic_rows


def plain(value: Any) -> Any:
    """Return an answer as plain values that JSON can represent.

    Parameters
    ----------
    value : NamedTuple, list or plain value
        An answer, or a part of one.

    Returns
    -------
    dict, list or plain value
        Named tuples become dictionaries.
    """
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(part) for name, part in value._asdict().items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def _corpus(results: Results) -> Corpus:
    corpus = results.training_corpus()
    if corpus is None:
        raise MissingInputError(
            f"{results.missing_corpus}, so documents cannot be described; restore the corpus, or "
            "train with 'sgmc train'"
        )
    return corpus
