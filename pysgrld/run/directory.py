"""A run directory, which contains a run's record and all data needed to resume the run.

While a run trains, people can read its status, its metrics and its log. Metrics and log are
append-only files with one JSON object per line.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pysgrld.errors import (
    CheckpointError,
    CorpusError,
    GoneError,
    MissingInputError,
    OutputError,
    SgmcError,
    WriteError,
)
from pysgrld.run import jsonio
from pysgrld.run.checkpoint_read import (
    CORRUPT,
    Checkpoint,
    checkpoint_folders,
    digests,
    newest,
    read_manifest,
    warn_of_changed,
)
from pysgrld.run.checkpoint_write import commit, remove_later, remove_older, restore_replaced
from pysgrld.run.config_file import read_config
from pysgrld.run.files import (
    Written,
    convert_write_errors,
    digest_of,
    fail_point,
    fsync_folder,
    make_folder,
    open_regular,
    read_small,
    remove_stale,
    rename,
    replace_file,
    sync,
    write_new,
)
from pysgrld.run.identity import Identity, differences, identity
from pysgrld.run.layout import (
    CHECKPOINTS,
    CONFIG,
    LOCK,
    LOG,
    METRICS,
    SAMPLES,
    SCHEMA,
    SHORT_CHAINS,
    STATUS,
    VOCABULARY,
    TakenError,
)
from pysgrld.run.lock import Lock, holder, scratch_folder
from pysgrld.run.parts import StoredParts
from pysgrld.run.restore import restore_removed, vocabulary_text
from pysgrld.run.samples import Samples
from pysgrld.run.tensors import NONE, DamagedError
from pysgrld.types import Array, Invariant

logger = logging.getLogger(__name__)

#: Maximum size of a vocabulary file in bytes. A larger file was changed after it was written.
MAX_VOCABULARY = 1 << 30

#: Possible values of ``state`` in ``status.json``.
STATES = ("running", "interrupted", "finished", "failed")


class RunDirectory:
    """An existing run directory, as returned by the methods `create` and `open`.

    Methods that change the record of the chain (checkpoints, `rewind`) need the `lock`.

    Parameters
    ----------
    path : Path
    settings : bytes
        Content of ``config.json`` as it was written, to restore the file if it is removed.
    words : sequence of str
        The vocabulary; empty if it is not known.
    """

    def __init__(self, path: Path, settings: bytes, words: Sequence[str] = ()) -> None:
        self.path, self._settings, self._words = path, settings, words
        self.samples = Samples(path, self._writing)
        self.short_chains = StoredParts(path / SHORT_CHAINS, self._writing)
        self._lock: Lock | None = None
        self._unlogged: list[dict[str, Any]] = []  # Events that could not be logged yet.
        self._doubtful = False  # True after a flush of the metrics to disk has failed

    @classmethod
    def create(
        cls,
        path: Path,
        config: Mapping[str, Any],
        vocabulary: Sequence[str],
        *,
        held: contextlib.ExitStack | None = None,
    ) -> RunDirectory:
        """Create a run directory; it gets its final name when it is complete.

        Parameters
        ----------
        path : Path
            A path that does not exist, or an empty folder.
        config : mapping
            Content of ``config.json``, to which ``vocabulary`` is added. Its list ``free`` names
            the options that may change at every start.
        vocabulary : sequence of str
            Words for ``vocab.txt``, one per line.
        held : ExitStack, optional
            Stack for the lock, which is taken before the folder gets its final name.

        Raises
        ------
        TakenError
            If another process has just made a run at this path.
        OutputError
            If the folder cannot be made.
        CorpusError
            If a word cannot be written as a line of text.
        """
        for number, word in enumerate(vocabulary, 1):
            if "\n" in word:
                raise CorpusError(f"vocabulary word {number} contains a line break; remove it")
        try:
            text = vocabulary_text(vocabulary)
        except UnicodeEncodeError as error:
            raise CorpusError(
                f"a vocabulary word is not UTF-8 ({error.reason}); remove it"
            ) from None
        record: dict[str, Any] = {"free": []} | jsonio.plain(dict(config), where="config")
        record["schema"] = SCHEMA
        digest = hashlib.sha256(text).hexdigest()
        record["vocabulary"] = {"words": len(vocabulary), "sha256": digest}
        settings = jsonio.format_sealed(record)
        # Resolve a symbolic link, because a rename would replace the link and not its target.
        path = path.resolve() if path.is_symlink() else path
        lock = None
        try:
            make_folder(path.parent, "create")
            with scratch_folder(path.parent) as scratch:
                temporary = scratch / path.name
                fail_point("create.mkdir")
                temporary.mkdir()
                lock = Lock(temporary / LOCK)
                for folder in (CHECKPOINTS, SAMPLES):
                    (temporary / folder).mkdir()
                files = {VOCABULARY: text, METRICS: b"", LOG: b"", CONFIG: settings}
                for name, data in files.items():
                    write_new(temporary / name, [data], "create")
                fsync_folder(temporary, "create")
                rename(temporary, path, "create")
                lock.moved(path / LOCK)
        except BaseException as error:
            if lock is not None:
                lock.moved(path / LOCK)
                # The folder may already have its final name, but the name may not be on disk.
                with contextlib.suppress(GoneError):
                    lock.check()
                    shutil.rmtree(path, ignore_errors=True)
                lock.release()
            if not isinstance(error, OSError) or isinstance(error, SgmcError):
                raise
            reason = error.strerror or str(error)
            exists = error.errno == errno.EEXIST and path.is_dir()
            raise (TakenError if exists or error.errno == errno.ENOTEMPTY else OutputError)(
                f"{path}: cannot be created: {reason}; choose another folder"
            ) from error
        run = cls(path, settings, vocabulary)
        with contextlib.ExitStack() as stack:
            (held or stack).enter_context(run.lock(taken=lock))
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open an existing run.

        Raises
        ------
        MissingInputError
            If the folder has no run, or its ``config.json`` cannot be read.
        CheckpointError
            If ``config.json`` is damaged, or has another format.
        """
        return cls(path, read_config(path))

    @property
    def config(self) -> dict[str, Any]:
        """A copy of the content of ``config.json``, as last read or written."""
        return dict(jsonio.parse_sealed(self._settings, self.path / CONFIG))

    @property
    def identity(self) -> Identity:
        """The run's identity, which is the part of its configuration that must not change."""
        return identity(self.config)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The vocabulary; word n is column n of matrices that have one column per word.

        Raises
        ------
        MissingInputError, CheckpointError
            As `check_vocabulary` does.
        """
        # Hash the file piece by piece before reading it, because a changed file may not fit into
        # memory.
        self.check_vocabulary()
        file = self.path / VOCABULARY
        try:
            data = read_small(file, MAX_VOCABULARY)
        except OSError as error:
            raise MissingInputError(f"{file}: cannot be read: {error.strerror}") from error
        return tuple(data.decode("utf-8").split("\n")[:-1])

    def check_vocabulary(self) -> None:
        """Raise an error if the run's vocabulary was changed.

        Raises
        ------
        MissingInputError
            If ``vocab.txt`` cannot be read.
        CheckpointError
            If it was changed.
        """
        file = self.path / VOCABULARY
        try:
            changed = file.lstat().st_size > MAX_VOCABULARY
            expected = (self.config.get("vocabulary") or {}).get("sha256")
            if changed or expected not in (None, digest_of(file).sha256):
                raise CheckpointError(f"{file}: was changed since the run began; restore it")
        except OSError as error:
            raise MissingInputError(
                f"{file}: cannot be read: {error.strerror}; restore it"
            ) from error

    def update_free(self, changes: Mapping[str, Any]) -> None:
        """Replace ``config.json`` atomically, with new values of the options that may change.

        Parameters
        ----------
        changes : mapping
            Values by option name, as under ``options`` in ``config.json``.

        Raises
        ------
        CheckpointError
            If an option is not listed as free.
        WriteError
            If the file cannot be written; the old file is then intact.
        """
        before = self.config
        config = {**before, "options": before.get("options", {}) | jsonio.plain(dict(changes))}
        stored = identity(before, before.get("free"))
        if changed := differences(stored.fields, identity(config).fields):
            raise CheckpointError(
                f"{self.path / CONFIG}: these options may not change in a run: "
                f"{'; '.join(changed)}; restore the file, or train a new run"
            )
        if config == before:
            return
        settings = jsonio.format_sealed(config)
        with self._writing(self.path / CONFIG):
            replace_file(self.path / CONFIG, [settings], "config")
        self._settings = settings

    # ---- lock

    @contextlib.contextmanager
    def lock(self, *, break_lock: bool = False, taken: Lock | None = None) -> Iterator[None]:
        """Context manager that locks the run for writing; `taken` is a lock that the caller holds.

        Raises
        ------
        LockedError
            If another process holds the lock; the message names its host, pid and job.
        OutputError, WriteError
            If the file ``lock`` cannot be written.
        """
        self._lock = lock = taken or Lock(self.path / LOCK, break_lock=break_lock)
        try:
            yield
        finally:
            self._lock = None
            lock.release()

    def _need_lock(self) -> None:
        if self._lock is None:
            raise RuntimeError("changes of a run need its lock: use run.lock()")
        self._lock.check()

    # ---- metrics, log and status

    @contextlib.contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        """Context manager for writing a file: check the lock, turn `OSError` into `WriteError`."""
        if self._lock is not None:
            self._lock.check()
        with convert_write_errors(path):
            yield

    def append_metrics(self, record: Mapping[str, Any]) -> None:
        """Append a record to ``metrics.jsonl``; NaN and infinity become null.

        Raises
        ------
        WriteError
            If the record could not be written; no part of its line is then in the file.
        """
        with self._writing(self.path / METRICS):
            jsonio.append_line(self.path / METRICS, dict(record), "metrics")

    def read_metrics(self, last: int | None = None) -> list[dict[str, Any]]:
        """Read all records of ``metrics.jsonl``, or only the records in its last `last` bytes.

        Raises
        ------
        MissingInputError
            If the file cannot be read.

        Logs a warning if the file does not agree with its record in the newest checkpoint.
        """
        warn_of_changed(self.path, METRICS)
        return jsonio.read_lines(self.path / METRICS, last)

    def log_event(self, event: str, **fields: Any) -> None:
        """Append an event to ``log.jsonl``, with the time in UTC.

        Raises
        ------
        WriteError
            If the event could not be written; no part of its line is then in the file.
        """
        line = {"time": jsonio.utc_now(), "event": event, **fields}
        with self._writing(self.path / LOG):
            while self._unlogged:
                jsonio.append_line(self.path / LOG, self._unlogged[0], "log")
                del self._unlogged[0]
            jsonio.append_line(self.path / LOG, line, "log")

    def _note(self, event: str, **fields: Any) -> None:
        """Log an event; if this fails, warn, and keep the event until the next event is logged."""
        try:
            self.log_event(event, **fields)
        except WriteError as error:
            self._unlogged.append({"time": jsonio.utc_now(), "event": event, **fields})
            logger.warning("%s", error)

    def set_status(self, state: str, **fields: Any) -> None:
        """Replace ``status.json``, which has the run's state and describes the run's process.

        Parameters
        ----------
        state : {"running", "interrupted", "finished", "failed"}
        **fields : ``step``, ``error`` and other information for people

        Raises
        ------
        WriteError
            If it could not be written; the old file is then intact.
        """
        if state not in STATES:
            raise ValueError(f"state {state!r} is not one of {', '.join(STATES)}")
        who = {name: value for name, value in holder().items() if name in ("host", "pid", "job")}
        status = {"state": state, "time": jsonio.utc_now(), **who, **fields}
        with self._writing(self.path / STATUS):
            data = jsonio.format_sealed(jsonio.plain(status, nonfinite_is_null=True))
            replace_file(self.path / STATUS, [data], "status")

    @property
    def status(self) -> dict[str, Any]:
        """The content of ``status.json``; empty if the file is missing or unreadable."""
        with contextlib.suppress(FileNotFoundError):
            try:
                status = jsonio.parse_sealed(read_small(self.path / STATUS), self.path / STATUS)
                if isinstance(status, dict) and status.get("state") in STATES:
                    return status
            except (OSError, ValueError) as error:
                if isinstance(error, FileNotFoundError):
                    raise
            logger.warning("%s: is damaged, so the state of the run is unknown", self.path / STATUS)
        return {}

    def _flush_metrics(self) -> Written:
        """Flush the metrics to disk, and return the file's size and digest for the manifest.

        After a failed fsync, a second fsync of the same file succeeds even if data were lost. So
        after a failure the lines are written to a new file, which replaces the old one.

        Raises
        ------
        OSError
            If the metrics cannot be written to disk.
        """
        path = self.path / METRICS
        try:
            if self._doubtful:
                metrics = replace_file(path, [read_small(path, path.stat().st_size)], "metrics")
            else:
                with open_regular(path) as (fd, size):
                    sync(fd, "metrics.fsync")
                metrics = digest_of(path, size)
        except OSError:
            self._doubtful = True
            raise
        self._doubtful = False
        return metrics

    # ---- checkpoints

    def save_checkpoint(
        self,
        step: int,
        arrays: Mapping[str, Array],
        meta: Mapping[str, Any],
        *,
        keep: int,
        spared: int | None = None,
        invariants: Mapping[str, Invariant] = NONE,
        training: Mapping[str, Array] = NONE,
    ) -> Path:
        """Write a checkpoint durably, so that it survives a power failure.

        Write an iteration's sample and metrics first: `rewind` restores these files to their state
        at this time.

        Parameters
        ----------
        step, arrays, meta, invariants, training
            As for `pysgrld.run.checkpoint_write.commit`; names of arrays match
            ``[a-z0-9_.]{1,64}``.
        keep : int
            Number of checkpoints to keep, this one included.
        spared : int, optional
            Iteration whose checkpoint is kept as well.

        Raises
        ------
        WriteError
            If writing failed; older checkpoints are intact, and the partial one was removed.
        NumericalError
            If an array has a value that no valid state has; nothing was written.
        """
        self._need_lock()
        began = time.monotonic()
        try:
            restore_removed(self.path, self._settings, vars(self).get("vocabulary", self._words))
            folder = commit(
                self.path,
                step,
                arrays,
                meta,
                self.identity,
                # A return to this checkpoint restores the files in these tables. The log is not
                # restored, because it records history.
                lambda: {
                    "append": {METRICS: self._flush_metrics()._asdict()},
                    "samples": self.samples.table(),
                },
                invariants,
                training,
            )
        except OSError as error:
            good = next((str(path.name) for _, path in checkpoint_folders(self.path)), "none yet")
            raise WriteError(
                f"{self.path}: the checkpoint of step {step} cannot be written: "
                f"{error.strerror or error}; last good checkpoint: {good}"
            ) from error
        seconds = round(time.monotonic() - began, 3)
        self._note("checkpoint", step=step, path=f"{CHECKPOINTS}/{folder.name}", seconds=seconds)
        remove_older(folder, keep, spared)
        self.samples.purge()
        return folder

    def load_checkpoint(
        self, *, required: bool, invariants: Mapping[str, Invariant] = NONE
    ) -> Checkpoint | None:
        """Load the newest undamaged checkpoint, or return None if the run has no checkpoint.

        Damaged newer checkpoints are reported and, if this process holds the lock, renamed to
        ``.corrupt-...``. A checkpoint with arrays that break an invariant counts as damaged.

        Raises
        ------
        CheckpointError
            If checkpoints exist but none is usable, or if none exists although one is required; the
            message names each checkpoint and its problem.
        MismatchError
            If the checkpoint belongs to another configuration than ``config.json``.
        """
        if self._lock is not None:
            with self._writing(self.path / CHECKPOINTS):
                restore_replaced(self.path)
        checkpoint, damaged = newest(
            self.path, self.identity, required=required, invariants=invariants
        )
        for folder, problem in damaged:
            logger.warning("ignored a damaged checkpoint: %s", problem)
            if self._lock is None:
                continue
            aside, number = folder.with_name(CORRUPT + folder.name), 1
            while aside.exists() or aside.is_symlink():
                number += 1
                aside = folder.with_name(f"{CORRUPT}{folder.name}-{number}")
            with self._writing(folder):
                rename(folder, aside, "discard")
            self._note(
                "damaged checkpoint", checkpoint=folder.name, problem=problem, now=aside.name
            )
        return checkpoint

    def remove_checkpoints_after(self, step: int) -> bool:
        """Remove all checkpoints after `step`, if `step` has a checkpoint; else return False.

        Raises
        ------
        WriteError
            If a checkpoint cannot be removed.
        """
        self._need_lock()
        with self._writing(self.path / CHECKPOINTS):
            return remove_later(self.path, step)

    def rewind(self, checkpoint: Checkpoint | None, *, samples_gone: bool = False) -> None:
        """Restore metrics and samples to their state at the given checkpoint.

        All files are verified before any is changed. All changes can be repeated, so the next
        rewind completes an interrupted one.

        Parameters
        ----------
        checkpoint : Checkpoint or None
            None to go back to the start of the run.
        samples_gone : bool
            True if samples that the checkpoint lists have been replaced, so that some may be
            missing.

        Raises
        ------
        CheckpointError
            If a file was changed since the checkpoint was written.
        WriteError
            If a file cannot be truncated or deleted.
        """
        self._need_lock()
        size = 0
        table: dict[str, Written] = {}
        missing: list[str] = []
        if checkpoint is not None:
            file = self.path / METRICS
            try:
                manifest = read_manifest(checkpoint.path)
                metrics = digests(manifest, "append").get(METRICS)
                if metrics is None:
                    raise DamagedError(f"{checkpoint.path}: does not list {METRICS}")
            except DamagedError as error:
                raise CheckpointError(str(error)) from None
            table, size = digests(manifest, "samples"), metrics.size
            try:
                written = digest_of(file, size)
            except OSError as error:
                raise CheckpointError(f"{file}: cannot be read: {error.strerror}") from error
            if written != metrics:
                raise CheckpointError(
                    f"{file}: was changed since the checkpoint was written; restore it, or start "
                    "a new run with another --out"
                )
            missing = self.samples.check(table)
        with convert_write_errors(self.path):
            with open_regular(self.path / METRICS, append=True) as (fd, now):
                if now > size:
                    fail_point("metrics.truncate")
                    os.ftruncate(fd, size)
                    sync(fd, "metrics.fsync")
            self.samples.rewind(table)
            restore_replaced(self.path)
            for folder in (self.path, self.path / CHECKPOINTS, self.samples.folder):
                remove_stale(folder, "stale")
        for name in () if samples_gone else missing:
            logger.warning("%s: is missing; continuing without it", self.samples.folder / name)
            self._note("missing sample", sample=name)
