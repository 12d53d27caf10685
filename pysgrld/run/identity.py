"""Identity of a configuration: configurations with the same identity describe the same run.

The identity consists of all options except the free ones, and of the fingerprint of the corpus.
Reading options are compared by their resolved values, so that a release with other defaults counts
as different. Versions and instruction set are recorded too, but are not part of the identity: a run
may continue under a newer release, with results that are the same in distribution but not in bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pysgrld.errors import plural
from pysgrld.options.common import format_value
from pysgrld.options.spelling import BUILT_IN
from pysgrld.run import jsonio

#: Options for reading texts that older releases did not record, each with the value that these
#: releases used.
UNSAID = {"numbers": "keep"}
#: Options that limit a run's length, which may change when the run is resumed.
BUDGET = ("epochs", "iterations", "exact-sweeps")


class Identity(NamedTuple):
    """Parts of a configuration that must not change, by name, for example ``{"--seed": 1}``."""

    fields: dict[str, Any]

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the identity's fields."""
        return hashlib.sha256(jsonio.pretty(self.fields)).hexdigest()


def identity(
    config: Mapping[str, Any],
    free: Iterable[str] | None = None,
    resolved: Mapping[str, Any] | None = None,
) -> Identity:
    """Return the part of a configuration that must not change during a run.

    Parameters
    ----------
    config : mapping
        As in ``config.json``.
    free : iterable of str, optional
        Options to leave out; by default the options that the configuration lists under ``free``.
    resolved : mapping, optional
        Values that replace the values of options.
    """
    left_out = set(config.get("free", ()) if free is None else free)
    options = {**config.get("options", {}), **(resolved or {})}
    fields = {name: value for name, value in options.items() if name not in left_out}
    fields["corpus"] = (config.get("corpus") or {}).get("fingerprint")
    fields["from"] = (config.get("parent") or {}).get("digest")
    # An option with the value None is equivalent to a missing option.
    fields = {name: value for name, value in fields.items() if value is not None}
    return Identity(jsonio.plain(fields, where="options"))


def identities(
    old: Mapping[str, Any], new: Mapping[str, Any], free: Iterable[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the identity fields of a stored and of a requested configuration, for comparison.

    Parameters
    ----------
    old, new : mapping
        As in ``config.json``.
    free : iterable of str
        Options to leave out.

    Returns
    -------
    (dict[str, object], dict[str, object])
        Fields of the stored and of the requested configuration, by name.
    """
    free = tuple(free)
    stored, requested = ((c.get("corpus") or {}).get("reading") or {} for c in (old, new))
    if "token-pattern" in stored:
        stored = UNSAID | stored
    shared = stored.keys() & requested.keys()
    if all(str(r.get("token-pattern")).startswith(BUILT_IN) for r in (stored, requested)):
        shared -= {"token-pattern"}
    return (
        identity(old, free, {name: stored[name] for name in shared}).fields,
        identity(new, free, {name: requested[name] for name in shared}).fields,
    )


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return lines ``name: old -> new``, sorted by name, for fields that differ in two records."""
    lines = []
    # The types are checked, because a damaged record may have any values.
    kinds = {"name": str, "words": int, "sha256": str}
    for name in sorted({*old, *new}):
        if name in old and name in new and old[name] == new[name]:
            continue
        shown = []
        for fields in (old, new):
            value = format_value(name, fields.get(name, "none"))
            # A record of stop-word lists has a dictionary with these keys for each list.
            if isinstance(value, list) and all(
                isinstance(part, dict) and all(isinstance(part.get(n), k) for n, k in kinds.items())
                for part in value
            ):
                named = [
                    f"{p['name']} ({plural(p['words'], 'word')}, {p['sha256'][:8]})" for p in value
                ]
                value = ", ".join(named) or "none"
            shown.append(str(value))
        lines.append(f"{name}: {' -> '.join(shown)}")
    return lines


def mismatch(summary: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return a message: a summary line, and a line for each field that differs.

    Parameters
    ----------
    summary : str
        The first line.
    old : mapping
        As `identities` returns it.
    new : mapping
        As `identities` returns it.

    Returns
    -------
    str
        The lines of the message, with line ends between them.
    """
    return "\n".join([summary, *(f"  {line}" for line in differences(old, new))])
