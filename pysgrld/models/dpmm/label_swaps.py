"""Exchanges of the labels of ordered components: docs/internals/mathematics.md, "Label swaps"."""

from __future__ import annotations

import numpy as np

from pysgrld.core.arithmetic import log
from pysgrld.types import Array, Doubles, Int64s

#: Uniforms that an exchange reads for each component.
UNIFORMS = 4


def swapped(
    log_weights: Doubles, log_rest: Doubles, members: Int64s, u: Doubles
) -> tuple[Int64s, Int64s]:
    """Let components exchange their labels: any two that have documents, and neighbours.

    Two exact Metropolis steps given the allocations of all documents, whichever of them an iteration
    sees. Pairs have no member in common, so all of a kind are decided at once. Gives the component that
    is at each place then, and the place that its stick comes from.

    Parameters
    ----------
    log_weights, log_rest : (J,) float64
        Logarithms of the weights w_j, and of 1 - v_j.
    members : (J,) int64
        How many of all documents each component has.
    u : (J, UNIFORMS) float64
    """
    k, members, log_rest = len(members), members.copy(), log_rest.copy()
    component, stick = np.arange(k), np.arange(k)
    choice, *log_u = u[:, 0], *log(u[:, 1:]).T

    def swap(j: Int64s, other: Int64s, accepted: Array, *moved: Array) -> None:
        j, other = j[accepted], other[accepted]
        for array in moved:
            array[j], array[other] = array[other], array[j]

    there = np.flatnonzero(members)
    there = there[np.argsort(choice[there])]
    j, other = there[: len(there) // 2], there[len(there) // 2 :][: len(there) // 2]
    gain = (log_weights[j] - log_weights[other]) * (members[other] - members[j])
    swap(j, other, log_u[0][j] < gain, component, members)
    for first in (0, 1):
        j = np.arange(first, k - 1, 2)
        gain = members[j] * log_rest[j + 1] - members[j + 1] * log_rest[j]
        swap(j, j + 1, log_u[1 + first][j] < gain, component, members, stick, log_rest)
    return component, stick
