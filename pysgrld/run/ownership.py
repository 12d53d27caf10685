"""Rules on which files sgmc may replace or delete.

sgmc replaces and deletes only files with one of its marks. If any other file is in the way, sgmc
prints one line, exits with code 73 and leaves the file unchanged. There are four kinds of marks,
and sgmc deletes files for no other reason:

1. **A name with a checksum** (`marked_name`, `is_marked`) marks temporary files, scratch folders
   and folders that are being deleted. The second half of the digits is computed from the rest of
   the name, so that a name chosen by a person never looks like a mark. The next command removes
   files with such names that a killed process left.
2. **The list of files** `.sgmc-files.jsonl` (`FileList`) marks the files of an output folder, which
   may be a folder of exports, of a page, of parts or of a reproduced figure, and pages at their
   default place in a run. It has the name, size and SHA-256 of each file that sgmc wrote into the
   folder. A file belongs to sgmc if its name is in the list and its content is as listed.
   `claim_files` refuses a folder in which other programs' files have the names that will be
   written. `pysgrld.run.output_files.open_output` then adds a line for each file that it writes into
   such a folder, before the file gets its name, so that no file is without its mark if the process
   is killed. ``--force`` replaces files of this list only.
3. **A file that the user named** (``-o FILE``) is replaced if the user gives ``--force``
   (`pysgrld.run.layout.check_outputs`). It must be a regular file that is not an input of the same
   command and not part of a run, a search or a stored corpus.
4. **The record of a run, a search or a stored corpus** (``config.json``, ``search.json``,
   ``meta.json``, manifests of checkpoints) marks the files that it lists, under the names in
   docs/run-directory.md. A folder without such a record must be empty or missing before sgmc writes
   a run, a search or a stored corpus into it.

A file that appears while a command computes is not replaced either (`expect_free`, `refuse_new`).

A symbolic link never counts as marked. If a file named by the user is a link, its target is
replaced, as in a shell.

This module depends on names and contents of files only, not on runs. `pysgrld.run.files` uses it.
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

#: Name of the list of files that sgmc wrote into a folder. The first JSON line of the list is
#: `_HEAD`.
LIST = ".sgmc-files.jsonl"
_HEAD = {"format": "sgmc-files", "version": 1}
#: Maximum size in bytes of a list of files.
_LONGEST = 1 << 30
#: Number of bytes hashed at a time.
_PIECE = 1 << 20

_MARKED = re.compile(r"(.+)-([0-9a-f]{8})([0-9a-f]{8})", re.DOTALL)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


# ---- names by which sgmc recognises its temporary files and folders


def _checksum(stem: str, digits: str) -> str:
    return hashlib.sha256(f"sgmc {stem} {digits}".encode(errors="surrogateescape")).hexdigest()[:8]


def marked_name(stem: str) -> str:
    """Return a unique name, ``STEM-`` and 16 hexadecimal digits that include a checksum."""
    digits = os.urandom(4).hex()
    return f"{stem}-{digits}{_checksum(stem, digits)}"


def is_marked(name: str, *stems: str) -> bool:
    """Return True if `marked_name` made the name, and the name begins with a prefix in `stems`.

    Parameters
    ----------
    name : str
        Last part of a path.
    *stems : str
        Accepted prefixes of the stem; without any, every stem is accepted.

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
    """Size in bytes and SHA-256 (hex) of a file written by sgmc."""

    size: int
    sha256: str


