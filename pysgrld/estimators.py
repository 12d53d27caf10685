"""Topic models as estimators, in scikit-learn's conventions and without importing it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.chain import Chain
from pysgrld.core import check_lengths, core
from pysgrld.errors import NotFittedError, UsageError
from pysgrld.evaluate import Completion, split
from pysgrld.matrices import as_documents
from pysgrld.options import ALGORITHMS, LAZY
from pysgrld.posterior import Posterior
from pysgrld.prepare import hold_out_size
from pysgrld.resources import threads
from pysgrld.settings import Facts, resolve
from pysgrld.stream import Stream, choose_holdout, compact, minibatch_words
from pysgrld.types import UNIT, Documents, Doubles, Floats, Int64s, Key

#: Documents that are inferred at a time: bounds the memory of `LDA.transform`.
INFER_BLOCK = 4096
#: Sweeps for the proportions of a new document, the second half kept.
INFER_SWEEPS = 50


class LDA:
    """Latent Dirichlet allocation by stochastic-gradient MCMC.

    Parameters
    ----------
    n_components : int
        Number of topics K.
    algo : {"scir", "sgrld", "gibbs"}
        Sampler of the topics.
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
        self.warm_up = warm_up
        self.burn_in = burn_in
        self.max_iter = max_iter
        self.holdout = holdout
        self.total_samples = total_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- parameters ----

    @classmethod
    def _parameters(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor, by name."""
        del deep
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> LDA:
        """Change parameters of the constructor.

        Raises
        ------
        UsageError
            A `ValueError`, if there is no such parameter.
        """
        for name, value in params.items():
            if name not in self._parameters():
                raise UsageError(
                    f"invalid parameter {name!r} for LDA: there are {', '.join(self._parameters())}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {
            name: p.default for name, p in inspect.signature(type(self).__init__).parameters.items()
        }
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items()
            if value != defaults[name]
        ]  # fmt: skip
        return f"LDA({', '.join(changed)})"

    def _given(self) -> dict[str, Any]:
        """Parameters as options of training, checked."""
        wanted: list[tuple[str, Any, bool, str]] = [
            ("topics", self.n_components, _whole(self.n_components, 1), "n_components >= 1"),
            ("algo", self.algo, self.algo in ALGORITHMS, f"algo in {', '.join(ALGORITHMS)}"),
            ("alpha", self.alpha, _positive(self.alpha), "alpha > 0"),
            ("eta", self.eta, self.eta is not None and _positive(self.eta), "eta > 0"),
            ("minibatch", self.minibatch, _whole(self.minibatch, 1), "minibatch >= 1"),
            ("sweeps", self.sweeps, _whole(self.sweeps, 1), "sweeps >= 1"),
            ("warm-up", self.warm_up, _whole(self.warm_up, 0), "warm_up >= 0"),
            ("burn-in", self.burn_in, _whole(self.burn_in, 0), "burn_in >= 0"),
            ("iterations", self.max_iter, _whole(self.max_iter, 1), "max_iter >= 1"),
            ("step-size", self.step_size, _schedule(self.step_size), "step_size = (A, B, C)"),
            ("lazy", self.lazy, self.lazy in LAZY, f"lazy in {', '.join(LAZY)}"),
            ("seed", self.random_state, _whole(self.random_state, 0), "random_state >= 0"),
        ]
        for name, value, good, rule in wanted:
            if value is not None and not good:
                raise UsageError(f"{name.replace('-', '_')}: wanted {rule}, found {value!r}")
        if self.n_components is None:
            raise UsageError("n_components: wanted a number of topics, found None")
        return {name: value for name, value, *_ in wanted if value is not None}

    # ---- fitting ----

    def fit(self, X: Any, y: Any = None) -> LDA:
        """Learn topics from a matrix of counts.

        Parameters
        ----------
        X : (n, V) sparse or dense counts
            Documents without words are fine; they say nothing.
        y : ignored

        Raises
        ------
        UsageError
            A `ValueError`: bad counts, shapes or parameters.
        """
        del y
        documents, words = as_documents(X)
        given = self._given()
        usable = np.flatnonzero(documents.lengths > 0)
        if len(usable) == 0:
            raise UsageError("X has no counts: every document is empty")
        seed = given.get("seed", 0)
        size = hold_out_size(self.holdout, len(usable))
        if size == 0 and self.max_iter is None:
            raise UsageError("holdout=0 leaves nothing to see when it has settled: give max_iter")
        train, held_out = usable, None
        if size:
            chosen = choose_holdout(len(usable), size, Key(seed, 0, 0))
            held_out = split(documents.take(usable[chosen]), chosen, 0.8, seed)
            train = np.delete(usable, chosen)
        if held_out is not None and len(held_out.observed) == 0:
            if self.max_iter is None:
                raise UsageError("no held-out document has two tokens: give max_iter and holdout=0")
            held_out = None
        tokens = int(documents.lengths[train].sum())
        visits = held_out.observed.tokens if held_out else 0
        seen = minibatch_words(documents, train)
        options, _ = resolve(given, Facts(len(train), words, tokens, visits, seen))
        count = threads(self.n_jobs).number
        chain = Chain(options, Stream.of(options, documents, train), words, tokens, count)
        completion = None
        if held_out:
            completion = Completion(held_out, options["topics"], options["alpha"], count)
        self._posterior = Posterior(
            chain, completion, options["burn-in"], options["sample-every"], keep_mean=True
        )
        self._options = options
        self.n_features_in_ = words
        while self.max_iter is None or chain.step < self.max_iter:
            self._advance()
            if self.max_iter is None and self._posterior.due and self._posterior.settled():
                break
        self._finish()
        return self

    def partial_fit(self, X: Any, y: Any = None) -> LDA:
        """Do one iteration with ``X`` as the minibatch of a corpus of ``total_samples`` documents.

        The first call fixes the vocabulary size and starts the chain.
        """
        del y
        documents, words = as_documents(X, getattr(self, "n_features_in_", None))
        usable = np.flatnonzero(documents.lengths > 0)
        if len(usable) == 0:
            return self
        if not hasattr(self, "_posterior"):
            given = self._given()
            if given.get("algo") == "gibbs":
                raise UsageError("algo='gibbs' needs the whole corpus: use fit")
            total = int(self.total_samples)
            mean_length = documents.tokens / len(usable)
            given.setdefault("minibatch", len(usable))
            seen = len(np.unique(documents.indices))
            options, _ = resolve(
                given, Facts(total, words, int(mean_length * total), 0, lambda *_: seen)
            )
            chain = Chain(
                options, Stream.of(options, documents, np.arange(total)), words,
                int(mean_length * total), threads(self.n_jobs).number,
            )  # fmt: skip
            self._options = options
            self._posterior = Posterior(
                chain, None, options["burn-in"], options["sample-every"], keep_mean=True
            )
            self.n_features_in_ = words
            self._seen = 0
        ids = self._seen + np.arange(len(usable))
        self._seen += len(usable)
        batch = compact(documents.take(usable), ids, self.total_samples / len(usable))
        self._advance(batch)
        self._finish()
        return self

    def _advance(self, batch: Any = None) -> None:
        chain = self._posterior.chain
        chain.advance(batch)
        chain.check()
        if self._posterior.due:
            self._posterior.observe()

    def _finish(self) -> None:
        posterior = self._posterior
        mean = posterior.mean()
        phi = posterior.chain.phi() if mean is None else mean
        self._phi = phi
        self.components_ = normalised(phi[:, : self._options["topics"]].T)
        self.n_iter_ = posterior.chain.step
        self.n_samples_ = posterior.samples
        if posterior.completion is not None:
            self.perplexity_ = posterior.perplexity

    def fit_transform(self, X: Any, y: Any = None) -> Doubles:
        """`fit`, then `transform` the same documents."""
        return self.fit(X, y).transform(X)

    # ---- using ----

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise NotFittedError("this LDA is not fitted yet: call fit or partial_fit first")

    def transform(self, X: Any) -> Doubles:
        """Topic proportions of documents under the posterior-mean topics, (n, K); rows sum to 1.

        A document's result depends on its counts, its row and the seed, not on its neighbours.
        """
        self._check_fitted()
        documents, _ = as_documents(X, self.n_features_in_)
        n, k = len(documents), self._options["topics"]
        theta = np.empty((n, k))
        for begin in range(0, n, INFER_BLOCK):
            ids = np.arange(begin, min(begin + INFER_BLOCK, n))
            theta[ids] = proportions(
                self._phi, documents.take(ids), ids, k, self._options["alpha"],
                self._options["seed"], threads(self.n_jobs).number,
            )  # fmt: skip
        return theta

    def perplexity(self, X: Any, y: Any = None, *, observed: float = 0.8) -> float:
        """Perplexity of documents by completion, under the posterior-mean topics.

        Each document's tokens are split at random into observed and held-out ones; see
        docs/evaluation.md.
        """
        del y
        self._check_fitted()
        documents, _ = as_documents(X, self.n_features_in_)
        seed = self._options["seed"]
        parts = split(documents, np.arange(len(documents)), observed, seed)
        if len(parts.observed) == 0:
            raise UsageError("X has no document of two tokens: nothing can be held out")
        completion = Completion(
            parts, self._options["topics"], self._options["alpha"], threads(self.n_jobs).number
        )
        return completion.point(Key(seed, 0, 0), self._phi[completion.words])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log probability of a held-out token: minus the logarithm of `perplexity`."""
        return -float(np.log(self.perplexity(X, y)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: lda0, lda1, ..."""
        del input_features
        self._check_fitted()
        return np.array([f"lda{k}" for k in range(self._options["topics"])], dtype=object)

    def save(self, path: str | Path, vocabulary: Sequence[str] | None = None) -> None:
        """Write a run directory, which ``sgmc topics``, ``sgmc export`` and `load` read.

        Parameters
        ----------
        path : path
            Must not exist.
        vocabulary : sequence of str, optional
            Words of the columns; by default their numbers.

        Raises
        ------
        OutputError
            If the folder exists or cannot be made.
        """
        from pysgrld.saved import save

        self._check_fitted()
        save(Path(path), self, vocabulary)

    @classmethod
    def load(cls, path: str | Path) -> LDA:
        """Read a model that `save` or ``sgmc train`` wrote; `partial_fit` goes on from it."""
        from pysgrld.saved import load

        return load(cls, Path(path))


def normalised(phi: Floats) -> Floats:
    """Rows that sum to 1 in double precision."""
    total = phi.sum(axis=1, dtype=np.float64, keepdims=True)
    result: Floats = (phi / total).astype(np.float32)
    return result


def proportions(
    phi: Floats, documents: Documents, ids: Int64s, k: int, alpha: float, seed: int, count: int
) -> Doubles:
    """Topic proportions (alpha + E[n_dk]) / (K alpha + N_d) of documents, given topics, (n, K).

    Patterson and Teh (2013), eq. 15. A document's randomness is keyed by its id. Of one that is too
    long for the kept sweeps to be counted together, the last sweep alone is counted.
    """
    lengths = documents.lengths
    check_lengths(lengths, 1, "document", ids)
    long = lengths > core.MAX_COLLECTED // (INFER_SWEEPS // 2)
    theta = np.empty((len(ids), k))
    for chosen, kept in ((~long, INFER_SWEEPS // 2), (long, 1)):
        if chosen.any():
            some = documents if chosen.all() else documents.take(np.flatnonzero(chosen))
            theta[chosen] = _proportions(phi, some, ids[chosen], k, alpha, seed, count, kept)
    return theta


def _proportions(
    phi: Floats, documents: Documents, ids: Int64s, k: int, alpha: float, seed: int, count: int,
    kept: int,
) -> Doubles:  # fmt: skip
    """Proportions of documents, from this many kept sweeps."""
    batch = compact(documents, ids, 1.0)
    _, counts = core.documents_gibbs(
        phi=phi[batch.words] if len(batch.words) else phi[:1],
        topics=k,
        indptr=batch.indptr,
        indices=batch.indices,
        counts=batch.counts,
        doc_ids=ids,
        alpha=alpha,
        sweeps=INFER_SWEEPS,
        kept=kept,
        rao_blackwell=True,
        seed=seed,
        chain=0,
        step=0,
        purpose=core.Purpose.infer,
        want_words=False,
        want_documents=True,
        work=core.Workspace(),
        threads=count,
    )
    assert counts is not None
    weights = alpha + counts[:, :k] / (UNIT * kept)
    theta: Doubles = weights / weights.sum(axis=1, keepdims=True)
    return theta


def _whole(value: Any, low: int) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        return False
    return int(value) >= low


def _positive(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and bool(0 < float(value) < 1e6)


def _schedule(value: Any) -> bool:
    try:
        a, b, c = (float(v) for v in value)
    except (TypeError, ValueError):
        return False
    return 0 < a <= 1e6 and b > 0 and 0 <= c <= 1
