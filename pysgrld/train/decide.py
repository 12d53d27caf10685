"""Decision before each iteration of training: train, write a checkpoint, end or stop."""

from __future__ import annotations

import math
from typing import NamedTuple

from pysgrld.chain.communicator import Orders
from pysgrld.run.layout import StopReason


class Clock(NamedTuple):
    """Iteration budget and elapsed times of the current training process.

    Attributes
    ----------
    iterations : int
        Number of iterations of the whole run; 0 to train until the score has converged.
    step_seconds : float
        Seconds of the last iteration, including a checkpoint if one was written; 0 before the
        first.
    seconds : float
        Seconds since the last iteration began.
    seconds_of_training : float
        Maximum number of seconds until the Gibbs refinement begins, if both share a time limit;
        otherwise infinity.
    seconds_left : float
        Seconds until the latest time at which a checkpoint can be started; infinity without a time
        limit.
    """

    iterations: int = 0
    step_seconds: float = 0.0
    seconds: float = 0.0
    seconds_of_training: float = math.inf
    seconds_left: float = math.inf


class Flags(NamedTuple):
    """Conditions in the current process of training on which the next action depends.

    Attributes
    ----------
    save : bool
        A checkpoint is due.
    converged : bool
        The score has converged, and no budget is set.
    refines : bool
        The Gibbs refinement began in an earlier start.
    stop : bool
        A signal has requested a stop.
    evaluate : bool
        The next iteration ends with an evaluation.
    sample : bool
        The next iteration ends with a posterior sample.
    """

    save: bool = False
    converged: bool = False
    refines: bool = False
    stop: bool = False
    evaluate: bool = False
    sample: bool = False


class Order(NamedTuple):
    """Next action, which is the same for all MPI processes.

    Attributes
    ----------
    orders : Orders
    stop : StopReason or None
        Reason if training ends or stops.
    evaluate : bool
        An evaluation follows the iteration.
    """

    orders: Orders = Orders.NONE
    stop: StopReason | None = None
    evaluate: bool = False


def decide(step: int, clock: Clock, flags: Flags) -> Order:
    """Decide before an iteration whether to write a checkpoint, end, stop or train.

    Parameters
    ----------
    step : int
        Number of iterations done.
    clock : Clock
    flags : Flags

    Returns
    -------
    Order
        The action: a checkpoint that is due has priority, then an end, then a stop.
    """
    if flags.save:
        return Order(Orders.SAVE)
    if clock.iterations and step >= clock.iterations:
        return Order(Orders.END, StopReason.BUDGET)
    if flags.converged:
        return Order(Orders.END, StopReason.CONVERGED)
    if flags.refines:
        return Order(Orders.END)
    if clock.step_seconds and clock.seconds > clock.seconds_of_training:
        return Order(Orders.END, StopReason.HALF_OF_LIMIT)
    if flags.stop or clock.step_seconds > clock.seconds_left:
        return Order(Orders.STOP, StopReason.STOPPED)
    look = flags.evaluate or flags.sample
    return Order(Orders.LOOK if look else Orders.NONE, evaluate=flags.evaluate)
