"""Resolved options of a spherical admixture model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pysgrld.options.resolved import Resolved


@dataclass(frozen=True, kw_only=True)
class SphericalOptions(Resolved):
    """Resolved options of a spherical admixture model."""

    topics: int
    alpha: float
    kappa: float
    sigma: float
    kappa0: float
    weighting: Literal["tf-idf", "tf"]
    friction: float | None
    inner_steps: int | None
    redraw: Literal["on", "off"] | None
    noise_estimate: Literal["on", "off"] | None
    leapfrog_steps: int | None
    theta_parametrisation: Literal["root", "flat"]
    theta_step: float | None
