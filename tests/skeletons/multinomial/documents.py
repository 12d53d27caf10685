"""One multinomial over words: documents have no unknowns, so their words are counted.

phi ~ Dirichlet(eta), a token's word ~ phi, to the power p: phi | words ~ Dirichlet(eta + p N).
"""

from __future__ import annotations

import numpy as np
from skeletons.multinomial.resolved import MultinomialOptions

from pysgrld.chain.communicator import ALONE, Collected, Communicator
from pysgrld.chain.protocol import DocumentSampler
from pysgrld.core import padded_width
from pysgrld.core.draws import Draw
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Key, Minibatch


def blocks(options: MultinomialOptions, words: int, tokens: float) -> tuple[Block, ...]:
    """Return the only block, one topic over V words."""
    return (
        Block(
            name="phi",
            geometry="simplex",
            shape=(words, 1),
            prior=options.eta,
            stream=0,
            mass=options.power * tokens,
            sparse=True,
            settings=options.settings,
        ),
    )


class CountedDocuments(DocumentSampler):
    """Documents whose words are counted.

    Parameters
    ----------
    power : float
        Of the likelihood.
    """

    def __init__(self, power: float) -> None:
        self.power = power

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Counts]:
        """Count a minibatch's words, scaled to the corpus and the power of the likelihood."""
        del key, draw  # nothing is sampled
        found = comm.collect(_counted, batch)
        assert found.words is not None
        return {"phi": Counts(found.words, found.by_word[0], self.power * batch.scale)}


def _counted(batch: Minibatch) -> Collected:
    """Count the words of the given documents."""
    counts = np.zeros((len(batch.words), padded_width(1)), np.int64)
    np.add.at(counts[:, 0], batch.indices, batch.counts)
    return Collected((counts,))
