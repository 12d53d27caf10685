"""Global samplers: how topics, and shapes above them, move given the statistics of a minibatch.

A row of `SAMPLERS` says what a sampler is, and its options; its module has the mathematics and is
imported when used.
"""

from pysgrld.samplers.sampler import Sampler, SamplerFacts, SamplerSettings
from pysgrld.samplers.table import SAMPLERS, exact_for, sampler_of

__all__ = ["SAMPLERS", "Sampler", "SamplerFacts", "SamplerSettings", "exact_for", "sampler_of"]
