"""The container that `transform` gives its rows in, as scikit-learn's users choose it."""

from __future__ import annotations

import sys
from typing import Any, Self

import numpy as np

from pysgrld.errors import UsageError
from pysgrld.estimators.dataframes import Framed, index_of, library
from pysgrld.types import Doubles

#: What may be chosen: NumPy's arrays, or DataFrames of these libraries.
CONTAINERS = ("default", "pandas", "polars")


class Transformer(Framed):
    """Base of estimators that transform documents."""

    # scikit-learn's `clone` copies this attribute by its name
    _sklearn_output_config: dict[str, str]

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
        return np.array(self._names(len(self.components_)), dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` give: arrays, or DataFrames.

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
        """Give the rows of `transform` in the container that was chosen."""
        sklearn = sys.modules.get("sklearn")
        common = sklearn.get_config()["transform_output"] if sklearn else "default"
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", common)
        if chosen == "default":
            return found
        frame, columns = library(chosen, "set_output").DataFrame, self._names(found.shape[1])
        if chosen == "pandas":
            return frame(found, index=index_of(X), columns=columns)
        return frame(found, schema=columns, orient="row")
