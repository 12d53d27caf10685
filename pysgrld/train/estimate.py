"""Estimates before training: memory, disk space, hours, and useful number of threads.

Only trainings on a stored corpus are estimated: its facts are known, and only held-out documents
and one minibatch are read. Seconds follow from the unit times from which defaults are chosen
(`pysgrld.models.resolve`), so that they hold for a core like the one on which these were measured.
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

#: Seconds of an iteration in which only one thread works: 4.5 % of an iteration on Simple English
#: Wikipedia at K = 100, with training's unit times.
ALONE = 0.43e-3
#: Minimum number of a minibatch's documents per thread, which samples this many at a time.
DOCUMENTS = 4
#: Number of epochs assumed in estimating hours; runs until convergence take 30 to 75.
EPOCHS = 60


class TrainingNeeds(NamedTuple):
    """A training's estimated needs.

    Attributes
    ----------
    documents, words, tokens, topics : int
        Numbers D, V and N of the training documents, and K.
    minibatch : int
        Number of documents in an iteration.
    iterations : float
        Number of iterations in an epoch.
    memory : dict of str to int
        Bytes of memory for each purpose.
    disk : int
        Maximum number of bytes of the run's folder, without its corpus.
    seconds : float
        Seconds of an iteration with one thread.
    threads : int
        Number of requested threads.
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
        """Total number of bytes of memory."""
        return sum(self.memory.values())

    @property
    def useful_threads(self) -> int:
        """Maximum number of threads such that all of them are busy at least half of the time."""
        return max(1, min(1 + int(self.seconds / ALONE), self.minibatch // DOCUMENTS))

    @property
    def enough_documents(self) -> int:
        """Minimum minibatch size that occupies the requested threads, at most the corpus size."""
        factor = max((self.threads - 1) * ALONE / self.seconds, 1.0)
        most = max(factor * self.minibatch, DOCUMENTS * self.threads)
        return min(self.documents, math.ceil(most))

    def hours(self, epochs: float = 1.0) -> float:
        """Return the hours that the given epochs take with the requested threads."""
        each = self.seconds / self.threads + ALONE * (1.0 - 1.0 / self.threads)
        return epochs * self.iterations * each / 3600


def estimate(request: Request, listener: Listener, ranks: int = 1) -> TrainingNeeds:
    """Estimate the needs of training on a stored corpus, without writing anything.

    Parameters
    ----------
    request : Request
        A valid request.
    listener : Listener
    ranks : int
        Number of processes that train the chain together; the estimate is for the first one.

    Raises
    ------
    CorpusError
        If the corpus is not stored.
    SgmcError
        For the errors that training itself would raise before it begins.
    """
    if len(request.inputs) != 1 or not is_stored(Path(request.inputs[0])):
        raise CorpusError(
            "a plan needs a stored corpus; build it with 'sgmc corpus build', or a part of it "
            "with 'sgmc corpus sample'",
            request.inputs[0],
        )
    unlimited = Choices({"max-memory": 1 << 60})  # this machine's memory is irrelevant
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
