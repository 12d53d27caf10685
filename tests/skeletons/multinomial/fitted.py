"""Reading of runs of a multinomial."""

from __future__ import annotations

import numpy as np
from skeletons.multinomial.documents import blocks
from skeletons.multinomial.score import TOKEN_PERPLEXITY, TokenPerplexity

from pysgrld.core.draws import Draw
from pysgrld.evaluate import HeldOut, Scorer
from pysgrld.models.block_fitted import BlockFitted
from pysgrld.models.fitted import Record, SomeDocuments
from pysgrld.types import Documents, Doubles, Int64s


class MultinomialFitted(BlockFitted):
    """A trained run of a multinomial: one topic."""

    kind = "a multinomial"
    score = TOKEN_PERPLEXITY

    def __init__(self, record: Record, threads: int) -> None:
        options = record.options
        super().__init__(record, threads, blocks(options, record.words, record.tokens))

    def proportions(self, draw: Draw, documents: Documents, ids: Int64s, at: int) -> Doubles:
        """Return proportions of 1 for the only topic, (n, 1)."""
        del draw, ids, at
        return np.ones((len(documents), 1))

    def weights(self, documents: SomeDocuments, at: int) -> Doubles:
        """Return a weight of 1 for the only topic, (1,)."""
        del documents, at
        return np.ones(1)

    def scorer(self, held_out: HeldOut) -> Scorer:
        """Return a scorer of this run's draws on documents."""
        return TokenPerplexity(held_out)
