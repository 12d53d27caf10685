"""Creation of a chain and of its posterior averages, from resolved options and documents."""

from __future__ import annotations

from pysgrld.chain.exact import SAMPLES_BEFORE, SETTLED_BEFORE, ExactStage, follows
from pysgrld.chain.posterior import Posterior
from pysgrld.chain.protocol import Chain
from pysgrld.corpus.minibatches import Minibatches
from pysgrld.evaluate import HeldOut
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.table import find_model
from pysgrld.options.option import Resolved


def begin(
    options: Resolved,
    stream: Minibatches,
    corpus: CorpusFacts,
    run_on: RunOn,
    held_out: HeldOut | None = None,
    *,
    keep_mean: bool = True,
    watched: HeldOut | None = None,
) -> Posterior:
    """Start a chain of the model that the options name, and create averages over its samples.

    Parameters
    ----------
    options : Resolved
        Resolved options, of the options class of the model.
    stream : Minibatches
    corpus : CorpusFacts
    run_on : RunOn
    held_out : HeldOut, optional
        Documents on which posterior samples are scored.
    keep_mean : bool
        True to keep the mean of the topics.
    watched : HeldOut, optional
        Training documents used to detect convergence by their score, if no documents are held out.

    Returns
    -------
    Posterior
        Averages without samples, and the chain in its initial state.
    """
    chain = find_model(options.model).chain(options, stream, corpus, run_on)
    posterior = averages(
        chain, options, corpus.words, run_on.threads, held_out, keep_mean=keep_mean
    )
    if watched is not None:
        scorer = find_model(options.model).scorer(options, watched, corpus.words, run_on.threads)
        posterior.watch = scorer
    if follows(chain, options.exact_sweeps):
        posterior.least, posterior.fewest = SETTLED_BEFORE, SAMPLES_BEFORE
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
    """Create averages over the posterior samples of a chain, without any samples yet."""
    scorer = None
    if held_out is not None:
        scorer = find_model(options.model).scorer(options, held_out, words, threads)
    return Posterior(chain, scorer, options.burn_in, options.sample_every, keep_mean)


def begin_refinement(
    posterior: Posterior,
    options: Resolved,
    words: int,
    run_on: RunOn,
    held_out: HeldOut | None,
    *,
    sweeps: int,
    start: bool = True,
) -> ExactStage:
    """Create the Gibbs refinement of a trained chain: start it, or prepare it to be restored.

    Parameters
    ----------
    posterior : Posterior
        Posterior averages of training.
    options : Resolved
    words : int
    run_on : RunOn
        Its `waiting` may raise an exception between chains, to stop.
    held_out : HeldOut, optional
    sweeps : int
        Number of sweeps of each chain.
    start : bool
        False if the refinement will be restored from a checkpoint.

    Returns
    -------
    ExactStage
        The refinement before its first sweep.
    """
    trained = posterior.chain
    chains = find_model(options.model).exact_chains(options, trained, run_on, start=start)
    chain_averages = averages(
        chains[0], options, words, run_on.threads, held_out, keep_mean=posterior.keeps_mean
    )
    return ExactStage(chains, chain_averages, trained.step, sweeps, run_on.threads)
