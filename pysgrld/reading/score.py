"""Scores of a run on its held-out documents or on other documents."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.chain.exact import read_averages
from pysgrld.core.draws import select_words
from pysgrld.core.restore import Within
from pysgrld.corpus.reading import Listener
from pysgrld.corpus.sources import contents
from pysgrld.errors import CheckpointError, MissingInputError, Severity, UsageError
from pysgrld.evaluate import Estimate, HeldOut, Score, Scorer, pair_parts
from pysgrld.evaluate.own_words import OwnWords, own_words_perplexity
from pysgrld.evaluate.score import pooled_score
from pysgrld.reading.results import Results
from pysgrld.types import Key


class Evaluation(NamedTuple):
    """Scores of a run on held-out documents.

    Attributes
    ----------
    kind : Score
        The kind of the score: perplexity, or minus log predictive density.
    average, point : Estimate
        Score of the posterior average, and of the current topics, with standard errors over documents.
    unigram : Estimate or None
        Score of the word frequencies in training, or None if the run has not recorded them.
    documents, held_out_tokens : int
        Number of documents and of held-out tokens that were scored.
    dropped : int
        Number of documents that could not be split, or have no known word in one of their parts.
    samples : int
        Number of posterior samples in the average; 0 if the run has no sample yet: ``average`` and
        ``point`` then both use the current topics.
    observed_fraction : float or None
        Fraction of the tokens that is observed, or None if documents are scored whole.
    seed : int
    iteration : int
        Iteration of training.
    others : dict
        Further scores of the same samples, as the model's paper defines them.
    numbers : dict
        Further numbers of the model at the newest checkpoint.
    chains : int
        Number of chains of the run. All the scores above use only the first chain.
    pooled : Estimate or None
        Score of the posterior average over all chains, with equal weights. None for a single chain,
        or if a chain has no sample or different held-out documents.
    exact_sweeps : int
        Number of sweeps of the Gibbs refinement after training; 0 if samples come from training.
    own_words : OwnWords or None
        Score of the posterior average, mixed with the frequencies of each document's observed
        words. None if documents are scored whole, if there are fewer than 20, or without a sample.
    """

    kind: Score
    average: Estimate
    point: Estimate
    unigram: Estimate | None
    documents: int
    held_out_tokens: int
    dropped: int
    samples: int
    observed_fraction: float | None
    seed: int
    iteration: int
    others: dict[str, float]
    numbers: dict[str, int]
    chains: int = 1
    pooled: Estimate | None = None
    exact_sweeps: int = 0
    own_words: OwnWords | None = None

    def beside(self) -> dict[str, Estimate]:
        """Return the scores that are shown next to the average score, by name."""
        kind, scores = self.kind, {}
        if self.samples:
            scores[kind.point] = self.point
        if self.pooled is not None:
            scores[kind.pooled] = self.pooled
        if self.unigram is not None:
            scores[kind.unigram] = self.unigram
        return scores

    def record(self) -> dict[str, Any]:
        """Return all values by name, in a form that JSON can represent."""
        kind = self.kind
        scores = {kind.name: self.average, kind.point: self.point, kind.unigram: self.unigram}
        if self.chains > 1:
            scores[kind.pooled] = self.pooled
        record: dict[str, Any] = dict(scores)
        if self.own_words is not None:
            scores[f"own_words_{kind.name}"] = self.own_words.perplexity
            record[f"own_words_{kind.name}"] = self.own_words.perplexity
            record["own_words_strength"] = self.own_words.strength
        for name, score in scores.items():
            record[f"{name}_se"] = None if score is None else score.error
        record["differences"] = {}
        for name, other in self.beside().items():
            gap = self.average.subtract(other)
            record["differences"][name] = {"difference": gap, "se": gap.error}
        record |= {
            "documents": self.documents,
            "held_out_tokens": self.held_out_tokens,
            "dropped": self.dropped,
            "samples": self.samples,
            "observed_fraction": self.observed_fraction,
            "seed": self.seed,
            "iteration": self.iteration,
        }
        if self.exact_sweeps:
            record["exact_sweeps"] = self.exact_sweeps
        if self.chains > 1:
            record["chains"] = self.chains
        return record | self.others | self.numbers


def held_out_of(
    results: Results,
    path: str,
    observed: float | None,
    seed: int,
    scratch: Path,
    listener: Listener,
) -> HeldOut:
    """Read other documents as counts of the run's words, and hold out a part of each document.

    A warning is logged if the run was trained on these documents.

    Parameters
    ----------
    results : Results
    path : str
        Path of the corpus of these documents.
    observed : float or None
        Fraction of each document's tokens that is observed; unused if documents are scored whole.
    seed : int
        Seed of the split.
    scratch : Path
        Folder for temporary files.
    listener : Listener

    Returns
    -------
    HeldOut
        Counts of the run's words, split into two parts unless documents are scored whole.
    """
    corpus = results.read(path, scratch / "corpus", listener)
    trained = results.training_corpus()
    if trained is not None and contents(trained.provenance) & contents(corpus.provenance):
        listener.note(
            f"{path}: the run was trained on these documents, so new documents would have a "
            "worse score; leave out --corpus to score the held-out documents",
            Severity.WARNING,
        )
    ids = np.arange(corpus.documents)
    held_out = results.model.hold_out(corpus.take(ids), ids, observed or 0.0, seed)
    return held_out._replace(doc_ids=np.arange(len(held_out.held_out)))


def held_out_pair(
    results: Results, observed: str, held_out: str, scratch: Path, listener: Listener
) -> HeldOut:
    """Read held-out documents from two corpora: the observed parts and the held-out parts.

    Row i of both corpora belongs to document i. Only the run's words are counted.

    Parameters
    ----------
    results : Results
    observed : str
        Corpus of the observed parts.
    held_out : str
        Corpus of the held-out parts, with the same rows.
    scratch : Path
        Folder for temporary files.
    listener : Listener

    Returns
    -------
    HeldOut
        Counts of the run's words.

    Raises
    ------
    UsageError
        If the run scores documents whole.
    """
    if results.fitted.score.whole:
        raise UsageError(
            f"{results.path}: {results.fitted.kind} scores whole documents; give them with "
            "--corpus FILE"
        )
    parts = []
    for name, path in (("observed", observed), ("held-out", held_out)):
        corpus = results.read(path, scratch / name, listener)
        parts.append(corpus.take(np.arange(corpus.documents)))
    documents = pair_parts(*parts)
    return documents._replace(doc_ids=np.arange(len(documents.observed)))


def score_own(results: Results, chains: Sequence[Results] = ()) -> Evaluation:
    """Return the scores of a run, or of several pooled chains, on the run's held-out documents.

    Parameters
    ----------
    results : Results
    chains : sequence of Results, optional
        Further chains of the same run.

    Returns
    -------
    Evaluation
        Scores at the newest checkpoint.
    """
    scorers = [own_scorer(chain) for chain in (results, *chains)]
    split_by_others = results.options.observed_corpus is not None
    observed = None if split_by_others else results.options.observed
    return _evaluated(results, scorers, observed, results.seed)


def own_scorer(results: Results) -> Scorer:
    """Return the scorer of the run's held-out documents, restored from the newest checkpoint.

    Parameters
    ----------
    results : Results

    Returns
    -------
    Scorer
        Scorer at the newest checkpoint.

    Raises
    ------
    CheckpointError
        If the average was computed on other documents.
    """
    held_out, arrays = results.held_out(), read_averages(results.checkpoint.arrays)
    scorer = results.fitted.scorer(held_out)
    prefix = scorer.prefix
    average = Within(arrays, prefix)
    if average:
        try:
            scorer.restore(average)
        except CheckpointError as error:
            raise CheckpointError(
                f"{results.path / 'holdout'}: these held-out documents differ from the "
                f"documents of the checkpoint's score ({error}); restore the folder"
            ) from None
    return scorer


def score(
    results: Results,
    held_out: HeldOut,
    observed: float | None,
    seed: int,
    tell: Callable[[int], None] = lambda done: None,
    further_chains: Sequence[Results] = (),
) -> Evaluation:
    """Score the stored samples of a run on other documents.

    Parameters
    ----------
    results : Results
    held_out : HeldOut
    observed : float or None
        Fraction of tokens that is observed, or None if the documents were already split.
    seed : int
        Seed of the split, and of the documents' chains.
    tell : callable, optional
        Called with the number of samples scored so far, counted over all chains.
    further_chains : sequence of Results, optional
        Further chains of the same run.

    Returns
    -------
    Evaluation
        Scores of all kept samples.

    Raises
    ------
    UsageError
        If the run has no topics or samples to score.
    """
    if len(held_out.held_out) == 0:
        parts = "" if results.fitted.score.whole else " in both its observed and its held-out part"
        raise UsageError(
            f"no document has words of the vocabulary{parts}, so nothing can be scored; give "
            "other documents"
        )
    scorers, done = [], itertools.count(1)
    for chain in (results, *further_chains):
        scorer = chain.fitted.scorer(held_out)
        for step in chain.kept():
            try:
                sample = chain.read_sample(step)
            except MissingInputError:  # If this error occurs, training has just deleted the sample.
                continue
            draw = chain.fitted.sample_to_draw(sample, scorer.words)
            scorer.update(Key(seed, chain.chain, step), draw)
            tell(next(done))
        scorers.append(scorer)
    return _evaluated(results, scorers, observed, seed)


def _evaluated(
    results: Results, scorers: Sequence[Scorer], observed: float | None, seed: int
) -> Evaluation:
    """Return the evaluation of a run, from the scorers of its chains."""
    scorer, step = scorers[0], results.fitted.record.step
    topics = select_words(results.fitted.current, scorer.words)
    point = scorer.point(Key(seed, results.chain, step), topics)
    counts = results.word_counts()
    parts, kind = scorer.held_out, results.fitted.score
    ids = parts.doc_ids
    same = all(s.samples and np.array_equal(s.held_out.doc_ids, ids) for s in scorers)
    tokens = parts.held_out.tokens
    if observed is None and not kind.whole:
        observed = parts.observed.tokens / (parts.observed.tokens + tokens)
    return Evaluation(
        kind=kind,
        average=scorer.average() if scorer.samples else point,
        point=point,
        unigram=None if counts is None else scorer.unigram(counts),
        documents=len(parts.held_out),
        held_out_tokens=tokens,
        dropped=parts.dropped,
        samples=scorer.samples,
        observed_fraction=observed,
        seed=seed,
        iteration=step,
        exact_sweeps=results.fitted.exact.sweep if results.fitted.exact else 0,
        others=scorer.metrics(),
        numbers=results.fitted.numbers(),
        chains=len(scorers),
        pooled=pooled_score(scorers) if len(scorers) > 1 and same else None,
        own_words=None
        if kind.whole or not scorer.samples
        else own_words_perplexity(parts, scorer.log_averages()),
    )
