"""A trained run whose topics are blocks of a `pysgrld.chain.blocks` chain, whatever its documents are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from pysgrld.chain.blocks import arrays_of, take_priors
from pysgrld.chain.posterior import samples_in, sums_in
from pysgrld.core import core
from pysgrld.core.draws import WEIGHTS, Draw, by_word
from pysgrld.errors import UsageError
from pysgrld.evaluate import DocumentDraw, HeldOut, Scorer
from pysgrld.evaluate.matching import DISTRIBUTIONS, Likeness
from pysgrld.models.fitted import Fitted, Node, Record, Samples, SomeDocuments
from pysgrld.models.noise import goes_on, noise_of, remedy_of, step_size
from pysgrld.options.learned import ALPHA_BLOCK, ETA_BLOCK
from pysgrld.samplers import SAMPLERS, sampler_of
from pysgrld.samplers.state import BlockState, Counts
from pysgrld.types import (
    FORGOTTEN,
    QUIET,
    Array,
    Block,
    Documents,
    Doubles,
    Floats,
    Int32s,
    Int64s,
    Key,
)


class BlockFitted(Fitted, ABC):
    """A trained run whose topics are blocks of a chain; a model adds the answers on documents.

    Parameters
    ----------
    record : Record
    threads : int
    blocks : tuple of Block
        The model's global parts; the first are the topics over words.
    """

    kind, noun = "a topic model", "topic"
    no_mean: str | None = None
    likeness: Likeness | None = DISTRIBUTIONS
    titles: Mapping[str, str] = {}
    signed = False

    def __init__(self, record: Record, threads: int, blocks: tuple[Block, ...]) -> None:
        self.record, self.threads, self.blocks = record, threads, blocks
        #: Blocks that are the prior of another one, by name.
        self.priors = {b.name: blocks[0].name for b in blocks if b.name == ETA_BLOCK}
        self.sampler = SAMPLERS[record.options.algo]
        self.draws = self.sampler.draws
        # noise that is the same for all words moves those that a topic does not use no faster
        self.slow_tails = not self.sampler.relative

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def layers(self) -> tuple[int, ...]:
        """Topics of each layer."""
        return tuple(b.shape[1] for b in self.blocks if b.geometry == self.sampler.geometry)

    # ---- draws

    @cached_property
    def current(self) -> Draw:
        """The draw at the newest checkpoint."""
        options = self.record.options
        key, draw = Key(options.seed, options.chain, self.record.step), {}
        for name, state in self.states.items():
            draw[name] = state.look(key)
            weights = state.weights()
            if weights is not None:
                draw[WEIGHTS] = weights
        return draw

    @cached_property
    def states(self) -> dict[str, BlockState[Counts]]:
        """The blocks under their samplers, by name, as of the newest checkpoint."""
        options, record = self.record.options, self.record
        states = {
            b.name: sampler_of(self.sampler.name, b).restored(
                b,
                arrays_of(b.name, record.arrays),
                self.threads,
                warm=record.step <= options.warm_up,
            )
            for b in self.blocks
        }
        take_priors(self.priors, states)
        return states

    @property
    def samples(self) -> int:
        """Posterior samples in the `mean`; 0 where there is none."""
        return samples_in(self.record.arrays) if sums_in(self.record.arrays) else 0

    @cached_property
    def mean(self) -> Draw | None:
        """Mean of all posterior samples; None where there is none."""
        samples = self.samples
        if samples == 0:
            return None
        mean: Draw = {}
        for name, total in sums_in(self.record.arrays).items():
            if total.ndim == 1:
                mean[name] = (total / samples).astype(np.float32)
            else:
                mean[name] = core.zeros(len(total), total.shape[1], "float32")
                np.divide(total, samples, out=mean[name], casting="same_kind")
        return mean

    def sample_shapes(self, sample: Mapping[str, Array]) -> dict[str, tuple[int, int]]:
        """Give the shapes that the matrices of a kept sample must have: (K, V), and (1, K) of r."""
        del sample
        return {
            b.name: (1, b.shape[1]) if b.is_vector else (b.shape[1], b.shape[0])
            for b in self.blocks
        }

    def draw_of(self, sample: Mapping[str, Array], words: Int32s | None = None) -> Draw:
        """Give the draw of a kept sample, of these words or of all where None."""
        if words is not None:
            name = self.blocks[0].name
            sample = dict(sample) | {name: sample[name][:, words]}
        return by_word(sample, self.blocks)

    def rows_of(self, sample: Mapping[str, Array], at: int) -> Floats:
        """Give the topics of a layer over the words in a kept sample, (K, V)."""
        if at == 0:
            return sample[self.blocks[0].name]
        phi = self.over_words(self.draw_of(sample), at)
        return np.ascontiguousarray(phi[:, : self.layers[at]].T)

    def over_words(self, draw: Draw, at: int) -> Floats:
        """Give the topics over the words, (V, Kp) float32."""
        del at  # there is one layer
        return draw[self.blocks[0].name]

    # ---- documents, which the model knows

    @abstractmethod
    def proportions(self, draw: Draw, documents: Documents, ids: Int64s, at: int) -> Doubles:
        """Give the proportions of a layer's topics in documents, (n, K); rows sum to 1."""

    def document_draws(
        self, samples: Samples, documents: Documents, ids: Int64s, at: int
    ) -> Iterator[DocumentDraw]:
        """Refuse: nothing of the documents is sampled, unless a model says how.

        Raises
        ------
        UsageError
        """
        raise UsageError(f"documents of {self.kind} have no draws of their topics")

    def token_topics(self, documents: Documents, ids: Int64s, at: int) -> Int32s:
        """Refuse: tokens have no topics, unless a model says how.

        Raises
        ------
        UsageError
        """
        raise UsageError(f"tokens of {self.kind} have no topics of their own")

    def document_prior(self, at: int) -> Doubles | None:
        """Give None, unless a model has such parameters."""
        del at
        return None

    def word_prior(self) -> float:
        """Give eta, as `learned` has it, or as it is fixed."""
        fixed: float = self.record.options.lowest_eta
        learned = self.learned()
        return float(learned[ETA_BLOCK][0]) if ETA_BLOCK in learned else fixed

    def learned(self) -> dict[str, Doubles]:
        """Give learned priors: posterior means, or as they stand."""
        draw = self.mean or self.current
        sizes = {b.name: b.shape[1] for b in self.blocks}
        return {
            name: draw[name][: sizes[name]].astype(np.float64)
            for name in (ALPHA_BLOCK, ETA_BLOCK)
            if name in draw
        }

    @abstractmethod
    def weights(self, documents: SomeDocuments, at: int) -> Doubles | None:
        """Weigh each topic by how much of the corpus it makes up, (K,)."""

    @abstractmethod
    def scorer(self, held_out: HeldOut) -> Scorer:
        """Make a scorer of this run's draws on documents."""

    # ---- topics

    def shown(self, at: int) -> Int64s:
        """Give all topics of a layer."""
        return np.arange(self.layers[at])

    def counts(self) -> Int64s | None:
        """Give None: documents have several topics."""
        return None

    def numbers(self) -> dict[str, int]:
        """Give nothing: the number of topics is chosen."""
        return {}

    def beside(self) -> dict[str, Doubles]:
        """Give nothing: topics are exported alone."""
        return {}

    def tree(self, vocabulary: Sequence[str], words: int) -> list[Node] | None:
        """Give None: topics do not use other topics."""
        del vocabulary, words
        return None

    def quantities(self, draw: Draw, held_out: HeldOut | None) -> dict[str, float]:
        """Give nothing: topics themselves are compared."""
        del draw, held_out
        return {}

    # ---- what the sampler does to the draws

    def noise(self, step: int) -> float | None:
        """Give the noise inflation at an iteration, for an average topic; None where it is not known."""
        return noise_of(self.record, self._rate, step)

    def faithful(self, step: int) -> bool:
        """Say whether draws are the posterior's: little noise, and documents that forget their start."""
        noise = self.noise(step)
        forgotten = goes_on(self.record) or self.record.options.sweeps >= FORGOTTEN
        return noise is not None and noise <= QUIET and forgotten

    def remedy(self) -> str | None:
        """Give the options that would make draws the posterior's; None where they are not known."""
        options = self.record.options
        step = remedy_of(self.record, self._rate)
        return f"{step} --sweeps {FORGOTTEN}" if step and options.sweeps < FORGOTTEN else step

    @property
    def _rate(self) -> float:
        return float(self.blocks[0].settings.average_rate(self.blocks[0], self.record.tokens))

    def contraction(self, shares: Doubles) -> tuple[float, ...]:
        """Give r_k = h (N_k + V eta) / s_k of topics that move by Langevin steps; empty for others.

        s_k is the scale of the unnormalised topic at the newest checkpoint, and N_k the tokens that
        the topic has.
        """
        if len(self.layers) > 1 or self.sampler.whole_corpus:
            return ()
        state, record = self.states[self.blocks[0].name], self.record
        found = state.contraction(shares * record.tokens, step_size(record, record.step))
        return () if found is None else tuple(found.tolist())
