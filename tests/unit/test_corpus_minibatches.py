"""Minibatches are a pure function of their number, also where they are prepared ahead."""

import numpy as np
import pytest
from oracles.judge import P
from scipy import stats

from pysgrld.core import core
from pysgrld.corpus.minibatches import Ahead, Epochs, choose_documents, compact, hold_out_size
from pysgrld.errors import UsageError
from pysgrld.types import Documents, Key


class Numbered:
    """A source whose document i holds word i mod 7 once and word 7 twice."""

    def take(self, ids):
        n = len(ids)
        indices = np.stack([ids % 7, np.full(n, 7)], axis=1).reshape(-1)
        return Documents(
            2 * np.arange(n + 1), indices.astype(np.int32), np.tile(np.array([1, 2], np.int32), n)
        )


def stream(documents=10, size=3, seed=1, chain=0, train=None):
    train = np.arange(documents) if train is None else train
    return Epochs(Numbered(), train, size, seed, chain)


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 4097])
@pytest.mark.parametrize("size", [1, 7, 5000])
def test_every_document_comes_once_an_epoch(n, size):
    train = 5 + 2 * np.arange(n)
    s = stream(size=min(n, size), train=train)
    for epoch in range(2):
        seen = [s.ids(epoch * s.per_epoch + b) for b in range(s.per_epoch)]
        assert np.sort(np.concatenate(seen)).tolist() == train.tolist()
        if s.per_epoch > 200:
            break


def test_minibatches_are_as_few_as_can_be_and_of_equal_size():
    """Red with: full ones and a rest, whose scale is several times theirs."""
    assert [len(stream().ids(t)) for t in range(8)] == [2, 3, 2, 3, 2, 3, 2, 3]
    s = stream(5616, 400)
    sizes = {len(s.ids(t)) for t in range(s.per_epoch)}
    assert (s.per_epoch, sizes) == (15, {374, 375})


def test_scale_is_documents_over_the_minibatch_s_own_size():
    assert [stream().minibatch(t).scale for t in range(4)] == [5.0, 10 / 3, 5.0, 10 / 3]


def test_scales_add_up_so_that_an_epoch_counts_the_corpus_once_a_minibatch():
    s = stream(1000, 64)
    batches = [s.minibatch(t) for t in range(s.per_epoch)]
    assert sum(len(b.doc_ids) * b.scale for b in batches) == pytest.approx(1000 * s.per_epoch)


def test_whole_corpus_as_minibatch_is_in_order():
    s = stream(size=10)
    assert [s.ids(t).tolist() for t in range(2)] == [list(range(10))] * 2


@pytest.mark.parametrize("changed", ["seed", "chain"])
def test_another_seed_or_chain_gives_another_order(changed):
    a, b = stream(1000, 100), stream(1000, 100, **{changed: 3})
    assert a.ids(0).tolist() != b.ids(0).tolist()


def test_every_epoch_has_another_order():
    s = stream(1000, 500)
    assert len({s.ids(2 * epoch).tobytes() for epoch in range(20)}) == 20


def test_minibatches_may_be_asked_for_in_any_order():
    s = stream(1000, 64)
    forward = [s.ids(t).tobytes() for t in range(40)]
    assert [stream(1000, 64).ids(t).tobytes() for t in reversed(range(40))] == forward[::-1]


@pytest.mark.parametrize("n", [3, 10, 17, 64])
def test_every_document_is_equally_likely_at_the_first_position(n):
    """Red with: one Feistel round; the epoch left out of the key."""
    epochs = 2000
    first = [
        core.permute(np.array([0]), n, 1, 0, core.Purpose.epoch_order, e)[0] for e in range(epochs)
    ]
    assert stats.chisquare(np.bincount(first, minlength=n)).pvalue > P


@pytest.mark.parametrize("n", [3, 4, 5, 7, 16, 17])
def test_first_two_documents_are_equally_likely_to_be_any_two(n):
    """Red with: six Feistel rounds (n = 4 to 16); the epoch left out of the key."""
    epochs = 25_000
    orders = np.array(
        [core.permute(np.arange(2), n, 2, 0, core.Purpose.epoch_order, e) for e in range(epochs)]
    )
    table = np.zeros((n, n))
    np.add.at(table, (orders[:, 0], orders[:, 1]), 1)
    assert stats.chisquare(table[~np.eye(n, dtype=bool)]).pvalue > P


def test_minibatch_keeps_the_words_and_counts_of_its_documents():
    s = stream(20, 6)
    b = s.minibatch(1)
    original = Numbered().take(s.ids(1))
    assert b.words[b.indices].tolist() == original.indices.tolist()
    assert b.counts.tolist() == original.counts.tolist()
    assert b.indptr.tolist() == original.indptr.tolist()
    assert b.words.tolist() == sorted(set(original.indices.tolist()))
    assert b.doc_ids.tolist() == s.ids(1).tolist()


