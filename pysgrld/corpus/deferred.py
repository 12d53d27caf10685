"""Regular expressions that are compiled on first use, so that sgmc starts faster."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Deferred:
    """Regular expression with the methods of `re.Pattern`, which compiles itself on first use."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._source: Any = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self._source, self._flags), name)
        # Store the method as an attribute, so that later calls find it without this function.
        setattr(self, name, method)
        return method


def deferred(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when it is first used.

    Parameters
    ----------
    pattern : str or bytes
    flags : int
        Flags of `re.compile`.
    """
    return cast("re.Pattern[AnyStr]", _Deferred(pattern, flags))
