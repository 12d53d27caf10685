"""Topics and documents as lists, DataFrames and pictures; results of `transform` as DataFrames."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from pysgrld.errors import UsageError, plural
from pysgrld.estimators import notebook
from pysgrld.estimators.base import Estimator, is_whole
from pysgrld.estimators.words import UNNAMED, names_in
from pysgrld.models.word_order import WordOrder, parse_order
from pysgrld.reading.intervals import Interval, interval, sense_of
from pysgrld.types import Array, Doubles, Int64s

if TYPE_CHECKING:
    import pandas

#: Maximum number of topics in a notebook's table.
TOPICS_SHOWN = 20
#: Maximum number of words of each topic in a notebook's table.
WORDS_SHOWN = 10
#: Maximum number of topics in a picture.
TOPICS_DRAWN = 12
#: Types that `transform` can return: NumPy arrays ("default"), or DataFrames of a library.
CONTAINERS = ("default", "pandas", "polars")
#: Intervals hold for one of these populations. It has other texts like the documents of `fit`
#: ("alike"), or only these documents ("these").
POPULATIONS = ALIKE, THESE = "alike", "these"


class KeptTopics(NamedTuple):
    """Topics of all stored samples.

    Attributes
    ----------
    draws : iterable of (K, V) float32
    is_posterior : bool
        True if the draws have the spread of the posterior.
    exact : bool
        True if the draws come from the chains of a Gibbs refinement, in turn.
    population : str
        "alike" if the draws are widened to hold for other texts like these, else "these".
    """

    draws: Iterable[Array] = ()
    is_posterior: bool = False
    exact: bool = False
    population: str = THESE

    @property
    def sense(self) -> dict[str, str]:
        """Kind of the intervals, and for which texts they hold, as returned by `sense_of`."""
        return sense_of(self.is_posterior, self.population)


class Framed(Estimator):
    """Base class of estimators that have topics over words.

    Attributes
    ----------
    entry : str
        Name of the value that a topic has for a word: "probability" or "entry".
    """

    entry: ClassVar[str] = "probability"
    components_: Array

    @abstractmethod
    def _topics(self, layer: int) -> Array:
        """Return the topics of a layer, each a distribution over words, (K, V)."""

    @abstractmethod
    def _first_words(self, phi: Array, n: int, layer: int, order: WordOrder | None) -> Int64s:
        """Return the ids of the first n words of each topic, (K, n), in the given word order."""

    def _kept_topics(self, layer: int, population: str = ALIKE) -> KeptTopics:
        """Return the topics of all stored samples. This base class stores no samples."""
        return KeptTopics()

    def _topic_shares(self, layer: int) -> Doubles | None:
        """Return the shares of a layer's topics in the training documents, (K,), or None."""
        del layer
        return None

    @abstractmethod
    def _shares(self, X: Any, layer: int) -> Array:
        """Return the topic proportions of documents, (n, K)."""

    def _words(self, vocabulary: Any) -> tuple[str, ...]:
        """Return the words of columns: the given words, else the model's, else word1, word2, ..."""
        self._check_fitted()
        v = self.n_features_in_
        names = getattr(self, "feature_names_in_", None)
        if vocabulary is not None:
            names = names_in(vocabulary)
        words = (
            tuple(UNNAMED.format(i + 1) for i in range(v))
            if names is None
            else tuple(names.tolist())
        )
        if len(words) != v:
            raise UsageError(
                f"vocabulary has {plural(len(words), 'word')}, but the model has {v:,} words; "
                "give all words of the model, in its order"
            )
        return words

    def _user_names(self, layer: int) -> dict[int, str]:
        """Return the names that the user gave to a layer's topics, by topic number."""
        del layer
        return {}

    def _short_names(self, vocabulary: Any = None, layer: int = 1) -> list[str]:
        """Return short topic names: the user's names, else three words, else lda0, lda1, ..."""
        from pysgrld.report.topic_words import MOST, automatic

        phi = self._topics(layer)
        if vocabulary is None and not hasattr(self, "feature_names_in_"):
            names = {k: f"{type(self).__name__.lower()}{k}" for k in range(len(phi))}
        else:
            first = self._first_words(phi, MOST, layer, None)
            names = automatic(first, self._words(vocabulary), range(len(phi)))
        names |= self._user_names(layer)
        return [names[k] for k in range(len(phi))]

    def _names(self, layer: int = 1, vocabulary: Any = None) -> list[str]:
        """Return topic names for columns; each begins with the topic's number, so all differ."""
        names = self._short_names(vocabulary, layer)
        if vocabulary is None and not hasattr(self, "feature_names_in_"):
            return names
        return [f"{k} {name}" for k, name in enumerate(names)]

    @property
    def n_components_(self) -> int:
        """Number of rows of ``components_``.

        Raises
        ------
        NotFittedError
            An `AttributeError`, before `fit`.
        """
        self._check_fitted()
        return len(self.components_)

    @property
    def names_(self) -> list[str]:
        """Topic names from ``set_names`` or ``seed_words``; other topics are named by three words.

        Raises
        ------
        NotFittedError
            An `AttributeError`, before `fit`.
        """
        self._check_fitted()
        return self._short_names()

    @property
    def topics_(self) -> list[list[str]]:
        """First ten words of each topic, as one list of words per topic.

        Raises
        ------
        NotFittedError
            An `AttributeError`, before `fit`.
        """
        return self.top_words()

    def top_words(
        self, n: int = 10, vocabulary: Any = None, layer: int = 1, *, order: str | None = None
    ) -> list[list[str]]:
        """Return the first words of each topic, as shown by ``sgmc topics``.

        Parameters
        ----------
        n : int
            Number of words of each topic, at least 1.
        vocabulary : object, optional
            Words of the columns, as for `topics_frame`.
        layer : int
            The layer of a deep model, counted from 1, the lowest layer.
        order : str, optional
            "distinctive", "probable", "frex" or "relevance:LAMBDA", as after ``sgmc topics --words``.
            By default distinctive words, and probable ones if documents are short (docs/evaluation.md,
            "Words of topics").

        Returns
        -------
        list of K lists of n str
            Words in the chosen order; the first word need not be the most probable.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: ``vocabulary`` does not have V words, or the layer or order does not
            exist.
        """
        if not is_whole(n, 1):
            raise UsageError(f"n: wanted a number of words, at least 1, found {n!r}")
        words = self._words(vocabulary)
        first = self._first_words(self._topics(layer), n, layer, wanted_order(order))
        return [[words[w] for w in row] for row in first.tolist()]

    def plot_topics(
        self,
        topics: int | Sequence[int] = TOPICS_DRAWN,
        n: int = 8,
        vocabulary: Any = None,
        layer: int = 1,
        *,
        order: str | None = None,
    ) -> Any:
        """Draw the first words of topics as bars, with 90 % intervals of the posterior samples.

        Parameters
        ----------
        topics : int or sequence of int
            Number of topics to draw, those with the greatest shares (without shares, the first rows
            of ``components_``); or the rows to draw.
        n : int
            Number of words of each topic, at least 1.
        vocabulary : object, optional
            Words of the columns, as for `topics_frame`.
        layer : int
            The layer of a deep model, counted from 1, the lowest layer.
        order : str, optional
            The order of the words, as for `top_words`.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; ``savefig`` writes it.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: matplotlib is not installed; the topic, layer or order does not exist;
            or ``vocabulary`` does not have V words.
        """
        library("matplotlib", "plot_topics")
        words, phi = self._words(vocabulary), self._topics(layer)
        shares = self._topic_shares(layer)
        wanted: Any = topics
        if isinstance(wanted, Sequence | np.ndarray) and not isinstance(wanted, str):
            chosen = list(wanted)
        elif is_whole(wanted, 1):
            order_of_rows = (
                range(len(phi)) if shares is None else np.argsort(-shares, kind="stable")
            )
            chosen = [int(k) for k in order_of_rows[:wanted]]
        else:
            raise UsageError(
                f"topics: wanted a number of topics or a list of rows, found {wanted!r}"
            )
        for k in chosen:
            if not is_whole(k, 0, len(phi) - 1):
                raise UsageError(f"topics: wanted numbers from 0 to {len(phi) - 1}, found {k!r}")
        if not is_whole(n, 1) or not chosen:
            raise UsageError("plot_topics needs at least one topic and one word")
        samples = self._kept_topics(layer)
        top, bounds = self._top(phi, n, layer, wanted_order(order), samples)
        names = self._names(layer, vocabulary)
        if shares is not None:
            names = [
                f"{name}, {100 * share:.1f} %" for name, share in zip(names, shares, strict=True)
            ]
        panels = [
            notebook.Panel(
                names[k],
                [words[w] for w in top[k].tolist()],
                phi[k, top[k]],
                None if bounds is None else (bounds.low[k], bounds.high[k]),
            )
            for k in chosen
        ]
        lines = "90 % interval" if samples.is_posterior else "90 % of the draws"
        note = "" if bounds is None else f" (bars: mean; lines: {lines})"
        return notebook.picture(panels, self.entry + note)

    def _top(
        self, phi: Array, n: int, layer: int, order: WordOrder | None, samples: KeptTopics
    ) -> tuple[Int64s, Interval | None]:
        """Return ids of each topic's first n words, (K, n), and their probabilities' intervals."""
        top, rows = self._first_words(phi, n, layer, order), np.arange(len(phi))[:, None]
        uncensored = np.zeros(top.shape, bool)
        values = [(sample[rows, top], uncensored) for sample in samples.draws]
        return top, interval([values], exact=samples.exact)

    def topics_frame(
        self,
        n: int = 10,
        vocabulary: Any = None,
        layer: int = 1,
        *,
        intervals: bool = True,
        order: str | None = None,
        population: str = ALIKE,
    ) -> pandas.DataFrame:
        """Return the first words of each topic as a pandas DataFrame with one row per word.

        Parameters
        ----------
        n : int
            Number of words of each topic, at least 1.
        vocabulary : object, optional
            Words of the columns: V str, gensim's Dictionary, or a fitted vectorizer of scikit-learn
            (for a Pipeline, pass ``pipeline[:-1]``); by default ``feature_names_in_``, else word1,
            word2, ...
        layer : int
            The layer of a deep model, counted from 1, the lowest layer.
        intervals : bool
            True to compute intervals; for a loaded run, this reads its samples from disk.
        order : str, optional
            The order of the words, as for `top_words`.
        population : {"alike", "these"}
            "alike" for intervals that hold for other texts like these, if a Gibbs refinement has
            measured how they differ; "these" for intervals for these documents alone.

        Returns
        -------
        pandas.DataFrame
            Columns ``topic``, ``rank`` (from 1), ``word`` and ``probability`` (for a direction
            ``entry``), in the order of the words. If at least 20 posterior samples are kept
            (``keep_samples``), also ``low`` and ``high``, the 5 % and 95 % quantiles of the draws,
            with distances from the mean that allow for the number of draws and the population.
            ``attrs["interval_of"]`` is then "posterior" for credible intervals, else "draws", and
            ``attrs["population"]`` the population for which they hold: "alike" or "these". See
            docs/python.md, "Intervals and draws".

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: pandas is not installed, ``vocabulary`` does not have V words, or the
            layer, order or population does not exist.
        """
        frame = library("pandas", "topics_frame").DataFrame
        if not is_whole(n, 1):
            raise UsageError(f"n: wanted a number of words, at least 1, found {n!r}")
        words, topics = self._words(vocabulary), self._topics(layer)
        chosen = wanted_order(order)
        check_population(population)
        samples = self._kept_topics(layer, population) if intervals else KeptTopics()
        top, bounds = self._top(topics, n, layer, chosen, samples)
        table = {
            "topic": np.repeat(
                np.array(self._names(layer, vocabulary), dtype=object), top.shape[1]
            ),
            "rank": np.tile(np.arange(1, top.shape[1] + 1), len(top)),
            "word": [words[w] for w in top.ravel().tolist()],
            self.entry: np.take_along_axis(topics, top, axis=1).ravel(),
        }
        if bounds:
            table |= {"low": bounds.low.ravel(), "high": bounds.high.ravel()}
        table_frame = frame(table)
        if bounds:
            table_frame.attrs |= samples.sense
        return table_frame

    def documents_frame(self, X: Any, layer: int = 1) -> pandas.DataFrame:
        """Return topic proportions as a pandas DataFrame with one row per document.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            As in `fit`.
        layer : int
            The layer of a deep model, counted from 1, the lowest layer.

        Returns
        -------
        pandas.DataFrame
            A column for each topic, named as in `topics_frame`; the index is X's index if X has
            one.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: pandas is not installed, a bad X, or the layer does not exist.
        """
        frame = library("pandas", "documents_frame").DataFrame
        self._check_fitted()
        shares = self._shares(X, layer)
        return frame(
            shares, index=X.index if hasattr(X, "iloc") else None, columns=self._names(layer)
        )

    def _repr_html_(self) -> str:
        """Return HTML that shows the parameters and, if fitted, the top words of the topics."""
        if not self.__sklearn_is_fitted__():
            return notebook.html(repr(self), [], [], 0)
        words, phi = self._words(None), self.components_[:TOPICS_SHOWN]
        first = self._first_words(self._topics(1), WORDS_SHOWN, 1, None)[:TOPICS_SHOWN].tolist()
        facts = [plural(len(self.components_), "topic"), plural(self.n_features_in_, "word")]
        for name, noun in (("n_iter_", "iteration"), ("n_samples_", "posterior sample")):
            if hasattr(self, name):
                facts.append(plural(getattr(self, name), noun))
        facts += [
            f"{name.strip('_').replace('_', '-')} {getattr(self, name):.5g}"
            for name in ("perplexity_", "log_perplexity_")
            if hasattr(self, name)
        ]
        rows = [
            (str(k), [(words[w], float(row[w])) for w in top])
            for k, (row, top) in enumerate(zip(phi, first, strict=True))
        ]
        return notebook.html(repr(self), facts, rows, len(self.components_) - len(rows))


