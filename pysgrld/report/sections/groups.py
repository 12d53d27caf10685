"""Topic shares in groups of documents: values of a column, or bins of an ordered sequence."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.about.stored import Column
from pysgrld.errors import UsageError
from pysgrld.report.page_file import Packed, steps
from pysgrld.report.population import GroupOfEach, PopulationShares
from pysgrld.report.reported_run import Definition, ReportedRun, Section
from pysgrld.report.texts_and_metadata import Known
from pysgrld.types import Floats, Int64s

#: Maximum number of groups of a column with text values.
LEVELS = 100
#: Maximum number of groups for a column of dates or numbers. The same maximum applies to groups of
#: consecutive documents, which need no column.
MOST = 60
#: Number of bins for a column of numbers. All bins have about the same number of documents.
BINS = 10
#: A column that is not a time is shown next to the list of topics only if it has at most this
#: number of groups.
_FEW = 30
#: Documents have an order if neighbours are significantly more similar than random pairs. This is
#: the minimum number of documents for a test of their order.
_FEWEST = 20
#: Documents have an order if neighbours are more similar than random pairs by at least this number
#: of standard errors.
_SURELY = 3.0
#: Kinds of columns shown by default.
KINDS = ("category", "flag", "integer", "real", "time")
#: Time spans by which dates are grouped, the shortest first. Each has a name, and the number of
#: characters of an ISO date that it uses.
_TIMES = (("day", 10), ("month", 7), ("year", 4), ("decade", 3))
#: Maximum number of characters of a column's name in messages. The label of a group may have twice
#: as many.
_LABEL = 40
#: Maximum number of characters of a title in the name of a bin.
_TITLE = 20


class GroupShares(Section):
    """Section on topic shares by value of a column, and along the corpus or a numeric column."""

    def __init__(self, run: ReportedRun) -> None:
        super().__init__(run)
        self._along: Groups | None = None
        self._columns: list[Groups] = []
        if run.about is not None:
            along = (
                along_corpus(run.about, run.rows)
                if run.asked.along is None
                else along_column(run.about, run.asked.along, run.rows)
            )
            columns = by_columns(run.about, run.asked.by, run.rows)
            self._along, *self._columns = clustered(
                run.about, [along, *columns], run.asked.cluster, run.rows
            )
        elif run.asked.by or run.asked.along or run.asked.cluster:
            raise UsageError(
                "--by, --along and --cluster need the training corpus, which is missing; leave "
                "them out"
            )
        groups = {} if self._along is None else {"along": self._along}
        groups |= {f"group-{i}": column for i, column in enumerate(self._columns)}
        self._visitors = {
            name: run.visit_documents(PopulationShares(found.grouping))
            for name, found in groups.items()
        }

    def main(self) -> dict[str, Any]:
        """Return the groups, and each topic's share in the whole corpus."""
        found, named = self._along, self.run.asked.along
        usual, along = None, None
        self._shares = {name: v.shares for name, v in self._visitors.items() if v is not None}
        if found is not None:
            everywhere = self._shares["along"]._asdict().items()
            usual = {
                name: [round(float(x), 6) for x in each.mean[:, -1]] for name, each in everywhere
            }
            # Other sections show each topic's share of all words, so show this share here.
            if self.run.weights is not None:
                usual["words"] = [round(float(x), 6) for x in self.run.weights]
        if found is not None and (named is not None or self._has_order()):
            along = {
                "title": "along the corpus" if named is None else f"by {named}",
                "bins": found.levels,
                "starts": found.starts,
                "documents": found.documents,
            }
        columns = [groups.record() for groups in self._columns]
        self._best, self._is_along = self._best_column(), along is not None
        return {"along": along, "columns": columns, "corpus_share": usual, "best": self._best}

    def _has_order(self) -> bool:
        """Return True if consecutive documents are significantly more similar than random pairs."""
        found = self.run.document_topics
        return found is not None and neighbours_are_alike(found.theta)

    def _best_column(self) -> int | None:
        """Return the index of the column that is most informative about topics, or None.

        The measure is the mutual information of topic and value, minus its expected value for as
        many random groups. Columns without an order take precedence over ordered ones.
        """
        informative: dict[int, float] = {}
        for i, groups in enumerate(self._columns):
            shares = self._shares.get(f"group-{i}")
            is_axis = groups.kind == "time"
            if shares is None or not (is_axis or 2 <= len(groups.levels) <= _FEW):
                continue
            inside = np.maximum(shares.documents.mean[:, :-1], 1e-12)
            weight = np.array(groups.documents, float)
            weight /= max(weight.sum(), 1.0)
            usual = np.maximum(inside @ weight, 1e-12)
            bits = float((weight * (inside * np.log(inside / usual[:, None])).sum(axis=0)).sum())
            chance = (len(groups.levels) - 1) * (len(inside) - 1) / 2
            bits -= chance / max(1, sum(groups.documents))
            informative[i] = bits - (1e3 if groups.ordered else 0.0)
        return max(informative, key=lambda i: (informative[i], -i)) if informative else None

    def blocks(self) -> dict[str, Packed]:
        """Return topic shares in all groups, with intervals and signs of clear differences."""
        found = {}
        for name, shares in self._shares.items():
            if name == "along" and not self._is_along:
                continue
            packed = found[name] = Packed()
            for kind, each in zip(("", "words-"), shares, strict=True):
                for part in ("mean", "low", "high"):
                    packed.add(kind + part, "u16", steps(getattr(each, part)[:, :-1], "u16"))
                packed.add(kind + "sign", "i8", each.sign[:, :-1].astype(np.int8))
        if self._best is not None:
            found["best"] = Packed().add("level", "u8", self._levels(self.run.map_rows))
        return found

    def files(self) -> Iterator[tuple[str, bytes, int]]:
        """Yield a file for each block of further documents on the map: their groups."""
        if self._best is not None:
            for number, rows in enumerate(self.run.beside_rows):
                content = self._levels(rows).astype(np.uint8).tobytes()
                yield f"levels/{number:06}.bin", zlib.compress(content), int(rows[-1]) + 1

    def _levels(self, rows: Int64s) -> Int64s:
        """Return each document's group in the best column, or 255 for a document in no group."""
        run = self.run
        assert run.about is not None
        assert self._best is not None
        column = self._columns[self._best]
        values = run.about.values(column.name, run.rows)
        levels = dict(zip(values, column.grouping.of.tolist(), strict=True))
        groups = [levels.get(value, -1) for value in run.about.values(column.name, rows)]
        return np.array([255 if group < 0 else group for group in groups], np.int64)

    def plain(self, main: Mapping[str, Any]) -> dict[str, Any]:
        """Return the groups and their shares."""
        parts: dict[str, dict[str, Any]] = {}
        for name, shares in self._shares.items():
            found = {
                counted: {
                    part: np.round(x[:, :-1], 6).tolist() for part, x in each._asdict().items()
                }
                # Groups have two kinds of topic shares: the mean share of a document, and the share
                # of all words.
                for counted, each in shares._asdict().items()
            }
            parts[name] = {"shares": found}
        return {
            "along": main["along"] and main["along"] | parts["along"],
            "columns": [c | parts[f"group-{i}"] for i, c in enumerate(main["columns"])],
        }

    def definitions(self) -> list[Definition]:
        """Define shares of topics in groups."""
        if self.run.draws <= 1 and not self._columns:
            return []
        noun, many = self.run.noun
        shown = [self._along] if self._along else self._columns
        units = cluster_units(shown[0].grouping, self.run.asked.cluster, many) if shown else many
        text = (
            f"By {noun}: the topic's average share in the group. By words: the "
            "topic's share of all words of the group."
        )
        if self.run.draws > 1:
            text += (
                f" Intervals are valid for other {many} like these; they come from the Bayesian "
                f"bootstrap of {units} and include the uncertainty about the topics. At most 5 "
                f"% of the groups marked as having more or less than the other {many} are "
                "expected to be wrong."
            )
        source = "Rubin 1981, The Annals of Statistics 9; Benjamini & Hochberg 1995"
        return [Definition("Shares along the corpus and in groups", text, source)]


