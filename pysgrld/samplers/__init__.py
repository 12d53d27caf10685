"""Samplers that update topics, and the gamma shapes above them, given minibatch statistics.

A row of `SAMPLERS` describes a sampler and lists its options. The sampler's module has the
mathematics and is imported when it is used.
"""

from pysgrld.samplers.sampler import Sampler, SamplerFacts, SamplerSettings
from pysgrld.samplers.table import SAMPLERS, exact_for, sampler_of

__all__ = ["SAMPLERS", "Sampler", "SamplerFacts", "SamplerSettings", "exact_for", "sampler_of"]
