"""Refinement of dynamic topics by chains over the whole corpus, with Metropolis accept tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pysgrld.chain.blocks import BlockChain
from pysgrld.models.dtm.blocks import blocks
from pysgrld.models.dtm.resolved import DynamicOptions
from pysgrld.models.exact_tokens import ExactTokens
from pysgrld.models.token_topics import GibbsDocuments
from pysgrld.types import Block, Doubles


class ExactDynamic(ExactTokens):
    """Chain of the Gibbs refinement, in which topics move by Metropolis steps."""

    algo = "mala"
    method = "Gibbs sampling with Metropolis steps"

    @staticmethod
    def parts(
        options: DynamicOptions, chain: BlockChain
    ) -> tuple[tuple[Block, ...], GibbsDocuments]:
        """Return the block of topics, and a document sampler that makes Gibbs sweeps."""
        words = chain.topics.shape[0] // chain.topics.copies
        return blocks(options, words, chain.tokens), GibbsDocuments(
            topics=options.topics,
            alpha=options.alpha,
            sweeps=1,
            kept=1,
            rao_blackwell=False,
            threads=1,
        )

    def sweep(
        self,
        sweeps: int,
        other_chains: Sequence[ExactDynamic] = (),
        waiting: Callable[[], None] | None = None,
    ) -> None:
        """Sample the topics of all tokens and update the topics over words, ``sweeps`` times.

        Parameters
        ----------
        sweeps : int
        other_chains : sequence of ExactDynamic
            Chains that sweep after this one.
        waiting : callable, optional
            Called between chains; it may raise an exception to stop.
        """
        for chain in (self, *other_chains):
            if chain is not self and waiting is not None:
                waiting()
            for _ in range(sweeps):
                chain.advance()

    def draw_monitored_words(self) -> Doubles:
        """Return a posterior draw of the probabilities of the monitored words."""
        return self._monitored_phi()
