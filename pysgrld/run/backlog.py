"""Writes that the disk refused: they are queued and tried again in order, and a loss is reported.

A disk that is full for an hour must not end a run of a week. Lines of metrics and of the log, the
status and posterior samples that cannot be written wait in memory and are written before anything
that comes later. No checkpoint is committed while an earlier sample waits: a run that is resumed
from the checkpoint before it draws the same sample again.
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

#: Bytes of samples that may wait, in addition to the first one. The run ends if more would wait.
HELD = 64 << 20


class Backlog:
    """Writes to a locked run; refused writes wait and are tried again in order.

    Every method raises `GoneError` if the folder was removed or taken over: there is then nothing
    to write to.

    Parameters
    ----------
    run : RunDirectory
    note : callable (str)
        Called with a line at the first failure of each kind, and when all waiting writes succeeded.
    """

    def __init__(self, run: RunDirectory, note: Callable[[str], None]) -> None:
        self.run, self.note = run, note
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        self._errors: dict[str, WriteError] = {}
        self._held = 0

    def log_event(self, event: str, **fields: Any) -> None:
        """Append one event to ``log.jsonl``, with the present time."""
        line = {"time": jsonio.now(), **fields}
        self.write(LOG, partial(self.run.log_event, event, **line))

    def set_status(self, state: str, **fields: Any) -> None:
        """Replace ``status.json``."""
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
        """Keep the posterior sample of an iteration; the arrays must not change afterwards.

        Raises
        ------
        WriteError
            If more samples wait than there is room for.
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
                f"{self._errors[SAMPLES]}; samples of more than {HELD >> 20} MB wait, so the run "
                "ends here: run the same command again, and they are drawn again from the last "
                "checkpoint"
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
    ) -> Path:
        """Write a checkpoint, after all writes that wait.

        Raises
        ------
        WriteError
            If it cannot be written, or samples that it would count cannot.
        NumericalError
            If an array holds what no state can hold.
        """
        self.flush()
        if self._waiting.get(SAMPLES):
            raise WriteError(
                f"the checkpoint of step {step} waits for samples: {self._errors[SAMPLES]}"
            )
        folder = self.run.save_checkpoint(
            step, arrays, meta, keep=keep, spared=spared, invariants=invariants
        )
        self.flush()
        return folder

    def flush(self) -> None:
        """Try the writes that wait again."""
        for name in list(self._waiting):
            self.write(name)

    def finish(self) -> None:
        """Try the writes that wait once more, at the end of a run.

        Raises
        ------
        WriteError
            If something could not be written; the message lists it.
        """
        self.flush()
        missing = [
            f"{len(waiting)} to {name}" for name, waiting in self._waiting.items() if waiting
        ]
        if missing:
            name = next(name for name, waiting in self._waiting.items() if waiting)
            raise WriteError(
                f"{self._errors[name]}; writes that are missing: {', '.join(missing)}; the last "
                "checkpoint is good"
            )

    def write(self, name: str, *last: Callable[[], None]) -> None:
        """Try the writes to a file, or to the folder of samples, that wait, then one more."""
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
                    self.note(f"{error}; training continues, and sgmc tries again")
                return
            del waiting[0]
        if self._errors.pop(name, None):
            self.note(f"{self.run.path / name}: is written again, nothing is missing")
