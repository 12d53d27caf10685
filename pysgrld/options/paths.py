"""Paths named by the user: what exists at a path, and how input files are opened.

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

#: Milliseconds between checks whether to stop waiting for a pipe.
_BEAT = 100
#: Number of characters of a long path that a message shows from its start and from its end.
_FIRST, _LAST = 120, 60
#: Name of standard input in messages.
STDIN = "<stdin>"
#: Number of bytes read at a time.
_PIECE = 1 << 20

#: Function called repeatedly, with a pipe's path, while this thread waits for the pipe. It may
#: raise an error to stop the wait, as `pysgrld.run.StopFlag` does.
while_waiting: ContextVar[Callable[[str], None] | None] = ContextVar("while_waiting", default=None)


#: Class of the error raised if the system refuses to look up a path, or None for no error.
Refusal = type[SgmcError] | None


class Kind(enum.Enum):
    """Kind of the file or folder at a path, after following links."""

    FILE = "file"
    FOLDER = "folder"
    #: A named pipe, a terminal or another device, which can be read only once or never ends.
    STREAM = "stream"


def look_up(path: str | Path, refusal: Refusal = MissingInputError) -> Kind | None:
    """Return the kind of file or folder at a path, following links, or None if nothing exists there.

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
        raise refusal_of(path, error, refusal) from None
    if stat.S_ISREG(mode):
        return Kind.FILE
    return Kind.FOLDER if stat.S_ISDIR(mode) else Kind.STREAM


def is_there(path: str | Path, refusal: Refusal = MissingInputError) -> bool:
    """Return True if anything exists at a path; raise the errors of `look_up`.

    Parameters
    ----------
    path : str or Path
    refusal : Refusal, optional
        As for `look_up`.

    Returns
    -------
    bool
        False if the path is free.
    """
    return look_up(path, refusal) is not None


def is_file(path: str | Path, refusal: Refusal = MissingInputError) -> bool:
    """Return True if a regular file exists at a path; raise the errors of `look_up`.

    Parameters
    ----------
    path : str or Path
    refusal : Refusal, optional
        As for `look_up`.

    Returns
    -------
    bool
        False also if the path is free.
    """
    return look_up(path, refusal) is Kind.FILE


def is_folder(path: str | Path, refusal: Refusal = MissingInputError) -> bool:
    """Return True if a folder exists at a path; raise the errors of `look_up`.

    Parameters
    ----------
    path : str or Path
    refusal : Refusal, optional
        As for `look_up`.

    Returns
    -------
    bool
        False also if the path is free.
    """
    return look_up(path, refusal) is Kind.FOLDER


def is_stream(path: str | Path) -> bool:
    """Return True for standard input ("-"), pipes and devices; raise the errors of `look_up`.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    bool
        False also if the path is free.
    """
    return str(path) == "-" or look_up(path) is Kind.STREAM


def resolve_path(path: str | Path, refusal: type[SgmcError] = MissingInputError) -> Path:
    """Return the absolute form of a path, without links and "..".

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
    ) as error:  # RuntimeError: circular links, before Python 3.13
        if isinstance(error, FileNotFoundError):
            error = OSError(errno.ENOENT, "the current folder was removed")
        if isinstance(error, RuntimeError):
            error = OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        raise refusal_of(path, error, refusal) from None


def list_folder(folder: str | Path, refusal: type[SgmcError] = MissingInputError) -> list[Path]:
    """Return the paths in a folder, in no particular order.

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
        If it is no folder, or the system refuses to list it.
    """
    try:
        return list(Path(folder).iterdir())
    except (OSError, ValueError) as error:
        raise refusal_of(folder, error, refusal) from None


def shown(path: str | Path) -> str:
    """Return a path as messages show it; a long one lacks its middle.

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


def refusal_of(
    path: str | Path, error: Exception, refusal: type[SgmcError] = MissingInputError
) -> SgmcError:
    """Return the error for a path that is missing, or that the system cannot look up or open.

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
    """A pipe or device, read without blocking; `while_waiting` is called while no data come."""

    def __init__(self, descriptor: int, path: str) -> None:
        super().__init__()
        self._descriptor, self._path = descriptor, path
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def readable(self) -> bool:
        """Return True, because the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for data or for the last writer to close the pipe; read the data."""
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
        if not self.closed and self._descriptor:  # standard input is left open
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
        If it is missing or a folder, or the system refuses.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        # not sys.stdin, because a thread that waits for input would hold its lock when Python exits
        descriptor = 0 if str(path) == "-" else os.open(path, flags)
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError) as error:
        raise refusal_of(path, error) from None
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
            raise refusal_of(path, error) from None
    if len(data) > largest:
        raise CorpusError(f"is larger than {largest >> 20} MB, so it is not a {description}", path)
    return bytes(data)
