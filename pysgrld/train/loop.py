"""Training loop, the only module that combines corpus, model and run directory."""

from __future__ import annotations

import contextlib
import logging
import math
from functools import partial

import numpy as np

from pysgrld.chain.communicator import ALONE, Communicator, Orders
from pysgrld.chain.exact import ExactStage, follows, read_refinement_plan, refinement_sweeps
from pysgrld.chain.population import REPLICATES
from pysgrld.chain.posterior import ConvergenceScores
from pysgrld.core.restore import read_counters
from pysgrld.corpus.minibatches import FeedPosition, OnePass
from pysgrld.errors import (
    CheckpointError,
    Interrupted,
    MismatchError,
    NumericalError,
    Severity,
    SgmcError,
    WriteError,
    plural,
)
from pysgrld.evaluate.score import Score
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import score_spacing
from pysgrld.models.table import find_model
from pysgrld.reading.find_runs import open_run
from pysgrld.run import Checkpoint, RunDirectory, SecondInterrupt, StopFlag
from pysgrld.run.checkpoint_write import keep_failure
from pysgrld.run.choose import refuse_endless_starts
from pysgrld.run.layout import StopReason
from pysgrld.run.machine import login_node, threads
from pysgrld.run.signals import AwakeClock
from pysgrld.train.begin import begin, begin_refinement
from pysgrld.train.decide import Clock, Flags, Order, decide
from pysgrld.train.due import Every, first_checkpoint_seconds
from pysgrld.train.events import Ending, Position, Reporter, seconds_from_start
from pysgrld.train.first_topics import first_topics
from pysgrld.train.prepare import Prepared
from pysgrld.train.ranks_together import (
    IdleTimeMonitor,
    Rounds,
    begin_together,
    raise_if_stopped,
    stopped_before_all,
    why_all_stop,
)
from pysgrld.train.run_writer import RunTotals, RunWriter
from pysgrld.train.short_chains import FirstTopics, Stopped

logger = logging.getLogger(__name__)

#: Number of bytes at the end of the metrics file that certainly include its last line.
_LAST_METRICS = 1 << 16


