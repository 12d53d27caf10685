"""Storage of short chains before a run's first checkpoint, each chain as a numbered part.

Each part has a file of its own. A part may be stored several times while it is computed; the newest
step counts. The name of a file contains the digest of its bytes, so that each file is verified
independently. A damaged file is ignored, and its part is computed again.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from pysgrld.run import jsonio
from pysgrld.run.files import (
    Written,
    fsync_folder,
    read_small,
    remove_stale,
    rename,
    replace_file,
    temporary_name,
    write_new,
)
from pysgrld.run.tensors import DamagedError, StoredArrays, encode, load
from pysgrld.types import Array

logger = logging.getLogger(__name__)

_NAME = re.compile(r"part-(\d{4})-step-(\d{8})-([0-9a-f]{64})\.safetensors")
_CHOICE = "chosen.json"
_POINT = "part"


class Part(NamedTuple):
    """Stored state of a short chain: the number of steps done, and arrays."""

    step: int
    arrays: Mapping[str, Array]


class StoredParts:
    """Folder of a run's short chains, each stored as a numbered part until the first checkpoint.

    Parameters
    ----------
    folder : Path
        The folder, which is created when the first part is stored.
    writing : callable (Path) -> context manager
        Guards a change of a file, and turns an `OSError` into a `WriteError`.
    """

    def __init__(
        self, folder: Path, writing: Callable[[Path], AbstractContextManager[None]]
    ) -> None:
        self.folder, self._writing = folder, writing

    def _files(self) -> dict[tuple[int, int], Path]:
        """Return the files of all stored parts, sorted by the keys (part number, step)."""
        with contextlib.suppress(OSError):
            names = sorted(entry.name for entry in self.folder.iterdir())
            matches = [match for name in names if (match := _NAME.fullmatch(name))]
            return {(int(m[1]), int(m[2])): self.folder / m[0] for m in matches}
        return {}

    def progress(self) -> int:
        """Return the total number of steps of all stored parts, without verifying the files."""
        # Keys are sorted by part and step, so the dictionary keeps the newest step of each part.
        newest = dict(self._files().keys())
        return sum(newest.values())

    def read(self) -> dict[int, Part]:
        """Return the newest undamaged state of each stored part; warn about damaged files."""
        parts: dict[int, Part] = {}
        for (number, step), path in reversed(self._files().items()):
            if number in parts:
                continue
            digest = path.name.removesuffix(path.suffix)[-64:]
            try:
                arrays: StoredArrays = load(path, Written(path.stat().st_size, digest))
            except (OSError, DamagedError) as error:
                logger.warning("%s; the short chain of this file is trained again", error)
            else:
                parts[number] = Part(step, arrays)
        return parts

    def write(self, number: int, step: int, arrays: Mapping[str, Array]) -> None:
        """Store the state of a part, and remove the part's files of earlier steps.

        Raises
        ------
        WriteError
            If the part cannot be written; the files of earlier steps are intact.
        """
        earlier = [path for (part, _), path in self._files().items() if part == number]
        with self._writing(self.folder):
            if not self.folder.is_dir():
                self.folder.mkdir()
                fsync_folder(self.folder.parent, _POINT)
            remove_stale(self.folder, "stale")
            temporary = self.folder / temporary_name(_POINT)
            written = write_new(temporary, encode(arrays, compress=True), _POINT)
            name = f"part-{number:04d}-step-{step:08d}-{written.sha256}.safetensors"
            rename(temporary, self.folder / name, _POINT)
            for path in earlier:
                if path.name != name:
                    path.unlink(missing_ok=True)

    def choose(self, numbers: Sequence[int]) -> None:
        """Record which stored parts, by number, this run uses from now on.

        Raises
        ------
        WriteError
            If the record cannot be written.
        """
        with self._writing(self.folder):
            if not self.folder.is_dir():
                self.folder.mkdir()
                fsync_folder(self.folder.parent, _POINT)
            data = jsonio.format_sealed({"parts": list(numbers)})
            replace_file(self.folder / _CHOICE, [data], _POINT)

    def chosen(self) -> list[int] | None:
        """Return the numbers of the parts that the run has chosen, or None before the choice."""
        try:
            value = jsonio.parse_sealed(read_small(self.folder / _CHOICE), self.folder / _CHOICE)
        except (OSError, ValueError):
            return None
        numbers = value.get("parts") if isinstance(value, dict) else None
        valid = isinstance(numbers, list) and all(
            isinstance(number, int) and 0 <= number < 10_000 for number in numbers
        )
        return numbers if valid else None

    def remove(self) -> None:
        """Remove all stored parts, because a checkpoint replaces them; other files stay."""
        with contextlib.suppress(OSError):
            if self.folder.is_symlink() or not self.folder.is_dir():
                return
            remove_stale(self.folder, "stale")
            for path in [*self._files().values(), self.folder / _CHOICE]:
                path.unlink(missing_ok=True)
            self.folder.rmdir()
