"""SCIR: stochastic Cox-Ingersoll-Ross (Baker, Fearnhead, Fox, Nemeth 2018, section 2).

Kernel: cpp/kernels/simplex_scir.cpp (rows), simplex_scir_log.cpp (logarithms).

A block may request the *natural rate*, which is not in the paper: kappa = 1 + N_k/s_k, frozen for a step,

    dg = (eta + N - kappa g) dt + sqrt(2 g) dW,  e = exp(-kappa h), c = (1 - e) / kappa

with the target of SGRLD, s_k ~ Gamma(V eta), but without reflection and its bias: for fixed counts
phi is exact for every step, as with the paper's rate, for which s_k is about V eta + N_k. In phi
such a step moves as much as a step of kappa h. Its rows cannot be lazy: kappa changes with every
iteration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from pysgrld.core import core
from pysgrld.core.arithmetic import exp
from pysgrld.errors import UsageError
from pysgrld.options.option import Steps
from pysgrld.samplers.lazy_rows import DENSE, LazyRows
from pysgrld.samplers.log_rows import (
    FLOAT_ETA,
    LogRows,
    RowsOrLogs,
    cir_transition,
    gamma_shapes,
    log_sums,
)
from pysgrld.samplers.rows import Rows, totals
from pysgrld.samplers.sampler import SamplerFacts, SamplerSettings
from pysgrld.samplers.state import BlockState, Counts
from pysgrld.types import Block, Key

#: Rows are lazy only if the vocabulary is at least this many times as large as the number of
#: distinct words in a minibatch.
LAZY_FROM = 2.0
#: Rows are lazy only if the expected mass of a topic, V eta + N/K, is at least this multiple of
#: `DENSE`. With less mass, all rows would be updated, and lazy rows would save nothing.
LAZY_SCALE = 5.0
#: The default step size depends on c, the weight in a step of each token of the minibatch. c is the
#: mean number of tokens per word, N/V, divided by this number.
OF_A_WORD = 12.0
#: Minimum of c in the rule for the default step size. With a smaller c, chains take long to forget
#: their initial state.
FEWEST_TOKENS = 2.0
#: Maximum of c in the rule for the default step size, unless the step size would then be below 0.02
#: (docs/internals/defaults.md).
MOST_TOKENS = 10.0


@dataclass(frozen=True)
class ScirSettings(SamplerSettings):
    """Settings of SCIR: the rate of its CIR processes, and whether rows are lazy.

    Lazy rows are updated only when a minibatch reads them.
    """

    cir_rate: Literal["paper", "natural"] = "paper"
    lazy: Literal["on", "off"] = "off"

    @classmethod
    def resolve(cls, values: Mapping[str, Any], facts: SamplerFacts) -> Self:
        """Return the settings for a corpus; for ``lazy`` = "auto", decide whether rows are lazy.

        The decision follows from counts of words, never from a clock.

        Raises
        ------
        UsageError
            If lazy rows are requested but impossible.
        """
        natural, lazy = values["cir-rate"] == "natural", values["lazy"]
        if lazy == "on" and natural:
            raise UsageError(
                "--set lazy=on cannot be combined with --set cir-rate=natural; leave out --set lazy"
            )
        if lazy == "on" and facts.eta < FLOAT_ETA:
            raise UsageError(
                f"--set lazy=on needs --eta of at least {FLOAT_ETA}, but --eta is {facts.eta:g}; "
                "leave out --set lazy, or give a larger --eta"
            )
        if lazy == "auto":
            mass = facts.words * facts.eta + facts.tokens / facts.topics
            can = not natural and facts.eta >= FLOAT_ETA and mass >= LAZY_SCALE * DENSE
            pays = can and facts.words >= LAZY_FROM * facts.minibatch_words()
            lazy = "on" if pays else "off"
        return cls(values["cir-rate"], lazy)

    @property
    def has_lazy_rows(self) -> bool:
        """True if rows are lazy, that is, updated only when a minibatch reads them."""
        return self.lazy == "on"

    def average_rate(self, block: Block, tokens: float) -> float:
        """Return an average topic's mean-reversion rate: 1, or the natural 1 + N_k / (V eta)."""
        v, k = block.shape
        return 1.0 + tokens / (k * v * block.prior) if self.cir_rate == "natural" else 1.0


