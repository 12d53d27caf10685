"""Widening of posterior draws, so that they vary as much as topics of different corpora.

The posterior assumes that the words of a document are independent draws given its topics. In real
text they are not: a word that occurs once in a document is likely to occur again (Doyle and Elkan
2009). Topics of another sample of documents therefore differ more than posterior draws do.
Replicates, which are chains that continue on documents resampled with replacement, measure how much
more.

All computations use square roots of probabilities, because their variance depends little on their
size. For the top words of each topic, the variance between replicate means is moderated as in Smyth
(2004). A few replicates carry little information about a single word. Therefore the posterior
variance, multiplied by the mean ratio of the two variances over the topic, counts as
`PRIOR_FREEDOM` further degrees of freedom. If replicates of a topic vary less than posterior draws,
they were too short for a topic that mixes slowly, or the chains of the refinement disagree:
posterior draws are then used for the topic. For single words, the variance has no such lower limit:
with few replicates and independent documents, half of the words would be below it by chance.

Replicates continue one chain, so they lack the variation between topics of training that starts
again. The short chains with which training begins measure it (`pysgrld.chain.clusters`). The
fraction `RESTARTED` of their variance is added: to the words of a topic, in proportion to the
moderated variance, and to the logarithm of the topic's share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pysgrld.core.restore import Form, restore_arrays
from pysgrld.errors import CheckpointError
from pysgrld.types import Array, Doubles, Floats, Int64s

#: Number of replicates, which are chains that continue on resampled documents.
REPLICATES = 6
#: Number of top words of a topic for which the variance between replicates is measured. Other words
#: keep their posterior draws.
WORDS = 256
#: Weight, in degrees of freedom, of the posterior variance when it is averaged with the variance
#: between replicates. The result is called the moderated variance.
PRIOR_FREEDOM = 6
#: Variance between runs on different documents, divided by the variance between the short chains
#: with which a run begins. The ratio is less than 1, because a run starts from means over several
#: short chains.
RESTARTED = 0.15
#: Variance between short chains in real texts, which is assumed for a run without short chains.
TYPICAL = 0.07
#: The variance between replicates, divided by the posterior variance, is averaged over this number
#: of top words of a topic.
_RATIO_WORDS = 20
#: Part of the seed of `PopulationDraws`, so that its random numbers differ from all others of a
#: run.
_SEED = 2006
_PREFIX = "spread."
#: Name of the array of variances between short chains in a checkpoint.
START_VARIANCE = "start_variance"


def stored_variance(arrays: Mapping[str, Array], name: str, topics: int) -> Doubles | None:
    """Return the variance of each topic between short chains, or None if a checkpoint lacks it.

    Parameters
    ----------
    arrays : mapping of str to array
        Arrays of the checkpoint, by name.
    name : str
        Name of the array.
    topics : int

    Raises
    ------
    CheckpointError
        If the array does not belong to these topics, or a value is not finite or below 0.
    """
    if name not in arrays:
        return None
    variance = Form(np.float64, (topics,)).take(arrays, name)
    if not (np.isfinite(variance) & (variance >= 0)).all():
        raise CheckpointError(
            f"array {name!r} of the checkpoint has variances that are negative or not finite"
        )
    return variance


class WordSpread:
    """Statistics of top words' probabilities over posterior draws, and in each replicate.

    A replicate is a chain that continues on documents resampled with replacement.

    Parameters
    ----------
    words : (K, W) int64
        Ids of the top words of each topic, the most probable first.
    start_variance : (K,) float64, optional
        Variance of each topic between the short chains with which training began.

    Attributes
    ----------
    draws : int
        Number of posterior draws so far.
    replicates : list of (K, W) float32
        Mean probabilities of the words in each replicate.
    """

    def __init__(self, words: Int64s, start_variance: Doubles | None = None) -> None:
        self.words, self.start_variance, self.draws = words, start_variance, 0
        self.replicates: list[Floats] = []
        # The first matrix is the sum, over posterior draws, of the square roots of the words'
        # probabilities. The second matrix is the sum of the probabilities.
        self._sums: Doubles = np.zeros((2, *words.shape))

    def add_draw(self, phi: Floats) -> None:
        """Add a posterior draw of the topics, (K, V)."""
        values = self._probabilities(phi)
        self._sums += np.sqrt(values), values
        self.draws += 1

    def add_replicate(self, phi: Floats) -> None:
        """Add the mean topics of a chain on resampled documents (a replicate), (K, V)."""
        self.replicates.append(self._probabilities(phi).astype(np.float32))

    def _probabilities(self, phi: Floats) -> Doubles:
        rows = np.arange(len(self.words))[:, None]
        return phi[rows, self.words].astype(np.float64)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that `restore` and `PopulationDraws` read, by name."""
        replicates = np.empty((len(self.replicates), *self.words.shape), np.float32)
        for row, values in zip(replicates, self.replicates, strict=True):
            row[:] = values
        arrays = {
            f"{_PREFIX}words": self.words,
            f"{_PREFIX}sums": self._sums,
            f"{_PREFIX}draws": np.array([self.draws]),
            f"{_PREFIX}replicates": replicates,
        }
        if self.start_variance is not None:
            arrays[_PREFIX + START_VARIANCE] = self.start_variance
        return arrays

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the state from the arrays that `arrays` returned.

        Raises
        ------
        CheckpointError
            If the arrays do not belong to these topics.
        """
        name = _PREFIX + START_VARIANCE
        self.start_variance = stored_variance(arrays, name, len(self.words))
        state = self.arrays()
        name = f"{_PREFIX}replicates"
        stored = arrays.get(name, state[name])
        if stored.ndim != 3 or len(stored) > REPLICATES:
            raise CheckpointError(
                f"array {name!r} of the checkpoint has shape {stored.shape}, but must have "
                f"three axes, the first with at most {REPLICATES} entries"
            )
        state[name] = np.empty((len(stored), *self.words.shape), np.float32)
        restore_arrays(state, arrays)
        self.draws, self.replicates = int(state[f"{_PREFIX}draws"][0]), list(state[name])

    @classmethod
    def stored(cls, arrays: Mapping[str, Array]) -> WordSpread | None:
        """Create a `WordSpread` from the arrays of a checkpoint, or return None if they are absent.

        Raises
        ------
        CheckpointError
            If the arrays are inconsistent.
        """
        words = arrays.get(f"{_PREFIX}words")
        if words is None:
            return None
        if words.ndim != 2 or words.dtype.kind != "i" or words.min(initial=0) < 0:
            raise CheckpointError(
                f"array '{_PREFIX}words' of the checkpoint is not a matrix of word ids"
            )
        spread = cls(words.astype(np.int64))
        spread.restore(arrays)
        return spread

    @property
    def means(self) -> tuple[Doubles, Doubles]:
        """Posterior means of top words' probabilities and of their square roots, (K, W) each."""
        roots, values = self._sums / max(1, self.draws)
        return roots, values


