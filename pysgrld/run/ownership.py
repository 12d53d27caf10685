"""Ownership of paths: the files that sgmc may replace or delete.

sgmc replaces and deletes only what carries its own mark. Everything else ends with exit code 73 and one
line, and is left as it was. There are four kinds of marks, and no other reason to delete anything:

1. **A name with a checksum** (`marked_name`, `is_marked`) marks work in hand: temporary files, scratch
   folders, folders that are being deleted. The second half of the digits is computed from the rest of the
   name, so that a name which a person chose is never taken for one. The next command removes what a
   killed process left under such a name.
2. **The list of files** `.sgmc-files.jsonl` (`FileList`) marks the files of a folder of outputs: a folder
   of exports, of a page, of parts, of a reproduced figure, and pages at their default place in a run. It
   has name, size and SHA-256 of each file that sgmc wrote there; a file is sgmc's if its name is in the
   list and its content is as listed. `claim_files` refuses a folder in which foreign files have the names
   that will be written. `pysgrld.run.output_files.whole_file` then adds a line for each file that it
   writes into such a folder, before the file gets its name, so that no kill can leave a file without
   its mark.
   ``--force`` replaces files of this list, and no others.
3. **A file that the user named** (``-o FILE``) is replaced with ``--force`` at the user's request:
   `pysgrld.run.layout.check_outputs`. It must be a regular file that the same command does not read and
   that no run, search or stored corpus consists of.
4. **The record of a run, a search or a stored corpus** (``config.json``, ``search.json``, ``meta.json``,
   manifests of checkpoints) marks the files that it lists, under the names of docs/run-directory.md. A
   folder without such a record is never taken for one: it must be empty or missing.

A file that appears while a command computes is not replaced either (`expect_free`, `refuse_new`).

A symbolic link is no mark: links inside such folders are foreign. Of a named file that is a link its
target is replaced, as a shell does it.

This module knows names and contents of files, and nothing of runs. `pysgrld.run.files` is built on it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pysgrld.errors import OutputError

#: The list of files that sgmc wrote into a folder: lines of JSON, the first one `_HEAD`.
LIST = ".sgmc-files.jsonl"
_HEAD = {"format": "sgmc-files", "version": 1}
#: Bytes of a list, at most.
_LONGEST = 1 << 30
#: Bytes that are hashed at a time.
_PIECE = 1 << 20

_MARKED = re.compile(r"(.+)-([0-9a-f]{8})([0-9a-f]{8})", re.DOTALL)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


# ---- names of work in hand


def _checksum(stem: str, digits: str) -> str:
    return hashlib.sha256(f"sgmc {stem} {digits}".encode(errors="surrogateescape")).hexdigest()[:8]


def marked_name(stem: str) -> str:
    """Return a name that begins with a stem and that no other process has: ``STEM-`` and 16 digits."""
    digits = os.urandom(4).hex()
    return f"{stem}-{digits}{_checksum(stem, digits)}"


def is_marked(name: str, *stems: str) -> bool:
    """Return True if `marked_name` made a name, of a stem that begins with one of `stems`.

    Parameters
    ----------
    name : str
        Last part of a path.
    *stems : str
        Beginnings of stems; any stem if none are given.

    Returns
    -------
    bool
        False for all other names.
    """
    match = _MARKED.fullmatch(name)
    if match is None or _checksum(match[1], match[2]) != match[3]:
        return False
    return not stems or match[1].startswith(stems)


# ---- lists of files


class Mark(NamedTuple):
    """Size in bytes and SHA-256 (hex) of a file that sgmc wrote."""

    size: int
    sha256: str


def mark_of(path: Path, size: int | None = None) -> Mark | None:
    """Return the mark of a file, or None if it is no regular file, or has another size than `size`.

    Parameters
    ----------
    path : Path
    size : int, optional
        Expected size in bytes; None accepts any.

    Returns
    -------
    Mark or None
        Size and SHA-256.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        return None
    fd = os.open(path, _READ)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or size not in (None, status.st_size):
            return None
        digest = hashlib.sha256()
        while piece := os.read(fd, _PIECE):
            digest.update(piece)
        return Mark(status.st_size, digest.hexdigest())
    finally:
        os.close(fd)