def default_step(facts: SamplerFacts, settings: ScirSettings) -> Steps:
    """Return a constant step size, which is proportional to a minibatch's fraction of the corpus.

    It is c B/D, at most 1, and is divided by the average rate if the rate is natural.

    A token of a minibatch counts as c tokens after the step, which must be few compared with the
    word's own tokens. c is N/(12 V) within `FEWEST_TOKENS` and `MOST_TOKENS`. Above these, c is
    large enough for a step of 0.02, so that runs over a small part of a large corpus move.
    """
    share = facts.minibatch / facts.documents
    seen = facts.length * facts.documents / (OF_A_WORD * facts.words)
    h = max(min(max(seen, FEWEST_TOKENS), MOST_TOKENS) * share, min(0.02, seen * share))
    h = min(1.0, h)
    if settings.cir_rate == "natural":
        h /= 1.0 + facts.tokens / (facts.topics * facts.words * facts.eta)
    return (h, 1.0, 0.0)


class LogCir(LogRows):
    """Topics stored as logarithms, updated by CIR transitions."""

    @classmethod
    def from_warm_up(cls, warm: LogRows) -> Self:
        """Start sampling after a warm-up; with the natural rate, scale each topic to the sum V eta.

        The probabilities phi do not change.
        """
        if warm.block.settings.cir_rate == "natural":
            total = warm.block.shape[0] * warm.block.prior
            warm.log_g += math.log(total) - log_sums(warm.log_g)
        return super().from_warm_up(warm)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make one CIR transition of length ``h``, with gamma shape eta + N_kw for each word."""
        kappa = None
        if self.block.settings.cir_rate == "natural":
            ratio = totals(statistics, self.block) * exp(-log_sums(self.log_g))
            kappa = np.minimum(1.0 + ratio, 1e30)
        cir_transition(
            key,
            self.log_g,
            gamma_shapes(statistics, self.block),
            stream=self.block.stream,
            h=h,
            threads=self.threads,
            kappa=kappa,
        )


class Cir(RowsOrLogs):
    """Topics stored as rows, updated by CIR transitions."""

    logs = LogCir
    held = ("g",)

    @classmethod
    def form(cls, block: Block) -> type[BlockState[Any]]:
        """Return `LazyCir` if rows are lazy and minibatches are sparse, else the usual class."""
        return LazyCir if block.sparse and block.settings.has_lazy_rows else super().form(block)

    @classmethod
    def from_warm_up(cls, warm: Rows) -> Self:
        """Start sampling after a warm-up; with the natural rate, scale each topic to the sum V eta.

        The probabilities phi do not change.
        """
        if warm.block.settings.cir_rate == "natural":
            v, k = warm.block.shape
            rows, total = warm.owned_rows(np.arange(v, dtype=np.int32)), v * warm.block.prior
            warm.g[rows, :k] *= (total / warm.sums[:k]).astype(np.float32)
            warm.recompute_sums()
        return super().from_warm_up(warm)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make one CIR transition of length ``h``, with gamma shape eta + N_kw for each word.

        The transition is exact for any ``h``.
        """
        if self.block.settings.cir_rate == "natural":
            totals = self.totals_argument(statistics)
            self.step_with_kernel(core.simplex_scir_natural, key, statistics, h=h, **totals)
        else:
            self.step_with_kernel(core.simplex_scir, key, statistics, h=h)


class LazyCir(LazyRows):
    """Topics stored as lazy rows: the CIR transitions of a row are made when the row is read."""

    step_all = staticmethod(core.simplex_scir)
    step_some = staticmethod(core.simplex_scir_rows)
