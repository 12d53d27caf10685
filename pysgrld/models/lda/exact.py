"""The exact stage of LDA: chains of collapsed Gibbs, from the topics of a chain by minibatches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pysgrld.chain.blocks import BlockChain
from pysgrld.models.exact_tokens import ExactTokens
from pysgrld.models.lda.blocks import blocks
from pysgrld.models.lda.collapsed import CollapsedDocuments
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Doubles, Key, Minibatch


class ExactLDA(ExactTokens):
    """One chain of collapsed Gibbs over the whole corpus."""

    algo = "cgs"
    method = "collapsed Gibbs sampling"
    follow = True
    _tokens: CollapsedDocuments
    _visited: dict[str, Counts]

    @staticmethod
    def parts(
        options: LDAOptions, chain: BlockChain
    ) -> tuple[tuple[Block, ...], CollapsedDocuments]:
        """Return the blocks of LDA, and documents by collapsed Gibbs."""
        found = blocks(options, chain.topics.shape[0], chain.tokens)
        return found, CollapsedDocuments(
            block=found[0], alpha=options.fixed_alpha, sweeps=1, threads=1
        )

    def sweep(self, sweeps: int, others: Sequence[ExactLDA] = ()) -> None:
        """Sweep over all tokens so many times, and so do other chains, token by token."""
        chains = (self, *others)
        for chain in chains:
            chain._tokens.sweeps = sweeps
        found = CollapsedDocuments.visit_together(
            [chain._tokens for chain in chains],
            [chain.key for chain in chains],
            [chain._read(chain.key, self._batch.words) for chain in chains],
            self._batch,
        )
        for chain, chain._visited in zip(chains, found, strict=True):
            chain.advance()

    def _visit(self, key: Key, batch: Minibatch) -> dict[str, Counts]:
        del key, batch
        return self._visited

    def watched_words(self) -> Doubles:
        """Return a draw given the counts behind the mean, as those that are kept."""
        z, (words, k), at = self._tokens.z, self.topics.shape, self._watched
        assert z is not None
        phi = self.states[self.topics.name].rows(at.rows)
        mean = phi[np.arange(len(phi)), at.topics].astype(np.float64)
        counts = (np.bincount(z, minlength=k) + words * self.topics.prior)[at.topics]
        seed = [self.seed, self.chain, self._number, self.step]
        drawn: Doubles = np.random.default_rng(seed).standard_gamma(mean * counts) / counts
        return drawn
