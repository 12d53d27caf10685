"""The identity of a configuration: when two of them are of one run, said once.

The identity of a configuration is its options without the free ones, and the fingerprint of its
corpus. Two configurations that both record what options of reading were resolved to are compared by
that, so that a release with other defaults does not pass for the same. Versions and instruction set are
recorded beside it but are no part of it: a run may go on under a newer release, in distribution if not
in bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

from pysgrld.errors import plural
from pysgrld.options.common import spelled
from pysgrld.run import jsonio

#: What runs did that are older than the option: there it says nothing, and they go on.
IMPLIED = {
    "chain-id": 1,
    "document-is": "auto",
    "boundary": "reflect",
    "encoding": "utf-8",
    "keep-text": "auto",
    "top-word-samples": 0,
}

#: The free options that say how far a run goes.
BUDGET = ("epochs", "iterations")


class Identity(NamedTuple):
    """Options and corpus that must not change: ``{"--seed": 1, "corpus": "...", ...}``, no None."""

    fields: dict[str, Any]

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the fields."""
        return hashlib.sha256(jsonio.pretty(self.fields)).hexdigest()


def long_name(option: str) -> str:
    """Spell an option as it is typed: ``eval_every`` and ``eval-every`` are one."""
    return option.replace("_", "-")


def identity(
    config: Mapping[str, Any],
    free: Iterable[str] | None = None,
    resolved: Mapping[str, Any] | None = None,
) -> Identity:
    """Return the identity of a configuration.

    Parameters
    ----------
    config : mapping
        As in ``config.json``.
    free : iterable of str, optional
        Options to leave out; by default what the configuration itself lists under ``free``, which
        every release has written; nothing is free of a configuration without it.
    resolved : mapping, optional
        Values that take the place of options.
    """
    if free is None:
        free = config.get("free", ())
    left_out = {long_name(name) for name in free}
    options = {**config.get("options", {}), **(resolved or {})}
    fields = {
        f"--{long_name(name)}": value
        for name, value in options.items()
        if long_name(name) not in left_out
    }
    fields["corpus"] = (config.get("corpus") or {}).get("fingerprint")
    # An option that is not there is one that is none: runs older than the option go on.
    fields = {
        name: value
        for name, value in fields.items()
        if value is not None and value != IMPLIED.get(name.removeprefix("--"))
    }
    return Identity(jsonio.plain(fields, where="options"))


def identities(
    old: Mapping[str, Any], new: Mapping[str, Any], free: Iterable[str], older: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of a run and of what is wanted now, in a form that can be compared.

    Parameters
    ----------
    old, new : mapping
        As in ``config.json``.
    free : iterable of str
        Options to leave out.
    older : mapping
        Options that the run is older than (`older_than`).
    """
    free = tuple(free)
    had, wanted = ((c.get("corpus") or {}).get("reading") or {} for c in (old, new))
    both = had.keys() & wanted.keys()
    return (
        identity(old, free, {name: had[name] for name in both}).fields,
        identity(new, free, {name: wanted[name] for name in both} | dict(older)).fields,
    )


def older_than(
    run: Mapping[str, Any], wanted: Mapping[str, Any], typed: Container[str]
) -> dict[str, Any]:
    """Return the options that a run is older than, with what it did: so it goes on unless one is typed.

    Parameters
    ----------
    run, wanted : mapping
        As in ``config.json``: of the run, and of what is wanted now.
    typed : container of str
        Options that a person has given now.
    """
    known = {long_name(name) for name in run.get("options", {})}
    options = wanted.get("options", {})
    return {
        name: value
        for name, value in IMPLIED.items()
        if name not in known and name not in typed and options.get(name) is not None
    }


def _is_list_of_words(value: Any) -> bool:
    """Return whether a value is the record of a list of stop words; anything may have been put there."""
    kinds = {"name": str, "words": int, "sha256": str}
    return isinstance(value, dict) and all(isinstance(value.get(n), k) for n, k in kinds.items())


def _show(fields: Mapping[str, Any], name: str) -> str:
    value = spelled(name, fields.get(name, IMPLIED.get(name.removeprefix("--"), "none")))
    if not isinstance(value, list) or not all(map(_is_list_of_words, value)):
        return str(value)
    named = [f"{p['name']} ({plural(p['words'], 'word')}, {p['sha256'][:8]})" for p in value]
    return ", ".join(named) or "none"


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return a line ``name: old -> new`` for every field that differs, sorted by name."""
    return [
        f"{name}: {_show(old, name)} -> {_show(new, name)}"
        for name in sorted({*old, *new})
        if name not in old or name not in new or old[name] != new[name]
    ]


def mismatch(summary: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return a message of one summary line, then one line for each difference."""
    return "\n".join([summary, *(f"  {line}" for line in differences(old, new))])