# ---- documents in groups


class Groups(NamedTuple):
    """Groups of documents: values of a column, or bins of the corpus or of an ordered column.

    Attributes
    ----------
    name, kind : str
    levels : list of str
    documents : list of int
        Number of drawn documents in each group, which is called a level.
    missing : int
        Number of drawn documents without a value.
    ordered : bool
        Whether levels have an order.
    more : int
        Number of levels left out, the rarest ones.
    starts : list of str
        Name of each level's first document or value, which is shorter than the level's own name.
    grouping : GroupOfEach
    within : str or None
        Another column that determines this one, as a book determines its author. Documents with the
        same value of that column are similar, so that intervals are too narrow unless that column
        is the --cluster.
    """

    name: str
    kind: str
    levels: list[str]
    documents: list[int]
    missing: int
    ordered: bool
    more: int
    starts: list[str]
    grouping: GroupOfEach
    within: str | None = None

    def record(self) -> dict[str, Any]:
        """Return the groups as the page stores them, without shares."""
        record = self._asdict()
        del record["grouping"], record["starts"]
        return record


def _numbered(values: Sequence[Any]) -> Int64s:
    """Number distinct values from 0; each None gets a separate number."""
    numbers: dict[Any, int] = {}
    return np.array(
        [numbers.setdefault(object() if v is None else str(v), len(numbers)) for v in values],
        np.int64,
    )


