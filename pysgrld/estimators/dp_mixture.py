"""The Dirichlet-process mixture as an estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from pysgrld.core.arithmetic import exp, log
from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import UsageError, plural
from pysgrld.estimators.base import (
    BOUNDS,
    MOST,
    Rule,
    by_parameters,
    check_number,
    is_positive,
    is_whole,
)
from pysgrld.estimators.dataframes import Framed
from pysgrld.estimators.matrices import as_documents
from pysgrld.estimators.progress import Progress
from pysgrld.estimators.resources import check_memory, jobs
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
from pysgrld.models.protocol import RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Documents, Doubles, Int64s

__all__ = ["DPMixture"]

#: Ways to draw the concentration, and their names as values of ``--dp-conc``.
CONCENTRATIONS = {"sticks": "sticks", "escobar-west": "ew"}
#: Parameters that are options of training as they stand.
OPTIONS_OF = {
    "algo": "algo",
    "concentration_prior": "dp-prior",
    "minibatch": "minibatch",
    "stick_step_size": "dp-stick-step",
    "start_components": "dp-start",
    "random_state": "seed",
}


class DPMixture(Framed):
    """Dirichlet-process mixture of multinomials: clusters of count vectors, in any number.

    Unlike a topic model, every document belongs to one component. docs/mixture.md has the model, what to
    choose and what was measured.

    Parameters
    ----------
    algo : {"scir", "sgrld", "gibbs"}
        Sampler. ``gibbs``: exact slice sampling, all documents in every iteration. ``scir``, ``sgrld``:
        stochastic slice sampling of minibatches.
    base : float
        Dirichlet prior of components, per word, in (0, 10^6).
    concentration_prior : (float, float)
        Shape and rate of the gamma prior of the concentration, both in (0, 10^6).
    concentration : {"sticks", "escobar-west"}, optional
        Conditional law that the concentration is drawn from: given the sticks, or given the number of
        occupied components; by default the second for ``gibbs``, the first for others.
    minibatch : int, optional
        Documents an iteration, at least 1; by default 1000, or a quarter of them where that is less.
        Without meaning for ``gibbs``, which takes all.
    step_size, stick_step_size : float, optional
        Lengths h > 0 of steps of components and of sticks, in diffusion time: by default 0.1 (``scir``),
        0.001 and 0.005 (``sgrld``). Without meaning for ``gibbs``.
    start_components : int
        Components that documents are spread over at first, at least 1: more than are expected.
    max_iter : int
        Iterations, at least 1.
    burn_in : int
        Iterations before the first posterior sample, less than ``max_iter``; every later one is a sample.
    random_state : int
        Seed, at least 0; the result depends on nothing else, not on ``n_jobs`` either.
    n_jobs : int, optional
        Threads, -1 for all processors; by default as many as the process may use.
    verbose : int
        1 writes lines on how far `fit` is; 0 none.

    Attributes
    ----------
    weights_ : (J,) float64
        Weights of the components of the last sample, the largest first.
    components_ : (J, V) float64
        Their probabilities of words; rows sum to 1.
    concentration_ : float
        Concentration of the last sample.
    n_components_trace_ : (max_iter,) int64
        Occupied components after each iteration.
    concentration_trace_ : (max_iter,) float64
        Concentration after each iteration.
    labels_ : (n,) int64
        Component of each training document in the last sample; -1 for an empty one.
    n_features_in_ : int
        V.
    feature_names_in_ : (V,) array of str objects
        Words of the columns, where X has them: columns of a DataFrame, words of texts.
    n_samples_ : int
        Posterior samples that `score_samples` averages over, at most `KEPT`, evenly spread.

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
    #: Posterior samples that are kept at most.
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
        burn_in: int = 200,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
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
        pair, known = self.concentration_prior, MODEL.algorithms
        two = isinstance(pair, (tuple, list)) and len(pair) == 2 and all(map(is_positive, pair))
        steps = [("step_size", self.step_size), ("stick_step_size", self.stick_step_size)]
        numbers = [
            ("start_components", self.start_components, 1, 1 << 18),
            ("max_iter", self.max_iter, 1, MOST),
            ("burn_in", self.burn_in, 0, MOST),
            ("random_state", self.random_state, 0, 2**63 - 1),
            ("minibatch", self.minibatch, 1, MOST),
        ]
        return [
            Rule("algo", self.algo, self.algo in known, f"one of {', '.join(known)}"),
            Rule("base", self.base, is_positive(self.base), f"a number above 0, between {BOUNDS}"),
            Rule(
                "concentration_prior", pair, two, f"shape and rate, both above 0, between {BOUNDS}"
            ),
            Rule(
                "concentration",
                self.concentration,
                self.concentration is None or self.concentration in CONCENTRATIONS,
                f"one of {', '.join(CONCENTRATIONS)}",
            ),
            *(
                Rule(name, value, is_positive(value), f"a number above 0, between {BOUNDS}")
                for name, value in steps
            ),
            *(
                Rule(
                    name,
                    value,
                    is_whole(value, low, high),
                    f"a whole number >= {low} and <= {high}",
                )
                for name, value, low, high in numbers
            ),
        ]

    @by_parameters
    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample the posterior given a matrix of counts, for ``max_iter`` iterations.

        Ctrl-C ends it after the iteration under way, and `KeyboardInterrupt` is raised: where there is a
        posterior sample the model is then fitted, as far as it is, else it stays as it was.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            How often each of V words is in each of n documents: whole numbers from 0 to 2^31 - 1, of
            any dtype. Rows without any count are left out. Of texts, a list of str, words are counted as
            ``sgmc train`` does by default, and are ``feature_names_in_``.
        y : None
            Ignored; there for scikit-learn.

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
        given = self._given()
        check_number("verbose", self.verbose)
        if SAMPLERS[self.algo].whole_corpus:
            for name in ("minibatch", "step_size", "stick_step_size"):
                if name in given:
                    raise UsageError(f"{name} has no meaning for algo={self.algo!r}: leave it out")
        new, names = self._new_documents(X)
        known = None if names is None else len(names)
        documents, words = as_documents(new, known, type(self).__name__)
        if self.max_iter is None:
            raise UsageError("max_iter: wanted a whole number, found None")
        if self.burn_in >= self.max_iter:
            raise UsageError(
                f"burn_in is {self.burn_in}: wanted less than max_iter {self.max_iter}"
            )
        usable = np.flatnonzero(documents.lengths > 0)
        if len(usable) == 0:
            raise UsageError("X has no counts: every document is empty")
        chain = self._begin(given, documents.take(usable), words)
        occupied, concentration = np.empty(self.max_iter, np.int64), np.empty(self.max_iter)
        samples: list[tuple[Doubles, float, Doubles]] = []
        spacing = -(-(self.max_iter - self.burn_in) // self.KEPT)
        with Progress(type(self).__name__, self.verbose) as progress:
            for t in range(self.max_iter):
                chain.advance()
                occupied[t], concentration[t] = chain.occupied, chain.concentration
                after = t + 1 - self.burn_in
                if after > 0 and after % spacing == 0:
                    samples.append((*chain.log_weights, chain.log_phi))
                last = progress.interrupted or chain.step == self.max_iter
                said = plural(chain.occupied, "occupied component")
                progress.show(chain.step, self.max_iter, [said], last=last)
                if last:
                    break
            chain.close()
            if not samples:
                return self  # interrupted before the first
            self._samples, self._base = samples, self.base
            self.n_features_in_, self.n_samples_ = words, len(samples)
            self._take_names(names)
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

    def _begin(self, given: Mapping[str, Any], documents: Documents, words: int) -> MixtureChain:
        """Start the chain of the options of training that these parameters are."""
        options = {option: given[name] for name, option in OPTIONS_OF.items() if name in given}
        options |= {"model": "dpmm", "eta": (self.base,)}
        if self.concentration:
            options["dp-conc"] = CONCENTRATIONS[self.concentration]
        if self.step_size:
            options["step-size"] = (float(self.step_size), 1.0, 0.0)
        check_usage(options)
        facts = Facts(len(documents), words, documents.tokens, 0, lambda *_: words)
        resolved = MixtureOptions.of(resolve(options, facts).options.plain())
        stream = Epochs.of(resolved, documents, np.arange(len(documents)))
        run_on = RunOn(jobs(self.n_jobs))
        check_memory(resolved, facts, documents, run_on.threads)
        return MixtureChain(resolved, stream, words, documents.tokens, run_on.threads)

    # ---- using

    def _documents(self, X: Any) -> Documents:
        self._check_fitted()
        X = self._known_documents(X)
        return as_documents(X, self.n_features_in_, type(self).__name__)[0]

    def _topics(self, layer: int) -> Doubles:
        if layer != 1:
            raise UsageError(f"layer: wanted 1, found {layer!r}")
        return self.components_

    def _each_sample(self, layer: int) -> tuple[Doubles, ...]:
        return ()  # components of different samples are not the same ones

    def _shares(self, X: Any, layer: int) -> Doubles:
        self._topics(layer)
        return self.predict_proba(X)

    def predict_proba(self, X: Any) -> Doubles:
        """Compute the probability that a document belongs to each component of the last sample.

        By Bayes' rule, p(z = j | x) is proportional to w_j prod_v phi_jv^x_v.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            Counts as in `fit`, with as many columns.

        Returns
        -------
        (n, J) float64
            In the order of ``components_``; rows sum to 1. A row without counts gets ``weights_``, and
            so does one with a word whose probability no component can tell from 0.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: a bad count, or another number of columns than in `fit`.
        """
        documents = self._documents(X)
        # log 0 is minus infinity: the least probabilities are 0 in double precision
        log_phi, log_weights = log(self.components_.T), log(self.weights_)
        return responsibilities(documents, log_phi, log_weights)

    def predict(self, X: Any) -> Int64s:
        """Choose the most probable component of the last sample for each document.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            Counts as in `fit`, with as many columns.

        Returns
        -------
        (n,) int64
            Rows of ``components_``; the first of equally probable ones.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: a bad count, or another number of columns than in `fit`.
        """
        found: Int64s = self.predict_proba(X).argmax(axis=1)
        return found

    def score_samples(self, X: Any) -> Doubles:
        """Compute the log predictive density of each document, averaged over posterior samples.

        log (1/S) sum_s p_s(x), where p(x) = sum_j w_j prod_v phi_jv^x_v + r p_0(x): r is what a sample
        leaves of the stick, and predicts as the prior does, p_0. The multinomial coefficient is left
        out. docs/mixture.md, "The score".

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            Counts as in `fit`, with as many columns.

        Returns
        -------
        (n,) float64
            In nats; 0 of a row without counts.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: a bad count, or another number of columns than in `fit`.
        """
        documents = self._documents(X)
        usable = np.flatnonzero(documents.lengths > 0)
        some, found = documents.take(usable), np.zeros(len(documents))
        if len(usable):
            prior = prior_predictive(some, self.n_features_in_, self._base)
            each = [
                log_mixture(some, log_phi, log_weights, left + prior)
                for log_weights, left, log_phi in self._samples
            ]
            found[usable] = logsumexp(np.array(each).T) - math.log(len(each))
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """Compute the mean log predictive density of a document: the mean of `score_samples`.

        This is a figure per document, scored whole. `LDA.score` is another one, per held-out token given
        the rest of its document: the two cannot be compared.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            Counts as in `fit`, with as many columns.
        y : None
            Ignored; there for scikit-learn.

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
