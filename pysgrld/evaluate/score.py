"""Scores of held-out documents: kinds of scores, values with standard errors, and scorers.

A scorer scores draws of a model's topics, and averages their predictions over posterior samples: it
takes the mean of probabilities or densities, before the logarithm.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from pysgrld.core.arithmetic import dot, logaddexp
from pysgrld.core.draws import Draw
from pysgrld.core.restore import restore_arrays
from pysgrld.evaluate.held_out import HeldOut
from pysgrld.types import Array, Doubles, Int32s, Int64s, Key

#: Topics and word counts predict equally well if their perplexities differ by less than this
#: fraction.
EVEN = 0.005
#: If the relative standard error of a perplexity exceeds this number, too few documents are held
#: out for a remark on the topics.
_ROUGH = 0.1


@dataclass(frozen=True)
class Score:
    """Kind of held-out score that a model uses, for example perplexity; lower scores are better.

    Attributes
    ----------
    name : str
        Key in ``metrics.jsonl`` and in JSON output; keys of related scores are ``point_...``,
        ``unigram_...`` and ``pooled_...``.
    title : str
        Name in messages and tables.
    decimals : int
        Number of decimals that are shown.
    whole : bool
        True if whole documents are scored; False if one part of a document is scored, given its
        other part.
    unit : str
        Unit of the score; empty if the title has it.
    extra_counts : tuple of (str, str)
        Whole numbers that are shown next to the score: their keys in a line of ``metrics.jsonl``,
        and nouns for the things that they count.
    further : tuple of (str, str, str)
        Further numbers of the scorer (`Scorer.metrics`): their keys, titles, and meanings.
    error, point, unigram, pooled : str
        Keys of the standard error, of the current topics' score, of the score of the training
        documents' word frequencies, and of the score of all chains of a run together.
    """

    name: str
    title: str
    decimals: int
    whole: bool
    unit: str = ""
    extra_counts: tuple[tuple[str, str], ...] = ()
    further: tuple[tuple[str, str, str], ...] = ()
    error: str = field(init=False)
    point: str = field(init=False)
    unigram: str = field(init=False)
    pooled: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "error", f"{self.name}_se")
        for key in ("point", "unigram", "pooled"):
            object.__setattr__(self, key, f"{key}_{self.name}")

    def show(self, value: float, error: float | None = None) -> str:
        """Format a value, followed by its standard error if the error is known.

        The error gets two significant digits, and the value the same number of decimals.
        """
        rounded = self.show_rounded(value, error)
        if not error or not math.isfinite(error):
            return rounded
        return f"{rounded} ± {self.show_rounded(error, error)}"

    def show_rounded(self, value: float, error: float | None) -> str:
        """Format a value, without its standard error, to as many decimals as the error warrants."""
        decimals = self.decimals
        if error and math.isfinite(error):
            decimals = max(0, min(decimals, 1 - math.floor(math.log10(error))))
        return f"{value:,.{decimals}f}"

    def remark(self, record: Mapping[str, Any]) -> str:
        """Return a remark if topics predict no better than word counts, else an empty text.

        Parameters
        ----------
        record : mapping
            A line of ``metrics.jsonl``.
        """
        values = [record.get(key) for key in (self.name, self.error, self.unigram)]
        # A damaged record may have values that are no numbers.
        now, error, before = (
            value if isinstance(value, int | float) else math.nan for value in values
        )
        is_known = self.name == "perplexity" and error <= _ROUGH * now
        if not (is_known and now >= (1 - EVEN) * before):
            return ""
        return (
            "topics predict no better than word frequencies alone (perplexity "
            f"{self.show(now)}, word frequencies {self.show(before)}); give more documents, or "
            "split long documents (--chunk 500)"
        )

    def shown_metrics(self, figures: Mapping[str, Any]) -> str:
        """Format the metrics in `extra_counts`, to be printed after the score."""
        return "".join(f", {figures[name]:,} {noun}" for name, noun in self.extra_counts)


_NO_DOCUMENTS: Doubles = np.empty(0)


class Estimate(float):
    """A score of held-out documents: a float that also stores the influence of each document.

    Documents are treated as a random sample of similar documents, and the standard error is
    computed over documents by the delta method. `subtract` compares two scores of the same documents
    in pairs, which cancels the part of the error that comes from documents that are hard for both.

    Attributes
    ----------
    influence : (n,) float64
        First-order effect of each document on the deviation of the score from its value in an infinite
        corpus; the effects sum to 0.
    ratio : tuple of (n,) float64, or None
        For a perplexity, the log probability and the number of tokens of each document; otherwise
        None.
    """

    influence: Doubles
    ratio: tuple[Doubles, Doubles] | None

    def __new__(
        cls,
        value: float,
        influence: Doubles = _NO_DOCUMENTS,
        ratio: tuple[Doubles, Doubles] | None = None,
    ) -> Self:
        """Create an estimate from a value and the influence of each document on the value."""
        estimate = super().__new__(cls, value)
        estimate.influence, estimate.ratio = influence, ratio
        return estimate

    @classmethod
    def mean(cls, value: float, values: Doubles) -> Self:
        """Create an estimate from a value, which is the mean of ``values`` plus a constant.

        ``values`` has a number for each document.
        """
        return cls(value, (values - values.mean()) / len(values))

    @classmethod
    def perplexity(cls, value: float, logs: Doubles, tokens: Doubles) -> Self:
        """Create the estimate of a perplexity, exp(-sum of log probabilities / number of tokens).

        Parameters
        ----------
        value : float
        logs : (n,) float64
            Log probability of each document's held-out tokens.
        tokens : (n,) float64
            Number of each document's held-out tokens.
        """
        total = tokens.sum()
        # If a token has probability 0, the perplexity is infinite and has no error.
        with np.errstate(invalid="ignore"):
            influence = -value / total * (logs - tokens * (logs.sum() / total))
        return cls(value, influence, (logs, tokens))

    @classmethod
    def combine(cls, figures: Sequence[Estimate]) -> Estimate:
        """Return the mean of scores of the same documents; the geometric mean of perplexities."""
        ratios = [figure.ratio for figure in figures if figure.ratio is not None]
        if len(ratios) == len(figures):
            logs = np.mean([logs for logs, _ in ratios], axis=0)
            value = math.exp(np.mean([math.log(figure) for figure in figures]))
            return cls.perplexity(value, logs, ratios[0][1])
        mean = float(np.mean([float(figure) for figure in figures]))
        return cls(mean, np.mean([figure.influence for figure in figures], axis=0))

    @property
    def error(self) -> float:
        """The standard error, or NaN with fewer than two documents."""
        n = len(self.influence)
        if n < 2:
            return math.nan
        return math.sqrt(n / (n - 1) * dot(self.influence, self.influence))

    def among(self, drawn: Int64s) -> float:
        """Return the score of a subset or bootstrap resample of documents, given their indices.

        Parameters
        ----------
        drawn : (m,) int64
            Indices of documents, which may be repeated.
        """
        if self.ratio is None:
            return float(self + self.influence[drawn].sum() * (len(self.influence) / len(drawn)))
        logs, tokens = self.ratio
        return math.exp(-float(logs[drawn].sum()) / float(tokens[drawn].sum()))

    def subtract(self, other: Estimate) -> Estimate:
        """Return the difference from another score of the same documents, with its standard error."""
        return Estimate(self - other, self.influence - other.influence)


class Scorer(ABC):
    """Base class of scorers of posterior draws on held-out documents, with a running average.

    Attributes
    ----------
    prefix : str
        Prefix of the names of the scorer's arrays in a checkpoint.
    held_out : HeldOut
    words : (R,) int32
        The words that a score needs; draws that are passed to the scorer have only the rows of
        these words.
    samples : int
        Number of posterior samples in the running average.
    units : int or None
        For a score in nats per document, the number of tokens or distinct words, to convert it to a
        perplexity; None if the score is a perplexity.
    """

    prefix: str
    held_out: HeldOut
    words: Int32s
    samples: int = 0
    units: int | None = None

    # ---- scores of one draw

    @abstractmethod
    def logs(self, key: Key, parts: Draw) -> Doubles:
        """Return the log probabilities of words, or the log densities of documents, given one draw.

        The running average does not change.
        """

    @abstractmethod
    def score(self, logs: Doubles) -> Estimate:
        """Convert log probabilities or log densities from `logs` to a score."""

    def point(self, key: Key, parts: Draw) -> Estimate:
        """Return the score of one draw, leaving the running average unchanged."""
        return self.score(self.logs(key, parts))

    @abstractmethod
    def log_probability(self, key: Key, parts: Draw) -> float:
        """Return the mean log probability of a held-out token or whole document for one draw.

        The documents' variables are also a single draw, which continues from the previous draw.
        """

    @abstractmethod
    def unigram(self, counts: Int64s) -> Estimate:
        """Return the score of a unigram model that is fitted to training counts plus 0.01.

        Parameters
        ----------
        counts : (V,) int64
            Number of occurrences of each word in training.
        """

    # ---- average over samples

    @abstractmethod
    def update(self, key: Key, parts: Draw) -> float:
        """Add a posterior sample to the running average, and return the averaged score."""

    @abstractmethod
    def log_averages(self) -> Doubles:
        """Return the logs of the running averages of probabilities or densities.

        At least one sample must have been added.
        """

    def average(self) -> Estimate:
        """Return the score of the running average, or NaN before the first sample."""
        if not self.samples:
            return Estimate(math.nan, np.full(len(self.held_out.held_out), math.nan))
        return self.score(self.log_averages())

    def share_gained(self, before: float, now: float) -> float:
        """Return the relative reduction of perplexity from one score to another, 1 - now / before."""
        if self.units is None:
            return 1.0 - now / before
        # Limit the exponent, because a forged average in a checkpoint could cause an overflow.
        return -math.expm1(min((now - before) * len(self.held_out.held_out) / self.units, 700.0))

    def metrics(self) -> dict[str, float]:
        """Return additional scores of the samples so far, with the keys that `Score.further` lists."""
        return {}

    def shares(self, layer: int) -> Doubles | None:
        """Return each topic's share of a layer's tokens in the last draw, (K,).

        Return None if scoring does not assign tokens to topics.
        """
        del layer
        return None

    # ---- checkpoints

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """Return the arrays from which the average can be continued exactly.

        They are the scorer's own arrays, into which `restore` writes, and a copy of ``samples``.
        """

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the state that `arrays` returned.

        Raises
        ------
        CheckpointError
            If the arrays do not fit these documents.
        """
        current = self.arrays()
        restore_arrays(current, arrays, self.prefix)
        self.samples = int(current["samples"].flat[0])


