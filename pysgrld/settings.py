"""Defaults that depend on the corpus: one rule for every corpus, resolved to plain values.

The rule, and why, is in docs/choosing-a-sampler.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pysgrld.options import OPTIONS, PRESETS


class Facts(NamedTuple):
    """What the rule looks at.

    Attributes
    ----------
    documents : int
        Training documents D.
    words : int
        Vocabulary V.
    tokens : int
        Training tokens.
    score_visits : int
        Token visits of one update of the running perplexity (0 without held-out documents).
    """

    documents: int
    words: int
    tokens: int
    score_visits: int


def resolve(given: Mapping[str, Any], facts: Facts) -> tuple[dict[str, Any], list[str]]:
    """Every option resolved to a plain value, and the names of those left at their default.

    Nothing here may depend on the budget, the clock or the number of threads: a longer run must
    begin with the shorter one.

    Parameters
    ----------
    given : mapping
        Options that were given, parsed (see `pysgrld.options`).
    facts : Facts
    """
    preset = PRESETS.get(given.get("preset", ""), {})
    value: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}
    value.update(preset)
    value.update(given)
    full = value["algo"] == "gibbs"
    d, k = facts.documents, value["topics"]

    def default(name: str, rule: Any) -> None:
        if value[name] is None:
            value[name] = rule

    default("alpha", min(0.1, 5.0 / k))
    default("minibatch", d if full else min(500, -(-d // 4)))
    value["minibatch"] = min(value["minibatch"], d)
    default("sweeps", 1 if full else 10)
    default("counts", "sampled" if full else "rao-blackwell")
    default("warm-up", "auto")
    per_epoch = -(-d // value["minibatch"])
    if value["warm-up"] == "auto":
        value["warm-up"] = 0 if full else min(500, max(50, per_epoch))
    default("burn-in", "auto")
    if value["burn-in"] == "auto":
        value["burn-in"] = value["warm-up"] or 200
    if value["step-size"] is None and not full:
        value["step-size"] = _step_size(value["algo"], d, value["minibatch"], value["warm-up"] > 0)
    default("sample-every", "auto")
    if value["sample-every"] == "auto":
        visits = facts.tokens * value["minibatch"] / d * value["sweeps"]
        value["sample-every"] = max(5, math.ceil(facts.score_visits / max(visits, 1.0)))
    kept = (1 << 30) // max(1, 4 * k * facts.words)
    value["samples"] = min(value["samples"], max(1, kept)) if value["samples"] else 0
    if value["step-size"] is not None:
        value["step-size"] = list(value["step-size"])
    defaults = sorted(name for name in value if name not in given and name not in preset)
    return value, defaults


def _step_size(algo: str, d: int, b: int, warmed: bool) -> tuple[float, float, float]:
    if algo == "scir":
        return (min(1.0, max(7.0 * b / d, 0.02)), 1.0, 0.0)
    return (0.002, 1.0, 0.0) if warmed else (0.01, 1000.0, 0.6)
