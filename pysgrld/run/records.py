"""Records of a run that a person reads while it trains: its metrics, its log and its status."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pysgrld.errors import MissingInputError, WriteError
from pysgrld.run import journal, jsonio
from pysgrld.run.create import LOG, METRICS, STATUS
from pysgrld.run.files import Written, read_small, writing
from pysgrld.run.lock import Lock, holder
from pysgrld.run.whole import replace_file

logger = logging.getLogger(__name__)

#: States of ``status.json``.
STATES = ("running", "interrupted", "finished", "failed")


class Records:
    """The files ``metrics.jsonl``, ``log.jsonl`` and ``status.json`` of a run.

    Parameters
    ----------
    path : Path
        The run's folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: Lock | None = None
        self._unlogged: list[dict[str, Any]] = []  # events that could not be logged yet
        self._doubtful = False  # whether an fsync of the metrics has failed

    @contextlib.contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        """Guard the writing of a file: the run must still be the one that was locked."""
        if self._lock is not None:
            self._lock.check()
        with writing(path):
            yield

    def append_metrics(self, record: Mapping[str, Any]) -> None:
        """Append one line to ``metrics.jsonl``; NaN and infinity become null.

        Raises
        ------
        WriteError
            If it could not be written; nothing of the line is then left.
        """
        with self._writing(self.path / METRICS):
            journal.append(self.path / METRICS, dict(record), "metrics")

    def read_metrics(self, last: int | None = None) -> list[dict[str, Any]]:
        """Read the lines of ``metrics.jsonl``: all, or those in so many bytes at its end.

        Raises
        ------
        MissingInputError
            If the file cannot be read.
        """
        return self._read_lines(METRICS, last)

    def read_log(self, last: int | None = None) -> list[dict[str, Any]]:
        """Read the lines of ``log.jsonl``, the events of all starts: all, or those at its end.

        Raises
        ------
        MissingInputError
            If the file cannot be read.
        """
        return self._read_lines(LOG, last)

    def _read_lines(self, name: str, last: int | None) -> list[dict[str, Any]]:
        try:
            return journal.read(self.path / name, last)
        except OSError as error:
            raise MissingInputError(
                f"{self.path / name}: cannot be read: {error.strerror}"
            ) from error

    def log_event(self, event: str, **fields: Any) -> None:
        """Append one event to ``log.jsonl``, with the time in UTC.

        Raises
        ------
        WriteError
            If it could not be written; nothing of the line is then left.
        """
        line = {"time": jsonio.now(), "event": event, **fields}
        with self._writing(self.path / LOG):
            while self._unlogged:
                journal.append(self.path / LOG, self._unlogged[0], "log")
                del self._unlogged[0]
            journal.append(self.path / LOG, line, "log")

    def _note(self, event: str, **fields: Any) -> None:
        """Log an event of what is done already; a log that cannot be written is no error."""
        try:
            self.log_event(event, **fields)
        except WriteError as error:
            self._unlogged.append({"time": jsonio.now(), "event": event, **fields})
            logger.warning("%s", error)

    def set_status(self, state: str, **fields: Any) -> None:
        """Replace ``status.json``: what the run is doing, and who is doing it.

        Parameters
        ----------
        state : {"running", "interrupted", "finished", "failed"}
        **fields
            ``step``, ``error`` and what else a person may want to know.

        Raises
        ------
        WriteError
            If it could not be written; the old one is then intact.
        """
        if state not in STATES:
            raise ValueError(f"state {state!r}: one of {', '.join(STATES)}")
        who = holder()
        status = {
            "state": state,
            "time": jsonio.now(),
            "host": who["host"],
            "pid": who["pid"],
            "job": who["job"],
            **fields,
        }
        with self._writing(self.path / STATUS):
            data = jsonio.pretty(jsonio.plain(status, nonfinite_is_null=True))
            replace_file(self.path / STATUS, [data], "status")

    @property
    def status(self) -> dict[str, Any]:
        """The content of ``status.json``; empty if it is not there or cannot be read."""
        try:
            status = jsonio.parse(read_small(self.path / STATUS))
        except (OSError, ValueError):
            return {}
        return status if isinstance(status, dict) else {}

    def _flush_metrics(self) -> Written:
        """Make the metrics durable; return their size and digest.

        Raises
        ------
        OSError
            If that fails; they are then written anew the next time.
        """
        try:
            metrics = journal.make_durable(self.path / METRICS, "metrics", anew=self._doubtful)
        except OSError:
            self._doubtful = True
            raise
        self._doubtful = False
        return metrics
