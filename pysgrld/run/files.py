"""Atomic and durable writing of files and folders.

Every function that writes takes the name of a fail point. The points of one call are
``NAME.open``, ``NAME.write``, ``NAME.fsync``, ``NAME.close``, ``NAME.rename`` and so on, each
passed just before the system call of that name. The functions raise `OSError`, and the caller, who
knows the purpose of the file, turns the error into a message.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import itertools
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pysgrld.errors import OutputError, WriteError
from pysgrld.options.paths import is_folder, list_folder, path_exists
from pysgrld.run.ownership import foreign, is_marked, marked_name

try:
    from pysgrld.run._failpoints import fail_point as fail_point
except ModuleNotFoundError:  # Released packages may lack this module for tests.

    def fail_point(name: str) -> bool:
        """Do nothing, because a release has no fail points."""
        return False


#: Types that can be written. From Python 3.12 on, `collections.abc.Buffer` covers them.
Buffer = bytes | bytearray | memoryview

#: Maximum number of bytes hashed, written or read at a time.
PIECE = 8 << 20

#: Prefixes of the names of temporary files, and of folders that are being deleted. A killed process
#: may leave such files. They are never read, and the next start removes them. The names are made by
#: `pysgrld.run.ownership.marked_name`.
TEMPORARY = ".tmp-"
TRASH = ".trash-"

#: Error codes of `flock` on file systems without locks.
NO_FLOCK = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
#: Error codes of ``F_FULLFSYNC`` for drives without a command to flush their cache.
_NO_FULL = (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY)
#: Error codes of `fsync` on file systems that cannot flush a file or folder.
_NO_FSYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)
_STEP = re.compile(r"step-(\d{8,18})")


class Written(NamedTuple):
    """Size in bytes and SHA-256 (hex) of a written file."""

    size: int
    sha256: str


def step_name(step: int) -> str:
    """Return the name for an iteration's files, for example ``step-00012000``."""
    return f"step-{step:08d}"


def parse_step(name: str) -> int | None:
    """Return the iteration in a name from `step_name`, or None for any other name."""
    match = _STEP.fullmatch(name)
    return int(match[1]) if match and step_name(int(match[1])) == name else None


def temporary_name(name: str) -> str:
    """Return a unique temporary name that contains `name`.

    Parameters
    ----------
    name : str
        Name of the final file or folder.

    Returns
    -------
    str
        A name that the next start removes if this process is killed.
    """
    return marked_name(f"{TEMPORARY}{name}")


