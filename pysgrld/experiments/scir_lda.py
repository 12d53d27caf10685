"""SCIR beside SGRLD on Wikipedia (Baker, Fearnhead, Fox and Nemeth 2018, Figure 3 (a)).

The released code gives the two samplers different priors: SCIR eta = 1, alpha = 0.005, SGRLD eta =
0.0001, alpha = 0.01. Both are shown as published and, in the second panel, with one prior. Collapsed
Gibbs, of the paper's supplement, sees the whole corpus in each iteration and has the prior of SCIR.
"""

from __future__ import annotations

from pathlib import Path

from pysgrld.experiments.corpora import read_parts
from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report
from pysgrld.experiments.lda_runs import Length, TrainingRow, run_rows

ITERATIONS, QUICK_ITERATIONS, OBSERVED = 1000, 30, 0.9
PUBLISHED, COMMON = "as published: priors differ", "one prior: alpha 0.01, eta 0.05"

_SHARED = {
    "topics": 100,
    "minibatch": 50,
    "sweeps": 200,
    "warm-up": 0,
    "burn-in": 0,
    "sample-every": 5,
    "counts": "sampled",
    "lazy": "off",
}
_SCIR = {"algo": "scir", "step-size": (0.5, 10.0, 0.33), **_SHARED}
_SGRLD = {"algo": "sgrld", "step-size": (0.01, 1000.0, 0.6), **_SHARED}
_GIBBS = {"algo": "cgs", "topics": 100, "burn-in": 100, "sample-every": 5}
_PRIOR = {"alpha": 0.01, "eta": (0.05,)}
_PRIOR_OF_SCIR = {"alpha": 0.005, "eta": (1.0,)}
#: Sweeps of collapsed Gibbs: nothing moves any more after the first hundred.
SWEEPS = 300
ROWS = (
    TrainingRow("scir-2018", _SCIR | _PRIOR_OF_SCIR, PUBLISHED),
    TrainingRow("sgrld-2018", _SGRLD | {"alpha": 0.01, "eta": (0.0001,)}, PUBLISHED),
    TrainingRow("cgs-2018", _GIBBS | _PRIOR_OF_SCIR, PUBLISHED, SWEEPS),
    TrainingRow("scir", _SCIR | _PRIOR, COMMON),
    TrainingRow("sgrld", _SGRLD | _PRIOR, COMMON),
    TrainingRow("cgs", _GIBBS | _PRIOR, COMMON, SWEEPS),
)


def run(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Train and score all rows; write what `run_rows` writes."""
    data = read_parts(corpus, OBSERVED, setting, listener)
    length = Length(iterations=QUICK_ITERATIONS if setting.quick else ITERATIONS)
    title = f"{corpus.name}: held-out perplexity, 100 topics, minibatches of 50"
    return run_rows(setting, listener, ROWS, data, length, title, say, by_documents=True)


def say(scores: dict[str, float]) -> list[str]:
    """Say which sampler is lower, with the published priors and with one."""
    found = []
    for a, b, how in (
        ("scir-2018", "sgrld-2018", "as published"),
        ("scir", "sgrld", "with one prior"),
    ):
        if a in scores and b in scores:
            ahead = "lower" if scores[a] < scores[b] else "not lower"
            found.append(f"{how} SCIR is {ahead}: {scores[a]:.0f} against {scores[b]:.0f} of SGRLD")
    return found
