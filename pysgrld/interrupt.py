"""Ctrl-C while a command is being loaded: there is nothing to put in order yet, and nothing to say."""

from __future__ import annotations

import os
import signal

#: Exit code of a command that was stopped at once.
STOPPED = 130


def leave_at_once() -> None:
    """Let Ctrl-C end the process, unless it is ignored: a module half loaded must not see it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def leave_in_order() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again, so that files are closed and removed."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    os._exit(STOPPED)
