"""Document completion: one protocol for every sampler and baseline."""

from pysgrld.evaluate.completion import Completion, Score
from pysgrld.evaluate.split import HeldOut, pair, split

__all__ = ["Completion", "HeldOut", "Score", "pair", "split"]
