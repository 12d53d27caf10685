"""Likeness of documents of one source: the warning of an effect without ``cluster``."""

import numpy as np
import pytest

from pysgrld.effects.answers import EffectRequest, estimate_effects
from pysgrld.effects.composition import WordAllocation
from pysgrld.effects.likeness import FEWEST, SampledShares
from pysgrld.types import Documents

TOPICS, WORDS, BOOKS, CHAPTERS = 5, 80, 40, 15


class Books:
    """Chapters of books with topics of their own; columns: book, a coin a book, a coin a chapter."""

    def __init__(self, seed, *, alike=True):
        rng = np.random.default_rng(seed)
        phi = rng.dirichlet(np.full(WORDS, 0.1), TOPICS)
        book = np.repeat(np.arange(BOOKS), CHAPTERS)
        means = rng.dirichlet(np.full(TOPICS, 1.0), BOOKS if alike else len(book))
        theta = means[book] if alike else means
        counts = np.array([rng.multinomial(40, t @ phi) for t in theta])
        rows, words = np.nonzero(counts)
        indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(counts)))))
        self.documents = Documents(
            indptr, words.astype(np.int32), counts[rows, words].astype(np.int32)
        )
        self.sorting = WordAllocation.from_topics(phi, None, [phi])
        self.columns = {
            "book": [f"book {b}" for b in book],
            "coin": rng.integers(0, 2, BOOKS)[book].tolist(),
            "flip": rng.integers(0, 2, len(book)).tolist(),
            "length": rng.random(len(book)).tolist(),
        }

    def effects(self, formula, *, without=(), **request):
        columns = {name: v for name, v in self.columns.items() if name not in without}
        return estimate_effects(
            EffectRequest(formula, **request),
            columns,
            self.sorting,
            np.arange(TOPICS),
            self.documents.take,
        )


def test_a_coin_of_each_book_is_warned_of_by_the_name_of_the_column():
    """Red with: clusters of neighbours before columns; `DUE` 15."""
    books = Books(0)
    likeness = books.effects("~ coin").likeness
    assert likeness.column == "book"
    assert 8 < likeness.design_effect < CHAPTERS + 5
    assert "too narrow by a factor of" in likeness.warning
    assert likeness.warning.endswith("give --cluster book")
    assert books.effects("~ coin", cluster="book").likeness is None


def test_neighbours_are_warned_of_if_no_column_has_their_source():
    """Red with: columns alone."""
    likeness = Books(0).effects("~ coin", without=["book"]).likeness
    assert likeness.column is None
    assert "--cluster COLUMN" in likeness.warning


@pytest.mark.parametrize(("formula", "alike"), [("~ flip", True), ("~ coin", False)])
def test_independent_documents_and_columns_are_not_warned_of(formula, alike):
    """A coin of each chapter, and books without likeness. Red with: `DUE` 1; likeness of residuals alone.

    Each null corpus measures a design effect of 1 on average.
    """
    for seed in range(5):
        assert Books(seed, alike=alike).effects(formula).likeness is None


def test_likeness_of_many_documents_is_measured_on_rows_of_them(monkeypatch):
    """Red with: shares of other documents than `places`."""
    monkeypatch.setattr("pysgrld.effects.likeness._DOCUMENTS", 300)
    monkeypatch.setattr("pysgrld.effects.likeness._ROW", 50)
    assert len(SampledShares(600, TOPICS).places) == 300
    assert Books(0).effects("~ coin").likeness.column == "book"
    shares = np.arange(600.0)[:, None] * np.ones(TOPICS)
    sampled = SampledShares(600, TOPICS)
    for begin in range(0, 600, 70):
        sampled.add(begin, shares[begin : begin + 70])
    np.testing.assert_array_equal(sampled._shares[:, 0], sampled.places)


def test_few_values_are_no_clusters():
    """Red with: `FEWEST` 2: a variance over so few values is no estimate."""
    books = Books(0)
    part = np.arange(BOOKS * CHAPTERS) * (FEWEST - 1) // (BOOKS * CHAPTERS)
    books.columns |= {"part": part.tolist(), "coin": (part % 2).tolist()}
    assert books.effects("~ coin", without=["book"]).likeness.column is None


def test_a_source_within_each_compared_value_is_no_advice():
    """Red with: the advice to name a column of which a value of the formula has one or two values."""
    books = Books(0)
    book = np.repeat(np.arange(BOOKS), CHAPTERS)
    books.columns["shelf"] = [f"shelf {b // 3}" for b in book]
    likeness = books.effects("~ shelf").likeness
    assert (likeness.column, likeness.can_cluster) == ("book", False)
    assert likeness.warning.endswith(
        "--cluster book cannot widen these intervals, because the compared documents have too few "
        "values of book"
    )
    assert books.effects("~ coin").likeness.can_cluster
