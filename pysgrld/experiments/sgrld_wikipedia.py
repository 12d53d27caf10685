"""Online topic models of Wikipedia (Patterson and Teh 2013, Figure 2 (b)), and all samplers beside them.

The paper chose priors, steps and sweeps of each algorithm by a grid over its test set and does not say
which; here nothing is chosen by the test documents. SGRLD has the constants of the authors' released
code, the variational algorithms those of Hoffman's (minibatches of 50, alpha = eta = 1/K). The second
panel has sgmc's defaults for every sampler and baseline.
"""

from __future__ import annotations

from pathlib import Path

from pysgrld.experiments.corpora import read_parts
from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report
from pysgrld.experiments.lda_runs import Length, TrainingRow, run_rows

TOPICS, SECONDS, OBSERVED = 50, 60.0, 0.9
PAPER, OURS = "the paper's three, published settings", "every sampler and baseline, sgmc's defaults"

_ONLINE = {"minibatch": 50, "alpha": 1.0 / TOPICS, "eta": (1.0 / TOPICS,), "topics": TOPICS}
ROWS = (
    TrainingRow("sgrld-2013", {"preset": "sgrld-2013"}, PAPER),
    TrainingRow("ovb-2010", {"algo": "ovb", **_ONLINE}, PAPER),
    TrainingRow("hsvg-2012", {"algo": "hsvg", **_ONLINE}, PAPER),
    *(
        TrainingRow(algo, {"algo": algo, "model": "lda", "topics": TOPICS}, OURS)
        for algo in (
            "scir",
            "sgrld",
            "tlasgr",
            "smld",
            "gibbs",
            "cgs",
            "ovb",
            "hsvg",
            "tlfsgr",
            "smld-approx",
        )
    ),
)


def run(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Train and score all rows; write what `run_rows` writes."""
    data = read_parts(corpus, OBSERVED, setting, listener)
    title = f"{corpus.name}: held-out perplexity, {TOPICS} topics"
    return run_rows(setting, listener, ROWS, data, Length(SECONDS), title, say)


def say(scores: dict[str, float]) -> list[str]:
    """Say whether the order is the paper's, and which row is best at sgmc's defaults."""
    found = []
    paper = ("sgrld-2013", "hsvg-2012", "ovb-2010")
    if all(name in scores for name in paper):
        order = sorted(paper, key=lambda name: scores[name])
        as_claimed = (
            "as the paper has it" if tuple(order) == paper else "the paper: sgrld, hsvg, ovb"
        )
        found.append(
            "published settings: "
            + " < ".join(f"{name} {scores[name]:.0f}" for name in order)
            + f" ({as_claimed})"
        )
    ours = sorted((name for name in scores if name not in paper), key=lambda name: scores[name])
    if len(ours) > 1:
        found.append("defaults: " + " < ".join(f"{name} {scores[name]:.0f}" for name in ours))
    return found
