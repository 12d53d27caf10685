"""Values of options that the user has not set, computed from the corpus by fixed rules.

docs/choosing-a-sampler.md has the rule and its reasons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pysgrld.evaluate import visits
from pysgrld.evaluate.held_out import HeldOut
from pysgrld.evaluate.reader import FRESH_SWEEPS, FURTHER_SWEEPS
from pysgrld.models.options import OPTIONS, preset_defaults, select_sampler_and_model
from pysgrld.models.short_chain_number import affordable_starts
from pysgrld.models.table import find_model
from pysgrld.options.option import Facts, Resolved
from pysgrld.options.priors import lowest_eta
from pysgrld.samplers import SAMPLERS, SamplerFacts

#: Scoring with new Gibbs chains takes this many times as long as scoring with chains that continue.
AFRESH = FRESH_SWEEPS // FURTHER_SWEEPS
#: Number of documents of a stream that are held for shuffling, which takes a few megabytes and
#: seconds.
SHUFFLE_BUFFER = 10_000
#: If a run stores fewer complete samples than this, it also stores samples of top words only.
FEW = 40


class Resolution(NamedTuple):
    """Result of `resolve`: the values of all options, and which of them are defaults.

    Attributes
    ----------
    options : Resolved
        Resolved options, of the model's own class.
    defaults : list of str
        Names of the options that neither the user nor a preset has set, sorted.
    """

    options: Resolved
    defaults: list[str]


def resolve(user_values: Mapping[str, Any], facts: Facts) -> Resolution:
    """Return the values of all options, with defaults for options that the user has not set.

    No value depends on the budget, the clock or the number of threads, because a longer run must
    begin with the same iterations as a shorter run.

    Parameters
    ----------
    user_values : mapping
        Options that were given, parsed (see `pysgrld.models.options`).
    facts : Facts

    Raises
    ------
    UsageError
        If an option cannot be combined with such a corpus or prior.
    """
    preset = preset_defaults(user_values.get("preset"), user_values.get("algo"))
    sampler, model = select_sampler_and_model(user_values)
    value: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}
    value |= {**preset, **user_values, "algo": sampler.name, "model": model.name}
    user_set = frozenset({*preset, *user_values})
    model.resolve(value, user_set, facts, whole_corpus=sampler.whole_corpus)
    k = model.expected_topics or int(value["topics"])
    d, whole = facts.documents, sampler.whole_corpus
    # A minibatch has fewer documents than usual if it would exceed a quarter of the corpus or
    # 80,000 tokens, and more documents than usual if documents are short.
    long_ones = 80_000 * d // max(1, facts.tokens)
    short_ones = int(model.minibatch_tokens / facts.length) if sampler.draws else 0
    usually = max(model.minibatch, short_ones)
    chosen = value["minibatch"] is None
    rules: dict[str, Any] = {
        "minibatch": d if whole else min(usually, -(-d // 4), max(16, long_ones)),
        "kept-sweeps": 1 if whole else value["sweeps"] - value["sweeps"] // 2,
        "shuffle-buffer": SHUFFLE_BUFFER if value["corpus-size"] else None,
        "counts": "sampled" if whole else "rao-blackwell",
    }
    value |= {name: rule for name, rule in rules.items() if value[name] is None}
    value["minibatch"] = min(value["minibatch"], d)

    def known(minibatch: int) -> SamplerFacts:
        return SamplerFacts(
            documents=d,
            tokens=facts.tokens,
            length=facts.length,
            words=facts.words,
            minibatch=minibatch,
            topics=k,
            eta=lowest_eta(value["eta"]),
            warm_up=0,  # The warm-up is not known yet.
            minibatch_words=lambda: facts.minibatch_words(minibatch, value["seed"]),
        )

    usual = known(value["minibatch"])
    chosen_settings = {name: value[name] for name in sampler.options}
    settings = sampler.resolve(chosen_settings, usual)
    if chosen and model.steps_all and sampler.draws and not (whole or settings.has_lazy_rows):
        # Enlarge the minibatch until sampling its tokens takes as long as updating all elements of
        # the topic matrix. The step size stays that of the usual minibatch.
        document_time = max(1.0, facts.tokens / d) * value["sweeps"] * TRAINING.visit(k)
        enough_documents = math.ceil(k * facts.words * TRAINING.cell / document_time)
        value["minibatch"] = max(usual.minibatch, min(enough_documents, -(-d // 4)))
        settings = sampler.resolve(chosen_settings, known(value["minibatch"]))
    per_epoch = -(-d // value["minibatch"])
    if value["warm-up"] in (None, "auto"):
        value["warm-up"] = 0 if whole or not sampler.draws else min(500, max(50, per_epoch))
    if "starts" not in user_set and (value["starts"] or 1) > 1:
        sweeps = min(value["sweeps"], model.short_sweeps)
        visited = facts.tokens * value["minibatch"] / d * sweeps
        value["starts"] = affordable_starts(
            value["starts"], visited, k * facts.words, value["warm-up"], facts.tokens
        )
    if value["burn-in"] in (None, "auto"):
        value["burn-in"] = (value["warm-up"] or 200) if sampler.draws else 0
    if not whole and value["step-size"] is None:
        usual = usual._replace(warm_up=value["warm-up"])
        value["step-size"] = sampler.default_step(usual, settings)
    if value["sample-every"] in (None, "auto"):
        # The work of a sample is compared with the work of a training iteration. If documents are
        # scored whole, only the times to sample tokens count, because updating an element of the
        # topic matrix takes much more time in training than in a sample.
        cells = 0 if model.score.whole else k * facts.rows
        tokens = facts.tokens * value["minibatch"] / d
        # If rows are lazy, a step updates only the words of its minibatch.
        read = min(tokens, facts.words / 2)
        stepped = TOUCHED * k * read if settings.has_lazy_rows else cells
        sample = Work(facts.score_visits, cells)
        # In a variational approximation, documents have no Gibbs chains that could continue.
        if not sampler.draws:
            sample = Work(AFRESH * facts.score_visits, 0)
        training = Work(tokens * value["sweeps"], stepped)
        value["sample-every"] = sample_spacing(sample, training, k, model.spacing)
    samples_on_disk = (1 << 30) // max(1, 4 * k * facts.rows)
    n_samples = value["samples"] if sampler.draws else 0
    value["samples"] = min(n_samples, max(1, samples_on_disk))
    few = value["samples"] < min(n_samples, FEW) and "top-word-samples" not in model.refuses
    if value["top-word-samples"] is None:
        value["top-word-samples"] = n_samples if few else 0
    return Resolution(
        model.options_class.from_values(value, settings), sorted(set(OPTIONS) - user_set)
    )


def restore_options(values: Mapping[str, Any]) -> Resolved:
    """Return the values of all options from the record of a run (`Resolved.plain`).

    Parameters
    ----------
    values : mapping
        Values by option name; ``model`` and ``algo`` must exist.
    """
    resolved: Resolved = find_model(values["model"]).options_class.from_values(
        values, SAMPLERS[values["algo"]].settings_class.from_values(values)
    )
    return resolved


def has_step_sizes(options: Resolved) -> bool:
    """Return True if training makes steps on minibatches, so that ``step-size`` has a value.

    Parameters
    ----------
    options : Resolved
    """
    return not SAMPLERS[options.algo].whole_corpus


#: Training takes at least this many times as long as posterior samples. Samples thus take at most
#: 1/11 of the total.
BETWEEN_SAMPLES = 10
#: Training samples at least this many times as many tokens as are sampled to score current topics.
BETWEEN_LOOKS = 40
#: Nanoseconds to sample a token, excluding the part that grows with the number of topics.
VISIT = 25.0
#: Cost of updating an element of a lazy row, divided by the cost in a row that is not lazy.
TOUCHED = 2


class UnitTimes(NamedTuple):
    """Nanoseconds per topic to sample a token, and nanoseconds to update an element of the topics.

    Attributes
    ----------
    topic : float
        For each topic when a token is sampled, in addition to `VISIT`. Work outside the sweeps adds
        to this time if sweeps are few.
    cell : float
        For each element of the topic matrix.
    """

    topic: float
    cell: float

    def visit(self, topics: int) -> float:
        """Return the nanoseconds to sample the topic of one token, among ``topics`` topics."""
        return VISIT + self.topic * topics


#: Times of the units of work in an iteration of training.
TRAINING = UnitTimes(0.05, 2.5)
#: Times of the units of work for a posterior sample, whose elements are averaged and written.
SAMPLE = UnitTimes(0.07, 9.0)


class Work(NamedTuple):
    """Work of one iteration or one score: tokens sampled, and elements of topics updated.

    Attributes
    ----------
    visits : float
        Number of times that a token is sampled.
    cells : float
        Number of elements of the topic matrix, K times words, that are updated or stored.
    """

    visits: float
    cells: float


def sample_spacing(sample: Work, iteration: Work, topics: int, least: int) -> int:
    """Return the number of iterations between posterior samples.

    Parameters
    ----------
    sample, iteration : Work
    topics : int
        K.
    least : int
        Minimum spacing, used if a sample costs nothing.
    """
    # Compute the times of a sample and of an iteration, in nanoseconds on one thread.
    taken, between = (
        max(1.0, work.visits * unit.visit(topics) + work.cells * unit.cell)
        for work, unit in ((sample, SAMPLE), (iteration, TRAINING))
    )
    return max(least, math.ceil(BETWEEN_SAMPLES * (taken / between)))


def score_spacing(held_out: HeldOut | None, training: float) -> int:
    """Return the minimum number of iterations between two scores of the current topics.

    Parameters
    ----------
    held_out : HeldOut or None
        Documents with chains that start afresh at every evaluation.
    training : float
        Number of times that a token is sampled in an iteration; other work is ignored.
    """
    return math.ceil(BETWEEN_LOOKS * visits(held_out, FRESH_SWEEPS) / max(training, 1.0))
