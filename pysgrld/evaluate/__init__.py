"""Evaluation of posterior draws on held-out documents, for all kinds of models."""

from pysgrld.evaluate.completion import PERPLEXITY, Completion, visits
from pysgrld.evaluate.held_out import HeldOut, hold_out_whole, pair_parts
from pysgrld.evaluate.reader import DocumentDraw, Reader, Readers, VisitPurpose
from pysgrld.evaluate.score import DensityScorer, Estimate, Score, Scorer

__all__ = [
    "PERPLEXITY",
    "Completion",
    "DensityScorer",
    "DocumentDraw",
    "Estimate",
    "HeldOut",
    "Reader",
    "Readers",
    "Score",
    "Scorer",
    "VisitPurpose",
    "hold_out_whole",
    "pair_parts",
    "visits",
]
