"""The runs of a folder, each in a line: what is trained, how far it is, and how well it predicts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.errors import SgmcError
from pysgrld.evaluate.score import Score
from pysgrld.models.table import scores
from pysgrld.reading.recorded import recorded
from pysgrld.run import RunDirectory, chains_of
from pysgrld.run.create import is_run

#: Bytes at the end of ``metrics.jsonl`` in which its last line lies.
_END = 1 << 16


class ListedRun(NamedTuple):
    """A run as a list has it.

    Attributes
    ----------
    path : Path
    model, algo, corpus : str
        Empty where the run cannot be read.
    topics : tuple of int
        Of each layer; empty where their number is not chosen.
    documents : int
        Documents that it trains on.
    state : str
        Of ``status.json``: running, interrupted, finished or failed; damaged where it cannot be read.
    iteration : int
        Iterations done.
    score : float or None
        The newest on held-out documents, of the average or else of the current topics, if any.
    kind : Score or None
        What that score is.
    problem : str
        Why it cannot be read; empty where it can.
    """

    path: Path
    model: str = ""
    algo: str = ""
    corpus: str = ""
    topics: tuple[int, ...] = ()
    documents: int = 0
    state: str = "damaged"
    iteration: int = 0
    score: float | None = None
    kind: Score | None = None
    problem: str = ""

    @property
    def shown_score(self) -> str:
        """Format the name of the score and its value, with a dash where there is none."""
        if self.score is None or self.kind is None:
            return "-"
        return f"{self.kind.title} {self.kind.show(self.score)}"

    def record(self) -> dict[str, Any]:
        """Give all by name, for JSON."""
        found = self._asdict() | {"kind": self.kind and self.kind.name, "topics": list(self.topics)}
        return found | {"problem": self.problem or None}


def list_runs(folder: Path) -> Iterator[ListedRun]:
    """List the runs in a folder by name, chains of one model and settings of a search together.

    A run that cannot be read is listed with the reason.
    """
    for run in [folder] if is_run(folder) else _runs_in(folder):
        try:
            yield _listed(run)
        except SgmcError as error:
            yield ListedRun(run, problem=str(error))


def _runs_in(folder: Path, *, searches: bool = True) -> Iterator[Path]:
    """Yield the runs of a folder, the chains in folders of it, and those of searches, by number."""
    try:
        entries = sorted(folder.iterdir(), key=_place)
    except OSError:
        return
    for path in entries:
        if is_run(path):
            yield path
        elif found := chains_of(path):
            yield from found
        elif searches and path.is_dir() and not path.name.startswith("."):
            yield from _runs_in(path, searches=False)


def _place(path: Path) -> list[tuple[str, int]]:
    """Give the place of a name among others: numbers in it go by their value."""
    parts = re.findall(r"(\D*)(\d*)", path.name)
    return [(text, int(number or 0)) for text, number in parts]


def _listed(path: Path) -> ListedRun:
    run = RunDirectory.open(path)
    _, options = recorded(run)
    status, corpus = run.status, run.config["corpus"]
    score, kind = _newest(run)
    return ListedRun(
        path,
        options.model,
        options.algo,
        str(corpus.get("name", "")),
        options.widths,
        corpus["training_documents"],
        str(status.get("state", "")),
        step if isinstance(step := status.get("step"), int) else 0,
        score,
        kind,
    )


def _newest(run: RunDirectory) -> tuple[float | None, Score | None]:
    """Give the score of the last line of ``metrics.jsonl``, and what it is."""
    try:
        *_, last = run.read_metrics(_END)
    except (SgmcError, ValueError):  # there is no line yet
        return None, None
    for name, kind in scores().items():
        for key in (name, kind.point):
            if isinstance(value := last.get(key), int | float):
                return float(value), kind
    return None, None
