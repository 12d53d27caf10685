"""What is kept of a chain: the averaged score, the mean topics, some samples, and when to stop."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pysgrld.begin import AnyChain
from pysgrld.errors import CheckpointError
from pysgrld.evaluate import Scorer
from pysgrld.restore import put_back
from pysgrld.types import Array, Doubles, Key, Parts

#: A run has settled when doubling the sampling time bought less than this share,
SETTLED = 0.005
#: and not before this many posterior samples.
SETTLED_SAMPLES = 50


class Settled(NamedTuple):
    """The two figures behind the decision to stop.

    Attributes
    ----------
    score, at_half : float
        Averaged score now, and when half of the sampling was done.
    half : int
        The iteration of the latter.
    """

    score: float
    at_half: float
    half: int


class Thinning(NamedTuple):
    """Which posterior samples are kept: every one until there are ``limit``, then every second, ...

    A pure function of the number of samples, so that a resumed run keeps the same ones.
    """

    limit: int

    def spacing(self, samples: int) -> int:
        """Spacing of the kept samples when ``samples`` were taken."""
        spacing = 1
        while samples // spacing > self.limit:
            spacing *= 2
        return spacing

    def kept(self, samples: int) -> list[int]:
        """Ordinals (from 1) of the samples that are kept when ``samples`` were taken."""
        s = self.spacing(samples)
        return list(range(s, samples + 1, s))


class Posterior:
    """Running averages over the posterior samples of one chain.

    Parameters
    ----------
    chain : Chain
    scorer : Scorer or None
        None without held-out documents.
    burn_in, every : int
        Iterations before the first sample is due, and between samples.
    keep_mean : bool
        Whether the mean of the topics is kept.
    """

    def __init__(
        self, chain: AnyChain, scorer: Scorer | None, burn_in: int, every: int, keep_mean: bool
    ) -> None:
        self.chain, self.scorer = chain, scorer
        self.burn_in, self.every = burn_in, every
        self.draws, self.samples = chain.sampler.draws, 0
        self._sums: dict[str, Doubles] = chain.totals() if keep_mean else {}
        self._history = array("d")  # averaged score after each sample: runs are long

    @property
    def due(self) -> bool:
        """Whether the chain stands at a posterior sample."""
        after = self.chain.step - self.burn_in
        return after > 0 and after % self.every == 0

    def observe(self) -> None:
        """Take the current topics as a posterior sample; of an approximation, only their score.

        The mean takes what is expected of rows that were left behind: no need to draw them, and
        less noise for the same mean. Held-out documents are scored by a draw of their words.
        """
        chain, key = self.chain, Key(self.chain.seed, self.chain.chain, self.chain.step)
        if not self.draws:
            if self.scorer is not None:
                self._history.append(self.point())
            return
        if self._sums:
            chain.add_parts(self._sums)
        if self.scorer is not None:
            parts = chain.parts(self.scorer.words)
            self._history.append(self.scorer.update(key, parts))
        self.samples += 1

    @property
    def score(self) -> float:
        """Averaged score at the last sample; NaN before the first.

        Of an approximation, which has none, that of its topics when last observed.
        """
        return self._history[-1] if self._history else math.nan

    def point(self) -> float:
        """Score of the current topics."""
        if self.scorer is None:
            return math.nan
        chain = self.chain
        key = Key(chain.seed, chain.chain, chain.step)
        return self.scorer.point(key, chain.parts(self.scorer.words))

    def settled(self) -> Settled | None:
        """Say whether doubling the sampling time has bought less than 0.5 %.

        Looks only at posterior samples, so that the same seed ends at the same iteration.
        """
        observed = len(self._history)
        if self.scorer is None or observed < SETTLED_SAMPLES:
            return None
        half = observed // 2  # the last sample not after half of the sampling time
        now, before = self._history[-1], self._history[half - 1]
        if self.scorer.bought(before, now) >= SETTLED:
            return None
        return Settled(now, before, self.burn_in + half * self.every)

    def mean(self) -> Parts | None:
        """Posterior mean of every block, as `Chain.parts` has it; None before the first sample."""
        if not self._sums or self.samples == 0:
            return None
        return {n: (total / self.samples).astype(np.float32) for n, total in self._sums.items()}

    def figures(self) -> dict[str, float]:
        """Further figures of the samples so far, as the model's paper defines them."""
        return self.scorer.figures() if self.scorer is not None else {}

    def arrays(self) -> dict[str, Array]:
        """What a checkpoint must hold for all of this to go on exactly."""
        arrays: dict[str, Array] = {
            "posterior.samples": np.array([self.samples]),
            "posterior.history": np.array(self._history, np.float64),
        }
        arrays |= {f"posterior.sum.{name}": total for name, total in self._sums.items()}
        if self.scorer is not None:
            arrays |= {self.scorer.prefix + n: a for n, a in self.scorer.state().items()}
        return arrays

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays`.

        Raises
        ------
        CheckpointError
            If they are not what `arrays` gives of this run.
        """
        history = arrays.get("posterior.history", np.empty(0))
        own = {n: a for n, a in self.arrays().items() if n.startswith("posterior.")}
        own["posterior.history"] = np.empty(len(history))
        put_back(own, arrays)
        self.samples = int(own["posterior.samples"][0])
        if self.samples < 0 or (self.draws and len(history) not in (0, self.samples)):
            raise CheckpointError(
                f"the checkpoint has {self.samples} samples and a history of {len(history)}"
            )
        self._history = array("d", own["posterior.history"].tolist())
        if self.scorer is not None:
            prefix = self.scorer.prefix
            self.scorer.restore(
                {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            )
