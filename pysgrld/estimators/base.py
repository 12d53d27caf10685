"""Base class of estimators, which checks parameters and follows scikit-learn's conventions.

Some parameters are options of a single sampler; these parameters are generated from the sampler's
list of options.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import textwrap
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, ParamSpec, Self, TypeVar

import numpy as np

from pysgrld.errors import Log, NotFittedError, SgmcError, UnknownWordsWarning, UsageError, no_log
from pysgrld.estimators.fitting import AUTO, jobs
from pysgrld.estimators.inputs import as_documents, column_names, counts_in
from pysgrld.estimators.words import known_documents, unknown_documents
from pysgrld.models.table import find_model
from pysgrld.options.parse import SMALLEST
from pysgrld.options.peers import ATTRIBUTES, METHODS_OF_PEERS, hint, peer
from pysgrld.samplers.table import sampler_options
from pysgrld.types import Array, Documents

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

#: The largest 32-bit signed integer.
MOST = 2**31 - 1
#: Bounds of the value of a positive parameter, as text for error messages.
BOUNDS = f"{SMALLEST:.2g} and 1e6"
#: Name of the parameter that sets a training option, if it differs from the option's name.
#: `Estimator.options_of` adds more names.
_PARAMETERS = {"threads": "n_jobs", "seed": "random_state"}
#: Parameters that may change between calls of `partial_fit`. Either `partial_fit` does not use
#: them, or each call reads them again.
_FREE_PARAMETERS = frozenset(
    {"max_iter", "holdout", "exact_sweeps", "total_samples", "n_jobs", "verbose"}
)
_PARAMETERS |= {"iterations": "max_iter", "epochs": "max_iter (in minibatches)"}
#: Types that docstrings of parameters state. The keys are the placeholders of option values in help
#: texts.
_TYPES = {"N": "int", "A": "float", "A,B,C": "(float, float, float)"}


class Rule(NamedTuple):
    """A condition that the value of a parameter must meet.

    Attributes
    ----------
    option : str
        Training option that the parameter sets; empty if it sets no option.
    value : object
        The value of the parameter. None is valid for an option, and leaves the choice to sgmc.
    good : bool
        True if the value meets the rule.
    condition : str
        The rule in words, for messages.
    name : str
        Name of the parameter, if it is not the option's name with ``_`` for ``-``.
    needed : bool
        True if None is invalid although the parameter sets an option, as that option has no
        default.
    """

    option: str
    value: Any
    good: bool
    condition: str
    name: str = ""
    needed: bool = False


class Estimator(ABC):
    """Base class of estimators, which store each constructor parameter as an attribute.

    Attributes
    ----------
    of_counts : bool
        True if X has counts; False if numbers in X may be negative.
    kind : str or None
        The estimator's type in scikit-learn's tags.
    """

    of_counts: ClassVar[bool] = True
    kind: ClassVar[str | None] = None
    options_of: ClassVar[dict[str, str]] = {}
    n_jobs: int | None
    n_features_in_: int
    feature_names_in_: Array

    def __init_subclass__(cls) -> None:
        """Make the constructor raise `UsageError` for unknown parameters."""
        estimator: Any = cls
        if "__init__" in vars(cls):
            estimator.__init__ = _of_known_parameters(estimator.__init__)

    @classmethod
    def _parameters(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the values of the constructor's parameters by name.

        Parameters
        ----------
        deep : bool
            Ignored; exists for scikit-learn. No parameter is an estimator.

        Returns
        -------
        dict of str to object
            Parameters in the order of the constructor, with the values that were passed to it, or
            else their defaults.
        """
        del deep
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change constructor parameters; a model that is already fitted stays as it is.

        Parameters
        ----------
        **params : object
            New values by name of parameter; they are checked when the model is fitted. `fit` starts
            again with the new values. `partial_fit` continues a chain with fixed prior, number of
            topics and step sizes, and raises an error if their parameters have changed.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        UsageError
            A `ValueError`, if the parameter does not exist.
        """
        for name, value in params.items():
            if name not in self._parameters():
                raise UsageError(unknown_parameter(type(self), name))
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {
            name: p.default for name, p in inspect.signature(type(self).__init__).parameters.items()
        }
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            # Values are compared as text (repr), because a comparison of arrays gives an array.
            if repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # ---- interface that scikit-learn's tools use

    # Type checkers must not see this method, because they would then accept any attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise `AttributeError`; for another library's method, suggest the method of sgmc.

            Raises
            ------
            AttributeError
                If there is no such attribute, or the property of this name raised an error.
            """
            method, note = METHODS_OF_PEERS.get(name, ("", ""))
            if method and (hasattr(type(self), method) or method in ATTRIBUTES):
                raise AttributeError(f"use {method} instead of {name}{note and ': '}{note}")
            if note and not method:
                raise AttributeError(f"sgmc has no {name}: {note}")
            return object.__getattribute__(self, name)

    def __sklearn_tags__(self) -> Any:
        """Return the tags that scikit-learn's tools, such as pipelines, read."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        takes = InputTags(sparse=True, string=True, positive_only=self.of_counts)
        gives = TransformerTags() if hasattr(self, "transform") else None
        target = TargetTags(required=False)
        return Tags(self.kind, target, transformer_tags=gives, input_tags=takes)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def _check_fitted(self) -> None:
        """Raise `NotFittedError` if the estimator is not fitted yet.

        Raises
        ------
        NotFittedError
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted(f"this {type(self).__name__} is not fitted yet; call fit first")

    # ---- X as a matrix or as texts

    def _known_documents(self, X: Any, log: Log = no_log) -> Any:
        """Return X with the columns of the fitted model, without words unknown to the model.

        ``log`` is called with a line about the dropped words.

        Raises
        ------
        UsageError
            A `ValueError`: columns have other names or another order than in `fit`, or X is texts
            and the model knows no words.
        """
        names = getattr(self, "feature_names_in_", None)
        # Options for reading texts. If the model was loaded from a run, the run has recorded them.
        read = getattr(self, "_options", None)
        options = ("token_pattern", "phrases", "segment", "mask", "keep_links")
        how = {name: getattr(read, name, None) for name in options}
        words = None if names is None else names.tolist()
        threads = jobs(self.n_jobs)
        other_names = column_names(X)
        X = counts_in(X)
        documents = known_documents(X, words, self.n_features_in_, how, threads, log)
        if documents is not None:
            return documents
        if names is not None and other_names is not None and len(names) == len(other_names):
            for column, (name, other) in enumerate(zip(names, other_names, strict=True)):
                if name != other:
                    raise UsageError(
                        f"column {column} of X is {other!r}, but was {name!r} in fit; give the "
                        "same columns in the same order"
                    )
        return X

    def _documents(self, X: Any, words: int | None = None) -> tuple[Documents, int]:
        """Return a matrix as `Documents`, and the number V of its columns."""
        return as_documents(X, words, type(self).__name__)

    def _documents_like(self, X: Any) -> Documents:
        """Return X as `Documents` that have the columns of the fitted model."""
        self._check_fitted()
        known = self._known_documents(X)
        if isinstance(known, Documents) and not isinstance(X, Documents):
            words = getattr(self, "feature_names_in_", ())
            if line := unknown_documents(X, known, words):
                warnings.warn(line, UnknownWordsWarning, stacklevel=4)
        return self._documents(known, self.n_features_in_)[0]

    # ---- parameters

    @abstractmethod
    def _rules(self) -> list[Rule]:
        """Return the rules (conditions on values) of all parameters."""

    def _given(self) -> dict[str, Any]:
        """Check all parameters, and return the training options that they set, by option name.

        Raises
        ------
        UsageError
            A `ValueError`, if a parameter is out of range.
        """
        rules = self._rules()
        for rule in rules:
            if not rule.good and (rule.value is not None or rule.needed or not rule.option):
                name = rule.name or rule.option.replace("-", "_")
                raise UsageError(f"{name}: wanted {rule.condition}, found {rule.value!r}")
        return {r.option: r.value for r in rules if r.option and r.value is not None}

    def _note_parameters(self) -> None:
        """Record the parameters' values at the start of a chain, to detect later changes."""
        self._chain_parameters = self._spelled_parameters()

    def _spelled_parameters(self) -> dict[str, str]:
        """Return, as text, the values of the parameters that must not change during a chain.

        The values themselves cannot be stored, because the caller may change a list or dict in
        place.
        """
        generators = (np.random.RandomState, np.random.Generator)
        return {
            name: type(value).__name__ if isinstance(value, generators) else repr(value)
            for name, value in self.get_params().items()
            if name not in _FREE_PARAMETERS
        }

    def _check_parameters(self) -> None:
        """Raise an error if a parameter was changed after the chain had started.

        Raises
        ------
        UsageError
            A `ValueError` that names the parameter and both values.
        """
        before = self._chain_parameters
        for name, value in self._spelled_parameters().items():
            if before.get(name, value) != value:
                raise UsageError(
                    f"{name}: was {before[name]} when training began, and is now {value}, but "
                    "partial_fit cannot change the parameters of its chain; set the old value, "
                    "or start again with fit or a clone"
                )


