"""Writing of files during training: metrics, posterior samples and checkpoints."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.chain.exact import ExactChain, ExactStage, read_ess
from pysgrld.chain.posterior import Posterior, stored_sample_numbers
from pysgrld.chain.protocol import Chain
from pysgrld.corpus.minibatches import Minibatches, OnePass
from pysgrld.errors import GoneError, WriteError, plural
from pysgrld.models.protocol import Model
from pysgrld.models.samples import COUNTED, PHI, TOKENS, TOP_WORDS, encode_counts, top_word_sample
from pysgrld.options.option import LoopOptions
from pysgrld.run import RunDirectory
from pysgrld.run.backlog import Backlog
from pysgrld.run.layout import METRICS, SAMPLES
from pysgrld.run.machine import rss_bytes
from pysgrld.run.tensors import NONE
from pysgrld.train.events import Reporter
from pysgrld.types import Array, WordTotals

#: Number of consecutive checkpoints that may fail before the run gives up.
FAILED_CHECKPOINTS = 3


@dataclass
class RunTotals:
    """Totals over all processes that have trained a run, from its first start on.

    Attributes
    ----------
    train_seconds, wait_seconds : float
        Seconds of training, and seconds of these spent waiting for documents.
    documents, tokens : int
        Number of documents and tokens in all minibatches.
    """

    train_seconds: float = 0.0
    wait_seconds: float = 0.0
    documents: int = 0
    tokens: int = 0

    @property
    def tokens_per_second(self) -> float:
        """Number of tokens per second of training; it is 0 before training."""
        return self.tokens / self.train_seconds if self.train_seconds else 0.0


class RunWriter:
    """Writer of a run's metrics, posterior samples and checkpoints during training.

    Parameters
    ----------
    run : RunDirectory
        Run that this process has locked.
    options : LoopOptions
    stream : Minibatches
        Minibatches of training.
    word_counts : WordTotals
        Number of occurrences of each word in the training documents.
    posterior : Posterior
    model : Model
        Model of the chain, which provides the score and the invariants of arrays.
    tally : RunTotals
    reporter : Reporter
    comm : Communicator

    Attributes
    ----------
    measured : int
        Iteration of the last line of metrics; -1 before the first line.
    """

    def __init__(
        self,
        run: RunDirectory,
        options: LoopOptions,
        stream: Minibatches,
        word_counts: WordTotals,
        posterior: Posterior,
        model: Model[Any],
        tally: RunTotals,
        reporter: Reporter,
        comm: Communicator = ALONE,
    ) -> None:
        self.comm = comm
        self.posterior, self.model, self.at = posterior, model, tally
        self.chain, self.stream, self.reporter = posterior.chain, stream, reporter
        self.score = model.score
        self.backlog = Backlog(run, reporter.note)
        limits = {False: options.samples, True: options.top_word_samples}
        #: Maximum number of full samples (key False), and of samples of top words (key True).
        self.limits = {top_words: limit for top_words, limit in limits.items() if limit}
        self.word_counts = word_counts
        self.measured = -1
        self.record: dict[str, Any] = {}
        self.stage: ExactStage | None = None
        self._failed = 0

    @property
    def step(self) -> int:
        """Number of finished iterations, plus the number of finished Gibbs sweeps."""
        return self.stage.step if self.stage else self.chain.step

    @cached_property
    def unigram(self) -> float:
        """Score of the unigram model (word frequencies alone); available after the first sample."""
        scorer = self.posterior.scorer
        return float(scorer.unigram(self.word_counts.occurrences)) if scorer else math.nan

    def sample(self) -> None:
        """Take a posterior sample; if due, store it on disk in full, as top words only, or both."""
        self.posterior.take_sample()
        if not self.posterior.draws:
            return
        n, step = self.posterior.samples, self.chain.step
        due = []
        for top_words, limit in self.limits.items():
            spacing, before = (
                stored_sample_numbers(n, limit).step,
                stored_sample_numbers(n - 1, limit),
            )
            if spacing != before.step:
                for ordinal in before:
                    if ordinal % spacing:
                        old = self.posterior.burn_in + ordinal * self.posterior.every
                        drop = partial(self.backlog.run.samples.drop, old, top_words=top_words)
                        self.backlog.write(SAMPLES, drop)
            if n % spacing == 0:
                due.append(top_words)
        self._keep(step, self.chain, due)

    def draw(self, chain: ExactChain) -> Mapping[str, Array] | None:
        """Store the last sample of Gibbs refinement on disk, if due.

        Before the first sample of Gibbs refinement, the samples of training are deleted. The sample
        is returned if it is stored, else None.

        Parameters
        ----------
        chain : ExactChain
            The chain that made the draw.
        """
        stage, samples = self.stage, self.backlog.run.samples
        assert stage is not None
        if stage.draws == 1:
            for top_words in (False, True):
                for old in samples.steps(top_words=top_words):
                    self.backlog.write(SAMPLES, partial(samples.drop, old, top_words=top_words))
        due = [top_words for top_words, limit in self.limits.items() if stage.is_stored(limit)]
        return self._keep(stage.step, chain, due)

    def refinement_result(self) -> str:
        """Return a line with Gibbs refinement's score, number of samples, and ESS."""
        assert self.stage is not None
        stage = self.stage
        draws = plural(stage.draws, "posterior sample")
        if sizes := read_ess(stage.arrays()):
            draws += f"; ESS: {', '.join(f'{name} {size:.0f}' for name, size in sizes.items())}"
        average = stage.posterior.average()
        if not math.isfinite(average):
            return draws
        return f"{self.score.title} {self.score.show(average, average.error)} ({draws})"

    def _keep(self, step: int, chain: Chain, due: Collection[bool]) -> Mapping[str, Array] | None:
        """Store a sample if due, in full, as top words or both; return it, or None if not due."""
        if not due:
            return None
        sample = chain.sample()
        if False in due:
            parts, form = stored_form(chain, sample), self.model.fitted.sample_invariants
            self.backlog.write_sample(step, parts, COUNTED if TOKENS in parts else form)
        if True in due:
            self.backlog.write_sample(step, top_word_sample(sample[PHI]), TOP_WORDS, top_words=True)
        return sample

    def measure(self) -> None:
        """Write a line of metrics; the state of the chain does not change."""
        if self.measured == self.step:
            return
        self.measured = self.step
        drawn = self.stage if self.stage and self.stage.draws else None
        posterior = drawn.posterior if drawn else self.posterior
        point = drawn.point() if drawn else posterior.point()
        averaged = posterior.average() if posterior.draws else point
        record = {
            "iteration": self.step,
            "documents": self.at.documents,
            "epoch": round(self.chain.step / self.stream.per_epoch, 6),
            "train_seconds": round(self.at.train_seconds, 6),
            "wait_seconds": round(self.at.wait_seconds, 6),
            "step_size": self.chain.step_size,
            self.score.name: _number(float(averaged)),
            self.score.error: _number(averaged.error),
            self.score.point: _number(float(point)),
            "samples": posterior.samples,
            self.score.unigram: _number(self.unigram),
            "tokens_per_second": round(self.at.tokens_per_second, 1),
            "rss_bytes": rss_bytes(),
        }
        scorer = self.posterior.scorer
        further = {} if scorer is None else scorer.metrics()
        figures = self.chain.metrics() | further | self.comm.metrics()
        record |= {name: _number(figure) for name, figure in figures.items()}
        self.backlog.write(METRICS, partial(self.backlog.run.append_metrics, record))
        self.backlog.set_status("running", step=self.step)
        self.record = record
        self.reporter.evaluated(record)

    def save(self, *, keep: int, spare_training: bool, last: bool) -> bool:
        """Write a checkpoint, and return True if this succeeded.

        If ``spare_training`` is True, Gibbs refinement does not delete the checkpoint at the end of
        training.

        Raises
        ------
        WriteError
            If the last checkpoint of the start fails, or the third one in a row.
        """
        meta = asdict(self.at)
        if isinstance(self.stream, OnePass):
            meta["stream"] = self.stream.position(self.chain.step)._asdict()
        arrays, training = self.chain.arrays() | self.posterior.arrays(), NONE
        spared = self.chain.step if self.stage and spare_training else None
        if self.stage:
            training = arrays
            arrays = self.stage.arrays(lambda chain: stored_form(chain, chain.sample()))
        try:
            self.backlog.save_checkpoint(
                self.step,
                arrays,
                meta,
                keep=keep,
                spared=spared,
                invariants=self.model.fitted.state_invariants,
                training=training,
            )
        except GoneError:
            raise
        except WriteError as error:
            self._failed += 1
            self.backlog.log_event("checkpoint-failed", step=self.step, error=str(error))
            self.reporter.note(str(error))
            if last or self._failed >= FAILED_CHECKPOINTS:
                raise
            return False
        self._failed = 0
        return True


def stored_form(chain: Chain, sample: Mapping[str, Array]) -> Mapping[str, Array]:
    """Convert a sample to its stored form, with topics as token counts if possible."""
    conditional = chain.topic_conditional()
    counts = conditional and encode_counts(conditional, *sample[PHI].shape)
    if counts is None:
        return sample
    return {name: part for name, part in sample.items() if name != PHI} | counts


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
