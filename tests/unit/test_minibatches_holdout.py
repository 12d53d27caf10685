"""How many documents are held out."""

import pytest

from pysgrld.corpus.minibatches import hold_out_size
from pysgrld.errors import UsageError


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
    with pytest.raises(UsageError, match=rf"holdout {wanted}: the corpus has {documents} document"):
        hold_out_size(wanted, documents)
