"""The parameter blocks of latent Dirichlet allocation: topics over words, and learned priors.

phi_k ~ Dirichlet(eta),  theta_d ~ Dirichlet(alpha),  z ~ theta_d,  w ~ phi_z
"""

from __future__ import annotations

from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.models.seeds import prior_seed_counts
from pysgrld.options.priors import ALPHA_BLOCK, ETA_BLOCK, LEARN, lowest_eta, usual_alpha
from pysgrld.samplers.shapes import ShapesSettings
from pysgrld.types import Block

#: Shape of the gamma prior of a learned alpha_k. With shape 1, the prior is an exponential
#: distribution.
ALPHA_SHAPE = 1.0
#: Maximum step size of a learned alpha. Euler steps of 1/4 widen its distribution by a seventh.
MOST_ALPHA = 0.25


def blocks(options: LDAOptions, v: int, tokens: float) -> tuple[Block, ...]:
    """Return the model's blocks: topics over words, and learned priors.

    A learned alpha is Gamma(`ALPHA_SHAPE`) a priori, with the default of a fixed alpha as its mean.
    With published settings, topics start at Gamma(1) as in the papers, not at the scale of the
    corpus.

    Parameters
    ----------
    options : LDAOptions
        Resolved options.
    v : int
        Vocabulary size V.
    tokens : float
        Training tokens.

    Returns
    -------
    tuple of Block
        ``phi`` (V, K), then ``alpha`` (K,) and ``eta`` (1,) if they are learned.
    """
    k, eta = options.topics, lowest_eta(options.eta)
    mass = 0.0 if options.preset else float(tokens)
    parts = [
        Block(
            name="phi",
            geometry="simplex",
            shape=(v, k),
            prior=eta,
            stream=0,
            mass=mass,
            seeds=prior_seed_counts(
                options.seed_words, options.seed_weight, options.topics, tokens
            ),
            sparse=True,
            settings=options.settings,
        )
    ]
    if options.alpha == LEARN:
        alpha = Block(
            name=ALPHA_BLOCK,
            geometry="positive",
            shape=(1, k),
            prior=ALPHA_SHAPE * k,
            stream=4,
            mass=mass,
            hyper=(ALPHA_SHAPE / usual_alpha(k),),
            settings=ShapesSettings(longest=MOST_ALPHA),
        )
        parts.append(alpha)
    if options.eta == LEARN:
        sizes = (float(v), float(k))
        parts.append(Block(ETA_BLOCK, "concentration", (1, 1), eta, 8, mass, sizes))
    return tuple(parts)
