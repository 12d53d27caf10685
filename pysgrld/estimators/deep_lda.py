"""Deep LDA (Poisson gamma belief network) as an estimator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pysgrld.estimators.base import BOUNDS, Rule, is_positive, is_whole, with_sampler_options
from pysgrld.estimators.count_model import CountModel
from pysgrld.estimators.fitting import AUTO
from pysgrld.estimators.inputs import as_documents, in_units
from pysgrld.estimators.kept import as_rows
from pysgrld.models.dlda.declared import LINKS
from pysgrld.models.dlda.documents import topics_name
from pysgrld.options.parse import MAX_LAYERS
from pysgrld.types import Documents

__all__ = ["DeepLDA"]


@with_sampler_options
class DeepLDA(CountModel):
    """Deep LDA, which is the Poisson gamma belief network; all its layers are learned together.

    Documents are sampled by upward-downward Gibbs sampling, and the topics of each layer by the
    chosen sampler. docs/deep-lda.md describes the model, its priors and measurements.

    Parameters
    ----------
    layers : sequence of int
        Numbers of topics K_1, ..., K_L of the layers, the lowest layer first. Each is at least 1
        and not greater than the number before; at most 8 layers.
    algo : {"scir", "sgrld", "sgrhmc", "tlasgr", "tlfsgr", "smld", "smld-approx", "gibbs"}
        Sampler of the topics; docs/choosing-a-sampler.md describes each.
    link : {"counts", "binary", "real"}
        Meaning of X: "counts"; "binary", presence of words, for which any count means 1; or "real",
        non-negative reals, which are rounded up to multiples of 2^-20 of the greatest value.
    eta : float or sequence of float
        Dirichlet prior per word of a topic, in (0, 10^6): one for all layers, or one for each
        layer.
    minibatch : int, optional
        Number of documents per iteration, at least 1; by default 200, but at most a quarter of the
        corpus; fewer if documents are long, more if they are short. `partial_fit` ignores it: its
        minibatch is the documents passed to it.
    sweeps : int, optional
        Number of Gibbs sweeps over a document per iteration, at least 1; only the second half of
        them counts. By default 30, or 1 with ``gibbs``.
    step_size : (float, float, float), optional
        A, B, C of the step size A (1 + t/B)^(-C): A in (0, 10^6], B > 0, C in [0, 1]. By default,
        the sampler chooses them for the corpus.
    warm_up : int, optional
        Number of iterations without noise at the start, at least 0; by default one epoch, but at
        least 50 and at most 500; 0 with ``gibbs``.
    burn_in : int, optional
        Number of iterations before the first posterior sample, at least 0; by default the warm-up,
        or 200.
    max_iter : int, optional
        Number of iterations of `fit`, at least 1; by default, `fit` continues until held-out
        perplexity has converged.
    holdout : int or float, optional
        Number of documents, or their fraction below 1, that `fit` holds out to see when it has
        converged; by default 10 %, but at most 1000. With 0, `fit` learns from all documents, and
        the score of training documents decides when it ends. Not used with ``link="real"``, which
        has no held-out score.
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
    components_ : (K_1, V) float32
        Posterior mean of the topics of the first layer; rows sum to 1.
    weights_ : list of (K_l, K_{l-1}) float32
        Posterior means for each layer: the lowest layer's topics over words, then each higher
        layer's topics over the topics of the layer below.
    r_ : (K_L,) float32
        Posterior mean of the gamma shapes of the top layer; they measure how much its topics are
        used.
    n_features_in_ : int
        Number of columns V.
    feature_names_in_ : (V,) array of str objects
        Words of the columns, if X has them: columns of a DataFrame, words of texts or of a run.
    n_iter_ : int
        Number of iterations done.
    n_samples_ : int
        Number of posterior samples in the means; 0 if the attributes hold the current state.
    perplexity_ : float
        Perplexity of the documents that `fit` held out, averaged over the posterior; the attribute
        exists only if `fit` held documents out. Before the first posterior sample, perplexity of
        the current topics. Another ``random_state`` holds other documents out: compare models by
        `perplexity` of the same documents.

    Notes
    -----
    Cong, Chen, Liu and Zhou (2017), section 2 and eq. (4), (5) for documents, eq. (14) to (18) for
    ``tlasgr``. Binary data: Zhou (2015).

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
    numbers = (*CountModel.numbers, "unit")
    options_of: ClassVar = {
        "layers": "layers",
        "algo": "algo",
        "link": "link",
        "eta": "eta",
        "minibatch": "minibatch",
        "sweeps": "sweeps",
        "random_state": "seed",
    }

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
        keep_samples: int | str = AUTO,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int | str = AUTO,
        # The decorator with_sampler_options replaces this parameter by named parameters.
        **sampler_options: Any,
    ) -> None:
        del sampler_options
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
        self.keep_samples = keep_samples
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rules(self) -> list[Rule]:
        layers = tuple(self.layers) if np.iterable(self.layers) else (self.layers,)
        good = all(is_whole(k, 1) for k in layers) and 1 <= len(layers) <= MAX_LAYERS
        good = good and list(layers) == sorted(layers, reverse=True)
        eta = tuple(self.eta) if np.iterable(self.eta) else (self.eta,)
        return [
            Rule(
                "layers",
                layers,
                good,
                f"1 to {MAX_LAYERS} layers, none with more topics than the layer below",
            ),
            Rule("link", self.link, self.link in LINKS, f"link in {', '.join(LINKS)}"),
            Rule("eta", eta, all(is_positive(e) for e in eta), f"eta > 0, between {BOUNDS}"),
            *self._shared_rules(),
        ]

    @property
    def _no_score(self) -> str:
        """Reason why real values have no held-out score, or an empty text for counts."""
        return "a model with link='real' has no held-out score" if self.link == "real" else ""

    def _documents(self, X: Any, words: int | None = None) -> tuple[Documents, int]:
        if self.link == "real" and not isinstance(X, Documents):
            unit = None if words is None else getattr(self, "_unit", None)
            X, self._unit = in_units(X, unit)
        documents, words = as_documents(X, words, type(self).__name__)
        if self.link == "binary":
            ones = np.ones_like(documents.counts)
            documents = Documents(documents.indptr, documents.indices, ones)
        return documents, words

    def _finish(self) -> None:
        super()._finish()
        layers, draw = self._fitted().layers, self._draw
        self.weights_ = [as_rows(draw[topics_name(i)], k) for i, k in enumerate(layers)]
        self.r_ = draw["r"][: layers[-1]].copy()

    def transform(self, X: Any, layer: int = 1, *, draws: int | None = None) -> Any:
        """Infer the proportions of a layer's topics in documents, given the mean topics.

        A document's result depends only on its counts and the seed, not on its position or on other
        documents.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Data as in `fit`, with the same number of columns; reals are rounded to the unit of
            `fit`.
        layer : int
            The layer, counted from 1, the lowest layer.
        draws : int, optional
            Return this number of posterior draws of the proportions, as `LDA.transform` does.

        Returns
        -------
        (n, K_l) float64, or with ``draws`` (S, n, K_l) float32
            Mean of theta_l, divided by its sum, over the second half of the Gibbs sweeps; rows sum
            to 1.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`: a layer that does not exist, a bad entry, or another number of columns.
        """
        if draws is not None:
            return self._drawn_shares(X, layer, draws)
        return self._contained(self._shares(X, layer), X)

    def topics_over_words(self, layer: int = 1) -> np.ndarray:
        """Return a layer's topics as distributions over words, projected through lower layers.

        The topics of layer l are the columns of Phi_1 ... Phi_l: Cong, Chen, Liu and Zhou (2017),
        section 2.

        Parameters
        ----------
        layer : int
            The layer, counted from 1, which is the lowest: ``components_``.

        Returns
        -------
        (K_l, V) float32
            Rows sum to 1.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`, if the layer does not exist.
        """
        return self._topics(layer)
