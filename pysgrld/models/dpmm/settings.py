"""Settings of the sampling of a mixture."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """Settings of the sampling of a mixture.

    Attributes
    ----------
    algo : {"gibbs", "scir", "sgrld"}
        How sticks and components move: fresh draws, exact transitions, Langevin steps.
    base : float
        Symmetric Dirichlet parameter of components, per word.
    shape, rate : float
        Gamma prior of the concentration c.
    start : int
        Components that documents are spread over at first.
    step, stick_step : float
        Lengths h of the steps of components and of sticks; ``gibbs`` has none.
    concentration : {"sticks", "escobar-west"}
        What c is drawn given: the sticks, or the number of occupied components. The latter is
        exact with ``gibbs``, and an approximation with stochastic steps.
    swaps : bool
        Labels of components that have an order are swapped.
    reuse : bool
        Components beyond the last occupied one are kept and come back when their number does, as in
        the released code of Baker et al.; they have a memory then.
    """

    algo: str = "gibbs"
    base: float = 0.5
    shape: float = 1.0
    rate: float = 1.0
    start: int = 20
    step: float = 0.1
    stick_step: float = 0.1
    concentration: str = "sticks"
    swaps: bool = False
    reuse: bool = False
