"""Values of the options of a Dirichlet-process mixture, with defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pysgrld.options.option import Resolved


@dataclass(frozen=True, kw_only=True)
class MixtureOptions(Resolved):
    """Values of the options of a Dirichlet-process mixture."""

    topics: None = None
    eta: float
    dp_prior: tuple[float, float]
    dp_conc: Literal["sticks", "ew"]
    dp_stick_step: float | None
    dp_start: int
    dp_swaps: Literal["on"] | None
    dp_reuse: Literal["on", "off"]
