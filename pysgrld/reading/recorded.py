"""Checks of the record of a run and of its kept samples, before anything is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pysgrld.errors import CheckpointError
from pysgrld.models.protocol import Model
from pysgrld.models.table import MODELS, model_of
from pysgrld.options.resolved import Resolved, option_name
from pysgrld.run.create import CONFIG
from pysgrld.run.directory import RunDirectory
from pysgrld.types import Array

#: Options without which nothing of a run can be read, and that every release has written.
_NEEDED = frozenset({"algo", "topics", "seed"})
#: What the record says of the corpus, and reading needs: with what it is where nothing is said.
_FIGURES = {"training_documents": None, "training_tokens": None, "held_out": 0}


def recorded(run: RunDirectory) -> tuple[Model[Any], Resolved]:
    """Give the model and the options of a run.

    Raises
    ------
    CheckpointError
        If ``config.json`` is not what was written there.
    """
    options, corpus = run.config.get("options", {}), run.config.get("corpus", {})
    name = options.get("model")
    if not isinstance(name, str) or name not in MODELS:
        raise _damaged(run, f"its model is {name!r}")
    model = model_of(name)
    found: Resolved = model.resolved.of(options)
    for field, hint in get_type_hints(model.resolved).items():
        due = option_name(field) in options or field in _NEEDED  # older runs know fewer options
        if due and not _fits(value := getattr(found, field), hint):
            raise _damaged(run, f"option {option_name(field)} is {value!r}")
    for figure, unsaid in _FIGURES.items():
        if not _fits(value := corpus.get(figure, unsaid), int):
            raise _damaged(run, f"{figure} of its corpus is {value!r}")
    return model, found


def check_shapes(
    parts: Mapping[str, Array], shapes: Mapping[str, tuple[int, int]], place: str
) -> None:
    """Check that a kept sample has the matrices of this model, in their shapes.

    Parameters
    ----------
    parts : mapping of str to (rows, columns) arrays
    shapes : mapping of str to (int, int)
        What each must have.
    place : str
        What the message calls the sample.

    Raises
    ------
    CheckpointError
        Naming the first that is not there, or has another shape.
    """
    for name, wanted in shapes.items():
        if name not in parts:
            problem = f"has no array {name!r}"
        elif parts[name].shape != wanted:
            found, due = (" x ".join(map(str, shape)) for shape in (parts[name].shape, wanted))
            problem = f"array {name!r} is {found}, and the model's is {due}"
        else:
            continue
        raise CheckpointError(f"{place}: {problem}; delete the file to go on without it")


def _damaged(run: RunDirectory, why: str) -> CheckpointError:
    return CheckpointError(f"{run.path / CONFIG}: is damaged: {why}; restore it")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that a field is declared with."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, arg) for arg in args)
    if origin is Literal:
        return value in args
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = args[:1] * len(value) if args[-1] is Ellipsis else args
        return len(each) == len(value) and all(map(_fits, value, each))
    if hint in (int, float):
        return isinstance(value, int if hint is int else int | float) and value is not True
    return isinstance(value, NoneType if hint is None else hint)
