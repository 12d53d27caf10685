"""The report of a run: data for its sections, and a page as one HTML file or as a folder.

Importing this package is fast, because it imports the names in ``__all__`` only when they are first
used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pysgrld.report.making import Page as Page
    from pysgrld.report.making import report as report

__all__ = ["Page", "report"]


# Type checkers must not see ``__getattr__``, so that they report unknown names.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in __all__:
            return getattr(import_module("pysgrld.report.making"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
