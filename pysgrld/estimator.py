"""What topic models have in common as estimators, in scikit-learn's conventions."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pysgrld.chain import Chain
from pysgrld.errors import NotFittedError, UsageError
from pysgrld.evaluate import Completion, split
from pysgrld.matrices import as_documents
from pysgrld.options import ALGORITHMS, check_usage, kind_of
from pysgrld.parts import at_words
from pysgrld.plan import hold_out_size
from pysgrld.posterior import Posterior
from pysgrld.proportions import BLOCK, proportions
from pysgrld.resources import threads
from pysgrld.samplers import SAMPLERS
from pysgrld.settings import Facts, resolve
from pysgrld.stream import Stream, choose_holdout, compact, minibatch_words
from pysgrld.types import Documents, Doubles, Floats, Key, Parts


class Rule(NamedTuple):
    """What a parameter must be: the option of training that it is, and how it is wanted."""

    option: str
    value: Any
    good: bool
    wanted: str


class Estimator(ABC):
    """Parameters in scikit-learn's conventions: those of the constructor, kept under their names."""

    @classmethod
    def _parameters(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor, by name."""
        del deep
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters of the constructor.

        Raises
        ------
        UsageError
            A `ValueError`, if there is no such parameter.
        """
        for name, value in params.items():
            if name not in self._parameters():
                raise UsageError(
                    f"invalid parameter {name!r} for {type(self).__name__}: there are "
                    f"{', '.join(self._parameters())}"
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
        return f"{type(self).__name__}({', '.join(changed)})"

    @abstractmethod
    def _rules(self) -> list[Rule]:
        """What each parameter must be, and the option of training that it is."""

    def _given(self) -> dict[str, Any]:
        """Parameters that are not left to us, by the names of options, checked.

        Raises
        ------
        UsageError
            A `ValueError`, if one is out of range.
        """
        rules = self._rules()
        for rule in rules:
            if rule.value is not None and not rule.good:
                name = rule.option.replace("-", "_")
                raise UsageError(f"{name}: wanted {rule.wanted}, found {rule.value!r}")
        return {rule.option: rule.value for rule in rules if rule.value is not None}


class TopicModel(Estimator):
    """A topic model that is fitted to a matrix of counts.

    A subclass has a constructor with keyword parameters, and `_rules` for them.

    Attributes
    ----------
    model : str
        Name of the model, as after ``--model``.
    options_of : dict of str to str
        Parameters of a model that is read from a run, and the options that they were.
    """

    model: ClassVar[str]
    options_of: ClassVar[dict[str, str]]

    algo: str
    minibatch: int | None
    sweeps: int | None
    warm_up: int | None
    burn_in: int | None
    max_iter: int | None
    step_size: tuple[float, float, float] | None
    holdout: int | float | None
    total_samples: float
    random_state: int | None
    n_jobs: int | None

    # ---- parameters ----

    def _shared_rules(self) -> list[Rule]:
        """Those that all models have."""
        return [
            Rule("algo", self.algo, self.algo in ALGORITHMS, f"algo in {', '.join(ALGORITHMS)}"),
            Rule("minibatch", self.minibatch, whole(self.minibatch, 1), "minibatch >= 1"),
            Rule("sweeps", self.sweeps, whole(self.sweeps, 1), "sweeps >= 1"),
            Rule("warm-up", self.warm_up, whole(self.warm_up, 0), "warm_up >= 0"),
            Rule("burn-in", self.burn_in, whole(self.burn_in, 0), "burn_in >= 0"),
            Rule("iterations", self.max_iter, whole(self.max_iter, 1), "max_iter >= 1"),
            Rule("step-size", self.step_size, _schedule(self.step_size), "step_size = (A, B, C)"),
            Rule("seed", self.random_state, whole(self.random_state, 0), "random_state >= 0"),
        ]

    def _given(self) -> dict[str, Any]:
        """Parameters as options of training, checked."""
        given = super()._given()
        check_usage({n: value for n, value in given.items() if n != "lazy" or value != "auto"})
        return given

    def _documents(self, X: Any, words: int | None = None) -> tuple[Documents, int]:
        """Counts out of a matrix."""
        return as_documents(X, words, type(self).__name__)

    # ---- fitting ----

    def fit(self, X: Any, y: Any = None) -> Self:
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
        documents, words = self._documents(X)
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
            completion = Completion(held_out, options, count)
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

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Do one iteration with ``X`` as the minibatch of a corpus of ``total_samples`` documents.

        The first call fixes the vocabulary size and starts the chain.
        """
        del y
        documents, words = self._documents(X, getattr(self, "n_features_in_", None))
        usable = np.flatnonzero(documents.lengths > 0)
        if len(usable) == 0:
            return self
        if not hasattr(self, "_posterior"):
            given = self._given()
            if SAMPLERS[kind_of(given)[0]].full_batch:
                raise UsageError(f"algo={given['algo']!r} needs the whole corpus: use fit")
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
        self._parts: Parts = posterior.chain.parts() if mean is None else mean
        self.components_ = normalised(self._parts["phi"][:, : self._options["topics"]].T)
        self.n_iter_ = posterior.chain.step
        self.n_samples_ = posterior.samples
        if posterior.scorer is not None:
            self.perplexity_ = posterior.score

    def fit_transform(self, X: Any, y: Any = None) -> Doubles:
        """`fit`, then `transform` the same documents."""
        return self.fit(X, y).transform(X)

    # ---- using ----

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet: call fit or partial_fit first"
            )

    def transform(self, X: Any) -> Doubles:
        """Topic proportions of documents under the posterior-mean topics, (n, K); rows sum to 1.

        A document's result depends on its counts, its row and the seed, not on its neighbours.
        """
        return self._proportions(X, 0)

    def _proportions(self, X: Any, layer: int) -> Doubles:
        self._check_fitted()
        documents, _ = self._documents(X, self.n_features_in_)
        found = []
        for begin in range(0, len(documents), BLOCK):
            ids = np.arange(begin, min(begin + BLOCK, len(documents)))
            found.append(
                proportions(
                    self._options, self._parts, documents.take(ids), ids,
                    threads(self.n_jobs).number, layer,
                )
            )  # fmt: skip
        return np.concatenate(found)

    def perplexity(self, X: Any, y: Any = None, *, observed: float = 0.8) -> float:
        """Perplexity of documents by completion, under the posterior-mean topics.

        Each document's tokens are split at random into observed and held-out ones; see
        docs/evaluation.md.
        """
        del y
        self._check_fitted()
        documents, _ = self._documents(X, self.n_features_in_)
        seed = self._options["seed"]
        parts = split(documents, np.arange(len(documents)), observed, seed)
        if len(parts.observed) == 0:
            raise UsageError("X has no document of two tokens: nothing can be held out")
        completion = Completion(parts, self._options, threads(self.n_jobs).number)
        return completion.point(Key(seed, 0, 0), at_words(self._parts, completion.words))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log probability of a held-out token: minus the logarithm of `perplexity`."""
        return -float(np.log(self.perplexity(X, y)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: lda0, lda1, ..., or deeplda0, ..."""
        del input_features
        self._check_fitted()
        name = type(self).__name__.lower()
        return np.array([f"{name}{k}" for k in range(self._options["topics"])], dtype=object)

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
    def load(cls, path: str | Path) -> Self:
        """Read a model that `save` or ``sgmc train`` wrote; `partial_fit` goes on from it."""
        from pysgrld.saved import load

        return load(cls, Path(path))


def normalised(phi: Floats) -> Floats:
    """Rows that sum to 1 in double precision."""
    total = phi.sum(axis=1, dtype=np.float64, keepdims=True)
    result: Floats = (phi / total).astype(np.float32)
    return result


def whole(value: Any, low: int) -> bool:
    """Whether a value is a whole number of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        return False
    return int(value) >= low


def positive(value: Any) -> bool:
    """Whether a value is a positive number that is not absurd."""
    return isinstance(value, (int, float, np.number)) and bool(0 < float(value) < 1e6)


def _schedule(value: Any) -> bool:
    try:
        a, b, c = (float(v) for v in value)
    except (TypeError, ValueError):
        return False
    return 0 < a <= 1e6 and b > 0 and 0 <= c <= 1
