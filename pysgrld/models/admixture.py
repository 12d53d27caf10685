"""Reading of trained runs of admixture models, in which documents have topic proportions.

Proportions of documents are inferred given one draw of the topics, or given the mean of the topics.
Draws of documents continue over stored samples of the topics: a document's Gibbs chain continues
from sample to sample, and only the last sweep for each sample is used. Each draw is therefore one
point of the joint posterior of proportions and tokens' topics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pysgrld.core import check_lengths
from pysgrld.core.draws import Draw, select_words
from pysgrld.corpus.minibatches import compact
from pysgrld.evaluate import (
    PERPLEXITY,
    Completion,
    DocumentDraw,
    HeldOut,
    Reader,
    Readers,
    Scorer,
    VisitPurpose,
)
from pysgrld.models.block_fitted import BlockFitted
from pysgrld.models.fitted import Record, Samples, SomeDocuments
from pysgrld.options.priors import ALPHA_BLOCK
from pysgrld.types import Block, Documents, Doubles, Int32s, Int64s, Key

#: Number of documents in a block, for which proportions are inferred together to limit the memory.
BLOCK = 4096


class AdmixtureFitted(BlockFitted):
    """Trained run of an admixture model, in which each document has topic proportions.

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

    def proportions(self, draw: Draw, documents: Documents, ids: Int64s, layer: int) -> Doubles:
        """Infer the topic proportions of documents, (n, K) float64; rows sum to 1.

        A document that is too long for the counts of all kept sweeps is read separately, and only
        its last sweep is used. The result of a document therefore does not depend on other
        documents.

        Parameters
        ----------
        draw : dict
            A draw of the topics, or their mean, over all words.
        documents : Documents
        ids : (n,) int64
            Ids of the documents; with the seed, they key each document's randomness.
        layer : int
            The layer, counted from 0.

        Raises
        ------
        CorpusError
            If a document is too long even for the counts of one sweep.
        """
        lengths = documents.lengths
        check_lengths(lengths, 1, "document", ids)
        long = lengths > self.readers.longest
        if not (long.any() and (~long).any()):
            return self._proportions(draw, documents, ids, layer)
        theta = np.empty((len(ids), self.layers[layer]))
        for chosen in map(np.flatnonzero, (~long, long)):
            theta[chosen] = self._proportions(draw, documents.take(chosen), ids[chosen], layer)
        return theta

    def _proportions(self, draw: Draw, documents: Documents, ids: Int64s, layer: int) -> Doubles:
        reader, words = self._reader(documents, ids)
        key, parts = Key(self.record.options.seed, 0, 0), select_words(draw, words)
        return reader.theta(key, parts, VisitPurpose.NEW, layer)

    def _reader(self, documents: Documents, ids: Int64s) -> tuple[Reader, Int32s]:
        """Return a reader of the given documents, and the ids of the documents' words.

        The only id is 0 if the documents are empty.
        """
        batch = compact(documents, ids, 1.0)
        words = batch.words if len(batch.words) else np.zeros(1, np.int32)
        own_batch = Documents(batch.indptr, batch.indices, batch.counts)
        return self.readers.make(own_batch, ids, self.threads), words

    def document_draws(
        self, samples: Samples, documents: Documents, ids: Int64s, layer: int
    ) -> Iterator[DocumentDraw]:
        """Draw documents' topic proportions and token topics, once for each sample of topics.

        The Gibbs chains of the documents continue from one sample to the next.

        Parameters
        ----------
        samples : iterable of (int, mapping)
            Kept samples of the topics.
        documents : Documents
        ids : (n,) int64
            Ids of the documents; with the samples' iterations, they key each document's randomness,
            so that no two keys are equal.
        layer : int
            The layer of the topics, counted from 0.

        Yields
        ------
        DocumentDraw
            One draw for each sample; a document's part depends on its counts and its id, not on other
            documents.

        Raises
        ------
        CorpusError
            If a document is too long for the counts of a sweep.
        UsageError
            If documents are not sampled.
        """
        options = self.record.options
        check_lengths(documents.lengths, 1, "document", ids)
        reader, words = self._reader(documents, ids)
        for step, sample in samples:
            key = Key(options.seed, options.chain, step)
            yield reader.draw(key, self.sample_to_draw(sample, words), layer)

    def token_topics(self, documents: Documents, ids: Int64s, layer: int) -> Int32s:
        """Draw each token's topic by several Gibbs sweeps, given the current topics."""
        options = self.record.options
        check_lengths(documents.lengths, 1, "document", ids)
        reader, words = self._reader(documents, ids)
        key = Key(options.seed, options.chain, self.record.step)
        return reader.token_topics(key, select_words(self.current, words), layer)

    def document_prior(self, layer: int) -> Doubles | None:
        """Return the Dirichlet parameters of the prior of topic proportions, (K,).

        For a learned alpha, return its posterior mean, or the current alpha without samples. Return
        None if the model has no alpha: the prior is then not a Dirichlet distribution, and
        `weights` subtracts no prior.
        """
        if not hasattr(self.record.options, "alpha"):
            return None
        k, draw = self.layers[layer], self.mean or self.current
        if ALPHA_BLOCK in draw:
            return draw[ALPHA_BLOCK][:k].astype(np.float64)
        return np.full(k, float(self.record.options.alpha))

    def weights(self, documents: SomeDocuments, layer: int) -> Doubles | None:
        """Return the expected share of each topic among the given documents' tokens, (K,).

        The mean topics are used, and the part of the prior in the proportions is subtracted. Return
        None without documents.
        """
        training = documents()
        if training is None:
            return None
        texts, ids = training
        draw = self.mean or self.current
        prior = self.document_prior(layer)
        if prior is None:
            prior = np.zeros(self.layers[layer])
        total, mass = np.zeros(self.layers[layer]), math.fsum(prior)
        for begin in range(0, len(ids), BLOCK):
            rows = np.arange(begin, min(begin + BLOCK, len(ids)))
            part = texts.take(rows)
            theta = self.proportions(draw, part, ids[rows], layer)
            total += (theta * (mass + part.lengths[:, None]) - prior).sum(axis=0)
        share: Doubles = np.maximum(total, 0.0)
        return share / share.sum() if share.sum() else None

    def scorer(self, held_out: HeldOut) -> Scorer:
        """Return a scorer of this run's draws on held-out documents."""
        return Completion(held_out, self.readers, self.threads)
