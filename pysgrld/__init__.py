"""Topic models by stochastic-gradient MCMC.

The public names of the package are imported when they are first used, so that ``import pysgrld``
and ``sgmc --help`` cost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pysgrld.estimators.deep_lda import DeepLDA as DeepLDA
    from pysgrld.estimators.dp_mixture import DPMixture as DPMixture
    from pysgrld.estimators.lda import LDA as LDA
    from pysgrld.estimators.sam import SAM as SAM
    from pysgrld.reading.compare_chains import diagnose as diagnose
    from pysgrld.reading.verdict import verdict as verdict
    from pysgrld.report.compare import compare as compare
    from pysgrld.samplers.targets import simplex as simplex
    from pysgrld.samplers.targets import sphere as sphere

    __version__: str

_PUBLIC = {
    "LDA": "pysgrld.estimators.lda",
    "DeepLDA": "pysgrld.estimators.deep_lda",
    "DPMixture": "pysgrld.estimators.dp_mixture",
    "SAM": "pysgrld.estimators.sam",
    "compare": "pysgrld.report.compare",
    "diagnose": "pysgrld.reading.compare_chains",
    "verdict": "pysgrld.reading.verdict",
}
_MODULES = {
    "report": "pysgrld.report",
    "simplex": "pysgrld.samplers.targets.simplex",
    "sphere": "pysgrld.samplers.targets.sphere",
}
__all__ = [
    "LDA",
    "SAM",
    "DPMixture",
    "DeepLDA",
    "__version__",
    "compare",
    "diagnose",
    "report",
    "simplex",
    "sphere",
    "verdict",
]


if not TYPE_CHECKING:  # Type checkers ignore this branch, so they report unknown names.

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from pysgrld.run.machine import RELEASE

            return RELEASE
        if name in _PUBLIC or name in _MODULES:
            import_module("pysgrld.errors").check_interpreter()
        if name in _PUBLIC:
            return getattr(import_module(_PUBLIC[name]), name)
        if name in _MODULES:
            return import_module(_MODULES[name])
        raise AttributeError(f"module 'pysgrld' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
