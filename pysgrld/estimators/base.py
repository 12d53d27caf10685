"""Parameters of estimators, in scikit-learn's conventions, and the rules that they must keep."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, ParamSpec, Self, TypeVar

import numpy as np

from pysgrld.errors import NotFittedError, SgmcError, UsageError
from pysgrld.estimators.resources import jobs
from pysgrld.estimators.texts import counted, texts_in, vocabulary_of
from pysgrld.options.parse import SMALLEST
from pysgrld.types import Array

P = ParamSpec("P")
R = TypeVar("R")

#: Most of anything that is counted in 32 bits.
MOST = 2**31 - 1
#: What a positive parameter must be between, as a person reads it.
BOUNDS = f"{SMALLEST:.2g} and 1e6"


class Rule(NamedTuple):
    """A rule that the value of a parameter must keep.

    Attributes
    ----------
    option : str
        Option of training that the parameter is.
    value : object
        The value that was given; None: left to us, and good.
    good : bool
        Whether the value keeps the rule.
    wanted : str
        The rule in words, for messages.
    name : str
        The parameter, where it has another name than the option with ``-`` as ``_``.
    """

    option: str
    value: Any
    good: bool
    wanted: str
    name: str = ""


class Estimator(ABC):
    """Base of estimators: parameters of the constructor are attributes of their names.

    Attributes
    ----------
    takes_negative : bool
        Whether entries of X may be below 0.
    kind : str or None
        The kind of estimator that scikit-learn knows it as.
    """

    takes_negative: ClassVar[bool] = False
    kind: ClassVar[str | None] = None
    n_jobs: int | None
    n_features_in_: int
    feature_names_in_: Array

    @classmethod
    def _parameters(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters of the constructor, by name.

        Parameters
        ----------
        deep : bool
            Ignored; there for scikit-learn. No parameter is an estimator.

        Returns
        -------
        dict of str to object
            In the order of the constructor, as they were given: None where one was left out.
        """
        del deep
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters of the constructor; a model that is fitted already stays as it is.

        Parameters
        ----------
        **params : object
            New values by the names of parameters; they are checked when the model is fitted.

        Returns
        -------
        Self
            This estimator.

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
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name])  # arrays cannot be compared
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # ---- what scikit-learn's tools ask

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn's tools, such as pipelines, want to know of an estimator."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        takes = InputTags(sparse=True, string=True, positive_only=not self.takes_negative)
        gives = TransformerTags() if hasattr(self, "transform") else None
        target = TargetTags(required=False)
        return Tags(self.kind, target, transformer_tags=gives, input_tags=takes)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def _check_fitted(self) -> None:
        """Refuse to be used before `fit`.

        Raises
        ------
        NotFittedError
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted(f"this {type(self).__name__} is not fitted yet: call fit first")

    # ---- X: a matrix, or texts

    def _new_documents(self, X: Any) -> tuple[Any, Array | None]:
        """Give what a model is fitted to, and the names of its columns: texts are counted first."""
        texts = texts_in(X)
        if texts is None:
            return X, column_names(X)
        words = vocabulary_of(texts, jobs(self.n_jobs))
        return counted(texts, words, None, jobs(self.n_jobs)), np.array(words, dtype=object)

    def _known_documents(self, X: Any) -> Any:
        """Give X over the columns that the model was fitted to; of texts, words that it knows.

        Raises
        ------
        UsageError
            A `ValueError`: columns of other names, or texts for a model that knows no words.
        """
        texts = texts_in(X)
        if texts is None:
            self._check_names(X)
            return X
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise UsageError(
                "X is texts, and the model knows no words: fit it to texts, or to a DataFrame whose "
                "columns are words; else count them as was done for fit"
            )
        words = names.tolist()
        return counted(texts, words, self._token_pattern, jobs(self.n_jobs), self._phrases)

    @property
    def _token_pattern(self) -> str | None:
        """The pattern of tokens that texts were read by; None: the one that is built in."""
        return None

    @property
    def _phrases(self) -> tuple[str, ...] | None:
        """The phrases that count as words in texts; None: there are none."""
        return None

    def _take_names(self, names: Array | None) -> None:
        """Remember the names of the columns that a model was fitted to, where there are any."""
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    def _check_names(self, X: Any) -> None:
        """Refuse columns of other names, or in another order, than the model was fitted to.

        Raises
        ------
        UsageError
            A `ValueError`, naming the first that differs.
        """
        known, found = getattr(self, "feature_names_in_", None), column_names(X)
        if known is None or found is None or len(known) != len(found):
            return
        for at, (name, other) in enumerate(zip(known, found, strict=True)):
            if name != other:
                raise UsageError(
                    f"column {at} of X is {other!r}, and was {name!r} in fit: give the same columns in "
                    "the same order"
                )

    # ---- parameters

    @abstractmethod
    def _rules(self) -> list[Rule]:
        """Give the rules of all parameters that are options of training."""

    def _given(self) -> dict[str, Any]:
        """Check all parameters, and give those that are not None by the names of options.

        Raises
        ------
        UsageError
            A `ValueError`, if one is out of range.
        """
        rules = self._rules()
        for rule in rules:
            if rule.value is not None and not rule.good:
                name = rule.name or rule.option.replace("-", "_")
                raise UsageError(f"{name}: wanted {rule.wanted}, found {rule.value!r}")
        return {rule.option: rule.value for rule in rules if rule.value is not None}


def number(option: str, name: str, value: Any, low: int, high: int = MOST) -> Rule:
    """Make the rule of a parameter that is a whole number in [low, high].

    Parameters
    ----------
    option, name : str
        The option of training, and the parameter.
    value : object
    low, high : int
    """
    return Rule(option, value, is_whole(value, low, high), f"{name} >= {low} and <= {high}", name)


def check_number(name: str, value: Any) -> None:
    """Refuse the value of a parameter that is no option of training, and no whole number >= 0.

    Parameters
    ----------
    name : str
    value : object
        A bool is 0 or 1.

    Raises
    ------
    UsageError
        A `ValueError`.
    """
    if not (isinstance(value, bool) or is_whole(value, 0)):
        raise UsageError(f"{name}: wanted a whole number >= 0, found {value!r}")


def is_whole(value: Any, low: int, high: int = MOST) -> bool:
    """Say whether a value is a whole number from ``low`` to ``high``.

    Parameters
    ----------
    value : object
        A bool is no number here.
    low, high : int
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        return False
    return low <= int(value) <= high


