"""Topic models by stochastic-gradient MCMC.

The names below are loaded when they are first used, so that ``import pysgrld`` and ``sgmc --help``
cost nothing.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version as _version
from typing import Any

__version__ = _version("pysgrld")

_PUBLIC = {
    "LDA": "pysgrld.estimators",
    "DeepLDA": "pysgrld.estimators",
    "DPMixture": "pysgrld.dp_mixture",
    "diagnose": "pysgrld.diagnosis",
    "verdict": "pysgrld.verdicts",
}
_MODULES = {"simplex"}
__all__ = ["LDA", "DPMixture", "DeepLDA", "__version__", "diagnose", "simplex", "verdict"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name in _MODULES:
        return import_module(f"pysgrld.{name}")
    raise AttributeError(f"module 'pysgrld' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
