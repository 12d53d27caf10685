"""Functions that find and open the run that the user named, or list the runs in a folder."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.errors import CheckpointError, MissingInputError, SgmcError
from pysgrld.evaluate import Score
from pysgrld.models.table import scores
from pysgrld.options.paths import is_folder, list_folder
from pysgrld.reading.pooled import read_together
from pysgrld.reading.results import Results
from pysgrld.reading.run_record import model_and_options
from pysgrld.run import RunDirectory, find_chains, latest_run
from pysgrld.run.choose import ROOT, named_folder
from pysgrld.run.layout import is_run

#: Number of bytes at the end of ``metrics.jsonl`` that certainly include its whole last line.
_END = 1 << 16


def find_folder(name: str | None, root: Path = ROOT, *, chains: bool = False) -> Path:
    """Return the folder of a run, by path or by name under ``root``; by default the latest run.

    If the folder contains several chains, return the folder of the first chain, or, with
    ``chains``, the folder that contains all chains.

    Parameters
    ----------
    name : str or None
        A folder, a name under `root`, or None for the latest run.
    root : Path, optional
        Folder of runs.
    chains : bool, optional
        True to return the folder that contains all chains, instead of the first chain's folder.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    MissingInputError
        If the run is missing.
    """
    if name is None:
        path = latest_run(root)
        return path if chains or is_run(path) else find_chains(path)[0]
    folder = named_folder(name, root, lambda path: is_run(path) or find_chains(path))
    if folder is not None:
        return folder if chains or is_run(folder) else find_chains(folder)[0]
    raise MissingInputError(
        f"{name}: is not a run (it has no config.json); check the path, or choose a run that "
        "'sgmc runs' lists"
    )


def open_run(
    name: str | Path | None,
    threads: int,
    reading: Mapping[str, Any] | None = None,
    missing: Callable[[str], None] = lambda line: None,
    *,
    these: bool = False,
) -> Results:
    """Open the named run, and pool its chains if there are several.

    Parameters
    ----------
    name : str, path or None
        As for `find_folder`.
    threads : int
    reading : mapping, optional
        As for `Results`.
    missing : callable, optional
        Called with a line for every chain that is left out.
    these : bool
        As for `Results`.

    Returns
    -------
    Results
        The run, or several chains read as one.

    Raises
    ------
    MissingInputError
        If the run is missing, or cannot be read.
    CheckpointError
        If no chain of a folder has a checkpoint that can be read.
    """
    folder = find_folder(None if name is None else str(name), chains=True)
    if not find_chains(folder):
        return Results(folder, threads, reading, these=these)
    return read_together(open_chains(folder, threads, reading, missing, these=these), folder)


def open_chains(
    name: str | Path | None,
    threads: int,
    reading: Mapping[str, Any] | None = None,
    missing: Callable[[str], None] = lambda line: None,
    *,
    these: bool = False,
) -> list[Results]:
    """Open all chains of the named run that have a checkpoint, in the order of their numbers.

    Parameters
    ----------
    name, threads, reading
        As for `open_run`.
    missing : callable, optional
        Called with a line for every chain that is left out.
    these : bool
        As for `Results`.

    Returns
    -------
    list of Results
        At least one chain.

    Raises
    ------
    MissingInputError
        If the run is missing, or cannot be read.
    CheckpointError
        If no chain has a checkpoint that can be read.
    """
    folder = find_folder(None if name is None else str(name), chains=True)
    chains, refused = [], {}
    for path in find_chains(folder) or [folder]:
        results = Results(path, threads, reading, these=these)
        try:
            results.checkpoint  # noqa: B018 - the property reads the checkpoint
        except CheckpointError as error:
            refused[path.name] = error
        else:
            chains.append(results)
    if not chains:
        raise next(iter(refused.values()))
    for name in refused:
        missing(f"{name}: has no readable checkpoint and is ignored")
    return chains


class ListedRun(NamedTuple):
    """Run as listed by ``sgmc runs``: its model, size, progress and score.

    Attributes
    ----------
    path : Path
    model, algo, corpus : str
        Empty if the run cannot be read.
    topics : tuple of int
        Number of topics of each layer; empty if the user does not choose it.
    documents : int
        Number of training documents.
    state : str
        From ``status.json``: running, interrupted, finished or failed; damaged if it cannot be
        read.
    iteration : int
        Number of iterations done.
    score : float or None
        The newest score on held-out documents: of the posterior average, or of the current topics
        before there is an average; None without a score.
    kind : Score or None
        The kind of ``score``.
    problem : str
        The reason why the run cannot be read; empty if it can.
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
        """The score with its name as text, or a dash if the run has no score."""
        if self.score is None or self.kind is None:
            return "-"
        return f"{self.kind.title} {self.kind.show(self.score)}"

    def record(self) -> dict[str, Any]:
        """Return all fields by name, as values that JSON can represent."""
        record = self._asdict() | {
            "kind": self.kind and self.kind.name,
            "topics": list(self.topics),
        }
        return record | {"problem": self.problem or None}


def list_runs(folder: Path) -> Iterator[ListedRun]:
    """List the runs in a folder and in its subfolders of chains or searches, sorted by name.

    A run that cannot be read is listed with the reason.

    Parameters
    ----------
    folder : Path

    Yields
    ------
    ListedRun
        One run after the other, by name.
    """
    for path in [folder] if is_run(folder) else _runs_in(folder):
        try:
            run = RunDirectory.open(path)
            _, options = model_and_options(run)
            status, corpus = run.status, run.config["corpus"]
            last: dict[str, Any] = {}
            # The file metrics.jsonl may still be empty.
            with contextlib.suppress(SgmcError, ValueError):
                *_, last = run.read_metrics(_END)
            newest = (
                (float(value), kind)
                for kind in scores()
                for key in (kind.name, kind.point)
                if isinstance(value := last.get(key), int | float)
            )
            score, kind = next(newest, (None, None))
            yield ListedRun(
                path,
                options.model,
                options.algo,
                corpus["name"],
                options.widths,
                corpus["training_documents"],
                str(status.get("state", "")),
                step if isinstance(step := status.get("step"), int) else 0,
                score,
                kind,
            )
        except SgmcError as error:
            yield ListedRun(path, problem=str(error))


def _runs_in(folder: Path, *, searches: bool = True) -> Iterator[Path]:
    """Yield the paths of the runs in a folder, and in its subfolders of chains or searches."""
    paths = sorted(
        list_folder(folder) if is_folder(folder) else (),
        key=lambda p: [(t, int(n or 0)) for t, n in re.findall(r"(\D*)(\d*)", p.name)],
    )
    for path in paths:
        try:
            if is_run(path):
                yield path
            elif chains := find_chains(path):
                yield from chains
            elif searches and is_folder(path) and not path.name.startswith("."):
                yield from _runs_in(path, searches=False)
        except MissingInputError:  # `list_runs` shows why the run cannot be read.
            yield path
