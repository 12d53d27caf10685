"""Topic models by stochastic-gradient MCMC.

The names below are loaded when they are first used, so that ``import pysgrld`` and ``sgmc --help``
cost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    "LDA": "pysgrld.estimators.lda",
    "DeepLDA": "pysgrld.estimators.deep_lda",
    "DPMixture": "pysgrld.estimators.dp_mixture",
    "SAM": "pysgrld.estimators.sam",
    "diagnose": "pysgrld.reading.diagnose.compare",
    "verdict": "pysgrld.reading.diagnose.verdict",
}
_MODULES = {"report", "simplex", "sphere"}
__all__ = [
    "LDA",
    "SAM",
    "DPMixture",
    "DeepLDA",
    "__version__",
    "diagnose",
    "report",
    "simplex",
    "sphere",
    "verdict",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":  # reading the metadata takes half the time of help
        from importlib.metadata import version

        return version("pysgrld")
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name in _MODULES:
        return import_module(f"pysgrld.{name}")
    raise AttributeError(f"module 'pysgrld' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