class Training:
    """Training of a run, from its start or from a checkpoint, until it ends or is stopped.

    Parameters
    ----------
    p : Prepared
    reporter : Reporter
    stop : StopFlag
        Flag that has a reason when training must stop; its context is already entered.
    comm : Communicator
        Processes that train the chain together; this process is the first one.
    """

    def __init__(
        self, p: Prepared, reporter: Reporter, stop: StopFlag, comm: Communicator = ALONE
    ) -> None:
        self.comm = comm
        self.run, self.options, self.reporter, self.stop = p.run, p.options.of_loop, reporter, stop
        self.stream, self.once = p.stream, p.once
        self.action, self.required = p.action, p.checkpoint_required
        self.parent, self.typed = p.parent, p.typed
        self.model, self._free = find_model(p.options.model), p.free
        self._over_time = p.options.slicing is not None
        self.score: Score = self.model.score
        count = threads(p.options.threads)
        line = f"{plural(count.number, 'thread')} ({count.source})"
        reporter.note(line, Severity.WARNING if count.fewer else Severity.DETAIL)
        if warning := login_node(count):
            reporter.note(warning, Severity.WARNING)
        self.run_on = RunOn(count.number, partial(raise_if_stopped, stop), comm)
        facts = CorpusFacts(p.words, p.tokens)
        self.posterior = begin(
            p.options,
            p.stream,
            facts,
            self.run_on,
            p.held_out,
            keep_mean=p.options.samples > 0,
            watched=p.watched,
        )
        self.chain = self.posterior.chain
        for remark in self.chain.remarks():
            reporter.note(*remark)
        # Budgets of the whole run, in iterations. Without a budget, training lasts until
        # convergence.
        budgets = [] if p.options.iterations is None else [p.options.iterations]
        if p.options.epochs is not None:
            budgets.append(max(1, math.ceil(p.options.epochs * p.stream.per_epoch)))
        self.iterations = min(budgets, default=0)
        limit = p.options.time_limit
        exact = follows(self.chain, self.options.exact_sweeps) and not p.once
        self.open_ended = not budgets and (limit in (None, "auto") or exact)
        #: Maximum number of seconds of training in this process, if training and Gibbs refinement
        #: share a time limit.
        self._until = limit / 2 if exact and not budgets and isinstance(limit, float) else math.inf
        every = p.options.minibatch / p.stream.documents * p.tokens * p.options.sweeps
        least = 0 if "eval-every" in p.typed else score_spacing(p.held_out, every)
        self._looks = Every(p.options.eval_every, 0, 0.0, least)
        self.pulse, self.tally = AwakeClock(), RunTotals()
        self.keeper = RunWriter(
            p.run,
            self.options,
            p.stream,
            p.word_counts,
            self.posterior,
            self.model,
            self.tally,
            reporter,
            comm,
        )
        self.stage: ExactStage | None = None
        # Functions that begin Gibbs refinement and train the short chains.
        self._begin_exactly = partial(
            begin_refinement, self.posterior, p.options, p.words, self.run_on, p.held_out
        )
        self._short_chains = partial(first_topics, p.run, p.stream, p.options, facts, self.run_on)
        self._order = Order()  # Next action, which `decide` has chosen.
        self._converged = self._save_is_due = False
        self._step_seconds = self._began = 0.0

    def go(self) -> RunDirectory:
        """Train until the iterations are done, the score has converged, or training must stop.

        Raises
        ------
        Interrupted
            If training was stopped early, after a checkpoint.
        NumericalError
            If the state is no longer finite; the state is stored next to the checkpoints.
        SgmcError
            For every other error.
        """
        restored = self._start()
        try:
            with self.pulse:
                first = self._first_topics(restored=restored)
                begin_together(self.chain, self.comm, first, restored=restored)
                if first is not None and self.parent is not None:
                    self._save(last=False)
                return self._go()
        except Interrupted:
            raise
        except NumericalError as error:
            arrays = self.chain.common() | self.posterior.arrays()
            message = f"{error}; {keep_failure(self.run.path, self.keeper.step, arrays)}"
            self._log_end("failed", error=message)
            raise NumericalError(message) from error
        except SecondInterrupt:
            self._log_end("interrupted", reason="SIGINT")
            raise
        except BaseException as error:
            self._log_end("failed", error=str(error))
            raise
        finally:
            self.chain.close()

    def _log_end(self, state: str, **fields: str) -> None:
        """Record that this process of training failed or stopped, if the disk is writable."""
        with contextlib.suppress(WriteError):
            self.run.log_event(state, step=self.keeper.step, **fields)
            self.run.set_status(state, step=self.keeper.step, **fields)

    def _go(self) -> RunDirectory:
        keeper, first_step = self.keeper, self.keeper.step
        budget_was_used = bool(self.iterations) and self.chain.step >= self.iterations
        rounds = Rounds(self.chain, self.comm, self.stop, self._next_orders, self.pulse.awake)
        self._loop(rounds)
        ending, stopped = self._ending(exhausted=rounds.exhausted), None
        if not ending and self.open_ended and (settled := self.posterior.convergence_scores()):
            ending = Ending(StopReason.CONVERGED, self._convergence(settled))
        if not ending and not self.stage:
            stopped = rounds.reason
        if not stopped:
            try:
                self.stage = keeper.stage = self.stage or self._exact_stage()
                stopped = self._draw_exactly()
            except Stopped:  # Training was stopped while Gibbs refinement was being prepared.
                stopped = self.stop.reason
        # No samples follow, so the other MPI processes leave their loop.
        self.comm.broadcast(False)
        done = budget_was_used and keeper.step == first_step
        # An earlier process may have been killed before it wrote the last line of metrics.
        if not done or keeper.measured != keeper.step:
            # After a stop in Gibbs refinement, the score is not computed, because that takes long.
            if not (stopped and self.stage):
                keeper.measure()
            self._save(last=True, finished=not stopped)
        ending = ending or Ending(
            StopReason.CONVERGED, f"{plural(self.chain.step, 'iteration')} done"
        )
        if stopped:
            ending = Ending(StopReason.STOPPED, stopped)
        elif done:
            ending = Ending(StopReason.NOTHING_TO_DO, f"nothing to do: {ending.line}")
        elif self.stage:
            ending = ending._replace(line=f"{keeper.refinement_result()}. Training: {ending.line}")
        line = ending.line
        replaced = self._replaced_topics()
        state, backlog = "interrupted" if stopped else "finished", keeper.backlog
        backlog.set_status(state, step=keeper.step, reason=line, stop=ending.stop.value)
        if replaced:
            backlog.log_event("replaced", step=keeper.step, topics=replaced)
        backlog.log_event(state, step=keeper.step, reason=line, stop=ending.stop.value)
        backlog.finish()  # Writes that failed before are tried a last time.
        self.comm.broadcast(stopped)
        self.comm.end_all_ranks()
        if not stopped and (remark := self.score.remark(keeper.record)):
            self.reporter.note(remark)
        if stopped:
            who = "all ranks " if self.comm.size > 1 else ""
            place = f"iteration {self.chain.step}"
            if self.stage:
                place = f"Gibbs sweep {self.stage.sweep} of {self.stage.sweeps}"
            raise Interrupted(
                f"{stopped}: {who}stopped after {place}, checkpoint written to "
                f"{self.run.path}; run the same command again to continue"
            )
        if self.once:
            self.once.say_left_out(self.tally.tokens)
        self.reporter.finished(self.run, line)
        return self.run

    def _replaced_topics(self) -> list[int]:
        """Return the topics that replaced earlier topics, and warn about lost names."""
        if self.parent is None:
            return []
        # `open_run` fails if, for example, a full disk has prevented every checkpoint.
        with contextlib.suppress(SgmcError):
            return open_run(self.run.path, 1).replaced_topics()
        return []

    def _convergence(self, settled: ConvergenceScores) -> str:
        """Return a line about convergence: the current score, and that at half of the samples."""
        if self.posterior.watch is not None:
            now, before = (self.score.show(x) for x in (settled.score, settled.at_half))
            return (
                f"converged: {self.score.title} of training documents {now} ({before} with half "
                f"the samples, at iteration {settled.half:,})"
            )
        averaged = self.posterior.average() if self.posterior.draws else self.posterior.point()
        now = self.score.show(settled.score, averaged.error)
        before = self.score.show(settled.at_half)
        return (
            f"converged: held-out {self.score.title} {now} ({before} with half the samples, at "
            f"iteration {settled.half:,})"
        )

    def _ending(self, *, exhausted: bool) -> Ending | None:
        """Return the reason to end (budget, half of the time limit, end of the stream), or None."""
        iterations = plural(self.chain.step, "iteration")
        if exhausted:
            documents = plural(self.tally.documents, "document")
            return Ending(StopReason.END_OF_STREAM, f"the stream ended after {documents}")
        if self._order.stop is StopReason.BUDGET:
            return Ending(StopReason.BUDGET, f"{iterations} done, as requested")
        if self._order.stop is StopReason.HALF_OF_LIMIT:
            line = f"stopped at half of the time limit, after {iterations}"
            return Ending(StopReason.HALF_OF_LIMIT, line)
        return None

    def _next_orders(self) -> Orders:
        """Decide this rank's next action; return orders, which `Rounds` combines over ranks."""
        step = self.chain.step
        self._order = decide(
            step,
            Clock(
                self.iterations,
                self._step_seconds,
                self.pulse.awake() - self._began,
                self._until,
                self.stop.seconds_left(),
            ),
            Flags(
                save=self._save_is_due,
                converged=self._converged,
                refines=self.stage is not None,
                stop=self.stop.reason is not None,
                evaluate=self._looks.due(step + 1, self.tally.train_seconds),
                sample=self.posterior.is_due_next,
            ),
        )
        if self._order.stop is StopReason.STOPPED:
            self.stop.stop("time limit")  # An earlier reason to stop, such as a signal, is kept.
        return self._order.orders

    def _loop(self, rounds: Rounds) -> None:
        chain, posterior, tally = self.chain, self.posterior, self.tally
        self._looks.last = chain.step, tally.train_seconds
        saves = self._saves(chain.step, tally.train_seconds)
        waiting = IdleTimeMonitor(self.comm, self.options.minibatch, self.stream.documents)
        # Training may have converged in an earlier process that was stopped in Gibbs refinement.
        self._converged = posterior.is_due and self._has_converged()
        self._began = began = self.pulse.awake()
        for visit in rounds:
            if visit is None:
                self._save(last=False)
                saves.done(chain.step, tally.train_seconds)
                self._save_is_due = False
                self._step_seconds += self.pulse.awake() - began
                began = self.pulse.awake()
                continue
            took = self.pulse.awake() - began
            tally.train_seconds += took
            tally.wait_seconds += rounds.waited
            if remark := waiting.record_iteration(took - rounds.waited):
                self.reporter.note(remark)
            tally.documents += visit.documents
            tally.tokens += visit.tokens
            if posterior.is_due:
                self.keeper.sample()
                self._converged = self._has_converged()
                if self._converged:
                    continue
            if self._order.evaluate:
                self.keeper.measure()
                self._looks.last = chain.step, tally.train_seconds
            due = saves.due(chain.step, tally.train_seconds)
            self._save_is_due = due or self.stop.take_checkpoint_request()
            self.reporter.moved(
                Position(
                    chain.step,
                    self.iterations,
                    chain.step / self.stream.per_epoch,
                    tally.tokens_per_second,
                    visit.step_size,
                    posterior.score,
                    tally.train_seconds,
                    self.score.name,
                )
            )
            self._step_seconds = self.pulse.awake() - began
            self._tell_gap()
            began = self.pulse.awake()

    def _has_converged(self) -> bool:
        return self.open_ended and self.posterior.convergence_scores() is not None

    def _save(self, *, last: bool, finished: bool = False) -> None:
        """Write a checkpoint, and record how long this took, so that a time limit leaves time for it.

        A finished run keeps this checkpoint and the checkpoint before its Gibbs refinement, from
        which training continues if the user requests more iterations. If the user has set the
        number of checkpoints, a finished run keeps this number instead.
        """
        began = self.pulse.awake()
        named = "keep" in self.typed
        keep = 1 if finished and not named else self.options.keep
        if self.keeper.save(keep=keep, spare_training=not named, last=last):
            self.stop.note_checkpoint_seconds(self.pulse.awake() - began)
            self.run.short_chains.remove()

    def _saves(self, step: int, seconds: float) -> Every:
        """Return the schedule of checkpoints; by default, the first checkpoint is written early."""
        arrays = self.chain.arrays().values()
        first = math.inf if "checkpoint-every" in self.typed else first_checkpoint_seconds(arrays)
        return Every(self.options.checkpoint_every, step, seconds, first=first)

    # ---- the Gibbs refinement ----

    def _exact_stage(self) -> ExactStage | None:
        """Start Gibbs refinement if the options request it and training was long enough."""
        sweeps = refinement_sweeps(
            self.chain, self.options, open_ended=not self.iterations, over_time=self._over_time
        )
        if not sweeps:
            if self.options.exact_sweeps and self.posterior.draws:
                self.reporter.note(
                    "training was too short for a Gibbs refinement, so results have ranges of "
                    "draws instead of intervals; for intervals, give --exact-sweeps 1000"
                )
            return None
        self.run_on.waiting()
        self.keeper.measure()
        self._save(last=False)
        self.run_on.waiting()
        stage = self._begin_exactly(sweeps=sweeps)
        self.reporter.refining(
            self.run,
            f"Gibbs refinement: {len(stage.chains)} chains of {stage.chains[0].method}, "
            f"{plural(stage.sweeps, 'sweep')} each",
        )
        return stage

    def _draw_exactly(self) -> str | None:
        """Run the sweeps of Gibbs refinement, if any; return the reason if they were stopped early.

        Only this MPI process samples. The other processes wait, and may request a stop.
        """
        stage, tally = self.stage, self.tally
        if stage is None:
            return None
        saves = self._saves(stage.step, tally.train_seconds)
        reasons: list[str | None] = []
        self._step_seconds, took, first = 0.0, 0.0, stage.sweep
        with stage.run_chains(self.keeper.draw):
            while not stage.complete:
                began = self.pulse.awake()
                reason = self.stop.reason if self.stop.should_stop(self._step_seconds) else None
                self.comm.broadcast(True)
                reasons = self.comm.allgather(reason)
                if any(reasons):
                    break
                try:
                    if not stage.done:
                        stage.advance(self.run_on.waiting)
                    else:
                        stage.replicate(self.run_on.waiting)
                except Stopped:
                    continue  # The next iteration of the loop reads the reason to stop.
                tally.train_seconds += self.pulse.awake() - began
                due = saves.due(stage.step, tally.train_seconds) and not self.stop.reason
                if due or self.stop.take_checkpoint_request():
                    self._save(last=False)
                    saves.done(stage.step, tally.train_seconds)
                took += self.pulse.awake() - began
                replicates = stage.replicates
                visits = len(stage.chains) * self.chain.tokens * (stage.sweep - first)
                self.reporter.moved(
                    Position(
                        replicates or stage.sweep,
                        REPLICATES if replicates else stage.sweeps,
                        self.chain.step / self.stream.per_epoch,
                        visits / took,
                        0.0,
                        stage.posterior.score,
                        seconds_from_start(took, first, stage.sweep),
                        self.score.name,
                        unit="replicate" if replicates else "Gibbs sweep",
                    )
                )
                self._step_seconds = self.pulse.awake() - began
                self._tell_gap()
        return next((reason for reason in reasons if reason), None)

    def _tell_gap(self) -> None:
        """Report how long the process was suspended, if it was suspended at all."""
        if gap := round(self.pulse.take_gap(), 1):
            self.keeper.backlog.log_event("gap", step=self.keeper.step, seconds=gap)
            self.reporter.note(f"the process or the machine was suspended for {gap} s")

    # ---- the beginning of training

    def _start(self) -> bool:
        """Restore the last good checkpoint and return True, or return False if none exists."""
        run, chain, comm = self.run, self.chain, self.comm
        comm.exchange_requests()  # Wait until all MPI processes have a chain.
        checkpoint = run.load_checkpoint(
            required=self.required, invariants=self.model.fitted.state_invariants
        )
        parts = 0 if checkpoint else run.short_chains.progress()
        refuse_endless_starts(run, checkpoint.step if checkpoint else 0, parts)
        again = checkpoint is not None and self._more_training(checkpoint)
        if again:
            checkpoint = run.load_checkpoint(required=True)
        run.rewind(checkpoint, samples_gone=again)
        if checkpoint is None:
            line = "training starts"
            if self.action == "continue":
                line += " again, because no checkpoint had been written"
        else:
            self._restore(checkpoint)
            place = f"Gibbs sweep {self.stage.sweep}" if self.stage else f"iteration {chain.step}"
            line = f"training resumes from {place} of {checkpoint.path.name}"
        first, burn_in = self.posterior.first, self.posterior.burn_in
        exact = isinstance(self.options.exact_sweeps, int) and self.options.exact_sweeps > 0
        if self.posterior.draws and not exact and chain.step < self.iterations < first:
            less = (
                f", or a --set burn-in of less than {burn_in}"
                if burn_in > self.options.warm_up
                else ""
            )
            self.reporter.note(
                f"training ends after {self.iterations} iterations, before the first posterior "
                f"sample (iteration {first}), so topics will be a single draw, not a mean; give "
                f"more --iterations{less}",
                Severity.WARNING,
            )
        metrics = run.read_metrics(_LAST_METRICS)
        measured = metrics[-1].get("iteration") if metrics else None
        self.keeper.measured = measured if type(measured) is int else -1
        # The stored status may be from a training with fewer iterations.
        run.set_status("running", step=self.keeper.step)
        before = run.config["options"]
        if changed := {n: value for n, value in self._free.items() if before.get(n) != value}:
            run.update_free(changed)
        run.log_event("started", step=self.keeper.step, line=line, short_chains=parts)
        self.reporter.started(run, line)
        return checkpoint is not None

    def _first_topics(self, *, restored: bool) -> FirstTopics | None:
        """Return initial topics from short chains or an earlier run, or None for default topics."""
        by_short_chains = not restored and self.parent is None and (self.options.starts or 1) > 1
        is_limited = "starts" not in self.typed
        self.comm.broadcast((by_short_chains, is_limited))
        if by_short_chains:
            try:
                return self._short_chains(self.stop if is_limited else None, self.reporter.note)
            except Stopped:
                reason = why_all_stop(self.comm, self.stop)
                self._log_end("interrupted", reason=reason)
                raise stopped_before_all(reason) from None
        if restored or self.parent is None:
            return None
        results = self.parent.results()
        shares, k = results.weights(), results.fitted.layers[0]
        if shares is None:
            shares = np.full(k, 1.0 / k)
        self.reporter.note(f"training begins with the topics of {self.parent.run}")
        return FirstTopics(results.phi(), shares * results.fitted.record.tokens)

    def _more_training(self, checkpoint: Checkpoint) -> bool:
        """Undo the Gibbs refinement if the user requests more iterations of training.

        Raises
        ------
        MismatchError
            If the checkpoint of that iteration is gone.
        """
        plan = read_refinement_plan(checkpoint.arrays)
        if plan is None or plan.begun >= self.iterations:
            return False
        if not self.run.remove_checkpoints_after(plan.begun):
            raise MismatchError(
                f"{self.run.path}: training ended after {plural(plan.begun, 'iteration')} and "
                "cannot be continued, because the Gibbs refinement has replaced the last "
                "checkpoint; train a new run in another folder (--out, or --resume never)"
            )
        return True

    def _restore(self, checkpoint: Checkpoint) -> None:
        """Restore a verified checkpoint; a stream is read again up to the checkpoint's position.

        Raises
        ------
        CheckpointError
            If the checkpoint is not a state of this run.
        MismatchError
            If the stream differs from the documents of training.
        Interrupted
            If training is stopped while the stream is read again.
        """
        tally, sweeps = self.tally, self.options.exact_sweeps
        try:
            plan = read_refinement_plan(checkpoint.arrays)
            self.chain.restore(plan.begun if plan else checkpoint.step, checkpoint.arrays)
            self.posterior.restore(checkpoint.arrays)
            if plan:
                self.stage = self._begin_exactly(sweeps=plan.sweeps, start=False)
                self.stage.restore(checkpoint.arrays, sweeps if isinstance(sweeps, int) else 0)
                self.keeper.stage = self.stage
            (tally.train_seconds, tally.wait_seconds, tally.documents, tally.tokens) = (
                read_counters(
                    checkpoint.meta, "train_seconds", "wait_seconds", "documents", "tokens"
                )
            )
        except CheckpointError as error:
            raise CheckpointError(
                f"{checkpoint.path}: {error}; remove it to resume from the previous checkpoint"
            ) from None
        if not isinstance(self.stream, OnePass):
            return
        before = FeedPosition(**checkpoint.meta["stream"])
        self.reporter.note(f"reading {plural(before.documents, 'document')} of the stream again")
        try:
            self.stream.go_to(checkpoint.step, partial(raise_if_stopped, self.stop))
        except Stopped:
            raise Interrupted(
                f"{self.stop.reason}: stopped while reading the stream again; run the same "
                "command again to continue"
            ) from None
        now = self.stream.position(checkpoint.step)
        if now != before:
            raise MismatchError(
                f"the stream now differs from the stream read before {checkpoint.path.name} "
                f"({now.documents:,} documents now, {before.documents:,} then); give the same "
                "documents from the start, or start a new run with another --out"
            )