class Transformer(Framed):
    """Base class of estimators that transform documents."""

    # The attribute has this name because scikit-learn's function `clone` copies it.
    _sklearn_output_config: dict[str, str]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that `transform` returns: "0 moon · stars · sea", ...

        Parameters
        ----------
        input_features : object
            Ignored; exists for scikit-learn.

        Returns
        -------
        (K,) array of str objects
            For each topic its row in ``components_``, counted from 0, and its name (``names_``); or
            lda0, lda1, ... if the words are unknown.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        """
        del input_features
        self._check_fitted()
        return np.array(self._names(), dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the type of the results of `transform` and `fit_transform`: array or DataFrame.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            The container; None leaves it unchanged. If it is never set,
            ``sklearn.set_config(transform_output=...)`` applies.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        UsageError
            A `ValueError`, if the container does not exist.
        """
        if transform is not None:
            if transform not in CONTAINERS:
                raise UsageError(
                    f"transform: wanted one of {', '.join(CONTAINERS)}, found {transform!r}"
                )
            self._sklearn_output_config = {"transform": transform}
        return self

    def _contained(self, shares: Doubles, X: Any) -> Any:
        """Return topic proportions in the type that was chosen for the result of `transform`."""
        sklearn = sys.modules.get("sklearn")
        common = sklearn.get_config()["transform_output"] if sklearn else "default"
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", common)
        if chosen == "default":
            return shares
        frame, columns = library(chosen, "set_output").DataFrame, self._names()
        if chosen == "pandas":
            return frame(shares, index=X.index if hasattr(X, "iloc") else None, columns=columns)
        return frame(shares, schema=columns, orient="row")


def wanted_order(order: str | None) -> WordOrder | None:
    """Convert the name of a word order to a `WordOrder`; None stands for the model's default.

    Parameters
    ----------
    order : str or None
        "distinctive", "probable", "frex" or "relevance:LAMBDA".

    Raises
    ------
    UsageError
        A `ValueError`, if the order does not exist.
    """
    try:
        return None if order is None else parse_order(order)
    except UsageError as error:
        raise UsageError(f"order: {error}") from None


def check_population(population: str) -> None:
    """Raise an error unless ``population`` is one of the names in `POPULATIONS`.

    Parameters
    ----------
    population : str

    Raises
    ------
    UsageError
        A `ValueError`.
    """
    if population not in POPULATIONS:
        raise UsageError(
            f"population: wanted one of {', '.join(POPULATIONS)}, found {population!r}"
        )


def library(name: str, who: str) -> Any:
    """Import and return an optional library, or raise an error that names the library.

    Parameters
    ----------
    name : str
        The library.
    who : str
        The method that needs it, for the message.

    Raises
    ------
    UsageError
        A `ValueError`, if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"{who} needs {name}: pip install {name}") from None
