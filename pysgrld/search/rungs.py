"""The rungs of a search: who trains how far next, as a function of the plan and what was decided.

``rungs.jsonl`` has a line for each rung that is decided. Where a search stands is known from it and
from ``search.json`` alone, so that whoever goes on with it does the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.errors import CheckpointError, SgmcError
from pysgrld.run import RunDirectory, chain_path, jsonio
from pysgrld.run.create import is_run
from pysgrld.run.files import read_small
from pysgrld.run.whole import replace_file
from pysgrld.search.decide import Judged, Standing, leader_of, nothing_left_to_drop, smallest_near
from pysgrld.search.plan import Contender, SearchPlan

#: File of the decisions in the folder of a search.
RUNGS = "rungs.jsonl"


class Cell(NamedTuple):
    """One run of a rung: a contender, and the number of the chain."""

    contender: Contender
    chain: int

    def path(self, folder: Path) -> Path:
        """Return the folder of the run."""
        return chain_path(folder / self.contender.name, self.chain)


class Rung(NamedTuple):
    """The runs that are to be trained next, and how far.

    Attributes
    ----------
    number : int
        From 1.
    epochs : float or None
        How far each goes; None: until its score has settled.
    last : bool
    cells : tuple of Cell
        By chain, then in the order of the plan: numbers of tasks.
    """

    number: int
    epochs: float | None
    last: bool
    cells: tuple[Cell, ...]

    def is_done(self, cell: Cell, folder: Path) -> bool:
        """Whether a cell has been trained as far as this rung goes."""
        path = cell.path(folder)
        if not is_run(path):
            return False
        try:
            run = RunDirectory.open(path)
            finished = run.status.get("state") == "finished"
        except SgmcError:  # training it says what is wrong
            return False
        return finished and run.config.get("options", {}).get("epochs") == self.epochs


def read_rungs(folder: Path) -> list[dict[str, Any]]:
    """Read the decisions so far.

    Raises
    ------
    CheckpointError
        If the file is not what was written.
    """
    path = folder / RUNGS
    try:
        lines = read_small(path).splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        found = [jsonio.parse(line) for line in lines]
        for record in found:
            record["last"], record["next"], record["goes_on"]
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{path}: is damaged ({error}); restore it") from None
    return found


def write_rungs(folder: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write all decisions, whole or not at all."""
    pieces = [jsonio.line(record) for record in records]
    replace_file(folder / RUNGS, pieces, "search")


def next_rung(plan: SearchPlan, decided: Sequence[Mapping[str, Any]]) -> Rung | None:
    """Give the rung that is open; None where the last one is decided."""
    if not decided:
        last = plan.epochs is not None and plan.first >= plan.epochs
        return _rung(plan, 1, plan.first, last, plan.contenders)
    before = decided[-1]
    if before["last"]:
        return None
    alive = [c for c in plan.contenders if c.name in before["goes_on"]]
    last = before["next"] is None
    return _rung(plan, len(decided) + 1, before["next"], last, alive)


def _rung(
    plan: SearchPlan, number: int, epochs: float | None, last: bool, alive: Sequence[Contender]
) -> Rung:
    chains = plan.chains if last else 1
    cells = tuple(Cell(c, chain) for chain in range(1, chains + 1) for c in alive)
    return Rung(number, plan.epochs if last else epochs, last, cells)


def decision(plan: SearchPlan, rung: Rung, judged: Sequence[Judged]) -> dict[str, Any]:
    """Give the line of a rung that is not the last: who goes on, and how far."""
    alive = [j.standing.name for j in judged if j.goes_on]
    doubled = 2 * (rung.epochs or 0)
    enough = plan.epochs is not None and doubled >= plan.epochs
    following = None if enough or nothing_left_to_drop(judged) else doubled
    return {
        "rung": rung.number,
        "epochs": rung.epochs,
        "last": False,
        "leader": leader_of([j.standing for j in judged]).name,
        "goes_on": alive,
        "next": following,
        "contenders": [j.record() for j in judged],
    }


def conclusion(rung: Rung, judged: Sequence[Judged], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Give the line of the last rung: who predicts best, and the smallest that is near it.

    Nobody is dropped by it: all have gone to the end.
    """
    standings: list[Standing] = [j.standing for j in judged]
    return {
        "rung": rung.number,
        "epochs": rung.epochs,
        "last": True,
        "leader": leader_of(standings).name,
        "smallest": smallest_near(standings, sizes).name,
        "goes_on": [s.name for s in standings],
        "next": None,
        "contenders": [j._replace(goes_on=True).record() for j in judged],
    }
