"""Running averages over posterior samples: score and mean topics, and whether the score has converged."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.chain.protocol import Chain
from pysgrld.core.draws import Draw
from pysgrld.core.restore import Form, Within, put_back
from pysgrld.errors import CheckpointError
from pysgrld.evaluate import Estimate, Scorer
from pysgrld.types import Array, Doubles

#: A run has converged when doubling the sampling time gains less than this share,
SETTLED = 0.005
#: and not before this many posterior samples.
SETTLED_SAMPLES = 50

#: Names of arrays in a checkpoint: the number of samples, averaged scores, and a block's sum of them.
PREFIX = "posterior."
#: Arrays of the scorer of training documents, and of its averaged score after each sample.
WATCH, WATCHED = "watch.", "watch.history"
_SAMPLES, HISTORY, SUMS = f"{PREFIX}samples", f"{PREFIX}history", f"{PREFIX}sum."
_NUMBER, _HISTORY = Form(np.int64, (1,)), Form(np.float64, (-1,))


class Averages(NamedTuple):
    """The running averages that a checkpoint has.

    Attributes
    ----------
    samples : int
        Posterior samples that they are averages of.
    history : (n,) float64
        Averaged score after each posterior sample.
    sums : mapping of array
        Sums of the samples by block; empty if the run stores no mean.
    """

    samples: int
    history: Doubles
    sums: Mapping[str, Array]


def averages_in(arrays: Mapping[str, Array]) -> Averages:
    """Return the running averages among the arrays of a checkpoint.

    Parameters
    ----------
    arrays : mapping
        Arrays of a checkpoint, by name.

    Returns
    -------
    Averages

    Raises
    ------
    CheckpointError
        If they have other types or shapes, or a negative number of samples.
    """
    samples = int(_NUMBER.take(arrays, _SAMPLES)[0]) if _SAMPLES in arrays else 0
    if samples < 0:
        raise CheckpointError(f"array {_SAMPLES!r} of the checkpoint has {samples}")
    history = _HISTORY.take(arrays, HISTORY) if HISTORY in arrays else np.empty(0)
    sums = Within(arrays, SUMS)
    return Averages(samples, history, sums)


class Settled(NamedTuple):
    """The two averaged scores that show that a run has converged.

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


