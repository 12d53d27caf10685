"""The number of sweeps that documents get at a visit given topics, and which of them count."""

from __future__ import annotations

from typing import NamedTuple

from pysgrld.core import core
from pysgrld.evaluate.lengths import FRESH_SWEEPS, longest_counted
from pysgrld.evaluate.protocol import Visiting

#: Sweeps when it goes on from the previous posterior sample, the second half kept: its topics have moved
#: little, and half of what a visit costs is its beginning and end.
FURTHER_SWEEPS = 4
#: Sweeps before the first of a document's draws: the last state alone counts, as with those that go on.
DRAW_SWEEPS = FRESH_SWEEPS // 2
#: Sweeps from one draw to the next: enough that twenty draws cover the truth where topics overlap.
NEXT_DRAW_SWEEPS = 12


class Sweeps(NamedTuple):
    """Gibbs sweeps of one visit.

    Attributes
    ----------
    purpose : Purpose
        Separates their randomness from that of other visits.
    number, kept : int
        How many there are, and how many of them, the last, are averaged.
    go_on : bool
        Whether the documents' kept chains are what moves.
    """

    purpose: core.Purpose
    number: int
    kept: int
    go_on: bool


def sweeps_of_new(number: int, *, longest: int) -> Sweeps:
    """Give the sweeps of new documents, whose proportions are wanted; the second half is kept.

    Parameters
    ----------
    number : int
    longest : int
        Tokens of the longest document: of one that is too long for all kept sweeps to be counted, the
        last sweep alone is kept.
    """
    kept = number // 2 if longest <= longest_counted(number) else 1
    return Sweeps(core.Purpose.infer, number, kept, go_on=False)


def sweeps_of(how: Visiting, *, fresh: bool) -> Sweeps:
    """Give the sweeps of a visit of held-out documents.

    Parameters
    ----------
    how : Visiting
        Not of new documents.
    fresh : bool
        Whether the documents' kept chains have not begun yet.
    """
    half = FRESH_SWEEPS // 2
    if how is Visiting.AFRESH:
        return Sweeps(core.Purpose.point_evaluation, FRESH_SWEEPS, half, go_on=False)
    if not fresh:
        kept = FURTHER_SWEEPS // 2 if how is Visiting.CONTINUE else 1
        return Sweeps(core.Purpose.evaluation, FURTHER_SWEEPS, kept, go_on=True)
    kept = half if how is Visiting.CONTINUE else 1
    return Sweeps(core.Purpose.evaluation, FRESH_SWEEPS, kept, go_on=True)


def sweeps_of_draw(*, fresh: bool) -> Sweeps:
    """Give the sweeps that lead to a document's next draw, of which the last counts alone.

    Parameters
    ----------
    fresh : bool
        Whether the documents' kept chains have not begun yet.
    """
    number = DRAW_SWEEPS if fresh else NEXT_DRAW_SWEEPS
    return Sweeps(core.Purpose.infer, number, 1, go_on=True)