def test_minibatch_of_empty_documents_has_no_words():
    empty = Documents(np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
    b = compact(empty, np.arange(3), 1.0)
    assert len(b.words) == len(b.indices) == 0


def test_types_of_a_minibatch_are_those_that_kernels_take():
    b = stream().minibatch(0)
    assert [a.dtype for a in (b.indptr, b.indices, b.counts, b.words, b.doc_ids)] == [
        np.int64,
        np.int32,
        np.int32,
        np.int32,
        np.int64,
    ]


@pytest.mark.parametrize("ids", [[], [0], [63, 64, 63], [5, 2_000_000_000, 5, 127, 128, 0]])
def test_renumbering_is_numpy_s_unique(ids):
    distinct, places = core.renumber(np.array(ids, np.int32))
    expected = np.unique(np.array(ids, np.int32), return_inverse=True)
    assert distinct.tolist() == expected[0].tolist()
    assert places.tolist() == expected[1].tolist()


def test_renumbering_many_ids_is_numpy_s_unique():
    ids = np.random.default_rng(0).integers(0, 3000, 50_000).astype(np.int32)
    distinct, places = core.renumber(ids)
    expected = np.unique(ids, return_inverse=True)
    assert distinct.tolist() == expected[0].tolist()
    assert places.tolist() == expected[1].tolist()


def test_renumbering_refuses_negative_ids():
    with pytest.raises(ValueError, match="ids: must not be negative"):
        core.renumber(np.array([1, -1], np.int32))


def test_minibatches_prepared_ahead_are_the_stream_s_in_any_order():
    stream = Epochs(Numbered(), np.arange(100), 7, 1, 0)
    ahead = Ahead(stream)
    for t in (0, 1, 2, 9, 10, 3, 3):
        for part, wanted in zip(ahead.minibatch(t), stream.minibatch(t), strict=True):
            np.testing.assert_array_equal(part, wanted)


def test_small_minibatches_are_prepared_together():
    """Red with: one at a time; more than are worth handing over."""

    class Asked(Numbered):
        def take(self, ids):
            self.asked.append(len(ids))
            return super().take(ids)

    for size, together in ((8, 8), (40, 1), (64, 1)):
        source, asked = Asked(), []
        source.asked = asked
        stream = Epochs(source, np.arange(512), size, 1, 0)
        assert stream.together == together
        ahead = Ahead(stream)
        ahead.minibatch(0)
        ahead.close()
        assert together <= len(asked) <= 2 * together


def test_error_while_preparing_ahead_is_raised_when_its_minibatch_is_wanted():
    class Broken(Numbered):
        def take(self, ids):
            if 3 in ids:
                raise OSError("gone")
            return super().take(ids)

    ahead = Ahead(Epochs(Broken(), np.arange(8), 1, 1, 0))
    at = [int(ahead.stream.ids(t)[0]) for t in range(8)].index(3)
    for t in range(at):
        ahead.minibatch(t)
    with pytest.raises(OSError, match="gone"):
        ahead.minibatch(at)


@pytest.mark.parametrize(
    ("wanted", "documents", "size"),
    [
        (None, 1, 0),
        (None, 2, 1),
        (None, 9, 1),
        (None, 99, 9),
        (None, 10_009, 1000),
        (None, 10**7, 1000),
        (0, 5, 0),
        (4, 5, 4),
        (0.25, 10, 2),
        (0.001, 10, 1),
    ],
)
def test_a_tenth_up_to_a_thousand_a_number_or_a_share_is_held_out(wanted, documents, size):
    """Red with: a tenth rounded up; a share that holds out nothing."""
    assert hold_out_size(wanted, documents) == size


@pytest.mark.parametrize(("wanted", "documents"), [(5, 5), (6, 5), (-1, 5), (1, 1), (0.95, 5)])
def test_something_must_be_left_to_train_on(wanted, documents):
    """Red with: the whole corpus held out."""
    with pytest.raises(
        UsageError, match=rf"holdout {wanted} is not possible with {documents} document"
    ):
        hold_out_size(wanted, documents)


@pytest.mark.parametrize(("documents", "size"), [(10, 0), (10, 1), (10, 10), (1000, 37)])
def test_a_choice_is_ascending_without_duplicates_and_inside(documents, size):
    chosen = choose_documents(documents, size, Key(1, 0, 0))
    assert len(chosen) == size
    assert (np.diff(chosen) > 0).all()
    assert ((chosen >= 0) & (chosen < documents)).all()


def test_a_larger_choice_adds_documents_and_removes_none():
    few, many = (choose_documents(1000, h, Key(1, 0, 0)) for h in (20, 50))
    assert set(few.tolist()) < set(many.tolist())


def test_a_choice_does_not_depend_on_the_iteration():
    assert (
        choose_documents(99, 9, Key(1, 0, 0)).tolist()
        == choose_documents(99, 9, Key(1, 0, 8)).tolist()
    )


def test_the_choice_of_another_seed_is_another():
    assert (
        choose_documents(999, 9, Key(1, 0, 0)).tolist()
        != choose_documents(999, 9, Key(2, 0, 0)).tolist()
    )


def test_every_document_is_equally_likely_to_be_chosen():
    """Red with: the first documents taken unpermuted; one Feistel round."""
    chosen = np.concatenate([choose_documents(30, 5, Key(seed, 0, 0)) for seed in range(2000)])
    assert stats.chisquare(np.bincount(chosen, minlength=30)).pvalue > P
