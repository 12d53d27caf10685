"""A run directory: the record of a run, and all that is needed to go on with it."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pysgrld.errors import CheckpointError, WriteError
from pysgrld.run import jsonio
from pysgrld.run.checkpoint_read import CORRUPT, Checkpoint, checkpoint_folders, newest
from pysgrld.run.checkpoint_write import commit, restore_replaced, retain
from pysgrld.run.create import (
    CHECKPOINTS,
    CONFIG,
    LOCK,
    METRICS,
    SAMPLES,
    check_vocabulary,
    config_bytes,
    make,
    read_config,
    read_vocabulary,
)
from pysgrld.run.files import Written, remove_stale, rename
from pysgrld.run.identity import Identity, differences, identity, long_name
from pysgrld.run.invariants import NONE
from pysgrld.run.lock import Lock
from pysgrld.run.manifest import read_manifest, written_from
from pysgrld.run.records import Records
from pysgrld.run.rewind import rewind
from pysgrld.run.samples import Samples
from pysgrld.run.tensors import Array, DamagedError
from pysgrld.run.whole import replace_file
from pysgrld.types import Invariant

logger = logging.getLogger(__name__)


class RunDirectory(Records):
    """An existing run. Make one with `create` or `open`.

    Whatever changes the chain's record (checkpoints, `rewind`) needs the `lock`; reading never
    does.
    """

    def __init__(self, path: Path, config: dict[str, Any]) -> None:
        super().__init__(path)
        self.config = config
        self._samples = Samples(path / SAMPLES)

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

    def update_free(
        self,
        changes: Mapping[str, Any],
        *,
        defaults: Sequence[str] | None = None,
        free: Iterable[str] = (),
    ) -> None:
        """Record new values of free options; ``config.json`` is replaced at one instant.

        Parameters
        ----------
        changes : mapping
            Option to value, as under ``options``.
        defaults : sequence of str, optional
            The options that are at their default now.
        free : iterable of str, optional
            Options that are free, beside those that the run lists: it may be older than they are.

        Raises
        ------
        ValueError
            If one of them is not free.
        WriteError
            If the file cannot be written; the old one is then intact.
        """
        config = dict(self.config)
        spelling = {long_name(name): name for name in config.get("options", {})}
        renamed = {spelling.get(long_name(name), name): value for name, value in changes.items()}
        config["options"] = {**config.get("options", {}), **jsonio.plain(renamed)}
        if defaults is not None:
            config["defaults"] = list(defaults)
        if more := set(free) - set(config.get("free", ())):
            config["free"] = sorted({*config.get("free", ()), *more})
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
        self._samples.purge()
        with contextlib.suppress(OSError):
            remove_stale(folder.parent, "stale")
        return folder

    def _tables(self) -> dict[str, Any]:
        """Describe the files that a checkpoint goes back to; the log is history, not among them."""
        metrics = self._flush_metrics()
        return {"append": {METRICS: metrics._asdict()}, "samples": self._samples.table()}

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
        return newest(
            self.path,
            self.identity,
            required=required,
            discard=self._discard,
            invariants=invariants,
        )

    def _discard(self, folder: Path, problem: str) -> None:
        logger.warning("damaged checkpoint passed over: %s", problem)
        if self._lock is None:
            return
        aside = folder.with_name(CORRUPT + folder.name)
        number = 1
        while aside.exists() or aside.is_symlink():
            number += 1
            aside = folder.with_name(f"{CORRUPT}{folder.name}-{number}")
        with self._writing(folder):
            rename(folder, aside, "discard")
        self._note("damaged checkpoint", checkpoint=folder.name, problem=problem, now=aside.name)

    def rewind(self, checkpoint: Checkpoint | None) -> None:
        """Put metrics and samples back to where they were at a checkpoint.

        Nothing is changed before everything was verified; if it is stopped on the way, doing it
        again goes on from there.

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
        for name in rewind(self.path, self._samples, checkpoint):
            logger.warning("%s: is gone; going on without it", self.path / SAMPLES / name)
            self._note("missing sample", sample=name)

    # ---- samples

    def write_sample(
        self,
        step: int,
        parts: Mapping[str, Array],
        invariants: Mapping[str, Invariant] = NONE,
        *,
        slim: bool = False,
    ) -> None:
        """Keep the posterior sample of an iteration, full or slim.

        Parameters
        ----------
        step : int
        parts : mapping
            Matrices by name; kept in single precision.
        invariants : mapping
            What holds of them, by shell pattern of their names.
        slim : bool
            Whether they are the most probable words only: beside the full ones, not in their place.

        Raises
        ------
        WriteError
            If it could not be written; nothing of it is then left.
        ValueError
            If they are no matrices, or another sample of that step is there.
        NumericalError
            If one breaks an invariant; nothing was written.
        """
        with self._writing(self._samples.path(step, slim=slim)):
            self._samples.write(step, parts, invariants, slim=slim)

    def sample_steps(self, *, slim: bool = False) -> list[int]:
        """Return the iterations of all kept samples, ascending: of full ones, or of slim ones."""
        return self._samples.steps(slim=slim)

    def read_sample(
        self, step: int, invariants: Mapping[str, Invariant] = NONE, *, slim: bool = False
    ) -> dict[str, Array]:
        """Map a sample into memory: matrices of float32, and ids of words, by name, read-only.

        Parameters
        ----------
        step : int
        invariants : mapping
            Arrays that it names without a wildcard must be there; values are not looked at.
        slim : bool
            Whether the top-word sample is wanted.

        Raises
        ------
        MissingInputError
            If there is none of this step.
        CheckpointError
            If its file is damaged.
        """
        return self._samples.read(step, invariants, slim=slim)

    def check_sample(self, step: int, *, slim: bool = False) -> None:
        """Compare a sample with the digest that the newest checkpoint has of it, if it lists it.

        Raises
        ------
        CheckpointError
            If it is not what was written.
        """
        self._samples.check_one(step, self._listed_samples, slim=slim)

    @cached_property
    def _listed_samples(self) -> dict[str, Written]:
        """The samples that the newest checkpoint lists; none where there is no checkpoint."""
        for _, folder in checkpoint_folders(self.path):
            with contextlib.suppress(DamagedError, CheckpointError):
                listed = read_manifest(folder)["samples"]
                return {name: written_from(folder, entry) for name, entry in listed.items()}
        return {}

    def sample_path(self, step: int, *, slim: bool = False) -> Path:
        """Return the file of the sample of an iteration."""
        return self._samples.path(step, slim=slim)

    def remove_sample(self, step: int, *, slim: bool = False) -> None:
        """Drop a sample; its space is free after the next checkpoint.

        Raises
        ------
        WriteError
            If its file cannot be renamed.
        """
        with self._writing(self._samples.path(step, slim=slim)):
            self._samples.drop(step, slim=slim)
