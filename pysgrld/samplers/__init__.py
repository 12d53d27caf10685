"""Samplers that update global parameters, such as topics, given statistics of a minibatch.

Each value of `SAMPLERS` describes a sampler and lists its options. A sampler's module, which has
the mathematics, is imported when the sampler is used.
"""

from pysgrld.samplers.sampler import Sampler, SamplerFacts, SamplerSettings
from pysgrld.samplers.table import SAMPLERS, choose_exact_sampler, choose_sampler

__all__ = [
    "SAMPLERS",
    "Sampler",
    "SamplerFacts",
    "SamplerSettings",
    "choose_exact_sampler",
    "choose_sampler",
]
