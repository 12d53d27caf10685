"""The start of a chain, from resolved options and documents, and of the averages over it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pysgrld.chain.clusters import cluster_means
from pysgrld.chain.communicator import Orders
from pysgrld.chain.exact import SETTLED_BEFORE, ExactStage, follows
from pysgrld.chain.posterior import Posterior
from pysgrld.chain.protocol import Chain
from pysgrld.core.draws import weights_of
from pysgrld.corpus.minibatches import Epochs, Minibatches
from pysgrld.errors import NumericalError
from pysgrld.evaluate import HeldOut
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.table import model_of
from pysgrld.options.option import Resolved
from pysgrld.types import Doubles, Floats

#: Iterations of a short chain where there is no warm-up, and between its draws, of the second half.
_SHORT, _BETWEEN = 50, 5
#: The first seed that no run can have.
_OTHERS = 2**63


def begin(
    options: Resolved,
    stream: Minibatches,
    corpus: CorpusFacts,
    run_on: RunOn,
    held_out: HeldOut | None = None,
    *,
    keep_mean: bool = True,
) -> Posterior:
    """Start a chain of the options' model, and the averages over its posterior samples.

    Parameters
    ----------
    options : Resolved
        Resolved options, of the model's own class.
    stream : Minibatches
    corpus : CorpusFacts
    run_on : RunOn
    held_out : HeldOut, optional
        Documents that posterior samples are scored on.
    keep_mean : bool
        Whether the mean of the topics is kept.
    """
    chain = model_of(options.model).chain(options, stream, corpus, run_on)
    posterior = averages(
        chain, options, corpus.words, run_on.threads, held_out, keep_mean=keep_mean
    )
    if follows(chain, options):
        posterior.least = SETTLED_BEFORE
    return posterior


def averages(
    chain: Chain,
    options: Resolved,
    words: int,
    threads: int,
    held_out: HeldOut | None = None,
    *,
    keep_mean: bool = True,
) -> Posterior:
    """Return averages over the posterior samples of a chain over V words; of none yet."""
    scorer = None
    if held_out is not None:
        scorer = model_of(options.model).scorer(options, held_out, words, threads)
    return Posterior(chain, scorer, options.burn_in, options.sample_every, keep_mean)


def short_iterations(options: Resolved) -> int:
    """Return the iterations of a short chain: those of the warm-up, and some with noise."""
    warm_up = options.warm_up or _SHORT
    return warm_up + warm_up // 5


class FirstTopics(NamedTuple):
    """Topics that a chain begins with instead of random ones, as `Chain.begin_from` takes them.

    Attributes
    ----------
    topics : (V' or less, K or more) float32
    tokens : (K,) float64
        Tokens of the corpus that each topic has.
    """

    topics: Floats
    tokens: Doubles


class Stopped(Exception):
    """Raised to stop while the next minibatch is not there yet, or before the first iteration."""


def clusters_of_topics(
    stream: Minibatches, options: Resolved, corpus: CorpusFacts, run_on: RunOn
) -> FirstTopics | None:
    """Return what several short chains find, where the options ask for that.

    Each of them is trained a little further than the warm-up goes, from random numbers of its own, and
    the draws of its last quarter are averaged. Processes deal them out: each trains its chains by itself,
    over all documents, and the first one gets what they have found.

    Parameters
    ----------
    stream : Minibatches
        Of the chain that is to begin.
    options : Resolved
    corpus : CorpusFacts
    run_on : RunOn

    Returns
    -------
    FirstTopics or None
        None where topics are random, as where a short chain is no longer finite: the chain itself then
        says why, and keeps its state. None too of all processes but the first.

    Raises
    ------
    Stopped
        If there is a reason to stop, here or in another process.
    """
    starts, comm = options.starts or 1, run_on.comm
    if starts < 2 or not isinstance(stream, Epochs):
        return None
    k, own = options.widths[0], []
    for first in range(0, starts, comm.size):
        number, orders = first + comm.rank, Orders.NONE
        try:
            if number < starts:
                seed = _OTHERS + (starts * options.seed + number) % _OTHERS
                alone = replace(options, seed=seed, starts=1)
                own.append(_short_chain(stream, alone, corpus, run_on))
        except Stopped:
            orders = Orders.STOP
        except NumericalError:
            orders = Orders.END
        all_orders = comm.meet(orders=orders).orders
        if all_orders & Orders.STOP:
            raise Stopped
        if all_orders & Orders.END:
            return None
    empty = np.zeros((0, k, corpus.words), np.float32)
    found = comm.gather_rows(np.stack(own) if own else empty)
    if comm.rank:
        return None
    numbers = [n for rank in range(comm.size) for n in range(rank, starts, comm.size)]
    topics = np.ascontiguousarray(cluster_means([found[at] for at in np.argsort(numbers)], k).T)
    return FirstTopics(topics, np.full(k, corpus.tokens / k))


def _short_chain(stream: Epochs, options: Resolved, corpus: CorpusFacts, run_on: RunOn) -> Floats:
    """Return the mean topics of a short chain, (K, V), which this process trains alone."""
    k, iterations = options.widths[0], short_iterations(options)
    chain = model_of(options.model).short_chain(
        options, stream, corpus, RunOn(run_on.threads, run_on.waiting)
    )
    try:
        phi = np.zeros((k, corpus.words))
        for t in range(1, iterations + 1):
            run_on.waiting()
            chain.advance()
            if 4 * t > 3 * iterations and (iterations - t) % _BETWEEN == 0:
                phi += weights_of(chain.draw())[:, :k].T
    finally:
        chain.close()
    mean: Floats = (phi / phi.sum(axis=1, keepdims=True)).astype(np.float32)
    return mean


def begin_exactly(
    posterior: Posterior,
    options: Resolved,
    words: int,
    threads: int,
    held_out: HeldOut | None,
    *,
    sweeps: int,
    start: bool = True,
) -> ExactStage:
    """Start the exact stage of a chain that has been trained, or make it to be restored.

    Parameters
    ----------
    posterior : Posterior
        Of training.
    options : Resolved
    words, threads : int
    held_out : HeldOut, optional
    sweeps : int
        Of each chain.
    start : bool
        False where it is to be restored.
    """
    trained = posterior.chain
    chains = model_of(options.model).exact_chains(options, trained, threads, start=start)
    own = averages(chains[0], options, words, threads, held_out, keep_mean=posterior.keeps_mean)
    return ExactStage(chains, own, trained.step, sweeps, threads)