def unknown_parameter(cls: type[Estimator], name: str) -> str:
    """Return the error message for an unknown parameter, which suggests parameters of sgmc.

    Parameters
    ----------
    cls : type
        The estimator.
    name : str
        The name that the user typed.
    """
    from pysgrld.corpus.reading import CorpusOptions

    parameters = cls._parameters()
    explanation, counterpart = f"the parameters are {', '.join(parameters)}", peer(name)
    if counterpart is not None and counterpart.here.startswith("--"):
        option = counterpart.here.removeprefix("--").removeprefix("set ")
        named = {o: our_name for our_name, o in cls.options_of.items()} | _PARAMETERS
        our_name = named.get(option, option.replace("-", "_"))
        if our_name.partition(",")[0] in parameters:
            explanation = hint(name, counterpart._replace(note=""), our_name)
    elif counterpart is None and CorpusOptions.among([option := name.replace("_", "-")]):
        explanation = (
            f"this is an option of 'sgmc train' for reading texts; train with --{option}, then "
            f"{cls.__name__}.load(RUN) reads further texts in the same way"
        )
    return f"invalid parameter {name!r} for {cls.__name__}: {explanation}"


def _of_known_parameters(constructor: Callable[..., None]) -> Callable[..., None]:
    """Wrap a constructor so that its error about an unknown parameter suggests a known one."""
    signature = inspect.signature(constructor)
    if any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return constructor

    @functools.wraps(constructor)
    def checked(self: Any, *values: Any, **named: Any) -> None:
        for name in named:
            if name not in signature.parameters:
                raise TypeError(unknown_parameter(type(self), name))
        constructor(self, *values, **named)

    return checked


