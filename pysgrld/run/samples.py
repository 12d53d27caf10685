"""Kept posterior samples: one immutable file each, full or slim.

Top-word samples have the greatest values of each row only (`pysgrld.models.samples`), and a prefix to
their names; all else is the same.

A sample that is dropped (thinned) is only hidden until the next checkpoint is written: the newest
checkpoint still lists it, and going back to that checkpoint must find it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.errors import CheckpointError, MissingInputError, NumericalError
from pysgrld.run.files import (
    Written,
    digest_of,
    fail_point,
    fsync_folder,
    parse_step,
    rename,
    step_name,
    temporary_name,
    write_new,
)
from pysgrld.run.invariants import NONE, required, violation
from pysgrld.run.manifest import damage
from pysgrld.run.tensors import Array, DamagedError, encode, view
from pysgrld.types import Invariant

logger = logging.getLogger(__name__)

SUFFIX = ".safetensors"
DROPPED = ".dropped-"
SLIM = "slim-"

#: Types of arrays of samples that are not of single precision.
_TYPES = {"words": np.dtype("<u4")}


class _File(NamedTuple):
    """A sample by the name of its file."""

    step: int
    slim: bool


def _file_of(name: str) -> _File | None:
    """Read the name of a file; None where it is no sample's."""
    step = parse_step(name.removeprefix(SLIM).removesuffix(SUFFIX))
    if step is None or not name.endswith(SUFFIX):
        return None
    return _File(step, name.startswith(SLIM))


