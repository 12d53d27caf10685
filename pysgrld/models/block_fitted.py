"""Reading of trained runs of a `BlockChain`, for models with any kind of documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from pysgrld.chain.blocks import arrays_of_block, take_priors
from pysgrld.chain.exact import last_draw, population_draws, read_averages
from pysgrld.chain.population import PopulationDraws
from pysgrld.chain.posterior import SUMS, read_running_averages
from pysgrld.core import core, padded_width
from pysgrld.core.draws import WEIGHTS, Draw, draw_to_matrices, matrices_to_draw
from pysgrld.core.restore import Form, check_prior, name_checkpoint_in_errors
from pysgrld.errors import CheckpointError
from pysgrld.evaluate.matching import DISTRIBUTIONS, Likeness
from pysgrld.models.fitted import Fitted, Record
from pysgrld.models.samples import COUNTED, TOKENS, sample_conditional
from pysgrld.options.priors import ALPHA_BLOCK, ETA_BLOCK
from pysgrld.samplers import choose_sampler
from pysgrld.samplers.gibbs import draw
from pysgrld.samplers.state import BlockState, Counts
from pysgrld.types import Array, Block, Doubles, Floats, Int32s, Key


class BlockFitted(Fitted):
    """Base class of trained runs of a `BlockChain`, for models with any kind of documents.

    Parameters
    ----------
    record : Record
    threads : int
    blocks : tuple of Block
        The model's global parts; the first are the topics over words.
    """

    kind = "a topic model"
    likeness: Likeness | None = DISTRIBUTIONS
    layers: tuple[int, ...] = ()

    def __init__(self, record: Record, threads: int, blocks: tuple[Block, ...]) -> None:
        super().__init__(record, threads)
        self.blocks = blocks
        #: Names of the blocks that are learned priors, each with the name of the block of topics to
        #: which the prior belongs.
        self.priors = {b.name: blocks[0].name for b in blocks if b.name == ETA_BLOCK}
        # Samplers with `relative` False (mirrored Langevin) add noise of the same size to the log
        # weights of all words. The probabilities of words that a topic does not use therefore
        # change slowly.
        self.slow_tails = not self.sampler.relative
        self.layers = tuple(b.shape[1] for b in blocks if b.geometry == self.sampler.geometry)
        self.depth = len(self.layers)

    # ---- draws

    def _states(self) -> dict[str, BlockState[Counts]]:
        """Return the states of the blocks in the latest checkpoint, by name."""
        options, record = self.record.options, self.record
        with name_checkpoint_in_errors(record.place):
            states = {
                b.name: choose_sampler(self.sampler.name, b).from_checkpoint(
                    b,
                    arrays_of_block(b.name, record.arrays),
                    self.threads,
                    warm=record.step <= options.warm_up,
                )
                for b in self.blocks
            }
        take_priors(self.priors, states)
        return states

    @cached_property
    def population(self) -> PopulationDraws | None:
        """Object that widens draws of topics to the variation of topics between corpora.

        The value is None if no chain continued on resampled documents.

        Raises
        ------
        CheckpointError
            If the checkpoint has replicates that do not belong together.
        """
        if not self.exact:
            return None
        options = self.record.options
        return population_draws(self.record.arrays, options.seed, options.chain)

    def widen_sample(self, step: int, sample: Mapping[str, Array]) -> Mapping[str, Array]:
        """Widen a stored sample, so that samples vary as much as topics of different corpora."""
        if self.population is None:
            return sample
        name = self.blocks[0].name
        return {**sample, name: self.population.widen(step, sample[name])}

    def expand_sample(self, sample: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return a stored sample as matrices; redraw the topics if only token counts are stored.

        Raises
        ------
        CheckpointError
            If the sample does not fit the model.
        """
        if TOKENS not in sample:
            return sample
        block, options = self.blocks[0], self.record.options
        if ETA_BLOCK in sample:
            block = block._replace(prior=float(sample[ETA_BLOCK].flat[0]))
        conditional = sample_conditional(sample, block, options.seed, options.chain)
        phi = draw_to_matrices({block.name: draw(conditional, block, self.threads)}, (block,))
        return {name: part for name, part in sample.items() if name not in COUNTED} | phi

    @cached_property
    def current(self) -> Draw:
        """Last draw of the Gibbs refinement; without a refinement, the latest checkpoint's draw."""
        if self.exact:
            with name_checkpoint_in_errors(self.record.place):
                last = self.expand_sample(last_draw(self.record.arrays))
                forms = {n: Form(np.float32, s) for n, s in self.sample_shapes(last).items()}
                matrices = {name: form.take(last, name) for name, form in forms.items()}
            return matrices_to_draw(matrices, self.blocks)
        options = self.record.options
        key, draw = Key(options.seed, options.chain, self.record.step), {}
        states = self._states()
        for name in list(states):
            state = states.pop(name)
            weights = state.weights()
            if weights is not None:
                draw[WEIGHTS] = weights
            is_copied = self.record.is_copied(f"{name}.g")
            draw[name] = state.final_rows(key) if is_copied else state.current_rows(key)
            self._refuse_infinite(f"{name}.*", draw[name])
        return draw

    @cached_property
    def samples(self) -> int:
        """Number of posterior samples in the average that `mean` returns."""
        with name_checkpoint_in_errors(self.record.place):
            averages = read_running_averages(read_averages(self.record.arrays))
        return averages.samples if averages.sums else 0

    @cached_property
    def mean(self) -> Draw | None:
        """Mean of all posterior samples, or None without samples."""
        samples = self.samples
        if samples == 0:
            return None
        mean: Draw = {}
        sums = read_running_averages(read_averages(self.record.arrays)).sums
        for b in self.blocks:
            name, kp = b.name, padded_width(b.shape[1])
            with name_checkpoint_in_errors(self.record.place):
                shape = (kp,) if b.is_vector else (b.shape[0], kp)
                total = Form(np.float64, shape).take(sums, name, SUMS)
                if b.is_vector:
                    check_prior(SUMS + name, total[: b.shape[1]])
            if total.ndim == 1:
                with np.errstate(over="ignore"):
                    mean[name] = (total / samples).astype(np.float32)
            else:
                mean[name] = core.zeros(len(total), total.shape[1], "float32")
                with np.errstate(over="ignore"):
                    np.divide(total, samples, out=mean[name], casting="same_kind")
            self._refuse_infinite(SUMS + name, mean[name])
        return mean

    def _refuse_infinite(self, arrays: str, values: Floats) -> None:
        """Raise `CheckpointError` if values computed from the checkpoint's arrays are infinite."""
        if not np.isfinite(values.sum(dtype=np.float64)):
            raise CheckpointError(
                f"{self.record.place}: arrays '{arrays}' of the checkpoint have infinite values; "
                "restore the checkpoint"
            )

    def mean_sample(self) -> dict[str, Floats]:
        """Return the mean of all posterior samples in the form of a stored sample."""
        assert self.mean is not None
        return draw_to_matrices(self.mean, self.blocks)

    def sample_shapes(self, sample: Mapping[str, Array]) -> dict[str, tuple[int, int]]:
        """Return the required shape of each matrix in a stored sample, by block name.

        The shape is (K, V), or (1, K) for a vector such as r.
        """
        del sample
        return {
            b.name: (1, b.shape[1]) if b.is_vector else (b.shape[1], b.shape[0])
            for b in self.blocks
        }

    def sample_to_draw(self, sample: Mapping[str, Array], words: Int32s | None = None) -> Draw:
        """Convert a stored sample to a draw with topics over the given words, by default all words."""
        if words is not None:
            name = self.blocks[0].name
            sample = dict(sample) | {name: sample[name][:, words]}
        return matrices_to_draw(sample, self.blocks)

    def topics_of_sample(self, sample: Mapping[str, Array], layer: int) -> Floats:
        """Return the topics of a layer in a stored sample as distributions over words, (K, V)."""
        if layer == 0:
            return sample[self.blocks[0].name]
        phi = self.topics_over_words(self.sample_to_draw(sample), layer)
        return np.ascontiguousarray(phi[:, : self.layers[layer]].T)

    def topics_over_words(self, draw: Draw, layer: int) -> Floats:
        """Return the topics over words, (V, Kp) float32."""
        del layer  # `layer` is unused, because the model has only one layer.
        return draw[self.blocks[0].name]

    # ---- priors

    def learned_priors(self) -> dict[str, Doubles]:
        """Return the value of each learned prior, by the name of the prior's option.

        The value is the posterior mean or, without samples, the current value.
        """
        draw = self.mean or self.current
        sizes = {b.name: b.shape[1] for b in self.blocks}
        return {
            name: draw[name][: sizes[name]].astype(np.float64)
            for name in (ALPHA_BLOCK, ETA_BLOCK)
            if name in draw
        }

    # ---- how the sampler affects the draws

    @property
    def rate(self) -> float:
        """Rate at which an average topic reverts to its mean, for a step size of 1."""
        return float(self.blocks[0].settings.average_rate(self.blocks[0], self.record.tokens))

    def contraction(self, shares: Doubles) -> tuple[float, ...]:
        """Return how far each topic moves in a step, as a fraction of the way to its mean.

        The tuple is empty if the sampler makes no Langevin steps.

        The fraction is h (N_k + V eta) / s_k. h is the step size, s_k the scale of the unnormalised
        topic at the newest checkpoint, and N_k the number of tokens of the topic.
        """
        if self.depth > 1 or self.faithful:
            return ()
        state, record = self._states()[self.blocks[0].name], self.record
        factors = state.contraction(shares * record.tokens, self.step_size(record.step))
        return () if factors is None else tuple(factors.tolist())
