"""Reading of trained spherical admixture runs, in which topics are unit vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from pysgrld.core import core
from pysgrld.core.draws import Draw
from pysgrld.core.restore import Form, check_positive, name_checkpoint_in_errors
from pysgrld.evaluate import DocumentDraw, HeldOut, Scorer
from pysgrld.evaluate.matching import Likeness
from pysgrld.models.block_fitted import BlockFitted
from pysgrld.models.fitted import Record, Samples, SomeDocuments
from pysgrld.models.sam.chain import IDF
from pysgrld.models.sam.documents import blocks
from pysgrld.models.sam.proportions import Walk, directions, draw_products, start, walk
from pysgrld.models.sam.score import LOG_PERPLEXITY, LogPerplexity
from pysgrld.models.sam.variational import expected_proportions
from pysgrld.models.samples import COMMON
from pysgrld.types import (
    Array,
    Condition,
    Documents,
    Doubles,
    Floats,
    Int32s,
    Int64s,
    Invariant,
    Key,
)

#: Number of documents in a block, for which proportions are inferred together.
BLOCK = 4096
#: Number of Hamiltonian trajectories for the proportions of a new document, and number of these
#: trajectories whose end points are averaged.
NEW = (100, 50)
#: Number of trajectories before the first draw of a document's proportions.
FIRST = 25
#: Number of trajectories between two draws of a document's proportions.
FURTHER = 2


def cosines(a: Floats, b: Floats) -> Doubles:
    """Return cosines between the rows of two matrices of unit vectors, (K, K).

    Parameters
    ----------
    a, b : array of float, (K, V)
        Rows of length 1.

    Returns
    -------
    array of float64, (K, K)
        Cosines, -1 to 1.
    """
    product: Doubles = (a @ b.T).astype(np.float64)
    return product


def cosine(a: Floats, b: Floats) -> Doubles:
    """Return the cosine between each row of ``a`` and the same row of ``b``, (K,).

    Parameters
    ----------
    a, b : array of float, (K, V)
        Rows of length 1.

    Returns
    -------
    array of float64, (K,)
        Cosines, -1 to 1.
    """
    cosines: Doubles = np.einsum("kv,kv->k", a, b, dtype=np.float64)
    return cosines


class SphericalFitted(BlockFitted):
    """A trained run of a spherical admixture model, opened for reading.

    Parameters
    ----------
    record : Record
    threads : int
    """

    kind = "a spherical admixture model"
    score = LOG_PERPLEXITY
    likeness = Likeness(cosines, cosine)
    sample_invariants: Mapping[str, Invariant] = {
        "phi": Invariant(Condition.ROWS_UNIT_NORM, row="topic")
    }
    state_invariants: Mapping[str, Invariant] = (
        COMMON
        | dict.fromkeys(("idf", "phi.squares"), Invariant(Condition.NOT_NEGATIVE))
        | dict.fromkeys(("centre", "theta", "theta.*", "at", "gained"), Invariant(Condition.FINITE))
    )
    signed = True
    remedy = "--algo gmc-bgibbs"

    @property
    def faithful(self) -> bool:
        """True if posterior samples come from an exact sampler instead of an approximation."""
        return bool(self.record.options.algo == "gmc-bgibbs")

    def __init__(self, record: Record, threads: int) -> None:
        centre = np.zeros(record.words)
        if "centre" in record.arrays:
            with name_checkpoint_in_errors(record.place):
                centre = Form(np.float64, (record.words,)).take(record.arrays, "centre")
        super().__init__(record, threads, blocks(record.options, record.words, centre))
        self._work = core.Workspace()

    def sample_to_draw(self, sample: Mapping[str, Array], words: Int32s | None = None) -> Draw:
        """Convert a stored sample to a `Draw`, for the given words or for all words."""
        return super().sample_to_draw(sample, words) | self._weights()

    @cached_property
    def current(self) -> Draw:
        """Topics and word weights of the latest checkpoint, as a `Draw`."""
        return super().current | self._weights()

    @cached_property
    def mean(self) -> Draw | None:
        """Mean direction of each topic over all posterior samples, or None without samples."""
        mean = super().mean
        if mean is None:
            return None
        norms = np.sqrt((mean["phi"].astype(np.float64) ** 2).sum(axis=0))
        v, kp = mean["phi"].shape
        phi = core.zeros(v, kp, "float32")
        np.divide(mean["phi"], norms, out=phi, where=norms > 0.0, casting="same_kind")
        return {"phi": phi} | self._weights()

    def _weights(self) -> Draw:
        return {IDF: self._idf.astype(np.float32)}

    @cached_property
    def _idf(self) -> Doubles:
        """Weight of each word in the latest checkpoint, (V,)."""
        with name_checkpoint_in_errors(self.record.place):
            return Form(np.float64, (self.record.words,)).take(self.record.arrays, IDF)

    def proportions(self, draw: Draw, documents: Documents, ids: Int64s, layer: int) -> Doubles:
        """Return the mean proportions of topics in documents, (n, K); rows sum to 1.

        A document without weighted words has the prior mean, 1/K. Random numbers are keyed by the
        ids of documents.
        """
        del layer  # `layer` is unused, because the model has only one layer.
        options, k = self.record.options, self.layers[0]
        vectors = directions(documents, draw[IDF].astype(np.float64))
        products = draw_products(draw, vectors, k, self._work, self.threads)
        if not self.draws:
            return expected_proportions(options, self.record.words, products)
        law = Walk(k, options.kappa, options.alpha, "root", *NEW)
        samples = walk(
            Key(options.seed, 0, 0),
            products,
            law,
            self._length,
            ids,
            start(products, k),
            core.Purpose.infer,
            self._work,
            self.threads,
        ).samples
        theta: Doubles = samples[:, :, :k].mean(axis=1, dtype=np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
        theta[vectors.weightless] = 1.0 / k
        return theta

    def document_draws(
        self, samples: Samples, documents: Documents, ids: Int64s, layer: int
    ) -> Iterator[DocumentDraw]:
        """Yield a draw of the documents' topic proportions for each sample of topics.

        Trajectories continue from one sample to the next. Tokens have no topics: the token counts
        of a document are its length times its proportions.
        """
        del layer  # `layer` is unused, because the model has only one layer.
        options, k = self.record.options, self.layers[0]
        vectors = directions(documents, self._idf)
        lengths = documents.lengths[:, None].astype(np.float32)
        theta: Doubles | None = None
        for step, sample in samples:
            products = draw_products(
                self.sample_to_draw(sample), vectors, k, self._work, self.threads
            )
            number = FIRST if theta is None else FURTHER
            theta = start(products, k) if theta is None else theta
            drawn = walk(
                Key(options.seed, options.chain, step),
                products,
                Walk(k, options.kappa, options.alpha, "root", number, 1),
                self._length,
                ids,
                theta,
                core.Purpose.infer,
                self._work,
                self.threads,
            ).samples[:, 0, :k]
            shares = drawn / drawn.sum(axis=1, keepdims=True)
            yield DocumentDraw(shares, shares * lengths)

    @property
    def _length(self) -> float:
        """Step size of the Hamiltonian trajectories that sample topic proportions.

        It is the step size of training if the parametrisation is the same, else the default.
        """
        options = self.record.options
        if options.theta_parametrisation == "root":
            with name_checkpoint_in_errors(self.record.place):
                length = Form(np.float64, (1,)).take(self.record.arrays, "theta.length")
                check_positive("theta.length", length)
            return float(length[0])
        return float(0.2 / options.kappa**0.5)

    def weights(self, documents: SomeDocuments, layer: int) -> Doubles | None:
        """Return each topic's mean proportion in the documents, (K,); None if they are missing."""
        training = documents()
        if training is None:
            return None
        texts, ids = training
        draw, total = self.mean or self.current, np.zeros(self.layers[layer])
        for begin in range(0, len(ids), BLOCK):
            rows = np.arange(begin, min(begin + BLOCK, len(ids)))
            total += self.proportions(draw, texts.take(rows), ids[rows], layer).sum(axis=0)
        share: Doubles = total / total.sum()
        return share

    def scorer(self, held_out: HeldOut) -> Scorer:
        """Return a scorer that computes the log-perplexity of held-out documents given topics."""
        return LogPerplexity(self.record.options, held_out, self.record.words, self.threads)
