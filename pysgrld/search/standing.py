"""The standing of a contender, read from the newest checkpoint of its chains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pysgrld.chain.posterior import has_settled, history_in
from pysgrld.core.draws import at_words
from pysgrld.evaluate import Estimate, Scorer
from pysgrld.reading.results import Results
from pysgrld.reading.score import own_scorer
from pysgrld.search.decide import Standing
from pysgrld.search.plan import Contender
from pysgrld.types import Key


def standing(contender: Contender, runs: Sequence[Path], threads: int) -> Standing:
    """Read where a contender stands: the mean over its chains, which score the same documents.

    Parameters
    ----------
    contender : Contender
    runs : sequence of Path
        Its chains.
    threads : int
    """
    found = [Results(path, threads) for path in runs]
    scorers = [own_scorer(results) for results in found]
    figures = [figure_of(results, scorer) for results, scorer in zip(found, scorers, strict=True)]
    first, scorer = found[0], scorers[0]
    arrays = first.checkpoint.arrays
    history = history_in(arrays).tolist()
    step = first.checkpoint.step
    return Standing(
        contender.name,
        contender.place,
        Estimate.averaged(figures),
        scorer.share_gained,
        gained_since_half(first, history, step, scorer),
        has_settled(history, scorer.share_gained),
        step,
        len(history),
    )


def figure_of(results: Results, scorer: Scorer) -> Estimate:
    """Give the score of a chain's average, or of its topics where it has no samples."""
    if scorer.samples:
        return scorer.average()
    key = Key(results.seed, results.chain, results.checkpoint.step)
    return scorer.point(key, at_words(results.current, scorer.words))


def gained_since_half(
    results: Results, history: Sequence[float], step: int, scorer: Scorer
) -> float | None:
    """Give the share of the perplexity that the second half of the iterations has bought.

    None where there was no sample by then.
    """
    every, burn_in = results.options.sample_every, results.options.burn_in
    before = (step // 2 - burn_in) // every
    if before < 1 or before >= len(history):
        return None
    share = scorer.share_gained(history[before - 1], history[-1])
    return float(share) if np.isfinite(share) else None
