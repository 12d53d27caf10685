"""Tokenising by the user's regular expression, in a separate process with a time limit.

Some expressions backtrack so often that matching a line of forty characters practically never ends.
Matching holds the interpreter's lock and has no time limit, but a separate process can be ended, and
several processes can match at the same time.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import subprocess
import sys
import threading
import time
import weakref

from pysgrld.errors import SgmcError

#: Time limit for splitting an empty document into tokens, in seconds.
LIMIT = 10.0
#: The time limit of a document is longer by this number of seconds for each megabyte.
LIMIT_MEGABYTE = 5.0

#: Program of the separate process. It reads a pattern and then texts, and writes the tokens of each
#: text.
_PROGRAM = """
import marshal, re, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends when its input is closed
read, write = sys.stdin.buffer.read, sys.stdout.buffer.write
take = lambda: read(int.from_bytes(read(8), "little")).decode("utf-8", "surrogatepass")
pattern = re.compile(take())
while head := read(8):
    text = read(int.from_bytes(head, "little")).decode("utf-8", "surrogatepass")
    found = marshal.dumps(pattern.findall(text))
    write(len(found).to_bytes(8, "little") + found)
    sys.stdout.flush()
"""


class TooSlowError(Exception):
    """Error for a document in which matching the pattern takes longer than the time limit.

    Attributes
    ----------
    at : int
        Position of the document among the documents that were matched.
    seconds : float
        The time limit.
    """

    def __init__(self, position: int, seconds: float) -> None:
        super().__init__(position, seconds)
        self.at, self.seconds = position, seconds


def is_text(document: bytes) -> bool:
    """Return True if a document is valid UTF-8 without NUL, so that it can be tokenised.

    Parameters
    ----------
    document : bytes
        Text of a document.

    Returns
    -------
    bool
        False for malformed UTF-8 and for text with a NUL.
    """
    try:
        return "\0" not in document.decode("utf-8")
    except UnicodeDecodeError:
        return False


class TokenPattern:
    """Regular expression for tokens, with a time limit; several threads may use it at once.

    Parameters
    ----------
    pattern : str
        A pattern that `re` can compile, with at most one group.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern, self._local = pattern, threading.local()

    def matching(self) -> Matching:
        """Return a tokeniser for this pattern, for use on the calling thread only."""
        process = getattr(self._local, "process", None)
        if process is None or process.owner != os.getpid() or process.ended:
            process = self._local.process = _Process(self.pattern)
        return Matching(process)


class Matching:
    """Tokeniser that `count_words` calls like a compiled pattern, by the method `findall`."""

    def __init__(self, process: _Process) -> None:
        self._process, self._documents = process, 0

    def findall(self, text: str) -> list[str]:
        """Return the tokens of a text, as `re.Pattern.findall` would.

        Raises
        ------
        TooSlowError
            If matching exceeds the time limit.
        """
        self._documents += 1
        limit = LIMIT + LIMIT_MEGABYTE * len(text) / 1e6
        tokens = self._process.findall(text, time.monotonic() + limit)
        if tokens is None:
            raise TooSlowError(self._documents - 1, limit)
        return tokens


class _Process:
    """Process that finds the tokens of texts by a regular expression."""

    def __init__(self, pattern: str) -> None:
        self.owner, self.ended = os.getpid(), False
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        weakref.finalize(self, _end, self._process, self.owner)
        self._send(pattern)

    def findall(self, text: str, until: float) -> list[str] | None:
        """Return the tokens of a text, or end the process and return None at the time ``until``."""
        self._send(text)
        data = self._receive(8, until)
        data = None if data is None else self._receive(int.from_bytes(data, "little"), until)
        if data is None:
            self.ended = True
            _end(self._process, self.owner)
            return None
        tokens: list[str] = marshal.loads(data)
        return tokens

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        data = text.encode("utf-8", "surrogatepass")
        try:
            self._process.stdin.write(len(data).to_bytes(8, "little") + data)
            self._process.stdin.flush()
        except OSError as error:
            raise SgmcError(
                f"the process that applies the token pattern ended unexpectedly ({error}); run "
                "the command again"
            ) from None

    def _receive(self, size: int, until: float) -> bytes | None:
        """Read ``size`` bytes from the process; return None if the time ``until`` comes first."""
        assert self._process.stdout is not None
        fd, parts = self._process.stdout.fileno(), list[bytes]()
        while size:
            if not select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            part = os.read(fd, min(size, 1 << 20))
            if not part:
                raise SgmcError(
                    "the process that applies the token pattern ended unexpectedly; run the "
                    "command again"
                )
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Close the pipes to a process; kill the process if this Python process started it.

    A fork of the Python process that started it only closes the pipes.
    """
    if owner == os.getpid():
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
