"""The budget of one start of a run: how far it goes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pysgrld.errors import plural
from pysgrld.options.resolved import Resolved, option_name


class Budget:
    """Options that may change at every start: of this start, and of the run where it says nothing.

    Parameters
    ----------
    given : mapping
        Options that this start was given.
    options : Resolved
        Of the run.
    per_epoch : int
        Minibatches in a pass over the corpus.
    """

    def __init__(self, given: Mapping[str, Any], options: Resolved, per_epoch: int) -> None:
        self.given, self.options, self.per_epoch = given, options, per_epoch

    @property
    def eval_every(self) -> int | str:
        """Iterations or time between lines of metrics."""
        value: int | str = self._value("eval_every")
        return value

    @property
    def checkpoint_every(self) -> int | str:
        """Iterations or time between checkpoints."""
        value: int | str = self._value("checkpoint_every")
        return value

    @property
    def keep(self) -> int:
        """Checkpoints that are kept."""
        value: int = self._value("keep")
        return value

    def _value(self, field: str) -> Any:
        return self.given.get(option_name(field), getattr(self.options, field))

    @property
    def iterations(self) -> int:
        """Iterations of the whole run; 0 where that is open."""
        budget = []
        if self.given.get("iterations") is not None:
            budget.append(self.given["iterations"])
        if self.given.get("epochs") is not None:
            budget.append(max(1, math.ceil(self.given["epochs"] * self.per_epoch)))
        return min(budget, default=0)

    @property
    def open_ended(self) -> bool:
        """Whether only a settled score ends this run; a time limit of ``auto`` is no budget."""
        timed = self.given.get("time-limit") not in (None, "auto")
        return (
            not timed and self.given.get("epochs") is None and self.given.get("iterations") is None
        )

    def used(self, step: int) -> str | None:
        """Say that the budget is used after so many iterations; None while it is not."""
        if self.iterations and step >= self.iterations:
            return f"{plural(step, 'iteration')} done, the budget is used"
        return None
