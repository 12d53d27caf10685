"""Gibbs refinement of LDA by collapsed-Gibbs chains that start from a minibatch chain's topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pysgrld.chain.blocks import BlockChain
from pysgrld.chain.exact import ReplicatedChain
from pysgrld.core import padded_width
from pysgrld.core.restore import restore_arrays
from pysgrld.errors import CheckpointError
from pysgrld.models.exact_tokens import ExactTokens
from pysgrld.models.lda.blocks import blocks
from pysgrld.models.lda.collapsed import CollapsedDocuments
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.models.resampled import Replicate
from pysgrld.options.priors import fixed_value
from pysgrld.samplers.seeds import add_seed_counts
from pysgrld.samplers.state import Counts
from pysgrld.types import Array, Block, Doubles, Floats, Key, Minibatch


class ExactLDA(ExactTokens, ReplicatedChain):
    """A collapsed-Gibbs chain over the whole corpus."""

    algo = "cgs"
    method = "collapsed Gibbs sampling"
    follow = True
    _tokens: CollapsedDocuments
    _visited: dict[str, Counts]

    @staticmethod
    def parts(
        options: LDAOptions, chain: BlockChain
    ) -> tuple[tuple[Block, ...], CollapsedDocuments]:
        """Return the blocks of LDA, and the sampler of documents by collapsed Gibbs."""
        block = blocks(options, chain.topics.shape[0], chain.tokens)
        return block, CollapsedDocuments(
            block=block[0], alpha=fixed_value(options.alpha), sweeps=1, threads=1
        )

    def sweep(
        self,
        sweeps: int,
        other_chains: Sequence[ExactLDA] = (),
        waiting: Callable[[], None] | None = None,
    ) -> None:
        """Sweep ``sweeps`` times over all tokens of this chain and of other chains, on one thread.

        Parameters
        ----------
        sweeps : int
        other_chains : sequence of ExactLDA
            Chains that were interrupted at another document are swept after this chain.
        waiting : callable, optional
            Called between documents; it may raise an exception to stop. The next call then continues.
        """
        elsewhere = [c for c in other_chains if c._tokens.visited[0] != self._tokens.visited[0]]
        chains = (self, *(c for c in other_chains if c not in elsewhere))
        for chain in chains:
            chain._tokens.sweeps = sweeps
        results = CollapsedDocuments.visit_together(
            [chain._tokens for chain in chains],
            [chain.key for chain in chains],
            # Topics have no values, because they are integrated out.
            [chain._upper_values() for chain in chains],
            self.batch,
            waiting,
        )
        for chain, chain._visited in zip(chains, results, strict=True):
            chain.advance()
        if elsewhere:
            elsewhere[0].sweep(sweeps, elsewhere[1:], waiting)

    def replicate(self, number: int, threads: int, waiting: Callable[[], None]) -> Floats:
        """Continue this chain on resampled documents, and return the mean of the topics, (K, V)."""
        phi = Replicate(self, number, threads).mean(waiting)
        return np.ascontiguousarray(phi[:, : self.topics.shape[1]].T)

    def arrays(self) -> dict[str, Array]:
        """Return the topics of all tokens, and the progress of an interrupted iteration.

        The progress is the number of documents that were processed.
        """
        return super().arrays() | {"visited": self._tokens.visited.copy()}

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Restore the chain from `arrays`, and compute topics over words from the tokens' topics.

        Raises
        ------
        CheckpointError
            If the arrays are not a state of this chain.
        """
        super().restore(step, arrays)
        restore_arrays({"visited": self._tokens.visited}, arrays)
        if self._tokens.visited[0] < 0:
            raise CheckpointError("array 'visited' of the checkpoint has a negative number")
        block, batch, z = self.topics, self.batch, self._tokens.z
        assert z is not None
        across = padded_width(block.shape[1])
        cells = np.repeat(batch.indices.astype(np.int64), batch.counts) * across + z
        counts = np.bincount(cells, minlength=len(batch.words) * across)
        statistics = Counts(batch.words, counts.reshape(-1, across), 1.0)
        if block.seeds is not None:
            statistics = add_seed_counts(statistics, block.seeds, whole_tokens=True)
        self.states[block.name].step(self.key, statistics, 0.0)

    def _visit(self, key: Key, batch: Minibatch) -> dict[str, Counts]:
        del key, batch
        return self._visited

    def draw_monitored_words(self) -> Doubles:
        """Return a draw of the monitored words' probabilities, given the tokens' topics."""
        z, (words, k), watched = self._tokens.z, self.topics.shape, self._watched
        assert z is not None
        mean = self._monitored_phi()
        counts = (np.bincount(z, minlength=k) + words * self.topics.prior)[watched.topics]
        seed = [self.seed, self.chain, self._number, self.step]
        drawn: Doubles = np.random.default_rng(seed).standard_gamma(mean * counts) / counts
        return drawn
