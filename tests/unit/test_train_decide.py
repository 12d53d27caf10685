"""The decision before an iteration, by a table of cases."""

import math

import pytest

from pysgrld.chain.communicator import Orders
from pysgrld.run.layout import StopReason
from pysgrld.train.decide import Clock, Flags, Order, decide

LATE = Clock(step_seconds=2.0, seconds_left=1.0)
HALF = Clock(step_seconds=1.0, seconds=60.0, seconds_of_training=50.0)
CASES = {
    "nothing": (0, Clock(), Flags(), Order()),
    "evaluation": (3, Clock(), Flags(evaluate=True), Order(Orders.LOOK, evaluate=True)),
    "sample": (3, Clock(), Flags(sample=True), Order(Orders.LOOK)),
    "one before the budget": (9, Clock(10), Flags(), Order()),
    "budget": (10, Clock(10), Flags(), Order(Orders.END, StopReason.BUDGET)),
    "beyond the budget": (12, Clock(10), Flags(), Order(Orders.END, StopReason.BUDGET)),
    "no budget": (10**9, Clock(0), Flags(), Order()),
    "converged": (5, Clock(), Flags(converged=True), Order(Orders.END, StopReason.CONVERGED)),
    "refinement was begun": (5, Clock(), Flags(refines=True), Order(Orders.END)),
    "half of the limit": (5, HALF, Flags(), Order(Orders.END, StopReason.HALF_OF_LIMIT)),
    "half, before the first": (5, HALF._replace(step_seconds=0.0), Flags(), Order()),
    "half, not yet": (5, HALF._replace(seconds=50.0), Flags(), Order()),
    "signal": (5, Clock(), Flags(stop=True), Order(Orders.STOP, StopReason.STOPPED)),
    "late": (5, LATE, Flags(), Order(Orders.STOP, StopReason.STOPPED)),
    "just in time": (5, LATE._replace(seconds_left=2.0), Flags(), Order()),
    "no limit": (5, LATE._replace(seconds_left=math.inf), Flags(), Order()),
    "save before the end": (10, Clock(10), Flags(save=True), Order(Orders.SAVE)),
    "save before a stop": (5, LATE, Flags(save=True, stop=True), Order(Orders.SAVE)),
    "end before a stop": (10, LATE._replace(iterations=10), Flags(stop=True),
                          Order(Orders.END, StopReason.BUDGET)),
    "budget before refinement": (10, Clock(10), Flags(refines=True),
                                 Order(Orders.END, StopReason.BUDGET)),
    "converged before a stop": (5, LATE, Flags(converged=True, stop=True),
                                Order(Orders.END, StopReason.CONVERGED)),
    "stop before an evaluation": (5, LATE, Flags(evaluate=True),
                                  Order(Orders.STOP, StopReason.STOPPED)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_its_order(case):
    """Red with: any two conditions of `decide` in another order, or > turned into >=."""
    step, clock, flags, order = CASES[case]
    assert decide(step, clock, flags) == order
