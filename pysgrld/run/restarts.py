"""Whether a run comes forward at all: a batch system must not start it again for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysgrld.errors import NoProgressError
from pysgrld.run.directory import RunDirectory

#: Starts without progress after which the next one is refused.
FRUITLESS = 2

#: Bytes of the log that hold the last starts, unless these did so much that they brought something.
_LAST = 1 << 16

#: Events after which a start has ended in order, whatever it achieved.
_ENDED = ("finished", "failed", "refused")

#: What a person types: no batch system stops a job in this way.
_BY_HAND = ("SIGINT",)


def fruitless_starts(log: Sequence[Mapping[str, Any]], step: int) -> int:
    """Count the last starts in a row that brought nothing.

    Such a start ended without a word, or was told to stop, before it had written a checkpoint of a
    later step than the one it began at. Errors that were reported do not count: they have exit
    codes of their own. Neither does Ctrl-C.

    Parameters
    ----------
    log : sequence of mapping
        The events of ``log.jsonl``.
    step : int
        Of the checkpoint from which the run would go on now; 0 without one.
    """
    count = 0
    in_order = False
    for record in reversed(log):
        event = record.get("event")
        if event == "started":
            began = record.get("step")
            if in_order or not isinstance(began, int) or began < step:
                break
            count += 1
        elif event in _ENDED:
            break
        elif event == "interrupted":
            in_order = record.get("reason") in _BY_HAND
    return count


def refuse_endless_starts(run: RunDirectory, step: int) -> None:
    """Refuse a third start in a row without progress; the one after it may try again.

    Raises
    ------
    NoProgressError
        Saying how to go on.
    WriteError
        If the log cannot be written.
    """
    count = fruitless_starts(run.read_log(_LAST), step)
    if count < FRUITLESS:
        return
    run.log_event("refused", step=step, fruitless=count)
    raise NoProgressError(
        f"{run.path}: the last {count} starts went on from iteration {step} and ended without a "
        "later checkpoint (killed, out of memory, or with less time than an iteration and a "
        "checkpoint take), so this one is not begun; look at log.jsonl, give them more time or "
        "memory or a shorter --checkpoint-every, and run the same command again"
    )
