"""Dirichlet-process mixture of multinomials as an estimator."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from pysgrld.core.arithmetic import exp, log
from pysgrld.corpus.minibatches import Epochs
from pysgrld.corpus.store import count
from pysgrld.errors import UsageError, plural
from pysgrld.estimators.base import (
    BOUNDS,
    MOST,
    Rule,
    by_parameters,
    is_positive,
    is_whole,
    seed_of,
    switch,
)
from pysgrld.estimators.dataframes import Framed
from pysgrld.estimators.fitting import AUTO, Progress, check_memory, jobs
from pysgrld.estimators.words import new_documents
from pysgrld.models.dpmm.chain import MixtureChain
from pysgrld.models.dpmm.declared import MODEL
from pysgrld.models.dpmm.likelihood import (
    log_mixture,
    logsumexp,
    prior_predictive,
    responsibilities,
)
from pysgrld.models.dpmm.resolved import MixtureOptions
from pysgrld.models.options import check_usage
from pysgrld.models.resolve import resolve
from pysgrld.models.word_order import WordOrder, WordScorer, default_order
from pysgrld.options.option import Facts
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Array, Doubles, Int64s

__all__ = ["DPMixture"]

#: Values of the parameter ``concentration``, with the corresponding values of the option ``dp-conc``.
CONCENTRATIONS = {"sticks": "sticks", "escobar-west": "ew"}


class DPMixture(Framed):
    """Mixture of multinomials with a Dirichlet process, which infers the number of clusters.

    Unlike in a topic model, every document belongs to a single component. docs/mixture.md describes
    the model, advice on choices, and measurements.

    Parameters
    ----------
    algo : {"scir", "sgrld", "gibbs"}
        Sampler. ``gibbs`` is exact slice sampling, with all documents in every iteration; ``scir``
        and ``sgrld`` are stochastic slice sampling of minibatches.
    base : float
        Dirichlet prior per word of a component, in (0, 10^6).
    concentration_prior : (float, float)
        Shape and rate of the gamma prior of the concentration, both in (0, 10^6).
    concentration : {"sticks", "escobar-west"}, optional
        The concentration is drawn given the sticks ("sticks"), or given the number of occupied
        components ("escobar-west"); by default "escobar-west" for ``gibbs``, otherwise "sticks".
    minibatch : int, optional
        Number of documents per iteration, at least 1; by default 1000, but at most a quarter of the
        documents. Ignored by ``gibbs``, which takes all.
    step_size, stick_step_size : float, optional
        Step sizes h > 0 of components and of sticks, in diffusion time: by default both 0.1 for
        ``scir``, and 0.001 and 0.005 for ``sgrld``. Ignored by ``gibbs``.
    start_components : int
        Number of components over which documents are spread at the start, at least 1; choose more
        than you expect.
    max_iter : int
        Number of iterations, at least 1.
    burn_in : int, optional
        Number of iterations before the first posterior sample, less than ``max_iter``; every later
        iteration gives a sample. By default 200, or a fifth of ``max_iter`` if that is less.
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
    weights_ : (J,) float64
        Weights of the components in the last sample, the greatest first.
    components_ : (J, V) float64
        Word probabilities of the components in the last sample; rows sum to 1.
    concentration_ : float
        Concentration in the last sample.
    n_components_trace_ : (max_iter,) int64
        Number of occupied components after each iteration.
    concentration_trace_ : (max_iter,) float64
        Concentration after each iteration.
    labels_ : (n,) int64
        Component of each training document in the last sample; -1 for an empty document.
    n_features_in_ : int
        Number of columns V.
    feature_names_in_ : (V,) array of str objects
        Words of the columns, if X has them: columns of a DataFrame, words of texts.
    n_samples_ : int
        Number of evenly spaced posterior samples over which `score_samples` averages, at most
        `KEPT`.

    Notes
    -----
    Stochastic slice sampling: Baker, Fearnhead, Fox and Nemeth (2018), section 4.2. Exact slice sampling:
    Walker (2007); Kalli, Griffin and Walker (2011). Concentration: Escobar and West (1995), section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from pysgrld import DPMixture
    >>> counts = np.kron(np.eye(2, dtype=int), np.ones((50, 6), dtype=int))
    >>> mixture = DPMixture(algo="gibbs", max_iter=300, burn_in=100).fit(counts)
    >>> sorted(np.bincount(mixture.labels_)[:2].tolist())
    [50, 50]
    """

    components_: Doubles
    kind = "density_estimator"
    #: Maximum number of stored posterior samples.
    KEPT = 50

    def __init__(
        self,
        *,
        algo: str = "scir",
        base: float = 0.5,
        concentration_prior: tuple[float, float] = (1.0, 1.0),
        concentration: str | None = None,
        minibatch: int | None = None,
        step_size: float | None = None,
        stick_step_size: float | None = None,
        start_components: int = 60,
        max_iter: int = 1000,
        burn_in: int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int | str = AUTO,
    ) -> None:
        self.algo = algo
        self.base = base
        self.concentration_prior = concentration_prior
        self.concentration = concentration
        self.minibatch = minibatch
        self.step_size = step_size
        self.stick_step_size = stick_step_size
        self.start_components = start_components
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rules(self) -> list[Rule]:
        pair, how, algorithms = self.concentration_prior, self.concentration, MODEL.algorithms
        two = isinstance(pair, (tuple, list)) and len(pair) == 2 and all(map(is_positive, pair))
        above = f"a number above 0, between {BOUNDS}"
        numbers = [
            ("dp-start", "start_components", self.start_components, 1, 1 << 18),
            ("", "max_iter", self.max_iter, 1, MOST),
            ("seed", "random_state", seed_of(self.random_state), 0, 2**63 - 1),
            ("minibatch", "minibatch", self.minibatch, 1, MOST),
        ]
        return [
            Rule(
                "algo",
                self.algo,
                self.algo in algorithms,
                f"one of {', '.join(algorithms)}",
                needed=True,
            ),
            Rule("eta", self.base, is_positive(self.base), above, "base", needed=True),
            Rule(
                "dp-prior",
                pair,
                two,
                f"shape and rate, both above 0, between {BOUNDS}",
                "concentration_prior",
            ),
            Rule(
                "dp-conc",
                how,
                how is None or how in CONCENTRATIONS,
                f"one of {', '.join(CONCENTRATIONS)}",
                "concentration",
            ),
            Rule("step-size", self.step_size, is_positive(self.step_size), above),
            Rule(
                "dp-stick-step",
                self.stick_step_size,
                is_positive(self.stick_step_size),
                above,
                "stick_step_size",
            ),
            *(
                Rule(
                    option,
                    value,
                    is_whole(value, low, high),
                    f"a whole number >= {low} and <= {high}",
                    name,
                )
                for option, name, value, low, high in numbers
            ),
            Rule(
                "",
                self.burn_in,
                self.burn_in is None or is_whole(self.burn_in, 0),
                f"a whole number >= 0 and <= {MOST}",
                "burn_in",
            ),
            switch("verbose", self.verbose),
        ]

    @by_parameters
    def fit(self, X: Any, y: Any = None, *, vocabulary: Any = None) -> Self:
        """Sample the posterior for ``max_iter`` iterations, given a matrix of counts.

        Ctrl-C ends sampling after the current iteration, and `KeyboardInterrupt` is raised. The
        model is then fitted with the samples taken so far; if there are none yet, the model stays
        unchanged.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Number of occurrences of each of V words in each of n documents: whole numbers from 0 to
            2^31 - 1, of any dtype. Rows without any count are left out. Words are texts, lists of
            tokens, or bags of words, as `LDA.fit` takes them.
        y : None
            Ignored; exists for scikit-learn.
        vocabulary : object, optional
            Words of the columns, as `LDA.fit` takes them.

        Returns
        -------
        Self
            This estimator, fitted.

        Raises
        ------
        UsageError
            A `ValueError`: a bad count, shape or parameter, or no row with counts.
        NumericalError
            If steps are so large that a component overflows.
        """
        del y
        explicit_options = self._given()
        if SAMPLERS[self.algo].whole_corpus:
            for name in ("minibatch", "step_size", "stick_step_size"):
                if getattr(self, name) is not None:
                    raise UsageError(f"{name} does not apply to algo={self.algo!r}; leave it out")
        new, names = new_documents(X, jobs(self.n_jobs), vocabulary)
        documents, words = self._documents(new, None if names is None else len(names))
        burn_in = min(200, self.max_iter // 5) if self.burn_in is None else self.burn_in
        if burn_in >= self.max_iter:
            raise UsageError(
                f"burn_in is {burn_in}, but must be less than max_iter {self.max_iter}"
            )
        usable = np.flatnonzero(documents.lengths > 0)
        if len(usable) == 0:
            raise UsageError(
                "X has no counts, because every document is empty; give other documents"
            )
        explicit_options |= {"model": "dpmm", "eta": (self.base,)}
        if self.concentration:
            explicit_options["dp-conc"] = CONCENTRATIONS[self.concentration]
        if self.step_size:
            explicit_options["step-size"] = (float(self.step_size), 1.0, 0.0)
        check_usage(explicit_options)
        train, threads = documents.take(usable), jobs(self.n_jobs)
        facts = Facts(len(train), words, train.tokens, 0, lambda *_: words)
        options = MixtureOptions.from_values(resolve(explicit_options, facts).options.plain())
        check_memory(options, facts, documents, threads)
        stream = Epochs.of(options, train, np.arange(len(train)))
        chain = MixtureChain(options, stream, words, train.tokens, threads)
        occupied, concentration = np.empty(self.max_iter, np.int64), np.empty(self.max_iter)
        samples: list[tuple[Doubles, float, Doubles]] = []
        spacing = -(-(self.max_iter - burn_in) // self.KEPT)
        with Progress(type(self).__name__, self.verbose) as progress:
            for t in range(self.max_iter):
                progress.advance(chain.advance, t)
                occupied[t], concentration[t] = chain.n_occupied, chain.concentration
                after = t + 1 - burn_in
                if after > 0 and after % spacing == 0:
                    samples.append((*chain.log_weights, chain.log_phi))
                last = progress.interrupted or chain.step == self.max_iter
                remark = plural(chain.n_occupied, "occupied component")
                progress.show(chain.step, self.max_iter, [remark], last=last)
                if last:
                    break
            chain.close()
            if not samples:
                return self  # Fitting was interrupted before the first posterior sample.
            self._samples, self._base = samples, self.base
            self._size, self._totals = (len(train), train.tokens), count([train], words).words
            self.n_features_in_, self.n_samples_ = words, len(samples)
            vars(self).pop("feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = names
            self.n_components_trace_ = occupied[: chain.step]
            self.concentration_trace_ = concentration[: chain.step]
            self.concentration_ = chain.concentration
            log_weights, _ = chain.log_weights
            order = np.argsort(-log_weights, kind="stable")
            self.weights_ = exp(log_weights[order])
            self.components_ = exp(chain.log_phi[:, order]).T
            self.labels_ = np.full(len(documents), -1)
            self.labels_[usable] = np.argsort(order)[chain.z]
        return self

    # ---- use of a fitted model

    def _topics(self, layer: int) -> Doubles:
        if layer != 1:
            raise UsageError(f"layer: wanted 1, found {layer!r}")
        return self.components_

    def _first_words(self, phi: Array, n: int, layer: int, order: WordOrder | None) -> Int64s:
        order = default_order(*self._size) if order is None else order
        return WordScorer(phi.T, len(phi), order, self._size[1], self._totals).first_words(n)

    def _shares(self, X: Any, layer: int) -> Doubles:
        self._topics(layer)
        return self.predict_proba(X)

    def predict_proba(self, X: Any) -> Doubles:
        """Return the probability that a document belongs to each component of the last sample.

        By Bayes' rule, the probability of component j for a document with counts x is proportional
        to w_j prod_v phi_jv^x_v, with weights w and components phi.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Counts as in `fit`, with as many columns.

        Returns
        -------
        (n, J) float64
            Columns in the order of ``components_``; rows sum to 1. A row without counts gets
            ``weights_``, and so does a row with a word whose probability is rounded to 0 in every
            component.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: a bad count, or another number of columns than in `fit`.
        """
        documents = self._documents_like(X)
        # The logarithm may be minus infinity, because the smallest probabilities are rounded to 0.
        log_phi, log_weights = log(self.components_.T), log(self.weights_)
        return responsibilities(documents, log_phi, log_weights)

    def predict(self, X: Any) -> Int64s:
        """Return the most probable component of each document, given the last posterior sample.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Counts as in `fit`, with as many columns.

        Returns
        -------
        (n,) int64
            Rows of ``components_``; among equally probable components, the first.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: a bad count, or another number of columns than in `fit`.
        """
        labels: Int64s = self.predict_proba(X).argmax(axis=1)
        return labels

    def score_samples(self, X: Any) -> Doubles:
        """Return the log predictive density of each document, averaged over posterior samples.

        For a document with counts x and samples s = 1, ..., S, it is log (1/S) sum_s p_s(x). The
        density in a sample is p(x) = sum_j w_j prod_v phi_jv^x_v + r p_0(x), with weights w,
        components phi, the rest r of the stick, and the prior predictive density p_0. The
        multinomial coefficient is left out. See docs/mixture.md, "The score".

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Counts as in `fit`, with as many columns.

        Returns
        -------
        (n,) float64
            In nats; 0 for a row without counts.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: a bad count, or another number of columns than in `fit`.
        """
        documents = self._documents_like(X)
        usable = np.flatnonzero(documents.lengths > 0)
        nonempty, densities = documents.take(usable), np.zeros(len(documents))
        if len(usable):
            prior = prior_predictive(nonempty, self.n_features_in_, self._base)
            densities_by_sample = [
                log_mixture(nonempty, log_phi, log_weights, log_rest + prior)
                for log_weights, log_rest, log_phi in self._samples
            ]
            densities[usable] = logsumexp(np.array(densities_by_sample).T) - math.log(
                len(densities_by_sample)
            )
        return densities

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log predictive density per document, which is the mean of `score_samples`.

        This score is per document, and each document is scored as a whole. It cannot be compared
        with `LDA.score`, which is per held-out token, given the rest of the token's document.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Counts as in `fit`, with as many columns.
        y : None
            Ignored; exists for scikit-learn.

        Returns
        -------
        float
            In nats; higher is better.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: a bad count, or another number of columns than in `fit`.
        """
        del y
        return float(self.score_samples(X).mean())
