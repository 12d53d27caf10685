"""Figures of docs/internals/reproductions.md that train for long, each with its number of seeds.

    python benchmarks/reproductions.py --data FOLDER [NAME...] [--threads N] [-o FOLDER] [--pictures]
    python benchmarks/reproductions.py --data FOLDER --grid [--threads N] [-o FOLDER]

FOLDER has the corpora of the table below. Each experiment is that of ``sgmc reproduce NAME --seeds N``,
but every finished row is kept in the output folder: a stopped command continues with the next row when
it is started again. Rows are trained again if their settings have changed; after a change of a sampler
or of scoring, delete the folder. ``--pictures`` copies the pictures of finished experiments to docs/img.
Experiments run in the order of the table, the shortest first, unless names are given. Hours are
processor hours of all seeds on the machine of docs/internals/benchmarks.md.

``--grid`` instead trains the grid of settings from which the rows of ``sgrld-wikipedia`` with names in
-1, -2 and -3 were chosen, and prints the three best settings of each algorithm. It scores a thousand
training articles that are held back; test articles are not read.
"""

from __future__ import annotations

import argparse
import contextlib
import pickle
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from pysgrld.evaluate.held_out import split
from pysgrld.experiments import EXPERIMENTS, curves
from pysgrld.experiments.corpora import QUICK_SCORED, QUICK_TRAIN, SplitCorpus, read_counts
from pysgrld.experiments.frame import ExperimentSetting
from pysgrld.experiments.lda_curves import OBSERVED, ONLINE
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
    "sgrld-wikipedia": Figure("wikipedia", 3, 1.4),
    "dlda-table1": Figure("20news", 1, 2.4),
    "dlda-wikipedia": Figure("wikipedia", 3, 3.0),
    "sam-wikipedia": Figure("wikipedia", 3, 5.0),
}

#: Priors (alpha, eta) of the grid: those of the released code of SGRLD, and those of Hoffman's code.
PRIORS = ((0.01, 0.0001), (0.02, 0.02))
#: Numbers of sweeps over a document, and step sizes (a, b, c), of each algorithm in the grid.
GRID = {
    "sgrld": ((10, 50), ((0.003, 1000.0, 0.55), (0.01, 1000.0, 0.55), (0.03, 1000.0, 0.55))),
    "hsvg": ((10, 40), ((0.251, 10.0, 0.6), (0.0544, 64.0, 0.7), (0.0078, 1025.0, 0.7))),
    "ovb": ((20, 100), ((0.251, 10.0, 0.6), (0.0544, 64.0, 0.7), (0.0078, 1025.0, 0.7))),
}
#: Number of training documents that are held back, and seconds of training for each setting.
HELD_BACK, GRID_SECONDS = 1000, 30.0


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


def search_grid(data: Path, out: Path, threads: int, *, quick: bool) -> None:
    """Train all settings of the grid, and print the three best of each algorithm."""
    folder = out / "grid"
    folder.mkdir(parents=True, exist_ok=True)
    setting = ExperimentSetting(folder, quick, threads=threads, pictures=False)
    documents, words = read_counts(
        next((data / "wikipedia").glob("docword.*train.txt*")), setting, Lines()
    )
    if quick:
        documents = documents.take(np.arange(QUICK_TRAIN))
    order = np.random.default_rng(1).permutation(len(documents))
    held_back, train = (
        np.sort(part) for part in np.split(order, [QUICK_SCORED if quick else HELD_BACK])
    )
    held_out = split(documents.take(held_back), np.arange(len(held_back)), OBSERVED, seed=1)
    rows = [
        curves.TrainingRow(
            f"{algo} {alpha:g} {eta:g} {sweeps} {','.join(f'{value:g}' for value in step)}",
            ONLINE
            | {"algo": algo, "alpha": alpha, "eta": (eta,), "sweeps": sweeps, "step-size": step}
            | ({"warm-up": 0, "counts": "sampled"} if algo == "sgrld" else {}),
        )
        for algo, (numbers, steps) in GRID.items()
        for (alpha, eta), sweeps, step in product(PRIORS, numbers, steps)
    ]
    with mock.patch.object(curves, "map_in_processes", partial(keep_rows, folder / "finished")):
        report = curves.run_rows(
            setting,
            Lines(),
            rows,
            SplitCorpus(documents.take(train), len(words), held_out),
            curves.Length(GRID_SECONDS),
            "",
            lambda scores: [],
        )
    for algo in GRID:
        best = sorted((row[1], row[0]) for row in report.rows if row[0].startswith(algo) and row[1])
        print(*(f"{name}: {perplexity:.1f}" for perplexity, name in best[:3]), sep="\n")


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
    parser.add_argument("--grid", action="store_true", help="train the grid of sgrld-wikipedia")
    options = parser.parse_args()
    if options.grid:
        search_grid(options.data, options.out, options.threads, quick=options.quick)
        return
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
