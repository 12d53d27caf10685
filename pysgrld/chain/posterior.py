"""Running averages of the score and topics over posterior samples, and a convergence test."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.chain.protocol import Chain
from pysgrld.core.draws import Draw
from pysgrld.core.restore import Form, Within, restore_arrays
from pysgrld.errors import CheckpointError
from pysgrld.evaluate import Estimate, Scorer
from pysgrld.types import Array, Doubles

#: A run has converged if doubling its sampling time improves the score by less than this fraction.
SETTLED = 0.005
#: Minimum number of posterior samples of a run that has converged.
SETTLED_SAMPLES = 50

#: Prefix of the names of arrays in a checkpoint that store averages over posterior samples. These
#: arrays are the number of samples, the averaged scores, and the sum of the samples of each block.
PREFIX = "posterior."
#: Prefix of the arrays in a checkpoint that belong to the scorer of training documents.
WATCH = "watch."
#: Name of the array with the averaged score of training documents after each sample.
WATCHED = "watch.history"
_SAMPLES, HISTORY, SUMS = f"{PREFIX}samples", f"{PREFIX}history", f"{PREFIX}sum."
_NUMBER, _HISTORY = Form(np.int64, (1,)), Form(np.float64, (-1,))


class Averages(NamedTuple):
    """Running averages of topics and score over posterior samples, as stored in a checkpoint.

    Attributes
    ----------
    samples : int
        Number of posterior samples in the averages.
    history : (n,) float64
        Averaged score after each posterior sample.
    sums : mapping of array
        Sums of the samples by block; empty if the run stores no mean.
    """

    samples: int
    history: Doubles
    sums: Mapping[str, Array]


def read_running_averages(arrays: Mapping[str, Array]) -> Averages:
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
        If the arrays have wrong types or shapes, or a negative number of samples.
    """
    samples = int(_NUMBER.take(arrays, _SAMPLES)[0]) if _SAMPLES in arrays else 0
    if samples < 0:
        raise CheckpointError(
            f"array {_SAMPLES!r} of the checkpoint has a negative number of samples: {samples}"
        )
    history = _HISTORY.take(arrays, HISTORY) if HISTORY in arrays else np.empty(0)
    sums = Within(arrays, SUMS)
    return Averages(samples, history, sums)


