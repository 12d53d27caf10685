"""Functions that look up paths and open input files, with errors for the user.

Every option and every argument that takes a path uses this module. The system may refuse to look a
path up (permission denied, a name that is too long, links in a circle), which is reported as an
error of the user. No NumPy here: help must be instant.
"""

from __future__ import annotations

import enum
import errno
import io
import os
import select
import stat
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pysgrld.errors import CorpusError, MissingInputError, SgmcError

#: Interval, in milliseconds, at which a thread that waits for a pipe checks whether to stop.
_BEAT = 100
#: Messages shorten a long path. They keep this number of its first characters.
_FIRST = 120
#: Messages keep this number of the last characters of a long path.
_LAST = 60
#: Name of standard input in messages.
STDIN = "<stdin>"
#: Number of bytes that are read at a time.
_PIECE = 1 << 20

#: Function that is called repeatedly while this thread waits for a pipe, with the path of the pipe.
#: The function may raise an error to end the wait, as `pysgrld.run.StopFlag` does.
while_waiting: ContextVar[Callable[[str], None] | None] = ContextVar("while_waiting", default=None)


#: Class of the error to raise if the system refuses to look up a path. If the class is None, such
#: a path counts as missing.
Refusal = type[SgmcError] | None


class Kind(enum.Enum):
    """Kind of file at a path; links are followed."""

    FILE = "file"
    FOLDER = "folder"
    #: A named pipe, a terminal or another device. The data may be without end, and can be read only
    #: once.
    STREAM = "stream"


