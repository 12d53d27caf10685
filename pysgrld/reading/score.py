"""A run's scores on held-out documents: its own running average, or its kept samples on others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pysgrld.core.draws import at_words
from pysgrld.corpus.listener import Listener
from pysgrld.corpus.sources import contents
from pysgrld.errors import CheckpointError, UsageError
from pysgrld.evaluate import HeldOut, Scorer, pair, pooled
from pysgrld.reading.results import Results
from pysgrld.reading.values import Evaluation
from pysgrld.types import Key


def held_out_of(
    results: Results,
    path: str,
    observed: float | None,
    seed: int,
    scratch: Path,
    listener: Listener,
) -> HeldOut:
    """Read other documents over the run's words; split them by seed, or not, as the run scores them.

    It is said if they were trained on.
    """
    corpus = results.read(path, scratch / "corpus", listener)
    trained = results.training_corpus()
    if trained is not None and contents(trained.provenance) & contents(corpus.provenance):
        listener.note(
            f"warning: {path}: the run was trained on it, so this is no figure of new documents; that of "
            "the run's held-out ones comes without --corpus"
        )
    found = results.divide(corpus.take(np.arange(corpus.documents)), observed, seed)
    return found._replace(doc_ids=np.arange(len(found.held_out)))


def held_out_pair(
    results: Results, observed: str, held_out: str, scratch: Path, listener: Listener
) -> HeldOut:
    """Read other documents over the run's words, in two parts that others have split.

    Raises
    ------
    UsageError
        If the run scores documents whole.
    """
    if results.score.whole:
        raise UsageError(
            f"{results.path}: {results.fitted.kind} scores documents whole: give them with --corpus FILE"
        )
    parts = []
    for name, path in (("observed", observed), ("held-out", held_out)):
        corpus = results.read(path, scratch / name, listener)
        parts.append(corpus.take(np.arange(corpus.documents)))
    found = pair(*parts)
    return found._replace(doc_ids=np.arange(len(found.observed)))


def score_own(results: Results, others: Sequence[Results] = ()) -> Evaluation:
    """Give the run's running average on its own held-out documents, and that of all its chains.

    Parameters
    ----------
    results : Results
    others : sequence of Results, optional
        Further chains of the same run.
    """
    scorers = [own_scorer(chain) for chain in (results, *others)]
    split_by_others = results.options.observed_corpus is not None
    observed = None if split_by_others else results.options.observed
    return _scores(results, scorers, observed, results.seed)


def own_scorer(results: Results) -> Scorer:
    """Give the scorer of the run's own held-out documents, with its running average.

    Raises
    ------
    CheckpointError
        If the average is of other documents.
    """
    held_out, arrays = results.held_out(), results.checkpoint.arrays
    scorer = results.fitted.scorer(held_out)
    prefix = scorer.prefix
    kept = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
    if kept:
        try:
            scorer.restore(kept)
        except CheckpointError as error:
            raise CheckpointError(
                f"{results.path / 'holdout'}: not the documents of the checkpoint's average "
                f"({error}); restore the folder"
            ) from None
    return scorer


def score(
    results: Results,
    held_out: HeldOut,
    observed: float | None,
    seed: int,
    tell: Callable[[int], None] = lambda done: None,
    others: Sequence[Results] = (),
) -> Evaluation:
    """Score the kept samples on other documents.

    Parameters
    ----------
    results : Results
    held_out : HeldOut
    observed : float or None
        Share of tokens that is observed; None where others made the split.
    seed : int
        Seed of the split, and of the documents' chains.
    tell : callable, optional
        Told how many samples are done, of all chains.
    others : sequence of Results, optional
        Further chains of the same run.

    Raises
    ------
    UsageError
        If there is nothing to score.
    """
    if len(held_out.held_out) == 0:
        parts = "" if results.score.whole else " in both its parts"
        raise UsageError(f"no document has known words{parts}: nothing to score")
    scorers, done = [], itertools.count(1)
    for chain in (results, *others):
        scorer = chain.fitted.scorer(held_out)
        for step, sample in chain.each_sample():
            draw = chain.fitted.draw_of(sample, scorer.words)
            scorer.update(Key(seed, chain.chain, step), draw)
            tell(next(done))
        scorers.append(scorer)
    return _scores(results, scorers, observed, seed)


def _scores(
    results: Results, scorers: Sequence[Scorer], observed: float | None, seed: int
) -> Evaluation:
    scorer, step = scorers[0], results.checkpoint.step
    some = at_words(results.current, scorer.words)
    point = scorer.point(Key(seed, results.chain, step), some)
    counts = results.word_counts()
    parts, kind = scorer.held_out, results.score
    if observed is None and not kind.whole:
        observed = parts.observed.tokens / (parts.observed.tokens + scorer.tokens)
    return Evaluation(
        kind=kind,
        average=scorer.average() if scorer.samples else point,
        point=point,
        unigram=None if counts is None else scorer.unigram(counts),
        documents=len(parts.held_out),
        held_out_tokens=scorer.tokens,
        dropped=parts.dropped,
        samples=scorer.samples,
        observed_fraction=observed,
        seed=seed,
        iteration=step,
        others=scorer.figures(),
        numbers=results.fitted.numbers(),
        chains=len(scorers),
        pooled=pooled(scorers) if len(scorers) > 1 and _comparable(scorers) else None,
    )


def _comparable(scorers: Sequence[Scorer]) -> bool:
    """Whether every chain has an average, and all of the same held-out documents."""
    first = scorers[0].held_out.doc_ids
    return all(s.samples and np.array_equal(s.held_out.doc_ids, first) for s in scorers)
