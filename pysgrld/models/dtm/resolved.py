"""Values of the options of dynamic topics, with defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pysgrld.errors import CheckpointError
from pysgrld.options.option import Resolved
from pysgrld.options.time import SlicesWithTokens

if TYPE_CHECKING:
    from pysgrld.types import Slicing


@dataclass(frozen=True, kw_only=True)
class DynamicOptions(Resolved):
    """Values of the options of dynamic topics, including the time slices found in the corpus."""

    topics: int
    alpha: float
    time: str
    slices: tuple[str | int, tuple[str, ...], tuple[float | str, ...], tuple[int, ...]]
    drift: float
    spread: float

    @property
    def found_slices(self) -> SlicesWithTokens:
        """The time slices, with the number of tokens in each slice.

        Raises
        ------
        CheckpointError
            If the run's record of the slices is damaged.
        """
        if len(self.slices) != 4 or len({len(part) for part in self.slices[1:]}) > 1:
            raise CheckpointError(
                "config.json is damaged: the lists of 'slices' differ in length; restore the file"
            )
        return SlicesWithTokens(*self.slices)

    @property
    def slicing(self) -> Slicing:
        """The time slices, with the rule by which documents are assigned to slices."""
        from pysgrld.types import Slicing

        return Slicing(self.time, self.found_slices.names, self.found_slices.begins)
