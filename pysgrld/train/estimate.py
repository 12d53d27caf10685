"""Estimates of a training before it begins: memory, disk, hours, and the threads that are useful.

Only a stored corpus is planned: its facts are known, and no more than held-out documents and one
minibatch are read. Seconds follow from the unit times by which defaults are chosen
(`pysgrld.models.resolve`), so that they are of one core like the one that these were measured on.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from pysgrld.core import padded
from pysgrld.corpus.reading import Listener
from pysgrld.corpus.stored_files import is_stored
from pysgrld.errors import CorpusError
from pysgrld.models.choices import Choices
from pysgrld.models.resolve import TRAINING
from pysgrld.train.plan import planned
from pysgrld.train.request import Request

#: Seconds of an iteration in which one thread works alone: 4.5 % of an iteration on Simple English
#: Wikipedia with K = 100, in the unit times of training.
ALONE = 0.43e-3
#: Fewest documents of a minibatch for each thread: a thread samples this many together.
DOCUMENTS = 4
#: Epochs of a run, for its hours: runs until convergence have 30 to 75.
EPOCHS = 60


class TrainingNeeds(NamedTuple):
    """The estimated needs of a training.

    Attributes
    ----------
    documents, words, tokens, topics : int
        D, V, N of training, and K.
    minibatch : int
        Documents of an iteration.
    iterations : float
        Iterations of an epoch.
    memory : dict of str to int
        Bytes, by what they are for.
    disk : int
        Bytes of the run, its corpus apart, at most.
    seconds : float
        Of an iteration, with one thread.
    threads : int
        Requested threads.
    """

    documents: int
    words: int
    tokens: int
    topics: int
    minibatch: int
    iterations: float
    memory: dict[str, int]
    disk: int
    seconds: float
    threads: int

    @property
    def bytes(self) -> int:
        """Bytes of memory in all."""
        return sum(self.memory.values())

    @property
    def useful_threads(self) -> int:
        """Largest number of threads that are all busy for at least half of their time."""
        return max(1, min(1 + int(self.seconds / ALONE), self.minibatch // DOCUMENTS))

    @property
    def enough_documents(self) -> int:
        """The least minibatch for which the requested threads are useful, at most the corpus."""
        factor = max((self.threads - 1) * ALONE / self.seconds, 1.0)
        most = max(factor * self.minibatch, DOCUMENTS * self.threads)
        return min(self.documents, math.ceil(most))

    def hours(self, epochs: float = 1.0) -> float:
        """Return the hours of some epochs with the requested threads."""
        each = self.seconds / self.threads + ALONE * (1.0 - 1.0 / self.threads)
        return epochs * self.iterations * each / 3600


def estimate(request: Request, listener: Listener, ranks: int = 1) -> TrainingNeeds:
    """Estimate the needs of a training on a stored corpus; nothing is written.

    Parameters
    ----------
    request : Request
        Checked.
    listener : Listener
    ranks : int
        Processes that train the chain together; the estimate is of the first.

    Raises
    ------
    CorpusError
        If the corpus is not stored.
    SgmcError
        As training itself raises it before it begins.
    """
    if len(request.inputs) != 1 or not is_stored(Path(request.inputs[0])):
        raise CorpusError(
            "only a stored corpus can be planned without reading it: build it with 'sgmc corpus "
            "build', or a part of it with 'sgmc corpus sample'",
            request.inputs[0],
        )
    unlimited = Choices({"max-memory": 1 << 60})  # of the machine that will train
    choices = unlimited.updated(request.choices)
    with planned(request._replace(choices=choices), listener) as plan:
        options, facts = plan.options, plan.facts
        topics = max(options.widths, default=1)
        iterations = facts.documents / options.minibatch
        visits = facts.tokens / iterations * options.sweeps
        cells = facts.rows * topics
        across = facts.rows * padded(topics)
        seconds = 1e-9 * (visits * TRAINING.visit(topics) + cells * TRAINING.cell) / ranks
        samples = 4 * options.samples * cells
        checkpoints = options.keep * (4 + 8) * across
        return TrainingNeeds(
            facts.documents,
            facts.words,
            facts.tokens,
            topics,
            min(options.minibatch, facts.documents),
            iterations,
            plan.memory,
            samples + checkpoints,
            seconds,
            request.choices.start.threads or request.threads,
        )
