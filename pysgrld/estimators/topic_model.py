"""Topic models that are fitted to a matrix, in scikit-learn's conventions: what all of them have."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pysgrld.corpus.choice import choose_documents
from pysgrld.draws import Draw
from pysgrld.errors import ConvergenceWarning, NotFittedError, UsageError
from pysgrld.estimators.base import Estimator, Rule, is_schedule, is_whole, number
from pysgrld.estimators.matrices import as_documents
from pysgrld.estimators.resources import check_memory, jobs
from pysgrld.estimators.saved import Saved, load, save
from pysgrld.evaluate import HeldOut
from pysgrld.evaluate.proportions import BLOCK
from pysgrld.grammar import plural
from pysgrld.minibatches import Epochs, hold_out_size, minibatch_words
from pysgrld.models.fitted import Fitted
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.table import model
from pysgrld.options.facts import Facts
from pysgrld.options.resolved import Resolved
from pysgrld.settings.check import check_usage
from pysgrld.settings.resolve import resolve
from pysgrld.train.begin import begin
from pysgrld.types import Array, Documents, Doubles, Floats, Int64s, Key

#: Share of a held-out document's tokens that is observed.
OBSERVED = 0.8


class MatrixRecord(NamedTuple):
    """A model that was fitted to a matrix, as families read one: a `pysgrld.models.fitted.Record`.

    Attributes
    ----------
    options : Resolved
    words, documents, tokens : int
        V, and documents and tokens of training.
    """

    options: Resolved
    words: int
    documents: int
    tokens: int
    step: int
    arrays: Mapping[str, Array]
    place: str = "this model"


class TopicModel(Estimator):
    """Base of topic models that are fitted to a matrix.

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
        """Give the rules of the parameters that all topic models have."""
        known = model(self.model).algorithms
        return [
            Rule("algo", self.algo, self.algo in known, f"algo in {', '.join(known)}"),
            number("minibatch", "minibatch", self.minibatch, 1),
            number("sweeps", "sweeps", self.sweeps, 1, 100_000),
            number("warm-up", "warm_up", self.warm_up, 0),
            number("burn-in", "burn_in", self.burn_in, 0),
            number("iterations", "max_iter", self.max_iter, 1, 2**53),
            Rule("step-size", self.step_size, is_schedule(self.step_size), "step_size = (A, B, C)"),
            number("seed", "random_state", self.random_state, 0, 2**63 - 1),
        ]

    def _given(self) -> dict[str, Any]:
        """Give the parameters as options of training, checked each and together."""
        given = super()._given() | {"model": self.model}
        share = isinstance(self.holdout, float) and 0.0 <= self.holdout < 1.0
        if not (self.holdout is None or share or is_whole(self.holdout, 0)):
            raise UsageError(
                "holdout: wanted a number of documents >= 0, or a share below 1, found "
                f"{self.holdout!r}"
            )
        total = self.total_samples
        known = isinstance(total, int | float | np.number) and not isinstance(total, bool)
        if not (known and 1 <= total <= 2**53):
            raise UsageError(f"total_samples: wanted a number of documents >= 1, found {total!r}")
        check_usage({n: value for n, value in given.items() if n != "lazy" or value != "auto"})
        return given

    def _documents(self, X: Any, words: int | None = None) -> tuple[Documents, int]:
        """Turn a matrix into documents; give them and V."""
        return as_documents(X, words, type(self).__name__)

    def _tokens(self, documents: Documents) -> int:
        """Give the size of documents that minibatches are chosen by."""
        return documents.tokens

    # ---- fitting ----

    def _documents_like(self, X: Any) -> Documents:
        """Turn a matrix into documents over the columns that the model was fitted to."""
        self._check_fitted()
        self._check_names(X)
        return self._documents(X, self.n_features_in_)[0]

    def _documents_apart(self, documents: int) -> int:
        """Give the number of documents that `fit` sets apart to see when it has settled."""
        return hold_out_size(self.holdout, documents)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn topics from a matrix of counts, from the start.

        Without ``max_iter`` this goes on until the averaged held-out perplexity has settled:
        docs/evaluation.md, "When training ends by itself".

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V)
            How often each of V words is in each of n documents: whole numbers from 0 to 2^31 - 1, of
            any dtype. Documents without words are left out; they say nothing.
        y : None
            Ignored; there for scikit-learn.

        Returns
        -------
        Self
            This estimator, fitted.

        Raises
        ------
        UsageError
            A `ValueError`: a bad count, shape or parameter; no document with words; or nothing to
            see when training has settled, where ``max_iter`` is left out.
        CorpusError
            A `ValueError`: a document of too many tokens.
        NumericalError
            If steps are so large that topics overflow.

        Warns
        -----
        ConvergenceWarning
            If ``max_iter`` ends before the first posterior sample, so that the topics are one draw.
        """
        del y
        documents, words = self._documents(X)
        given = self._given()
        usable = np.flatnonzero(np.diff(documents.indptr) > 0)
        if len(usable) == 0:
            raise UsageError("X has no counts: every document is empty")
        size = self._documents_apart(len(usable))
        if size == 0 and self.max_iter is None:
            raise UsageError("holdout=0 leaves nothing to see when it has settled: give max_iter")
        train, held_out = usable, None
        if size:
            seed = given.get("seed", 0)
            chosen = choose_documents(len(usable), size, Key(seed, 0, 0))
            family = model(self.model)
            held_out = family.hold_out(documents.take(usable[chosen]), chosen, OBSERVED, seed)
            train = np.delete(usable, chosen)
        if held_out is not None and len(held_out.observed) == 0:
            if self.max_iter is None:
                raise UsageError("no held-out document has two tokens: give max_iter and holdout=0")
            held_out = None
        tokens = self._tokens(documents.take(train))
        visits = held_out.observed.tokens if held_out else 0
        facts = Facts(len(train), words, tokens, visits, minibatch_words(documents, train))
        self._begin(given, facts, documents, train, held_out)
        self._take_names(X)
        self._check_lengths(documents)
        chain = self._posterior.chain
        while self.max_iter is None or chain.step < self.max_iter:
            self._advance()
            if self.max_iter is None and self._posterior.due and self._posterior.settled():
                break
        self._finish()
        self._warn_of_no_samples()
        return self

    def _check_lengths(self, documents: Documents) -> None:
        """Do nothing: documents of any length are fine where tokens are not counted."""

    def _warn_of_no_samples(self) -> None:
        """Warn where iterations ended before the first posterior sample."""
        posterior, done = self._posterior, self._posterior.chain.step
        if not posterior.draws or posterior.samples:
            return
        most = done - posterior.every
        less = f", or burn_in to {most} or less" if most >= self._options.warm_up else ""
        warnings.warn(
            f"max_iter={done} ends before the first posterior sample, at iteration {posterior.first} "
            f"(burn_in is {posterior.burn_in}): components_ and {model(self.model).score.name}_ are "
            f"those of one draw, not of a mean; set max_iter to {posterior.first} or more, better ten "
            f"times that{less}",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _begin(
        self,
        given: Mapping[str, Any],
        facts: Facts,
        documents: Documents,
        train: Int64s,
        held_out: HeldOut | None,
    ) -> None:
        """Resolve the options, and start a chain on these training documents."""
        options = resolve(given, facts).options
        stream = Epochs.of(options, documents, train)
        run_on = RunOn(jobs(self.n_jobs))
        check_memory(options, facts, documents, run_on.threads)
        corpus = CorpusFacts(facts.words, facts.tokens)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # what a fit before this one has found
        self._options = options
        self._posterior = begin(options, stream, corpus, run_on, held_out)
        self.n_features_in_ = facts.words
        self._seen = 0  # documents of minibatches that `partial_fit` was given

    def _advance(self, batch: Any = None) -> None:
        chain = self._posterior.chain
        chain.advance(batch)
        if self._posterior.due:
            self._posterior.take_sample()

    def _finish(self) -> None:
        posterior = self._posterior
        self._draw = self._mean_draw()
        phi = self._fitted().over_words(self._draw, 0)
        self.components_ = self._components(phi[:, : self._options.topics].T)
        self.n_iter_ = posterior.chain.step
        self.n_samples_ = posterior.samples
        if posterior.scorer is not None:
            score = posterior.score
            found = float(posterior.point()) if math.isnan(score) else score
            setattr(self, f"{model(self.model).score.name}_", found)

    def _mean_draw(self) -> Draw:
        """Give the posterior mean of the topics, or the current ones where there is none."""
        mean = self._posterior.mean()
        return self._posterior.chain.draw() if mean is None else mean

    def _components(self, phi: Floats) -> Floats:
        """Give the rows of ``components_`` out of topics over words, (K, V)."""
        return normalised(phi)

    def _fitted(self) -> Fitted:
        """Give this model as its family reads it, to infer documents and score them."""
        chain = self._posterior.chain
        record = MatrixRecord(
            self._options,
            self.n_features_in_,
            chain.stream.documents,
            chain.tokens,
            chain.step,
            chain.arrays() | self._posterior.averages(),
        )
        return model(self.model).fitted(record, jobs(self.n_jobs))

    def fit_transform(self, X: Any, y: Any = None) -> Doubles:
        """Learn topics from a matrix of counts, and give the topic proportions of its documents.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V)
            Counts as in `fit`.
        y : None
            Ignored; there for scikit-learn.

        Returns
        -------
        (n, K) float64
            As `transform` gives them; rows sum to 1.

        Raises
        ------
        UsageError
            A `ValueError`, as from `fit`.
        NumericalError
            As from `fit`.
        """
        return self.fit(X, y).transform(X)

    # ---- using ----

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet: call fit or partial_fit first"
            )

    def transform(self, X: Any) -> Doubles:
        """Infer the topic proportions of documents, given the topics in ``components_``.

        A document's result depends on its counts, its row and the seed, not on its neighbours.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V)
            Counts as in `fit`, with as many columns.

        Returns
        -------
        (n, K) float64
            Estimates of E[theta_d] given the document: (alpha + E[n_dk]) / (K alpha + N_d), the
            expectation being the mean over the second half of Gibbs sweeps, with ``ovb`` mean field;
            docs/evaluation.md, "The figures". Rows sum to 1; one without words has 1/K everywhere.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`: a bad count, or another number of columns.
        """
        return self._proportions(X, 0)

    def _proportions(self, X: Any, at: int) -> Doubles:
        """Give the proportions of the topics of layer ``at``, counted from 0."""
        documents = self._documents_like(X)
        fitted, found = self._fitted(), []
        for first in range(0, len(documents), BLOCK):
            ids = np.arange(first, min(first + BLOCK, len(documents)))
            found.append(fitted.proportions(self._draw, documents.take(ids), ids, at))
        return np.concatenate(found)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Give the names of the columns of `transform`: lda0, lda1, ..., or deeplda0, ...

        Parameters
        ----------
        input_features : object
            Ignored; there for scikit-learn. Topics are not named after words.

        Returns
        -------
        (K,) array of str objects
            The class in lower case, and the number of a row of ``components_``, from 0.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        """
        del input_features
        self._check_fitted()
        name = type(self).__name__.lower()
        return np.array([f"{name}{k}" for k in range(len(self.components_))], dtype=object)

    def save(self, path: str | Path, vocabulary: Sequence[str] | None = None) -> None:
        """Write a run directory, which `load`, ``sgmc topics`` and ``sgmc export`` read.

        It holds the chain and its averages, so that `partial_fit` goes on to the bit after `load`;
        docs/run-directory.md says where.

        Parameters
        ----------
        path : str or Path
            The folder to write; there must be none yet.
        vocabulary : sequence of V str, optional
            Words of the columns; by default word1, word2, ...

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`, if there are more or fewer words than columns.
        OutputError
            If the folder exists or cannot be made.
        WriteError
            If the disk is full or fails.
        """
        self._check_fitted()
        v = self.n_features_in_
        words = [f"word{i + 1}" for i in range(v)] if vocabulary is None else list(vocabulary)
        if len(words) != v:
            raise UsageError(f"vocabulary has {plural(len(words), 'word')}, the model has {v:,}")
        parameters = self.get_params()
        save(
            Path(path), Saved(parameters, self._options, self._posterior, tuple(words), self._seen)
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that `save` or ``sgmc train`` wrote; `partial_fit` goes on from it.

        Parameters
        ----------
        path : str or Path
            A run directory.

        Returns
        -------
        Self
            A fitted estimator. Parameters that the run does not tell have their defaults, and
            ``total_samples`` is the number of documents that it was trained on.

        Raises
        ------
        MissingInputError
            A `FileNotFoundError`, if there is no run.
        UsageError
            A `ValueError`: a run of another model, or an algorithm that cannot go on without its corpus.
        CheckpointError
            If the run has no checkpoint, or a damaged one.
        """
        saved = load(Path(path), cls.model, cls.options_of)
        found = cls(**saved.parameters)
        found._options, found._posterior, found._seen = saved.options, saved.posterior, saved.seen
        found.n_features_in_ = len(saved.words)
        found._finish()
        return found


def normalised(phi: Floats) -> Floats:
    """Divide rows by their sums, which are taken in double precision.

    Parameters
    ----------
    phi : (K, V) float32
        Non-negative, no row all 0.
    """
    total = phi.sum(axis=1, dtype=np.float64, keepdims=True)
    result: Floats = (phi / total).astype(np.float32)
    return result