def write_all(fd: int, data: Buffer, point: str) -> None:
    """Write all bytes, in as many system calls as needed."""
    view = memoryview(data)
    while view:
        part = view[:PIECE]
        if fail_point(f"{point}.write"):
            part = part[: max(1, len(part) // 2)]
        view = view[os.write(fd, part) :]


def sync(fd: int, point: str | None = None) -> None:
    """Flush a file to disk, including the drive's cache.

    Do nothing if the file system reports that it cannot flush a file or folder.

    Parameters
    ----------
    fd : int
    point : str, optional
        Name of the fail point before the system call.

    Raises
    ------
    OSError
        If the system could not write; it is then unknown which data it still has in memory.
    """
    # On macOS, fsync does not flush the drive's cache.
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(fd, full)
            return
        except OSError as error:
            if error.errno not in _NO_FULL:
                raise
    try:
        if point is not None:
            fail_point(point)
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_FSYNC:
            raise


def write_new(path: Path, pieces: Iterable[Buffer], point: str) -> Written:
    """Create, write and flush a new file; remove the file if any of these steps fails.

    A failed fsync is never retried, because the kernel may have dropped the data.

    Parameters
    ----------
    path : Path
    pieces : iterable of Buffer
        Content, in order.
    point : str
        Name of the fail points of these system calls.

    Returns
    -------
    Written
        Size and SHA-256 of the content.

    Raises
    ------
    OSError
        If the file exists already, or a system call fails.
    """
    digest, size = hashlib.sha256(), 0
    fail_point(f"{point}.open")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o666)
    try:
        try:
            for piece in pieces:
                view = memoryview(piece)
                for start in range(0, len(view), PIECE):
                    part = view[start : start + PIECE]
                    digest.update(part)
                    write_all(fd, part, point)
                size += len(view)
            sync(fd, f"{point}.fsync")
            fail_point(f"{point}.close")
        finally:
            os.close(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    return Written(size, digest.hexdigest())


def written_form(pieces: Iterable[Buffer]) -> Written:
    """Compute the size and digest of a file that consists of the given pieces."""
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        view = memoryview(piece)
        digest.update(view)
        size += view.nbytes
    return Written(size, digest.hexdigest())


def fsync_folder(path: Path, point: str) -> None:
    """Flush a folder to disk, so that the names of its files are durable.

    Parameters
    ----------
    path : Path
        The folder.
    point : str
        Prefix of the name of the fail point.
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(fd, f"{point}.fsync_folder")
    finally:
        os.close(fd)


def make_folder(path: Path, point: str) -> None:
    """Create a folder, and its missing parents, durably.

    Parameters
    ----------
    path : Path
        The folder.
    point : str
        Beginning of the names of the fail points.
    """
    if not path.is_dir():
        make_folder(path.parent, point)
        fail_point(f"{point}.mkdir")
        path.mkdir(exist_ok=True)
        fsync_folder(path.parent, point)


def rename(old: Path, new: Path, point: str) -> None:
    """Rename a file or folder, and make the new name durable.

    Parameters
    ----------
    old, new : Path
        Present and new path, on the same file system.
    point : str
        Beginning of the names of the fail points.
    """
    fail_point(f"{point}.rename")
    old.rename(new)
    fsync_folder(new.parent, point)


def move_aside(path: Path, name: str, point: str) -> Path:
    """Rename a file or folder, so that its old name is free for a new file or folder.

    Parameters
    ----------
    path : Path
    name : str
        Beginning of the new name, which ends with the first free number.
    point : str
        Name of the fail point.

    Returns
    -------
    Path
        The new path, in the same folder.

    Raises
    ------
    WriteError
        If it cannot be renamed.
    """
    names = (path.with_name(f"{name}-{i}") for i in itertools.count(1))
    free = next(other for other in names if not os.path.lexists(other))
    with convert_write_errors(path):
        rename(path, free, point)
    return free


def remove_folder(path: Path, point: str, files: Collection[str] = ()) -> None:
    """Delete a folder after renaming it, so that a partly deleted folder does not look complete.

    Parameters
    ----------
    path : Path
    point : str
        Name of the fail points.
    files : collection of str
        Names of the files that sgmc writes into such a folder; ignored if the folder's name is
        marked.

    Raises
    ------
    OutputError
        If the folder has any other file; nothing was deleted.
    OSError
        If a system call fails.
    """
    trash = path
    if not is_marked(path.name, TRASH, TEMPORARY):
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name not in files or not entry.is_file(follow_symlinks=False):
                    raise foreign(Path(entry.path))
        trash = path.with_name(marked_name(f"{TRASH}{path.name}"))
        fail_point(f"{point}.rename")
        path.rename(trash)
    with os.scandir(trash) as entries:
        inside = list(entries)
    for entry in inside:
        fail_point(f"{point}.unlink")
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)  # noqa: PTH108 - an entry of scandir, not a Path
    fail_point(f"{point}.rmdir")
    trash.rmdir()


def remove_stale(folder: Path, point: str) -> list[str]:
    """Delete temporary files that killed processes left in a folder; the caller must hold the lock.

    Such files have marked names. Returns the names of the removed files. Files that cannot be
    removed now are left for the next start.
    """
    with os.scandir(folder) as entries:
        stale = [entry for entry in entries if is_marked(entry.name, TEMPORARY, TRASH)]
    removed = []
    for entry in stale:
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                remove_folder(Path(entry.path), point)
            else:
                fail_point(f"{point}.unlink")
                Path(entry.path).unlink()
            removed.append(entry.name)
    return removed


@contextlib.contextmanager
def open_regular(
    path: Path, *, links: bool = False, append: bool = False
) -> Iterator[tuple[int, int]]:
    """Open a regular file for reading or appending; yield its descriptor and size in bytes.

    Pipes and devices are refused, as opening a pipe could block and bytes written to it could be
    lost. Symbolic links are refused unless `links` allows them.

    Parameters
    ----------
    path : Path
    links : bool, optional
        True to follow symbolic links.
    append : bool, optional
        True to open for reading and appending.

    Yields
    ------
    tuple[int, int]
        File descriptor, and size in bytes.

    Raises
    ------
    OSError
        ``EINVAL`` if it is no regular file; otherwise the error of the system call.
    """
    flags = os.O_RDWR | os.O_APPEND if append else os.O_RDONLY
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    fd = os.open(path, flags if links else flags | os.O_NOFOLLOW)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        yield fd, status.st_size
    finally:
        os.close(fd)


def read_into(fd: int, view: memoryview, place: int | None = None) -> None:
    """Fill a buffer from a file, starting at the current position or at byte `place`.

    Raises
    ------
    EOFError
        If the file ends before the buffer is full.
    """
    while view:
        part = [view[:PIECE]]
        got = os.readv(fd, part) if place is None else os.preadv(fd, part, place)
        if got == 0:
            raise EOFError("the file became shorter during reading")
        view, place = view[got:], None if place is None else place + got


def read_small(path: Path, limit: int = 16 << 20, *, links: bool = False) -> bytes:
    """Read a regular file of at most `limit` bytes, after opening it with `open_regular`.

    Parameters
    ----------
    path : Path
    limit : int, optional
        Maximum size in bytes.
    links : bool, optional
        True to follow symbolic links.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    OSError
        ``EFBIG`` if it is larger; otherwise as for `open_regular`.
    """
    with open_regular(path, links=links) as (fd, size):
        if size > limit:
            raise OSError(errno.EFBIG, f"larger than {limit} bytes", str(path))
        data = bytearray(size)
        view = memoryview(data)
        try:
            read_into(fd, view)
        except EOFError as error:
            raise OSError(errno.EIO, str(error), str(path)) from None
        return bytes(data)


def digest_of(path: Path, size: int | None = None) -> Written:
    """Hash a regular file, or at most its first `size` bytes."""
    digest, done = hashlib.sha256(), 0
    buffer = memoryview(bytearray(1 << 20))
    with open_regular(path) as (fd, _):
        while size is None or done < size:
            want = len(buffer) if size is None else min(len(buffer), size - done)
            got = os.readv(fd, [buffer[:want]])
            if got == 0:
                break
            digest.update(buffer[:got])
            done += got
    return Written(done, digest.hexdigest())


def write_advice(error: OSError) -> str:
    """Return advice to the user about a failed write.

    Parameters
    ----------
    error : OSError
    """
    code = error.errno
    if code == errno.ENOSPC:
        return "free space and try again"
    if code == errno.EDQUOT:
        return "free space in your quota and try again"
    if code == errno.EFBIG:
        return "raise the limit of file sizes (ulimit -f), or use another file system"
    if code == errno.EXDEV:
        return "use a folder that is on a single file system"
    if code == errno.EROFS:
        return "use another folder"
    if code in (errno.EACCES, errno.EPERM):
        return "change its permissions, or use another folder"
    if code in (errno.EIO, errno.ENXIO, errno.ENODEV):
        return "the disk or its connection may be faulty: check it, or use another disk"
    if code == errno.ESTALE:
        return "check that the network file system is available, and try again"
    if code in (errno.EMFILE, errno.ENFILE):
        return "raise the limit of open files (ulimit -n) and try again"
    return "check the disk and try again"


@contextlib.contextmanager
def convert_write_errors(path: Path) -> Iterator[None]:
    """Context manager that turns an `OSError` into a `WriteError` with a message to the user.

    Parameters
    ----------
    path : Path
        The file, for the message.

    Raises
    ------
    WriteError
        Instead of `OSError`.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(f"{path}: cannot be written: {reason}; {write_advice(error)}") from error


@contextlib.contextmanager
def replace_on_exit(path: Path, point: str) -> Iterator[Path]:
    """Yield a temporary path next to `path`, which replaces `path` durably at the end of the block.

    Readers see either the old or the new contents. On any error the temporary path is removed, and
    `path` is unchanged.

    Parameters
    ----------
    path : Path
        A file, or a folder that is missing or empty.
    point : str
        Name of the fail points (`pysgrld.run.files`).

    Raises
    ------
    OSError
        If the rename fails.
    """
    temporary = path.with_name(temporary_name(path.name))
    try:
        yield temporary
        rename(temporary, path, point)
    except BaseException:
        with contextlib.suppress(OSError):
            if temporary.is_dir():
                shutil.rmtree(temporary)
            else:
                temporary.unlink()
        raise


def replace_file(path: Path, pieces: Iterable[Buffer], point: str) -> Written:
    """Replace a file's contents atomically; return its new size and digest.

    Parameters
    ----------
    path : Path
    pieces : iterable of Buffer
        Content, in order.
    point : str
        Name of the fail points of these system calls.

    Returns
    -------
    Written
        Size and SHA-256 of the content.

    Raises
    ------
    OSError
        If a system call fails; the old contents are then intact.
    """
    with replace_on_exit(path, point) as temporary:
        return write_new(temporary, pieces, point)


def flock(fd: int) -> bool:
    """Lock an open file or folder with `flock`; return False if its file system cannot lock.

    Parameters
    ----------
    fd : int
        An open file or folder.

    Returns
    -------
    bool
        True if the lock is held.

    Raises
    ------
    BlockingIOError
        If another process holds the lock.
    OSError
        If it cannot be locked for another reason.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno not in NO_FLOCK:
            raise
        return False
    return True


def refuse_full_folder(path: Path, advice: str) -> None:
    """Raise an error unless a path is free or is an empty folder.

    Parameters
    ----------
    path : Path
    advice : str
        End of the message.

    Raises
    ------
    OutputError
        If the path is a file or a folder that is not empty; the message ends with the advice.
    """
    is_made = os.path.lexists(path) or path_exists(path, OutputError)
    if is_made and not (is_folder(path, OutputError) and not list_folder(path, OutputError)):
        raise OutputError(f"{path}: is there already; {advice}")
