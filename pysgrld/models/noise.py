"""The noise of minibatches in a run's draws, and the step size at which there is little."""

from __future__ import annotations

from pysgrld.models.fitted import Record
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Schedule, noise_inflation, quiet_step


def step_size(record: Record, step: int) -> float:
    """Give the step size of the sampling iteration after ``step``."""
    options = record.options
    return Schedule(*options.step_size)(max(0, step - options.warm_up))


def goes_on(record: Record) -> bool:
    """Say whether an iteration sees all documents, each where the last one left it."""
    options = record.options
    return SAMPLERS[options.algo].whole_corpus or options.keep_documents is not None


def noise_of(record: Record, rate: float, step: int) -> float | None:
    """Give the noise inflation of a run's draws with this rate: 1 of an exact sampler.

    None where the sampler's is not known.
    """
    options, sampler = record.options, SAMPLERS[record.options.algo]
    if not (sampler.inflates or sampler.whole_corpus):
        return None
    if goes_on(record):
        return 1.0
    h = step_size(record, step) * rate
    return noise_inflation(h, record.documents, options.minibatch)


def remedy_of(record: Record, rate: float) -> str | None:
    """Give the step, as it is typed, at which the noise inflation is `QUIET`; None where not known."""
    if not SAMPLERS[record.options.algo].inflates:
        return None
    return f"--step-size {quiet_step(record.documents, record.options.minibatch, rate):.2g},1,0"
