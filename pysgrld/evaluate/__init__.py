"""Held-out documents, and what scores them: one protocol for every sampler and baseline of a model."""

from pysgrld.evaluate.completion import Completion, visits
from pysgrld.evaluate.scorer import Scorer, scorer_of
from pysgrld.evaluate.split import HeldOut, pair, split, whole

__all__ = ["Completion", "HeldOut", "Scorer", "pair", "scorer_of", "split", "visits", "whole"]
