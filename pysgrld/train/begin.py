"""The start of a chain, from resolved options and documents, and of the averages over it."""

from __future__ import annotations

from pysgrld.chain.posterior import Posterior
from pysgrld.corpus.minibatches import Minibatches
from pysgrld.evaluate import HeldOut
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.table import model_of
from pysgrld.options.option import Resolved


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
    model = model_of(options.model)
    chain = model.chain(options, stream, corpus, run_on)
    scorer = None
    if held_out is not None:
        scorer = model.scorer(options, held_out, corpus.words, run_on.threads)
    return Posterior(chain, scorer, options.burn_in, options.sample_every, keep_mean)
