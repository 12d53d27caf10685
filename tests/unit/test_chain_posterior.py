"""What is kept of a chain: which samples, their mean, when a run has settled, what is put back."""

import math
from array import array

import numpy as np
import pytest

from pysgrld.chain.posterior import SETTLED_SAMPLES, Posterior, stored_sample_numbers
from pysgrld.corpus.minibatches import Epochs, minibatch_words
from pysgrld.errors import CheckpointError
from pysgrld.evaluate import visits
from pysgrld.evaluate.held_out import split
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.models.table import find_model
from pysgrld.options.option import Facts
from pysgrld.types import Documents

WORDS, EVERYTHING = 12, np.arange(30)


def documents(seed):
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.permutation(WORDS)[:6]) for _ in EVERYTHING]
    indptr = np.arange(0, 6 * len(rows) + 1, 6, dtype=np.int64)
    counts = rng.integers(1, 4, 6 * len(rows)).astype(np.int32)
    return Documents(indptr, np.concatenate(rows).astype(np.int32), counts)


def posterior(burn_in=3, every=2, *, keep_mean=True, scored=True, algo="scir"):
    """What is kept of a new chain of three topics."""
    train, held_out = documents(1), split(documents(2), EVERYTHING, 0.8, 0)
    facts = Facts(30, WORDS, train.tokens, visits(held_out), minibatch_words(train, EVERYTHING))
    given = {"algo": algo, "topics": 3, "minibatch": 10, "warm-up": 0, "sweeps": 4}
    if algo == "ovb":
        del given["warm-up"]
    options, _ = resolve(given, facts)
    lda, stream = find_model("lda"), Epochs.of(options, train, EVERYTHING)
    chain = lda.chain(options, stream, CorpusFacts(WORDS, train.tokens), RunOn(1))
    scorer = lda.scorer(options, held_out, WORDS, 1) if scored else None
    return Posterior(chain, scorer, burn_in, every, keep_mean)


def observe(kept, iterations):
    """Advance the chain; give the topics of every sample."""
    topics = []
    for _ in range(iterations):
        kept.chain.advance()
        if kept.is_due:
            kept.take_sample()
            topics.append(kept.chain.draw()["phi"].copy())
    return topics


# ---- which samples are kept


@pytest.mark.parametrize(
    ("samples", "kept"),
    [(0, []), (1, [1]), (4, [1, 2, 3, 4]), (5, [2, 4]), (9, [2, 4, 6, 8]), (10, [4, 8])],
)
def test_every_sample_is_kept_up_to_the_limit_then_every_second(samples, kept):
    """Red with: a spacing of 3 after 2; a limit that is left at its own number of samples."""
    assert list(stored_sample_numbers(samples, 4)) == kept


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_a_sample_that_was_dropped_never_comes_back(limit):
    """Kept ones but the newest were kept before, at most the limit of them, at least half of it.

    Red with: a spacing of 3 after 2; ordinals that begin at 1.
    """
    before = set()
    for samples in range(1, 200):
        kept = set(stored_sample_numbers(samples, limit))
        assert kept <= before | {samples}
        assert len(kept) <= limit
        assert 2 * len(kept) >= min(limit, samples)
        before = kept


# ---- samples and their mean


def test_samples_are_due_after_the_burn_in_and_as_far_apart_as_asked():
    """Red with: a sample at the end of the burn-in itself."""
    kept, due = posterior(burn_in=3, every=2), []
    for _ in range(10):
        kept.chain.advance()
        due += [kept.chain.step] if kept.is_due else []
    assert due == [5, 7, 9]


def test_the_mean_is_that_of_the_topics_at_the_samples():
    """Red with: one sample more in the divisor."""
    kept = posterior()
    assert kept.mean() is None
    topics = observe(kept, 12)
    assert kept.samples == len(topics) == 4
    np.testing.assert_allclose(kept.mean()["phi"], np.mean(topics, axis=0), atol=1e-6)
    assert posterior(keep_mean=False).mean() is None


