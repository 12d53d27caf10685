"""Similarity of documents from one source; if it is ignored, intervals are too narrow.

The design effect (Kish 1965) is the variance of an estimate if whole clusters of documents are
sampled, divided by its variance if documents are independent. It is computed from each document's
influence on the estimate (Liang and Zeger 1986), so that similarity counts only if the columns of
the formula vary between clusters, too (Moulton 1990).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.effects.composition import Fit
from pysgrld.effects.design import Contrast
from pysgrld.types import Doubles, Floats, Int64s

#: A warning is given if the design effect is above this number, because intervals are then too
#: narrow by a fifth or more.
DUE = 1.5
#: Minimum number of clusters for estimating a variance.
FEWEST = 10
#: A column can name sources only if its number of distinct values, divided by the number of
#: documents, is at most this fraction. Otherwise, too few documents have a common value.
_MOST_VALUES = 0.8
#: Number of consecutive documents that count as one cluster of neighbours.
_NEIGHBOURS = 20
#: Maximum number of documents on which similarity is measured.
_DOCUMENTS = 50_000
#: Number of consecutive documents that are sampled together.
_ROW = 1_000
#: For each column, the design effect is computed for at most this number of pairs of values.
_COMPARISONS = 4


class SourceLikeness(NamedTuple):
    """Similarity of documents that share a value of a column, or are neighbours in the corpus.

    Attributes
    ----------
    column : str or None
        The column; None for neighbours in the corpus.
    design_effect : float
        Variance over clusters divided by the variance over independent documents, averaged over
        topics.
    can_cluster : bool
        Whether intervals can be estimated with the column's values as clusters: in most comparisons,
        enough values contribute to the difference.
    """

    column: str | None
    design_effect: float
    can_cluster: bool = False

    @property
    def warning(self) -> str:
        """A one-line warning that advises the user to name a cluster column."""
        factor = f"too narrow by a factor of {self.design_effect**0.5:.1f}"
        if self.column is None:
            return (
                f"intervals are {factor} or more, because neighbouring documents are similar; "
                "name a column with the source of each document: --cluster COLUMN"
            )
        advice = f"give --cluster {self.column}"
        if not self.can_cluster:
            advice = (
                f"--cluster {self.column} cannot widen these intervals, because the compared "
                f"documents have too few values of {self.column}"
            )
        return (
            f"intervals for other documents are {factor}, because documents with the same "
            f"{self.column} are similar; {advice}"
        )


class SampledShares:
    """Topic shares of the documents on which similarity is measured.

    These are all documents, or if there are too many, evenly spaced runs of consecutive documents.
    If documents are left out, the design effect of scattered clusters is a lower bound.

    Parameters
    ----------
    documents, topics : int
    """

    def __init__(self, documents: int, topics: int) -> None:
        number = -(-documents // _ROW)
        if documents > _DOCUMENTS:
            most = _DOCUMENTS // _ROW
            chosen = np.arange(most) * number // most
            places = (chosen[:, None] * _ROW + np.arange(_ROW)).ravel()
            self.places: Int64s = places[places < documents]
        else:
            self.places = np.arange(documents)
        self._shares: Floats = np.empty((len(self.places), topics), np.float32)

    def add(self, begin: int, shares: Doubles) -> None:
        """Store the shares of sampled documents in a chunk that starts at document ``begin``."""
        first, end = np.searchsorted(self.places, (begin, begin + len(shares)))
        self._shares[first:end] = shares[self.places[first:end] - begin]

    def greatest(
        self,
        fit: Fit,
        comparisons: Sequence[Contrast],
        columns: Mapping[str, Sequence[Any]],
        used: Int64s,
        units: Int64s | None = None,
    ) -> SourceLikeness | None:
        """Return the greatest similarity of documents with equal column values, if it is large.

        Otherwise, return the similarity of neighbours, or None if that is small, too.

        Parameters
        ----------
        fit : Fit
        comparisons : sequence of Contrast
        columns : mapping of str to sequence
            Values of the columns for all documents.
        used : (n,) int64
            Positions of the documents of the regression.
        units : (n,) int64, optional
            Whole document of each document of the regression, whose pieces are one unit.
        """
        rows = used[self.places]
        contrasts = [each.second.mean - each.first.mean for each in _thin_comparisons(comparisons)]
        influences = [fit.influence(self.places, self._shares, each) for each in contrasts]
        weights = [fit.weights(self.places, each) for each in contrasts]
        order = rows
        if units is not None:
            _, first, unit = np.unique(units[self.places], return_index=True, return_inverse=True)
            influences, weights = (
                [_sum_by(unit, row) for row in values] for values in (influences, weights)
            )
            rows, order = rows[first], np.argsort(np.argsort(first))

        def design_effect(clusters: Int64s) -> float:
            return max((_ratio(influence, clusters) for influence in influences), default=0.0)

        measured = [
            SourceLikeness(name, design_effect(clusters), _are_enough(weights, clusters))
            for name, clusters in _clusters(columns, rows)
        ]
        neighbours = np.unique(order // _NEIGHBOURS, return_inverse=True)[1]
        for likenesses in (measured, [SourceLikeness(None, design_effect(neighbours))]):
            best = max(likenesses, key=lambda each: each.design_effect, default=None)
            if best is not None and best.design_effect > DUE:
                return best
        return None


def _sum_by(clusters: Int64s, values: Doubles) -> Doubles:
    """Sum rows of values by cluster, (clusters, ...)."""
    from scipy.sparse import csr_matrix

    shape = int(clusters.max(initial=-1)) + 1, len(clusters)
    sums: Doubles = (
        csr_matrix((np.ones(len(clusters)), (clusters, np.arange(len(clusters)))), shape) @ values
    )
    return sums


def _thin_comparisons(comparisons: Sequence[Contrast]) -> Iterator[Contrast]:
    """Yield only a few of each column's comparisons, evenly spaced in the list."""
    for column in dict.fromkeys(each.column for each in comparisons):
        of_column = [each for each in comparisons if each.column == column]
        yield from of_column[:: -(-len(of_column) // _COMPARISONS)]


def _clusters(columns: Mapping[str, Sequence[Any]], rows: Int64s) -> Iterator[tuple[str, Int64s]]:
    """Yield each column that may name sources of documents, with the cluster of each document."""
    for name in columns:
        values = columns[name]
        chosen = [None if values[row] != values[row] else values[row] for row in rows.tolist()]
        if any(isinstance(value, float) and not value.is_integer() for value in chosen):
            # A column with fractions has measurements, not names of the documents' sources.
            continue
        numbers: dict[Any, int] = {}
        clusters = np.array(
            [
                numbers.setdefault(object() if value is None else value, len(numbers))
                for value in chosen
            ],
            np.int64,
        )
        if FEWEST <= len(numbers) <= _MOST_VALUES * len(rows):
            yield name, clusters


def _are_enough(weights: Sequence[Doubles], clusters: Int64s) -> bool:
    """Return True if most comparisons have at least `FEWEST` effective clusters of documents.

    Parameters
    ----------
    weights : sequence of (m,) float64
        For each comparison, the weight of each document in the difference (`Fit.weights`).
    clusters : (m,) int64
    """
    numbers = []
    for of_documents in weights:
        squares = np.bincount(clusters, of_documents) ** 2
        numbers.append(squares.sum() ** 2 / max((squares**2).sum(), 1e-300))
    return bool(np.median(numbers) >= FEWEST)


def _ratio(influence: Doubles, clusters: Int64s) -> float:
    """Return the design effect of clusters (see `SourceLikeness`), averaged over topics."""
    if int(clusters.max(initial=-1)) + 1 < FEWEST:
        return 0.0
    alone = (influence**2).sum(axis=0)
    together = (_sum_by(clusters, influence) ** 2).sum(axis=0)
    known = alone > 0
    return float((together[known] / alone[known]).mean()) if known.any() else 0.0
