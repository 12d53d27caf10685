"""The report of a run as one HTML page, and exports of a run to formats of other programs.

The names of this package are imported when they are first used: the help text lists the export
formats and must appear at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pysgrld.report.making import Page as Page
    from pysgrld.report.making import report as report

__all__ = ["Page", "report"]


if not TYPE_CHECKING:  # hidden, so that type checkers report unknown names

    def __getattr__(name: str) -> Any:
        if name in __all__:
            return getattr(import_module("pysgrld.report.making"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
