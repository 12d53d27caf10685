"""Replication of topics: for each topic, the number of runs on half of the documents that find it.

The result says how reliable a topic is for other texts like the corpus. Chains on the same corpus,
or chains that start from the same clusters of topics, agree more with each other than runs on new
texts do. Therefore each replicate has a random half of the run's documents and an independent start;
two replicates have complementary halves. Documents drawn with replacement would take twice the time
and give no better results. Training ends with a short Gibbs refinement. A replicate finds a topic of
the run if the proportions of one of the replicate's topics correlate with the topic's proportions in
the same documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pysgrld.chain.exact import refinement_sweeps
from pysgrld.core.draws import Draw
from pysgrld.corpus import Corpus
from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.evaluate.matching import CORRELATED, correlations
from pysgrld.models.fitted import evenly_spaced
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.word_order import top_words
from pysgrld.options.option import Resolved
from pysgrld.reading.replicated import can_replicate
from pysgrld.reading.results import Results
from pysgrld.train.begin import begin, begin_refinement
from pysgrld.train.short_chains import FirstTopics, clusters_of_topics
from pysgrld.types import Doubles, Int64s

#: Maximum number of documents in which topic proportions are compared.
DOCUMENTS = 500
#: Maximum number of training iterations of a replicate (a new run on half of the documents).
ITERATIONS = 300
#: Maximum number of sweeps of the Gibbs refinement of a replicate. Without a refinement, replicates
#: find fewer topics than runs on new texts; with 400 sweeps they find as many as with 100.
SWEEPS = 100
#: Number of top words that are compared between a topic and the matching topic of a replicate.
TOP = 10
#: Part of the random seed, so that replicates do not use the random numbers of other computations.
_SEED = 1910


class Replication(NamedTuple):
    """Similarity of the topics of replicates (runs on half of the documents) to a run's topics.

    Attributes
    ----------
    correlation : (R, K) float64
        Correlation of the proportions of a topic with the proportions of the most similar topic of a
        replicate.
    overlap : (R, K) float64
        Fraction of the ten top words that both topics have.
    """

    correlation: Doubles
    overlap: Doubles

    @property
    def runs(self) -> int:
        """Number R of replicates."""
        return len(self.correlation)

    @property
    def times_found(self) -> Int64s:
        """Number of replicates that found each topic, (K,)."""
        times: Int64s = (self.correlation >= CORRELATED).sum(axis=0)
        return times


def replicate_topics(
    results: Results, runs: int, tell: Callable[[int, int], None] = lambda done, total: None
) -> Replication:
    """Train new runs on halves of the documents, and compare their topics with the topics of a run.

    Parameters
    ----------
    results : Results
        Results of a run of LDA, which has its training corpus.
    runs : int
        Number of replicates, at least 1.
    tell : callable (done, total), optional
        Called after each replicate.

    Raises
    ------
    UsageError
        If the model is not LDA.
    MissingInputError
        If the training corpus is missing.
    """
    options = results.options
    if not can_replicate(options):
        raise UsageError(
            f"{results.path}: --replicate does not apply to --model {options.model}; it needs "
            "--model lda"
        )
    corpus = results.training_corpus()
    if corpus is None:
        raise MissingInputError(
            f"{results.missing_corpus}, so --replicate cannot train on its documents; restore the "
            "corpus, or train with 'sgmc train'"
        )
    ids = results.training_documents(corpus)[:]
    compared = evenly_spaced(ids, DOCUMENTS)
    documents = corpus.take(compared)
    topics = options.widths[0]
    proportions = results.proportions(documents, compared)
    words = top_words(results.phi()[:, :topics], TOP)
    facts = CorpusFacts(corpus.words, results.fitted.record.tokens // 2)
    wholes = corpus.about.wholes(ids)
    iterations = min(options.burn_in * 2 or ITERATIONS, ITERATIONS)
    correlation, overlap = np.zeros((runs, topics)), np.zeros((runs, topics))
    tell(0, runs)
    for number in range(runs):
        seed = [_SEED, results.seed, results.chain]
        half = draw_half(ids, wholes, seed, number)
        generator = np.random.default_rng([*seed, number])
        draw = train_replicate(
            *(corpus, half, options, generator, facts, results.threads, iterations), sweeps=SWEEPS
        )
        others = results.proportions(documents, compared, draw=draw)
        likeness = correlations(proportions, others)
        match = likeness.argmax(axis=1)
        correlation[number] = likeness.max(axis=1)
        other_words = top_words(results.phi(0, draw)[:, :topics], TOP)
        overlap[number] = [
            len(set(words[k].tolist()) & set(other_words[match[k]].tolist())) / TOP
            for k in range(topics)
        ]
        tell(number + 1, runs)
    return Replication(correlation, overlap)


def draw_half(ids: Int64s, wholes: Int64s | None, seed: Sequence[int], number: int) -> Int64s:
    """Draw half of the documents without replacement; all chunks of a document are drawn together.

    Halves with the numbers 2 i and 2 i + 1 have no document in common, and together all documents.

    Parameters
    ----------
    ids : (n,) int64
    wholes : (n,) int64 or None
        Number of the whole document of each document, from 0; None if no document was cut.
    seed : sequence of int
    number : int
        Number of the half, from 0.

    Returns
    -------
    (m,) int64
        Drawn documents in ascending order; a single document if there is only one.
    """
    units = np.arange(len(ids)) if wholes is None else wholes
    pair = [*seed, number // 2, 1]  # The last number sets it apart from seeds of chains.
    order = np.random.default_rng(pair).permutation(int(units.max()) + 1)
    half = order[number % 2 :: 2] if len(order) > 1 else order
    return np.sort(ids[np.isin(units, half)])


def train_replicate(
    corpus: Corpus,
    documents: Int64s,
    options: Resolved,
    generator: np.random.Generator,
    facts: CorpusFacts,
    threads: int,
    iterations: int,
    first: FirstTopics | None = None,
    sweeps: int = 0,
) -> Draw:
    """Train a chain on some documents, and return the mean of its topics over posterior samples.

    Parameters
    ----------
    corpus : Corpus
    documents : (n,) int64
        Documents to train on, in ascending order; a document may be there more than once.
    options : Resolved
    generator : numpy.random.Generator
        Generator that draws the seed of the chain.
    facts : CorpusFacts
    threads, iterations : int
    first : FirstTopics, optional
        Initial topics of the chain; by default they come from new short chains.
    sweeps : int
        Maximum number of sweeps of a Gibbs refinement. There is none if the options exclude it, or
        if the corpus is too large for one.

    Returns
    -------
    Draw
        Posterior mean of the topics; of a variational approximation, its last topics.
    """
    options = replace(options, seed=int(generator.integers(2**62)))
    stream, run_on = Epochs.of(options, corpus, documents), RunOn(threads)
    posterior = begin(options, stream, facts, run_on)
    chain = posterior.chain
    try:
        if first is None:
            first = clusters_of_topics(stream, options, facts, run_on)
        if first is not None:
            chain.start_from_topics(first.topics, first.tokens)
        while chain.step < iterations or (chain.draws and not posterior.samples):
            chain.advance()
            if posterior.is_due:
                posterior.take_sample()
        sweeps = min(sweeps, refinement_sweeps(chain, options, open_ended=True))
        if sweeps:
            stage = begin_refinement(posterior, options, corpus.words, run_on, None, sweeps=sweeps)
            with stage.run_chains(lambda chain: None):
                while not stage.done:
                    stage.advance()
            posterior = stage.posterior
        mean = posterior.mean()
        # Variational approximations have no samples.
        return chain.draw() if mean is None else mean
    finally:
        chain.close()
