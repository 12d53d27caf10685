"""Draw averaged held-out perplexity against training seconds, from runs' metrics.

    python benchmarks/perplexity_over_time.py RUN... -o docs/img/20news.png

Each RUN is a directory that `sgmc train` wrote; train them one after the other on an idle core.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    figure, axes = plt.subplots(figsize=(7, 4.2), constrained_layout=True)
    for colour, run in zip(plt.rcParams["axes.prop_cycle"].by_key()["color"], arguments.runs):  # noqa: B905
        options = json.loads((run / "config.json").read_text())["options"]
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        seconds = [line["train_seconds"] for line in lines]
        averaged = [(s, m["perplexity"]) for s, m in zip(seconds, lines, strict=True)
                    if m["perplexity"] is not None]  # fmt: skip
        axes.plot(
            *zip(*averaged, strict=True), color=colour, lw=2, label=f"{options['algo']}, averaged"
        )
        axes.plot(seconds, [m["point_perplexity"] for m in lines], color=colour, lw=1, ls=":",
                  label=f"{options['algo']}, current topics")  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(top=min(axes.get_ylim()[1], 900))
    axes.set_xticks([5, 10, 20, 40, 80], labels=["5", "10", "20", "40", "80"])
    axes.minorticks_off()
    axes.set_xlabel("training seconds, one thread")
    axes.set_ylabel("held-out perplexity")
    axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside upper center", frameon=False, ncols=3, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(arguments.output, dpi=150)


if __name__ == "__main__":
    main()
