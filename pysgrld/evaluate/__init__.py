"""Document completion: one protocol for every sampler and baseline."""

from pysgrld.evaluate.completion import Completion, visits
from pysgrld.evaluate.split import HeldOut, pair, split

__all__ = ["Completion", "HeldOut", "pair", "split", "visits"]
