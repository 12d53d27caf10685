"""The training loop: the only place where corpus, model and run directory meet."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import Any

from pysgrld.begin import begin
from pysgrld.chain import Visit
from pysgrld.errors import (
    CheckpointError,
    GoneError,
    Interrupted,
    MismatchError,
    NumericalError,
    WriteError,
)
from pysgrld.evaluate import scorer_of
from pysgrld.parsers import duration
from pysgrld.posterior import Posterior, Settled, Thinning
from pysgrld.prepare import Prepared
from pysgrld.reporter import Position, Reporter
from pysgrld.resources import login_node, rss_bytes, threads
from pysgrld.restore import counted
from pysgrld.run import Checkpoint, RunDirectory, SecondInterrupt, StopFlag
from pysgrld.run.backlog import Backlog
from pysgrld.run.failure import keep_failure
from pysgrld.run.progress import refuse_endless_starts
from pysgrld.run.pulse import Pulse
from pysgrld.scores import Score, score_of
from pysgrld.stream import Online
from pysgrld.stream import Position as StreamPosition

#: Checkpoints that may fail one after the other before the run gives up.
FAILED_CHECKPOINTS = 3


class _Every:
    """Says when something is due: after so many iterations, or so many seconds of training."""

    def __init__(self, interval: int | str, step: int, seconds: float) -> None:
        self.steps = interval if isinstance(interval, int) else None
        self.seconds = math.inf if isinstance(interval, int) else duration(interval)
        self.last = step, seconds

    def due(self, step: int, seconds: float) -> bool:
        if self.steps is not None:
            return step % self.steps == 0 and step != self.last[0]
        return seconds - self.last[1] >= self.seconds

    def done(self, step: int, seconds: float) -> None:
        self.last = step, seconds


class Training:
    """One start of a run."""

    def __init__(
        self, p: Prepared, given: Mapping[str, Any], reporter: Reporter, stop: StopFlag
    ) -> None:
        self.run, self.options, self.reporter, self.stop = p.run, p.options, reporter, stop
        count = threads(given.get("threads"))
        reporter.note(f"{count.number} threads ({count.source})")
        if warning := login_node(count):
            reporter.note(f"warning: {warning}")
        self.given = given
        self.stream, self.once = p.stream, p.once
        self.score = score_of(p.options)
        self.chain = begin(
            p.options, p.stream, p.corpus.words, p.tokens, count.number, waiting=self._waiting
        )
        if p.options["algo"] == "scir":
            inflation = self.chain.noise_inflation
            reporter.note(f"minibatch noise inflates posterior variances {inflation:.3g} times")
        if (stiff := self.chain.stiffness) > 4.0:
            reporter.note(
                f"warning: h (V eta + N_k) is about {stiff:.3g}, steps of {p.options['algo']} are stable "
                "below 4: use a smaller --step-size"
            )
        scorer = None
        self.unigram = math.nan
        if p.held_out:
            scorer = scorer_of(p.held_out, p.options, p.corpus.words, count.number)
            self.unigram = scorer.unigram(p.word_counts)
        kept = p.options["samples"]
        self.ended: str | None = None  # why, if the stream has no more
        self.posterior = Posterior(
            self.chain, scorer, p.options["burn-in"], p.options["sample-every"], kept > 0
        )
        self.thinning = Thinning(kept) if kept else None
        self.train_seconds = 0.0
        self.wait_seconds = 0.0
        self.documents = self.tokens = 0
        self.failed = 0
        self.looked = -1
        self.backlog = Backlog(self.run, self.reporter.note)
        self.pulse = Pulse()
        self.action, self.required = p.action, p.checkpoint_required

    # ---- the loop ----

    def go(self) -> RunDirectory:
        """Train until the budget is used, the score has settled, or something says stop."""
        self._start()
        try:
            with self.pulse:
                return self._go()
        except Interrupted:
            raise
        except NumericalError as error:
            arrays = self.chain.arrays() | self.posterior.arrays()
            told = f"{error}; {keep_failure(self.run.path, self.chain.step, arrays)}"
            self._record("failed", error=told)
            raise NumericalError(told) from error
        except SecondInterrupt:
            self._record("interrupted", reason="SIGINT")
            raise
        except BaseException as error:
            self._record("failed", error=str(error))
            raise
        finally:
            self.chain.close()

    def _record(self, state: str, **fields: str) -> None:
        """Say how a start ended that did not end in order, as far as the disk lets it."""
        with contextlib.suppress(WriteError):
            self.run.log_event(state, step=self.chain.step, **fields)
            self.run.set_status(state, step=self.chain.step, **fields)

    def _go(self) -> RunDirectory:
        chain, backlog = self.chain, self.backlog
        settled = None
        done = self._budget_used()
        ended = done and f"nothing to do: {done}"
        if not done:
            self._loop(
                _Every(self._free("eval-every"), chain.step, self.train_seconds),
                _Every(self._free("checkpoint-every"), chain.step, self.train_seconds),
            )
            ended = self._budget_used()
            settled = self.posterior.settled() if not ended and self._open_ended() else None
        if not done or self.looked != chain.step:  # killed just before its last line
            self._look()
            self._save(last=True)
        stopped = self.stop.reason if not ended and not settled else None
        line = stopped or (_settled_line(settled, self.score) if settled else str(ended))
        state = "interrupted" if stopped else "finished"
        backlog.set_status(state, step=chain.step, reason=line)
        backlog.log_event(state, step=chain.step, reason=line)
        backlog.finish()
        if stopped:
            raise Interrupted(
                f"{stopped}: stopped after iteration {chain.step}, checkpoint written to "
                f"{self.run.path}; run the same command again to continue"
            )
        if self.once:
            self.once.tell(self.tokens)
        self.reporter.finished(self.run, line)
        return self.run

    def _loop(self, looks: _Every, saves: _Every) -> None:
        chain, posterior, stop = self.chain, self.posterior, self.stop
        step_seconds = 0.0
        while not self._budget_used() and not stop.should_stop(step_seconds):
            began = self.pulse.awake()
            try:
                batch = chain.next_batch()
            except _Stopped:
                return
            ready = self.pulse.awake()
            self.wait_seconds += ready - began
            if batch is None:
                self.ended = f"the stream ended after {self.documents:,} documents"
                return
            visit = chain.advance(batch)
            self.train_seconds += self.pulse.awake() - began
            chain.check()
            self._count(visit)
            if posterior.due:
                self._sample()
                if self._open_ended() and posterior.settled():
                    return
            if looks.due(chain.step, self.train_seconds):
                self._look()
                looks.done(chain.step, self.train_seconds)
            if saves.due(chain.step, self.train_seconds) or stop.take_checkpoint_request():
                self._save(last=False)
                saves.done(chain.step, self.train_seconds)
            self.reporter.moved(self._position(visit.step_size))
            step_seconds = self.pulse.awake() - began
            if gap := round(self.pulse.take_gap(), 1):
                self.backlog.log_event("gap", step=chain.step, seconds=gap)
                self.reporter.note(f"stood still for {gap} s: stopped, or the machine suspended")

    # ---- what the loop does ----

    def _start(self) -> None:
        """Go on from the last good checkpoint, or from the beginning."""
        run, chain = self.run, self.chain
        checkpoint = run.load_checkpoint(required=self.required)
        refuse_endless_starts(run, checkpoint.step if checkpoint else 0)
        run.rewind(checkpoint)
        if checkpoint is None:
            line = "starts at iteration 0"
            if self.action == "continue":
                line += " (no checkpoint was written yet)"
        else:
            self._restore(checkpoint)
            if isinstance(self.stream, Online):
                self._read_on(self.stream, checkpoint)
            line = f"goes on from iteration {checkpoint.step} of {checkpoint.path.name}"
        metrics = run.read_metrics()
        self.looked = metrics[-1]["iteration"] if metrics else -1
        changed = {
            name: self.options[name]
            for name in ("epochs", "iterations", "time-limit", "eval-every", "checkpoint-every",
                         "keep", "threads", "max-memory")
            if run.config["options"].get(name) != self.options[name]
        }  # fmt: skip
        if changed:
            run.update_free(changed)
        run.set_status("running", step=chain.step)
        run.log_event("started", step=chain.step, line=line)
        self.reporter.started(run, line)

    def _restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint that verifies."""
        try:
            self.chain.restore(checkpoint.step, checkpoint.arrays)
            self.posterior.restore(checkpoint.arrays)
            (self.train_seconds, self.wait_seconds, self.documents, self.tokens) = counted(
                checkpoint.meta, "train_seconds", "wait_seconds", "documents", "tokens"
            )
        except CheckpointError as error:
            raise CheckpointError(
                f"{checkpoint.path}: {error}; remove that folder to go on from the one before"
            ) from None

    def _read_on(self, stream: Online, checkpoint: Checkpoint) -> None:
        """Read a stream again, to where it was, and refuse another one."""
        had = StreamPosition(**checkpoint.meta["stream"])
        self.reporter.note(f"reads {had.documents:,} documents of the stream again")
        stream.go_to(checkpoint.step, self._patient)
        found = stream.position(checkpoint.step)
        if found != had:
            raise MismatchError(
                f"the stream gives other documents than those that {checkpoint.path.name} was "
                f"trained on ({found.documents:,} where {had.documents:,} were read); give the same "
                "ones from the first on, or start anew with another --out"
            )

    def _patient(self) -> None:
        if self.stop.should_stop(0.0):
            raise Interrupted(
                f"{self.stop.reason}: stopped while the stream was read again; run the same "
                "command again to continue"
            )

    def _waiting(self) -> None:
        """Stop waiting for documents when there is a reason to stop."""
        if self.stop.should_stop(0.0):
            raise _Stopped

    def _count(self, visit: Visit) -> None:
        self.documents += visit.documents
        self.tokens += visit.tokens

    def _sample(self) -> None:
        """Take a posterior sample, and keep it on disk if it is its turn."""
        self.posterior.observe()
        n = self.posterior.samples
        if self.thinning is None or not self.posterior.draws:
            return
        spacing, before = self.thinning.spacing(n), self.thinning.spacing(n - 1)
        if spacing != before:
            for ordinal in self.thinning.kept(n - 1):
                if ordinal % spacing:
                    self.backlog.remove_sample(self._step_of(ordinal))
        if n % spacing == 0:
            self.backlog.write_sample(self.chain.step, self.chain.matrices())

    def _step_of(self, ordinal: int) -> int:
        """Iteration of the posterior sample of this number."""
        return self.posterior.burn_in + ordinal * self.posterior.every

    def _look(self) -> None:
        """Write a line of metrics; never changes the chain."""
        if self.looked == self.chain.step:
            return
        self.looked = self.chain.step
        speed = self.tokens / self.train_seconds if self.train_seconds else 0.0
        point = self.posterior.point()
        record = {
            "iteration": self.chain.step,
            "documents": self.documents,
            "epoch": round(self.chain.step / self.chain.stream.per_epoch, 6),
            "train_seconds": round(self.train_seconds, 6),
            "wait_seconds": round(self.wait_seconds, 6),
            "step_size": self.chain.step_size,
            self.score.name: _number(self.posterior.score if self.posterior.draws else point),
            self.score.point: _number(point),
            "samples": self.posterior.samples,
            self.score.unigram: _number(self.unigram),
            "tokens_per_second": round(speed, 1),
            "rss_bytes": rss_bytes(),
        }
        figures = self.chain.figures() | self.posterior.figures()
        record |= {name: _number(figure) for name, figure in figures.items()}
        self.backlog.append_metrics(record)
        self.backlog.set_status("running", step=self.chain.step)
        self.reporter.evaluated(record)

    def _save(self, *, last: bool) -> None:
        """Write a checkpoint; one that fails is said, and is fatal at the end or three in a row."""
        began = self.pulse.awake()
        meta: dict[str, Any] = {
            "train_seconds": self.train_seconds,
            "wait_seconds": self.wait_seconds,
            "documents": self.documents,
            "tokens": self.tokens,
        }
        if isinstance(self.stream, Online):
            meta["stream"] = self.stream.position(self.chain.step)._asdict()
        try:
            self.backlog.save_checkpoint(
                self.chain.step,
                self.chain.arrays() | self.posterior.arrays(),
                meta,
                keep=self._free("keep"),
            )
        except GoneError:
            raise
        except WriteError as error:
            self.failed += 1
            self.backlog.log_event("checkpoint-failed", step=self.chain.step, error=str(error))
            self.reporter.note(str(error))
            if last or self.failed >= FAILED_CHECKPOINTS:
                raise
            return
        self.failed = 0
        self.stop.note_checkpoint_seconds(self.pulse.awake() - began)

    # ---- when to end ----

    def _free(self, name: str) -> Any:
        return self.given.get(name, self.options[name])

    def _open_ended(self) -> bool:
        """Whether only a settled score ends this run; auto is no budget."""
        timed = self.given.get("time-limit") not in (None, "auto")
        return (
            not timed and self.given.get("epochs") is None and self.given.get("iterations") is None
        )

    def _iterations(self) -> int:
        """Iterations of the whole run by its budget; 0 where that is open."""
        budget = []
        if self.given.get("iterations") is not None:
            budget.append(self.given["iterations"])
        if self.given.get("epochs") is not None:
            budget.append(max(1, math.ceil(self.given["epochs"] * self.chain.stream.per_epoch)))
        return min(budget, default=0)

    def _budget_used(self) -> str | None:
        if self.ended:
            return self.ended
        iterations = self._iterations()
        if iterations and self.chain.step >= iterations:
            return f"{self.chain.step} iterations done, the budget is used"
        return None

    def _position(self, step_size: float) -> Position:
        return Position(
            self.chain.step,
            self._iterations(),
            self.chain.step / self.chain.stream.per_epoch,
            self.tokens / self.train_seconds if self.train_seconds else 0.0,
            step_size,
            self.posterior.score,
            self.train_seconds,
            self.score.name,
        )


class _Stopped(Exception):
    """There is a reason to stop while the next minibatch is not there yet."""


def _settled_line(settled: Settled, score: Score) -> str:
    now, before = (f"{value:.{score.decimals}f}" for value in (settled.score, settled.at_half))
    return (
        f"settled: averaged {score.title} {now}, and {before} at iteration {settled.half}, half of "
        "the sampling ago"
    )


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
