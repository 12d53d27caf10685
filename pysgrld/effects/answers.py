"""Effects of metadata columns on topics, as differences of predicted topic shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.effects.composition import Fit, Regression, WordAllocation, bootstrap_sets
from pysgrld.effects.design import Contrast, Design, formula_columns
from pysgrld.effects.likeness import SampledShares, SourceLikeness
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.reading.results import Results
from pysgrld.report.answers import Between
from pysgrld.report.document_pass import drawn_steps
from pysgrld.report.exports import Tell
from pysgrld.report.population import Sampled, discoveries, sure_signs
from pysgrld.report.texts_and_metadata import Known
from pysgrld.types import Array, Documents, Doubles, Int64s

#: Documents are processed in blocks. In each block, the number of documents times the number of
#: topics is at most this number.
_CELLS = 4_000_000


class EffectRequest(NamedTuple):
    """Request of a user for the effects of columns on topics.

    Attributes
    ----------
    formula : str
        Formula over the columns of the documents.
    contrasts : sequence of (column, first value, second value)
        Comparisons to make; if empty, the comparisons that `Design.comparisons` makes by default.
    cluster : str or None
        Column with the cluster of each document.
    layer : int or None
        Layer of a deep model, counted from 1.
    reference : str or None
        Value with which the other values of its column are compared; by default all pairs are
        compared.
    """

    formula: str
    contrasts: Sequence[tuple[str, str, str]] = ()
    cluster: str | None = None
    layer: int | None = None
    reference: str | None = None


class TopicEffect(NamedTuple):
    """Difference of a topic's predicted shares between two values of a column.

    Attributes
    ----------
    topic : int
    first, second : Between
        Predicted shares at the first and at the second value, for documents like these.
    difference : Between
        ``second`` minus ``first``; without bounds if there are too few documents.
    surely : int
        1 if the difference is surely above 0, -1 if it is surely below 0, otherwise 0.
    """

    topic: int
    first: Between
    second: Between
    difference: Between
    surely: int

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Sort key, which is greatest for effects with intervals that exclude 0."""
        _, low, high = self.difference
        if low is None or high is None:
            return False, False, abs(self.difference.mean)
        return not low <= 0 <= high, True, abs(self.difference.mean)


class TopicsContrasted(NamedTuple):
    """Differences of the shares of all topics between two values of a column, by topic number."""

    column: str
    first: str
    second: str
    topics: list[TopicEffect]


class ColumnTest(NamedTuple):
    """Test of whether a topic's share is the same at all values of a column.

    Attributes
    ----------
    column : str
    values : list of str
        Compared values; for a column of numbers, the points of its curve.
    documents : list of int
        Number of documents with each value; empty for a column of numbers.
    p : (K,) float64
        P-values; NaN if there are too few documents.
    differs : (K,) bool
        True for topics with differing shares; at most 5 % of these are expected to be false.
    shares : (K, values) float64
        Predicted share of each topic at each value.
    """

    column: str
    values: list[str]
    documents: list[int]
    p: Doubles
    differs: Array
    shares: Doubles


class PredictedShares(NamedTuple):
    """Predicted shares of all topics at one value of a column; arrays have shape (K,)."""

    value: str
    number: float | None
    mean: Doubles
    low: Doubles
    high: Doubles


