"""Three newsgroups as directions (Liu, Zhu and Song 2016, Figure 5 (a)).

The settings are those of ``--preset sam-2016``. The corpus is the one of Reisinger et al. (2010), whose
documents are counts of words divided by their norm, without document frequencies.
"""

from __future__ import annotations

from pathlib import Path

from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report
from pysgrld.experiments.sam_runs import Study, run_study

STUDY = Study(
    {"topics": 20, "alpha": 10.0, "kappa": 3e4, "sigma": 1e4, "kappa0": 1e4, "weighting": "tf"},
    gamma=1e-2,
    noisy={},
    bgibbs={},
    apprmh={},
    svi={},
    seconds=60.0,
)


def run(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Train and score all rows; write what `run_study` writes."""
    return run_study(STUDY, setting, listener, corpus)
