"""Defaults that depend on the corpus: one rule for every corpus, resolved to plain values.

The rule, and why, is in docs/choosing-a-sampler.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pysgrld.errors import UsageError
from pysgrld.options import DEEP, ONLY, OPTIONS, VARIATIONAL, kind_of, preset_of
from pysgrld.samplers import DENSE, FLOAT_ETA, SAMPLERS

#: Topics where none are asked for.
TOPICS = 100
#: Sweeps of documents at a visit, of LDA and of a deep model.
SWEEPS, DEEP_SWEEPS = 10, 30
#: Passes over a document at most, of variational Bayes; it converges before as a rule.
PASSES = 100
#: What scoring costs from the documents' start, in scores that go on from the last one.
FRESH = 25
#: Sweeps that the authors of deep LDA have for each layer, and those that they count.
PUBLISHED_SWEEPS, PUBLISHED_KEPT = 30, 10
#: Documents of a minibatch of each model.
MINIBATCH = {"lda": 400, "dlda": 200, "dpmm": 1000}
#: Iterations between samples, at least, of LDA and of a deep model.
SPACING, DEEP_SPACING = 5, 2
#: Documents of a stream that are held for shuffling: a few megabytes, some seconds of reading.
SHUFFLE_BUFFER = 10_000
#: Prior of a mixture's components, and components that are expected where memory is planned.
MIXTURE_ETA, MIXTURE_TOPICS = 0.5, 64
#: First steps of a mixture's components and sticks, for samplers that have any.
MIXTURE_STEPS = {"scir": (0.1, 0.1), "sgrld": (0.001, 0.005)}
#: Rows are lazy where the vocabulary has this many times the distinct words of a minibatch.
LAZY_FROM = 2.0
#: And where a topic is expected to be so many times above the mass at which rows are lazy at all.
LAZY_SCALE = 5.0


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
    minibatch_words : callable (size, seed) -> int
        Distinct words of the first minibatch, which stands for all of them.
    """

    documents: int
    words: int
    tokens: int
    score_visits: int
    minibatch_words: Callable[[int, int], int]