def path_kind(path: str | Path, refusal: Refusal = MissingInputError) -> Kind | None:
    """Return the kind of the file at a path, or None if the path does not exist; follow links.

    Parameters
    ----------
    path : str or Path
    refusal : type of SgmcError, or None
        Raised if the system refuses: `OutputError` for a path that is to be written. With None a
        path that cannot be looked up counts as free, because the user did not name it.

    Returns
    -------
    Kind or None
        None also for a link that points to no file.

    Raises
    ------
    SgmcError
        If the system refuses to look the path up.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        if refusal is None:
            return None
        raise path_error(path, error, refusal) from None
    if stat.S_ISREG(mode):
        return Kind.FILE
    return Kind.FOLDER if stat.S_ISDIR(mode) else Kind.STREAM


def path_exists(path: str | Path, refusal: Refusal = MissingInputError) -> bool:
    """Return True if a path exists, as a file, a folder or a device.

    Errors are raised as by `path_kind`.

    Parameters
    ----------
    path : str or Path
    refusal : Refusal, optional
        As for `path_kind`.

    Returns
    -------
    bool
        False if the path is free.
    """
    return path_kind(path, refusal) is not None


def is_file(path: str | Path, refusal: Refusal = MissingInputError) -> bool:
    """Return True if a regular file exists at a path.

    Errors are raised as by `path_kind`.

    Parameters
    ----------
    path : str or Path
    refusal : Refusal, optional
        As for `path_kind`.

    Returns
    -------
    bool
        False also if the path is free.
    """
    return path_kind(path, refusal) is Kind.FILE


def is_folder(path: str | Path, refusal: Refusal = MissingInputError) -> bool:
    """Return True if a folder exists at a path.

    Errors are raised as by `path_kind`.

    Parameters
    ----------
    path : str or Path
    refusal : Refusal, optional
        As for `path_kind`.

    Returns
    -------
    bool
        False also if the path is free.
    """
    return path_kind(path, refusal) is Kind.FOLDER


def is_stream(path: str | Path) -> bool:
    """Return True if a path is standard input ("-"), a pipe or a device.

    Errors are raised as by `path_kind`.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    bool
        False also if the path is free.
    """
    return str(path) == "-" or path_kind(path) is Kind.STREAM


def resolve_path(path: str | Path, refusal: type[SgmcError] = MissingInputError) -> Path:
    """Convert a path to an absolute path without links and "..".

    Parameters
    ----------
    path : str or Path
    refusal : type[SgmcError], optional
        Class of the error.

    Returns
    -------
    Path
        An absolute path, which need not exist.

    Raises
    ------
    SgmcError
        If the current folder was removed, or links point in a circle.
    """
    try:
        return Path(path).resolve()
    except (
        OSError,
        ValueError,
        RuntimeError,
    ) as error:  # Python before 3.13 raises RuntimeError for circular links.
        if isinstance(error, FileNotFoundError):
            error = OSError(errno.ENOENT, "the current folder was removed")
        if isinstance(error, RuntimeError):
            error = OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        raise path_error(path, error, refusal) from None


def list_folder(folder: str | Path, refusal: type[SgmcError] = MissingInputError) -> list[Path]:
    """Return the paths in a folder, in any order.

    Parameters
    ----------
    folder : str or Path
    refusal : type[SgmcError], optional
        Class of the error.

    Returns
    -------
    list of Path
        Paths that begin with `folder`.

    Raises
    ------
    SgmcError
        If the path is no folder, or the system refuses to list it.
    """
    try:
        return list(Path(folder).iterdir())
    except (OSError, ValueError) as error:
        raise path_error(folder, error, refusal) from None


def shown(path: str | Path) -> str:
    """Return a path for a message; dots replace the middle of a long path.

    Parameters
    ----------
    path : str or Path
        Path of a file or a folder.

    Returns
    -------
    str
        The path, shortened if it is long.
    """
    text = str(path)
    return text if len(text) <= _FIRST + _LAST else f"{text[:_FIRST]}...{text[-_LAST:]}"


def path_error(
    path: str | Path, error: Exception, refusal: type[SgmcError] = MissingInputError
) -> SgmcError:
    """Return the error for a path that does not exist, or that the system refuses to open.

    Parameters
    ----------
    path : str or Path
    error : Exception
        The error of the system.
    refusal : type[SgmcError], optional
        Class of the error to return.

    Returns
    -------
    SgmcError
        `error` itself if it is an `SgmcError`.
    """
    if isinstance(error, SgmcError):
        return error
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return refusal(f"{shown(path)}: no such file; check the path")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return refusal(f"{shown(path)}: cannot be read: {reason}; check the path and its permissions")


# ---- reading


class _Stream(io.RawIOBase):
    """Reader of a pipe or a device, which can be interrupted while it waits for data.

    The function in `while_waiting` is called as long as no data come.
    """

    def __init__(self, descriptor: int, path: str) -> None:
        super().__init__()
        self._descriptor, self._path = descriptor, path
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def readable(self) -> bool:
        """Return True, because the file was opened for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait until the pipe has data or its last writer has closed it; then read the data."""
        while True:
            if (call := while_waiting.get()) is not None:
                call(self._path)
            if self._poll.poll(_BEAT):
                try:
                    return os.readv(self._descriptor, [buffer])
                except BlockingIOError:
                    continue

    def close(self) -> None:
        """Close the file descriptor."""
        if not self.closed and self._descriptor:  # Do not close standard input.
            os.close(self._descriptor)
        super().close()


def open_input(path: str | Path) -> io.RawIOBase:
    """Open a file, pipe or device for reading; "-" is standard input.

    Opening a pipe does not wait for a writer. Reading it does, until `while_waiting` raises an
    error.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    io.RawIOBase
        Unbuffered, to be closed by the caller.

    Raises
    ------
    MissingInputError
        If the path is missing or a folder, or the system refuses to open it.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        # `sys.stdin` is not used, because a thread that waits for input would hold the lock of
        # `sys.stdin` when Python exits.
        descriptor = 0 if str(path) == "-" else os.open(path, flags)
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError) as error:
        raise path_error(path, error) from None
    if not descriptor:
        return _Stream(0, STDIN)
    try:
        if stat.S_ISDIR(mode):
            raise MissingInputError(f"{shown(path)}: is a folder; give the name of a file")
        if stat.S_ISREG(mode):
            return io.FileIO(descriptor)
        return _Stream(descriptor, str(path))
    except BaseException:
        os.close(descriptor)
        raise


def read_input(path: str | Path, largest: int, description: str) -> bytes:
    """Read the whole content of a file or a pipe.

    Parameters
    ----------
    path : str or Path
    largest : int
        Maximum number of bytes.
    description : str
        Description of the expected file, for the message about a larger file.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    MissingInputError
        If it cannot be read.
    CorpusError
        If the file is larger than `largest`.
    """
    data = bytearray()
    with open_input(path) as file:
        try:
            while len(data) <= largest and (
                piece := file.read(min(_PIECE, largest + 1 - len(data)))
            ):
                data += piece
        except OSError as error:
            raise path_error(path, error) from None
    if len(data) > largest:
        raise CorpusError(
            f"this is larger than {largest >> 20} MB, so it is not a {description}; give another "
            "file",
            path,
        )
    return bytes(data)
