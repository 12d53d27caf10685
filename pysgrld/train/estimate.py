"""Estimates before training: memory, disk space, hours, and the useful number of threads.

The corpus must be stored, because then its size is known, and only held-out documents and one
minibatch are read. Or the input is a sample of a larger corpus whose number of documents is given:
sizes and times are then of the larger corpus, with the words of the sample. The times follow from
the measured unit times that also determine defaults (`pysgrld.models.resolve`), so they hold for a
processor core like the one of these measurements.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.chain.exact import CHAINS, COST, FEWEST, affordable_sweeps
from pysgrld.chain.population import REPLICATES
from pysgrld.core import padded_width
from pysgrld.corpus.build import TOGETHER
from pysgrld.corpus.reading import Listener
from pysgrld.corpus.store import Corpus
from pysgrld.corpus.stored_files import is_stored
from pysgrld.errors import CorpusError
from pysgrld.models.choices import Choices
from pysgrld.models.resampled import SWEEPS
from pysgrld.models.resolve import TRAINING
from pysgrld.options.option import Resolved
from pysgrld.train.plan import plan_training
from pysgrld.train.request import Request

#: In each iteration, only one thread works for at least this number of seconds. On Simple English
#: Wikipedia with 100 topics, this is 4.5 % of the predicted time of an iteration.
ALONE = 0.43e-3
#: In each iteration, only one thread works for at least this share of the time. It was computed
#: from the processor time of parallel loops (docs/performance.md, "Which minibatch, threads and
#: ranks").
SHARE = 0.045
#: Maximum number of threads that can all be busy at least half of the time, even with a large
#: minibatch.
MOST = 1 + int(1 / SHARE)
#: Minimum number of documents per thread in a minibatch, because a thread samples this number of
#: documents at a time.
DOCUMENTS = 4
#: The hours of training are estimated for this number of epochs. Runs until convergence take 30 to
#: 75 epochs.
EPOCHS = 60
#: Minibatch size from which several ranks train a chain.
FOR_RANKS = 100_000
#: sgmc proposes the minibatch size `FOR_RANKS` only if an epoch then has at least this number of
#: iterations.
_STEPS = 100
#: A sample lacks many words of the corpus if its share of unseen tokens (`TrainingNeeds.unseen`) is
#: above this number. In random documents of Wikipedia, this share is .022 for 10,000 and .017 for
#: 20,000 documents.
_UNSEEN = 0.02


class TrainingNeeds(NamedTuple):
    """Estimated needs of a training: memory, disk space, time and threads.

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
    corpus : int
        Number of bytes of the stored corpus.
    refinement : float
        Seconds of the Gibbs refinement with one thread, after `EPOCHS` epochs of training; 0
        without it.
    update : float
        Part of `seconds` in which topics are updated, for any number of documents.
    unseen : float
        Share of the tokens in the second half of a sample whose words are not in the first half.
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
    corpus: int = 0
    refinement: float = 0.0
    update: float = 0.0
    unseen: float = 0.0

    @property
    def bytes(self) -> int:
        """Total number of bytes of memory."""
        return sum(self.memory.values())

    @property
    def useful_threads(self) -> int:
        """Maximum number of threads that are all busy at least half of the time."""
        return max(1, min(1 + int(self.seconds / self.alone), self.minibatch // DOCUMENTS))

    @property
    def alone(self) -> float:
        """Seconds of each iteration during which only one thread works."""
        return max(ALONE, SHARE * self.seconds)

    @property
    def enough_documents(self) -> int:
        """Minibatch size at which up to `MOST` threads are busy; at most the size of the corpus."""
        threads = min(self.threads, MOST)
        factor = max((threads - 1) * ALONE / self.seconds, 1.0)
        most = max(factor * self.minibatch, DOCUMENTS * threads)
        return min(self.documents, math.ceil(most))

    @property
    def lacks_words(self) -> bool:
        """True if the sample of documents is so small that it lacks many words of the corpus."""
        return self.unseen > _UNSEEN

    def with_minibatch(self, minibatch: int) -> TrainingNeeds:
        """Return the needs for another minibatch size; the estimate of memory stays the same."""
        sampling = (self.seconds - self.update) * minibatch / self.minibatch
        return self._replace(
            minibatch=minibatch,
            iterations=self.documents / minibatch,
            seconds=sampling + self.update,
        )

    def hours(self, epochs: float = 1.0) -> float:
        """Return the hours that `epochs` epochs take with the requested number of threads."""
        each = self.seconds / self.threads + self.alone * (1.0 - 1.0 / self.threads)
        return epochs * self.iterations * each / 3600

    def faster_minibatch(self, cores: int | None) -> TrainingNeeds | None:
        """Return the needs with larger minibatches if these halve the ranks' hours, else None.

        Parameters
        ----------
        cores : int or None
            Cores of a node, as in `RankLayout.of`.
        """
        if self.minibatch >= FOR_RANKS or self.documents < _STEPS * FOR_RANKS:
            return None
        larger = self.with_minibatch(FOR_RANKS)
        hours, fewer = (
            RankLayout.of(needs, cores).of_rank(needs).hours(EPOCHS) for needs in (self, larger)
        )
        return larger if 2 * fewer <= hours else None

    @property
    def refinement_hours(self) -> float:
        """Hours of the Gibbs refinement, which runs each chain on one thread."""
        return self.refinement / min(self.threads, CHAINS) / 3600


class RankLayout(NamedTuple):
    """Processes of a training: nodes, ranks on each node, and processors of each rank."""

    nodes: int
    ranks_per_node: int
    cpus: int

    @classmethod
    def of(cls, needs: TrainingNeeds, cores: int | None) -> RankLayout:
        """Return a layout whose processors are all busy at least half of the time.

        Parameters
        ----------
        needs : TrainingNeeds
        cores : int or None
            Cores of a node; by default all threads are on one node.
        """
        # Several ranks are needed only if one process cannot use more threads (`MOST`), and only
        # with a large minibatch.
        several = needs.minibatch >= FOR_RANKS and needs.useful_threads == MOST
        ranks = -(-needs.threads // MOST) if several else 1
        cores = cores or needs.threads
        cpus = min(needs.threads // ranks, needs.useful_threads, cores)
        nodes = -(-ranks // max(1, cores // cpus))
        return cls(nodes, -(-ranks // nodes), cpus)

    @property
    def all_ranks(self) -> int:
        """Number of ranks on all nodes."""
        return self.nodes * self.ranks_per_node

    def of_rank(self, needs: TrainingNeeds) -> TrainingNeeds:
        """Return the needs of a single rank; the ranks divide the work of an iteration."""
        return needs._replace(seconds=needs.seconds / self.all_ranks, threads=self.cpus)


def estimate(
    request: Request, listener: Listener, ranks: int = 1, documents: int | None = None
) -> TrainingNeeds:
    """Estimate memory, disk space and time of training on a corpus; temporary files are removed.

    Parameters
    ----------
    request : Request
        A valid request.
    listener : Listener
    ranks : int
        Number of processes that train the chain together; the estimate is for the first one.
    documents : int, optional
        Number of documents of a larger corpus that the inputs are a sample of.

    Raises
    ------
    CorpusError
        If the corpus is not stored, unless `documents` is given.
    SgmcError
        For the errors that training itself would raise before it begins.
    """
    if documents is None and not is_stored(Path(request.inputs[0])):
        raise CorpusError(
            "a plan needs a stored corpus (store it with 'sgmc corpus build'), or a sample of the "
            "documents and the number of all documents (--documents N)",
            request.inputs[0],
        )
    # The memory of this machine must not limit the plan.
    unlimited = Choices({"max-memory": 1 << 60})
    choices = unlimited.updated(request.choices)
    with plan_training(request._replace(choices=choices), listener, documents=documents) as plan:
        options, facts = plan.options, plan.facts
        topics = max(options.widths, default=1)
        minibatch = min(options.minibatch, facts.documents)
        iterations = facts.documents / minibatch
        visits = facts.tokens / iterations * options.sweeps
        cells = facts.rows * topics
        across = facts.rows * padded_width(topics)
        update = 1e-9 * cells * TRAINING.cell / ranks
        seconds = 1e-9 * visits * TRAINING.visit(topics) / ranks + update
        samples = 4 * options.samples * cells
        checkpoints = options.keep * (4 + 8) * across
        stored = sum(file.stat().st_size for file in plan.corpus.path.iterdir())
        return TrainingNeeds(
            facts.documents,
            facts.words,
            facts.tokens,
            topics,
            minibatch,
            iterations,
            plan.memory,
            samples + checkpoints,
            seconds,
            request.choices.start.threads or request.threads,
            stored * (documents or plan.corpus.documents) // plan.corpus.documents,
            _refinement_seconds(
                options, facts.tokens, topics, draws=plan.request.choices.sampler.draws
            ),
            update,
            0.0 if documents is None else _unseen_share(plan.corpus),
        )


def _unseen_share(corpus: Corpus) -> float:
    """Return the share of tokens in a corpus's second half whose word is not in its first half."""
    half = corpus.documents // 2
    counts = np.zeros((2, corpus.words), np.int64)
    for begin in range(0, corpus.documents, TOGETHER):
        rows = np.arange(begin, min(begin + TOGETHER, corpus.documents))
        for i, part in enumerate((rows[rows < half], rows[rows >= half])):
            block = corpus.take(part)
            np.add.at(counts[i], block.indices, block.counts)
    first, second = counts
    return float(second[first == 0].sum() / max(1, second.sum()))


def _refinement_seconds(options: Resolved, tokens: int, topics: int, *, draws: bool) -> float:
    """Return the seconds of the Gibbs refinement with one thread, or 0 without a refinement."""
    if not (options.exact_sweeps and draws):
        return 0.0
    sweeps = options.exact_sweeps
    if isinstance(sweeps, str):
        sweeps = affordable_sweeps(EPOCHS * options.sweeps, tokens)
        if sweeps < FEWEST:
            return 0.0
    each = 1e-9 * COST * TRAINING.visit(topics)
    return (CHAINS * sweeps + REPLICATES * SWEEPS) * tokens * each
