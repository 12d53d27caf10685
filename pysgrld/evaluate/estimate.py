"""A figure of held-out documents that knows its standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from pysgrld.core.arithmetic import dot
from pysgrld.types import Doubles, Int64s


class Estimate(float):
    """A number that sums up held-out documents, and how much each of them moves it.

    Documents are what is drawn at random: another corpus of the kind would have others. The standard
    error is that of the delta method over them. Figures of the same documents are compared in pairs, by
    `minus`, which leaves out what makes a document hard for both.

    Attributes
    ----------
    influence : (n,) float64
        What each document adds to the deviation of the figure from its value in a corpus without end, to
        first order; they sum to 0.
    ratio : tuple of (n,) float64, or None
        Of a perplexity, log probability and tokens of each document.
    """

    influence: Doubles
    ratio: tuple[Doubles, Doubles] | None

    def __new__(
        cls, value: float, influence: Doubles, ratio: tuple[Doubles, Doubles] | None = None
    ) -> Self:
        """Make a figure of its value and the influences of its documents."""
        figure = super().__new__(cls, value)
        figure.influence, figure.ratio = influence, ratio
        return figure

    def __reduce__(
        self,
    ) -> tuple[type[Self], tuple[float, Doubles, tuple[Doubles, Doubles] | None]]:
        """Give what makes a copy, for whoever sends a figure to another process."""
        return type(self), (float(self), self.influence, self.ratio)

    @classmethod
    def mean(cls, value: float, values: Doubles) -> Self:
        """Make a figure that is a constant and the mean of a value of each document."""
        return cls(value, (values - values.mean()) / len(values))

    @classmethod
    def perplexity(cls, value: float, logs: Doubles, tokens: Doubles) -> Self:
        """Make a figure that is exp(-sum logs / sum tokens).

        Parameters
        ----------
        value : float
        logs : (n,) float64
            Log probability of each document's held-out tokens.
        tokens : (n,) float64
            How many they are.
        """
        total = tokens.sum()
        with np.errstate(invalid="ignore"):  # of a token of no probability: infinity has no error
            influence = -value / total * (logs - tokens * (logs.sum() / total))
        return cls(value, influence, (logs, tokens))

    @classmethod
    def averaged(cls, figures: Sequence[Estimate]) -> Estimate:
        """Average figures of the same documents: perplexities by their logarithms, others as they are."""
        ratios = [figure.ratio for figure in figures if figure.ratio is not None]
        if len(ratios) == len(figures):
            logs = np.mean([logs for logs, _ in ratios], axis=0)
            value = math.exp(np.mean([math.log(figure) for figure in figures]))
            return cls.perplexity(value, logs, ratios[0][1])
        mean = float(np.mean([float(figure) for figure in figures]))
        return cls(mean, np.mean([figure.influence for figure in figures], axis=0))

    @property
    def error(self) -> float:
        """The standard error; NaN of fewer than two documents."""
        n = len(self.influence)
        if n < 2:
            return math.nan
        return math.sqrt(n / (n - 1) * dot(self.influence, self.influence))

    def among(self, drawn: Int64s) -> float:
        """Give the figure of other documents: some of these, by their numbers, repetitions counted.

        Parameters
        ----------
        drawn : (m,) int64
        """
        if self.ratio is None:
            return float(self + self.influence[drawn].sum() * (len(self.influence) / len(drawn)))
        logs, tokens = self.ratio
        return math.exp(-float(logs[drawn].sum()) / float(tokens[drawn].sum()))

    def minus(self, other: Estimate) -> Estimate:
        """Give the difference to another figure of the same documents, with its own error."""
        return Estimate(self - other, self.influence - other.influence)
