"""Watchdog that reports a long wait for other processes, or ends the waiting process."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

#: Seconds of waiting after which a process reports once that it is waiting.
SAY = 60.0
#: Seconds between two checks of how long a process has waited for others.
LOOK = 1.0
#: Exit code of a process that gave up waiting for others.
GIVEN_UP = 70


class Watch:
    """Watchdog that ends this process after too long a wait for other processes.

    It does not call MPI.

    Parameters
    ----------
    who : str
        Name of this process in messages to the user.
    timeout : float or None
        Maximum number of seconds to wait for others, or None for no limit.
    say : callable, optional
        Reports a line to the user; by default on standard error.
    end : callable, optional
        Ends the process with the given exit code.
    """

    def __init__(
        self,
        who: str,
        timeout: float | None,
        say: Callable[[str], None] | None = None,
        end: Callable[[int], None] = os._exit,
    ) -> None:
        self.who, self.timeout, self.seconds = who, timeout, 0.0
        self._say, self._end = say or _on_standard_error, end
        self._since: float | None = None
        self._said = False
        self._looks = threading.Thread(target=self._look, name="watch", daemon=True)
        self._looks.start()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Add the duration of the ``with`` block to the total time spent waiting for messages."""
        began = self._since = time.monotonic()
        try:
            yield
        finally:
            self._since = None
            self.seconds += time.monotonic() - began

    def _look(self) -> None:
        while True:
            time.sleep(LOOK)
            since = self._since
            if since is None:
                continue
            waited = time.monotonic() - since
            if self.timeout is not None and waited > self.timeout:
                self._say(
                    f"sgmc: error: {self.who} has waited {waited:.0f} s for other ranks, so "
                    "another rank has died or hangs; run the same command again to resume from "
                    "the last checkpoint (--set rank-timeout sets the maximum waiting time)"
                )
                self._end(GIVEN_UP)
                return
            if waited > SAY and not self._said:
                self._said = True
                self._say(f"sgmc: {self.who} has waited {waited:.0f} s for other ranks")


def _on_standard_error(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
