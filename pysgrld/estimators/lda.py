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
from pysgrld.estimators.fitting import AUTO
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.options.priors import ALPHA_BLOCK, ETA_BLOCK, LEARN, fixed_value, lowest_eta
from pysgrld.options.word_files import seed_words

__all__ = ["LDA"]


@with_sampler_options
class LDA(CountModel):
    """Latent Dirichlet allocation by stochastic-gradient MCMC.

    In each iteration, Gibbs sweeps over the documents of a minibatch estimate the counts of words
    in topics, and a sampler updates the topics given these counts. The result is the mean over
    posterior samples. docs/python.md has examples, docs/choosing-a-sampler.md explains all
    defaults, and docs/internals/mathematics.md has the equations.

    Parameters
    ----------
    n_components : int, optional
        Number of topics K, at least 1; by default 5 to 200, depending on the size of the corpus
        (docs/choosing-k.md). The fitted model has it as ``n_components_``.
    algo : str
        Sampler of the topics; docs/choosing-a-sampler.md describes each.
    alpha : float or "learn", optional
        Dirichlet prior per topic of a document, in (0, 10^6). By default 5/K, but at least 0.015
        and at most 0.1; above 1,000 topics 15/K, but at least 0.005. The default is smaller if
        documents are short, and up to twice as large if they are long (docs/choosing-a-sampler.md).
        ``"learn"`` learns a parameter for each topic from the documents; not with ``ovb`` and
        ``hsvg``.
    eta : float or "learn", optional
        Dirichlet prior per word of a topic, in (0, 10^6); by default 5/K, but at least 0.01 and at
        most 0.05. ``"learn"`` learns one parameter from the topics; only with ``scir``, ``gibbs``
        and ``cgs``, and without seed words.
    minibatch : int, optional
        Number of documents per iteration, at least 1; by default 400, but at most a quarter of the
        corpus; fewer if documents are long, more if they are short. `partial_fit` ignores it: its
        minibatch is the documents passed to it.
    sweeps : int, optional
        Number of Gibbs sweeps over a document per iteration, at least 1; only the second half of
        them counts. By default 10, or 20 with more than 128 topics; 1 with ``gibbs`` and ``cgs``.
        With ``ovb``, the maximum number of passes, by default 100.
    starts : int, optional
        Number of short chains, 1 to 64. `fit` starts from clusters of their topics, so that fits
        with different seeds find more of the same topics. With 1, `fit` starts at random. By
        default 16; but 1 for large corpora, with seed words, and if ``max_iter`` is passed.
    step_size : (float, float, float), optional
        A, B, C of the step size A (1 + t/B)^(-C): A in (0, 10^6], B > 0, C in [0, 1]. By default,
        the sampler chooses them for the corpus.
    seed_words : mapping of str to list of str, optional
        Words that topics are expected to have, by name of the topic. The named topics are the first
        topics, in the given order. ``"game*"`` stands for all words that begin with "game"; for a
        matrix without column names, words are numbers of columns.
    seed_weight : float, optional
        Weight of the seed words as a prior: the number of tokens that all seed words of a topic
        count for, as a fraction of an average topic's tokens. By default 0.01; 0 gives no such
        prior.
    warm_up : int, optional
        Number of iterations without noise at the start, at least 0; by default one epoch, but at
        least 50 and at most 500; 0 with ``gibbs``, ``cgs``, ``ovb`` and ``hsvg``.
    burn_in : int, optional
        Number of iterations before the first posterior sample, at least 0; by default the warm-up,
        or 200.
    max_iter : int, optional
        Number of iterations of `fit`, at least 1; by default, `fit` continues until held-out
        perplexity has converged.
    exact_sweeps : int or "auto"
        Number of sweeps of the Gibbs refinement with which `fit` ends: four chains of collapsed
        Gibbs sampling over all documents. Means and samples then come from its draws, and intervals
        are credible intervals. 0 leaves the refinement out. By default, it takes about as long as
        training, and is left out with ``gibbs``, ``cgs``, ``ovb`` and ``hsvg``.
    holdout : int or float, optional
        Number of documents, or their fraction below 1, that `fit` holds out to see when it has
        converged; by default 10 %, but at most 1000. With 0, `fit` learns from all documents, and
        the score of training documents decides when it ends.
    total_samples : float
        Number of documents of the whole corpus, from which `partial_fit` gets minibatches.
    keep_samples : int or "auto"
        Number of posterior samples to keep, evenly spaced, for `samples`, intervals and draws. A
        sample takes 4 bytes per topic and word. "auto" keeps about 50, in at most 256 MB; 0 keeps
        none.
    random_state : int, numpy.random.RandomState or numpy.random.Generator, optional
        Seed, at least 0, or a generator that draws a seed for each fit; None means 0. The seed
        alone determines the random numbers: results do not depend on ``n_jobs``.
    n_jobs : int, optional
        Number of threads, or -1 for all processors; by default as many as the process may use.
    verbose : int or "auto"
        1 to print lines on the progress of `fit`, 0 to print nothing. By default a progress bar
        appears after two seconds in terminals and notebooks, and disappears at the end.

    Attributes
    ----------
    components_ : (K, V) float32
        Posterior mean of the topics; rows sum to 1.
    alpha_ : (K,) float64
        Dirichlet prior of documents; its posterior mean if it is learned.
    eta_ : float
        Dirichlet prior of topics; its posterior mean if it is learned.
    n_features_in_ : int
        Number of columns V.
    feature_names_in_ : (V,) array of str objects
        Words of the columns, if X has them: columns of a DataFrame, words of texts or of a run.
    n_iter_ : int
        Number of iterations done.
    n_samples_ : int
        Number of posterior samples in ``components_``; 0 if it holds the current topics.
    perplexity_ : float
        Perplexity of the documents that `fit` held out, averaged over the posterior; the attribute
        exists only if `fit` held documents out. Before the first posterior sample, perplexity of
        the current topics. Another ``random_state`` holds other documents out: compare models by
        `perplexity` of the same documents.

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
        verbose: int | str = AUTO,
        # The decorator with_sampler_options replaces this parameter by named parameters.
        **sampler_options: Any,
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
            # With few iterations, initialisation from short chains takes more time than it saves.
            starts = 1
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
        alpha = fixed_value(options.alpha)
        self.alpha_ = np.array(
            draw[ALPHA_BLOCK][:k] if alpha is None else np.full(k, alpha), np.float64
        )
        self.eta_ = float(draw[ETA_BLOCK][0]) if ETA_BLOCK in draw else lowest_eta(options.eta)
