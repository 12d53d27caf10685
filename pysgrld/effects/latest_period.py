"""Comparison of the latest documents of a corpus with its earlier documents.

The latest documents are those of the last week, month or year, or those that a continued run added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.corpus.stopwords import named
from pysgrld.effects.answers import Columns, allocate_words, chunks, clip_interval
from pysgrld.effects.composition import Fit, Regression, bootstrap_sets
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.reading.results import Results
from pysgrld.report.answers import Between
from pysgrld.report.compare import NEW_WORDS
from pysgrld.report.compare.comparison import GROWN, GROWN_BY
from pysgrld.report.exports import Tell
from pysgrld.report.population import sure_signs
from pysgrld.report.topic_words import names_of
from pysgrld.types import Array, Doubles, Int64s

#: Lengths of a period in days: a week, a month, a year.
DAYS = 7, 30, 365
#: If a period has fewer documents than this number, a longer period is taken.
DOCUMENTS = 50
#: A topic is new if its earlier share is at most this fraction of its latest share.
NEW = 0.1


class TopicChange(NamedTuple):
    """Share of a topic in the latest period and before it, with the kind of change.

    Attributes
    ----------
    topic : int
    name : str
    before, latest : Between
        Mean shares of the documents, with 90 % intervals for other documents like these.
    difference : Between
        ``latest`` minus ``before``.
    change : {"new", "grown", "faded", "steady"}
        "steady" unless the difference is great enough and its sign is sure.
    """

    topic: int
    name: str
    before: Between
    latest: Between
    difference: Between
    change: Literal["new", "grown", "faded", "steady"]


class PeriodNews(NamedTuple):
    """Changes of topics and new words in the latest documents of a corpus.

    Attributes
    ----------
    column : str or None
        The column with the dates; None if the latest documents are those that a run added.
    days : int or None
        Length of the period.
    first, last : str or None
        First and last day of the period.
    documents, before : int
        Numbers of latest and of earlier documents.
    topics : list of TopicChange
        The greatest latest share first.
    new_words : dict of str to int
        The most frequent words that occur in the latest documents alone, with their occurrences.
    """

    column: str | None
    days: int | None
    first: str | None
    last: str | None
    documents: int
    before: int
    topics: list[TopicChange]
    new_words: dict[str, int]

    def topics_with(self, change: str) -> list[TopicChange]:
        """Return the topics that have the given kind of change."""
        return [topic for topic in self.topics if topic.change == change]


def added_documents(
    results: Results, tell: Tell = lambda label, done, total: None
) -> PeriodNews | None:
    """Compare the new documents of a continued run with the documents of the earlier run.

    Parameters
    ----------
    results : Results
        The run. `latest_period` names the errors.
    tell : callable, optional
        Receives the progress: label, documents done, documents in all.

    Returns
    -------
    PeriodNews or None
        None if the run has no earlier documents, or fewer than `DOCUMENTS` of either kind.
    """
    corpus = _corpus_of(results)
    earlier = corpus.earlier_documents
    if min(earlier, corpus.documents - earlier) < DOCUMENTS:
        return None
    rows = np.arange(corpus.documents)
    return _compare_topics_and_words(
        results, corpus, rows, rows >= earlier, (None, None, None, None), tell
    )


def latest_period(
    results: Results, tell: Tell = lambda label, done, total: None
) -> PeriodNews | None:
    """Compare a run's training documents from the latest period with its earlier documents.

    The period is the shortest of a week, a month and a year that ends with the last date and has
    at least `DOCUMENTS` documents. Documents without a date are left out.

    Parameters
    ----------
    results : Results
    tell : callable (what, done, total)
        Called with the number of documents done.

    Returns
    -------
    PeriodNews or None
        None if the corpus has no column of dates, or too few documents in the period or before it.

    Raises
    ------
    MissingInputError
        If the training corpus is missing.
    UsageError
        If topics have no shares.
    """
    corpus = _corpus_of(results)
    columns = Columns(corpus.about, np.arange(corpus.documents), None)
    dated = _find_date_column(columns)
    if dated is None:
        return None
    column, rows, days = dated
    last = int(days.max())
    fitting = [n for n in DAYS if (days > last - n).sum() >= DOCUMENTS <= (days <= last - n).sum()]
    if not fitting:
        return None
    first = last - fitting[0] + 1
    begin, end = (str(np.datetime64(day, "D")) for day in (first, last))
    period = (column, fitting[0], begin, end)
    return _compare_topics_and_words(results, corpus, rows, days >= first, period, tell)


def _corpus_of(results: Results) -> Corpus:
    """Return the training corpus of a run; raise an error if the run's topics have no shares."""
    if results.fitted.signed:
        raise UsageError(
            f"{results.path}: this model has no topic shares of documents, so the latest "
            "documents cannot be compared with earlier ones; use another model"
        )
    corpus = results.training_corpus()
    if corpus is None:
        raise MissingInputError(
            f"{results.missing_corpus}, so the latest documents cannot be compared with earlier "
            "documents; restore the corpus, or train with 'sgmc train'"
        )
    return corpus


