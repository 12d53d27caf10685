"""A trained admixture, read: a model in which every document has proportions of the topics."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pysgrld.core import check_lengths
from pysgrld.core.draws import Draw, at_words
from pysgrld.evaluate import PERPLEXITY, Completion, DocumentDraw, HeldOut, Readers, Scorer
from pysgrld.evaluate.document_draws import document_draws
from pysgrld.evaluate.proportions import BLOCK, over_their_words, proportions
from pysgrld.models.block_fitted import BlockFitted
from pysgrld.models.fitted import Record, Samples, SomeDocuments
from pysgrld.options.learned import ALPHA_BLOCK
from pysgrld.types import Block, Documents, Doubles, Int32s, Int64s, Key


class AdmixtureFitted(BlockFitted):
    """A trained run whose documents have proportions of topics, which are scored by completion.

    Parameters
    ----------
    record : Record
    threads : int
    blocks : tuple of Block
        The model's global parts; the first are the topics over words.
    readers : Readers
    """

    score = PERPLEXITY

    def __init__(
        self, record: Record, threads: int, blocks: tuple[Block, ...], readers: Readers
    ) -> None:
        super().__init__(record, threads, blocks)
        self.readers = readers

    def proportions(self, draw: Draw, documents: Documents, ids: Int64s, at: int) -> Doubles:
        """Give the topic proportions of documents, (n, K), each keyed by its id; rows sum to 1."""
        seed = self.record.options.seed
        return proportions(self.readers, draw, documents, ids, seed, self.threads, at)

    def document_draws(
        self, samples: Samples, documents: Documents, ids: Int64s, at: int
    ) -> Iterator[DocumentDraw]:
        """Draw the topics of documents, whose chains go on from sample to sample."""
        options = self.record.options

        def draws(words: Int32s) -> Iterator[tuple[Key, Draw]]:
            for step, sample in samples:
                yield Key(options.seed, options.chain, step), self.draw_of(sample, words)

        return document_draws(self.readers, draws, documents, ids, self.threads, at)

    def token_topics(self, documents: Documents, ids: Int64s, at: int) -> Int32s:
        """Draw the topic of every token: that of the last of some sweeps, given the current topics."""
        options = self.record.options
        check_lengths(documents.lengths, 1, "document", ids)
        there, words = over_their_words(documents, ids)
        reader = self.readers(there, ids, self.threads)
        key = Key(options.seed, options.chain, self.record.step)
        return reader.token_topics(key, at_words(self.current, words), at)

    def document_prior(self, at: int) -> Doubles | None:
        """Give the parameters of the Dirichlet prior of documents' proportions, (K,).

        Where they are learned their posterior mean, or else the current ones.
        """
        return self._priors(self.mean or self.current, at)

    def _priors(self, draw: Draw, at: int) -> Doubles | None:
        """Give the Dirichlet prior of documents under a draw, (K,); None where it is no Dirichlet."""
        k, fixed = self.layers[at], self.record.options.alpha
        if ALPHA_BLOCK in draw:
            return draw[ALPHA_BLOCK][:k].astype(np.float64)
        return np.full(k, float(fixed))

    def weights(self, documents: SomeDocuments, at: int) -> Doubles | None:
        """Weigh each topic by the expected share of some documents' tokens that it makes, (K,).

        Under the mean topics, without the prior's share; None without documents.
        """
        given = documents()
        if given is None:
            return None
        some, ids = given
        draw = self.mean or self.current
        prior = self._priors(draw, at)
        if prior is None:
            prior = np.zeros(self.layers[at])
        total, mass = np.zeros(self.layers[at]), math.fsum(prior)
        for begin in range(0, len(ids), BLOCK):
            rows = np.arange(begin, min(begin + BLOCK, len(ids)))
            part = some.take(rows)
            theta = self.proportions(draw, part, ids[rows], at)
            total += (theta * (mass + part.lengths[:, None]) - prior).sum(axis=0)
        share: Doubles = np.maximum(total, 0.0)
        return share / share.sum() if share.sum() else None

    def scorer(self, held_out: HeldOut) -> Scorer:
        """Make a scorer of this run's draws on documents."""
        return Completion(held_out, self.readers, self.threads)
