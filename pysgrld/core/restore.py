"""Restoring of a checkpoint's arrays, after checks of their names, types, shapes and ranges.

A verified checkpoint holds exactly the data that were written. This module checks whether these data
are a state of this run.
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
    """Arrays of a mapping that share a name prefix, accessed by their names without the prefix.

    An array is read only when it is requested.

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

    def __contains__(self, name: object) -> bool:
        # `Mapping.__contains__` would read the array, which takes time.
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Form(NamedTuple):
    """Required type and shape of a checkpoint's array; an axis of any length is given as -1."""

    dtype: npt.DTypeLike
    shape: tuple[int, ...]

    def take(self, arrays: Mapping[str, Array], name: str, prefix: str = "") -> Array:
        """Read and check an array; error messages put `prefix` before the array's name.

        Raises
        ------
        CheckpointError
            If the array is missing, or has another type or shape.
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
                f"array {prefix + name!r} of the checkpoint has type {array.dtype} and shape "
                f"{array.shape}, but this run needs {np.dtype(self.dtype)} and {shape}"
            )
        return array


@contextmanager
def name_checkpoint_in_errors(place: str) -> Iterator[None]:
    """Context manager that adds a checkpoint's name to the message of a `CheckpointError`.

    Parameters
    ----------
    place : str
        Name of the checkpoint in messages.

    Yields
    ------
    None
        Nothing; the block runs at this point.
    """
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{place}: {error}") from None


def restore_arrays(own: Mapping[str, Array], arrays: Mapping[str, Array], prefix: str = "") -> None:
    """Check the arrays of a checkpoint, and copy them into the existing arrays of a state.

    Each array is read once and freed before the next one is read, as arrays may be very large.

    Parameters
    ----------
    own : mapping of str to array
        Arrays of the state, which are overwritten.
    arrays : mapping of str to array
        Arrays of the checkpoint.
    prefix : str, default ""
        Prefix of the names in messages.

    Raises
    ------
    CheckpointError
        If an array is missing, or has another type or shape; `own` is then unusable.
    """
    for name, array in own.items():
        value = Form(array.dtype, array.shape).take(arrays, name, prefix)
        if value is not array:
            array[...] = value
        del value


def check_topics(name: str, z: Int32s, topics: int) -> None:
    """Raise an error unless all token topics are from 0 to `topics` - 1, or -1 (not drawn yet).

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
        The message names the array and its first bad value.
    """
    bad = (z < -1) | (z >= topics)
    if bad.any():
        index = int(bad.argmax())
        raise CheckpointError(
            f"array {name!r} of the checkpoint has topic {z[index]} at [{index}], but topics are "
            f"numbered from 0 to {topics - 1}"
        )


def check_prior(name: str, values: Floats | Doubles) -> None:
    """Raise an error for values that the kernels do not accept as Dirichlet parameters.

    Parameters
    ----------
    name : str
        Name of the array in the checkpoint, for the message.
    values : array of float
        Its values, of any shape.

    Raises
    ------
    CheckpointError
        The message names the array.
    """
    if not is_prior(values):
        raise CheckpointError(
            f"array {name!r} of the checkpoint has values that are not valid Dirichlet parameters"
        )


def check_positive(name: str, values: Floats | Doubles) -> None:
    """Raise an error unless all values of an array are positive and finite.

    Parameters
    ----------
    name : str
        Name of the array in the checkpoint, for the message.
    values : array of float
        Its values, of any shape.

    Raises
    ------
    CheckpointError
        The message names the array.
    """
    if not (np.isfinite(values) & (values > 0)).all():
        raise CheckpointError(f"array {name!r} of the checkpoint has a value that is not positive")


def read_counters(meta: Mapping[str, Any], *names: str) -> list[Any]:
    """Return the given entries of a checkpoint's metadata, which must be nonnegative numbers.

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
        The message names the first entry that is not such a number.
    """
    for name in names:
        value = meta.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise CheckpointError(
                f"{name} of the checkpoint is {value!r}, but must be a number of at least 0"
            )
    return [meta[name] for name in names]
