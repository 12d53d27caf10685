"""Do intervals hold what they say? Columns of coin flips on the corpora of runs.

    python benchmarks/calibration.py RUN [RUN ...] [--seeds N]

Twenty columns a seed put each run's training documents into two random groups, of one population.
Printed are the topics, in percent of all, whose 90 % intervals of the two groups are disjoint, whose
interval of the difference does not hold 0 (10 is right), and that are called surely more or less.
docs/internals/report.md, "Groups and trends", has what was measured.
"""

from __future__ import annotations

import argparse

import numpy as np

from pysgrld.reading.find_runs import open_run
from pysgrld.report.document_pass import drawn_blocks, drawn_steps, looked_at
from pysgrld.report.population import GroupOfEach, PopulationShares

COLUMNS = 20


def main() -> None:
    """Print a line for each run, seed and way of counting documents."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    print(f"{'run':<20} seed  counted    disjoint  excluded  called")
    for run in asked.runs:
        results = open_run(run, 1)
        corpus, steps = results.training_corpus(), drawn_steps(results)
        if corpus is None or not steps:
            raise SystemExit(f"{run}: its corpus and 20 kept samples are needed")
        rows = looked_at(corpus)
        blocks = list(drawn_blocks(results, corpus, rows, steps, 0))
        for seed in range(asked.seeds):
            rng = np.random.default_rng(seed)
            found: dict[str, list[list[float]]] = {"documents": [], "words": []}
            for _ in range(COLUMNS):
                halves = GroupOfEach(rng.integers(0, 2, len(rows)), 2)
                visitor = PopulationShares(halves)
                visitor.begin(len(steps), len(rows), results.fitted.layers[0])
                for block in blocks:
                    visitor.add(block)
                for name, e in visitor.shares._asdict().items():
                    disjoint = (e.low[:, 0] > e.high[:, 1]) | (e.low[:, 1] > e.high[:, 0])
                    excluded = (e.more_low[:, 0] > 0) | (e.more_high[:, 0] < 0)
                    found[name].append([x.mean() for x in (disjoint, excluded, e.sign[:, 0] != 0)])
            for name, shares in found.items():
                disjoint, excluded, called = 100 * np.mean(shares, axis=0)
                print(
                    f"{run[-20:]:<20} {seed:>4}  {name:<9}  {disjoint:>6.1f} %  {excluded:>6.1f} %  "
                    f"{called:>4.1f} %"
                )


if __name__ == "__main__":
    main()
