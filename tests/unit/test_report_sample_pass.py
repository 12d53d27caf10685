"""The pass over kept samples: each is read once, whoever looks at it; and the tenth greatest of a row."""

from types import SimpleNamespace

import numpy as np

from pysgrld.errors import MissingInputError
from pysgrld.report.sample_pass import ChainOfTopics, followed, read_samples, tenth


def test_the_tenth_greatest_is_exact_even_of_words_nobody_expected():
    """Red with: the tenth of the candidates taken for that of all words."""
    rng = np.random.default_rng(3)
    phi = rng.random((4, 200)).astype(np.float32)
    words = np.stack([np.argsort(-row)[:20] for row in phi])
    words[1] = rng.choice(200, 20, replace=False)  # the ten first are not among these
    there = np.ones(words.shape, bool)
    there[2, 12:] = False
    words[2, 12:] = words[2, 0]
    rows = np.array([3, 1, 2])
    values = phi[rows[:, None], words[rows]]
    found = tenth(phi, rows, values, there[rows])
    np.testing.assert_array_equal(found, -np.sort(-phi[rows], axis=1)[:, 9])


class Steps:
    def __init__(self):
        self.seen = []

    def add(self, sample):
        self.seen.append((sample.chain, sample.step, float(sample.phi[0, 0])))


def chain(number, read, gone=(), no_mean=None):
    """A run whose samples are known by their first entry, and which says what is read of it."""

    def read_sample(step):
        read.append((number, step))
        if step in gone:
            raise MissingInputError("dropped")
        return {"phi": np.full((2, 12), step / 100 + number, np.float32)}

    fitted = SimpleNamespace(
        no_mean=no_mean, exact=None, topics_of_sample=lambda sample, at: sample["phi"]
    )
    results = SimpleNamespace(
        fitted=fitted,
        word_steps=lambda at: ([1, 2, 3], False),
        read_sample=read_sample,
        topic_sample=read_sample,
    )
    return ChainOfTopics(results, np.arange(2))


def test_all_visitors_share_one_pass_in_which_a_dropped_sample_is_left_out():
    """Red with: a pass for each visitor; a dropped sample that ends it."""
    read, visitors = [], (Steps(), Steps())
    read_samples(
        [chain(0, read), chain(1, read, gone=(2,))], 0, [visitor.add for visitor in visitors]
    )
    assert read == [(n, step) for n in range(2) for step in (1, 2, 3)]
    expected = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 3)]
    for visitor in visitors:
        assert [(n, step) for n, step, _ in visitor.seen] == expected
        np.testing.assert_allclose(
            [x for *_, x in visitor.seen], [s / 100 + n for n, s in expected]
        )


def test_words_are_followed_in_the_pass_of_the_others_and_of_means_alone():
    """Where topics have no mean words cannot be followed, and others see the samples all the same."""
    words, there = np.zeros((2, 12), np.int64), np.ones((2, 12), bool)
    for no_mean in (None, "components differ"):
        read, visitor = [], Steps()
        found = followed([chain(0, read, no_mean=no_mean)], words, there, 0, [visitor.add])
        assert found.interval is None  # of three samples
        assert read == [(0, 1), (0, 2), (0, 3)]
        assert len(visitor.seen) == 3


def test_nothing_is_read_for_nobody():
    read = []
    read_samples([chain(0, read)], 0, [])
    assert read == []
