"""The spherical admixture model as an estimator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pysgrld.errors import UsageError
from pysgrld.estimators.base import BOUNDS, Rule, is_positive, number, with_sampler_options
from pysgrld.estimators.inputs import as_documents, in_fine_units
from pysgrld.estimators.kept import AUTO
from pysgrld.estimators.topic_model import TopicModel
from pysgrld.models.table import model_of
from pysgrld.types import Documents, Key

__all__ = ["SAM"]


@with_sampler_options
class SAM(TopicModel):
    """Spherical admixture model: documents and topics as directions, by geodesic Monte Carlo.

    A document is a unit vector near the direction of a mixture of topics, which are unit vectors as well;
    its entries may be of any sign. docs/spherical.md has examples, docs/internals/mathematics.md the
    equations.

    Parameters
    ----------
    n_components : int
        Number of topics K, at least 1 and at most V.
    algo : {"sggmc", "gsgnht", "gmc-apprmh", "gmc-bgibbs", "vi", "svi"}
        Sampler of the topics.
    alpha : float
        Dirichlet prior per topic of a document, in (0, 10^6).
    kappa : float, optional
        Concentration of documents around their mixture of topics, > 0; by default 6 V.
    sigma, kappa0 : float, optional
        Concentrations of topics around their mean, and of that mean around the documents' mean direction,
        > 0; by default 2 V.
    weighting : {"tf-idf", "tf"}
        Weights of words: the count times ln(D / df), or the count alone. Use "tf" for data that are
        directions already.
    minibatch : int, optional
        Documents an iteration, at least 1; by default 100, or fewer if that is a quarter of them.
    sweeps : int, optional
        Trajectories of a document's proportions at a visit, at least 1; by default 60.
    step_size : (float, float, float), optional
        A, B, C of the step A (1 + t/B)^(-C) of the topics; by default of the scale of their posterior.
    burn_in : int, optional
        Iterations before the first posterior sample, at least 0; by default 200.
    max_iter : int, optional
        Iterations of `fit`, at least 1; by default until the held-out log-perplexity has converged.
    holdout : int or float, optional
        Documents, or their share below 1, that `fit` sets apart; by default min(1000, 10 %). With 0 it
        learns from all, and their score ends `fit`.
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
        Mean directions of the topics over posterior samples; rows have norm 1, entries of any sign.
    n_features_in_ : int
        V.
    feature_names_in_ : (V,) array of str objects
        Words of the columns, if X has them: columns of a DataFrame, words of texts or of a run.
    n_iter_, n_samples_ : int
        Iterations done, and posterior samples in ``components_``.
    log_perplexity_ : float
        Log-perplexity of the documents that `fit` set apart, in nats a document; present only if it
        did.

    Notes
    -----
    Reisinger, Waters, Silverthorn and Mooney (2010); samplers: Liu, Zhu and Song (2016), eq. (5) to (10).

    Examples
    --------
    >>> import numpy as np
    >>> from pysgrld import SAM
    >>> X = np.kron(np.eye(2), np.ones((50, 6))) + 0.01
    >>> sam = SAM(n_components=2, weighting="tf", max_iter=300, holdout=0).fit(X)
    >>> sam.transform(X).shape
    (100, 2)
    """

    model = "sam"
    log_perplexity_: float
    of_counts = False
    entry = "entry"
    options_of: ClassVar = {
        "n_components": "topics",
        "algo": "algo",
        "alpha": "alpha",
        "kappa": "kappa",
        "sigma": "sigma",
        "kappa0": "kappa0",
        "weighting": "weighting",
        "minibatch": "minibatch",
        "sweeps": "sweeps",
        "random_state": "seed",
    }
    warm_up = None
    total_samples = 1.0

    def __init__(
        self,
        n_components: int = 20,
        *,
        algo: str = "sggmc",
        alpha: float = 1.0,
        kappa: float | None = None,
        sigma: float | None = None,
        kappa0: float | None = None,
        weighting: str = "tf-idf",
        minibatch: int | None = None,
        sweeps: int | None = None,
        step_size: tuple[float, float, float] | None = None,
        burn_in: int | None = None,
        max_iter: int | None = None,
        holdout: int | float | None = None,
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
        self.kappa = kappa
        self.sigma = sigma
        self.kappa0 = kappa0
        self.weighting = weighting
        self.minibatch = minibatch
        self.sweeps = sweeps
        self.step_size = step_size
        self.burn_in = burn_in
        self.max_iter = max_iter
        self.holdout = holdout
        self.keep_samples = keep_samples
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rules(self) -> list[Rule]:
        ways = ("tf-idf", "tf")
        return [
            number("topics", "n_components", self.n_components, 1, 1 << 18),
            Rule("alpha", self.alpha, is_positive(self.alpha), f"alpha > 0, between {BOUNDS}"),
            *(
                Rule(name, value, is_positive(value), f"{name} > 0, between {BOUNDS}")
                for name, value in (
                    ("kappa", self.kappa),
                    ("sigma", self.sigma),
                    ("kappa0", self.kappa0),
                )
            ),
            Rule("weighting", self.weighting, self.weighting in ways, "weighting in tf-idf, tf"),
            *self._shared_rules(),
        ]

    def _documents(self, X: Any, words: int | None = None) -> tuple[Documents, int]:
        """Return a matrix as documents: counts as they are, other numbers in units of 2^-30."""
        if isinstance(X, Documents):
            return as_documents(X, words, type(self).__name__)
        documents, words = as_documents(in_fine_units(X), words, type(self).__name__, signed=True)
        if words == 1:
            raise UsageError("X has 1 feature(s), wanted 2 at least: a direction needs two words")
        return documents, words

    def log_perplexity(self, X: Any, y: Any = None) -> float:
        """Return the log-perplexity of documents, given ``components_``.

        Minus the mean over documents of ln p(v_d), with p averaged over 200 proportions drawn from
        the prior (Liu, Zhu and Song 2016, section 5.3): an estimate that is far too high if
        ``kappa`` is large, to be compared at equal settings only.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Data as in `fit`, with as many columns. Documents without entries are left out.
        y : None
            Ignored; there for scikit-learn.

        Returns
        -------
        float
            In nats a document; lower is better, and below 0 if densities are above 1.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: a bad entry, another number of columns, or no document with an entry.
        """
        del y
        documents = self._documents_like(X)
        held_out = model_of(self.model).hold_out(documents, np.arange(len(documents)), 0.0, 0)
        if len(held_out.held_out) == 0:
            raise UsageError("X has no document with an entry: nothing can be scored")
        scorer = self._fitted().scorer(held_out)
        return float(scorer.point(Key(self._options.seed, 0, 0), self._draw))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log density of a document: minus `log_perplexity`.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Data as in `fit`, with as many columns.
        y : None
            Ignored; there for scikit-learn.

        Returns
        -------
        float
            In nats a document; higher is better.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`, as from `log_perplexity`.
        """
        return -self.log_perplexity(X, y)
