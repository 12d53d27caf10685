"""Parameters of estimators that are options of single samplers, made from the rows of these samplers."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from typing import Any, TypeVar

from pysgrld.errors import UsageError
from pysgrld.estimators.base import Rule
from pysgrld.models.table import model_of
from pysgrld.options.option import Option
from pysgrld.samplers.table import options_of_samplers

T = TypeVar("T")

#: Types of values as docstrings have them, by what stands for the value in the help.
_TYPES = {"N": "int", "A": "float", "A,B,C": "(float, float, float)"}


def with_sampler_options(cls: type[T]) -> type[T]:
    """Add the options of its samplers to an estimator: to its constructor, its docstring and its rules.

    Parameters
    ----------
    cls : type
        Has ``model``, ``options_of``, and a constructor that ends with ``**sampler_options``, which is
        there for type checkers.

    Returns
    -------
    type
        The same class.
    """
    estimator: Any = cls
    model, own = model_of(estimator.model), estimator.__init__
    options = {
        name: option
        for name, option in options_of_samplers(model.algorithms).items()
        if name not in model.refuses
    }
    names = {name.replace("-", "_"): name for name in options}
    signature = inspect.signature(own)
    known = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in names
    ]
    signature = signature.replace(parameters=[*known, *added])

    @functools.wraps(own)
    def constructor(self: Any, *values: Any, **named: Any) -> None:
        for name in named:
            if name not in signature.parameters:
                said = f"{cls.__name__}.__init__() got an unexpected keyword argument {name!r}"
                raise TypeError(said)
        vars(self).update({name: named.pop(name, None) for name in names})
        own(self, *values, **named)

    constructor.__signature__ = signature  # type: ignore[attr-defined]
    estimator.__init__ = constructor
    estimator.sampler_options = options
    estimator.options_of = estimator.options_of | names
    text = inspect.cleandoc(cls.__doc__ or "")
    algorithms = ", ".join(f'"{algo}"' for algo in model.algorithms)
    text = re.sub(r"^algo : .*$", f"algo : {{{algorithms}}}", text, flags=re.MULTILINE)
    entries = "\n".join(_described(name, options[names[name]]) for name in names)
    cls.__doc__ = text.replace("\n\nAttributes\n", f"\n{entries}\n\nAttributes\n", 1)
    return cls


def sampler_rules(estimator: Any) -> list[Rule]:
    """Return the rules of the parameters that are options of single samplers: as the options are parsed.

    Parameters
    ----------
    estimator : Estimator
        Made by `with_sampler_options`.
    """
    rules = []
    for name, option in estimator.sampler_options.items():
        parameter = name.replace("-", "_")
        value, good = getattr(estimator, parameter), True
        if value is not None:
            parts = value if isinstance(value, tuple | list) else [value]
            try:
                value = option.parse(",".join(map(str, parts)))
            except UsageError:
                good = False
        rules.append(Rule(name, value, good, option.metavar, parameter))
    return rules


def _described(name: str, option: Option) -> str:
    """Return the entry of an option in a docstring."""
    words = option.metavar.split("|")
    kind = "{" + ", ".join(f'"{word}"' for word in words) + "}" if len(words) > 1 else None
    meaning = f"Of {option.help}; by default {option.shown}."
    return "\n".join(
        [
            f"{name} : {kind or _TYPES[option.metavar]}, optional",
            *textwrap.wrap(meaning, 100, initial_indent="    ", subsequent_indent="    "),
        ]
    )
