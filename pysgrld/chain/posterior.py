"""Running averages over posterior samples: score and mean topics, and whether the score has settled."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.chain.protocol import Chain
from pysgrld.core.draws import Draw
from pysgrld.core.restore import put_back
from pysgrld.errors import CheckpointError
from pysgrld.evaluate import Estimate, Scorer
from pysgrld.types import Array, Doubles

#: A run has settled when doubling the sampling time bought less than this share,
SETTLED = 0.005
#: and not before this many posterior samples.
SETTLED_SAMPLES = 50

#: Names of arrays in a checkpoint: the number of samples, averaged scores, and a block's sum of them.
_PREFIX = "posterior."
_SAMPLES, _HISTORY, _SUM = f"{_PREFIX}samples", f"{_PREFIX}history", f"{_PREFIX}sum."


def samples_in(arrays: Mapping[str, Array]) -> int:
    """Return the number of posterior samples that a checkpoint's arrays are averages of."""
    return int(arrays[_SAMPLES][0]) if _SAMPLES in arrays else 0


def history_in(arrays: Mapping[str, Array]) -> Doubles:
    """Return the averaged score after each posterior sample that a checkpoint's arrays have."""
    return arrays.get(_HISTORY, np.empty(0)).astype(np.float64)


def sums_in(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the sums of posterior samples in a checkpoint, by block; none where no mean is kept."""
    return {n.removeprefix(_SUM): total for n, total in arrays.items() if n.startswith(_SUM)}


def score_in(arrays: Mapping[str, Array]) -> float:
    """Return the averaged score at the last sample of a checkpoint; NaN where there is none."""
    history = arrays.get(_HISTORY, np.empty(0))
    return float(history[-1]) if len(history) else math.nan


def without_scores(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return a checkpoint's arrays for a chain that goes on where nothing is scored any more."""
    return dict(arrays) | {_HISTORY: np.empty(0)}


#: A score of no documents.
_NOTHING = Estimate(math.nan, np.empty(0))


class Settled(NamedTuple):
    """The two averaged scores that show that a run has settled.

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


def has_settled(history: Sequence[float], share_gained: Callable[[float, float], float]) -> bool:
    """Say whether doubling the number of posterior samples has bought less than 0.5 %.

    Parameters
    ----------
    history : sequence of float
        Averaged score after each sample.
    share_gained : callable (before, now)
        Of the scorer.
    """
    if len(history) < SETTLED_SAMPLES:
        return False
    half = len(history) // 2  # the last sample not after half of the sampling time
    return not share_gained(history[half - 1], history[-1]) >= SETTLED


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

    Attributes
    ----------
    first : int
        Iteration of the first posterior sample.
    """

    def __init__(
        self, chain: Chain, scorer: Scorer | None, burn_in: int, every: int, keep_mean: bool
    ) -> None:
        self.chain, self.scorer = chain, scorer
        self.burn_in, self.every = burn_in, every
        self.first = burn_in + every
        self.draws, self.samples = chain.draws, 0
        self._sums: dict[str, Doubles] = chain.totals() if keep_mean else {}
        self._history = array("d")  # averaged score after each sample: runs are long

    @property
    def due(self) -> bool:
        """Whether the chain stands at a posterior sample."""
        after = self.chain.step - self.burn_in
        return after > 0 and after % self.every == 0

    def take_sample(self) -> None:
        """Take the current topics as a posterior sample; of an approximation, only their score.

        The mean takes what is expected of rows that were left behind: no need to draw them, and
        less noise for the same mean. Held-out documents are scored by a draw of their words.
        """
        chain = self.chain
        if not self.draws:
            if self.scorer is not None:
                self._history.append(self.point())
            return
        if self._sums:
            chain.add_to(self._sums)
        if self.scorer is not None:
            draw = chain.draw(self.scorer.words)
            self._history.append(self.scorer.update(chain.key, draw))
        self.samples += 1

    @property
    def score(self) -> float:
        """Averaged score at the last sample; NaN before the first.

        Of an approximation, which has none, that of its topics when last observed.
        """
        return self._history[-1] if self._history else math.nan

    def average(self) -> Estimate:
        """Compute the averaged score, with its standard error; NaN where there is none."""
        return _NOTHING if self.scorer is None else self.scorer.average()

    def point(self) -> Estimate:
        """Compute the score of the current topics; NaN without held-out documents."""
        if self.scorer is None:
            return _NOTHING
        return self.scorer.point(self.chain.key, self.chain.draw(self.scorer.words))

    def settled(self) -> Settled | None:
        """Say whether doubling the sampling time has bought less than 0.5 %.

        Looks only at posterior samples, so that the same seed ends at the same iteration.
        """
        if self.scorer is None or not has_settled(self._history, self.scorer.share_gained):
            return None
        half = len(self._history) // 2
        now, before = self._history[-1], self._history[half - 1]
        return Settled(now, before, self.burn_in + half * self.every)

    def mean(self) -> Draw | None:
        """Return the posterior mean of all blocks, as `Chain.draw` does; None before the first sample."""
        if not self._sums or self.samples == 0:
            return None
        return {n: (total / self.samples).astype(np.float32) for n, total in self._sums.items()}

    def figures(self) -> dict[str, float]:
        """Return further figures of the samples so far, as the model's paper defines them."""
        return self.scorer.figures() if self.scorer is not None else {}

    def averages(self) -> dict[str, Array]:
        """Return `arrays` without the scorer's, whose documents may be gone."""
        return {n: a for n, a in self.arrays().items() if n.startswith(_PREFIX)}

    def arrays(self) -> dict[str, Array]:
        """Return the arrays from which all averages and the scorer go on exactly."""
        arrays: dict[str, Array] = {
            _SAMPLES: np.array([self.samples]),
            _HISTORY: np.array(self._history, np.float64),
        }
        arrays |= {_SUM + name: total for name, total in self._sums.items()}
        if self.scorer is not None:
            arrays |= {self.scorer.prefix + n: a for n, a in self.scorer.arrays().items()}
        return arrays

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays`.

        Raises
        ------
        CheckpointError
            If they are not what `arrays` gives of this run.
        """
        history = arrays.get(_HISTORY, np.empty(0))
        own = {n: a for n, a in self.arrays().items() if n.startswith(_PREFIX)}
        own[_HISTORY] = np.empty(len(history))
        put_back(own, arrays)
        self.samples = int(own[_SAMPLES][0])
        if self.samples < 0 or (self.draws and len(history) not in (0, self.samples)):
            raise CheckpointError(
                f"the checkpoint has {self.samples} samples and a history of {len(history)}"
            )
        self._history = array("d", own[_HISTORY].tolist())
        if self.scorer is not None:
            prefix = self.scorer.prefix
            self.scorer.restore(
                {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            )


class Thinning(NamedTuple):
    """The rule by which samples are kept: every one until there are ``limit``, then every second, ...

    A pure function of the number of samples, so that a resumed run keeps the same ones.
    """

    limit: int

    def spacing(self, samples: int) -> int:
        """Return the spacing of the kept samples when ``samples`` were taken."""
        spacing = 1
        while samples // spacing > self.limit:
            spacing *= 2
        return spacing

    def kept(self, samples: int) -> list[int]:
        """Return the ordinals (from 1) of the samples that are kept when ``samples`` were taken."""
        s = self.spacing(samples)
        return list(range(s, samples + 1, s))
