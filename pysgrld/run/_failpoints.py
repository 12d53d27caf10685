"""Fail points: places in the code where a test can make access to a run directory fail.

``SGMC_FAILPOINT=name:action[:nth]`` performs an action at the nth time (by default the first) that
the program passes a point whose name matches the shell pattern ``name``; with ``nth+`` also at
every later time. Actions are ``kill`` (SIGKILL), ``sleep`` (one second), ``short`` (a write takes
only half of its bytes), and the names of errno codes (``EIO``, ``ENOSPC``, ...).

Fail points have no effect in a release: none is armed unless ``SGMC_TEST=1`` is set as well, and a
wheel may leave this file out, because ``files.py`` then defines points that do nothing.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import signal
import time
from typing import NamedTuple


class _Armed(NamedTuple):
    pattern: str
    action: str
    nth: int
    for_ever: bool


_armed: _Armed | None = None
_hits = 0

#: Names of the fail points that the program has passed. They are recorded only if a test sets this
#: variable to a list.
passed: list[str] | None = None


def arm(spec: str | None) -> None:
    """Arm a fail point, given as ``name:action[:nth]``, or disarm it if `spec` is None.

    Raises
    ------
    ValueError
        If the specification cannot be read.
    """
    global _armed, _hits
    _hits = 0
    if spec is None:
        _armed = None
        return
    pattern, action, *rest = spec.split(":")
    nth = rest[0] if rest else "1"
    if action not in ("kill", "sleep", "short") and not hasattr(errno, action):
        raise ValueError(f"SGMC_FAILPOINT: unknown action {action!r}")
    _armed = _Armed(pattern, action, int(nth.rstrip("+")), nth.endswith("+"))


def fail_point(name: str) -> bool:
    """Perform the armed action; return True if the caller must write only a part of its data.

    Raises
    ------
    OSError
        With the armed errno.
    """
    global _hits
    if passed is not None:
        passed.append(name)
    if _armed is None or not fnmatch.fnmatchcase(name, _armed.pattern):
        return False
    _hits += 1
    if _hits < _armed.nth or (_hits > _armed.nth and not _armed.for_ever):
        return False
    if _armed.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if _armed.action == "sleep":
        time.sleep(1.0)
        return False
    if _armed.action == "short":
        return True
    code = getattr(errno, _armed.action)
    raise OSError(code, f"{os.strerror(code)} (fail point {name})")


if os.environ.get("SGMC_TEST") == "1" and os.environ.get("SGMC_FAILPOINT"):
    arm(os.environ["SGMC_FAILPOINT"])