def cluster_units(grouping: GroupOfEach, cluster: str | None, noun: str) -> str:
    """Return a name for the units of sampling, such as "values of author" or "whole books".

    Parameters
    ----------
    grouping : GroupOfEach
    cluster : str or None
        The column of clusters.
    noun : str
        The word for several documents.
    """
    if cluster is not None:
        return f"values of {cluster}"
    return noun if grouping.cluster is None else f"whole {noun}"


def clustered(
    about: Known, groups: Sequence[Groups], cluster: str | None, rows: Int64s
) -> list[Groups]:
    """Add clusters of the given column to groups of documents, or suggest a column of clusters.

    By default, the pieces of a long document are a cluster. The suggestion, `Groups.within`, is a
    column of text values that determines the grouping column, as a book determines its author, with
    at least two documents per value on average, and fewer values than whole documents. If several
    columns qualify, it is the one with the fewest values.

    Parameters
    ----------
    about : Known
    groups : sequence of Groups
    cluster : str or None
        Column of clusters: documents with the same value are one cluster.
    rows : (n,) int64
        The drawn documents.

    Raises
    ------
    UsageError
        If the corpus has no column of the name `cluster`.
    """
    if cluster is not None:
        of = _numbered(about.values(column_of(about, cluster, "--cluster").name, rows))
        return [g._replace(grouping=g.grouping._replace(cluster=of)) for g in groups]
    numbered = {
        column.name: _numbered(about.values(column.name, rows))
        for column in about.columns
        if column.kind in ("category", "string")
    }
    found, wholes = [], about.wholes(rows)
    for each in groups:
        sizes, own = {}, each.grouping.of
        for name, of in numbered.items():
            values, first = np.unique(of, return_index=True)
            most = len(of) / 2 if wholes is None else wholes.max(initial=0)
            constant = len(of) > 0 and bool((own == own[first][of]).all())
            if name != each.name and len(each.levels) < len(values) <= most and constant:
                sizes[name] = len(values)
        within = min(sizes, key=lambda name: sizes[name], default=None)
        grouping = each.grouping._replace(cluster=wholes)
        found.append(each._replace(within=within, grouping=grouping))
    return found


def by_columns(about: Known, wanted: Sequence[str], rows: Int64s) -> list[Groups]:
    """Group documents by each of the given columns; by default, by each column of the `KINDS`.

    Parameters
    ----------
    about : Known
    wanted : sequence of str
        Names of columns; empty for the default.
    rows : (n,) int64
        The drawn documents.

    Raises
    ------
    UsageError
        If the corpus lacks one of the columns.
    """
    chosen = [column_of(about, name, "--by") for name in dict.fromkeys(wanted)]
    if not wanted:
        chosen = [column for column in about.columns if column.kind in KINDS]
    found = [grouped(column, about.values(column.name, rows)) for column in chosen]
    return [groups for groups in found if wanted or len(groups.levels) > 1]


def column_of(about: Known, name: str, option: str) -> Column:
    """Return the column with the given name.

    Raises
    ------
    UsageError
        If the corpus has no such column; the message names its columns.
    """
    for column in about.columns:
        if column.name == name:
            return column
    names = ", ".join(repr(c.name[:_LABEL]) for c in about.columns[:20])
    there = f"its columns are {names}" if names else "it has no columns"
    raise UsageError(f"{option} {name[:_LABEL]!r}: the corpus has no such column; {there}")


def grouped(column: Column, values: Sequence[Any]) -> Groups:
    """Group documents by the values of a column.

    Dates are binned by day, month, year or decade: by the finest with at most sixty groups. Numbers
    are binned into ten quantile classes if more than sixty are different. For other values, the
    hundred most frequent ones are groups. These are in the order of the corpus if the documents of
    each are consecutive in it (chapters by book), else the most frequent comes first.

    Parameters
    ----------
    column : Column
    values : sequence
        Value of each document: a date in ISO form, a number, another value, or None.
    """
    labels: list[str | None] = []
    ordered = column.kind in ("time", "integer", "real")
    if column.kind == "time":
        for name, letters in _TIMES:  # Take the shortest time span that gives at most sixty groups.
            tail = "0s" if name == "decade" else ""
            labels = [None if v is None else f"{str(v)[:letters]}{tail}" for v in values]
            if len(set(labels) - {None}) <= MOST:
                break
    elif ordered:
        labels = _numbers(values)
    else:
        for value in values:
            text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
            cut = text if len(text) <= 2 * _LABEL else f"{text[: 2 * _LABEL]}..."
            labels.append(None if value is None else cut)
    counts = Counter(label for label in labels if label is not None)
    if ordered:
        last = {label: i for i, label in enumerate(labels) if label is not None}
        levels = sorted(counts, key=lambda label: values[last[label]])[-MOST:]
    else:
        levels = sorted(counts, key=lambda label: (-counts[label], label))[:LEVELS]
        chosen = set(levels)
        pieces = [label for label, _ in groupby(label for label in labels if label in chosen)]
        levels = pieces if len(pieces) == len(levels) else levels
    place = {label: i for i, label in enumerate(levels)}
    of = np.array([place.get(label, -1) if label is not None else -1 for label in labels], np.int64)
    return Groups(
        name=column.name,
        kind=column.kind,
        levels=levels,
        documents=[counts[label] for label in levels],
        missing=sum(label is None for label in labels),
        ordered=ordered,
        more=len(counts) - len(levels),
        starts=levels,
        grouping=GroupOfEach(of, len(levels)),
    )


