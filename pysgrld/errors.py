"""Errors of sgmc with their exit codes, and messages with a severity.

A message has three parts: the problem, its place, and the remedy. Only ``cli/__init__.py`` turns an
error into an exit code. The codes are never renumbered, because batch systems depend on them.
"""

from __future__ import annotations

import os
import signal
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol


class SgmcError(Exception):
    """Base class of all errors that sgmc raises on purpose; exit code 70 stands for a bug in sgmc.

    Parameters
    ----------
    message : str
    exit_code : int, optional
        Exit code of this error, if it differs from its class's.
    """

    exit_code: int = 70

    def __init__(self, message: str = "", exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = self.exit_code if exit_code is None else exit_code


class UsageError(SgmcError, ValueError):
    """A wrong or contradictory option or argument (exit 2)."""

    exit_code = 2


class LaunchError(SgmcError):
    """The MPI launcher and the MPI library do not match, or one of them is missing (exit 64)."""

    exit_code = 64


class CorpusError(SgmcError, ValueError):
    """Input data are invalid, in a corpus or in a vocabulary (exit 65).

    Parameters
    ----------
    message : str
        The problem and the remedy.
    path : str or Path, optional
        The file; ``<stdin>`` for standard input.
    line : int, optional
        Line in that file after decompression, counted from 1.
    """

    exit_code = 65

    def __init__(
        self, message: str, path: str | Path | None = None, line: int | None = None
    ) -> None:
        self.reason, self.path, self.line = message, path, line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)


class DamagedCorpusError(CorpusError):
    """A stored corpus is damaged (exit 65).

    Parameters
    ----------
    problem : str
        The damage, with the name of the file.
    remedy : str
    path : str or Path
        Folder of the corpus.
    """

    def __init__(self, problem: str, remedy: str, path: str | Path) -> None:
        self.problem = problem
        super().__init__(f"the corpus is damaged ({problem}); {remedy}", path)


class NoFieldError(CorpusError):
    """No document of the corpus has a field that an option names (exit 65).

    Parameters
    ----------
    field : str
    option : str
        The option that asked for the field, as it is typed.
    """

    def __init__(self, field: str, option: str) -> None:
        self.field, self.option = field, option
        super().__init__(
            f"no document has a field {field[:40]!r} ({option}); give a field that they have"
        )


class MissingInputError(SgmcError, FileNotFoundError):
    """An input file does not exist or cannot be read (exit 66)."""

    exit_code = 66

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class OutputError(SgmcError):
    """An output file cannot be created (exit 73)."""

    exit_code = 73


class WriteError(SgmcError):
    """A file could not be written (disk, quota or device error); old files are intact (exit 74)."""

    exit_code = 74


class GoneError(WriteError):
    """The folder of a run was removed or replaced while a process was writing to it (exit 74)."""


class LockedError(SgmcError):
    """The folder of a run is in use by a running process (exit 75)."""

    exit_code = 75


class CheckpointError(SgmcError):
    """A run needs a checkpoint, and has none that can be used (exit 76)."""

    exit_code = 76


class MismatchError(SgmcError):
    """The configuration or the corpus of a run differs from that of its checkpoint (exit 78)."""

    exit_code = 78


class Interrupted(SgmcError):
    """A run stopped early, by a signal or its time limit, after writing a checkpoint (exit 85)."""

    exit_code = 85


class NumericalError(SgmcError):
    """The state of a sampler contains NaN or infinity (exit 86)."""

    exit_code = 86


class MemoryLimitError(SgmcError):
    """A task needs more memory than it may use (exit 87)."""

    exit_code = 87


class NoProgressError(SgmcError):
    """A run did not start again, because its last two starts made no progress (exit 88)."""

    exit_code = 88


class DisagreementError(SgmcError):
    """MPI processes that should train the same chain have different topics (exit 70)."""


class RankError(SgmcError):
    """Another MPI process failed; this process exits with the same code as that process."""


class ConvergenceWarning(UserWarning):
    """Training of an estimator ended before it converged."""


#: Phrase by which other code recognises log lines about tokens outside the vocabulary.
IGNORED = "ignored: not "


class UnknownWordsWarning(UserWarning):
    """Texts contain words that the model does not know and ignores."""


class NotFittedError(SgmcError, ValueError, AttributeError):
    """An estimator was used before it was fitted."""

    exit_code = 2


# ---- Ctrl-C while a command is imported, when no file has to be closed or removed

#: Exit code of a command that Ctrl-C ended at once: 128 + SIGINT.
STOPPED = 130


def leave_at_once() -> None:
    """Make Ctrl-C end the process at once, unless the process ignores Ctrl-C.

    A `KeyboardInterrupt` must not be raised in a module that is not yet imported completely.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def leave_in_order() -> None:
    """Make Ctrl-C raise `KeyboardInterrupt` again, so that files can be closed and removed."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    os._exit(STOPPED)


# ---- messages


class Severity(StrEnum):
    """Severity of a message, which decides whether the message is printed."""

    #: Messages that are printed only with ``--verbose``.
    DETAIL = "detail"
    #: Messages that are not printed with ``--quiet``.
    NOTE = "note"
    #: Messages that are always printed.
    WARNING = "warning"


class Message(NamedTuple):
    """A line of text for the user, and its severity."""

    text: str
    severity: Severity = Severity.NOTE


class Log(Protocol):
    """Type of functions that receive messages for the user."""

    def __call__(self, text: str, severity: Severity = Severity.NOTE, /) -> None:
        """Receive a line of text for the user, and its severity."""


def no_log(text: str, severity: Severity = Severity.NOTE, /) -> None:
    """Ignore a message. Callers that print nothing pass this function as their `Log`.

    Parameters
    ----------
    text : str
        The message.
    severity : Severity, optional
        Its severity.
    """
    del text, severity


# ---- numbers in messages


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Return a number and a noun; the noun is in the plural unless the number is 1.

    >>> plural(1, "thread"), plural(1200, "thread"), plural(0, "entry", "entries")
    ('1 thread', '1,200 threads', '0 entries')

    Parameters
    ----------
    number : int
    noun : str
        In the singular.
    nouns : str, optional
        The plural, if it is not the singular with an s.

    Returns
    -------
    str
        Number, with commas between thousands, and noun.
    """
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def all_of(number: int, nouns: str) -> str:
    """Return "both" for 2, or "all N" for a greater number, followed by a noun in the plural.

    >>> all_of(2, "chains"), all_of(4, "chains")
    ('both chains', 'all 4 chains')

    Parameters
    ----------
    number : int
        At least 2.
    nouns : str
        In the plural.

    Returns
    -------
    str
        "both" or "all N", and the nouns.
    """
    return f"both {nouns}" if number == 2 else f"all {number:,} {nouns}"


def check_interpreter() -> None:
    """Raise an error in a sub-interpreter of Python, in which NumPy cannot be used.

    In a sub-interpreter, the compiled core would wait for ever for the lock of the main
    interpreter.

    Raises
    ------
    ImportError
        If this is not the main interpreter of the process.
    """
    import ctypes

    places = []
    for name in ("PyInterpreterState_Get", "PyInterpreterState_Main"):
        function = getattr(ctypes.pythonapi, name)
        function.restype = ctypes.c_void_p
        places.append(function())
    if places[0] != places[1]:
        raise ImportError(
            "pysgrld cannot be imported in a sub-interpreter; import it in the main interpreter "
            "of a process, or start another process"
        )
