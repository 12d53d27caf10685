"""Types of records in JSON: whether a value is of the type that it is declared with.

A digest tells that a record is as somebody has written it, not that sgmc has.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

#: The types of values by key, or the keys of a record in a record. A key that may be missing may be None.
Schema = Mapping[str, Any]


def misfit(record: Any, schema: Schema, name: str = "") -> str | None:
    """Return name and value of the first part of a record that is not of its type; None if all fit.

    Parameters
    ----------
    record : object
        Any JSON; keys that are not in the schema are not looked at.
    schema : mapping
        A type or another schema by key.
    name : str
        The name of the record; empty for a whole file.
    """
    if not isinstance(record, Mapping):
        return f"{name or 'the record'} is {shortened(record)}"
    for key, hint in schema.items():
        value, where = record.get(key), f"{name}.{key}" if name else key
        if isinstance(hint, Mapping):
            if problem := misfit(value if key in record else {}, hint, where):
                return problem
        elif not fits(value, hint):
            return f"{where} is {shortened(value)}"
    return None


def shortened(value: Any) -> str:
    """Return a value for a message, on one line that is not too long."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of the type that a field is declared with."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is Literal:
        return value in args
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = args[:1] * len(value) if args[-1] is Ellipsis else args
        return len(each) == len(value) and all(map(fits, value, each))
    if origin is list:
        return isinstance(value, list) and all(fits(item, args[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(item, args[1]) for item in value.values())
    if hint in (int, float):
        return isinstance(value, int if hint is int else int | float) and value is not True
    return isinstance(value, NoneType if hint is None else hint)
