"""Records of a run that a person reads while it trains: its metrics, its log and its status.

Metrics and log are files that only grow, with one JSON object a line.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pysgrld.errors import MissingInputError, WriteError
from pysgrld.run import jsonio
from pysgrld.run.files import (
    Written,
    digest_of,
    fail_point,
    open_regular,
    read_small,
    replace_file,
    write_all,
    writing,
)
from pysgrld.run.layout import LOG, METRICS, STATUS
from pysgrld.run.lock import Lock, holder

logger = logging.getLogger(__name__)

#: States of ``status.json``.
STATES = ("running", "interrupted", "finished", "failed")

#: Bytes of a line; one beyond is none of ours.
LONGEST = 16 << 20

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


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
            append_line(self.path / METRICS, dict(record), "metrics")

    def read_metrics(self, last: int | None = None) -> list[dict[str, Any]]:
        """Read the lines of ``metrics.jsonl``: all, or those in so many bytes at its end.

        Raises
        ------
        MissingInputError
            If the file cannot be read.
        """
        return read_lines(self.path / METRICS, last)

    def read_log(self, last: int | None = None) -> list[dict[str, Any]]:
        """Read the lines of ``log.jsonl``, the events of all starts: all, or those at its end.

        Raises
        ------
        MissingInputError
            If the file cannot be read.
        """
        return read_lines(self.path / LOG, last)

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
                append_line(self.path / LOG, self._unlogged[0], "log")
                del self._unlogged[0]
            append_line(self.path / LOG, line, "log")

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
        who = {name: value for name, value in holder().items() if name in ("host", "pid", "job")}
        status = {"state": state, "time": jsonio.now(), **who, **fields}
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
        """Flush all lines of the metrics to disk; return their size and digest, for the manifest.

        After a failed fsync the next one succeeds on the same file, whatever became of the data: the
        lines are then written into another file, which takes the place of this one.

        Raises
        ------
        OSError
            If that fails.
        """
        path = self.path / METRICS
        try:
            if self._doubtful:
                metrics = replace_file(path, [read_small(path, path.stat().st_size)], "metrics")
            else:
                with open_regular(path) as (fd, size):
                    fail_point("metrics.fsync")
                    os.fsync(fd)
                metrics = digest_of(path, size)
        except OSError:
            self._doubtful = True
            raise
        self._doubtful = False
        return metrics


# ---- files of lines


def open_to_write(path: Path) -> int:
    """Open a file to write to; a pipe in its place would swallow lines until it blocks."""
    fd = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return fd


def append_line(path: Path, record: dict[str, Any], point: str) -> None:
    """Append one object to a file, as a line; NaN and infinity become null.

    The file must exist, so that a folder which somebody removed is noticed.

    Raises
    ------
    OSError
        If it could not be written; nothing of the line is then left.
    """
    data = jsonio.line(jsonio.plain(record, nonfinite_is_null=True))
    fail_point(f"{point}.open")
    fd = open_to_write(path)
    try:
        size = os.fstat(fd).st_size
        # A process that was killed in mid-line must not spoil the next line as well.
        if size and os.pread(fd, 1, size - 1) != b"\n":
            data = b"\n" + data
        try:
            write_all(fd, data, point)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, size)
            raise
    finally:
        os.close(fd)


def read_lines(path: Path, last: int | None = None) -> list[dict[str, Any]]:
    """Read all objects of a file; a line that was never finished is left out.

    Parameters
    ----------
    path : Path
    last : int, optional
        Read whole lines in so many bytes at the end alone: memory does not grow with the file.

    Raises
    ------
    MissingInputError
        If the file cannot be read.
    """
    records = []
    try:
        with open_regular(path) as (fd, size), os.fdopen(os.dup(fd), "rb") as file:
            where = str(path)
            whole = last is None or size <= last
            if last is not None and size > last:
                file.seek(size - last - 1)
                file.readline(LONGEST)  # the end of a line, if no more than that
            for number in itertools.count(1):
                if whole:
                    where = f"{path}:{number}"
                line = file.readline(min(LONGEST, size - file.tell()))
                if not line.endswith(b"\n"):
                    if len(line) < LONGEST:
                        break
                    raise OSError(errno.EFBIG, "a line is longer than any of sgmc's", where)
                if line == b"\n":
                    continue
                try:
                    record = jsonio.parse(line)
                    if not isinstance(record, dict):
                        raise ValueError("not an object")
                except ValueError as error:
                    logger.warning("%s: skipped: %s", where, error)
                    continue
                records.append(record)
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}") from error
    return records
