"""Wikipedia as directions (Liu, Zhu and Song 2016, Figure 5 (b)).

The paper's 150,000 articles are not published. Documents are weighted by tf-idf.
"""

from __future__ import annotations

from pathlib import Path

from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report
from pysgrld.experiments.sam_runs import Study, run_study

STUDY = Study(
    {"topics": 50, "alpha": 10.0, "kappa": 2e4, "sigma": 6e3, "kappa0": 6e3, "weighting": "tf-idf"},
    gamma=1e-1,
    noisy={"minibatch": 100, "friction": 0.5},
    bgibbs={"step-size": (5e-6, 1.0, 0.0)},
    apprmh={"sweeps": 15, "step-size": (5e-5, 1.0, 0.0)},
    svi={"minibatch": 100},
    seconds=300.0,
)


def run(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Train and score all rows; write what `run_study` writes."""
    return run_study(STUDY, setting, listener, corpus)
