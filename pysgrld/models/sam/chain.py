"""Markov chain of a spherical admixture model, and the weights of words."""

from __future__ import annotations

import numpy as np

from pysgrld.chain.blocks import BlockChain
from pysgrld.core.arithmetic import log
from pysgrld.core.draws import Draw
from pysgrld.corpus.minibatches import Epochs, Minibatches, Source
from pysgrld.errors import CorpusError, UsageError
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.sam.documents import SphericalDocuments, blocks
from pysgrld.models.sam.proportions import directions
from pysgrld.models.sam.resolved import SphericalOptions
from pysgrld.models.sam.variational import VariationalDocuments
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.points import Points
from pysgrld.types import Documents, Doubles, Int32s, Key, Positions

#: Name of the words' weights (inverse document frequencies) in a draw and in a checkpoint.
IDF = "idf"
#: Number of documents processed together.
BLOCK = 4096


class SphericalChain(BlockChain):
    """Markov chain of a spherical admixture model; its draws include the weights of words."""

    documents: SphericalDocuments | VariationalDocuments

    def draw(self, words: Int32s | None = None) -> Draw:
        """Return topics ``phi`` for the given words or all words, and weights ``idf`` of words."""
        return super().draw(words) | {IDF: self.documents.idf.astype(np.float32)}

    def _read(self, key: Key, words: Int32s) -> Draw:
        """Return an empty draw, because documents get the topics when the topics are updated."""
        del key, words
        return {}

    def totals(self) -> dict[str, Doubles]:
        """Return arrays of zeros, to which topics are added to compute mean directions."""
        return {name: total for name, total in super().totals().items() if name != IDF}

    def metrics(self) -> dict[str, float]:
        """Return metrics of the last minibatch's documents, and metrics of the topics' updates.

        The temperature is the mean squared velocity in the V - 1 dimensions of a topic's sphere. It
        is 1 for draws from the posterior, and above 1 if noise of minibatches speeds topics up.
        """
        (points,) = self.states.values()
        assert isinstance(points, Points)
        return self.documents.metrics() | points.metrics()


def chain(
    options: SphericalOptions, stream: Minibatches, corpus: CorpusFacts, run_on: RunOn
) -> SphericalChain:
    """Start a chain with topics that are drawn around the mean direction of the documents.

    Parameters
    ----------
    options : SphericalOptions
    stream : Minibatches
        Minibatches of a stored corpus. If the corpus has no documents, weights and direction are 0,
        and will be restored.
    corpus : CorpusFacts
    run_on : RunOn

    Raises
    ------
    UsageError
        If the corpus is read as a stream.
    CorpusError
        If no document has a weight.
    """
    if not isinstance(stream, Epochs):
        raise UsageError(
            "the spherical admixture model computes word weights from the whole corpus, so the "
            "corpus must be stored: build it with 'sgmc corpus build'"
        )
    source = stream.source
    # A model that is loaded for reading has no documents.
    if isinstance(source, Documents) and not len(source):
        idf, centre = np.zeros(corpus.words), np.zeros(corpus.words)
    else:
        idf = np.ones(corpus.words)
        if options.weighting == "tf-idf":
            idf = inverse_frequencies(source, stream.train, corpus.words)
        centre = mean_direction(source, stream.train, idf)
        if not centre.any():
            raise CorpusError(
                "every word occurs in all documents, so all word weights are 0; use --set weighting=tf"
            )
    documents = SphericalDocuments if SAMPLERS[options.algo].draws else VariationalDocuments
    return SphericalChain(
        options,
        blocks(options, corpus.words, centre),
        documents(options, idf, centre, run_on.threads),
        stream,
        corpus.tokens,
        run_on.threads,
        run_on.waiting,
    )


def inverse_frequencies(source: Source, train: Positions, words: int) -> Doubles:
    """Return the weight ln(D / df_w) of each word, (V,), or 0 for words without documents.

    df_w is the number of training documents that have word w.

    Parameters
    ----------
    source : Source
        The corpus.
    train : positions
        Positions of the training documents.
    words : int
        Vocabulary size V.

    Returns
    -------
    array of float64, (V,)
        Weights of the words.
    """
    frequency = np.zeros(words, np.int64)
    for begin in range(0, len(train), BLOCK):
        documents = source.take(train[begin : begin + BLOCK])
        frequency += np.bincount(documents.indices, minlength=words)
    weights: Doubles = log(len(train) / np.maximum(1, frequency))
    weights[frequency == 0] = 0.0
    return weights


def mean_direction(source: Source, train: Positions, idf: Doubles) -> Doubles:
    """Return the normalised sum of the training documents' unit vectors, (V,).

    The sum is 0 if no document has a word with a weight.

    Parameters
    ----------
    source : Source
        The corpus.
    train : positions
        Positions of the training documents.
    idf : array of float64, (V,)
        Weights of the words.

    Returns
    -------
    array of float64, (V,)
        The unit vector m of Reisinger et al. (2010).
    """
    total = np.zeros(len(idf))
    for begin in range(0, len(train), BLOCK):
        vectors = directions(source.take(train[begin : begin + BLOCK]), idf)
        total += np.bincount(vectors.indices, vectors.values, len(idf))
    norm = float(np.sqrt((total * total).sum()))
    return total / norm if norm > 0.0 else total