def file_mark(path: Path, size: int | None = None) -> Mark | None:
    """Return size and SHA-256 of a file; None unless the file is regular and has ``size`` bytes.

    Parameters
    ----------
    path : Path
    size : int, optional
        Expected size in bytes, or None to accept any size.

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
    """The list of files that sgmc wrote into a folder and its subfolders.

    Parameters
    ----------
    folder : Path
        The folder, which need not exist.

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
        problem = f"{self.path}: is not a list of output files written by sgmc; move it away"
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
                    # Ignore a line that a kill or a full disk has cut off.
                    with contextlib.suppress(ValueError, KeyError, TypeError):
                        entry = json.loads(line)
                        mark = Mark(int(entry["size"]), str(entry["sha256"]))
                        self._marks.setdefault(str(entry["name"]), set()).add(mark)
                return
        if lines:
            raise OutputError(problem)

    def add(self, name: str, path: Path) -> None:
        """Add a file to the list before the file gets its name in the folder.

        Parameters
        ----------
        name : str
            Final path of the file, relative to the folder.
        path : Path
            Present path of the file.

        Raises
        ------
        OSError
            If the file cannot be read, or the list cannot be written.
        """
        mark = file_mark(path)
        if mark is not None and mark not in self._marks.get(name, ()):
            self.append([{"name": name, **mark._asdict()}])
            self._marks.setdefault(name, set()).add(mark)

    def append(self, entries: Iterable[Mapping[str, object]]) -> None:
        """Append a line with name, size and SHA-256 for each file; the folder must exist.

        All lines are written at once under a lock, so that several processes may append to one
        list.

        Raises
        ------
        OSError
            If the list cannot be written.
        """
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self.path, flags, 0o666)
        try:
            with contextlib.suppress(OSError):  # Some file systems have no locks.
                fcntl.flock(fd, fcntl.LOCK_EX)
            text = json.dumps(_HEAD) if os.fstat(fd).st_size == 0 else ""
            # Begin with a line end, because a kill may have cut off the last line.
            data = memoryview((text + "".join(f"\n{json.dumps(e)}" for e in entries)).encode())
            while data:
                data = data[os.write(fd, data) :]
            os.fsync(fd)
        finally:
            os.close(fd)

    def owns(self, name: str) -> bool:
        """Return True if a file is readable and has the content that sgmc wrote."""
        marks = self._marks.get(name, set())
        with contextlib.suppress(OSError):
            return any(
                file_mark(self.folder / name, size) in marks for size in {m.size for m in marks}
            )
        return False

    def foreign(self) -> Iterator[str]:
        """Yield the relative paths of all files below the folder, except files that sgmc wrote.

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
        """Names of direct subfolders that contain listed files."""
        return frozenset(name.split("/")[0] for name in self._marks if "/" in name)

    def remove(self, names: Iterable[str]) -> None:
        """Delete the named files, except files that were changed after sgmc wrote them.

        Raises
        ------
        OSError
            If a file cannot be deleted.
        """
        for name in names:
            if self.owns(name):
                (self.folder / name).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Delete all unchanged listed files, subfolders that become empty, and the list.

        If the folder has other files, the folder, these files and the list are kept.

        Raises
        ------
        OSError
            If something cannot be deleted.
        """
        self.remove(self._marks)
        inside = {str(Path(name).parent) for name in self._marks} - {"."}
        for name in sorted(inside, key=len, reverse=True):
            with contextlib.suppress(OSError):  # The folder may be missing, or not empty.
                (self.folder / name).rmdir()
        if not any(True for _ in self.foreign()):
            self.path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self.folder.rmdir()


#: Folders that this process has claimed. A file that is written into such a folder is added to the
#: folder's list of files.
_claimed: set[Path] = set()
#: Files that this process will write and that did not exist when `expect_free` was called.
_free: set[Path] = set()


def expect_free(path: Path) -> None:
    """Record whether an output file exists, so that `refuse_new` notices if it appears later."""
    place = path.parent.resolve() / path.name
    if os.path.lexists(place):
        _free.discard(place)
    else:
        _free.add(place)


def refuse_new(path: Path) -> None:
    """Raise an error if an output file has appeared since `expect_free` was called.

    Call this function once per file.

    Raises
    ------
    OutputError
        If the file has appeared since.
    """
    place = path.parent.resolve() / path.name
    if place in _free and os.path.lexists(place):
        raise OutputError(
            f"{path}: was written by another program since this command began; move it away, or "
            "choose another file"
        )
    _free.discard(place)


def read_file_list(folder: Path) -> FileList | None:
    """Return the list of files that sgmc wrote into a folder, or None if the folder has no list.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    OSError
        If the folder cannot be looked up.
    """
    # If the file has the name of a list of files but was not written by sgmc, the folder has no
    # list.
    with contextlib.suppress(OutputError):
        files = FileList(folder)
        if files.exists or folder.resolve() in _claimed:
            return files
    return None


def claim_files(folder: Path, names: Iterable[str], *, force: bool) -> FileList:
    """Check that the named files may be written into a folder, and return the folder's list.

    Parameters
    ----------
    folder : Path
        The folder, which need not exist.
    names : iterable of str
        Names of the files to be written, which sgmc and not the user has chosen.
    force : bool
        True to replace files that sgmc wrote.

    Returns
    -------
    FileList
        The list, to which each file is added when it is written.

    Raises
    ------
    OutputError
        If sgmc did not write an existing file of one of these names, or it was changed since; if
        sgmc did write it but `force` is not set; if the folder is a file or cannot be looked up.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; give a folder")
    try:
        files = FileList(folder)
        for name in names:
            if os.path.lexists(folder / name):
                check_owned(files, name)
                if not force:
                    raise OutputError(f"{folder / name}: is there already; --force replaces it")
            expect_free(folder / name)
        _claimed.add(folder.resolve())
    except (OSError, RuntimeError) as error:  # A RuntimeError means that the links are circular.
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{folder}: cannot be written: {reason}; choose another folder") from None
    return files


def check_owned(files: FileList, name: str) -> None:
    """Raise an error if a file was changed since sgmc wrote it.

    Raises
    ------
    OutputError
        If the file was changed, or sgmc did not write it.
    """
    if not files.owns(name):
        raise foreign(files.folder / name)


def foreign(path: Path) -> OutputError:
    """Return the error for a file that sgmc did not write, or that was changed afterwards.

    Parameters
    ----------
    path : Path

    Returns
    -------
    OutputError
        The error, to be raised by the caller.
    """
    return OutputError(
        f"{path}: was not written by sgmc, or was changed since, so sgmc does not replace it; "
        "move it away, or choose another folder"
    )