class Effects:
    """Estimated effects of columns on topics.

    Parameters
    ----------
    design : Design
    fit : Fit
    comparisons : sequence of Contrast
    topics : (K,) int64
        The numbers of the topics.

    Attributes
    ----------
    design : Design
    topics : (K,) int64
    shares : (K,) float64
        Mean shares of the topics in the documents.
    draws : int
        Number of draws of the topics; 1 if the topics are taken as known.
    wholes : int or None
        Number of whole documents, if their pieces are sampled together, otherwise None.
    compared : list of TopicsContrasted
    tests : list of ColumnTest
        A test for each compared column.
    likeness : SourceLikeness or None
        Similarity of documents of one source if it makes intervals too narrow, otherwise None.
    """

    def __init__(
        self, design: Design, fit: Fit, comparisons: Sequence[Contrast], topics: Int64s
    ) -> None:
        self.design, self._fit, self.topics = design, fit, topics
        self.likeness: SourceLikeness | None = None
        self.wholes: int | None = None
        self.draws = fit.draws
        self.shares: Doubles = fit.estimate(design.matrix.mean(axis=0)).drawn.mean(axis=0)
        differences = [
            fit.estimate(comparison.second.mean - comparison.first.mean)
            for comparison in comparisons
        ]
        z = np.array([comparison.in_errors() for comparison in differences])
        signs = np.zeros(z.shape, np.int64)
        self.tests: list[ColumnTest] = []
        for column in dict.fromkeys(comparison.column for comparison in comparisons):
            rows = [i for i, comparison in enumerate(comparisons) if comparison.column == column]
            signs[rows] = sure_signs(z[rows])
            self.tests.append(self._test(column, z[rows]))
        self.compared = [
            self._compared(*comparison)
            for comparison in zip(comparisons, differences, signs, strict=True)
        ]

    def curve(self, column: str) -> list[PredictedShares]:
        """Return predicted shares along a numeric column, or at each value of a categorical column."""
        points = []
        for predicted in self.design.curve(column):
            sampled = self._fit.estimate(predicted.mean)
            mean = np.clip(sampled.drawn.mean(axis=0), 0.0, 1.0)
            points.append(
                PredictedShares(predicted.value, predicted.number, mean, *sampled.interval(0.0))
            )
        return points

    def rows(self, order: Sequence[int], names: Mapping[int, str]) -> dict[str, list[Any]]:
        """Return a table with a row per comparison and topic; each column of the table is a list.

        Shares are fractions.
        """
        heads: tuple[str, ...] = (
            "column",
            "from",
            "to",
            "topic",
            "name",
            "first",
            "first_low",
            "first_high",
        )
        heads += ("second", "second_low", "second_high", "difference", "low", "high", "surely")
        heads += ("p_column",)
        place = {topic: i for i, topic in enumerate(self.topics.tolist())}
        tests = {test.column: test for test in self.tests}
        columns: dict[str, list[Any]] = {head: [] for head in heads}
        for comparison in self.compared:
            by_number = {topic.topic: topic for topic in comparison.topics}
            for topic in map(by_number.__getitem__, order):
                estimates = topic.first, topic.second, topic.difference
                row = (
                    comparison.column,
                    comparison.first,
                    comparison.second,
                    topic.topic,
                    names[topic.topic],
                )
                p = float(tests[comparison.column].p[place[topic.topic]])
                cells = (*row, *(x for between in estimates for x in between), topic.surely, p)
                for head, cell in zip(heads, cells, strict=True):
                    columns[head].append(np.nan if cell is None else cell)
        return columns

    def plain(self) -> dict[str, Any]:
        """Return all results in types of JSON, for the HTML page of a run.

        Each topic in a comparison has a row: its number; the predicted shares at both values, and
        their bounds; the difference with its bounds; and 1 if it is surely above 0, -1 if surely
        below 0, or else 0.
        """
        columns = dict.fromkeys(comparison.column for comparison in self.compared)
        curves = {column: self.curve(column) for column in columns}
        return {
            "formula": self.design.formula,
            "documents": len(self.design.used),
            "topics": self.topics.tolist(),
            "compared": [
                {
                    "column": comparison.column,
                    "first": comparison.first,
                    "second": comparison.second,
                    "topics": [
                        [
                            *(t.topic, *_rounded((t.first.mean, t.second.mean))),
                            _rounded(t.first[1:]),
                            _rounded(t.second[1:]),
                            *(*_rounded(t.difference), t.surely),
                        ]
                        for t in comparison.topics
                    ],
                }
                for comparison in self.compared
            ],
            "curves": {
                column: {
                    "labels": [point.value for point in points],
                    "ordered": all(point.number is not None for point in points),
                    **{
                        part: [_rounded(getattr(point, part).tolist()) for point in points]
                        for part in ("mean", "low", "high")
                    },
                }
                for column, points in curves.items()
            },
        }

    def _test(self, column: str, z: Doubles) -> ColumnTest:
        """Test for each topic whether its share is the same at all values of a column.

        Hotelling's test loses power if some values have few documents. So with several comparisons
        the p-value is twice the smaller of its p-value and of Bonferroni's over the comparisons.

        Parameters
        ----------
        column : str
        z : (C, K) float64
            The z-scores of the comparisons of the column.
        """
        points = self.design.curve(column)
        means = np.array([point.mean for point in points])
        p = self._fit.test(means[1:] - means[0])
        if len(z) > 1:
            from scipy.special import ndtr

            has_error = (z != 0.0).any(axis=0)
            of_pairs = np.where(has_error, len(z) * 2.0 * ndtr(-np.abs(z).max(axis=0)), np.nan)
            p = np.minimum(1.0, 2.0 * np.fmin(p, of_pairs))
        shares = np.array([self._fit.estimate(mean).drawn.mean(axis=0) for mean in means]).T
        values = [point.value for point in points]
        documents = self.design.documents_of(column)
        return ColumnTest(column, values, documents, p, discoveries(p), np.clip(shares, 0.0, 1.0))

    def _compared(self, contrast: Contrast, difference: Sampled, signs: Int64s) -> TopicsContrasted:
        parts = (
            (self._fit.estimate(contrast.first.mean), 0.0),
            (self._fit.estimate(contrast.second.mean), 0.0),
            (difference, -1.0),
        )
        estimates = [clip_interval(sampled, least) for sampled, least in parts]
        rows = zip(self.topics.tolist(), *estimates, signs.tolist(), strict=True)
        return TopicsContrasted(
            contrast.column,
            contrast.first.value,
            contrast.second.value,
            [TopicEffect(*row) for row in rows],
        )


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 5) for value in values]


