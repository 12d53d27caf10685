"""A trained admixture, read: a model in which every document has proportions of the topics.

Proportions are inferred under one draw of the topics, or their mean. Draws of documents go on over kept
samples of the topics: a document's Gibbs chain goes on from sample to sample, and the last sweep of each
visit alone counts, so that each is one point of the joint posterior of proportions and tokens' topics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pysgrld.core import check_lengths
from pysgrld.core.draws import Draw, at_words
from pysgrld.corpus.minibatches import compact
from pysgrld.evaluate import (
    PERPLEXITY,
    Completion,
    DocumentDraw,
    HeldOut,
    Reader,
    Readers,
    Scorer,
    Visiting,
)
from pysgrld.models.block_fitted import BlockFitted
from pysgrld.models.fitted import Record, Samples, SomeDocuments
from pysgrld.options.priors import ALPHA_BLOCK
from pysgrld.types import Block, Documents, Doubles, Int32s, Int64s, Key

#: Documents that are inferred at a time: bounds the memory.
BLOCK = 4096


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
        """Infer the topic proportions of documents, (n, K) float64; rows sum to 1.

        Documents that are too long for all kept sweeps to be counted are read apart from the others, by
        their last sweep alone, so that no document's result depends on its neighbours.

        Parameters
        ----------
        draw : dict
            A draw of the topics, or their mean, over all words.
        documents : Documents
        ids : (n,) int64
            Key each document's randomness, with the seed.
        at : int
            The layer, counted from 0.

        Raises
        ------
        CorpusError
            If a document is too long even for one sweep to be counted.
        """
        lengths = documents.lengths
        check_lengths(lengths, 1, "document", ids)
        long = lengths > self.readers.longest
        if not (long.any() and (~long).any()):
            return self._proportions(draw, documents, ids, at)
        theta = np.empty((len(ids), self.layers[at]))
        for chosen in map(np.flatnonzero, (~long, long)):
            theta[chosen] = self._proportions(draw, documents.take(chosen), ids[chosen], at)
        return theta

    def _proportions(self, draw: Draw, documents: Documents, ids: Int64s, at: int) -> Doubles:
        reader, words = self._reader(documents, ids)
        key, parts = Key(self.record.options.seed, 0, 0), at_words(draw, words)
        return reader.theta(key, parts, Visiting.NEW, at)

    def _reader(self, documents: Documents, ids: Int64s) -> tuple[Reader, Int32s]:
        """Return a reader of documents over the words that they have, and these words: at least one."""
        batch = compact(documents, ids, 1.0)
        words = batch.words if len(batch.words) else np.zeros(1, np.int32)
        there = Documents(batch.indptr, batch.indices, batch.counts)
        return self.readers.make(there, ids, self.threads), words

    def document_draws(
        self, samples: Samples, documents: Documents, ids: Int64s, at: int
    ) -> Iterator[DocumentDraw]:
        """Draw the topics of documents, whose chains go on from sample to sample.

        Parameters
        ----------
        samples : iterable of (int, mapping)
            Kept samples of the topics.
        documents : Documents
        ids : (n,) int64
            Key each document's randomness, with the samples' iterations: no two alike.
        at : int
            The layer whose topics are meant, counted from 0.

        Yields
        ------
        DocumentDraw
            One for each sample; a document's depends on its counts and its id, not on the others.

        Raises
        ------
        CorpusError
            If a document is too long for a sweep to be counted.
        UsageError
            If documents are not sampled.
        """
        options = self.record.options
        check_lengths(documents.lengths, 1, "document", ids)
        reader, words = self._reader(documents, ids)
        for step, sample in samples:
            key = Key(options.seed, options.chain, step)
            yield reader.draw(key, self.draw_of(sample, words), at)

    def token_topics(self, documents: Documents, ids: Int64s, at: int) -> Int32s:
        """Draw the topic of every token: that of the last of some sweeps, given the current topics."""
        options = self.record.options
        check_lengths(documents.lengths, 1, "document", ids)
        reader, words = self._reader(documents, ids)
        key = Key(options.seed, options.chain, self.record.step)
        return reader.token_topics(key, at_words(self.current, words), at)

    def document_prior(self, at: int) -> Doubles | None:
        """Return the parameters of the Dirichlet prior of documents' proportions, (K,).

        Where they are learned their posterior mean, or else the current ones; None where the model has no
        alpha, as that prior is no Dirichlet, and nothing of it is taken off the weights.
        """
        if not hasattr(self.record.options, "alpha"):
            return None
        k, draw = self.layers[at], self.mean or self.current
        if ALPHA_BLOCK in draw:
            return draw[ALPHA_BLOCK][:k].astype(np.float64)
        return np.full(k, float(self.record.options.alpha))

    def weights(self, documents: SomeDocuments, at: int) -> Doubles | None:
        """Return the expected share of some documents' tokens that each topic makes, (K,).

        Under the mean topics, without the prior's share; None without documents.
        """
        given = documents()
        if given is None:
            return None
        some, ids = given
        draw = self.mean or self.current
        prior = self.document_prior(at)
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
        """Return a scorer of this run's draws on documents."""
        return Completion(held_out, self.readers, self.threads)
