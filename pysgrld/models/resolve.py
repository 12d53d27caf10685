"""Defaults that depend on the corpus: one rule for every corpus, resolved to plain values.

The rule, and why, is in docs/choosing-a-sampler.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pysgrld.errors import UsageError
from pysgrld.evaluate.lengths import FRESH_SWEEPS
from pysgrld.evaluate.sweeps import FURTHER_SWEEPS
from pysgrld.models.check import kind_of, preset_of
from pysgrld.models.eta import lowest_eta
from pysgrld.models.options import OPTIONS
from pysgrld.models.sample_spacing import TOUCHED, Work, sample_spacing
from pysgrld.options.facts import Facts
from pysgrld.options.resolved import Resolved
from pysgrld.samplers import Sampler, StepFacts
from pysgrld.samplers.precision import DENSE, FLOAT_ETA

#: Cost of scoring with documents sampled afresh, in units of a score that continues their chains.
AFRESH = FRESH_SWEEPS // FURTHER_SWEEPS
#: Documents of a stream that are held for shuffling: a few megabytes, some seconds of reading.
SHUFFLE_BUFFER = 10_000
#: Where fewer full samples than this fit on disk, slim ones are kept beside them.
FEW = 40
#: Rows are lazy where the vocabulary has this many times the distinct words of a minibatch.
LAZY_FROM = 2.0
#: Lazy rows also need the expected mass of a topic, V eta + N/K, to be so many times `DENSE`.
LAZY_SCALE = 5.0


class Resolution(NamedTuple):
    """The outcome of `resolve`: options for one corpus, and which of them are defaults.

    Attributes
    ----------
    options : Resolved
        Resolved options, of the model's own class.
    defaults : list of str
        Names of those that neither a person nor a preset has said, sorted.
    """

    options: Resolved
    defaults: list[str]


def resolve(given: Mapping[str, Any], facts: Facts) -> Resolution:
    """Resolve every option to a plain value.

    Nothing here depends on the budget, the clock or the number of threads: a longer run must begin
    with the shorter one.

    Parameters
    ----------
    given : mapping
        Options that were given, parsed (see `pysgrld.models.options`).
    facts : Facts

    Raises
    ------
    UsageError
        If rows shall be lazy that cannot be.
    """
    preset = preset_of(given)
    sampler, model = kind_of(given)
    value: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}
    value |= {**preset, **given, "algo": sampler.name, "model": model.name}
    said = frozenset({*preset, *given})
    model.settle(value, said, facts, whole_corpus=sampler.whole_corpus)
    k = model.expected_topics(value)
    if value["cir-rate"] == "paper":  # as in runs older than the option
        value["cir-rate"] = None

    def default(name: str, rule: Any) -> None:
        if value[name] is None:
            value[name] = rule

    d, whole = facts.documents, sampler.whole_corpus
    default("minibatch", d if whole else _minibatch(facts, model.minibatch))
    value["minibatch"] = min(value["minibatch"], d)
    default("kept-sweeps", 1 if whole else value["sweeps"] - value["sweeps"] // 2)
    default("shuffle-buffer", SHUFFLE_BUFFER if value["corpus-size"] else None)
    default("counts", "sampled" if whole else "rao-blackwell")
    default("boundary", "clip" if "boundary" in sampler.own else None)
    per_epoch = -(-d // value["minibatch"])
    if value["warm-up"] in (None, "auto"):
        value["warm-up"] = 0 if whole or not sampler.draws else min(500, max(50, per_epoch))
    if value["burn-in"] in (None, "auto"):
        value["burn-in"] = (value["warm-up"] or 200) if sampler.draws else 0
    if not whole and value["step-size"] is None:
        value["step-size"] = sampler.default_step(_step_facts(value, k, facts))
    value["lazy"] = _lazy(value, sampler, k, facts)
    if value["sample-every"] in (None, "auto"):
        # where documents are scored whole, an iteration costs far more a cell than a sample does
        cells = 0 if model.score.whole else k * facts.words
        value["sample-every"] = _spacing(value, sampler, k, cells, facts, model.spacing)
    kept = (1 << 30) // max(1, 4 * k * facts.words)
    asked = value["samples"] if sampler.draws else 0
    value["samples"] = min(asked, max(1, kept))
    few = value["samples"] < min(asked, FEW) and "top-word-samples" not in model.refuses
    default("top-word-samples", asked if few else 0)
    return Resolution(model.resolved.of(value), sorted(set(OPTIONS) - said))


def _spacing(
    value: Mapping[str, Any], sampler: Sampler, k: int, cells: int, facts: Facts, least: int
) -> int:
    """Give the iterations between posterior samples, of options that are resolved but for it."""
    tokens = facts.tokens * value["minibatch"] / facts.documents
    touched = TOUCHED * k * min(tokens, facts.words / LAZY_FROM)
    iteration = Work(tokens * value["sweeps"], touched if value["lazy"] == "on" else cells)
    sample = Work(facts.score_visits, cells)
    if not sampler.draws:  # documents have no chains that go on, and nothing is kept
        sample = Work(AFRESH * facts.score_visits, 0)
    return sample_spacing(sample, iteration, k, least)


def _step_facts(value: Mapping[str, Any], k: int, facts: Facts) -> StepFacts:
    """Give what the default step of a sampler depends on."""
    return StepFacts(
        facts.documents,
        facts.tokens,
        facts.words,
        value["minibatch"],
        k,
        lowest_eta(value["eta"]),
        value["warm-up"],
        value["cir-rate"] == "natural",
    )


def _minibatch(facts: Facts, most: int) -> int:
    """Give so many documents, fewer where that is a quarter of the corpus or 80,000 tokens."""
    long_ones = 80_000 * facts.documents // max(1, facts.tokens)
    return min(most, -(-facts.documents // 4), max(16, long_ones))


def _lazy(value: Mapping[str, Any], sampler: Sampler, k: int, facts: Facts) -> str:
    """Say whether rows are lazy, on or off: a rule on counts of words, never on the clock."""
    wanted: str = value["lazy"]
    eta = lowest_eta(value["eta"])
    natural = value["cir-rate"] == "natural"
    if wanted == "on":
        _check_lazy(sampler, eta, natural=natural)
    if wanted != "auto":
        return wanted
    if natural or not sampler.composes or eta < FLOAT_ETA:
        return "off"
    # while a topic is small all rows are stepped: nothing would be saved
    if facts.words * eta + facts.tokens / k < LAZY_SCALE * DENSE:
        return "off"
    words = facts.minibatch_words(value["minibatch"], value["seed"])
    return "on" if facts.words >= LAZY_FROM * words else "off"


def _check_lazy(sampler: Sampler, eta: float, *, natural: bool) -> None:
    """Refuse lazy rows where transitions do not compose, or rows are logarithms.

    Raises
    ------
    UsageError
    """
    if not sampler.composes:
        raise UsageError(f"--lazy has no meaning for --algo {sampler.name}: leave it out")
    if natural:
        raise UsageError(
            "--lazy on has no meaning for --cir-rate natural, whose steps do not add up: leave it out"
        )
    if eta < FLOAT_ETA:
        raise UsageError(
            f"--lazy on needs --eta of at least {FLOAT_ETA}, found {eta:g}: below it all rows are "
            "stepped, as logarithms"
        )
