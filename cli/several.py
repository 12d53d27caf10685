"""Progress output of several chains: one bar on terminals, lines with the chain's name in logs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysgrld.errors import Severity
from pysgrld.options.paths import is_folder

from .progress import Screen, evaluation_line, score_in, speed

if TYPE_CHECKING:
    from pysgrld.train.events import Position

#: Maximum number of chains for which each score is printed. For more chains, only the lowest and
#: the highest score are printed.
EACH = 6


class SeveralScreen(Screen):
    """Printer of the progress of several chains; it implements `pysgrld.train.processes.Watcher`.

    A line common to all chains is printed once. In a log, each evaluation of a chain is one line.
    On a terminal, one line above the bar is printed when all chains have been evaluated.

    Parameters
    ----------
    chains : int
    **how
        Arguments of `Screen`.
    """

    #: Plural noun for the runs that train in parallel, used in messages.
    noun = "chains"

    def __init__(self, chains: int, **how: Any) -> None:
        super().__init__(**how)
        self._said: set[str] = set()
        self.begin(chains)

    def begin(self, number: int) -> None:
        """Forget all earlier runs, and prepare for `number` new runs, which are numbered from 1."""
        self.chains = number
        self._positions: dict[int, Position] = {}
        self._records: dict[int, Mapping[str, Any]] = {}
        self._ended: set[int] = set()
        self._started: set[int] = set()

    def called(self, number: int) -> str:
        """Return the name of a run, given its number counted from 1."""
        return f"chain {number}"

    def note(self, line: str, severity: Severity = Severity.NOTE, /) -> None:
        """Print a line, and remember it so that other chains do not repeat it."""
        self._said.add(line)
        super().note(line, severity)

    def of_run(self, number: int, event: str, *values: Any) -> None:
        """Show an event that one of the chains reports."""
        if event == "moved":
            self._moved_one(number, values[0])
        elif event == "evaluated":
            self._evaluated_one(number, values[0])
        elif event == "started":
            self._started_one(number, *values)
        elif event == "finished":
            self._ended.add(number)
            self._line("finished", f"{self.called(number)}: {values[1]}", chain=number)
        elif event == "failed":
            self._ended.add(number)
            self._line(
                "failed", f"{self.called(number)}: error: {values[0]}", always=True, chain=number
            )
        elif values[0] not in self._said:
            self._said.add(values[0])
            # A line from a chain that has not started yet applies to all chains, so it names no
            # chain.
            line = f"{self.called(number)}: {values[0]}" if number in self._started else values[0]
            super().note(line, values[1])

    def all_done(self, folder: Path, number: int) -> None:
        """Print that all chains are done, and commands that show their results."""
        self._close()
        if self.json_log:
            self._line("finished", f"{number} chains are done", run=str(folder))
            return
        are = "1 chain is" if number == 1 else f"{number} chains are"
        self._line("next", f"{are} in {folder}; look at the results with:")
        name = self.shortest_name(folder)
        commands = ["sgmc diagnose", "sgmc report --open", "sgmc topics"]
        runs = folder.glob("chain-*")
        commands += ["sgmc eval"] if all(is_folder(run / "holdout") for run in runs) else []
        for command in commands:
            self._line("next", f"  {command} {name}".rstrip())

    # ---- events of one chain

    def _started_one(self, number: int, path: Path, line: str) -> None:
        from pysgrld.run import RunDirectory

        if not self._started:
            self.described(RunDirectory.open(path))
        self._started.add(number)
        self._line("started", f"{path}: {line}", chain=number, run=str(path))

    def _moved_one(self, number: int, position: Position) -> None:
        self._positions[number] = position
        now = list(self._positions.values())
        total = sum(p.tokens_per_second for n, p in self._positions.items() if n not in self._ended)
        state = f"{speed(total)}"
        if known := [p.score for p in now if math.isfinite(p.score)]:
            from pysgrld.models.table import find_score

            score = find_score(position.kind)
            state += f", {score.title} {_range(known, f',.{score.decimals}f')}"
        state += self._left()
        done = [p.iteration for p in now]
        if self.terminal:
            goal = sum(p.iterations for p in now) if len(now) == self.chains else 0
            self._draw(f"{self.chains} {self.noun}", sum(done), goal or None, state)
        elif self._due():
            place = f"iteration {_range(done, ',')}"
            of = max(p.iterations for p in now)
            self._line("position", place + (f" of {of:,}" if of else "") + f", {state}")

    def _evaluated_one(self, number: int, record: Mapping[str, Any]) -> None:
        self.last = time.monotonic()
        if not self.terminal:
            self._line(
                "evaluation",
                f"{self.called(number)}: {evaluation_line(record)}",
                chain=number,
                **record,
            )
            return
        self._records[number] = record
        if self._records.keys() | self._ended >= set(range(1, self.chains + 1)):
            self._line("evaluation", merged(list(self._records.values())))
            self._records.clear()


def merged(records: Sequence[Mapping[str, Any]]) -> str:
    """Format the evaluations of all chains, one per chain, as a single line."""
    line = f"iteration {_range([r['iteration'] for r in records], ',')}: "
    score = score_in(records[0])
    unigram, form = records[0][score.unigram], f",.{score.decimals}f"
    if unigram is None:
        return f"{line}{speed(sum(r['tokens_per_second'] for r in records))}, no held-out documents"
    averaged = all(r[score.name] for r in records)
    values = [r[score.name if averaged else score.point] for r in records]
    values = [value for value in values if value is not None]
    values_shown = (
        ", ".join(map(score.show, values)) if len(values) <= EACH else _range(values, form)
    )
    title = score.title if averaged else f"point {score.title}"
    return f"{line}{title} {values_shown} (unigram {score.show(unigram)})"


def _range(values: Sequence[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"