class _Parts(NamedTuple):
    """Arrays from which `PopulationDraws` computes widened draws; shape (K, W) unless noted.

    All arrays refer to square roots of probabilities.

    Attributes
    ----------
    centre : float64
        Centre of the draws, chosen such that the squares of draws have the posterior mean.
    roots : float64
        Mean of the square roots over posterior draws.
    stretch : float64
        Factor by which the deviation of a posterior draw from ``roots`` is multiplied.
    deviations : (R, K, W) float64
        Deviations of R replicates, which are multiplied by R standard normal numbers.
    """

    centre: Doubles
    roots: Doubles
    stretch: Doubles
    deviations: Doubles


class PopulationDraws:
    """Object that widens posterior draws to the variation of topics between corpora.

    A draw is the centre, plus a scaled posterior deviation, plus a random combination of the
    deviations of the replicates; the deviations follow Student's t, because replicates are few. The
    variance of a draw is the moderated variance, and words and topics are correlated as in the
    posterior draws and the replicates.

    Parameters
    ----------
    spread : WordSpread
        Variation with at least two draws and two replicates.
    seed, chain : int
        Seed and chain number of the run.
    """

    def __init__(self, spread: WordSpread, seed: int, chain: int) -> None:
        self._spread, self._address = spread, (_SEED, seed, chain)
        #: Degrees of freedom of the moderated variance.
        self.freedom = PRIOR_FREEDOM + len(spread.replicates) - 1

    @classmethod
    def of(cls, arrays: Mapping[str, Array], seed: int, chain: int) -> PopulationDraws | None:
        """Create a `PopulationDraws` from the arrays of a checkpoint.

        Return None if the checkpoint has too few draws or replicates.
        """
        spread = WordSpread.stored(arrays)
        if spread is None or spread.draws < 2 or len(spread.replicates) < 2:
            return None
        return cls(spread, seed, chain)

    @property
    def restarted(self) -> Doubles:
        """Variance of each topic between runs that start independently, (K,).

        It is the variance of the square roots of the top words' probabilities, divided by their
        probability, and the variance of the logarithm of the topic's share.
        """
        known = self._spread.start_variance
        variance = np.full(len(self._spread.words), TYPICAL) if known is None else known
        return RESTARTED * variance

    @cached_property
    def _parts(self) -> _Parts:
        spread = self._spread
        roots, values = spread.means
        n, number = spread.draws, len(spread.replicates)
        posterior = np.maximum(values - roots**2, 0.0) * n / (n - 1)
        deviations = np.sqrt(np.stack(spread.replicates).astype(np.float64))
        deviations -= deviations.mean(axis=0)
        replicated = (deviations**2).sum(axis=0) / (number - 1)
        first = slice(0, _RATIO_WORDS)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = replicated[:, first] / posterior[:, first]
        ratios[~np.isfinite(ratios)] = np.nan
        is_known = np.isfinite(ratios).any(axis=1)
        ratio = np.ones(len(ratios))
        ratio[is_known] = np.nanmean(ratios[is_known], axis=1)
        share = PRIOR_FREEDOM / self.freedom
        stretch = np.broadcast_to(np.sqrt(share * ratio)[:, None], posterior.shape).copy()
        variance = stretch**2 * posterior + (1 - share) * replicated
        narrow = ratio <= 1.0
        stretch[narrow], variance[narrow] = 1.0, posterior[narrow]
        deviations[:, narrow] = 0.0
        variance *= self.freedom / (self.freedom - 2)
        added = self.restarted * values[:, first].sum(axis=1)
        growth = 1.0 + added / np.maximum(variance[:, first].sum(axis=1), 1e-300)
        variance *= growth[:, None]
        stretch *= np.sqrt(growth)[:, None]
        deviations *= np.sqrt(growth)[:, None]
        return _Parts(
            np.sqrt(np.maximum(values - variance, 0.0)),
            roots,
            stretch,
            deviations / math.sqrt(self.freedom),
        )

    @property
    def width(self) -> Doubles:
        """Ratio of the standard deviation of widened draws to that of posterior draws, (K,).

        The ratio is the square root of the mean ratio of variances over the top words.
        """
        parts = self._parts
        roots, values = self._spread.means
        posterior = np.maximum(values - roots**2, 1e-300)
        total = parts.stretch**2 * posterior + (parts.deviations**2).sum(axis=0)
        width: Doubles = np.sqrt((total / posterior)[:, :_RATIO_WORDS].mean(axis=1))
        return width

    def _drawn(self, step: int, values: Array) -> Doubles:
        """Widen a posterior draw of the top words' probabilities, given the draw's step number.

        ``values`` are the probabilities in one posterior draw, (K, W).
        """
        parts, number = self._parts, len(self._spread.replicates)
        generator = np.random.default_rng([*self._address, step])
        scale = math.sqrt(self.freedom / generator.chisquare(self.freedom))
        deviation = parts.stretch * (np.sqrt(values) - parts.roots)
        for weight, part in zip(generator.standard_normal(number), parts.deviations, strict=True):
            deviation += weight * part
        drawn: Doubles = np.maximum(parts.centre + scale * deviation, 0.0) ** 2
        return drawn

    def widen(self, step: int, phi: Floats) -> Floats:
        """Widen a posterior draw of topics, (K, V), to the variation between corpora."""
        rows = np.arange(len(phi))[:, None]
        values = phi[rows, self._spread.words].astype(np.float64)
        drawn = self._drawn(step, values)
        wide = phi.copy()
        wide[rows, self._spread.words] = drawn
        wide /= (1.0 + (drawn - values).sum(axis=1, keepdims=True)).astype(np.float32)
        return wide

    def at(
        self, step: int, words: Int64s, look_up: Callable[[Int64s], tuple[Floats, Array]]
    ) -> tuple[Floats, Array]:
        """Return the probabilities of the given words in a widened draw, (K, n).

        Parameters
        ----------
        step : int
        words : (K, n) int64
        look_up : callable
            Returns the probabilities of words, (K, m), in the posterior draw of the step, and whether
            they are only upper bounds, because the draw was stored without the word.
        """
        (values, censored), (top, lacking) = look_up(words), look_up(self._spread.words)
        top = np.where(lacking, self._parts.roots**2, top).astype(np.float64)
        drawn = self._drawn(step, top)
        total = 1.0 + (drawn - top).sum(axis=1, keepdims=True)
        place = self._places(words)
        rows = np.arange(len(words))[:, None]
        wide = np.where((place >= 0) & ~censored, drawn[rows, place], values) / total
        return wide.astype(np.float32), censored

    def _places(self, words: Int64s) -> Int64s:
        """Return the position of n words of each topic among its top words, (K, n); -1 for others."""
        top = self._spread.words
        base = int(max(top.max(initial=0), words.max(initial=0))) + 1
        rows = np.arange(len(top), dtype=np.int64)[:, None] * base
        keys = (top + rows).ravel()
        order = np.argsort(keys)
        cells = (words + rows).ravel()
        near = order[np.minimum(np.searchsorted(keys, cells, sorter=order), len(keys) - 1)]
        places = np.where(keys[near] == cells, near % top.shape[1], -1)
        return places.reshape(words.shape)
