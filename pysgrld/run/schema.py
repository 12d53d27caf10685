"""Types of records in JSON: checks of values against their declared types.

A digest shows that a record is unchanged since some program wrote it, not that sgmc wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

#: The types of values by key, or the keys of a record in a record. A key that may be missing may be None.
Schema = Mapping[str, Any]
#: The type of an integer of at least 0.
NATURAL = Annotated[int, 0]


class Each(NamedTuple):
    """The type of a list or a table that may be missing, and whose values all have one schema."""

    schema: Schema


def misfit(record: Any, schema: Schema, name: str = "") -> str | None:
    """Return name and value of the first part of a record that has a wrong type, or None if all fit.

    Parameters
    ----------
    record : object
        Any JSON; keys that the schema lacks are not checked.
    schema : mapping
        A type or another schema by key.
    name : str
        The name of the record; empty for a whole file.

    Returns
    -------
    str or None
        Text for a message, with the path of keys to the part.
    """
    if not isinstance(record, Mapping):
        return f"{name or 'the record'} is {shortened(record)}"
    for key, hint in schema.items():
        value, where = record.get(key), f"{name}.{key}" if name else key
        if isinstance(hint, Mapping):
            if problem := misfit(value if key in record else {}, hint, where):
                return problem
        elif isinstance(hint, Each):
            if not isinstance(value, list | dict | None):
                return f"{where} is {shortened(value)}"
            items = value.items() if isinstance(value, dict) else enumerate(value or ())
            for name_of_item, item in items:
                if problem := misfit(item, hint.schema, f"{where}.{name_of_item}"):
                    return problem
        elif not fits(value, hint):
            return f"{where} is {shortened(value)}"
    return None


def shortened(value: Any) -> str:
    """Return a value for a message, on one line that is not too long.

    Parameters
    ----------
    value : object
        Any value of a JSON file.

    Returns
    -------
    str
        At most 60 characters of ASCII.
    """
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def fits(value: Any, hint: Any) -> bool:
    """Return True if a value has the type that a field is declared with.

    Parameters
    ----------
    value : object
    hint : object
        A type, as `typing.get_type_hints` returns it.

    Returns
    -------
    bool
        False also for a part of a container with a wrong type.
    """
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Annotated:
        return fits(value, args[0]) and bool(value >= args[1])
    if origin in (Union, UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is Literal:
        return value in args
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        hints = args[:1] * len(value) if args[-1] is Ellipsis else args
        return len(hints) == len(value) and all(map(fits, value, hints))
    if origin is list:
        return isinstance(value, list) and all(fits(item, args[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(item, args[1]) for item in value.values())
    if hint in (int, float):
        return isinstance(value, int if hint is int else int | float) and value is not True
    return isinstance(value, NoneType if hint is None else hint)
