"""Base class of topic models of counts, which can learn from minibatches and add new words."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from pysgrld.core.arithmetic import log
from pysgrld.core.draws import select_words
from pysgrld.corpus.minibatches import compact
from pysgrld.errors import IGNORED, UnknownWordsWarning, UsageError
from pysgrld.estimators.base import by_parameters, is_number
from pysgrld.estimators.fitting import Progress, jobs
from pysgrld.estimators.inputs import column_names
from pysgrld.estimators.topic_model import TopicModel
from pysgrld.estimators.words import new_documents
from pysgrld.models.options import check_usage, select_sampler_and_model
from pysgrld.models.table import find_model
from pysgrld.options.option import Facts
from pysgrld.types import Documents, Key


class CountModel(TopicModel):
    """Base class of topic models of counts."""

    perplexity_: float
    _told_of_words: bool = False

    @by_parameters
    def partial_fit(
        self, X: Any, y: Any = None, *, vocabulary: Any = None, grow: bool = False
    ) -> Self:
        """Do one iteration, with X as a minibatch of a corpus of ``total_samples`` documents.

        The first call fixes the words and starts the chain. Each further call continues from its
        current state, also after `fit` and `load`. Posterior samples are taken as in `fit`.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Counts as in `fit`. If no document has words, nothing is done.
        y : None
            Ignored; exists for scikit-learn.
        vocabulary : object, optional
            As in `fit`, and only for the first call; by default the words of its documents.
        grow : bool
            True to add words of texts or tokens that the model does not have yet, chosen as in
            `fit`. Topics keep their numbers, as with ``sgmc train --from``. If words are added,
            warm-up and averages begin again.

        Returns
        -------
        Self
            This estimator, one iteration older.

        Raises
        ------
        UsageError
            A `ValueError`: a bad count or parameter, another V than before, a vocabulary for a model
            that has one, an algorithm that needs the whole corpus, or a model that cannot grow.
        NumericalError
            If a step is so large that topics overflow.

        Warns
        -----
        UnknownWordsWarning
            The first time that words are left out because the model does not have them.
        """
        del y
        left_out: list[str] = []
        if self.__sklearn_is_fitted__():
            self._check_parameters()
        if not self.__sklearn_is_fitted__():
            new, names = new_documents(X, jobs(self.n_jobs), vocabulary)
            documents, words = self._documents(new, None if names is None else len(names))
        else:
            if vocabulary is not None:
                raise UsageError(
                    "vocabulary: the model already has its words; leave out this parameter"
                )
            if grow:
                self._grow(X)
            counted, names = self._known_documents(X, lambda line, *_: left_out.append(line)), None
            documents, words = self._documents(counted, self.n_features_in_)
        for line in left_out:
            if IGNORED in line and not self._told_of_words:
                self._told_of_words = True
                line = line.replace("of the run's vocabulary", "of the model's vocabulary")
                warnings.warn(f"X: {line}", UnknownWordsWarning, stacklevel=3)
        usable = np.flatnonzero(documents.lengths > 0)
        if len(usable) == 0:
            return self
        options = self._given()
        check_usage(options)
        sampler, _ = select_sampler_and_model(options)
        if sampler.whole_corpus:
            raise UsageError(f"algo={sampler.name!r} needs the whole corpus; use fit")
        if self.__sklearn_is_fitted__():
            self._resume()
            self._check_lengths(documents)
        else:
            total = int(self.total_samples)
            tokens = int(documents.tokens / len(usable) * total)
            options.setdefault("minibatch", len(usable))
            seen = len(np.unique(documents.indices))
            vocabulary_of_model = self._vocabulary(options, names, words)
            facts = Facts(total, words, tokens, 0, lambda *_: seen, vocabulary_of_model)
            self._begin(options, facts, documents, np.arange(total), None, names)
        ids = self._seen + np.arange(len(usable))
        self._seen += len(usable)
        batch = compact(documents.take(usable), ids, self.total_samples / len(usable))
        with Progress(type(self).__name__):
            self._advance(batch)
            self._finish()
        return self

    def _grow(self, X: Any) -> None:
        """Add the new words of X to the model, which keeps its topics."""
        record, names_before = self._record, getattr(self, "feature_names_in_", None)
        if names_before is None or self._options.depth > 1:
            reason = (
                "the model was fitted to counts without words"
                if names_before is None
                else "the model has several layers"
            )
            raise UsageError(f"grow=True cannot add words, because {reason}; leave it out")
        _, names = new_documents(X, jobs(self.n_jobs))
        if names is None or column_names(X) is not None:
            raise UsageError(
                "grow=True needs texts or lists of tokens, but X has counts; give texts"
            )
        old_words = set(names_before.tolist())
        new = [word for word in names.tolist() if word not in old_words]
        if not new:
            return
        phi, seen, labels = (
            self._fitted().topics_over_words(self._draw, 0),
            self._seen,
            self._labels,
        )
        k, words = self._fitted().layers[0], np.array([*names_before.tolist(), *new], dtype=object)
        options = self._given() | {"topics": k, "minibatch": record.options.minibatch}
        total = int(self.total_samples)
        facts = Facts(total, len(words), record.tokens, 0, lambda *_: len(words), words.tolist())
        nobody = Documents(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
        self._begin(options, facts, nobody, np.arange(total), None, words)
        self._posterior.chain.start_from_topics(phi, np.full(k, record.tokens / k))
        self._seen, self._labels = seen, labels
        self._finish()

    @property
    def perplexity_error_(self) -> float:
        """Standard error of ``perplexity_`` as an estimate for new, similar documents.

        Raises
        ------
        AttributeError
            Before `fit`, if `fit` held out fewer than two documents, and after `load` of a run of
            ``sgmc train``.
        """
        self._check_fitted()
        error = self._score_error
        if error is None:
            raise AttributeError(
                "perplexity_error_ needs documents that fit held out, and their scores; use fit "
                "without holdout=0, or 'sgmc eval' for a run"
            )
        return error

    def perplexity(self, X: Any, y: Any = None, *, observed: float = 0.8) -> float:
        """Return the perplexity of held-out parts of documents, for the topics ``components_``.

        The tokens of each document are split at random, by ``random_state``, into observed and
        held-out tokens. Proportions theta_d are inferred from the observed tokens. If m_dw is the
        number of held-out tokens of word w, the perplexity is exp(- sum m_dw log(sum_k theta_dk
        phi_kw) / sum m_dw).

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Counts as in `fit`, with as many columns. Documents of fewer than two tokens are left out.
        y : None
            Ignored; exists for scikit-learn.
        observed : float
            Fraction of a document's tokens that is observed, in (0, 1); at least one token is
            observed, and at least one is held out.

        Returns
        -------
        float
            At least 1; lower is better. A model that gives all V words equal probability has V.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`: a bad count, another number of columns, or no document of two tokens.

        Notes
        -----
        Wallach, Murray, Salakhutdinov and Mimno (2009), document completion; Patterson and Teh (2013),
        eq. (16), for one sample of the topics. docs/evaluation.md, "The figures", has all figures.
        """
        del y
        if self._no_score:
            raise UsageError(self._no_score)
        if not is_number(observed):
            raise UsageError(f"observed is {observed!r}, but must be a fraction between 0 and 1")
        documents = self._documents_like(X)
        seed = self._options.seed
        ids = np.arange(len(documents))
        held_out = find_model(self.model).hold_out(documents, ids, observed, seed)
        if len(held_out.observed) == 0:
            raise UsageError(
                "X has no document with two tokens, so no token can be held out; give longer "
                "documents"
            )
        scorer = self._fitted().scorer(held_out)
        return float(scorer.point(Key(seed, 0, 0), select_words(self._draw, scorer.words)))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log probability of a held-out token, which is minus the log of `perplexity`.

        This score is per token, given the rest of its document. It cannot be compared with
        `DPMixture.score`, which is per document and scores each document as a whole.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Counts as in `fit`, with as many columns.
        y : None
            Ignored; exists for scikit-learn.

        Returns
        -------
        float
            In nats, at most 0; higher is better.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`, as from `perplexity`.
        """
        return -float(log(self.perplexity(X, y)))
