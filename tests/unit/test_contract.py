"""What every model promises with every sampler that it takes: found in the tables, not listed.

A new model, or a new sampler, is tested by having a row.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.corpus.minibatches import Epochs, choose_documents
from pysgrld.errors import CheckpointError, UsageError
from pysgrld.evaluate import Estimate
from pysgrld.evaluate.score import pooled_score
from pysgrld.models.options import (
    OPTIONS,
    PRESETS,
    check_usage,
    option_text,
    select_sampler_and_model,
)
from pysgrld.models.protocol import CorpusFacts, Extent, RunOn
from pysgrld.models.resolve import resolve, restore_options
from pysgrld.models.table import MODELS, all_models, find_model
from pysgrld.options.option import Facts, Resolved, option_name
from pysgrld.run.tensors import required, violation
from pysgrld.samplers import SAMPLERS
from pysgrld.train.begin import begin
from pysgrld.types import Documents, Key, Slicing

WORDS = 40
PAIRS = [(m.name, algo) for m in all_models() for algo in m.algorithms]
#: Settings of a small run; those that a pair has no use for are left out.
SMALL = {
    "topics": 5,
    "minibatch": 20,
    "sweeps": 2,
    "warm-up": 1,
    "burn-in": 1,
    "sample-every": 1,
    "samples": 10,
    "seed": 3,
}

pairs = pytest.mark.parametrize(("name", "algo"), PAIRS, ids=lambda part: part)


def corpus():
    rng = np.random.default_rng(0)
    indptr, indices, counts = [0], [], []
    for d in range(60):
        weights = np.ones(WORDS)
        weights[(d % 4) * 10 : (d % 4) * 10 + 10] = 20.0
        found = rng.multinomial(int(rng.integers(5, 40)), weights / weights.sum())
        indices += np.flatnonzero(found).tolist()
        counts += found[found > 0].tolist()
        indptr.append(len(indices))
    return Documents(
        np.array(indptr, np.int64), np.array(indices, np.int32), np.array(counts, np.int32)
    )


CORPUS = corpus()
HELD = choose_documents(len(CORPUS), 8, Key(0, 0, 0))
TRAIN = np.setdiff1d(np.arange(len(CORPUS)), HELD)
TOKENS = int(CORPUS.lengths[TRAIN].sum())
FACTS = Facts(len(TRAIN), WORDS, TOKENS, 100, lambda *_: WORDS)


def facts_of(name, facts=FACTS):
    """Facts of the corpus, which has slices of time for a model that needs some."""
    if "time" not in find_model(name).needs:
        return facts
    slicing = Slicing("when", ("early", "middle", "late"), (0.0, 1.0, 2.0))
    return facts._replace(slicing=slicing, slice_tokens=(1, 2, 3))


def corpus_of(name, documents=CORPUS):
    """The corpus, in slices of time for a model that needs some."""
    if "time" not in find_model(name).needs:
        return documents
    return replace(documents, slices=np.arange(len(documents), dtype=np.int32) % 3, copies=3)


def settings(name, algo, facts=FACTS):
    """Options of a small run of this pair: those of `SMALL` that it has a use for."""
    kind = {"model": name, "algo": algo} | dict.fromkeys(find_model(name).needs, "when")
    given = dict(kind)
    for option, value in SMALL.items():
        try:
            check_usage(kind | {option: value})
        except UsageError:
            continue
        given[option] = value
    return resolve(given, facts_of(name, facts)).options


def started(name, algo, threads=1):
    options = settings(name, algo)
    documents = corpus_of(name)
    held_out = find_model(name).hold_out(documents.take(HELD), HELD, 0.5, 0)
    stream = Epochs.of(options, documents, TRAIN)
    return begin(options, stream, CorpusFacts(WORDS, TOKENS), RunOn(threads), held_out)


def advanced(posterior, steps):
    for _ in range(steps):
        posterior.chain.advance()
        if posterior.is_due:
            posterior.take_sample()
    return posterior


@cache
def trained(name, algo):
    """A run of thirty iterations, which tests look at and do not advance."""
    return advanced(started(name, algo), 30)


def state(posterior):
    arrays = posterior.chain.arrays() | posterior.arrays()
    return {name: (a.dtype, a.shape, a.tobytes()) for name, a in arrays.items()}


@pairs
def test_a_chain_that_was_stored_goes_on_as_if_it_had_not_been(name, algo):
    """Red with: a sampler whose `arrays` leave out its running scales."""
    whole = advanced(started(name, algo), 6)
    stopped = advanced(started(name, algo), 3)
    stored = {n: a.copy() for n, a in (stopped.chain.arrays() | stopped.arrays()).items()}
    again = started(name, algo)
    again.chain.restore(3, stored)
    again.restore(stored)
    assert state(again) == state(stopped)
    assert state(advanced(again, 3)) == state(whole)


@pairs
def test_threads_do_not_change_a_bit(name, algo):
    assert state(advanced(started(name, algo, 4), 4)) == state(advanced(started(name, algo, 1), 4))


@pairs
def test_looking_does_not_change_the_chain(name, algo):
    looked, left = (advanced(started(name, algo), 3) for _ in range(2))
    looked.chain.draw()
    looked.chain.sample()
    looked.chain.metrics()
    looked.point()
    assert state(looked) == state(left)


@pairs
def test_samples_and_states_hold_what_the_family_says_of_them(name, algo):
    """Red with: a model that says nothing of its samples; rows that are not normalised."""
    chain, model = advanced(started(name, algo), 4).chain, find_model(name)
    sample, arrays = chain.sample(), chain.arrays()
    must = set(required(model.fitted.sample_invariants))
    assert must
    assert must <= set(sample)
    for found, invariants in (
        (sample, model.fitted.sample_invariants),
        (arrays, model.fitted.state_invariants),
    ):
        for array, values in found.items():
            assert violation(array, values, invariants, finite=True) is None
            if any(fnmatchcase(array, pattern) for pattern in invariants):
                broken = np.full_like(values, -2 if values.dtype.kind in "iu" else -np.inf)
                assert violation(array, broken, invariants, finite=True) is not None


@pairs
def test_scores_are_finite_and_better_than_no_model_at_all(name, algo):
    posterior = trained(name, algo)
    counts = np.bincount(CORPUS.take(TRAIN).indices, minlength=WORDS)
    assert np.isfinite(posterior.point())
    assert np.isfinite(posterior.score)
    unigram = posterior.scorer.unigram(counts)
    assert posterior.scorer.share_gained(unigram, posterior.point()) > -0.5
    for figure in (posterior.point(), posterior.average() if posterior.draws else unigram, unigram):
        assert 0 < figure.error < np.ptp(figure.influence) * len(figure.influence)
        assert len(figure.influence) == len(posterior.scorer.held_out.held_out)
        assert figure.influence.sum() == pytest.approx(0, abs=1e-9 * max(1.0, abs(figure)))


@pairs
def test_the_score_of_chains_together_is_that_of_their_mean_density(name, algo):
    """Of one chain it is its average; of two, at least as good as their logarithms are on average."""
    few = trained(name, algo)
    if not few.draws:
        return
    more = advanced(started(name, algo), 20)
    one, other = few.scorer, more.scorer
    assert pooled_score([one]) == pytest.approx(one.average(), rel=1e-12)
    assert pooled_score([one, one]) == pytest.approx(one.average(), rel=1e-12)
    both, mean = pooled_score([one, other]), Estimate.combine([one.average(), other.average()])
    assert both < mean
    assert both > mean - abs(one.average() - other.average()) - 0.05 * abs(mean)
    assert both == pooled_score([other, one])


@pairs
def test_an_array_that_is_missing_or_of_another_shape_is_named(name, algo):
    chain = advanced(started(name, algo), 2).chain
    arrays = chain.arrays()
    largest = max(arrays, key=lambda n: arrays[n].size)
    for wrong in (
        {n: a for n, a in arrays.items() if n != largest},
        arrays | {largest: arrays[largest].ravel()[:1]},
    ):
        with pytest.raises(CheckpointError, match=re.escape(largest)):
            started(name, algo).chain.restore(2, wrong)


@pairs
def test_the_memory_that_is_planned_covers_the_arrays_of_a_chain_of_long_documents(name, algo):
    """Red with: a model that forgets the topics of tokens of a whole-corpus sampler."""
    long = Documents(CORPUS.indptr, CORPUS.indices, 100 * CORPUS.counts)
    facts = FACTS._replace(tokens=100 * TOKENS)
    options = settings(name, algo, facts)
    stream = Epochs.of(options, corpus_of(name, long), TRAIN)
    chain = begin(options, stream, CorpusFacts(WORDS, facts.tokens), RunOn(1)).chain
    chain.advance()
    extent = Extent(int(np.diff(long.indptr).max()), int(long.lengths.max()), 1, None)
    planned = find_model(name).memory(options, facts_of(name, facts), extent)
    assert all(isinstance(n, int) and n >= 0 for n in planned.values()), planned
    assert sum(planned.values()) >= sum(a.nbytes for a in chain.arrays().values())


# ---- options


@pytest.mark.parametrize("name", MODELS)
def test_a_family_is_what_the_protocol_wants(name):
    model = find_model(name)
    assert model.name == name
    assert set(model.algorithms) <= set(SAMPLERS)
    assert issubclass(model.options_class, Resolved)
    assert set(model.refuses) <= set(OPTIONS) - set(model.options)
    own = {option_name(field) for field in model.options_class.__dataclass_fields__} - {"settings"}
    assert set(model.options) <= own <= set(OPTIONS)


@pytest.mark.parametrize("name", MODELS)
def test_every_option_of_a_family_is_in_the_help_and_refused_by_the_others(name):
    help_text = CliRunner().invoke(main, ["train", "--help-all"], prog_name="sgmc").output
    for option in find_model(name).options:
        assert (f" {option}=" if OPTIONS[option].setting else f"--{option} ") in help_text
        for other in [m for m in MODELS if option not in find_model(m).options]:
            value = OPTIONS[option].default
            with pytest.raises(UsageError, match=f"^{option_text(option)} does not apply to --"):
                check_usage({"model": other, option: value})


@pytest.mark.parametrize("algo", SAMPLERS)
def test_families_take_a_sampler_or_say_which_they_take(algo):
    for model in all_models():
        if algo in model.algorithms:
            check_usage({"model": model.name, "algo": algo} | dict.fromkeys(model.needs, "when"))
        else:
            with pytest.raises(UsageError, match=f"cannot sample --model {model.name}; choose"):
                check_usage({"model": model.name, "algo": algo})


@pairs
def test_resolved_options_survive_json(name, algo):
    options = settings(name, algo)
    assert restore_options(options.plain()) == options
    assert select_sampler_and_model({"model": name, "algo": algo})[1] is find_model(name)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_cannot_be_trained_without_what_it_needs(name):
    for option in find_model(name).needs:
        with pytest.raises(UsageError, match=f"--model {name} needs --{option}: "):
            check_usage({"model": name})


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_of_one_family_and_of_samplers_that_it_takes(preset):
    model = select_sampler_and_model({"preset": preset})[1]
    assert preset in model.presets
    assert set(PRESETS[preset].get("algos", {PRESETS[preset]["algo"]})) <= set(model.algorithms)


@pytest.mark.parametrize("name", ["drift", "spread"])
def test_a_standard_deviation_that_float32_takes_for_0_is_refused(name):
    """Red with: any number above 0 (70 and a traceback)."""
    with pytest.raises(UsageError, match="'1e-320' is not a number greater than 1e-06"):
        OPTIONS[name].parse("1e-320")
