"""A run directory: the record of a run, and all that is needed to go on with it."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pysgrld.errors import CheckpointError, WriteError
from pysgrld.run import jsonio
from pysgrld.run.checkpoint_read import (
    CORRUPT,
    Checkpoint,
    checkpoint_folders,
    digests,
    newest,
    read_manifest,
)
from pysgrld.run.checkpoint_write import commit, restore_replaced, retain
from pysgrld.run.create import (
    CHECKPOINTS,
    CONFIG,
    LOCK,
    METRICS,
    check_vocabulary,
    config_bytes,
    make,
    read_config,
    read_vocabulary,
)
from pysgrld.run.files import Written, digest_of, remove_stale, rename, replace_file, writing
from pysgrld.run.identity import Identity, differences, identity
from pysgrld.run.lock import Lock
from pysgrld.run.records import Records
from pysgrld.run.samples import Samples
from pysgrld.run.tensors import NONE, DamagedError
from pysgrld.types import Array, Invariant

logger = logging.getLogger(__name__)


class RunDirectory(Records):
    """An existing run. Make one with `create` or `open`.

    Whatever changes the chain's record (checkpoints, `rewind`) needs the `lock`; reading never
    does.
    """

    def __init__(self, path: Path, config: dict[str, Any]) -> None:
        super().__init__(path)
        self.config = config
        self.samples = Samples(path, self._writing)

    # ---- making and opening

    @classmethod
    def create(
        cls,
        path: Path,
        config: Mapping[str, Any],
        vocabulary: Sequence[str],
        *,
        held: contextlib.ExitStack | None = None,
    ) -> RunDirectory:
        """Make a run directory; it appears whole or not at all.

        Parameters
        ----------
        path : Path
            Does not exist, or is an empty folder.
        config : mapping
            Written to ``config.json``, with ``vocabulary`` added. What it lists under ``free`` are
            the options that may change at every start.
        vocabulary : sequence of str
            Written to ``vocab.txt``, one word a line.
        held : ExitStack, optional
            Keeps the lock, which is taken before the folder has its name: nobody can come between.

        Raises
        ------
        TakenError
            If another process has made a run there just now.
        OutputError
            If the folder cannot be made.
        CorpusError
            If a word cannot be a line of text.
        """
        path, record, lock = make(path, config, vocabulary)
        run = cls(path, record)
        with contextlib.ExitStack() as own:
            (held or own).enter_context(run._holding(lock))
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open an existing run.

        Raises
        ------
        MissingInputError
            If there is none, or its ``config.json`` cannot be read.
        CheckpointError
            If that is damaged.
        """
        return cls(path, read_config(path))

    @property
    def identity(self) -> Identity:
        """The part of the configuration that must not change."""
        return identity(self.config)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The words; the n-th is column n of matrices over words.

        Raises
        ------
        MissingInputError
            If ``vocab.txt`` cannot be read.
        CheckpointError
            If it is not what was written.
        """
        return read_vocabulary(self.path, self.config)

    def check_vocabulary(self) -> None:
        """Refuse a run whose words are not what was written.

        Raises
        ------
        MissingInputError
            If ``vocab.txt`` cannot be read.
        CheckpointError
            If it was changed.
        """
        check_vocabulary(self.path, self.config)

    def update_free(self, changes: Mapping[str, Any]) -> None:
        """Record new values of free options; ``config.json`` is replaced at one instant.

        Parameters
        ----------
        changes : mapping
            Option to value, as under ``options``.

        Raises
        ------
        ValueError
            If one of them is not free.
        WriteError
            If the file cannot be written; the old one is then intact.
        """
        config = dict(self.config)
        config["options"] = {**config.get("options", {}), **jsonio.plain(dict(changes))}
        had = identity(self.config, config.get("free"))
        if changed := differences(had.fields, identity(config).fields):
            raise ValueError(f"not free to change: {'; '.join(changed)}")
        if config == self.config:
            return
        with self._writing(self.path / CONFIG):
            replace_file(self.path / CONFIG, [config_bytes(config)], "config")
        self.config = config

    # ---- who writes

    @contextlib.contextmanager
    def lock(self, *, break_lock: bool = False) -> Iterator[None]:
        """Hold the run, for writing.

        Raises
        ------
        LockedError
            If another process holds it; names host, pid and job.
        OutputError, WriteError
            If the file ``lock`` cannot be written.
        """
        with self._holding(Lock(self.path / LOCK, break_lock=break_lock)):
            yield

    @contextlib.contextmanager
    def _holding(self, lock: Lock) -> Iterator[None]:
        self._lock = lock
        try:
            yield
        finally:
            self._lock = None
            lock.release()

    def _need_lock(self) -> None:
        if self._lock is None:
            raise RuntimeError("this changes the run: call it within run.lock()")
        self._lock.check()

    # ---- checkpoints

    def save_checkpoint(
        self,
        step: int,
        arrays: Mapping[str, Array],
        meta: Mapping[str, Any],
        *,
        keep: int,
        invariants: Mapping[str, Invariant] = NONE,
    ) -> Path:
        """Write a checkpoint; when this returns it survives a power failure.

        Write the sample and the metrics of an iteration before its checkpoint: going back to the
        checkpoint restores what was there when it was written.

        Parameters
        ----------
        step : int
            Iterations done.
        arrays : mapping
            All that the next step needs; names ``[a-z0-9_.]{1,64}``, no NaN, no infinity.
        meta : mapping
            Plain values beside them; no NaN.
        keep : int
            Checkpoints that stay, this one included.
        invariants : mapping
            What else holds of the arrays, by shell pattern of their names.

        Raises
        ------
        WriteError
            If writing failed; older checkpoints are intact and nothing of this one is left.
        NumericalError
            If an array holds what no state can hold; nothing was written.
        """
        self._need_lock()
        began = time.monotonic()
        try:
            folder = commit(self.path, step, arrays, meta, self.identity, self._tables, invariants)
        except OSError as error:
            good = next((str(path.name) for _, path in checkpoint_folders(self.path)), "none yet")
            raise WriteError(
                f"{self.path}: the checkpoint of step {step} cannot be written: "
                f"{error.strerror or error}; last good checkpoint: {good}"
            ) from error
        seconds = round(time.monotonic() - began, 3)
        self._note("checkpoint", step=step, path=f"{CHECKPOINTS}/{folder.name}", seconds=seconds)
        retain(self.path, keep, folder)
        self.samples.purge()
        with contextlib.suppress(OSError):
            remove_stale(folder.parent, "stale")
        return folder

    def _tables(self) -> dict[str, Any]:
        """Describe the files that a checkpoint goes back to; the log is history, not among them."""
        metrics = self._flush_metrics()
        return {"append": {METRICS: metrics._asdict()}, "samples": self.samples.table()}

    def load_checkpoint(
        self, *, required: bool, invariants: Mapping[str, Invariant] = NONE
    ) -> Checkpoint | None:
        """Load the newest checkpoint that verifies; None if the run has none at all.

        Damaged newer ones are reported and, while the lock is held, renamed ``.corrupt-...``.
        One whose arrays break an invariant is damaged.

        Raises
        ------
        CheckpointError
            If none is usable although some exist, or one is required; names each and why.
        MismatchError
            If it belongs to another configuration than ``config.json`` has.
        """
        if self._lock is not None:
            with self._writing(self.path / CHECKPOINTS):
                restore_replaced(self.path)
        found, damaged = newest(self.path, self.identity, required=required, invariants=invariants)
        for folder, problem in damaged:
            logger.warning("damaged checkpoint passed over: %s", problem)
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
        return found

    def rewind(self, checkpoint: Checkpoint | None) -> None:
        """Put metrics and samples back to where they were at a checkpoint.

        Nothing is changed before everything was verified. Each change can be made twice, so a rewind
        that was stopped on the way is finished by the next one.

        Parameters
        ----------
        checkpoint : Checkpoint or None
            None: the beginning.

        Raises
        ------
        CheckpointError
            If a file was edited since.
        WriteError
            If a file cannot be cut or deleted.
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
                    raise DamagedError(f"{checkpoint.path}: lists no {METRICS}")
            except DamagedError as error:
                raise CheckpointError(str(error)) from None
            table, size = digests(manifest, "samples"), metrics.size
            try:
                found = digest_of(file, size)
            except OSError as error:
                raise CheckpointError(f"{file}: cannot be read: {error.strerror}") from error
            if found != metrics:
                raise CheckpointError(
                    f"{file}: was edited since the checkpoint was written; restore it, or start "
                    "anew with another --out"
                )
            missing = self.samples.check(table)
        with writing(self.path):
            self._cut_metrics(size)
            self.samples.rewind(table)
            restore_replaced(self.path)
            for folder in (self.path, self.path / CHECKPOINTS, self.samples.folder):
                remove_stale(folder, "stale")
        for name in missing:
            logger.warning("%s: is gone; going on without it", self.samples.folder / name)
            self._note("missing sample", sample=name)
