"""Spherical admixture model as an estimator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pysgrld.errors import UsageError
from pysgrld.estimators.base import BOUNDS, Rule, is_positive, number, with_sampler_options
from pysgrld.estimators.fitting import AUTO
from pysgrld.estimators.inputs import as_documents, in_fine_units
from pysgrld.estimators.topic_model import TopicModel
from pysgrld.models.table import find_model
from pysgrld.types import Documents, Key

__all__ = ["SAM"]


@with_sampler_options
class SAM(TopicModel):
    """Spherical admixture model, in which documents and topics are vectors of unit length.

    A document is a unit vector near the direction of a mixture of topics; the entries of these
    vectors may be negative. Sampling is by geodesic Monte Carlo. docs/spherical.md has examples,
    and docs/internals/mathematics.md the equations.

    Parameters
    ----------
    n_components : int
        Number of topics K, at least 1 and at most V.
    algo : {"sggmc", "gsgnht", "gmc-apprmh", "gmc-bgibbs", "vi", "svi"}
        Sampler of the topics.
    alpha : float
        Dirichlet prior per topic of a document, in (0, 10^6).
    kappa : float, optional
        Concentration of documents around their mixtures of topics, > 0; by default 6 V.
    sigma, kappa0 : float, optional
        ``sigma`` is the concentration of topics around their mean, ``kappa0`` the concentration of
        that mean around the mean direction of documents; > 0, by default 2 V.
    weighting : {"tf-idf", "tf"}
        Entries of a document's vector: "tf-idf", counts times ln(D / df), or "tf", counts. Use "tf"
        for data that are already directions.
    minibatch : int, optional
        Number of documents per iteration, at least 1; by default 100, but at most a quarter of the
        documents.
    sweeps : int, optional
        Number of trajectories that sample a document's proportions per iteration, at least 1; by
        default 60.
    step_size : (float, float, float), optional
        A, B, C of the topics' step size A (1 + t/B)^(-C); by default chosen by the scale of the
        topics' posterior.
    burn_in : int, optional
        Number of iterations before the first posterior sample, at least 0; by default 200.
    max_iter : int, optional
        Number of iterations of `fit`, at least 1; by default, `fit` continues until the held-out
        log-perplexity has converged.
    holdout : int or float, optional
        Number of documents, or their fraction below 1, that `fit` holds out to see when it has
        converged; by default 10 %, but at most 1000. With 0, `fit` learns from all documents, and
        the score of training documents decides when it ends.
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
        Mean directions of the topics over posterior samples; rows have norm 1, and entries may be
        negative.
    n_features_in_ : int
        Number of columns V.
    feature_names_in_ : (V,) array of str objects
        Words of the columns, if X has them: columns of a DataFrame, words of texts or of a run.
    n_iter_, n_samples_ : int
        Number of iterations done, and of posterior samples in ``components_``.
    log_perplexity_ : float
        Log-perplexity of the documents that `fit` held out, in nats per document; the attribute
        exists only if `fit` held documents out.

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
        verbose: int | str = AUTO,
        # The decorator with_sampler_options replaces this parameter by named parameters.
        **sampler_options: Any,
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
        """Return a matrix as `Documents`; a matrix with fractions is scaled to whole numbers first."""
        if isinstance(X, Documents):
            return as_documents(X, words, type(self).__name__)
        documents, words = as_documents(in_fine_units(X), words, type(self).__name__, signed=True)
        if words == 1:
            raise UsageError("X has 1 feature(s), but a direction needs at least 2 words")
        return documents, words

    def log_perplexity(self, X: Any, y: Any = None) -> float:
        """Return the log-perplexity of documents, given the topics ``components_``.

        It is minus the mean over documents v_d of ln p(v_d). The density p is averaged over 200
        proportions drawn from the prior (Liu, Zhu and Song 2016, section 5.3). This estimate is far
        too high if ``kappa`` is large, so compare it only at equal settings.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Data as in `fit`, with the same number of columns. Documents without entries are left
            out.
        y : None
            Ignored; exists for scikit-learn.

        Returns
        -------
        float
            In nats per document; lower is better. It is below 0 if densities are above 1.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: a bad entry, another number of columns, or no document with an entry.
        """
        del y
        documents = self._documents_like(X)
        held_out = find_model(self.model).hold_out(documents, np.arange(len(documents)), 0.0, 0)
        if len(held_out.held_out) == 0:
            raise UsageError(
                "X has only empty documents, so none can be scored; give other documents"
            )
        scorer = self._fitted().scorer(held_out)
        return float(scorer.point(Key(self._options.seed, 0, 0), self._draw))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log density of a document, which is minus `log_perplexity`.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Data as in `fit`, with as many columns.
        y : None
            Ignored; exists for scikit-learn.

        Returns
        -------
        float
            In nats per document; higher is better.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`, as from `log_perplexity`.
        """
        return -self.log_perplexity(X, y)
