"""When a topic is there, by its shares in slices of time."""

import numpy as np

from pysgrld.report.words_over_time import Span, spans


def spanned(mean, high=None, documents=None):
    mean = np.array([mean])
    high = mean + 0.001 if high is None else np.array([high])
    return spans(mean, high, documents or [10] * mean.shape[1])[0]


def test_a_topic_that_is_everywhere_neither_begins_nor_ends():
    assert spanned([0.1, 0.2, 0.1]) == Span(0, 2, False, False)


def test_a_topic_begins_where_it_surely_was_not_before():
    """Red with: the mean looked at where the upper end of the interval is meant."""
    assert spanned([0.001, 0.1, 0.2, 0.2]) == Span(1, 3, True, False)
    assert spanned([0.001, 0.1, 0.2, 0.2], [0.05, 0.2, 0.3, 0.3]) == Span(1, 3, False, False)


def test_a_topic_ends_where_it_surely_is_not_after():
    assert spanned([0.2, 0.1, 0.001]) == Span(0, 1, False, True)


def test_slices_without_documents_tell_nothing():
    """Red with: an empty slice before the first taken for absence."""
    assert spanned([0.0, 0.1, 0.2], documents=[0, 9, 9]) == Span(1, 2, False, False)
