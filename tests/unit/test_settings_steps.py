"""Default steps and durations: the figures that docs name."""

import pytest

from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.options.parse import duration


@pytest.mark.parametrize(
    ("documents", "minibatch", "h"),
    [(5000, 100, 0.2), (5000, 250, 0.5), (1000, 400, 1.0), (10**6, 400, 0.02)],
)
def test_the_default_step_of_scir_is_ten_minibatches_of_the_corpus(documents, minibatch, h):
    """10 B/D within 0.02 and 1, for all iterations. Red with: 20 B/D."""
    facts = Facts(documents, 2000, 400 * documents, documents, lambda *_: 900)
    options = resolve({"algo": "scir", "minibatch": minibatch}, facts).options
    assert options.step_size == pytest.approx((h, 1.0, 0.0))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0.5s", 0.5), ("15m", 900), ("2h30m", 9000), ("1d", 86_400), ("1d1s", 86_401)],
)
def test_durations_are_in_seconds(text, seconds):
    """Red with: a day of 8,640 seconds."""
    assert duration(text) == seconds


@pytest.mark.parametrize(
    ("tokens", "documents", "minibatch", "h"),
    [
        (9, 5000, 250, 0.1),  # few tokens of a word: 2 B/D
        (60, 5000, 250, 0.25),  # a twelfth of them
        (600, 5000, 250, 0.5),  # 10 B/D
        (60, 10**6, 400, 0.002),  # none is lengthened to 0.02 but by a twelfth
        (240, 10**6, 400, 0.008),
        (1200, 10**6, 40, 0.004),
        (2400, 10**6, 400, 0.02),
    ],
)
def test_the_default_step_of_scir_is_short_where_words_are_rare(tokens, documents, minibatch, h):
    """So many tokens of each of 2,000 words. Red with: tokens of a topic; 0.02 at least."""
    facts = Facts(documents, 2000, tokens * 2000, 0, lambda *_: 900)
    options = resolve({"algo": "scir", "minibatch": minibatch, "topics": 3}, facts).options
    assert options.step_size == pytest.approx((h, 1.0, 0.0))


def test_minibatches_of_short_documents_have_more_of_them():
    """20,000 tokens, up to a quarter of the corpus.

    Red with: a number that was given changed; a model, or a sampler without draws, that was not tried.
    """
    assert sized(5, 2000, 10 * 200_000)[0] == 2000
    assert sized(5, 2000, 10 * 4000, 4000)[0] == 1000
    assert sized(5, 2000, 50 * 200_000)[0] == 400
    assert sized(5, 2000, 10 * 200_000, minibatch=400)[0] == 400
    assert sized(5, 2000, 10 * 200_000, algo="ovb")[0] == 400
    assert sized(5, 2000, 10 * 200_000, model="sam")[0] == 100
    assert sized((5, 3), 2000, 10 * 200_000, model="dlda")[0] == 2000


def test_minibatches_of_long_documents_have_fewer_of_them():
    """80,000 tokens at most, and 16 documents at least."""
    assert sized(5, 2000, 1000 * 200_000)[0] == 80
    assert sized(5, 2000, 10_000 * 200_000)[0] == 16


def sized(topics, words, tokens, documents=200_000, **given):
    """Minibatch and step that are resolved by default."""
    facts = Facts(documents, words, tokens, 0, lambda size, seed: words)
    size = "layers" if isinstance(topics, tuple) else "topics"
    options = resolve({size: topics} | given, facts).options
    return options.minibatch, options.step_size[0], options.warm_up


def test_minibatches_grow_where_stepping_all_topics_takes_longer_than_sampling():
    """Short documents, a large vocabulary, many topics.

    Red with: longer steps; the warm-up of the usual minibatch; documents counted for their tokens; growth
    beyond a quarter of the corpus.
    """
    # 63 million cells of 2.5 ns; 20 sweeps of 16 tokens, each 25 ns and .05 ns a topic
    assert sized(1000, 63_000, 3_200_000) == (6563, pytest.approx(0.026455, rel=1e-4), 50)
    assert sized(1000, 63_000, 16 * 10_000, 10_000) == (2500, 0.25, 50)
    assert sized(200, 63_000, 3_200_000)[0] == 2813
    assert sized(1000, 63_000, 80 * 200_000)[0] == 1313
    assert sized(100, 4_000, 3_200_000)[0] == 1250
    assert sized(1000, 63_000, 3_200_000, minibatch=400)[0] == 400
    assert sized(1000, 63_000, 3_200_000, algo="hsvg")[0] == 400
    lazy = {"lazy": "on", "eta": 0.05}  # whose iterations step what their words need
    assert sized(1000, 63_000, 3_200_000, **lazy)[0] == 1250
