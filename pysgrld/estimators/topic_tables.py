"""Table of topics with share, coherence and name; typical documents; web page of the model."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from pysgrld.chain.exact import trace_in
from pysgrld.corpus.minibatches import Source
from pysgrld.errors import UsageError, plural
from pysgrld.estimators.base import is_whole
from pysgrld.estimators.dataframes import ALIKE, THESE, WORDS_SHOWN, check_population, library
from pysgrld.estimators.kept import KeptModel, StoredSamples
from pysgrld.evaluate.coherence import coherence
from pysgrld.models.fitted import evenly_spaced
from pysgrld.reading.intervals import sense_of
from pysgrld.reading.labels import LONGEST, Label, tidy
from pysgrld.reading.results import COHERENCE_DOCUMENTS, WEIGHT_DOCUMENTS, Results
from pysgrld.report.document_pass import Shares, share_deviation
from pysgrld.types import Documents, Doubles, Int64s

if TYPE_CHECKING:
    import pandas

    from pysgrld.report import Page


class Measures(NamedTuple):
    """Shares and coherence of the lowest layer's topics, measured on the training documents.

    Attributes
    ----------
    shares, coherence, deviation : list of K float or None
        Each topic's share of the tokens, NPMI of its first ten words, and standard deviation of the
        share over samples of documents; None if unknown.
    """

    shares: list[float] | None = None
    coherence: list[float] | None = None
    deviation: list[float] | None = None


class TopicTables(KeptModel):
    """Base class of estimators that measure their topics on the documents of `fit`."""

    numbers = (*KeptModel.numbers, "measures")
    _measures: Measures | list[list[float] | None] | None = None

    def set_names(self, names: Mapping[int, str]) -> Self:
        """Name topics of the lowest layer, for tables, pictures and pages; `save` stores the names.

        Parameters
        ----------
        names : mapping of int to str
            Names by row of ``components_``. Other topics keep their names, such as ``{0: "taxes"}``.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: a topic does not exist, or a name is no text of 1 to 200 characters.
        """
        self._check_fitted()
        k = len(self.components_)
        for row, name in names.items():
            if not is_whole(row, 0, k - 1):
                raise UsageError(f"names: topics are 0 to {k - 1}, found {row!r}")
            if not isinstance(name, str) or not 0 < len(tidy(name)) <= LONGEST:
                raise UsageError(
                    f"names: the name of topic {row} must be a text of 1 to {LONGEST} characters, "
                    f"found {name!r}"
                )
        labels = {int(row): Label(tidy(name)) for row, name in names.items()}
        self._labels = {**self._labels, **labels}
        return self

    def _measure(self, documents: Documents, train: Int64s) -> None:
        """Compute the shares and the coherence of the topics on the training documents."""
        fitted, first = self._fitted(), self._first_words(self._topics(1), WORDS_SHOWN, 1, None)
        rows = evenly_spaced(train, WEIGHT_DOCUMENTS)
        trace = self._traced_shares()
        shares = (
            fitted.weights(lambda: (documents.take(rows), rows), 0)
            if trace is None
            else trace.mean(axis=0, dtype=np.float64)
        )
        npmi = None
        if first.shape[1] > 1:
            source: Source = documents
            npmi = coherence(first, source, evenly_spaced(train, COHERENCE_DOCUMENTS)).npmi
        k = len(self.components_)
        self._measures = Measures(
            None if shares is None else shares[:k].tolist(),
            None if npmi is None else npmi.tolist(),
            None if trace is None else self._deviation(documents.take(rows), rows, len(train)),
        )

    def _deviation(self, documents: Documents, ids: Int64s, of: int) -> list[float]:
        """Return the standard deviation of topic shares between corpora, from some documents."""
        shares = self._fitted().proportions(self._draw, documents, ids, 0)
        lengths = documents.lengths.astype(np.float64)
        total, squares = float(lengths.sum()), float((lengths**2).sum())
        tokens = shares * lengths[:, None]
        share = tokens.sum(axis=0) / total
        apart = ((tokens - lengths[:, None] * share) ** 2).sum(axis=0)
        deviation: list[float] = share_deviation(apart, squares, total, len(ids), of).tolist()
        return deviation

    def _traced_shares(self) -> Doubles | None:
        """Return topic shares in each sample of Gibbs refinement, (S, K), or else None."""
        if self._fitted().exact is None:
            return None
        trace = trace_in(self._record.arrays, "shares")
        return None if trace is None or not len(trace) else trace

    def _measured(self) -> Measures:
        """Return the topics' shares and coherence; compute them if the model was loaded."""
        self._check_fitted()
        if self._measures is None and isinstance(self._samples, StoredSamples):
            results = Results(self._samples.run.path, 1)
            shares, measure = results.weights(), results.coherence(WORDS_SHOWN)
            deviation, corpus = None, results.training_corpus()
            if corpus is not None and self._traced_shares() is not None:
                train = results.training_documents(corpus)
                ids = evenly_spaced(train, WEIGHT_DOCUMENTS)
                deviation = self._deviation(corpus.take(ids), ids, len(train))
            self._measures = Measures(
                None if shares is None else shares.tolist(),
                None if measure is None else measure.npmi.tolist(),
                deviation,
            )
        return Measures(*(self._measures or ()))

    def _topic_shares(self, layer: int) -> Doubles | None:
        """Return the shares of the topics in the training documents, for the lowest layer."""
        shares = self._measured().shares if layer == 1 else None
        return None if shares is None else np.array(shares)

    def _known(self, values: list[float] | None, name: str) -> Doubles:
        if values is None:
            raise AttributeError(
                f"{name} needs the training documents, which partial_fit does not keep; use fit "
                "on all documents"
            )
        return np.array(values)

    @property
    def shares_(self) -> Doubles:
        """Share of each topic in the tokens of the documents of `fit`, (K,).

        Raises
        ------
        AttributeError
            Before `fit`, and after `partial_fit`, which keeps no documents.
        """
        return self._known(self._measured().shares, "shares_")

    @property
    def coherence_(self) -> Doubles:
        """Coherence (NPMI) of the first ten words of each topic in the documents of `fit`, (K,).

        The coherence is 0 if words occur together as often as by chance, and 1 if they only occur
        together.

        Raises
        ------
        AttributeError
            Before `fit`, and after `partial_fit`, which keeps no documents.
        """
        return self._known(self._measured().coherence, "coherence_")

    def summary_frame(
        self, n: int = WORDS_SHOWN, vocabulary: Any = None, *, population: str = ALIKE
    ) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per topic, sorted by decreasing share.

        Parameters
        ----------
        n : int
            Number of words of each topic, at least 1.
        vocabulary : object, optional
            Words of the columns, as for `topics_frame`.
        population : {"alike", "these"}
            "alike" for intervals that hold for other texts like these, "these" for intervals for
            these documents alone.

        Returns
        -------
        pandas.DataFrame
            Columns ``topic`` (the row of ``components_``), ``name``, ``share`` of the training
            tokens (the weight in ``sgmc topics``), ``coherence`` (NPMI) and ``words``; after a Gibbs
            refinement also ``low`` and ``high``, the 90 % interval of the share, and ``attrs`` as in
            `topics_frame`. The interval is wide if a few long documents have many of the topic's
            words. Unknown measures, for example after `partial_fit`, are NaN.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: pandas is not installed, ``vocabulary`` does not have V words, or the
            population does not exist.
        """
        check_population(population)
        frame = library("pandas", "summary_frame").DataFrame
        words, measured, k = self.top_words(n, vocabulary), self._measured(), len(self.components_)
        unknown = [np.nan] * k
        table: dict[str, Any] = {
            "topic": range(k),
            "name": self._short_names(vocabulary),
            "share": measured.shares or unknown,
            "low": unknown,
            "high": unknown,
            "coherence": measured.coherence or unknown,
            "words": [" ".join(row) for row in words],
        }
        trace = self._traced_shares()
        attrs: dict[str, str] = {}
        if trace is not None:
            is_wide = population == ALIKE and measured.deviation is not None
            deviation = np.array(measured.deviation) if is_wide else None
            if shares := Shares.traced(trace[:, :k], deviation):
                table |= {"low": shares.low[:, 0], "high": shares.high[:, 0]}
                attrs = sense_of(self._fitted().faithful, ALIKE if is_wide else THESE)
        sorted_frame: pandas.DataFrame = frame(table).sort_values(
            "share", ascending=False, kind="stable", ignore_index=True
        )
        sorted_frame.attrs |= attrs
        return sorted_frame

    def representative_documents(
        self, X: Any, n: int = 3, vocabulary: Any = None
    ) -> pandas.DataFrame:
        """Return a pandas DataFrame of the documents in which each topic has its greatest shares.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            As in `fit`.
        n : int
            Maximum number of documents of each topic, at least 1. Documents without a word that the
            model knows are left out.
        vocabulary : object, optional
            Words of the columns, as for `topics_frame`.

        Returns
        -------
        pandas.DataFrame
            Columns ``topic`` (the row of ``components_``), ``name``, ``document`` (the index of X,
            or else its row, counted from 0), ``share`` and, if X is texts, ``text``: the excerpt of
            up to 200 characters that is most typical of the topic.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: pandas is not installed, or a bad X.
        """
        from pysgrld.report.answers import excerpt_of

        frame = library("pandas", "representative_documents").DataFrame
        if not is_whole(n, 1):
            raise UsageError(f"n: wanted a number of documents, at least 1, found {n!r}")
        texts = [*X] if isinstance(X, Iterable) and not hasattr(X, "tocsr") else []
        self._check_fitted()
        documents = self._documents_like(X)
        # Documents without a known word have equal proportions, which are no reason to be listed.
        filled = np.flatnonzero(np.diff(documents.indptr) > 0)
        shares, phi = self._shares(documents, 1), np.abs(self._topics(1))
        of_uses = phi / np.maximum(phi.sum(axis=0), np.finfo(np.float32).tiny)
        first = filled[np.argsort(-shares[filled], axis=0, kind="stable")[:n]]
        topics, rows = np.repeat(np.arange(len(phi)), len(first)), first.T.ravel()
        names, index = self._short_names(vocabulary), getattr(X, "index", None)
        table: dict[str, Any] = {
            "topic": topics,
            "name": [names[k] for k in topics.tolist()],
            "document": rows if index is None or callable(index) else index[rows],
            "share": shares[rows, topics],
        }
        if texts and all(isinstance(text, str) for text in texts):
            words = self._words(vocabulary)
            weights = [dict(zip(words, of_topic.tolist(), strict=True)) for of_topic in of_uses]
            table["text"] = [
                excerpt_of(texts[row], weights[k])
                for row, k in zip(rows.tolist(), topics.tolist(), strict=True)
            ]
        documents_frame: pandas.DataFrame = frame(table)
        return documents_frame

    def report(self) -> Page:
        """Return the web page of the model as HTML, as made by ``sgmc report``.

        Returns
        -------
        Page
            ``html`` has the page's HTML as bytes. The page shows documents only if `load` has read
            a run of ``sgmc train``, because a fit keeps no documents. Shares and coherence are those
            that `fit` measured.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        """
        from pysgrld.report import report

        self._check_fitted()
        if isinstance(self._samples, StoredSamples):
            return report(self._samples.run.path)
        with tempfile.TemporaryDirectory(prefix="sgmc-") as folder:
            place = Path(folder) / type(self).__name__.lower()
            self.save(place)
            name, documents = type(self).__name__, plural(self._record.documents, "document")
            page = report(place, title=f"{name} of {documents}")
            _ = page.html  # This line computes the page while the temporary folder exists.
            return page
