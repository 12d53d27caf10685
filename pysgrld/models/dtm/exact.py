"""The exact stage of dynamic topics: chains over the whole corpus whose steps are accepted or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pysgrld.chain.blocks import BlockChain
from pysgrld.models.dtm.blocks import blocks
from pysgrld.models.dtm.resolved import DynamicOptions
from pysgrld.models.exact_tokens import ExactTokens, Watched, chains_from
from pysgrld.models.token_topics import GibbsDocuments
from pysgrld.types import Doubles, Minibatch


class ExactDynamic(ExactTokens):
    """One chain of Metropolis-adjusted steps over the whole corpus, from where training has ended.

    Parameters
    ----------
    options : DynamicOptions
        Of those steps.
    batch : Minibatch
        All documents.
    watched : Watched
    chain : BlockChain
        The chain of training that it goes on from.
    number : int
        Among the chains of the stage, from 0.
    """

    method = "Gibbs sampling and steps that are accepted or not"

    def __init__(
        self,
        options: DynamicOptions,
        batch: Minibatch,
        watched: Watched,
        chain: BlockChain,
        number: int,
    ) -> None:
        tokens = GibbsDocuments(
            topics=options.topics,
            alpha=options.alpha,
            sweeps=1,
            kept=1,
            rao_blackwell=False,
            threads=1,
        )
        words = chain.topics.shape[0] // chain.topics.copies
        parts = blocks(options, words, chain.tokens)
        super().__init__(options, parts, tokens, batch, watched, chain, number)
        own, of = self.states[self.topics.name], chain.states[self.topics.name].arrays()
        own.restore({name: of[name] for name in own.names})

    def sweep(self, sweeps: int, others: Sequence[ExactDynamic] = ()) -> None:
        """Sample the topics of all tokens and move those over words so many times; so do others."""
        for chain in (self, *others):
            for _ in range(sweeps):
                chain.advance()

    def watched_words(self) -> Doubles:
        """Return the probabilities of the words as they are: they are drawn."""
        at = self._watched
        phi = self.states[self.topics.name].rows(at.rows)
        found: Doubles = phi[np.arange(len(phi)), at.topics].astype(np.float64)
        return found


def exact_chains(
    options: DynamicOptions, chain: BlockChain, threads: int, *, start: bool
) -> tuple[ExactDynamic, ...]:
    """Return the chains of the exact stage of a run; `chains_from` has what is given."""
    return chains_from(
        chain,
        options,
        "mala",
        lambda own, batch, watched, number: ExactDynamic(own, batch, watched, chain, number),
        threads,
        start=start,
    )
