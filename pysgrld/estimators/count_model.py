"""Topic models of counts: they go on from minibatch to minibatch, and are scored by completion."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pysgrld.core import check_lengths
from pysgrld.core.arithmetic import log
from pysgrld.core.draws import at_words
from pysgrld.corpus.minibatches import compact
from pysgrld.errors import UsageError
from pysgrld.estimators.base import by_parameters, column_names
from pysgrld.estimators.progress import Progress
from pysgrld.estimators.topic_model import TopicModel
from pysgrld.models.options import kind_of
from pysgrld.models.table import model_of
from pysgrld.options.option import Facts
from pysgrld.types import Documents, Key


class CountModel(TopicModel):
    """Base of topic models of counts."""

    perplexity_: float

    def _check_lengths(self, documents: Documents, kept: int | None = None) -> None:
        """Refuse documents that are too long to be counted exactly in the sweeps that are kept."""
        check_lengths(documents.lengths, kept or self._options.kept_sweeps, "document")

    def _check_scored(self) -> None:
        """Refuse to score documents where they have no score."""

    @by_parameters
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Do one iteration with these documents as a minibatch of ``total_samples`` documents.

        The first call fixes V and starts the chain; each further one goes on from where it stands,
        after `fit` and `load` too. Posterior samples are taken as in `fit`.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            Counts as in `fit`. If no document has words, nothing is done.
        y : None
            Ignored; there for scikit-learn.

        Returns
        -------
        Self
            This estimator, one iteration older.

        Raises
        ------
        UsageError
            A `ValueError`: a bad count or parameter, another V than before, or an algorithm that needs
            the whole corpus.
        NumericalError
            If a step is so large that topics overflow.
        """
        del y
        known = getattr(self, "n_features_in_", None)
        documents, words = self._documents(self._known_documents(X), known)
        usable = np.flatnonzero(documents.lengths > 0)
        if len(usable) == 0:
            return self
        given = self._given()
        sampler, _ = kind_of(given)
        if sampler.whole_corpus:
            raise UsageError(f"algo={sampler.name!r} needs the whole corpus: use fit")
        if self.__sklearn_is_fitted__():
            self._resume()
        else:
            total = int(self.total_samples)
            tokens = int(documents.tokens / len(usable) * total)
            given.setdefault("minibatch", len(usable))
            seen = len(np.unique(documents.indices))
            known = self._vocabulary(given, column_names(X), words)
            facts = Facts(total, words, tokens, 0, lambda *_: seen, known)
            self._begin(given, facts, documents, np.arange(total), None)
            self._take_names(column_names(X))
        self._check_lengths(documents)
        ids = self._seen + np.arange(len(usable))
        self._seen += len(usable)
        batch = compact(documents.take(usable), ids, self.total_samples / len(usable))
        with Progress(type(self).__name__):
            self._advance(batch)
            self._finish()
        return self

    def perplexity(self, X: Any, y: Any = None, *, observed: float = 0.8) -> float:
        """Compute the perplexity of documents by document completion, given ``components_``.

        The tokens of each document are split at random, by ``random_state``, into observed and held-out
        ones. Proportions theta_d are inferred from the observed tokens, and with m_dw for how often a
        word is held out the perplexity is exp(- sum m_dw log(sum_k theta_dk phi_kw) / sum m_dw).

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            Counts as in `fit`, with as many columns. Documents of fewer than two tokens are left out.
        y : None
            Ignored; there for scikit-learn.
        observed : float
            Share of a document's tokens that is observed, in (0, 1); at least one token is observed
            and one held out.

        Returns
        -------
        float
            At least 1; lower is better, and V is what a model that knows nothing has.

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
        self._check_scored()
        documents = self._documents_like(X)
        seed = self._options.seed
        ids = np.arange(len(documents))
        held_out = model_of(self.model).hold_out(documents, ids, observed, seed)
        if len(held_out.observed) == 0:
            raise UsageError("X has no document of two tokens: nothing can be held out")
        scorer = self._fitted().scorer(held_out)
        return float(scorer.point(Key(seed, 0, 0), at_words(self._draw, scorer.words)))

    def score(self, X: Any, y: Any = None) -> float:
        """Compute the mean log probability of a held-out token: minus the log of `perplexity`.

        This is a figure per token, given the rest of its document. `DPMixture.score` is another one, per
        document that is scored whole: the two cannot be compared.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            Counts as in `fit`, with as many columns.
        y : None
            Ignored; there for scikit-learn.

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
