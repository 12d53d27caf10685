"""Progress output of ``sgmc search``, which trains its runs in rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pysgrld.errors import Severity

from .several import SeveralScreen

if TYPE_CHECKING:
    from pathlib import Path

    from pysgrld.search.rounds import Round
    from pysgrld.search.show import SearchProgress


class SearchScreen(SeveralScreen):
    """Printer of the progress of a search; it implements `pysgrld.search.halving.SearchTeller`.

    Parameters
    ----------
    **how
        Arguments of `pysgrld.cli.progress.Screen`.
    """

    noun = "runs"

    def __init__(self, **how: Any) -> None:
        super().__init__(1, **how)
        self._names: Sequence[str] = ()
        self._described = False
        self.progress: SearchProgress | None = None

    def note(self, line: str, severity: Severity = Severity.NOTE, /) -> None:
        """Print a line, unless the same line has been printed for another run of the search."""
        if line not in self._said:
            super().note(line, severity)

    def called(self, number: int) -> str:
        """Return the name of a run, given its number counted from 1."""
        return self._names[number - 1]

    def _started_one(self, number: int, path: Path, line: str) -> None:
        if not self._described:
            from pysgrld.run import RunDirectory

            self._described = True
            self.described_corpus(RunDirectory.open(path))
        self._started.add(number)
        self.detail(f"{path}: {line}")

    def begin_round(self, current_round: Round, names: Sequence[str]) -> None:
        """Print the number and length of a new round of training, and the runs in this round."""
        self.begin(len(names))
        self._names = names
        epochs = current_round.epochs
        far = "until convergence" if epochs is None else f"to {epochs:g} epochs"
        last = ", the last" if current_round.last else ""
        self._line(
            "round",
            f"round {current_round.number}{last}, {far}: {'; '.join(names)}",
            round=current_round.number,
            epochs=epochs,
            runs=list(names),
        )

    def decided(self, record: Mapping[str, Any]) -> None:
        """Print the settings that the search drops after a round, and the best setting."""
        self._close()
        dropped = [c for c in record["contenders"] if not c["goes_on"]]
        for one in dropped:
            worse = f"{100 * one['worse'][0]:.1f} % worse than {record['leader']}"
            self._line("dropped", f"{one['name']} is dropped: {one['why']} ({worse})")
        self._line("decided", f"round {record['round']}: {record['leader']} leads", **dict(record))
