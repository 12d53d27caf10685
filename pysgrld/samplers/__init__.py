"""Global samplers: how topics, and shapes above them, move given the statistics of a minibatch.

A row of `SAMPLERS` says what a sampler is; its module has the mathematics and is imported when used.
"""

from pysgrld.samplers.protocol import Sampler, StepFacts
from pysgrld.samplers.table import SAMPLERS, sampler_of

__all__ = ["SAMPLERS", "Sampler", "StepFacts", "sampler_of"]
