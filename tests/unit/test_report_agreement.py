"""What may be relied on: one rule for a topic, the head of the page, and the chains."""

import numpy as np
import pytest

from pysgrld.evaluate.matching import finders
from pysgrld.reading.diagnosis import MatchedTopic, Measure, TopWord
from pysgrld.report.sections.agreement import trust


def pairs(*rows):
    """Fill in the lower half and the diagonal."""
    upper = np.zeros((4, 4))
    upper[np.triu_indices(4, 1)] = rows
    return upper + upper.T + np.eye(4)


@pytest.mark.parametrize(
    ("overlaps", "expected"),
    [
        ((0.9, 0.9, 0.9, 0.9, 0.9, 0.9), 4),
        (
            (0.9, 0.9, 0.9, 0.9, 0.9, 0.6),
            3,
        ),  # 2 and 3 are each like the first, and not like each other
        ((0.9, 0.8, 0.75, 0.6, 0.8, 0.8), 3),  # 1 and 3, or 2 and 3
        ((0.9, 0.8, 0.75, 0.6, 0.6, 0.8), 3),  # 2 and 3, though 1 is the most alike to the first
        ((0.6, 0.6, 0.6, 0.9, 0.9, 0.9), 1),
        ((0.7, 0.1, 0.1, 0.1, 0.1, 0.9), 2),
    ],
)
def test_chains_are_counted_that_are_alike_among_each_other(overlaps, expected):
    """All of them are counted exactly where any two are alike. Red with: likeness to the first alone."""
    found = len(finders(pairs(*overlaps)))
    assert found == expected
    assert (found == 4) == (min(overlaps) >= 0.7)


AGAIN, MAY = (
    "a further chain would find it in 9 of 10 cases.",
    "a further chain may find a different form of it.",
)
MOST = "its values are averages over these chains."


def topic(overlap, rhat, found):
    word = TopWord("king", (0.1,), Measure(rhat, 100.0, 100.0))
    return MatchedTopic(3, (3, 4), overlap, (), None, (word,), (1.0, overlap), found)


@pytest.mark.parametrize(
    ("overlap", "rhat", "found", "chains", "share", "expected"),
    [
        (0.75, 1.0, 4, 4, 1.3, (True, "All 4 chains found it:", AGAIN, None, "again")),
        (0.8, 1.76, 4, 4, 1.3, (True, "All 4 chains found it:", AGAIN, "1.76", "again")),
        (0.74, 1.0, 4, 4, 1.3, (None, "All 4 chains found it:", MAY, None, "partly")),
        (0.84, 1.0, 3, 3, 1.3, (None, "All 3 chains found it:", MAY, None, "partly")),
        (0.9, 1.0, 2, 2, 1.3, (True, "Both chains found it:", AGAIN, None, "again")),
        (0.99, 1.0, 2, 2, 1.2, (None, "Both chains found it:", MAY, None, "partly")),
        (0.85, 1.0, 3, 3, 0.4, (True, "All 3 chains found it:", AGAIN, None, "again")),
        (0.89, 1.2, 2, 2, 1.3, (None, "Both chains found it:", MAY, "1.20", "partly")),
        (0.6, 1.76, 3, 4, 1.3, (None, "3 of 4 chains found it:", MOST, "1.76", "partly")),
        (
            0.6,
            1.76,
            2,
            3,
            1.3,
            (False, "2 of 3 chains found it:", "do not rely on it.", None, "alone"),
        ),
        (
            0.1,
            1.0,
            1,
            4,
            1.3,
            (False, "No other chain found it:", "do not rely on it.", None, "alone"),
        ),
    ],
)
def test_a_topic_is_told_by_its_finders_and_whether_it_is_at_rest(
    overlap, rhat, found, chains, share, expected
):
    """Red with: a green topic that another chain lacks in more than one case of ten."""
    assert tuple(trust(topic(overlap, rhat, found), chains, share)) == expected


@pytest.mark.parametrize("overlap", [0.97, 0.42])
def test_one_chain_does_not_tell_whether_topics_come_back(overlap):
    """Red with: a verdict by the likeness of the chain's halves, which other chains do not share."""
    told = trust(topic(overlap, 1.0, 1), 1, 2.0)
    assert (told.good, told.state) == (None, "once")
    assert told.head == "Trained once:"
    assert told.text == "it is unknown whether another chain would find this topic."
