"""Entries in any order to entries in order of their documents, whatever their number.

As many as fit a run are sorted in memory. More are written, run by run, to a file that has no name
(so it is gone whatever happens), and merged.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from pysgrld.corpus.formats.rows import Entries
from pysgrld.types import Array

#: Entries that are sorted in memory: 32 MiB of them.
RUN = 2**21

_RECORD = np.dtype([("row", "<i8"), ("word", "<i4"), ("count", "<i4")])


def in_order(parts: Iterable[Entries], scratch: Path | None) -> Iterator[Entries]:
    """Sort entries by document; those of one document come in any order.

    Parameters
    ----------
    parts : iterable of Entries
    scratch : Path, optional
        Folder with room for 16 bytes an entry; by default that of temporary files.

    Yields
    ------
    Entries
        Documents never decrease; lines are forgotten.

    Raises
    ------
    OSError
        If there is no room.
    """
    held: list[Array] = []
    size = 0
    runs: list[_Run] = []
    file: BinaryIO | None = None
    try:
        for part in parts:
            records = np.empty(len(part.rows), _RECORD)
            records["row"], records["word"], records["count"] = part.rows, part.words, part.counts
            held.append(records)
            size += len(records)
            if size >= RUN:
                if file is None:
                    file = cast(BinaryIO, tempfile.TemporaryFile(dir=scratch))  # noqa: SIM115
                start = file.seek(0, 2)
                file.write(_sorted(held).data.cast("B"))
                runs.append(_Run(file, start, size))
                held, size = [], 0
        last = _sorted(held)
        if file is None:
            yield _entries(last)
            return
        runs.append(_Run(file, 0, 0, last))
        yield from _merged(runs)
    finally:
        if file is not None:
            file.close()


def _sorted(parts: list[Array]) -> Array:
    records = np.concatenate(parts) if parts else np.empty(0, _RECORD)
    return records[np.argsort(records["row"], kind="stable")]


def _entries(records: Array) -> Entries:
    rows, words, counts = (np.ascontiguousarray(records[name]) for name in _RECORD.names or ())
    return Entries(rows, words, counts, None)


class _Run:
    """One sorted run: its part of the file that is still to be read, and its next records."""

    def __init__(self, file: BinaryIO, start: int, left: int, ready: Array | None = None) -> None:
        self.file, self.start, self.left = file, start, left
        self.ready = np.empty(0, _RECORD) if ready is None else ready

    def fill(self, portion: int) -> None:
        """Read more records from the file where those in memory were used up."""
        if len(self.ready) or not self.left:
            return
        size = min(portion, self.left)
        self.file.seek(self.start)
        data = self.file.read(size * _RECORD.itemsize)
        self.ready = np.frombuffer(data, _RECORD)
        self.start += len(data)
        self.left -= size

    def take(self, limit: int) -> Array:
        """Return the records of documents up to `limit`, and forget them."""
        n = int(np.searchsorted(self.ready["row"], limit, "right"))
        taken, self.ready = self.ready[:n], self.ready[n:]
        return taken


def _merged(runs: list[_Run]) -> Iterator[Entries]:
    portion = max(RUN // len(runs), 1)
    while True:
        for run in runs:
            run.fill(portion)
        runs = [run for run in runs if len(run.ready)]
        if not runs:
            return
        # Beyond the least of these, a run may hold documents that are not in memory yet.
        limits = [int(run.ready["row"][-1]) for run in runs if run.left]
        limit = min(limits) if limits else int(max(run.ready["row"][-1] for run in runs))
        yield _entries(_sorted([run.take(limit) for run in runs]))