def clip_interval(sampled: Sampled, least: float) -> list[Between]:
    """Return each topic's mean share with its interval, clipped to the range [`least`, 1].

    Parameters
    ----------
    sampled : Sampled
    least : float
        0 for shares, -1 for differences.
    """
    means = np.clip(sampled.drawn.mean(axis=0), least, 1.0).tolist()
    low, high = sampled.interval(least)
    return [
        Between(mean, float(a), float(b)) if freedom > 0 else Between(mean, None, None)
        for mean, a, b, freedom in zip(means, low, high, sampled.freedom, strict=True)
    ]


def estimate_effects(
    request: EffectRequest,
    columns: Mapping[str, Sequence[Any]],
    sorting: WordAllocation,
    topics: Int64s,
    take: Callable[[Int64s], Documents],
    tell: Tell = lambda label, done, total: None,
    wholes: Int64s | None = None,
) -> Effects:
    """Estimate effects from documents that are read in chunks.

    Pieces of a long document are a cluster, unless the request names a column of clusters.

    Parameters
    ----------
    request : EffectRequest
    columns : mapping of str to sequence
        Values of the columns for all documents, including the cluster column; None if a value is
        missing.
    sorting : WordAllocation
    topics : (K,) int64
        The numbers of the topics.
    take : callable (rows)
        Returns the documents of the given rows.
    tell : callable (what, done, total)
        Called with the number of documents done.
    wholes : (n,) int64, optional
        Number of the whole document of each document; None if no document was cut into pieces.

    Raises
    ------
    UsageError
        If the formula does not fit the columns.
    """
    design = Design(request.formula, columns)
    comparisons = design.comparisons(request.contrasts, request.reference)
    units: Int64s | None = None
    if request.cluster is not None:
        units, wholes = number_clusters(columns[request.cluster], design.used), None
    elif wholes is not None:
        units = np.unique(wholes[design.used], return_inverse=True)[1].ravel().astype(np.int64)
    draws, n = len(sorting.back), len(design.used)
    regression = Regression(design.matrix, units, len(topics), bootstrap_sets(draws))
    sampled = SampledShares(n, len(topics))
    for begin, rows in chunks(design.used, len(topics)):
        shares = sorting.shares(take(rows))
        regression.add(begin, shares)
        sampled.add(begin, shares)
        tell("documents", begin + len(rows), n)
    fit = Fit(regression, sorting.back)
    effects = Effects(design, fit, comparisons, topics)
    effects.wholes = None if wholes is None or units is None else int(units.max()) + 1
    if request.cluster is None:
        effects.likeness = sampled.greatest(fit, comparisons, columns, design.used, units)
    return effects