def number(option: str, name: str, value: Any, low: int, high: int = MOST) -> Rule:
    """Return the rule that a parameter must be a whole number in [low, high].

    Parameters
    ----------
    option, name : str
        The training option, and the parameter that sets it.
    value : object
        Its value.
    low, high : int
        Bounds.
    """
    return Rule(option, value, is_whole(value, low, high), f"{name} >= {low} and <= {high}", name)


def seed_of(random_state: Any) -> Any:
    """Return ``random_state`` as a seed; if it is a generator of NumPy, draw a seed from it.

    Parameters
    ----------
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None
        None stands for the seed 0: results differ between calls only if the user asks for that.
    """
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(MOST))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(MOST))
    return random_state


def switch(name: str, value: Any) -> Rule:
    """Return the rule that a parameter must be "auto" or a whole number >= 0.

    Parameters
    ----------
    name : str
        The parameter.
    value : object
        Its value; a bool counts as 0 or 1.
    """
    good = isinstance(value, bool) or is_whole(value, 0) or value == AUTO
    return Rule("", value, good, f'a whole number >= 0, or "{AUTO}"', name)


def is_whole(value: Any, low: int, high: int = MOST) -> bool:
    """Return True if a value is a whole number from ``low`` to ``high``.

    Parameters
    ----------
    value : object
        A bool does not count as a number.
    low, high : int
        Bounds.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        return False
    return low <= int(value) <= high


def is_positive(value: Any) -> bool:
    """Return True if a value is a number in (2^-126, 10^6), hence positive in single precision.

    Parameters
    ----------
    value : object
        Any value.
    """
    return is_number(value) and bool(SMALLEST < float(value) < 1e6)


def is_number(value: Any) -> bool:
    """Return True if a value is a single real number.

    Parameters
    ----------
    value : object
        A bool does not count as a number.
    """
    kinds = int, float, np.integer, np.floating
    return isinstance(value, kinds) and not isinstance(value, bool)


#: Estimators that are being fitted, by process id and object id. The process id is needed because a
#: fork copies this dict but not the threads that are fitting.
_fitted: dict[tuple[int, int], object] = {}


def by_parameters(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a fitting method: refuse concurrent calls, and name parameters in error messages.

    Parameters
    ----------
    method : callable
        The method.
    """

    @functools.wraps(method)
    def called(*arguments: P.args, **named: P.kwargs) -> R:
        mine, key = object(), (os.getpid(), id(arguments[0]))
        if _fitted.setdefault(key, mine) is not mine:
            raise UsageError(
                f"this {type(arguments[0]).__name__} is being fitted by another thread; wait for "
                "it, or give each thread its own estimator"
            )
        try:
            return method(*arguments, **named)
        except SgmcError as error:
            name = lambda match: match[1].replace("-", "_")  # noqa: E731
            error.args = (re.sub("--(?:set )?([a-z][a-z-]*)", name, str(error)),)
            raise
        finally:
            del _fitted[key]

    return called


