"""Mirrored Langevin beside SGRLD on Wikipedia (Hsieh, Kavis, Rolland and Cevher 2018, Figure 1 (b)).

100,000 documents in minibatches of 50 under the settings of SGRLD's released code. The paper runs
"SMLD-approximate" alone, as exp(y) would overflow, with the five best steps of a grid that it does not
name; it says "exactly the same setting" of SGRLD. With logarithms nothing overflows, so exact SMLD
is shown too. Where the paper takes phi from is not said: docs/internals/reproductions.md.
"""

from __future__ import annotations

from pathlib import Path

from pysgrld.experiments.corpora import read_parts
from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report
from pysgrld.experiments.lda_runs import Length, TrainingRow, run_rows

ITERATIONS, QUICK_ITERATIONS, OBSERVED = 2000, 30, 0.9
SETTINGS = {"preset": "smld-2018", "burn-in": 0, "sample-every": 10}
#: Steps of the approximation: about where it neither stands still nor shakes.
STEPS = (1.0, 0.3, 0.1, 0.03, 0.01)
ROWS = (
    TrainingRow("sgrld", {"algo": "sgrld", **SETTINGS}),
    TrainingRow("smld", {"algo": "smld", **SETTINGS}),
    *(
        TrainingRow(
            f"smld-approx {h:g}",
            {"algo": "smld-approx", "step-size": (h, 1000.0, 0.55), **SETTINGS},
        )
        for h in STEPS
    ),
)


def run(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Train and score all rows; write what `run_rows` writes."""
    data = read_parts(corpus, OBSERVED, setting, listener)
    length = Length(iterations=QUICK_ITERATIONS if setting.quick else ITERATIONS)
    title = f"{corpus.name}: held-out perplexity, 50 topics, minibatches of 50"
    return run_rows(setting, listener, ROWS, data, length, title, say, by_documents=True)


def say(scores: dict[str, float]) -> list[str]:
    """Say whether the approximation is below SGRLD, and where exact SMLD ends."""
    approximate = {n: v for n, v in scores.items() if n.startswith("smld-approx")}
    found = []
    if "sgrld" in scores and approximate:
        best = min(approximate, key=lambda name: approximate[name])
        below = "below" if approximate[best] < scores["sgrld"] else "not below"
        found.append(f"{best} at {approximate[best]:.0f} is {below} SGRLD at {scores['sgrld']:.0f}")
    if "smld" in scores and "sgrld" in scores:
        found.append(f"exact SMLD ends at {scores['smld']:.0f}")
    return found
