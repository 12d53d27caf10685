"""Topic models that are fitted to a matrix, in scikit-learn's conventions: what all of them have."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from pysgrld.corpus.minibatches import Epochs, choose_documents, hold_out_size, minibatch_words
from pysgrld.errors import ConvergenceWarning, UsageError, plural
from pysgrld.estimators.base import Rule, by_parameters, check_number, is_schedule, is_whole, number
from pysgrld.estimators.kept import KeptModel
from pysgrld.estimators.matrices import as_documents, content_keys
from pysgrld.estimators.output import Transformer
from pysgrld.estimators.progress import Progress
from pysgrld.estimators.resources import check_memory, jobs
from pysgrld.evaluate import HeldOut
from pysgrld.models.admixture import BLOCK
from pysgrld.models.options import check_usage
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.models.seeds import unknown_seeds
from pysgrld.models.table import model_of
from pysgrld.options.option import Facts
from pysgrld.train.begin import begin
from pysgrld.types import Array, Documents, Doubles, Int64s, Key

#: Share of a held-out document's tokens that is observed.
OBSERVED = 0.8


class TopicModel(KeptModel, Transformer):
    """Base of topic models that are fitted to a matrix.

    A subclass has a constructor with keyword parameters, and `_rules` for them.
    """

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
    verbose: int

    # ---- parameters ----

    def _shared_rules(self) -> list[Rule]:
        """Give the rules of the parameters that all topic models have."""
        known = model_of(self.model).algorithms
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
        check_number("verbose", self.verbose)
        check_number("keep_samples", self.keep_samples)
        total = self.total_samples
        known = isinstance(total, int | float | np.number) and not isinstance(total, bool)
        if not (known and 1 <= total <= 2**53):
            raise UsageError(f"total_samples: wanted a number of documents >= 1, found {total!r}")
        check_usage(given)
        return given

    def _documents(self, X: Any, words: int | None = None) -> tuple[Documents, int]:
        """Turn a matrix into documents; give them and V."""
        return as_documents(X, words, type(self).__name__)

    def _tokens(self, documents: Documents) -> int:
        """Give the size of documents that minibatches are chosen by."""
        return documents.tokens

    # ---- fitting ----

    def _documents_like(self, X: Any) -> Documents:
        """Turn X into documents over the columns that the model was fitted to."""
        self._check_fitted()
        return self._documents(self._known_documents(X), self.n_features_in_)[0]

    def _documents_apart(self, documents: int) -> int:
        """Give the number of documents that `fit` sets apart to see when it has settled."""
        return hold_out_size(self.holdout, documents)

    @by_parameters
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn topics from a matrix of counts, from the start.

        Without ``max_iter`` this goes on until the averaged held-out perplexity has settled:
        docs/evaluation.md, "When training ends by itself". Ctrl-C ends it after the iteration under way:
        the model is then fitted, as far as it is, and `KeyboardInterrupt` is raised.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            How often each of V words is in each of n documents: whole numbers from 0 to 2^31 - 1, of
            any dtype. Documents without words are left out; they say nothing. Of texts, a list of str,
            words are counted as ``sgmc train`` does by default, and are ``feature_names_in_``.
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
        given = self._given()
        new, names = self._new_documents(X)
        documents, words = self._documents(new, None if names is None else len(names))
        usable = np.flatnonzero(np.diff(documents.indptr) > 0)
        if len(usable) == 0:
            raise UsageError("X has no counts: every document is empty")
        size = self._documents_apart(len(usable))
        if size == 0 and self.max_iter is None:
            why = (
                "X has too few documents to set any apart" if self.holdout is None else "holdout=0"
            )
            raise UsageError(
                f"{why}, which leaves nothing to see when it has settled: give max_iter"
            )
        train, held_out = usable, None
        if size:
            seed = given.get("seed", 0)
            chosen = choose_documents(len(usable), size, Key(seed, 0, 0))
            model = model_of(self.model)
            held_out = model.hold_out(documents.take(usable[chosen]), chosen, OBSERVED, seed)
            train = np.delete(usable, chosen)
        if held_out is not None and len(held_out.observed) == 0:
            if self.max_iter is None:
                raise UsageError("no held-out document has two tokens: give max_iter and holdout=0")
            held_out = None
        tokens = self._tokens(documents.take(train))
        visits = held_out.observed.tokens if held_out else 0
        seen = minibatch_words(documents, train)
        known = self._vocabulary(given, names, words)
        facts = Facts(len(train), words, tokens, visits, seen, known)
        self._begin(given, facts, documents, train, held_out)
        self._take_names(names)
        self._check_lengths(documents)
        posterior, progress = self._posterior, Progress(type(self).__name__, self.verbose)
        with progress:
            ended = False
            while not (ended or progress.interrupted):
                self._advance()
                step = posterior.chain.step
                ended = step == self.max_iter if self.max_iter else self._settled()
                last = ended or progress.interrupted
                progress.show(step, self.max_iter, self._standing(), last=last)
            posterior.chain.close()
            self._finish()
        self._warn_of_no_samples()
        return self

    def _vocabulary(
        self, given: Mapping[str, Any], names: Array | None, words: int
    ) -> list[str] | None:
        """Give the words of the columns, where options name some; numbers where they have no names."""
        if (seeds := given.get("seed-words")) is None:
            return None
        if names is None and any(isinstance(word, str) for _, some in seeds for word in some):
            raise UsageError(
                "--seed-words names words, and X has none: give texts, a DataFrame whose columns are "
                "words, or numbers of columns as seeds"
            )
        known = [str(i) for i in range(words)] if names is None else names.tolist()
        if line := unknown_seeds(seeds, known):
            warnings.warn(line.replace("--seed-words", "seed_words"), UserWarning, stacklevel=5)
        return known

    def _settled(self) -> bool:
        """Whether `fit` without ``max_iter`` ends here."""
        return self._posterior.due and self._posterior.settled() is not None

    def _standing(self) -> list[str]:
        """Give what a line of progress says beside iterations and seconds."""
        posterior = self._posterior
        said = [plural(posterior.samples, "posterior sample")]
        if not math.isnan(score := posterior.score):
            said.append(f"{model_of(self.model).score.title} {score:.5g}")
        return said

    def _check_lengths(self, documents: Documents, kept: int | None = None) -> None:
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
            f"(burn_in is {posterior.burn_in}): components_ and {model_of(self.model).score.name}_ are "
            f"those of one draw, not of a mean; set max_iter to {posterior.first} or more, better ten "
            f"times that{less}",
            ConvergenceWarning,
            stacklevel=4,
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
        check_memory(options, facts, documents, run_on.threads, self.keep_samples)
        corpus = CorpusFacts(facts.words, facts.tokens)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # what a fit before this one has found
        vars(self).pop("_kept", None)
        self._options = options
        self._posterior = begin(options, stream, corpus, run_on, held_out)
        self.n_features_in_ = facts.words
        self._samples, self._seen = {}, 0

    def _advance(self, batch: Any = None) -> None:
        self._posterior.chain.advance(batch)
        if self._posterior.due:
            self._posterior.take_sample()
            self._keep_sample()

    def fit_transform(self, X: Any, y: Any = None) -> Doubles:
        """Learn topics from a matrix of counts, and give the topic proportions of its documents.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            As in `fit`.
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
        found: Doubles = self.fit(X, y).transform(X)
        return found

    # ---- using ----

    def transform(self, X: Any) -> Doubles:
        """Infer the topic proportions of documents, given the topics in ``components_``.

        A document's result depends on its counts and the seed: not on its row, nor on other documents.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            Counts as in `fit`, with as many columns; words of texts that the model does not know are
            left out.

        Returns
        -------
        (n, K) float64
            Estimates of E[theta_d] given the document: (alpha + E[n_dk]) / (K alpha + N_d), the
            expectation being that of collapsed variational inference, of a deep model the mean over
            the second half of Gibbs sweeps, with ``ovb`` mean field; docs/internals/mathematics.md, "New
            documents". Rows sum to 1; one without words has 1/K everywhere.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`: a bad count, or another number of columns.
        """
        found: Doubles = self._contained(self._shares(X, 1), X)
        return found

    def _shares(self, X: Any, layer: int) -> Doubles:
        """Give the proportions of the topics of a layer."""
        at, documents = self._at(layer), self._documents_like(X)
        self._check_lengths(documents, 1)
        fitted, keys, found = self._fitted(), content_keys(documents), []
        for first in range(0, len(documents), BLOCK):
            ids = np.arange(first, min(first + BLOCK, len(documents)))
            found.append(fitted.proportions(self._draw, documents.take(ids), keys[ids], at))
        return np.concatenate(found)