class Samples:
    """The folder ``samples/`` of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Digests of files that this process wrote or verified: they never change.
        self._known: dict[str, Written] = {}

    def path(self, step: int, *, slim: bool = False) -> Path:
        """Return the file of the sample of an iteration."""
        return self.folder / f"{SLIM if slim else ''}{step_name(step)}{SUFFIX}"

    def steps(self, *, slim: bool = False) -> list[int]:
        """Return the iterations of all kept samples, ascending: of full ones, or of slim ones."""
        return sorted(file.step for file in self._files().values() if file.slim == slim)

    def _files(self) -> dict[str, _File]:
        """Return all kept samples by the names of their files, in their order."""
        try:
            names = sorted(entry.name for entry in self.folder.iterdir())
        except OSError:
            return {}
        return {name: file for name in names if (file := _file_of(name)) is not None}

    def write(
        self,
        step: int,
        parts: Mapping[str, Array],
        invariants: Mapping[str, Invariant] = NONE,
        *,
        slim: bool = False,
    ) -> None:
        """Keep a sample, matrices by name, in single precision; ids of words as they are.

        Raises
        ------
        OSError
            If it could not be written; nothing of it is then left.
        ValueError
            If one is no matrix, or that step has another sample.
        NumericalError
            If one breaks an invariant.
        """
        parts = {
            name: np.ascontiguousarray(part, dtype=_TYPES.get(name, np.float32))
            for name, part in parts.items()
        }
        for name, part in parts.items():
            if part.ndim != 2:
                raise ValueError(f"a sample has matrices, {name} has {part.ndim} axes")
            if problem := violation(name, part, invariants):
                raise NumericalError(f"step {step}: {problem}")
        path = self.path(step, slim=slim)
        temporary = path.with_name(temporary_name(path.name))
        written = write_new(temporary, encode(parts), "sample")
        try:
            if path.exists():
                if digest_of(path, written.size + 1) != written:
                    raise ValueError(f"{path}: another sample of this step is there")
                temporary.unlink()
            else:
                rename(temporary, path, "sample")
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self._known[path.name] = written

    def read(
        self, step: int, invariants: Mapping[str, Invariant] = NONE, *, slim: bool = False
    ) -> dict[str, Array]:
        """Map a sample into memory: matrices of float32, and ids of words, by name, read-only.

        Their values are not looked at; those that `invariants` names must be there.

        Raises
        ------
        MissingInputError
            If there is none of this step.
        CheckpointError
            If its file is damaged.
        """
        path = self.path(step, slim=slim)
        try:
            parts = view(path)
            names = required(invariants)
            if not parts.keys() >= set(names) or any(
                part.ndim != 2 or part.dtype != _TYPES.get(name, np.float32)
                for name, part in parts.items()
            ):
                among = f", {' and '.join(names)} among them" if names else ""
                raise DamagedError(f"{path}: not float32 matrices{among}")
        except FileNotFoundError:
            raise MissingInputError(f"{path}: there is no sample of step {step}") from None
        except DamagedError as error:
            raise CheckpointError(f"{error}; delete the file to go on without it") from None
        except OSError as error:
            raise CheckpointError(str(damage(path, error))) from error
        return parts

    def drop(self, step: int, *, slim: bool = False) -> None:
        """Take a sample out of the kept ones; one that is not there is no error.

        Raises
        ------
        OSError
            If the file cannot be renamed.
        """
        path = self.path(step, slim=slim)
        fail_point("sample.drop")
        try:
            path.rename(path.with_name(DROPPED + path.name))
        except FileNotFoundError:
            return
        self._known.pop(path.name, None)

    def purge(self) -> None:
        """Delete dropped samples: the newest checkpoint lists them no more."""
        for path in self.folder.glob(f"{DROPPED}*"):
            if _file_of(path.name.removeprefix(DROPPED)) is None:
                continue  # not of a sample
            try:
                fail_point("sample.unlink")
                path.unlink()
            except OSError as error:
                logger.warning("%s: cannot be deleted: %s", path, error.strerror or error)

    def table(self) -> dict[str, dict[str, Any]]:
        """Return size and digest of every kept sample, for the manifest.

        Raises
        ------
        OSError
            If one cannot be read.
        """
        table = {}
        for name in self._files():
            if name not in self._known:
                self._known[name] = digest_of(self.folder / name)
            table[name] = self._known[name]._asdict()
        return table

    def check(self, table: Mapping[str, Written]) -> list[str]:
        """Verify the samples that a checkpoint lists; return the names of missing ones.

        Raises
        ------
        CheckpointError
            If one is not what was written.
        """
        missing = []
        for name, written in table.items():
            if _file_of(name) is None:
                raise CheckpointError(f"{self.folder}: the checkpoint lists {name[:80]!r}")
            path = self.folder / name
            if not path.exists():
                path = self.folder / (DROPPED + name)
            if not self._is_there(path, name, written):
                missing.append(name)
        return missing

    def check_one(self, step: int, table: Mapping[str, Written], *, slim: bool = False) -> None:
        """Verify a sample, once, if a checkpoint lists it and it is still there.

        Raises
        ------
        CheckpointError
            If it is not what was written.
        """
        path = self.path(step, slim=slim)
        written = table.get(path.name)
        if written is not None and self._known.get(path.name) != written:
            self._is_there(path, path.name, written)

    def _is_there(self, path: Path, name: str, written: Written) -> bool:
        """Compare a sample with what was written; tell whether it is there."""
        try:
            found = digest_of(path, written.size + 1)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise CheckpointError(str(damage(path, error))) from error
        if found != written:
            raise CheckpointError(
                f"{path}: is not the sample that was written; restore it, or delete it to go on "
                "without it"
            )
        self._known[name] = written
        return True

    def rewind(self, table: Mapping[str, Written]) -> None:
        """Make the kept samples those of a table, as far as they are still there.

        Raises
        ------
        OSError
            If a file cannot be renamed or deleted; doing it again goes on from there.
        """
        self.folder.mkdir(exist_ok=True)  # a person may have deleted them all
        for name in self._files():
            if name not in table:
                fail_point("sample.unlink")
                (self.folder / name).unlink()
                self._known.pop(name, None)
        for name in table:
            hidden = self.folder / (DROPPED + name)
            if hidden.exists() and not (self.folder / name).exists():
                fail_point("sample.restore")
                hidden.rename(self.folder / name)
        self.purge()
        fsync_folder(self.folder, "sample")
