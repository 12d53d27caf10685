"""Table of topics with share, coherence and name; typical documents; web page of the model."""

from __future__ import annotations

import math
import tempfile
import textwrap
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from pysgrld.chain.exact import read_trace
from pysgrld.corpus.about.stored import Column
from pysgrld.corpus.minibatches import Source
from pysgrld.errors import UsageError, plural
from pysgrld.estimators.base import is_number, is_whole
from pysgrld.estimators.dataframes import ALIKE, THESE, WORDS_SHOWN, check_population, library
from pysgrld.estimators.fitting import jobs
from pysgrld.estimators.inputs import content_keys
from pysgrld.estimators.kept import KeptModel, StoredSamples, with_days
from pysgrld.estimators.words import stored, texts_in
from pysgrld.evaluate.coherence import coherence
from pysgrld.models.admixture import BLOCK
from pysgrld.models.fitted import evenly_spaced
from pysgrld.reading.intervals import ENOUGH, sense_of
from pysgrld.reading.labels import LONGEST, Label, tidy
from pysgrld.reading.results import COHERENCE_DOCUMENTS, WEIGHT_DOCUMENTS, Results
from pysgrld.report.document_pass import DRAWS, DrawnBlock, Shares, share_deviation
from pysgrld.report.population import EstimatedShares, GroupOfEach, PopulationShares
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
    """Base class of estimators with tables of topics: words, shares and coherence."""

    numbers = (*KeptModel.numbers, "measures", "score_error")
    _measures: Measures | list[list[float] | None] | None = None
    # Standard error of the score of the documents that `fit` held out. None if the error is
    # unknown.
    _score_error: float | None = None

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
        if not isinstance(names, Mapping):
            raise UsageError(
                f'names: wanted names by topic, such as {{0: "taxes"}}, found {repr(names)[:40]}'
            )
        for row, name in names.items():
            if not is_whole(row, 0, k - 1):
                raise UsageError(f"names: wanted topics from 0 to {k - 1}, found {row!r}")
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
        posterior = self._posterior if self._stage is None else self._stage.posterior
        if posterior.scorer is not None:
            error = float((posterior.average() if posterior.samples else posterior.point()).error)
            self._score_error = None if math.isnan(error) else error

    def _deviation(self, documents: Documents, ids: Int64s, of: int) -> list[float]:
        """Estimate each topic share's standard deviation between corpora, from some documents."""
        shares = self._fitted().proportions(self._draw, documents, ids, 0)
        lengths = documents.lengths.astype(np.float64)
        total, squares = float(lengths.sum()), float((lengths**2).sum())
        tokens = shares * lengths[:, None]
        share = tokens.sum(axis=0) / total
        apart = ((tokens - lengths[:, None] * share) ** 2).sum(axis=0)
        deviation = share_deviation(apart, squares, total, len(ids), of)
        if (population := self._fitted().population) is not None:
            deviation = np.hypot(deviation, share * np.sqrt(population.restarted))
        values: list[float] = deviation.tolist()
        return values

    def _traced_shares(self) -> Doubles | None:
        """Return topic shares in each sample of the Gibbs refinement, (S, K), or None."""
        if self._fitted().exact is None:
            return None
        trace = read_trace(self._record.arrays, "shares")
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
        # Documents without a known word have equal proportions (the prior's), so they are not
        # listed.
        filled = np.flatnonzero(np.diff(documents.indptr) > 0)
        shares, phi = self._shares(documents, 1), np.abs(self._topics(1))
        of_uses = phi / np.maximum(phi.sum(axis=0), np.finfo(np.float32).tiny)
        first = filled[np.argsort(-shares[filled], axis=0, kind="stable")[:n]]
        topics, rows = np.repeat(np.arange(len(phi)), len(first)), first.T.ravel()
        names, index = self._short_names(vocabulary), _index_of(X)
        table: dict[str, Any] = {
            "topic": topics,
            "name": [names[k] for k in topics.tolist()],
            "document": rows if index is None else index[rows],
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

    def similar_documents(self, X: Any, document: Any, n: int = 10) -> pandas.DataFrame:
        """Return a pandas DataFrame of the documents that are most similar to a given document.

        It is the answer of ``sgmc topics --like``.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            As in `fit`. Documents without a word that the model knows are left out.
        document : int or str
            The row of a document in X, from 0, or its label in the index of X if the label is a
            text; the document is not compared with itself. Any other text is a new one.
        n : int
            Maximum number of documents, at least 1.

        Returns
        -------
        pandas.DataFrame
            Columns ``document`` (the index of X, or else its row, from 0), ``similarity`` (the sum
            over topics of sqrt(p q) for proportions p and q: 1 if they are equal), ``topics`` (the
            names of the topics that contribute most) and, if X is texts, the first 200 characters
            as ``text``.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: pandas is not installed, a bad X, or no such row.
        """
        from pysgrld.report.answers import EXCERPT, most_similar

        frame = library("pandas", "similar_documents").DataFrame
        if not is_whole(n, 1):
            raise UsageError(f"n: wanted a number of documents, at least 1, found {n!r}")
        documents, index = self._documents_like(X), _index_of(X)
        places = [] if index is None else np.flatnonzero(index == document).tolist()
        if isinstance(document, str) and places:
            document = places[0]
        if not isinstance(document, str) and not is_whole(document, 0, len(documents) - 1):
            place = f"; X.index has this label in row {places[0]}" if places else ""
            raise UsageError(
                f"document: wanted a text or a row from 0 to {len(documents) - 1}, found "
                f"{document!r}{place}"
            )
        filled = np.flatnonzero(np.diff(documents.indptr) > 0)
        shares = self._shares(documents, 1)
        chosen = self._shares([document], 1)[0] if isinstance(document, str) else shares[document]
        similar = [
            (int(filled[place]), similarity, topics)
            for place, similarity, topics in most_similar(shares[filled], chosen, n + 1)
        ]
        similar = [part for part in similar if part[0] != document][:n]
        rows = np.array([row for row, _, _ in similar], np.int64)
        names = self._short_names()
        table: dict[str, Any] = {
            "document": rows if index is None else index[rows],
            "similarity": [similarity for _, similarity, _ in similar],
            "topics": [", ".join(names[k] for k in topics) for _, _, topics in similar],
        }
        if (texts := texts_in(X)) is not None:
            table["text"] = [" ".join(texts[row].split())[:EXCERPT] for row in rows.tolist()]
        documents_frame: pandas.DataFrame = frame(table)
        return documents_frame

    def topics_over_time(self, X: Any, times: Any) -> pandas.DataFrame:
        """Return a pandas DataFrame of the topics' shares at each date or number in ``times``.

        It is the answer of ``sgmc topics --along``.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            As in `fit`. Documents without words are left out.
        times : sequence
            The time of each document: dates, texts of dates that pandas reads, or numbers such as
            years. Documents with a missing time are left out. Dates are grouped by day, month, year
            or decade, and more than 60 different numbers by their quantiles.

        Returns
        -------
        pandas.DataFrame
            A row for each topic and time: ``topic`` (the row of ``components_``), ``name``,
            ``time``, ``documents`` (their number), ``share`` (the mean over the documents) and, if at
            least 20 posterior samples are kept, ``low`` and ``high``, its 90 % interval for other
            documents like these.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: pandas is not installed, a bad X, or times that are neither dates nor
            numbers, or of another number than X.
        """
        from pysgrld.report.sections.groups import grouped

        module = library("pandas", "topics_over_time")
        documents = self._documents_like(X)
        if isinstance(times, str) or not hasattr(times, "__iter__"):
            raise UsageError(f"times: wanted the time of each document, found {repr(times)[:40]}")
        times = list(times)
        if len(times) != len(documents):
            raise UsageError(
                f"times has {plural(len(times), 'value')}, but X has {len(documents):,} documents; "
                "give one value for each"
            )
        column, values = _ordered(times, module)
        filled = np.flatnonzero(np.diff(documents.indptr) > 0)
        groups = grouped(column, [values[row] for row in filled])
        shares = self._population(documents.take(filled), groups.grouping)
        names, bins = self._short_names(), len(groups.levels)
        k = len(names)
        table: dict[str, Any] = {
            "topic": np.repeat(np.arange(k), bins),
            "name": np.repeat(np.array(names, dtype=object), bins),
            "time": groups.levels * k,
            "documents": groups.documents * k,
            "share": shares.mean[:, :bins].ravel(),
        }
        if self._enough_draws():
            table |= {"low": shares.low[:, :bins].ravel(), "high": shares.high[:, :bins].ravel()}
        times_frame: pandas.DataFrame = module.DataFrame(table)
        return times_frame

    def _enough_draws(self) -> list[int]:
        """Return the iterations of the stored samples for intervals, or [] if samples are too few."""
        steps = self._fitted().choose_samples(list(self._samples), DRAWS)
        return steps if len(steps) >= ENOUGH else []

    def _population(self, documents: Documents, groups: GroupOfEach) -> EstimatedShares:
        """Return the mean shares of topics in groups of documents, with intervals if possible."""
        fitted, steps = self._fitted(), self._enough_draws()
        visitor = PopulationShares(groups)
        visitor.begin(max(1, len(steps)), len(documents), fitted.layers[0])
        for first in range(0, len(documents), BLOCK):
            ids = np.arange(first, min(first + BLOCK, len(documents)))
            block, keys = documents.take(ids), content_keys(documents)[ids]
            if steps:
                samples = fitted.samples_for_new(steps, self._samples.__getitem__)
                draws = list(fitted.document_draws(samples, block, ids, 0))
                theta = np.stack([draw.theta for draw in draws])
                tokens = np.stack([draw.tokens for draw in draws])
            else:
                theta = fitted.proportions(self._draw, block, keys, 0).astype(np.float32)[None]
                tokens = theta * block.lengths[:, None].astype(np.float32)
            ones = np.ones(theta.shape[1:])
            place = slice(first, first + len(ids))
            visitor.add(DrawnBlock(place, theta, tokens, block.lengths, ones))
        return visitor.shares.documents

    def report(self, X: Any = None) -> Page:
        """Return the web page of the model as HTML, as made by ``sgmc report``.

        Parameters
        ----------
        X : list of str, optional
            Texts of documents, which the page shows; the shares and coherence of topics are then
            those in X. By default the page shows the documents of the run of ``sgmc train`` that
            `load` has read; otherwise it shows no documents, because a fit keeps none, and shares
            and coherence are those that `fit` measured.

        Returns
        -------
        Page
            ``html`` has the page's HTML as bytes.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: X is not texts, or the model does not know the words of its columns.
        """
        from pysgrld.report import report

        self._check_fitted()
        if X is None and isinstance(self._samples, StoredSamples):
            return report(self._samples.run.path)
        texts = None if X is None else texts_in(X)
        if X is not None and (texts is None or not hasattr(self, "feature_names_in_")):
            raise UsageError(
                "report: the page shows documents only if X is a list of texts and the model was "
                "fitted to texts or tokens; leave X out for a page without documents"
            )
        with tempfile.TemporaryDirectory(prefix="sgmc-") as folder:
            place, corpus = Path(folder) / type(self).__name__.lower(), None
            if texts is not None:
                words = self.feature_names_in_.tolist()
                corpus = stored(texts, words, Path(folder) / "corpus", jobs(self.n_jobs))
            self._write(place, None, corpus)
            number = self._record.documents if texts is None else len(texts)
            page = report(place, title=f"{type(self).__name__} of {plural(number, 'document')}")
            _ = page.html  # Compute the page now, while the temporary folder exists.
            return page


def _index_of(X: Any) -> Any:
    """Return the index of a pandas object, or None for other data."""
    index = getattr(X, "index", None)
    return None if callable(index) else index  # The attribute `index` of a list is a method.


def _ordered(times: list[Any], module: Any) -> tuple[Column, list[Any]]:
    """Convert times to ISO dates or numbers; return their `Column` and the converted times.

    Missing times are None.

    Raises
    ------
    UsageError
        If the times are neither dates nor numbers.
    """
    if any(isinstance(time, str) for time in times):
        try:
            # If dates are written in several formats, pandas warns and detects each date's format.
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                times = list(module.to_datetime(module.Series(times, dtype=object)))
        except (ValueError, TypeError) as error:
            reason = textwrap.shorten(str(error), 160, placeholder=" ...")
            raise UsageError(f"times: neither dates nor numbers: {reason}") from None
    times = [None if time is None or time != time else time for time in with_days(times)]
    known = [time for time in times if time is not None]
    if all(isinstance(time, np.datetime64) for time in known):
        return Column("time", "time", 0), [None if t is None else str(t) for t in times]
    if not all(is_number(time) for time in known):
        raise UsageError("times: wanted dates or numbers, all of one kind")
    whole = all(isinstance(time, int | np.integer) for time in known)
    return Column("time", "integer" if whole else "real", 0), times