def number_clusters(values: Sequence[Any], rows: Int64s) -> Int64s:
    """Return the cluster number of each document; a document without a value is a cluster.

    Parameters
    ----------
    values : sequence of object
        Value of the cluster column for each document of the corpus.
    rows : array of int64, (n,)
        Positions of the documents.

    Returns
    -------
    array of int64, (n,)
        Number of each document's cluster, from 0.
    """
    numbers: dict[Any, int] = {}
    chosen = (values[row] for row in rows.tolist())
    keys = (("", row) if v is None else (v,) for row, v in enumerate(chosen))
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def chunks(rows: Int64s, topics: int) -> Iterator[tuple[int, Int64s]]:
    """Split rows into chunks of bounded memory; yield the position and the rows of each chunk.

    Parameters
    ----------
    rows : (n,) int64
    topics : int
        Number of topics; each row has a value for each topic.
    """
    size = max(1_000, _CELLS // topics)
    for begin in range(0, len(rows), size):
        yield begin, rows[begin : begin + size]


def estimate_run_effects(
    results: Results, request: EffectRequest, tell: Tell = lambda label, done, total: None
) -> Effects:
    """Estimate how the topics of a run depend on columns of its corpus.

    Parameters
    ----------
    results : Results
    request : EffectRequest
    tell : callable (what, done, total)
        Called with the number of documents done.

    Raises
    ------
    MissingInputError
        If the training corpus is missing.
    UsageError
        If topics have no shares, or the formula does not fit the corpus's columns.
    """
    layer = results.at(request.layer)
    if results.fitted.signed:
        raise UsageError(
            f"{results.path}: this model has no topic shares of documents, so effects cannot be "
            "estimated; use another model"
        )
    corpus = results.training_corpus()
    if corpus is None:
        raise MissingInputError(
            f"{results.missing_corpus}, so effects cannot be estimated; restore the corpus, or "
            "train with 'sgmc train'"
        )
    rows = np.arange(corpus.documents)
    topics = results.fitted.shown(layer)
    return estimate_effects(
        request,
        requested_columns(
            request.formula, request.cluster, Columns(corpus.about, rows, request.cluster)
        ),
        allocate_words(results, layer, topics),
        topics,
        corpus.take,
        tell,
        corpus.about.wholes(rows),
    )


def requested_columns(
    formula: str, cluster: str | None, columns: Mapping[str, Sequence[Any]]
) -> Mapping[str, Sequence[Any]]:
    """Check that the formula's columns and the cluster column exist, and return all columns.

    Parameters
    ----------
    formula : str
        Formula over the columns.
    cluster : str or None
        Column with the clusters of documents.
    columns : mapping
        Values of the available columns, by name.

    Returns
    -------
    mapping
        ``columns``, unchanged.

    Raises
    ------
    UsageError
        If the formula does not parse, or a column does not exist.
    """
    formula_columns(formula, list(columns))
    if cluster is not None and cluster not in columns:
        available = ", ".join(repr(name[:40]) for name in list(columns)[:20])
        raise UsageError(f"cluster: unknown column {cluster[:40]!r}; the columns are {available}")
    return columns


class Columns(Mapping[str, Sequence[Any]]):
    """Mapping from names to columns of a corpus, which are read on access; times become dates.

    Parameters
    ----------
    about : Known
    rows : (n,) int64
        Positions of the documents.
    cluster : str or None
        A column that is never converted to dates.
    """

    def __init__(self, about: Known, rows: Int64s, cluster: str | None) -> None:
        self._about, self._rows, self._cluster = about, rows, cluster
        self._kinds = {column.name: column.kind for column in about.columns}

    def __getitem__(self, name: str) -> Sequence[Any]:
        values = self._about.values(name, self._rows)
        if self._kinds[name] != "time" or name == self._cluster:
            return values
        return [v if v is None else np.datetime64(v.removesuffix("Z")[:10], "D") for v in values]

    @property
    def dates(self) -> list[str]:
        """Names of the columns of dates and times."""
        return [name for name, kind in self._kinds.items() if kind == "time"]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


def allocate_words(results: Results, layer: int, topics: Int64s) -> WordAllocation:
    """Return a run's `WordAllocation`, with corrections that reflect the uncertainty of topics.

    The samples of the run measure this uncertainty; without samples, there is no correction.
    """
    mean = results.phi(layer).T[topics]
    weights = results.weights(layer)
    steps = drawn_steps(results)
    drawn = (rows[topics] for rows in results.topic_draws(steps, layer)) if steps else iter([mean])
    return WordAllocation.from_topics(mean, None if weights is None else weights[topics], drawn)
