"""Latent Dirichlet allocation as an estimator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pysgrld.errors import UsageError
from pysgrld.estimators.base import (
    BOUNDS,
    Rule,
    is_number,
    is_positive,
    is_whole,
    number,
    with_sampler_options,
)
from pysgrld.estimators.count_model import CountModel
from pysgrld.estimators.kept import AUTO
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.options.priors import ALPHA_BLOCK, ETA_BLOCK, LEARN, fixed, lowest_eta
from pysgrld.options.word_files import seed_words

__all__ = ["LDA"]


@with_sampler_options
class LDA(CountModel):
    """Latent Dirichlet allocation by stochastic-gradient MCMC.

    Topics are moved by a sampler, given counts that Gibbs sweeps of a minibatch's documents
    estimate; the mean over posterior samples is kept. docs/python.md has examples,
    docs/choosing-a-sampler.md explains all defaults, docs/internals/mathematics.md has the
    equations.

    Parameters
    ----------
    n_components : int, optional
        Number of topics K, at least 1; by default by the size of the corpus, 5 to 200
        (docs/choosing-k.md): see ``n_components_``.
    algo : str
        Sampler of the topics; docs/choosing-a-sampler.md describes each.
    alpha : float or "learn", optional
        Dirichlet prior per topic of a document, in (0, 10^6); by default 5/K, within 0.015 and 0.1; above
        1,000 topics 15/K, at least 0.005; less if documents are short, and up to twice that if they
        are long (docs/choosing-a-sampler.md).
        ``"learn"``: one for each topic, by the documents; not with ``ovb`` and ``hsvg``.
    eta : float or "learn", optional
        Dirichlet prior per word of a topic, in (0, 10^6); by default 5/K, within 0.01 and 0.05.
        ``"learn"``: one number, by the topics; with ``scir``, ``gibbs`` and ``cgs``, without seed words.
    minibatch : int, optional
        Documents an iteration, at least 1; by default 400, fewer if that is a quarter of the corpus
        or they are long, more if they are short. `partial_fit` ignores it: its minibatch is the
        documents passed to it.
    sweeps : int, optional
        Gibbs sweeps of a document an iteration, at least 1; only their second half counts. By
        default 10, above 128 topics 20. ``gibbs``, ``cgs``: 1. ``ovb``: passes at most, 100.
    starts : int, optional
        Number of short chains, 1 to 64. `fit` begins with clusters of their topics: fits with other
        seeds then find more of the same topics. By default 16; 1, at random, for large corpora,
        with seed words, and if ``max_iter`` is passed.
    step_size : (float, float, float), optional
        A, B, C of the step A (1 + t/B)^(-C): A in (0, 10^6], B > 0, C in [0, 1]. By default the rule of
        the sampler for this corpus.
    seed_words : mapping of str to list of str, optional
        Words that topics are expected to have, by the names of topics: these are the first topics, in
        this order. ``"game*"`` means all words with this beginning; for a matrix without names,
        words are numbers of columns.
    seed_weight : float, optional
        Tokens that the seed words of a topic count for together, as a share of an average topic's: by
        default 0.01. They are a prior; 0 leaves it out.
    warm_up : int, optional
        Noise-free iterations at the start, at least 0; by default one epoch, within 50 to 500, and none
        with ``gibbs``, ``cgs``, ``ovb`` and ``hsvg``.
    burn_in : int, optional
        Iterations before the first posterior sample, at least 0; by default the warm-up, or 200.
    max_iter : int, optional
        Iterations of `fit`, at least 1; by default until held-out perplexity has converged.
    exact_sweeps : int or "auto"
        Sweeps of four chains of collapsed Gibbs sampling over all documents, with which `fit` ends: means
        and samples are then of their draws, and intervals the posterior's. 0 leaves them out; by default
        about as many as take the time of training, and none with ``gibbs``, ``cgs``, ``ovb``, ``hsvg``.
    holdout : int or float, optional
        Documents, or their share below 1, that `fit` sets apart to see when it has converged; by default
        min(1000, 10 %). With 0 it learns from all, and their score ends `fit`.
    total_samples : float
        Documents of the corpus that `partial_fit` sees minibatches of.
    keep_samples : int or "auto"
        Posterior samples to keep, evenly spread, for `samples`, intervals and draws: each takes 4 bytes a
        topic and word. "auto" keeps up to 50, in 256 MB at most; 0 keeps none.
    random_state : int, numpy.random.RandomState or numpy.random.Generator, optional
        Seed, at least 0, or a generator that draws one for each fit; None is 0. The result depends
        on nothing else, not on ``n_jobs`` either.
    n_jobs : int, optional
        Threads, -1 for all processors; by default as many as the process may use.
    verbose : int
        1 prints lines on the progress of `fit`; 0 none.

    Attributes
    ----------
    components_ : (K, V) float32
        Posterior mean of the topics; rows sum to 1.
    alpha_ : (K,) float64
        Dirichlet prior of documents; of a learned one its posterior mean.
    eta_ : float
        Dirichlet prior of topics; of a learned one its posterior mean.
    n_features_in_ : int
        V.
    feature_names_in_ : (V,) array of str objects
        Words of the columns, if X has them: columns of a DataFrame, words of texts or of a run.
    n_iter_ : int
        Iterations done.
    n_samples_ : int
        Posterior samples in ``components_``; 0 if it holds the current topics.
    perplexity_ : float
        Posterior-averaged perplexity of the documents that `fit` set apart, present only if it did.
        Before the first posterior sample, perplexity of the current topics.

    Notes
    -----
    Model: Blei, Ng and Jordan (2003). Samplers: ``sgrld``, Patterson and Teh (2013), eq. (10); ``scir``,
    Baker, Fearnhead, Fox and Nemeth (2018), eq. (2.2); ``smld``, Hsieh, Kavis, Rolland and Cevher (2018),
    algorithm 1; ``tlasgr``, Cong, Chen, Liu and Zhou (2017), eq. (14); ``cgs``, Griffiths and Steyvers
    (2004), eq. (5). Approximations: ``ovb``, Hoffman, Blei and Bach (2010), algorithm 2; ``hsvg``, Mimno,
    Hoffman and Blei (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from pysgrld import LDA
    >>> counts = np.kron(np.eye(2, dtype=int), np.ones((50, 6), dtype=int))
    >>> lda = LDA(n_components=2, max_iter=400, holdout=0).fit(counts)
    >>> lda.transform(counts).shape
    (100, 2)
    >>> bool((lda.components_.max(axis=1) < 0.2).all())
    True
    """

    model = "lda"
    options_of: ClassVar = {
        "n_components": "topics",
        "algo": "algo",
        "alpha": "alpha",
        "eta": "eta",
        "minibatch": "minibatch",
        "sweeps": "sweeps",
        "starts": "starts",
        "seed_words": "seed-words",
        "seed_weight": "seed-weight",
        "random_state": "seed",
    }

    _options: LDAOptions

    def __init__(
        self,
        n_components: int | None = None,
        *,
        algo: str = "scir",
        alpha: float | str | None = None,
        eta: float | str | None = None,
        minibatch: int | None = None,
        sweeps: int | None = None,
        starts: int | None = None,
        step_size: tuple[float, float, float] | None = None,
        seed_words: Any = None,
        seed_weight: float | None = None,
        warm_up: int | None = None,
        burn_in: int | None = None,
        max_iter: int | None = None,
        exact_sweeps: int | str = "auto",
        holdout: int | float | None = None,
        total_samples: float = 1e6,
        keep_samples: int | str = AUTO,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        **sampler_options: Any,  # see with_sampler_options
    ) -> None:
        del sampler_options
        self.n_components = n_components
        self.algo = algo
        self.alpha = alpha
        self.eta = eta
        self.minibatch = minibatch
        self.sweeps = sweeps
        self.starts = starts
        self.step_size = step_size
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.warm_up = warm_up
        self.burn_in = burn_in
        self.max_iter = max_iter
        self.exact_sweeps = exact_sweeps
        self.holdout = holdout
        self.total_samples = total_samples
        self.keep_samples = keep_samples
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rules(self) -> list[Rule]:
        starts = self.starts
        if starts is None and self.max_iter is not None:
            starts = 1  # no short chains before few iterations
        try:
            seeds = None if self.seed_words is None else seed_words(self.seed_words)
        except (TypeError, UsageError) as error:
            raise UsageError(
                f'seed_words: {error}; give words by topic, as in {{"sport": ["team", "game*"]}}'
            ) from None
        return [
            number("topics", "n_components", self.n_components, 1, 1 << 18),
            number("starts", "starts", starts, 1, 64),
            *(
                Rule(
                    name,
                    prior,
                    is_positive(prior) or (isinstance(prior, str) and prior == LEARN),
                    f'{name} > 0, between {BOUNDS}, or "learn"',
                )
                for name, prior in (("alpha", self.alpha), ("eta", self.eta))
            ),
            Rule("seed-words", seeds, good=True, condition=""),
            Rule(
                "seed-weight",
                self.seed_weight,
                is_number(self.seed_weight)
                and (self.seed_weight == 0 or is_positive(self.seed_weight)),
                "seed_weight >= 0 and below 1e6",
            ),
            Rule(
                "exact-sweeps",
                None if self.exact_sweeps == "auto" else self.exact_sweeps,
                self.exact_sweeps == "auto" or is_whole(self.exact_sweeps, 0),
                'a number of sweeps, at least 0, or "auto"',
                "exact_sweeps",
            ),
            *self._shared_rules(),
        ]

    def _finish(self) -> None:
        super()._finish()
        options, draw, k = self._options, self._draw, len(self.components_)
        alpha = fixed(options.alpha)
        self.alpha_ = np.array(
            draw[ALPHA_BLOCK][:k] if alpha is None else np.full(k, alpha), np.float64
        )
        self.eta_ = float(draw[ETA_BLOCK][0]) if ETA_BLOCK in draw else lowest_eta(options.eta)