def _compare_topics_and_words(
    results: Results,
    corpus: Corpus,
    rows: Int64s,
    latest: Array,
    period: tuple[str | None, int | None, str | None, str | None],
    tell: Tell,
) -> PeriodNews:
    """Compare the topics and the words of the latest documents with the other documents.

    Parameters
    ----------
    results : Results
    corpus : Corpus
    rows : (n,) int64
        Documents.
    latest : (n,) bool
        Whether a document is one of the latest.
    period : tuple
        The first four fields of the result.
    tell : callable (what, done, total)
    """
    topics = results.fitted.shown(0)
    sorting = allocate_words(results, 0, topics)
    design = np.stack([np.ones(len(rows)), latest], axis=1).astype(np.float64)
    wholes = corpus.about.wholes(rows)  # Pieces of a long document are sampled together.
    regression = Regression(design, wholes, len(topics), bootstrap_sets(len(sorting.back)))
    counts = np.zeros((2, len(results.vocabulary)))
    for begin, block in chunks(rows, len(topics)):
        documents = corpus.take(block)
        regression.add(begin, sorting.shares(documents))
        of_document = np.repeat(latest[begin : begin + len(block)], np.diff(documents.indptr))
        for part in (0, 1):
            chosen = of_document == part
            np.add.at(counts[part], documents.indices[chosen], documents.counts[chosen])
        tell("documents", begin + len(block), len(rows))
    return PeriodNews(
        *period,
        int(latest.sum()),
        int((~latest).sum()),
        _changes(Fit(regression, sorting.back), topics, names_of(results, 0)),
        _new_words(results.vocabulary, counts),
    )


def _find_date_column(columns: Columns) -> tuple[str, Int64s, Int64s] | None:
    """Return the column with most dates, the rows with a date, and the dates in days since 1970."""
    best = None
    for column in columns.dates:
        values = columns[column]
        rows = np.array([row for row, value in enumerate(values) if value is not None], np.int64)
        if len(rows) and (best is None or len(rows) > len(best[1])):
            best = column, rows, np.array([values[row] for row in rows.tolist()]).astype(np.int64)
    return best


def _changes(fit: Fit, topics: Int64s, names: dict[int, str]) -> list[TopicChange]:
    contrasts: list[Doubles] = [np.array(c, np.float64) for c in ((1, 0), (1, 1), (0, 1))]
    before, latest, difference = (fit.estimate(contrast) for contrast in contrasts)
    rows = zip(
        topics.tolist(),
        clip_interval(before, 0.0),
        clip_interval(latest, 0.0),
        clip_interval(difference, -1.0),
        sure_signs(difference.in_errors()).tolist(),
        strict=True,
    )
    changes = [
        TopicChange(topic, names[topic], a, b, moved, _change(a.mean, b.mean, sign))
        for topic, a, b, moved, sign in rows
    ]
    return sorted(changes, key=lambda topic: -topic.latest.mean)


def _change(before: float, latest: float, sign: int) -> Literal["new", "grown", "faded", "steady"]:
    least, greatest = sorted((before, latest))
    if not sign or greatest - least < GROWN_BY or greatest < GROWN * least:
        return "steady"
    if sign < 0:
        return "faded"
    return "new" if before <= NEW * latest else "grown"


def _new_words(vocabulary: Sequence[str], counts: Any) -> dict[str, int]:
    common = named("english")
    order = np.argsort(-counts[1], kind="stable")
    fresh = [int(w) for w in order if counts[1, w] and not counts[0, w]]
    words = {vocabulary[w]: int(counts[1, w]) for w in fresh if vocabulary[w] not in common}
    return dict(list(words.items())[:NEW_WORDS])