def resolve(given: Mapping[str, Any], facts: Facts) -> tuple[dict[str, Any], list[str]]:
    """Every option resolved to a plain value, and the names of those left at their default.

    Nothing here may depend on the budget, the clock or the number of threads: a longer run must
    begin with the shorter one.

    Parameters
    ----------
    given : mapping
        Options that were given, parsed (see `pysgrld.options`).
    facts : Facts

    Raises
    ------
    UsageError
        If rows shall be lazy that cannot be.
    """
    preset = preset_of(given)
    value: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}
    value.update(preset)
    value.update(given)
    value["algo"], value["model"] = kind_of(given)
    sampler = SAMPLERS[value["algo"]]
    deep, full, draws = value["model"] == "dlda", sampler.full_batch, sampler.draws
    if deep:
        if given.get("topics"):
            value["layers"] = (given["topics"],)
        value["layers"] = list(value["layers"] or (TOPICS,))
        value["topics"] = value["layers"][0]
        depth = len(value["layers"])
        eta = _each(value["eta"])
        value["eta"] = list(eta if len(eta) == depth else eta[:1] * depth)
    else:
        value["topics"] = value["topics"] or TOPICS
        value["eta"] = _each(value["eta"])[0]
    value |= {name: None for name, model in ONLY.items() if model != value["model"]}
    if value["model"] == "dpmm":
        value |= _mixture(value, {*given, *preset})
    if value["cir-rate"] == "paper":  # as in runs older than the option
        value["cir-rate"] = None
    d, k = facts.documents, value["topics"] or MIXTURE_TOPICS

    def default(name: str, rule: Any) -> None:
        if value[name] is None:
            value[name] = rule

    if value["model"] == "lda":
        default("alpha", min(0.1, 5.0 / k))
    default("minibatch", d if full else _minibatch(facts, MINIBATCH[value["model"]]))
    value["minibatch"] = min(value["minibatch"], d)
    if preset and deep and not full and "sweeps" not in given:
        default("sweeps", PUBLISHED_SWEEPS * len(value["layers"]))
        default("kept-sweeps", PUBLISHED_KEPT * len(value["layers"]))
    fitted = PASSES if value["algo"] == "ovb" else SWEEPS
    default("sweeps", 1 if full else DEEP_SWEEPS if deep else fitted)
    default("kept-sweeps", 1 if full else value["sweeps"] - value["sweeps"] // 2)
    default("shuffle-buffer", SHUFFLE_BUFFER if value["corpus-size"] else None)
    default("counts", "sampled" if full else "rao-blackwell")
    default("warm-up", "auto")
    per_epoch = -(-d // value["minibatch"])
    if value["warm-up"] == "auto":
        value["warm-up"] = 0 if full or not draws else min(500, max(50, per_epoch))
    default("burn-in", "auto")
    if value["burn-in"] == "auto":
        value["burn-in"] = (value["warm-up"] or 200) if draws else 0
    if value["step-size"] is None and not full:
        value["step-size"] = _step_size(value, facts)
    default("sample-every", "auto")
    if value["sample-every"] == "auto":
        visits = facts.tokens * value["minibatch"] / d * value["sweeps"]
        spacing = DEEP_SPACING if deep else SPACING
        # an approximation has no chains of documents that go on: each score starts them afresh
        score = facts.score_visits * (1 if draws else FRESH)
        value["sample-every"] = max(spacing, math.ceil(score / max(visits, 1.0)))
    value["lazy"] = _lazy(value, facts)
    kept = (1 << 30) // max(1, 4 * k * facts.words)
    value["samples"] = min(value["samples"], max(1, kept)) if value["samples"] and draws else 0
    value = {n: list(v) if isinstance(v, tuple) else v for n, v in value.items()}
    defaults = sorted(name for name in value if name not in given and name not in preset)
    return value, defaults


def _mixture(value: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """What is of mixtures; ``known`` are the options that a person or a preset has said."""
    own: dict[str, Any] = {
        "topics": None, "sweeps": 1, "kept-sweeps": 1, "counts": "sampled", "warm-up": 0,
        "lazy": "off", "scale-weight": None, "observed": None,
    }  # fmt: skip
    if "eta" not in known:
        own["eta"] = MIXTURE_ETA
    if steps := MIXTURE_STEPS.get(value["algo"]):
        own["step-size"] = value["step-size"] or (steps[0], 1.0, 0.0)
        own["dp-stick-step"] = value["dp-stick-step"] or steps[1]
    return own


def _minibatch(facts: Facts, most: int) -> int:
    """So many documents, fewer where that is a quarter of the corpus or they hold 80,000 tokens."""
    long_ones = 80_000 * facts.documents // max(1, facts.tokens)
    return min(most, -(-facts.documents // 4), max(16, long_ones))


def _lazy(value: Mapping[str, Any], facts: Facts) -> str:
    """Whether rows are lazy, on or off: a rule on counts of words, never on the clock."""
    wanted: str = value["lazy"]
    composes, rows = (
        SAMPLERS[value["algo"]].catch_up is not None,
        _lowest(value["eta"]) >= FLOAT_ETA,
    )
    if wanted == "on" and not composes:
        raise UsageError(f"--lazy has no meaning for --algo {value['algo']}: leave it out")
    natural = value["cir-rate"] == "natural"
    if wanted == "on" and natural:
        raise UsageError(
            "--lazy on has no meaning for --cir-rate natural, whose steps do not add up: leave it out"
        )
    if wanted == "on" and not rows:
        raise UsageError(
            f"--lazy on needs --eta of at least {FLOAT_ETA}, found {_lowest(value['eta']):g}: below "
            "it all rows are stepped, as logarithms"
        )
    if wanted != "auto":
        return wanted
    if natural or not (composes and rows):
        return "off"
    # while a topic is small all rows are stepped: nothing would be saved
    expected = facts.words * _lowest(value["eta"]) + facts.tokens / value["topics"]
    if expected < LAZY_SCALE * DENSE:
        return "off"
    words = facts.minibatch_words(value["minibatch"], value["seed"])
    return "on" if facts.words >= LAZY_FROM * words else "off"


def _step_size(value: Mapping[str, Any], facts: Facts) -> tuple[float, float, float]:
    algo, b, d = value["algo"], value["minibatch"], facts.documents
    if algo == "scir":
        h = min(1.0, max(10.0 * b / d, 0.02))
        if value["cir-rate"] == "natural":  # as far in phi
            h /= 1.0 + facts.tokens / (value["topics"] * facts.words * _lowest(value["eta"]))
        return (h, 1.0, 0.0)
    if algo in VARIATIONAL:  # rho_t = (1024 + 1 + t)^-0.7 (Hoffman et al. 2010)
        return (1025.0**-0.7, 1025.0, 0.7)
    if algo in DEEP:  # small steps: reflection at 0 puts V h / M_k on words that nobody uses
        return (0.02, 1.0, 0.0) if value["warm-up"] > 0 else (1.0, 21.0, 0.7)
    if algo in ("smld", "smld-approx"):  # stable (Hsieh et al. 2018, the dual's curvature)
        eta = _lowest(value["eta"])
        return (min(0.5 / (facts.words * eta + facts.tokens / value["topics"]), 0.01), 1000.0, 0.55)
    return (0.002, 1.0, 0.0) if value["warm-up"] > 0 else (0.01, 1000.0, 0.6)


def _each(eta: float | Sequence[float]) -> tuple[float, ...]:
    """One number, or one for each layer."""
    return (eta,) if isinstance(eta, (int, float)) else tuple(eta)


def _lowest(eta: float | list[float]) -> float:
    """Prior of the topics over words."""
    return eta[0] if isinstance(eta, list) else eta
