"""Compare intervals of a run with those of other samplers, and with later draws of its own chains.

    python benchmarks/beside.py width RUN [RUN ...] [--iterations 4000]
    python benchmarks/beside.py rest RUN [RUN ...] [--sweeps 6000]

``width`` trains ``gibbs`` twice on the corpus of a run, from starts of its own, and compares intervals of
the ten top words of topics that both have. ``rest`` lets the exact chains of a copy of a run go on, and
counts what of their later draws the intervals of the run hold. docs/calibration.md has what was found.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from pysgrld.chain.exact import read_trace
from pysgrld.evaluate.matching import DISTRIBUTIONS, assign
from pysgrld.evaluate.matching import SAME as ALIKE
from pysgrld.reading import intervals
from pysgrld.reading.find_runs import open_run


def show_width(asked: argparse.Namespace) -> None:
    """Print widths of intervals of top words relative to those of gibbs, both from their own starts."""
    for path in asked.runs:
        run = open_run(path, 2)
        k, half = run.fitted.layers[0], asked.iterations // 2
        with tempfile.TemporaryDirectory() as place:
            for seed in (0, 1):
                how = [
                    "--algo",
                    "gibbs",
                    "-k",
                    str(k),
                    "--seed",
                    str(seed),
                    "-q",
                    "--set",
                    "samples=200",
                ]
                how += ["--iterations", str(2 * half), "--set", f"burn-in={half}"]
                how += ["--set", f"sample-every={max(1, half // 200)}", "--out", f"{place}/{seed}"]
                command = [sys.executable, "-P", "-m", "pysgrld", "train", f"{path}/corpus", *how]
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            gibbs = [open_run(f"{place}/{seed}", 2) for seed in (0, 1)]
            phi = np.ascontiguousarray(gibbs[0].phi()[:, :k].T)
            top = gibbs[0].top(10)
            wanted = gibbs[0].word_intervals(top)
            draws = np.stack([weights for weights, _ in gibbs[0].top_word_draws(top)])
            print(f"{path}: topics in common, width beside gibbs, draws of gibbs held")
            for name, found in (("the run", run), ("gibbs again", gibbs[1])):
                other = np.ascontiguousarray(found.phi()[:, :k].T)
                mine = assign(DISTRIBUTIONS.similarity(phi, other))
                same = DISTRIBUTIONS.overlap(phi, other[mine]) >= ALIKE
                words = np.empty_like(top)
                words[mine] = top
                bounds = found.word_intervals(words)
                assert bounds is not None
                assert wanted is not None
                low, high = bounds.low[mine], bounds.high[mine]
                width = ((high - low) / (wanted.high - wanted.low))[same]
                held = ((low <= draws) & (draws <= high))[:, same]
                print(
                    f"  {name}: {same.sum()} of {k}, {np.median(width):.2f}, {100 * held.mean():.0f} %"
                )


def show_rest(asked: argparse.Namespace) -> None:
    """Print the share of later draws of a run's exact chains that its intervals contain."""
    for path in asked.runs:
        run = open_run(path, 2)
        with tempfile.TemporaryDirectory() as place:
            longer = f"{place}/run"
            shutil.copytree(path, longer)
            how = ["train", "--resume", longer, "--exact-sweeps", str(asked.sweeps), "-q"]
            command = [sys.executable, "-P", "-m", "pysgrld", *how]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            later = open_run(longer, 2)
            print(f"{path}: beside sweeps {asked.sweeps // 2} to {asked.sweeps}")
            for places in (slice(0, 10), slice(10, 30)):
                words = run.top(30)[:, places]
                bounds = run.word_intervals(words)
                assert bounds is not None
                mine, draws = (
                    np.stack([weights for weights, _ in r.top_word_draws(words)])
                    for r in (run, later)
                )
                held = (bounds.low <= draws) & (draws <= bounds.high)
                apart = np.abs(mine.mean(axis=0) - draws.mean(axis=0)) / draws.std(axis=0)
                wide = np.diff(np.quantile(draws, (0.05, 0.95), axis=0), axis=0)[0]
                print(
                    f"  words {places.start + 1} to {places.stop}: {100 * held.mean():.1f} %, means "
                    f"{apart.mean():.2f} deviations apart, width "
                    f"{np.median((bounds.high - bounds.low) / wide):.2f}"
                )
            for name in ("shares", "documents"):
                traces = [read_trace(r.checkpoint.arrays, name) for r in (run, later)]
                assert traces[0] is not None
                draws = [(one, np.zeros(one.shape, bool)) for one in traces[0]]
                bounds = intervals.interval([draws], exact=True)
                assert bounds is not None
                held = (bounds.low <= traces[1]) & (traces[1] <= bounds.high)
                print(f"  {name}: {100 * held.mean():.1f} %")


def main() -> None:
    """Run the requested comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(required=True)
    of_width = parts.add_parser("width")
    of_width.add_argument("runs", nargs="+")
    of_width.add_argument("--iterations", type=int, default=4000, help="of gibbs")
    of_width.set_defaults(show=show_width)
    of_rest = parts.add_parser("rest")
    of_rest.add_argument("runs", nargs="+")
    of_rest.add_argument("--sweeps", type=int, default=6000)
    of_rest.set_defaults(show=show_rest)
    asked = parser.parse_args()
    asked.show(asked)


if __name__ == "__main__":
    main()
