"""The keyed choice of documents: for held-out ones, and for samples of a corpus."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.judge import P
from scipy import stats

from pysgrld.corpus.choice import choose_documents
from pysgrld.types import Key


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