class ConvergenceScores(NamedTuple):
    """Scores of the averaged topics, after all samples and after half of the samples.

    Attributes
    ----------
    score, at_half : float
        Averaged score now, and at half of the samples.
    half : int
        Iteration at half of the samples.
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
    """Return True if doubling the number of samples has improved the score by less than ``least``.

    The default of ``least`` is 0.5 %.

    Parameters
    ----------
    history : sequence of float
        Averaged score after each sample.
    share_gained : callable (before, now)
        Method of the scorer, which returns the fraction gained between two scores.
    least : float
        Maximum improvement, as a fraction.
    fewest : int
        Minimum number of samples.
    """
    if len(history) < fewest:
        return False
    # `half` is the number of samples in the first half of the sampling time.
    half = len(history) // 2
    return not share_gained(history[half - 1], history[-1]) >= least


class Posterior:
    """Running averages over the posterior samples of one chain.

    Parameters
    ----------
    chain : Chain
    scorer : Scorer or None
        Scorer of held-out documents, or None if no documents are held out.
    burn_in, every : int
        Number of iterations of the burn-in, and between samples.
    keep_mean : bool
        Whether the mean of the topics is computed.
    least : float
        The score has converged if doubling the sampling time improves it by less than this
        fraction.
    watch : Scorer or None
        Scorer of training documents, which detects convergence if no documents are held out. Its
        score is not reported otherwise, because it is not a score of new documents.

    Attributes
    ----------
    fewest : int
        Minimum number of samples for convergence.
    first : int
        Iteration of the first posterior sample.
    score : float
        Averaged score at the last sample; NaN before the first sample. An approximation has no
        samples: the score is then the score of its topics when they were last scored.
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
        # The averaged score after each sample is stored compactly, because runs are long.
        self._history = array("d")

    @property
    def is_due(self) -> bool:
        """True if a posterior sample is due in the current iteration."""
        return self._is_due_at(self.chain.step)

    @property
    def is_due_next(self) -> bool:
        """True if a posterior sample is due in the next iteration."""
        return self._is_due_at(self.chain.step + 1)

    def _is_due_at(self, step: int) -> bool:
        after = step - self.burn_in
        return after > 0 and after % self.every == 0

    def take_sample(self, chain: Chain | None = None) -> None:
        """Add a chain's current topics to the averages, and update the averaged score.

        If the topics are an approximation, only their score is computed.

        The mean uses the expected values of lazy rows: they need not be drawn, and the mean is the
        same with less noise. Held-out documents are scored with a draw of the topics at their
        words.

        Parameters
        ----------
        chain : Chain, optional
            Another chain of the same model; by default the chain of these averages.
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
        """Return the score of the average over samples, as an `Estimate`; NaN without samples."""
        return Estimate(math.nan) if self.scorer is None else self.scorer.average()

    def point(self) -> Estimate:
        """Compute the score of the current topics; NaN without held-out documents."""
        if self.scorer is None:
            return Estimate(math.nan)
        return self.scorer.point(self.chain.key, self.chain.draw(self.scorer.words))

    def convergence_scores(self) -> ConvergenceScores | None:
        """If the averaged score has converged, return the compared scores; otherwise, return None.

        The score has converged if doubling the sampling time has improved it by less than `least`.
        This depends only on posterior samples, so that the same seed ends at the same iteration.
        """
        scorer, history = self.scorer, self._history
        if self.watch is not None:
            scorer, history = self.watch, self._watched
        if scorer is None or not has_settled(history, scorer.share_gained, self.least, self.fewest):
            return None
        half = len(history) // 2
        now, before = history[-1], history[half - 1]
        return ConvergenceScores(now, before, self.burn_in + half * self.every)

    def mean(self) -> Draw | None:
        """Return the mean of all samples in the format of `Chain.draw`, or None without samples."""
        if not self._sums or self.samples == 0:
            return None
        return {n: (total / self.samples).astype(np.float32) for n, total in self._sums.items()}

    def arrays(self) -> dict[str, Array]:
        """Return the arrays from which all averages and the scorer can be restored exactly.

        Before the first sample, the sums are left out, because they may be larger than all other
        arrays.
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
        """Restore the averages from the arrays that `arrays` returned.

        Raises
        ------
        CheckpointError
            If the arrays are not from this run.
        """
        history = _HISTORY.take(arrays, HISTORY)
        state: dict[str, Array] = {_SAMPLES: np.zeros(1, int), HISTORY: np.empty(len(history))}
        restore_arrays(state, arrays)
        self.samples = int(state[_SAMPLES][0])
        if self.samples > 0:
            restore_arrays({SUMS + name: total for name, total in self._sums.items()}, arrays)
        if self.samples < 0 or (self.draws and len(history) not in (0, self.samples)):
            raise CheckpointError(
                f"the checkpoint records {self.samples} samples, but has the scores of "
                f"{len(history)} samples"
            )
        self._history = array("d", state[HISTORY].tolist())
        self.score = self._history[-1] if self._history else math.nan
        if self.scorer is not None:
            prefix = self.scorer.prefix
            self.scorer.restore(Within(arrays, prefix))
        # The scores of training documents are absent if the run had a fixed budget.
        if self.watch is not None and WATCHED in arrays:
            self._watched = array("d", _HISTORY.take(arrays, WATCHED).tolist())
            self.watch.restore(Within(arrays, WATCH + self.watch.prefix))


def stored_sample_numbers(samples: int, limit: int) -> range:
    """Return the 1-based numbers of the samples that a run still stores after ``samples`` samples.

    Every sample is kept until ``limit`` is exceeded, then every second one, then every fourth, and
    so on; this spacing is the step of the range. The result depends only on the number of samples,
    so that a resumed run keeps the same samples.

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
