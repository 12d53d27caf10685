"""Invariants of the arrays of topic models, for the record of a run, which knows no models."""

from __future__ import annotations

from pysgrld.types import Condition, Invariant

_TOPICS = Invariant(Condition.ROWS_SUM_TO_1, row="topic")

#: Of a kept sample: each row of ``phi``, ``phi2``, ... is a distribution; ``phi`` must be there.
SAMPLE = {"phi": _TOPICS, "phi?*": _TOPICS}

#: Of a checkpoint: unnormalised topics are not negative.
STATE = {"g": Invariant(Condition.NOT_NEGATIVE), "*.g": Invariant(Condition.NOT_NEGATIVE)}
