"""Topic models as estimators, in scikit-learn's conventions and without importing it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pysgrld.errors import UsageError
from pysgrld.estimator import Rule, TopicModel, normalised, positive, whole
from pysgrld.matrices import as_documents, in_units
from pysgrld.models.dlda import name_of, projection
from pysgrld.options import CIR_RATES, LAZY, LINKS
from pysgrld.parsers import MAX_LAYERS
from pysgrld.types import Documents, Doubles

__all__ = ["LDA", "DeepLDA"]


class LDA(TopicModel):
    """Latent Dirichlet allocation by stochastic-gradient MCMC.

    Parameters
    ----------
    n_components : int
        Number of topics K.
    algo : {"scir", "sgrld", "smld", "smld-approx", "tlasgr", "tlfsgr", "gibbs", "cgs", "ovb", "hsvg"}
        Sampler of the topics; docs/choosing-a-sampler.md says what each is.
    alpha : float, optional
        Dirichlet prior per topic of a document; min(0.1, 5/K).
    eta : float
        Dirichlet prior per word of a topic.
    minibatch, sweeps : int, optional
        Documents per minibatch, and Gibbs sweeps per document; as ``sgmc train``.
    step_size : (float, float, float), optional
        A, B, C of the step A (1 + t/B)^(-C).
    lazy : {"auto", "on", "off"}
        ``scir``: bring a word's row up to date only when it is next read; ``auto`` where a
        minibatch holds few of the words.
    cir_rate : {"paper", "natural"}, optional
        ``scir``: rate of a topic's process, the paper's 1 or 1 + N_k/s_k.
    warm_up, burn_in : int, optional
        Noise-free iterations, and iterations before the first posterior sample.
    max_iter : int, optional
        Iterations; by default until held-out perplexity has settled.
    holdout : int or float, optional
        Documents (or their share) that `fit` sets apart to see when it has settled; min(1000,
        10 %). 0 needs ``max_iter``.
    total_samples : float
        Size of the corpus that `partial_fit` sees minibatches of.
    random_state : int
        Seed; the result depends on nothing else, not on ``n_jobs`` either.
    n_jobs : int, optional
        Threads; by default what the process may use.

    Attributes
    ----------
    components_ : (K, V) float32
        Posterior mean of the topics; rows sum to 1.
    n_features_in_ : int
        V.
    n_iter_ : int
        Iterations done.
    n_samples_ : int
        Posterior samples in ``components_``; 0: the current topics.
    perplexity_ : float
        Posterior-averaged held-out perplexity of the documents that `fit` set apart.

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
        "n_components": "topics", "algo": "algo", "alpha": "alpha", "eta": "eta",
        "minibatch": "minibatch", "sweeps": "sweeps", "lazy": "lazy", "cir_rate": "cir-rate",
        "random_state": "seed",
    }  # fmt: skip

    def __init__(
        self,
        n_components: int = 100,
        *,
        algo: str = "scir",
        alpha: float | None = None,
        eta: float = 0.05,
        minibatch: int | None = None,
        sweeps: int | None = None,
        step_size: tuple[float, float, float] | None = None,
        lazy: str = "auto",
        cir_rate: str | None = None,
        warm_up: int | None = None,
        burn_in: int | None = None,
        max_iter: int | None = None,
        holdout: int | float | None = None,
        total_samples: float = 1e6,
        random_state: int | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.algo = algo
        self.alpha = alpha
        self.eta = eta
        self.minibatch = minibatch
        self.sweeps = sweeps
        self.step_size = step_size
        self.lazy = lazy
        self.cir_rate = cir_rate
        self.warm_up = warm_up
        self.burn_in = burn_in
        self.max_iter = max_iter
        self.holdout = holdout
        self.total_samples = total_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _rules(self) -> list[Rule]:
        if self.n_components is None:
            raise UsageError("n_components: wanted a number of topics, found None")
        return [
            Rule("topics", self.n_components, whole(self.n_components, 1), "n_components >= 1"),
            Rule("alpha", self.alpha, positive(self.alpha), "alpha > 0"),
            Rule("eta", self.eta, self.eta is not None and positive(self.eta), "eta > 0"),
            Rule("lazy", self.lazy, self.lazy in LAZY, f"lazy in {', '.join(LAZY)}"),
            Rule(
                "cir-rate",
                self.cir_rate,
                self.cir_rate in CIR_RATES,
                f"cir_rate in {', '.join(CIR_RATES)}",
            ),
            *self._shared_rules(),
        ]


class DeepLDA(TopicModel):
    """Deep LDA, the Poisson gamma belief network, learned jointly in all layers.

    Cong, Chen, Liu and Zhou (2017); documents by upward-downward Gibbs, topics of every layer by any
    of the samplers.

    Parameters
    ----------
    layers : sequence of int
        Topics of each layer, the lowest first, none above the one before.
    algo : str
        Sampler of the topics, as ``sgmc train --algo``.
    link : {"counts", "binary", "real"}
        What X holds: counts; presence (any count is 1); or non-negative reals, which are rounded
        to 2^-20 of the greatest.
    eta : float or sequence of float
        Dirichlet prior per word of a topic, for all layers or one for each.
    minibatch, sweeps, step_size, warm_up, burn_in, max_iter, holdout, total_samples, random_state,
    n_jobs
        As in `LDA`.

    Attributes
    ----------
    components_ : (K1, V) float32
        Posterior mean of the topics of the first layer; rows sum to 1.
    weights_ : list of (K_l, K_{l-1}) float32
        Posterior means of all layers: topics over words, then topics over the topics below.
    r_ : (K_L,) float32
        Posterior mean of the shapes of the top layer: how much each of its topics is used.
    n_features_in_, n_iter_, n_samples_, perplexity_
        As in `LDA`.

    Examples
    --------
    >>> import numpy as np
    >>> from pysgrld import DeepLDA
    >>> counts = np.kron(np.eye(2, dtype=int), np.ones((50, 6), dtype=int))
    >>> deep = DeepLDA((4, 2), max_iter=60, holdout=0).fit(counts)
    >>> deep.transform(counts, layer=2).shape
    (100, 2)
    """

    model = "dlda"
    options_of: ClassVar = {
        "layers": "layers", "algo": "algo", "link": "link", "eta": "eta", "minibatch": "minibatch",
        "sweeps": "sweeps", "random_state": "seed",
    }  # fmt: skip

    def __init__(
        self,
        layers: Any = (128, 64, 32),
        *,
        algo: str = "scir",
        link: str = "counts",
        eta: Any = 0.05,
        minibatch: int | None = None,
        sweeps: int | None = None,
        step_size: tuple[float, float, float] | None = None,
        warm_up: int | None = None,
        burn_in: int | None = None,
        max_iter: int | None = None,
        holdout: int | float | None = None,
        total_samples: float = 1e6,
        random_state: int | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.layers = layers
        self.algo = algo
        self.link = link
        self.eta = eta
        self.minibatch = minibatch
        self.sweeps = sweeps
        self.step_size = step_size
        self.warm_up = warm_up
        self.burn_in = burn_in
        self.max_iter = max_iter
        self.holdout = holdout
        self.total_samples = total_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _rules(self) -> list[Rule]:
        layers = tuple(self.layers) if np.iterable(self.layers) else (self.layers,)
        good = all(whole(k, 1) for k in layers) and 1 <= len(layers) <= MAX_LAYERS
        good = good and list(layers) == sorted(layers, reverse=True)
        eta = tuple(self.eta) if np.iterable(self.eta) else (self.eta,)
        return [
            Rule(
                "layers", layers, good, f"1 to {MAX_LAYERS} layers, none wider than the one below"
            ),
            Rule("link", self.link, self.link in LINKS, f"link in {', '.join(LINKS)}"),
            Rule("eta", eta, all(positive(e) for e in eta), "eta > 0"),
            Rule("model", "dlda", True, ""),
            *self._shared_rules(),
        ]

    def _documents(self, X: Any, words: int | None = None) -> tuple[Documents, int]:
        if self.link == "real":
            X, self._unit = in_units(X, getattr(self, "_unit", None))
        documents, words = as_documents(X, words, type(self).__name__)
        if self.link == "binary":
            there = np.ones_like(documents.counts)
            documents = Documents(documents.indptr, documents.indices, there)
        return documents, words

    def _finish(self) -> None:
        super()._finish()
        layers, parts = self._options["layers"], self._parts
        self.weights_ = [normalised(parts[name_of(i)][:, :k].T) for i, k in enumerate(layers)]
        self.r_ = parts["r"][: layers[-1]].copy()

    def _check_layer(self, layer: int) -> int:
        self._check_fitted()
        depth = len(self._options["layers"])
        if not whole(layer, 1) or layer > depth:
            raise UsageError(f"layer: wanted 1 to {depth}, found {layer!r}")
        return layer - 1

    def transform(self, X: Any, layer: int = 1) -> Doubles:
        """Proportions of the topics of a layer, (n, K_l); rows sum to 1. The lowest layer is 1."""
        return self._proportions(X, self._check_layer(layer))

    def topics_over_words(self, layer: int = 1) -> np.ndarray:
        """Topics of a layer over the words, through the layers below, (K_l, V); rows sum to 1."""
        at = self._check_layer(layer)
        layers = tuple(self._options["layers"])
        return normalised(projection(self._parts, layers, at)[:, : layers[at]].T)
