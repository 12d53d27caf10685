"""Checks of JSON records against declared types.

Records with a valid digest are checked too, because any program can write a valid digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

#: Schema of a record, which maps each key to the type of its value. For a nested record, the type
#: is another schema. A key may be missing if its type includes None.
Schema = Mapping[str, Any]
#: Type of nonnegative integers.
NATURAL = Annotated[int, 0]


class Each(NamedTuple):
    """Declared type of a list or table that may be missing; ``schema`` is the type of a value."""

    schema: Schema


def misfit(record: Any, schema: Schema, name: str = "") -> str | None:
    """Describe the first part of a record that has a wrong type; return None if all types fit.

    Parameters
    ----------
    record : object
        Any JSON value; keys that the schema lacks are not checked.
    schema : mapping
        A type or a nested schema by key.
    name : str
        Name of the record for messages; empty for a whole file.

    Returns
    -------
    str or None
        Text for a message, with the path of keys to the part and its value.
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
    """Return a value as one short line of ASCII text, for use in a message.

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
    """Return True if a value has a field's declared type.

    Parameters
    ----------
    value : object
    hint : object
        The type, in the form that `typing.get_type_hints` returns.

    Returns
    -------
    bool
        True if the value and all parts of a container have the right types.
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
        number = int if hint is int else int | float
        return isinstance(value, number) and not isinstance(value, bool)
    return isinstance(value, NoneType if hint is None else hint)
