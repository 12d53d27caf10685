"""Topics that change over time, and the LDA chain that initialises the topics.

    b_1 ~ N(0, spread^2),  b_t ~ N(b_(t-1), drift^2),  phi_t = softmax of b_t over words

Given phi_t, documents of slice t are as in LDA (`pysgrld.models.token_topics`), which reads row
w T + t of the topics for word w.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from pysgrld.chain.blocks import BlockChain
from pysgrld.corpus.minibatches import Epochs, Source
from pysgrld.models.dtm.resolved import DynamicOptions
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.token_topics import GibbsDocuments
from pysgrld.samplers.scir import ScirSettings
from pysgrld.types import Block, Documents, Int64s


def blocks(options: DynamicOptions, words: int, tokens: float) -> tuple[Block, ...]:
    """Return the block of topics over V words in T time slices.

    Parameters
    ----------
    options : DynamicOptions
        Resolved options.
    words : int
        Vocabulary size V.
    tokens : float
        Training tokens.

    Returns
    -------
    tuple of Block
        One block of shape (V T, K), rows word-major.
    """
    return (
        Block(
            name="phi",
            geometry="walk",
            shape=(words * options.copies, options.topics),
            prior=0.0,
            stream=0,
            mass=float(tokens),
            hyper=(options.drift, options.spread),
            sparse=True,
            settings=options.settings,
            copies=options.copies,
        ),
    )


#: Settings of the short chains, which are the defaults of LDA.
_SWEEPS, _MINIBATCH, _WARM_UP, _ETA = 10, 400, 50, 0.05


def steady_chain(
    options: DynamicOptions, stream: Epochs, corpus: CorpusFacts, run_on: RunOn
) -> BlockChain:
    """Start an LDA chain that ignores the times of the documents.

    Parameters
    ----------
    options : DynamicOptions
        Resolved options.
    stream : Epochs
        Minibatches of documents in slices.
    corpus : CorpusFacts
        Facts of the training corpus.
    run_on : RunOn
        Threads, and the callback while waiting.

    Returns
    -------
    BlockChain
        A chain of LDA by ``scir``.
    """
    documents = len(stream.train)
    steady = replace(
        options,
        algo="scir",
        settings=ScirSettings(),
        minibatch=min(_MINIBATCH, -(-documents // 4)),
        warm_up=options.warm_up or _WARM_UP,
        counts="rao-blackwell",
        step_size=(0.1, 1.0, 0.0),
    )
    topics = Block(
        "phi",
        "simplex",
        (corpus.words, options.topics),
        _ETA,
        0,
        float(corpus.tokens),
        sparse=True,
        settings=steady.settings,
    )
    tokens = GibbsDocuments(
        topics=options.topics,
        alpha=options.alpha,
        sweeps=_SWEEPS,
        kept=_SWEEPS // 2,
        rao_blackwell=True,
        threads=run_on.threads,
    )
    batches = Epochs.of(steady, WithoutSlices(stream.source), stream.train)
    return BlockChain(
        steady, (topics,), tokens, batches, corpus.tokens, run_on.threads, run_on.waiting
    )


class WithoutSlices(NamedTuple):
    """A source of documents that hides the documents' time slices."""

    source: Source

    def take(self, ids: Int64s) -> Documents:
        """Return the documents with the given ids, in the given order."""
        return replace(self.source.take(ids), slices=None, copies=1)
