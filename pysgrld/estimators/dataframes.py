"""Topics and documents as tables: DataFrames, how a notebook shows a model, what `transform` returns."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pysgrld.errors import UsageError, plural
from pysgrld.estimators.base import Estimator, is_whole
from pysgrld.models.fitted import top_words
from pysgrld.reading.intervals import interval
from pysgrld.types import Array, Doubles

if TYPE_CHECKING:
    import pandas

#: Topics, and words of each, that a notebook shows.
TOPICS_SHOWN, WORDS_SHOWN = 20, 8
#: Names of columns that nobody has named, from 1.
UNNAMED = "word{}"
#: What `transform` may return: NumPy's arrays, or DataFrames of these libraries.
CONTAINERS = ("default", "pandas", "polars")


class Framed(Estimator):
    """Base of estimators whose topics have words.

    Attributes
    ----------
    entry : str
        The name of a topic's value of a word.
    """

    entry: ClassVar[str] = "probability"
    components_: Array

    @abstractmethod
    def _topics(self, layer: int) -> Array:
        """Return the topics of a layer over the words, (K, V)."""

    def _kept_topics(self, layer: int) -> tuple[Iterable[Array], bool, bool]:
        """Return the topics in each kept sample, (K, V), and whether these are faithful, and exact.

        Faithful samples vary as the posterior does; exact ones are of an exact stage, of one chain of it
        after the other. Here none is kept.
        """
        return (), False, False

    @abstractmethod
    def _shares(self, X: Any, layer: int) -> Array:
        """Return the shares that topics have in documents, (n, K)."""

    def _words(self, vocabulary: Sequence[str] | None) -> tuple[str, ...]:
        """Return the words of the columns: those given, those known, or word1, word2, ..."""
        self._check_fitted()
        v = self.n_features_in_
        given = getattr(self, "feature_names_in_", None) if vocabulary is None else vocabulary
        words = (
            tuple(UNNAMED.format(i + 1) for i in range(v))
            if given is None
            else tuple(map(str, given))
        )
        if len(words) != v:
            raise UsageError(f"vocabulary has {plural(len(words), 'word')}, the model has {v:,}")
        return words

    def _names(self, topics: int) -> list[str]:
        """Return the names of topics: lda0, lda1, ..."""
        return [f"{type(self).__name__.lower()}{k}" for k in range(topics)]

    def topics_frame(
        self,
        n: int = 10,
        vocabulary: Sequence[str] | None = None,
        layer: int = 1,
        *,
        intervals: bool = True,
    ) -> pandas.DataFrame:
        """Return the top words of every topic as a pandas DataFrame, a word a row.

        Parameters
        ----------
        n : int
            Words of each topic, at least 1.
        vocabulary : sequence of V str, optional
            Words of the columns, ``CountVectorizer.get_feature_names_out()`` for one; by default
            ``feature_names_in_``, else word1, word2, ...
        layer : int
            The layer of a deep model, counted from 1, which is the lowest.
        intervals : bool
            Whether to look for intervals; of a run that was loaded they are read from disk.

        Returns
        -------
        pandas.DataFrame
            Columns ``topic``, ``rank`` (from 1), ``word`` and ``probability`` (of a direction ``entry``),
            the most probable word first; where at least 20 posterior samples are kept (``keep_samples``)
            also ``low`` and ``high``, between which 90 % of them are. ``attrs["interval_of"]`` is then
            "posterior" where those are credible intervals as far as is known, else "draws".
            docs/python.md, "Intervals".

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: pandas is not installed, ``vocabulary`` is not of V words, or there is no such
            layer.
        """
        frame = library("pandas", "topics_frame").DataFrame
        if not is_whole(n, 1):
            raise UsageError(f"n: wanted a number of words, at least 1, found {n!r}")
        words, topics = self._words(vocabulary), self._topics(layer)
        top, rows = top_words(topics.T, n), np.arange(len(topics))[:, None]
        table = {
            "topic": np.repeat(np.array(self._names(len(top)), dtype=object), top.shape[1]),
            "rank": np.tile(np.arange(1, top.shape[1] + 1), len(top)),
            "word": [words[w] for w in top.ravel().tolist()],
            self.entry: topics[rows, top].ravel(),
        }
        draws, faithful, exact = self._kept_topics(layer) if intervals else ((), False, False)
        known = np.zeros(top.shape, bool)
        if bounds := interval([[(sample[rows, top], known) for sample in draws]], exact=exact):
            table |= {"low": bounds.low.ravel(), "high": bounds.high.ravel()}
        found = frame(table)
        if bounds:
            found.attrs["interval_of"] = "posterior" if faithful else "draws"
        return found

    def documents_frame(self, X: Any, layer: int = 1) -> pandas.DataFrame:
        """Return the shares that topics have in documents as a pandas DataFrame, a document a row.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or texts
            As in `fit`.
        layer : int
            The layer of a deep model, counted from 1, which is the lowest.

        Returns
        -------
        pandas.DataFrame
            A column for each topic, named as in `topics_frame`; its index is that of X, if X has one.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: pandas is not installed, a bad X, or there is no such layer.
        """
        frame = library("pandas", "documents_frame").DataFrame
        self._check_fitted()
        found = self._shares(X, layer)
        return frame(
            found,
            index=X.index if hasattr(X, "iloc") else None,
            columns=self._names(found.shape[1]),
        )

    def _repr_html_(self) -> str:
        """Return HTML that shows parameters, and of a fitted model the top words of its topics."""
        head = f"<pre>{escape(repr(self))}</pre>"
        if not self.__sklearn_is_fitted__():
            return head
        words, topics = self._words(None), self.components_[:TOPICS_SHOWN]
        rows = [
            f"<tr><td>{name}</td><td>{escape(' '.join(words[w] for w in top))}</td></tr>"
            for name, top in zip(
                self._names(len(topics)), top_words(topics.T, WORDS_SHOWN).tolist(), strict=True
            )
        ]
        if (more := len(self.components_) - len(rows)) > 0:
            rows.append(f"<tr><td>...</td><td>{plural(more, 'topic')} more</td></tr>")
        return f"{head}<table>{''.join(rows)}</table>"


class Transformer(Framed):
    """Base of estimators that transform documents."""

    # scikit-learn's `clone` copies this attribute by its name
    _sklearn_output_config: dict[str, str]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of `transform`: lda0, lda1, ..., or deeplda0, ...

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
        return np.array(self._names(len(self.components_)), dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return: arrays, or DataFrames.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            The container; None leaves it as it is. ``sklearn.set_config(transform_output=...)`` is
            minded too, where nothing was chosen here.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        UsageError
            A `ValueError`, if there is no such container.
        """
        if transform is not None:
            if transform not in CONTAINERS:
                raise UsageError(
                    f"transform: wanted one of {', '.join(CONTAINERS)}, found {transform!r}"
                )
            self._sklearn_output_config = {"transform": transform}
        return self

    def _contained(self, found: Doubles, X: Any) -> Any:
        """Return the rows of `transform` in the container that was chosen."""
        sklearn = sys.modules.get("sklearn")
        common = sklearn.get_config()["transform_output"] if sklearn else "default"
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", common)
        if chosen == "default":
            return found
        frame, columns = library(chosen, "set_output").DataFrame, self._names(found.shape[1])
        if chosen == "pandas":
            return frame(found, index=X.index if hasattr(X, "iloc") else None, columns=columns)
        return frame(found, schema=columns, orient="row")


def library(name: str, who: str) -> Any:
    """Return a library that only some people have.

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