def _numbers(values: Sequence[Any]) -> list[str | None]:
    """Label each value by its number, or by a quantile bin if over sixty numbers are distinct."""
    numbers = np.array([np.nan if value is None else float(value) for value in values])
    there = numbers[np.isfinite(numbers)]
    if len(np.unique(there)) <= MOST:
        return [
            None
            if value is None or not np.isfinite(float(value))
            else f"{value:g}"
            if isinstance(value, float)
            else str(value)
            for value in values
        ]
    edges = np.unique(np.quantile(there, np.arange(BINS + 1) / BINS, method="lower"))
    at = np.clip(np.searchsorted(edges, numbers, "right") - 1, 0, len(edges) - 2)
    ends = [f"{edge:.4g}" for edge in edges]
    whole = not any(isinstance(value, float) for value in values)
    if whole or len(set(ends)) < len(edges):
        ends = [f"{edge:.10g}" for edge in edges]
    labels = [f"{a} to {b}" for a, b in pairwise(ends)]
    return [labels[i] if np.isfinite(x) else None for i, x in zip(at, numbers, strict=True)]


def neighbours_are_alike(theta: Floats | npt.NDArray[np.float16]) -> bool:
    """Return True if consecutive documents are more similar in proportions than random pairs.

    The test compares the mean affinity of neighbours with the mean and the variance of the affinity
    of all pairs.

    Parameters
    ----------
    theta : (n, K)
        Proportions, in the order of the corpus.
    """
    n = len(theta)
    if n < _FEWEST:
        return False
    roots = np.sqrt(np.maximum(theta.astype(np.float64), 0.0))
    squares, pairs = (roots**2).sum(axis=1), n * (n - 1)
    mean = ((roots.sum(axis=0) ** 2).sum() - squares.sum()) / pairs
    second = (((roots.T @ roots) ** 2).sum() - (squares**2).sum()) / pairs
    error = np.sqrt(max(second - mean**2, 1e-12) / (n - 1))
    observed = (roots[1:] * roots[:-1]).sum(axis=1).mean()
    return bool(observed > mean + _SURELY * error)


def along_corpus(about: Known, rows: Int64s) -> Groups:
    """Divide the corpus, in order, into at most sixty bins of similar numbers of documents.

    A bin is named by its first and last document: by their titles if all these titles are short
    and some are words, else by their numbers in the corpus.
    """
    size = min(MOST, len(rows))
    of = np.arange(len(rows)) * size // max(1, len(rows))
    first = np.searchsorted(of, np.arange(size))
    last = np.searchsorted(of, np.arange(size), "right") - 1
    ends = [about.titles(rows[at]) for at in (first, last)]
    titles = [title for titles in ends for title in titles]
    if max(map(len, titles), default=0) > _TITLE or all(map(str.isdecimal, titles)):
        ends = [[f"{row + 1:,}" for row in rows[at].tolist()] for at in (first, last)]
    labels = [a if a == b else f"{a} to {b}" for a, b in zip(*ends, strict=True)]
    documents = np.bincount(of, minlength=size).tolist()
    return Groups(
        name="",
        kind="order",
        levels=labels,
        documents=documents,
        missing=0,
        ordered=True,
        more=0,
        starts=ends[0],
        grouping=GroupOfEach(of, size),
    )


def along_column(about: Known, name: str, rows: Int64s) -> Groups:
    """Group documents along an ordered column, of dates or numbers.

    Raises
    ------
    UsageError
        If the corpus has no such column, or the column has no order.
    """
    column = column_of(about, name, "--along")
    if column.kind not in ("time", "integer", "real"):
        raise UsageError(
            f"--along {name[:_LABEL]!r}: a column of kind {column.kind} has no order; use --by "
            "instead"
        )
    return grouped(column, about.values(name, rows))
