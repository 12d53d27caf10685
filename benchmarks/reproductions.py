"""Figures of docs/internals/reproductions.md that train for long, each with its number of seeds.

    python benchmarks/reproductions.py --data FOLDER [NAME...] [--threads N] [-o FOLDER] [--pictures]

FOLDER has the corpora of the table below. Each experiment is that of ``sgmc reproduce NAME --seeds N``,
but every finished row is kept in the output folder: a stopped command continues with the next row when
it is started again. Rows are trained again if their settings have changed; after a change of a sampler
or of scoring, delete the folder. ``--pictures`` copies the pictures of finished experiments to docs/img.
Experiments run in the order of the table, the shortest first, unless names are given. Hours are
processor hours of all seeds on the machine of docs/internals/benchmarks.md.
"""

from __future__ import annotations

import argparse
import contextlib
import pickle
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from pysgrld.experiments import EXPERIMENTS, curves
from pysgrld.experiments.frame import ExperimentSetting
from pysgrld.experiments.processes import map_in_processes

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "img"


class Figure(NamedTuple):
    """Experiment to run: its corpus, the number of seeds, and about how many processor hours it takes."""

    corpus: str
    seeds: int
    hours: float


FIGURES = {
    "smld-lda": Figure("wikipedia", 1, 0.2),
    "sgrld-nips": Figure("nips/docword.nips.txt.gz", 1, 0.4),
    "scir-lda": Figure("wikipedia", 5, 0.9),
    "sam-20news": Figure("20news-different", 3, 1.0),
    "sgrld-wikipedia": Figure("wikipedia", 3, 1.0),
    "dlda-table1": Figure("20news", 1, 2.4),
    "dlda-wikipedia": Figure("wikipedia", 3, 3.0),
    "sam-wikipedia": Figure("wikipedia", 3, 5.0),
}


class Lines:
    """Listener of an experiment that prints its notes."""

    def note(self, line: str, *_: Any) -> None:
        print(line, flush=True)

    @contextlib.contextmanager
    def counting(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        yield lambda number: None


def keep_rows(
    folder: Path,
    work: Callable[..., Any],
    tasks: Sequence[curves.CurveTask],
    costs: Sequence[float],
    processes: int,
    tell: Callable[[int], None],
    done: Callable[[int, Any], None],
) -> list[Any]:
    """Run the tasks that have no file in a folder as `map_in_processes` does; read the other results."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{task.name}-{task.options.seed}.pickle" for task in tasks]
    settings = [repr((task.options, task.iterations, task.seconds)) for task in tasks]
    results: dict[int, Any] = {}
    for position, path in enumerate(paths):
        if path.exists():
            made_with, result = pickle.loads(path.read_bytes())
            if made_with == settings[position]:
                results[position] = result
                done(position, result)
    left = [position for position in range(len(tasks)) if position not in results]

    def keep(number: int, result: Any) -> None:
        position = left[number]
        results[position] = result
        part = paths[position].with_suffix(".part")
        part.write_bytes(pickle.dumps((settings[position], result)))
        part.replace(paths[position])
        done(position, result)

    if left:
        rest = [tasks[i] for i in left], [costs[i] for i in left]
        map_in_processes(work, *rest, processes, tell, keep)
    return [results[position] for position in range(len(tasks))]


def reproduce(name: str, data: Path, out: Path, threads: int, *, quick: bool) -> list[Path]:
    """Run an experiment, print its table and sentences, and return its files."""
    figure, folder = FIGURES[name], out / name
    folder.mkdir(parents=True, exist_ok=True)
    setting = ExperimentSetting(folder, quick, threads=threads, seeds=figure.seeds)
    with mock.patch.object(curves, "map_in_processes", partial(keep_rows, folder / "finished")):
        report = EXPERIMENTS[name].run(setting, Lines(), data / figure.corpus)
    print(*report.head, sep="\t")
    for row in report.rows:
        print(*(f"{v:.1f}" if isinstance(v, float) else v for v in row), sep="\t")
    print(*report.sentences, sep="\n", flush=True)
    return report.files


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1, help="rows at the same time")
    parser.add_argument("-o", "--out", type=Path, default=Path("reproductions"))
    parser.add_argument("--pictures", action="store_true", help="copy pictures to docs/img")
    parser.add_argument("--quick", action="store_true", help="only a test, as in sgmc reproduce")
    options = parser.parse_args()
    if unknown := set(options.names) - set(FIGURES):
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    for name in options.names or FIGURES:
        print(
            f"{name}: {FIGURES[name].seeds} seeds, about {FIGURES[name].hours:g} hours", flush=True
        )
        files = reproduce(name, options.data, options.out, options.threads, quick=options.quick)
        for path in files if options.pictures and not options.quick else ():
            if path.suffix == ".png":
                shutil.copyfile(path, PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()
