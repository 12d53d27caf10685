"""Posterior samples of a run in immutable files, as full samples and top-word samples.

Top-word samples have only the largest values of each row (`pysgrld.models.samples`), and their file
names have a prefix. Otherwise they are treated like full samples.

A sample that is dropped by thinning is only hidden until the next checkpoint is written, because
the newest checkpoint still lists it, so that a rewind to that checkpoint needs it.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.errors import CheckpointError, MissingInputError, NumericalError
from pysgrld.options.paths import path_exists
from pysgrld.run.checkpoint_read import damage, newest_digests
from pysgrld.run.files import (
    Written,
    digest_of,
    fail_point,
    fsync_folder,
    make_folder,
    parse_step,
    rename,
    step_name,
    temporary_name,
    write_new,
)
from pysgrld.run.tensors import NONE, DamagedError, check_values, encode, required, view, violation
from pysgrld.types import Array, Invariant

logger = logging.getLogger(__name__)

SUFFIX = ".safetensors"
DROPPED = ".dropped-"
TOP_WORDS = "top-words-"


class Samples:
    """The folder ``samples/`` of a run, which contains the run's posterior samples.

    Parameters
    ----------
    run : Path
        The run's folder.
    writing : callable (Path) -> context manager
        Guards a change of a file, and turns an `OSError` into a `WriteError`.
    """

    def __init__(self, run: Path, writing: Callable[[Path], AbstractContextManager[None]]) -> None:
        self.folder = run / "samples"
        self._run, self._writing = run, writing
        # Digests of files that this process has written or verified. These files never change.
        self._known: dict[str, Written] = {}
        self._listed: dict[str, Written] | None = None
        self._checked: set[str] = set()  # Names of the files whose values were all checked.

    def path(self, step: int, *, top_words: bool = False) -> Path:
        """Return the path of an iteration's sample."""
        return self.folder / f"{TOP_WORDS if top_words else ''}{step_name(step)}{SUFFIX}"

    def steps(self, *, top_words: bool = False) -> list[int]:
        """Return the ascending iterations of all stored full samples, or of top-word samples."""
        return sorted(
            step for name, step in self._files().items() if name.startswith(TOP_WORDS) == top_words
        )

    def _files(self) -> dict[str, int]:
        """Return the iteration of each stored sample by file name, sorted by file name."""
        try:
            names = sorted(entry.name for entry in self.folder.iterdir())
        except OSError:
            return {}
        return {name: step for name in names if (step := _step_of(name)) is not None}

    def write(
        self,
        step: int,
        parts: Mapping[str, Array],
        invariants: Mapping[str, Invariant] = NONE,
        *,
        top_words: bool = False,
    ) -> None:
        """Store the posterior sample of an iteration.

        Parameters
        ----------
        step : int
        parts : mapping
            Matrices by name; floats are stored in single precision, unsigned integers unchanged.
        invariants : mapping
            Conditions on the matrices, by shell pattern of their names.
        top_words : bool
            True for a sample of the most probable words only, in addition to the full sample.

        Raises
        ------
        WriteError
            If the sample could not be written; no partial file is left.
        ValueError
            If a part is no matrix, or the step already has a different sample.
        NumericalError
            If a matrix breaks an invariant; nothing was written.
        """
        parts = {
            name: np.ascontiguousarray(part, part.dtype if part.dtype.kind == "u" else np.float32)
            for name, part in parts.items()
        }
        for name, part in parts.items():
            if part.ndim != 2:
                raise ValueError(f"a sample consists of matrices, but {name} has {part.ndim} axes")
            if problem := violation(name, part, invariants):
                raise NumericalError(f"step {step}: {problem}")
        path = self.path(step, top_words=top_words)
        temporary = path.with_name(temporary_name(path.name))
        with self._writing(path):
            make_folder(path.parent, "sample")  # The user may have deleted the folder.
            written = write_new(temporary, encode(parts), "sample")
            try:
                if path.exists():
                    if digest_of(path, written.size + 1) != written:
                        raise ValueError(
                            f"{path}: a different sample of this step exists; move it away"
                        )
                    temporary.unlink()
                else:
                    rename(temporary, path, "sample")
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        self._known[path.name] = written

    def read(
        self, step: int, *forms: Mapping[str, Invariant], top_words: bool = False
    ) -> dict[str, Array]:
        """Map a sample into memory, and return read-only matrices by name.

        Parameters
        ----------
        step : int
        *forms : mapping
            Forms that the sample may have. A form has conditions on matrices, by shell pattern of
            their names. A sample of the form has every matrix whose name the form gives without a
            wildcard.
        top_words : bool
            True to read the top-word sample.

        Raises
        ------
        MissingInputError
            If the step has no sample.
        CheckpointError
            If the file of the sample is damaged.
        """
        path = self.path(step, top_words=top_words)
        try:
            parts = view(path)
            fitting = [form for form in forms or (NONE,) if parts.keys() >= set(required(form))]
            if not fitting or any(
                part.ndim != 2 or (part.dtype != np.float32 and part.dtype.kind != "u")
                for part in parts.values()
            ):
                names = " or ".join(" and ".join(required(form)) for form in forms)
                among = f", including {names}" if names else ""
                raise DamagedError(
                    f"{path}: must consist of matrices of float32 or unsigned integers{among}"
                )
            if path.name not in self._checked:
                check_values(path, fitting[0])
                self._checked.add(path.name)
        except FileNotFoundError:
            raise MissingInputError(f"{path}: no sample of step {step}") from None
        except DamagedError as error:
            raise CheckpointError(f"{error}; delete the file to continue without it") from None
        except OSError as error:
            raise CheckpointError(str(damage(path, error))) from error
        return parts

    def drop(self, step: int, *, top_words: bool = False) -> None:
        """Hide a sample, so that it no longer counts as stored; a missing sample is not an error.

        Its disk space is free after the next checkpoint.

        Raises
        ------
        WriteError
            If the file of the sample cannot be renamed.
        """
        path = self.path(step, top_words=top_words)
        with self._writing(path), contextlib.suppress(FileNotFoundError):
            fail_point("sample.drop")
            path.rename(path.with_name(DROPPED + path.name))
            self._known.pop(path.name, None)

    def purge(self) -> None:
        """Delete dropped samples permanently; the newest checkpoint must no longer list them."""
        for path in self.folder.glob(f"{DROPPED}*"):
            if _step_of(path.name.removeprefix(DROPPED)) is None:
                continue  # The file's name is not that of a sample.
            try:
                fail_point("sample.unlink")
                path.unlink()
            except OSError as error:
                logger.warning("%s: cannot be deleted: %s", path, error.strerror or error)

    def table(self) -> dict[str, dict[str, Any]]:
        """Return a table for the manifest: each stored sample's size and digest, by file name.

        Raises
        ------
        OSError
            If a sample cannot be read.
        """
        table = {}
        for name in self._files():
            if name not in self._known:
                self._known[name] = digest_of(self.folder / name)
            table[name] = self._known[name]._asdict()
        return table

    def check(self, table: Mapping[str, Written]) -> list[str]:
        """Verify the samples listed in a checkpoint; return the file names of missing samples.

        Raises
        ------
        CheckpointError
            If a sample was changed after it was written.
        """
        missing = []
        for name, written in table.items():
            if _step_of(name) is None:
                raise CheckpointError(
                    f"{self.folder}: the checkpoint lists an unknown sample {name[:80]!r}; restore "
                    "the checkpoint"
                )
            path = self.folder / name
            if not path_exists(path):
                path = self.folder / (DROPPED + name)
            if not self._is_there(path, name, written):
                missing.append(name)
        return missing

    def verify(self, step: int, *, top_words: bool = False) -> None:
        """Verify a sample once against its digest in the newest checkpoint.

        Raises
        ------
        CheckpointError
            If the sample was changed after it was written.
        """
        path = self.path(step, top_words=top_words)
        written = self.listed().get(path.name)
        if written is not None and self._known.get(path.name) != written:
            self._is_there(path, path.name, written)

    def listed(self, *, again: bool = False) -> dict[str, Written]:
        """Return size and digest of each sample that the newest checkpoint lists, by file name.

        Parameters
        ----------
        again : bool
            True to read the list again, as a run that is training may have written a newer
            checkpoint.
        """
        if self._listed is None or again:
            self._listed = newest_digests(self._run, "samples")
        return self._listed

    def gone(self) -> list[str]:
        """Return the file names of missing samples that the newest checkpoint lists.

        A dropped sample still exists under a hidden name. A run that trains meanwhile may have
        deleted a dropped sample, but only after a newer checkpoint no longer listed it. So if a
        sample seems to be missing, the list is read again, and the sample is missing only if the
        new list has it, too.
        """
        names = list(self.listed(again=True))
        for again in (False, True):
            listed = self.listed(again=again) if names else {}
            names = [
                name
                for name in names
                if name in listed
                and not any(
                    path_exists(self.folder / file_name) for file_name in (name, DROPPED + name)
                )
            ]
        return names

    def _is_there(self, path: Path, name: str, written: Written) -> bool:
        """Return True if a sample exists; raise an error if it differs from its record."""
        try:
            digest = digest_of(path, written.size + 1)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise CheckpointError(str(damage(path, error))) from error
        if digest != written:
            raise CheckpointError(
                f"{path}: was changed since it was written; restore it, or delete it to continue "
                "without it"
            )
        self._known[name] = written
        return True

    def rewind(self, table: Mapping[str, Written]) -> None:
        """Restore the dropped samples that a checkpoint lists; delete all samples that it lacks.

        Raises
        ------
        OSError
            If a file cannot be renamed or deleted; a second call finishes the work.
        """
        self.folder.mkdir(exist_ok=True)  # The user may have deleted all samples.
        for name in self._files():
            if name not in table:
                fail_point("sample.unlink")
                (self.folder / name).unlink()
                self._known.pop(name, None)
        for name in table:
            hidden = self.folder / (DROPPED + name)
            if path_exists(hidden) and not path_exists(self.folder / name):
                fail_point("sample.restore")
                hidden.rename(self.folder / name)
        self.purge()
        fsync_folder(self.folder, "sample")


def _step_of(name: str) -> int | None:
    """Return the iteration in a sample's file name, or None for any other file."""
    if not name.endswith(SUFFIX):
        return None
    return parse_step(name.removeprefix(TOP_WORDS).removesuffix(SUFFIX))
