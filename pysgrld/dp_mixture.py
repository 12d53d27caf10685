"""The Dirichlet-process mixture as an estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from pysgrld.errors import NotFittedError, UsageError
from pysgrld.estimator import Estimator, Rule, positive, whole
from pysgrld.matrices import as_documents
from pysgrld.mixture_chain import MixtureChain
from pysgrld.models.multinomials import log_likelihoods, logsumexp
from pysgrld.options import MIXING
from pysgrld.resources import threads
from pysgrld.settings import Facts, resolve
from pysgrld.stream import Stream
from pysgrld.types import Documents, Doubles, Int64s

__all__ = ["DPMixture"]

#: Ways to draw the concentration, and what training calls them.
CONCENTRATIONS = {"sticks": "sticks", "escobar-west": "ew"}
#: Parameters that are options of training as they stand.
OPTIONS_OF = {
    "algo": "algo", "concentration_prior": "dp-prior", "minibatch": "minibatch",
    "stick_step_size": "dp-stick-step", "start_components": "dp-start", "random_state": "seed",
}  # fmt: skip


class DPMixture(Estimator):
    """Dirichlet-process mixture of multinomials: clusters of count vectors, in any number.

    Unlike a topic model, every document belongs to one component. Baker et al. (2018), section 4.2.

    Parameters
    ----------
    algo : {"scir", "sgrld", "gibbs"}
        ``gibbs``: exact slice sampling, all documents in every iteration. ``scir``, ``sgrld``:
        stochastic slice sampling of minibatches.
    base : float
        Dirichlet prior of components, per word.
    concentration_prior : (float, float)
        Shape and rate of the gamma prior of the concentration.
    concentration : {"sticks", "escobar-west"}
        What the concentration is drawn given.
    minibatch : int, optional
        Documents an iteration; 1000, or a quarter of them. All with ``gibbs``.
    step_size, stick_step_size : float, optional
        Lengths h of steps of components and of sticks: 0.1 (``scir``), 0.001 and 0.005 (``sgrld``).
    start_components : int
        Components that documents are spread over at first.
    max_iter, burn_in : int
        Iterations, and iterations before the first posterior sample; every later one is a sample.
    random_state : int
        Seed; the result depends on nothing else, not on ``n_jobs`` either.
    n_jobs : int, optional
        Threads; by default what the process may use.

    Attributes
    ----------
    weights_ : (J,) float64
        Weights of the components of the last sample, the largest first.
    components_ : (J, V) float64
        Their probabilities of words; rows sum to 1.
    concentration_ : float
        Of the last sample.
    n_components_trace_ : (max_iter,) int64
        Occupied components after each iteration.
    concentration_trace_ : (max_iter,) float64
    labels_ : (n,) int64
        Component of each training document in the last sample; -1 for an empty one.
    n_features_in_ : int
        V.
    n_samples_ : int
        Posterior samples that `score_samples` averages over, at most `KEPT`, evenly spread.

    Examples
    --------
    >>> import numpy as np
    >>> from pysgrld import DPMixture
    >>> counts = np.kron(np.eye(2, dtype=int), np.ones((50, 6), dtype=int))
    >>> mixture = DPMixture(algo="gibbs", max_iter=300, burn_in=100).fit(counts)
    >>> sorted(np.bincount(mixture.labels_)[:2].tolist())
    [50, 50]
    """

    #: Samples that are kept of a run.
    KEPT = 50

    def __init__(
        self, *, algo: str = "scir", base: float = 0.5,
        concentration_prior: tuple[float, float] = (1.0, 1.0), concentration: str = "sticks",
        minibatch: int | None = None, step_size: float | None = None,
        stick_step_size: float | None = None, start_components: int = 20, max_iter: int = 1000,
        burn_in: int = 200, random_state: int = 0, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
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

    def _rules(self) -> list[Rule]:
        pair = self.concentration_prior
        two = isinstance(pair, (tuple, list)) and len(pair) == 2 and all(map(positive, pair))
        steps = [("step_size", self.step_size), ("stick_step_size", self.stick_step_size)]
        numbers = [("start_components", self.start_components, 1), ("max_iter", self.max_iter, 1),
                   ("burn_in", self.burn_in, 0), ("random_state", self.random_state, 0),
                   ("minibatch", self.minibatch, 1)]  # fmt: skip
        return [
            Rule("algo", self.algo, self.algo in MIXING, f"one of {', '.join(MIXING)}"),
            Rule("base", self.base, positive(self.base), "a number above 0"),
            Rule("concentration_prior", pair, two, "shape and rate, both above 0"),
            Rule("concentration", self.concentration, self.concentration in CONCENTRATIONS,
                 f"one of {', '.join(CONCENTRATIONS)}"),
            *(Rule(name, value, positive(value), "a number above 0") for name, value in steps),
            *(Rule(name, value, whole(value, low), f"a whole number >= {low}")
              for name, value, low in numbers),
        ]  # fmt: skip

    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample the posterior given a matrix of counts.

        Parameters
        ----------
        X : (n, V) sparse or dense counts
            Rows without any count are left out.
        y : ignored

        Raises
        ------
        UsageError
            A `ValueError`: bad counts, shapes or parameters.
        NumericalError
            If steps are so large that a component overflows.
        """
        del y
        given = self._given()
        if self.algo == "gibbs":
            for name in ("minibatch", "step_size", "stick_step_size"):
                if name in given:
                    raise UsageError(f"{name} has no meaning for algo='gibbs': leave it out")
        if self.burn_in >= self.max_iter:
            raise UsageError(
                f"burn_in is {self.burn_in}: wanted less than max_iter {self.max_iter}"
            )
        documents, words = as_documents(X, None, type(self).__name__)
        usable = np.flatnonzero(documents.lengths > 0)
        if len(usable) == 0:
            raise UsageError("X has no counts: every document is empty")
        chain = self._begin(given, documents.take(usable), words)
        mixture = chain.mixture
        occupied, concentration = np.empty(self.max_iter, np.int64), np.empty(self.max_iter)
        self._samples: list[tuple[Doubles, float, Doubles]] = []
        spacing = -(-(self.max_iter - self.burn_in) // self.KEPT)
        for t in range(self.max_iter):
            chain.advance()
            occupied[t], concentration[t] = mixture.occupied, mixture.concentration
            after = t + 1 - self.burn_in
            if after > 0 and after % spacing == 0:
                self._samples.append((*mixture.log_weights, mixture.log_phi))
        chain.close()
        self._mixture, self.n_features_in_, self.n_samples_ = mixture, words, len(self._samples)
        self.n_components_trace_, self.concentration_trace_ = occupied, concentration
        self.concentration_ = mixture.concentration
        log_weights, _ = mixture.log_weights
        order = np.argsort(-log_weights, kind="stable")
        self.weights_ = np.exp(log_weights[order])
        self.components_ = np.exp(mixture.log_phi[:, order]).T
        self.labels_ = np.full(len(documents), -1)
        self.labels_[usable] = np.argsort(order)[mixture.z]
        return self

    def _begin(self, given: Mapping[str, Any], documents: Documents, words: int) -> MixtureChain:
        """The chain of the options of training that these parameters are."""
        options = {option: given[name] for name, option in OPTIONS_OF.items() if name in given}
        options |= {
            "model": "dpmm",
            "eta": (self.base,),
            "dp-conc": CONCENTRATIONS[self.concentration],
        }
        if self.step_size:
            options["step-size"] = (float(self.step_size), 1.0, 0.0)
        facts = Facts(len(documents), words, documents.tokens, 0, lambda *_: words)
        resolved, _ = resolve(options, facts)
        stream = Stream.of(resolved, documents, np.arange(len(documents)))
        number = threads(self.n_jobs).number
        return MixtureChain(resolved, stream, words, documents.tokens, number)

    # ---- using

    def _rows(self, X: Any) -> tuple[Documents, Int64s]:
        if not hasattr(self, "components_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        documents, _ = as_documents(X, self.n_features_in_, type(self).__name__)
        usable = np.flatnonzero(documents.lengths > 0)
        return documents.take(usable), usable

    def predict_proba(self, X: Any) -> Doubles:
        """Probability of each component of the last sample, (n, J); an empty row has the weights."""
        some, usable = self._rows(X)
        n = np.shape(X)[0]
        logs = np.tile(np.log(self.weights_), (n, 1))
        if len(usable):
            logs[usable] += log_likelihoods(some, np.log(self.components_.T))
        found: Doubles = np.exp(logs - logsumexp(logs)[:, None])
        return found

    def predict(self, X: Any) -> Int64s:
        """Most probable component of each row, (n,): a row of ``components_``."""
        found: Int64s = self.predict_proba(X).argmax(axis=1)
        return found

    def score_samples(self, X: Any) -> Doubles:
        """Log predictive density of each row, averaged over the posterior samples, (n,).

        Without the multinomial coefficient; what a sample leaves of the stick predicts as the prior.
        """
        some, usable = self._rows(X)
        found = np.zeros(np.shape(X)[0])
        if len(usable):
            each = [self._mixture.log_predictive(some, of=sample) for sample in self._samples]
            found[usable] = logsumexp(np.array(each).T) - math.log(len(each))
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of `score_samples`; higher is better."""
        del y
        return float(self.score_samples(X).mean())
