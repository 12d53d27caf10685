"""Values of the options of a spherical admixture model, with defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pysgrld.options.option import Resolved


@dataclass(frozen=True, kw_only=True)
class SphericalOptions(Resolved):
    """Values of the options of a spherical admixture model."""

    topics: int
    alpha: float
    kappa: float
    sigma: float
    kappa0: float
    weighting: Literal["tf-idf", "tf"]
    theta_parametrisation: Literal["root", "flat"]
    theta_step: float | None