def test_without_held_out_documents_samples_have_no_score():
    kept = posterior(scored=False)
    assert len(observe(kept, 8)) == 2
    assert math.isnan(kept.score)
    assert math.isnan(kept.point())
    assert kept.convergence_scores() is None


def test_an_approximation_has_scores_and_no_samples():
    """Red with: its looks counted as samples."""
    kept = posterior(algo="ovb")
    assert len(observe(kept, 8)) == 2
    assert kept.samples == 0
    assert kept.score == pytest.approx(kept.point(), rel=0.2)
    assert kept.mean() is None


# ---- when a run has settled


def with_history(scores):
    kept = posterior(burn_in=100, every=5)
    kept._history = array("d", scores)
    return kept


def test_a_run_settles_when_the_second_half_has_gained_less_than_half_a_percent():
    """Perplexities. Red with: 0.05 %; the last two samples compared."""
    n = SETTLED_SAMPLES
    assert with_history([1000.0] * (n // 2) + [995.1] * (n // 2)).convergence_scores() is not None
    assert with_history([1000.0] * (n // 2) + [994.9] * (n // 2)).convergence_scores() is None


def test_a_run_never_settles_before_fifty_samples():
    """Red with: 49."""
    assert with_history([1000.0] * 49).convergence_scores() is None
    assert with_history([1000.0] * 50).convergence_scores() is not None


def test_what_has_settled_is_said_with_the_iteration_of_half_the_samples():
    """Of 51 samples the 25th. Red with: the 26th; the burn-in left out."""
    scores = [1000.0 - i / 100 for i in range(51)]
    assert with_history(scores).convergence_scores() == (scores[50], scores[24], 100 + 25 * 5)


# ---- checkpoints


def test_what_is_put_back_goes_on_as_it_would_have():
    """Red with: a history that is not put back; a scorer that begins anew."""
    kept, again = posterior(), posterior()
    observe(kept, 9)
    chain, own = ({n: np.array(a) for n, a in x.arrays().items()} for x in (kept.chain, kept))
    again.chain.restore(kept.chain.step, chain)
    again.restore(own)
    for one in (kept, again):
        observe(one, 4)
    assert again.samples == kept.samples == 5
    assert again.score == kept.score
    for name, wanted in kept.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], wanted)


def test_sums_of_no_samples_are_not_among_what_is_kept():
    """Red with: two thirds of a checkpoint, and of what it is read into, that are zeros."""
    kept, again = posterior(), posterior()
    observe(kept, 4)
    assert not [name for name in kept.arrays() if name.startswith("posterior.sum")]
    assert kept.samples == 0
    again.chain.restore(kept.chain.step, {n: np.array(a) for n, a in kept.chain.arrays().items()})
    again.restore(kept.arrays() | {"posterior.sum.phi": np.full((3, 3), 9.0)})  # nobody looks at it
    for one in (kept, again):
        observe(one, 9)
    assert [name for name in kept.arrays() if name.startswith("posterior.sum")]
    for name, wanted in kept.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], wanted)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("posterior.samples", np.array([2]), "records 2 samples, but has the scores of 3"),
        ("posterior.history", np.zeros(2), "records 3 samples, but has the scores of 2"),
        ("posterior.sum.phi", None, r"lacks array 'posterior\.sum\.phi'"),
        ("posterior.sum.phi", np.zeros((3, 3)), r"posterior\.sum\.phi.* this run needs float64"),
    ],
)
def test_what_is_no_state_of_this_run_is_refused_by_name(name, value, said):
    """Red with: no comparison of samples and history, which would divide by the wrong number."""
    kept = posterior()
    observe(kept, 9)
    arrays = {n: a for n, a in kept.arrays().items() if (n, value is None) != (name, True)}
    if value is not None:
        arrays[name] = value
    with pytest.raises(CheckpointError, match=said):
        posterior().restore(arrays)


def test_less_than_no_sample_is_refused():
    """Also without held-out documents, where no history tells. Red with: a mean over -1 samples."""
    kept = posterior(scored=False)
    with pytest.raises(CheckpointError, match="records -1 samples"):
        kept.restore(kept.arrays() | {"posterior.samples": np.array([-1])})
