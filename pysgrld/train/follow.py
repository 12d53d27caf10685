"""Training as the ranks do it that write nothing: they sample their documents."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.chain.ranks.protocol import Communicator, Orders
from pysgrld.corpus import Corpus
from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import Interrupted, MismatchError
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import restored
from pysgrld.models.table import model_of
from pysgrld.run import StopFlag
from pysgrld.run.machine import threads
from pysgrld.train.prepare import Prepared
from pysgrld.train.rounds import Rounds, stopping
from pysgrld.types import Positions


class Brief(NamedTuple):
    """The facts of a run that is ready, as the first rank tells them to the others.

    Attributes
    ----------
    model : str
    options : dict
        Resolved options, as JSON has them.
    corpus, fingerprint : str
        Where the stored corpus lies, and what it must be.
    train : (D,) int64, or Others
        Positions of the training documents in it.
    words, tokens : int
    """

    model: str
    options: dict[str, Any]
    corpus: str
    fingerprint: str
    train: Positions
    words: int
    tokens: int


def brief_of(prepared: Prepared) -> Brief:
    """Tell what the other ranks need to know of a run."""
    stream, options = prepared.stream, prepared.options
    assert isinstance(stream, Epochs)
    assert isinstance(stream.source, Corpus)
    corpus = stream.source
    return Brief(
        options.model,
        options.plain(),
        str(corpus.path.resolve()),
        corpus.fingerprint,
        stream.train,
        prepared.words,
        prepared.tokens,
    )


def follow(given: Mapping[str, Any], stop: StopFlag, comm: Communicator) -> None:
    """Train as one of a communicator whose first member has prepared the run, and writes it.

    Parameters
    ----------
    given : mapping
        Options that this start was given.
    stop : StopFlag
        Says when to stop; entered.
    comm : Communicator

    Raises
    ------
    Interrupted
        If it was stopped early, after a checkpoint.
    SgmcError
        For everything else that is wrong, here or with another member.
    """
    brief: Brief | None = comm.share()
    if brief is None:  # finished already
        comm.leave()
        return
    comm.words = brief.words
    model = model_of(brief.model)
    options = restored(brief.options)
    corpus = Corpus.open(Path(brief.corpus))
    if corpus.fingerprint != brief.fingerprint:
        raise MismatchError(f"{brief.corpus}: is another corpus than the one that rank 0 reads")
    chain = model.chain(
        options,
        Epochs.of(options, corpus, brief.train, comm.rank, comm.size),
        CorpusFacts(brief.words, brief.tokens),
        RunOn(threads(given.get("threads")).number, stopping(stop), comm),
    )
    try:
        comm.meet()  # all have the corpus, and a chain
        step = comm.share()
        if step is not None:
            chain.restore(step, comm.spread())
        save = False

        def wants() -> Orders:
            if save:
                return Orders.SAVE
            return Orders.STOP if stop.should_stop(0.0) else Orders.NONE

        rounds = Rounds(chain, comm, stop, wants, time.monotonic)
        for visit in rounds:  # the first member writes
            save = visit is not None and stop.take_checkpoint_request()
        stopped = comm.share()
        comm.leave()
    finally:
        chain.close()
    if stopped:
        raise Interrupted(f"{stopped}: stopped after iteration {chain.step}")
