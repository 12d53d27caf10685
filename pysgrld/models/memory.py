"""Estimate of the memory of a run with topics over words, used by several models."""

from __future__ import annotations

from typing import Any

from pysgrld.core import padded_width
from pysgrld.models.protocol import Extent
from pysgrld.options.option import Facts
from pysgrld.options.priors import lowest_eta
from pysgrld.samplers.log_rows import FLOAT_ETA


def topics_memory(
    options: Any, facts: Facts, extent: Extent, widths: tuple[int, ...]
) -> dict[str, int]:
    """Return the bytes that topics, minibatches and others need in a run with topics over words.

    Parameters
    ----------
    options : Resolved
    facts : Facts
    extent : Extent
    widths : tuple of int
        Numbers of topics; the first number is for layer 1. Between scores, a held-out document
        keeps as many values as the sum of these numbers.
    """
    waits, k = options.settings.has_lazy_rows, padded_width(widths[0])
    cells = facts.words * k
    seen = facts.minibatch_words(options.minibatch, options.seed)
    state = (4 if lowest_eta(options.eta) >= FLOAT_ETA else 8) * cells * options.settings.arrays
    batch = (4 + 8) * seen * k
    if waits:
        state += 8 * facts.words
        batch += 12 * cells
    # Bytes of the word ids and counts in the current and the next minibatch. If a minibatch is the
    # whole corpus, these bytes are counted elsewhere.
    is_part = options.minibatch < facts.documents
    distinct = min(facts.length, extent.distinct)
    documents = int(2 * (4 + 4) * options.minibatch * distinct) if is_part else 0
    held_out = extent.held_out
    scored = 0
    if held_out is not None:
        across = sum(padded_width(width) for width in widths)
        scored = 24 * held_out.observed.tokens + 8 * len(held_out.observed) * across
    need = {
        "topics": state,
        "a minibatch's topics and counts": batch,
        "minibatches of documents": documents,
        "counts and topics of other ranks": (8 + 4) * seen * k if extent.shared else 0,
        "documents in hand": 4 * extent.threads * (4 * extent.distinct * k + 8 * extent.tokens),
        "posterior mean and a sample": (8 + 8) * cells if options.samples else 0,
        "held-out documents": scored,
    }
    if getattr(options, "seed_weight", None):
        need["counts and seed counts"] = 8 * 2 * seen * k
    return need