class FileList:
    """The list of files that sgmc wrote into a folder and the folders inside it.

    Parameters
    ----------
    folder : Path
        A folder, or a path without one yet.

    Raises
    ------
    OutputError
        If a file that sgmc did not write has the list's name.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / LIST
        self._marks: dict[str, set[Mark]] = {}
        self.exists = os.path.lexists(self.path)
        if self.exists:
            self._read()

    def _read(self) -> None:
        problem = f"{self.path}: is no list of files that sgmc wrote; move it away"
        try:
            fd = os.open(self.path, _READ)
            with os.fdopen(fd, "rb") as file:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode) or status.st_size > _LONGEST:
                    raise OutputError(problem)
                lines = file.read().splitlines()
        except OSError as error:
            raise OutputError(f"{problem} ({error.strerror or error})") from None
        with contextlib.suppress(ValueError):
            if lines and json.loads(lines[0]) == _HEAD:
                for line in lines[1:]:
                    # a line that a kill or a full disk has cut marks nothing
                    with contextlib.suppress(ValueError, KeyError, TypeError):
                        entry = json.loads(line)
                        mark = Mark(int(entry["size"]), str(entry["sha256"]))
                        self._marks.setdefault(str(entry["name"]), set()).add(mark)
                return
        if lines:
            raise OutputError(problem)

    def add(self, name: str, path: Path) -> None:
        """Record a file, before it gets its name in the folder.

        Parameters
        ----------
        name : str
            Its later path in the folder.
        path : Path
            Its present path.

        Raises
        ------
        OSError
            If it cannot be read, or the list cannot be written.
        """
        mark = mark_of(path)
        if mark is not None and mark not in self._marks.get(name, ()):
            self.append([{"name": name, **mark._asdict()}])
            self._marks.setdefault(name, set()).add(mark)

    def append(self, entries: Iterable[Mapping[str, object]]) -> None:
        """Append lines, each with the name, size and SHA-256 of a file; the folder must exist.

        One write appends all, so that several processes may append to one list.

        Raises
        ------
        OSError
            If the list cannot be written.
        """
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self.path, flags, 0o666)
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(fd, fcntl.LOCK_EX)
            text = json.dumps(_HEAD) if os.fstat(fd).st_size == 0 else ""
            # the line end comes first: it ends a line that a kill has cut
            data = memoryview((text + "".join(f"\n{json.dumps(e)}" for e in entries)).encode())
            while data:
                data = data[os.write(fd, data) :]
            os.fsync(fd)
        finally:
            os.close(fd)

    def owns(self, name: str) -> bool:
        """Return True if a file is there as sgmc wrote it, and can be read."""
        marks = self._marks.get(name, set())
        with contextlib.suppress(OSError):
            return any(
                mark_of(self.folder / name, size) in marks for size in {m.size for m in marks}
            )
        return False

    def foreign(self) -> Iterator[str]:
        """Yield the paths in the folder, at any depth, that sgmc did not write; folders are not listed.

        Raises
        ------
        OSError
            If something cannot be read.
        """
        yield from self._foreign("")

    def _foreign(self, inside: str) -> Iterator[str]:
        for entry in sorted(os.scandir(self.folder / inside), key=lambda entry: entry.name):
            name = f"{inside}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if not is_marked(entry.name):
                    yield from self._foreign(f"{name}/")
            elif name != LIST and not is_marked(entry.name) and not self.owns(name):
                yield name

    @cached_property
    def folders(self) -> frozenset[str]:
        """Names of the folders directly inside that listed files lie in."""
        return frozenset(name.split("/")[0] for name in self._marks if "/" in name)

    def remove(self, names: Iterable[str]) -> None:
        """Delete files if they are as sgmc wrote them, and leave the others.

        Raises
        ------
        OSError
            If one cannot be deleted.
        """
        for name in names:
            if self.owns(name):
                (self.folder / name).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Delete every file that is as sgmc wrote it, folders that are empty then, and the list.

        The folder stays with the files that sgmc did not write, if there are some.

        Raises
        ------
        OSError
            If something cannot be deleted.
        """
        self.remove(self._marks)
        inside = {str(Path(name).parent) for name in self._marks} - {"."}
        for name in sorted(inside, key=len, reverse=True):
            with contextlib.suppress(OSError):  # missing, or not empty
                (self.folder / name).rmdir()
        if not any(True for _ in self.foreign()):
            self.path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self.folder.rmdir()


#: Folders that this process has claimed: its files there are listed.
_claimed: set[Path] = set()
#: Files that this process will write, which did not exist when it checked.
_free: set[Path] = set()


def expect_free(path: Path) -> None:
    """Record whether a file to be written exists: one that appears meanwhile is not replaced."""
    place = path.parent.resolve() / path.name
    if os.path.lexists(place):
        _free.discard(place)
    else:
        _free.add(place)


def refuse_new(path: Path) -> None:
    """Raise an error if other programs wrote a file since `expect_free`; call it once a file.

    Raises
    ------
    OutputError
        If there is one.
    """
    place = path.parent.resolve() / path.name
    if place in _free and os.path.lexists(place):
        raise OutputError(
            f"{path}: was written by others since this command began; move it away or name another "
            "file"
        )
    _free.discard(place)


def list_of(folder: Path) -> FileList | None:
    """Return the list that covers a file in a folder, or None if sgmc keeps no list of that folder.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    OSError
        If the folder cannot be looked up.
    """
    with contextlib.suppress(OutputError):  # ignore a list that sgmc did not write
        files = FileList(folder)
        if files.exists or folder.resolve() in _claimed:
            return files
    return None


def claim_files(folder: Path, names: Iterable[str], *, force: bool) -> FileList:
    """Return the list of files in a folder; raise an error if a foreign file has one of these names.

    Parameters
    ----------
    folder : Path
        It need not exist.
    names : iterable of str
        Names that sgmc chooses: the user named the folder, not the files.
    force : bool
        True to replace files that sgmc wrote.

    Returns
    -------
    FileList
        The list, to which each file is added when it is written.

    Raises
    ------
    OutputError
        If a file is there that sgmc did not write or that was changed since; if one is there that it did
        write and `force` is not set; if the folder is a file or cannot be looked up.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; name a folder")
    try:
        files = FileList(folder)
        for name in names:
            if os.path.lexists(folder / name):
                check_owned(files, name)
                if not force:
                    raise OutputError(f"{folder / name}: is there already; --force replaces it")
            expect_free(folder / name)
        _claimed.add(folder.resolve())
    except (OSError, RuntimeError) as error:  # circular links
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{folder}: cannot be written: {reason}") from None
    return files


def check_owned(files: FileList, name: str) -> None:
    """Raise an error unless a file is as sgmc wrote it.

    Raises
    ------
    OutputError
        If it is not.
    """
    if not files.owns(name):
        raise foreign(files.folder / name)


def foreign(path: Path) -> OutputError:
    """Return the error of a file that sgmc did not write, or that was changed since.

    Parameters
    ----------
    path : Path

    Returns
    -------
    OutputError
        The error, to be raised by the caller.
    """
    return OutputError(
        f"{path}: was not written by sgmc, or was changed since, and is never replaced; move it away "
        "or name another folder"
    )
