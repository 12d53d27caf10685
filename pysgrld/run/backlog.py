"""Queue of failed writes, which are retried in order; lost data are reported as an error.

A disk that is full for an hour must not end a run of a week. If lines of metrics and of the log,
the status or posterior samples cannot be written, they wait in memory, and are written before any
later data of the same kind. No checkpoint is committed while an earlier sample waits: if the run is
resumed from an older checkpoint, it draws the same sample again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pysgrld.errors import GoneError, WriteError
from pysgrld.run import jsonio
from pysgrld.run.directory import RunDirectory
from pysgrld.run.layout import LOG, SAMPLES, STATUS
from pysgrld.types import Array, Invariant

#: Samples whose writing has failed wait in memory. The run ends if the waiting samples, except the
#: first, take more than this number of bytes.
HELD = 64 << 20


class Backlog:
    """Writer of a locked run's files; failed writes wait in a queue and are retried in order.

    Every method raises `GoneError` if the folder was removed or taken over by another process.

    Parameters
    ----------
    run : RunDirectory
    note : callable (str)
        Called with a message when a write to a file fails for the first time, and when all failed
        writes to the file have succeeded.
    """

    def __init__(self, run: RunDirectory, note: Callable[[str], None]) -> None:
        self.run, self.note = run, note
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        self._errors: dict[str, WriteError] = {}
        self._held = 0

    def log_event(self, event: str, **fields: Any) -> None:
        """Append an event to ``log.jsonl``, with the time of this call."""
        line = {"time": jsonio.utc_now(), **fields}
        self.write(LOG, partial(self.run.log_event, event, **line))

    def set_status(self, state: str, **fields: Any) -> None:
        """Replace ``status.json``; an older status that could not be written yet is dropped."""
        self._waiting[STATUS] = []
        self.write(STATUS, partial(self.run.set_status, state, **fields))

    def write_sample(
        self,
        step: int,
        parts: Mapping[str, Array],
        invariants: Mapping[str, Invariant],
        *,
        top_words: bool = False,
    ) -> None:
        """Store the posterior sample of an iteration; the caller must not modify the arrays later.

        Raises
        ------
        WriteError
            If the waiting samples take more than `HELD` bytes.
        """
        first = not self._waiting.get(SAMPLES)
        write = partial(self.run.samples.write, step, parts, invariants, top_words=top_words)
        self.write(SAMPLES, write)
        if not self._waiting[SAMPLES]:
            self._held = 0
        elif not first:
            self._held += sum(part.nbytes for part in parts.values())
        if self._held > HELD:
            raise WriteError(
                f"{self._errors[SAMPLES]}; the run stops, because more than {HELD >> 20} MB of "
                "samples wait to be written. Free space and run the same command again: training "
                "then resumes from the last checkpoint and draws these samples again"
            )

    def save_checkpoint(
        self,
        step: int,
        arrays: Mapping[str, Array],
        meta: Mapping[str, Any],
        *,
        keep: int,
        spared: int | None,
        invariants: Mapping[str, Invariant],
        training: Mapping[str, Array],
    ) -> Path:
        """Retry all failed writes, then write a checkpoint.

        Raises
        ------
        WriteError
            If the checkpoint, or an earlier sample, cannot be written.
        NumericalError
            If an array has a value that no valid state has.
        """
        self.flush()
        if self._waiting.get(SAMPLES):
            raise WriteError(
                f"the checkpoint of step {step} needs earlier samples, which cannot be written: "
                f"{self._errors[SAMPLES]}"
            )
        folder = self.run.save_checkpoint(
            step, arrays, meta, keep=keep, spared=spared, invariants=invariants, training=training
        )
        self.flush()
        return folder

    def flush(self) -> None:
        """Retry all failed writes."""
        for name in list(self._waiting):
            self.write(name)

    def finish(self) -> None:
        """Retry all failed writes a last time, at the end of a run.

        Raises
        ------
        WriteError
            If a write failed again; the message lists the number of missing writes to each file.
        """
        self.flush()
        missing = [
            f"{len(waiting)} to {name}" for name, waiting in self._waiting.items() if waiting
        ]
        if missing:
            name = next(name for name, waiting in self._waiting.items() if waiting)
            raise WriteError(
                f"{self._errors[name]}; failed writes: {', '.join(missing)} (the last "
                "checkpoint is undamaged)"
            )

    def write(self, name: str, *last: Callable[[], None]) -> None:
        """Retry the failed writes of file ``name`` in order, then make the new writes ``last``."""
        waiting = self._waiting.setdefault(name, [])
        waiting += last
        while waiting:
            try:
                waiting[0]()
            except GoneError:
                raise
            except WriteError as error:
                if name not in self._errors:
                    self._errors[name] = error
                    self.note(f"{error}; training continues, and sgmc will try again")
                return
            del waiting[0]
        if self._errors.pop(name, None):
            self.note(
                f"{self.run.path / name}: writing works again, and all waiting data was written"
            )