class DensityScorer(Scorer):
    """Scorer of whole documents; the score is minus the mean log density of the documents.

    Parameters
    ----------
    held_out : HeldOut
        Held-out documents without observed parts.
    words : (R,) int32
    units : int
        Number of tokens or distinct words of the documents, to convert the score to a perplexity.
    """

    prefix = "density."

    def __init__(self, held_out: HeldOut, words: Int32s, units: int) -> None:
        self.held_out, self.words, self.units = held_out, words, units
        # Log of the sum, over samples, of each document's density.
        self._total: Doubles = np.zeros(len(held_out.held_out))

    def score(self, logs: Doubles) -> Estimate:
        """Return minus the mean of the documents' log densities."""
        return Estimate.mean(-float(logs.mean()), -logs)

    def log_probability(self, key: Key, parts: Draw) -> float:
        """Return the mean log density of a document for one draw."""
        return -self.point(key, parts)

    def update(self, key: Key, parts: Draw) -> float:
        """Add a posterior sample to the running average, and return the averaged score."""
        log_densities = self.logs(key, parts)
        self._total = logaddexp(self._total, log_densities) if self.samples else log_densities
        self.samples += 1
        return self.average()

    def log_averages(self) -> Doubles:
        """Return the log of each document's density, averaged over posterior samples."""
        return self._total - math.log(self.samples)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays from which `restore` continues the average exactly."""
        return {"total": self._total, "samples": np.array([self.samples])}


def pooled_score(scorers: Sequence[Scorer]) -> Estimate:
    """Return the score of the posterior average over several chains of equal weight.

    The score takes the mean of probabilities, or of densities, before the logarithm. Topics need
    not be matched, as predictions do not depend on the order of topics. As the logarithm is
    concave, the score is never worse than the score of the mean of the chains' log probabilities.

    Parameters
    ----------
    scorers : sequence of Scorer
        A scorer for each chain, with at least one sample; all have the same held-out documents.
    """
    total = functools.reduce(logaddexp, [scorer.log_averages() for scorer in scorers])
    return scorers[0].score(total - math.log(len(scorers)))
