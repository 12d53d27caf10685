"""The chain of a spherical admixture model: that of its one block, with the weights of words."""

from __future__ import annotations

import numpy as np

from pysgrld.chain.blocks import BlockChain
from pysgrld.core.draws import Draw
from pysgrld.corpus.minibatches import Epochs, Minibatches
from pysgrld.errors import CorpusError, UsageError
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.sam.directions import inverse_frequencies, mean_direction
from pysgrld.models.sam.documents import SphericalDocuments, blocks
from pysgrld.models.sam.resolved import SphericalOptions
from pysgrld.models.sam.variational import VariationalDocuments
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.points import Points
from pysgrld.types import Documents, Doubles, Int32s, Key

#: Name of the weights of words in a draw, and in a checkpoint.
IDF = "idf"


class SphericalChain(BlockChain):
    """A chain whose draws have the weights that documents are read by, beside the topics."""

    documents: SphericalDocuments | VariationalDocuments

    def draw(self, words: Int32s | None = None) -> Draw:
        """Give the current draw: ``phi`` of some words, of all where None, and ``idf`` of all."""
        return super().draw(words) | {IDF: self.documents.idf.astype(np.float32)}

    def _read(self, key: Key, words: Int32s) -> Draw:
        """Give nothing: documents are asked at the points that topics move to."""
        del key, words
        return {}

    def totals(self) -> dict[str, Doubles]:
        """Give zeros that topics are added to; their sum has the mean direction."""
        return {name: total for name, total in super().totals().items() if name != IDF}

    def figures(self) -> dict[str, float]:
        """Say how the documents of the last minibatch fared, and how topics move.

        The temperature is the mean squared velocity in the V - 1 dimensions of a topic's sphere: 1 where
        draws are the posterior's, above where noise of minibatches heats them.
        """
        (points,) = self.states.values()
        assert isinstance(points, Points)
        return self.documents.figures() | points.figures()


def chain(
    options: SphericalOptions, stream: Minibatches, corpus: CorpusFacts, run_on: RunOn
) -> SphericalChain:
    """Start a chain: weigh the words, find the documents' mean direction, and draw topics around it.

    Raises
    ------
    CorpusError
        If no document has a weight.
    """
    if not isinstance(stream, Epochs):
        raise UsageError("a spherical admixture model weighs words first: it needs a stored corpus")
    source = stream.source
    if isinstance(source, Documents) and not len(
        source
    ):  # a model that was saved: they will be restored
        nothing = np.zeros(corpus.words)
        return _chain(options, nothing, nothing.copy(), stream, corpus, run_on)
    idf = np.ones(corpus.words)
    if options.weighting == "tf-idf":
        idf = inverse_frequencies(source, stream.train, corpus.words)
    centre = mean_direction(source, stream.train, idf)
    if not centre.any():
        raise CorpusError(
            "no document has a weight: every word is in all of them; use --weighting tf"
        )
    return _chain(options, idf, centre, stream, corpus, run_on)


def _chain(
    options: SphericalOptions,
    idf: Doubles,
    centre: Doubles,
    stream: Epochs,
    corpus: CorpusFacts,
    run_on: RunOn,
) -> SphericalChain:
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