def has_settled(
    history: Sequence[float],
    share_gained: Callable[[float, float], float],
    least: float = SETTLED,
    fewest: int = SETTLED_SAMPLES,
) -> bool:
    """Return True if doubling the number of posterior samples has gained less than 0.5 %.

    Parameters
    ----------
    history : sequence of float
        Averaged score after each sample.
    share_gained : callable (before, now)
        Of the scorer.
    least : float
        Another share than 0.5 %.
    fewest : int
        Another least number of samples.
    """
    if len(history) < fewest:
        return False
    half = len(history) // 2  # the last sample not after half of the sampling time
    return not share_gained(history[half - 1], history[-1]) >= least


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
    least : float
        Share that doubling the sampling time must gain; below it the score has converged.
    watch : Scorer or None
        Of training documents, by which convergence is seen without held-out ones; it is reported nowhere
        else, as it is no score of new documents.

    Attributes
    ----------
    fewest : int
        Samples before which the score has not converged.
    first : int
        Iteration of the first posterior sample.
    score : float
        Averaged score at the last sample; NaN before the first. Of an approximation, which has none,
        that of its topics when last observed.
    """

    def __init__(
        self,
        chain: Chain,
        scorer: Scorer | None,
        burn_in: int,
        every: int,
        keep_mean: bool,
        least: float = SETTLED,
        watch: Scorer | None = None,
    ) -> None:
        self.least, self.fewest, self.watch = least, SETTLED_SAMPLES, watch
        self._watched = array("d")
        self.chain, self.scorer = chain, scorer
        self.burn_in, self.every = burn_in, every
        self.first = burn_in + every
        self.draws, self.samples = chain.draws, 0
        self.keeps_mean = keep_mean
        self._sums: dict[str, Doubles] = chain.totals() if keep_mean else {}
        self.score = math.nan
        self._history = array("d")  # averaged score after each sample; compact, as runs are long

    @property
    def due(self) -> bool:
        """Whether the chain stands at a posterior sample."""
        return self._due_at(self.chain.step)

    @property
    def due_next(self) -> bool:
        """Whether the next iteration ends at a posterior sample."""
        return self._due_at(self.chain.step + 1)

    def _due_at(self, step: int) -> bool:
        after = step - self.burn_in
        return after > 0 and after % self.every == 0

    def take_sample(self, chain: Chain | None = None) -> None:
        """Take the current topics of a chain as a sample; of an approximation, only their score.

        The mean takes the expected value of lazy rows: they need no draw, and the same mean has
        less noise. Held-out documents are scored by a draw of their words.

        Parameters
        ----------
        chain : Chain, optional
            Another chain of the same model than its own.
        """
        chain = chain or self.chain
        if self.draws and self._sums:
            chain.add_to(self._sums)
        if self.scorer is not None:
            draw = chain.draw(self.scorer.words)
            add = self.scorer.update if self.draws else self.scorer.point
            self.score = float(add(chain.key, draw))
            self._history.append(self.score)
        if self.watch is not None:
            draw = chain.draw(self.watch.words)
            see = self.watch.update if self.draws else self.watch.point
            self._watched.append(float(see(chain.key, draw)))
        if self.draws:
            self.samples += 1

    def average(self) -> Estimate:
        """Compute the averaged score, with its standard error; NaN without samples."""
        return Estimate(math.nan) if self.scorer is None else self.scorer.average()

    def point(self) -> Estimate:
        """Compute the score of the current topics; NaN without held-out documents."""
        if self.scorer is None:
            return Estimate(math.nan)
        return self.scorer.point(self.chain.key, self.chain.draw(self.scorer.words))

    def settled(self) -> Settled | None:
        """Return True if doubling the sampling time has gained less than the least share.

        Looks only at posterior samples, so that the same seed ends at the same iteration.
        """
        scorer, history = self.scorer, self._history
        if self.watch is not None:
            scorer, history = self.watch, self._watched
        if scorer is None or not has_settled(history, scorer.share_gained, self.least, self.fewest):
            return None
        half = len(history) // 2
        now, before = history[-1], history[half - 1]
        return Settled(now, before, self.burn_in + half * self.every)

    def mean(self) -> Draw | None:
        """Return the posterior mean of all blocks, like `Chain.draw`, or None before the first sample."""
        if not self._sums or self.samples == 0:
            return None
        return {n: (total / self.samples).astype(np.float32) for n, total in self._sums.items()}

    def arrays(self) -> dict[str, Array]:
        """Return the arrays from which all averages and the scorer continue exactly.

        Sums of no samples, which may be larger than all else, are not among them.
        """
        arrays: dict[str, Array] = {
            _SAMPLES: np.array([self.samples]),
            HISTORY: np.array(self._history, np.float64),
        }
        if self.samples:
            arrays |= {SUMS + name: total for name, total in self._sums.items()}
        if self.scorer is not None:
            arrays |= {self.scorer.prefix + n: a for n, a in self.scorer.arrays().items()}
        if self.watch is not None:
            arrays[WATCHED] = np.array(self._watched, np.float64)
            arrays |= {WATCH + self.watch.prefix + n: a for n, a in self.watch.arrays().items()}
        return arrays

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Continue from `arrays`.

        Raises
        ------
        CheckpointError
            If they are not what `arrays` gives of this run.
        """
        history = _HISTORY.take(arrays, HISTORY)
        state: dict[str, Array] = {_SAMPLES: np.zeros(1, int), HISTORY: np.empty(len(history))}
        put_back(state, arrays)
        self.samples = int(state[_SAMPLES][0])
        if self.samples > 0:
            put_back({SUMS + name: total for name, total in self._sums.items()}, arrays)
        if self.samples < 0 or (self.draws and len(history) not in (0, self.samples)):
            raise CheckpointError(
                f"the checkpoint has {self.samples} samples and a history of {len(history)}"
            )
        self._history = array("d", state[HISTORY].tolist())
        self.score = self._history[-1] if self._history else math.nan
        if self.scorer is not None:
            prefix = self.scorer.prefix
            self.scorer.restore(Within(arrays, prefix))
        if self.watch is not None and WATCHED in arrays:  # absent from runs with a budget
            self._watched = array("d", _HISTORY.take(arrays, WATCHED).tolist())
            self.watch.restore(Within(arrays, WATCH + self.watch.prefix))


def thinned(samples: int, limit: int) -> range:
    """Return the ordinals (from 1) of the samples that are kept when ``samples`` were taken.

    Every sample is kept until there are ``limit``, then every second one, then every fourth, and so on:
    the step of the range. It depends on the number of samples alone, so that a resumed run keeps the
    same ones.

    Parameters
    ----------
    samples : int
        Number of samples taken.
    limit : int
        Maximum number of samples to keep.

    Returns
    -------
    range
    """
    spacing = 1
    while samples // spacing > limit:
        spacing *= 2
    return range(spacing, samples + 1, spacing)
