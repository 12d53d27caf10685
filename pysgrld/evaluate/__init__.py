"""Held-out documents, and scorers of draws on them; knows no model."""

from pysgrld.evaluate.completion import PERPLEXITY, Completion, visits
from pysgrld.evaluate.estimate import Estimate
from pysgrld.evaluate.pooled import pooled
from pysgrld.evaluate.protocol import DocumentDraw, Reader, Readers, Scorer, Visiting
from pysgrld.evaluate.score import Score
from pysgrld.evaluate.split import HeldOut, pair, split, whole

__all__ = [
    "PERPLEXITY",
    "Completion",
    "DocumentDraw",
    "Estimate",
    "HeldOut",
    "Reader",
    "Readers",
    "Score",
    "Scorer",
    "Visiting",
    "pair",
    "pooled",
    "split",
    "visits",
    "whole",
]