def not_fitted(message: str) -> NotFittedError:
    """Return a `NotFittedError`, which is also scikit-learn's if scikit-learn is imported.

    Parameters
    ----------
    message : str
        The message.
    """
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    if theirs is None:
        return NotFittedError(message)
    # Pickle calls `__reduce__`, so that another process can restore the error.
    again = {"__reduce__": lambda error: (not_fitted, (str(error),))}
    not_fitted_error: NotFittedError = type("NotFittedError", (NotFittedError, theirs), again)(
        message
    )
    return not_fitted_error


# ---- parameters for options that only some samplers have


def with_sampler_options(cls: type[T]) -> type[T]:
    """Add the options of a model's samplers to an estimator's constructor, docstring and rules.

    Parameters
    ----------
    cls : type
        Class with ``model``, ``options_of``, and a constructor that ends with
        ``**sampler_options``; that parameter is only for type checkers.

    Returns
    -------
    type
        The same class, changed in place.
    """
    estimator: Any = cls
    model, original_init = find_model(estimator.model), estimator.__init__
    options = {
        name: option
        for name, option in sampler_options(model.algorithms).items()
        if name not in model.refuses
    }
    names = {name.replace("-", "_"): name for name in options}
    signature = inspect.signature(original_init)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in names
    ]
    signature = signature.replace(parameters=[*parameters, *added])

    @functools.wraps(original_init)
    def constructor(self: Any, *values: Any, **named: Any) -> None:
        vars(self).update({name: named.pop(name, None) for name in names})
        original_init(self, *values, **named)

    constructor.__signature__ = signature  # type: ignore[attr-defined]
    estimator.__init__ = _of_known_parameters(constructor)
    estimator.sampler_options = options
    estimator.options_of = estimator.options_of | names
    text = inspect.cleandoc(cls.__doc__ or "")
    algorithms = ", ".join(f'"{algo}"' for algo in model.algorithms)
    text = re.sub(r"^algo : .*$", f"algo : {{{algorithms}}}", text, flags=re.MULTILINE)
    entries = ""
    for name, option in zip(names, options.values(), strict=True):
        choices = option.metavar.split("|")
        kind = ", ".join(f'"{choice}"' for choice in choices)
        kind = f"{{{kind}}}" if len(choices) > 1 else _TYPES[option.metavar]
        meaning = f"Of {option.help}; by default {option.shown}."
        lines = textwrap.wrap(meaning, 100, initial_indent="    ", subsequent_indent="    ")
        entries += "\n".join([f"\n{name} : {kind}, optional", *lines])
    cls.__doc__ = text.replace("\n\nAttributes\n", f"{entries}\n\nAttributes\n", 1)
    return cls
