"""Putting the arrays of a checkpoint back: only where names, types, shapes and ranges fit.

A checkpoint that verifies holds what was written; whether that is a state of this very run is asked
here, before anything is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.errors import CheckpointError
from pysgrld.types import Array, Doubles, Floats, Int32s, is_prior


class Within(Mapping[str, Array]):
    """The arrays of a mapping whose names begin in one way, by the rest of their names.

    None is read but those that are asked for.

    Parameters
    ----------
    arrays : mapping
    prefix : str
    """

    def __init__(self, arrays: Mapping[str, Array], prefix: str) -> None:
        self._arrays, self._prefix = arrays, prefix
        self._names = {n.removeprefix(prefix): None for n in arrays if n.startswith(prefix)}

    def __getitem__(self, name: str) -> Array:
        return self._arrays[self._prefix + name]

    def __contains__(self, name: object) -> bool:  # without this check the array would be read
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Form(NamedTuple):
    """The type and the shape of an array of a checkpoint; -1 stands for an axis of any length."""

    dtype: npt.DTypeLike
    shape: tuple[int, ...]

    def take(self, arrays: Mapping[str, Array], name: str, prefix: str = "") -> Array:
        """Return the array of this name, which is read once; messages put `prefix` before the name.

        Raises
        ------
        CheckpointError
            If it is missing, or of another type or shape.
        """
        array = arrays.get(name)
        if array is None:
            raise CheckpointError(f"the checkpoint lacks array {prefix + name!r}")
        fits = array.ndim == len(self.shape) and all(
            n in (-1, m) for n, m in zip(self.shape, array.shape, strict=True)
        )
        if array.dtype != self.dtype or not fits:
            shape = tuple("any" if n < 0 else n for n in self.shape)
            raise CheckpointError(
                f"array {prefix + name!r} of the checkpoint is {array.dtype} {array.shape}, this run "
                f"needs {np.dtype(self.dtype)} {shape}"
            )
        return array


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Put the name of a checkpoint before the message of a `CheckpointError` that is raised within.

    Parameters
    ----------
    place : str
        Name of the checkpoint in messages.

    Yields
    ------
    None
        Nothing, while the block runs.
    """
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{place}: {error}") from None


def put_back(own: Mapping[str, Array], arrays: Mapping[str, Array], prefix: str = "") -> None:
    """Fill `own` in place from the arrays of the same names; messages put `prefix` before a name.

    Each is read once, and gone before the next one is read: arrays may be as large as the state.

    Parameters
    ----------
    own : mapping of str to array
        Arrays of the state, which are overwritten.
    arrays : mapping of str to array
        Arrays of the checkpoint.
    prefix : str, default ""
        Beginning of the names in messages.

    Raises
    ------
    CheckpointError
        If one is missing, or of another type or shape; `own` is then no state of anything.
    """
    for name, array in own.items():
        value = Form(array.dtype, array.shape).take(arrays, name, prefix)
        if value is not array:
            array[...] = value
        del value


def check_topics(name: str, z: Int32s, topics: int) -> None:
    """Refuse topics of tokens that are none of `topics`; -1 is one not drawn yet.

    Parameters
    ----------
    name : str
        Name of the array in the checkpoint, for the message.
    z : array of int32, (N,)
        Topics of all tokens, or -1.
    topics : int
        Number of topics K.

    Raises
    ------
    CheckpointError
        Naming the array and the first bad value.
    """
    bad = (z < -1) | (z >= topics)
    if bad.any():
        index = int(bad.argmax())
        raise CheckpointError(
            f"array {name!r} of the checkpoint has {z[index]} at [{index}]: there are {topics} topics"
        )


def check_prior(name: str, values: Floats | Doubles) -> None:
    """Refuse values that the kernels do not take as parameters of a Dirichlet law.

    Parameters
    ----------
    name : str
        Name of the array in the checkpoint, for the message.
    values : array of float
        Its values, of any shape.

    Raises
    ------
    CheckpointError
        Naming the array.
    """
    if not is_prior(values):
        raise CheckpointError(f"array {name!r} of the checkpoint has values that are no prior")


def check_positive(name: str, values: Floats | Doubles) -> None:
    """Refuse an array with values that are not positive numbers.

    Parameters
    ----------
    name : str
        Name of the array in the checkpoint, for the message.
    values : array of float
        Its values, of any shape.

    Raises
    ------
    CheckpointError
        Naming the array.
    """
    if not (np.isfinite(values) & (values > 0)).all():
        raise CheckpointError(f"array {name!r} of the checkpoint has values that are not positive")


def counted(meta: Mapping[str, Any], *names: str) -> list[Any]:
    """Return numbers of at least 0 from the metadata of a checkpoint.

    Parameters
    ----------
    meta : mapping of str to object
        Metadata of the checkpoint.
    *names : str
        Keys of the numbers.

    Returns
    -------
    list of int or float
        The numbers, in the order of their names.

    Raises
    ------
    CheckpointError
        Naming the first that is none.
    """
    for name in names:
        value = meta.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise CheckpointError(f"the checkpoint has {value!r} for {name}")
    return [meta[name] for name in names]
