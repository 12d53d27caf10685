"""The end of a search: its figures read, and written as JSON, picture and page into its folder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol

from pysgrld.run import jsonio
from pysgrld.run.machine import threads as allowed_threads
from pysgrld.run.whole import whole_file
from pysgrld.search import page, picture
from pysgrld.search.halving import Decided
from pysgrld.search.outcome import SearchResult, result_of

#: File of the figures in the folder of a search.
RESULT = "result.json"


class Counting(Protocol):
    """Whoever shows how far something is."""

    def note(self, line: str) -> None:
        """Say a fact in a line."""

    def counting(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Give a function that is told how many of ``total`` are done."""


class Told(NamedTuple):
    """The result of a search, and the files that show it."""

    result: SearchResult
    files: list[Path]


def tell(outcome: Decided, threads: int | None, screen: Counting) -> Told:
    """Read the figures of a search that is done, and write what shows them.

    Parameters
    ----------
    outcome : Decided
    threads : int, optional
        Threads; by default as many as the process may use.
    screen : Counting
    """
    number = allowed_threads(threads).number
    folder, plan = outcome.folder, outcome.plan
    with screen.counting("reading runs", len(plan.contenders)) as done:
        result = result_of(folder, plan, outcome.records, number, done)
    record = jsonio.plain(result.record(), nonfinite_is_null=True)
    files = [folder / RESULT, folder / page.PAGE]
    for path, content in zip(files, (jsonio.pretty(record), page.html(result)), strict=True):
        with whole_file(path) as file:
            file.write(content)
    if find_spec("matplotlib") is None:
        screen.note("no picture: it needs matplotlib (pip install 'pysgrld[plot]')")
    elif any(row.topics for row in result.rows):
        files.append(picture.draw(result, folder / picture.PICTURE))
    return Told(result, files)