def is_positive(value: Any) -> bool:
    """Say whether a value is a number in (2^-126, 10^6): above 0 in single precision, too.

    Parameters
    ----------
    value : object
    """
    return isinstance(value, (int, float, np.number)) and bool(SMALLEST < float(value) < 1e6)


def is_schedule(value: Any) -> bool:
    """Say whether a value is A, B, C of a step A (1 + t/B)^(-C) that does not grow.

    Parameters
    ----------
    value : object
        Three numbers: A in (0, 10^6], B > 0, C in [0, 1].
    """
    try:
        a, b, c = (float(v) for v in value)
    except (TypeError, ValueError):
        return False
    return 0 < a <= 1e6 and b > 0 and 0 <= c <= 1


def column_names(x: Any) -> np.ndarray | None:
    """Give the names of the columns of a DataFrame, (V,) of str objects; None where there are none.

    Parameters
    ----------
    x : object
        Names are text, or they are no names.
    """
    columns = getattr(x, "columns", None)
    if columns is None:
        return None
    names = [name for name in columns if isinstance(name, str)]
    return np.array(names, dtype=object) if names and len(names) == len(columns) else None


def by_parameters(method: Callable[P, R]) -> Callable[P, R]:
    """Let messages that name options, as they are typed, name parameters instead.

    Parameters
    ----------
    method : callable
    """

    @functools.wraps(method)
    def called(*given: P.args, **named: P.kwargs) -> R:
        try:
            return method(*given, **named)
        except SgmcError as error:
            error.args = (re.sub("--[a-z][a-z-]*", _parameter, str(error)),)
            raise

    return called


def _parameter(option: re.Match[str]) -> str:
    return option[0].removeprefix("--").replace("-", "_")


def not_fitted(message: str) -> NotFittedError:
    """Make the error of an estimator that is not fitted; scikit-learn's too, where that is loaded.

    Parameters
    ----------
    message : str
    """
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    if theirs is None:
        return NotFittedError(message)
    kind = type("NotFittedError", (NotFittedError, theirs), {"__reduce__": _reduced})
    found: NotFittedError = kind(message)
    return found


def _reduced(error: NotFittedError) -> tuple[Any, ...]:
    """Give what an error is made of again in another process."""
    return not_fitted, (str(error),)
