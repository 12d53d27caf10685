"""Documents in groups, by columns of any kind, and along the corpus."""

from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.corpus.about.stored import Column
from pysgrld.errors import UsageError
from pysgrld.report.sections.groups import (
    along_column,
    along_corpus,
    by_columns,
    cluster_units,
    clustered,
    grouped,
)


def about(**columns):
    """Columns by name: kind and values."""
    return SimpleNamespace(
        columns=tuple(Column(name, kind, 0) for name, (kind, _) in columns.items()),
        values=lambda name, rows: [columns[name][1][row] for row in rows],
        titles=lambda rows: [f"title {row}" for row in rows],
        wholes=lambda rows: None,
    )


def test_categories_are_groups_the_most_frequent_first():
    found = grouped(Column("x", "category", 1), ["b", None, "a", "b", "__proto__"])
    assert found.levels == ["b", "__proto__", "a"]
    assert found.documents == [2, 1, 1]
    assert (found.missing, found.more, found.ordered) == (1, 0, False)
    assert found.grouping.of.tolist() == [0, -1, 2, 0, 1]


def test_the_rarest_of_many_are_left_out_and_counted():
    values = [f"v{i % 140}" for i in range(200)]
    found = grouped(Column("x", "string", 0), values)
    assert len(found.levels) == 100
    assert found.more == 40
    assert (found.grouping.of >= 0).sum() == 160


def test_groups_that_lie_in_one_piece_keep_the_order_of_the_corpus():
    """Red with: books of a text by how many chapters they have."""
    found = grouped(Column("x", "category", 0), ["b", "b", None, "c", "a", "a", "a"])
    assert found.levels == ["b", "c", "a"]
    found = grouped(Column("x", "category", 0), ["b", "a", "b", "a", "a"])
    assert found.levels == ["a", "b"]


@pytest.mark.parametrize(
    ("n", "step", "levels", "first"),
    [
        (60, 1, 60, "2001-01-01"),
        (61, 1, 3, "2001-01"),
        (100, 100, 28, "2001"),
        (100, 2000, 55, "2000s"),
    ],
)
def test_dates_are_binned_by_what_sixty_bins_hold(n, step, levels, first):
    """Red with: years for decades; sixty-one days."""
    begin = np.datetime64("2001-01-01")
    days = [begin + np.timedelta64(step * i, "D") for i in range(n)]
    values = [*(f"{day}T10:00:00" for day in days), None]
    found = grouped(Column("date", "time", 1), values)
    assert len(found.levels) == levels
    assert found.levels == sorted(found.levels)
    assert found.levels[0] == first
    assert found.missing == 1
    assert found.ordered


def test_of_too_many_decades_the_latest_are_shown():
    """Red with: the first sixty."""
    found = grouped(Column("d", "time", 1), [f"{1000 + 10 * i}-01-01" for i in range(75)])
    assert len(found.levels) == 60
    assert found.levels[-1] == "1740s"
    assert found.levels[0] == "1150s"
    assert found.more == 15


def test_numbers_are_levels_in_order_or_binned():
    found = grouped(Column("n", "integer", 0), [10, 9, 100, 9])
    assert found.levels == ["9", "10", "100"]
    values = np.random.default_rng(0).normal(size=500).tolist()
    found = grouped(Column("n", "real", 1), [*values, None])
    assert len(found.levels) == 10
    assert min(found.documents) >= 45
    assert sum(found.documents) == 500
    assert found.grouping.of[-1] == -1
    assert found.grouping.of[int(np.argmin(values))] == 0
    assert found.grouping.of[int(np.argmax(values))] == 9


def test_bins_are_called_by_whole_numbers_or_four_digits():
    """Red with: "1,900" for a year; ten digits of a real number."""
    found = grouped(Column("year", "integer", 0), [None, *range(1900, 2000)])
    assert found.levels[0] == "1900 to 1909"
    assert found.levels[-1] == "1989 to 1999"
    values = np.random.default_rng(0).normal(size=500).tolist()
    found = grouped(Column("x", "real", 0), values)
    assert all(len(end.strip("-")) <= 7 for level in found.levels for end in level.split(" to "))


def test_a_column_that_is_constant_within_another_names_it():
    """Red with: columns of one document each; the column itself."""
    books = [f"b{i // 5}" for i in range(40)]
    given = about(
        book=("category", books),
        author=("category", [f"a{i // 10}" for i in range(40)]),
        coin=("category", ["h" if i % 2 else "t" for i in range(40)]),
        id=("string", [str(i) for i in range(40)]),
    )
    rows = np.arange(40)
    found = clustered(given, by_columns(given, ("author", "coin", "book"), rows), None, rows)
    assert [g.within for g in found] == ["book", None, None]
    found = clustered(given, by_columns(given, ("author",), rows), "book", rows)
    assert found[0].within is None
    assert found[0].grouping.cluster.tolist() == [i // 5 for i in range(40)]
    with pytest.raises(UsageError, match="--cluster 'x': the corpus has no such column"):
        clustered(given, found, "x", rows)


def test_chunks_of_a_document_are_a_cluster():
    """Red with: a chunk as a document, or advice to cluster by the file that has the chunks."""
    rows = np.arange(40)
    given = about(
        file=("category", [f"f{i // 4}" for i in range(40)]),
        author=("category", [f"a{i // 8}" for i in range(40)]),
        group=("category", [f"g{i // 16}" for i in range(40)]),
    )
    given.wholes = lambda rows: rows // 4
    (found,) = clustered(given, by_columns(given, ("group",), rows), None, rows)
    assert found.grouping.cluster.tolist() == [i // 4 for i in range(40)]
    assert found.within == "author"
    assert cluster_units(found.grouping, None, "documents") == "whole documents"
    given.columns = given.columns[::2]
    (found,) = clustered(given, by_columns(given, ("group",), rows), None, rows)
    assert found.within is None
    (found,) = clustered(given, by_columns(given, ("group",), rows), "file", rows)
    assert cluster_units(found.grouping, "file", "documents") == "values of file"


def test_flags_are_yes_and_no():
    assert grouped(Column("f", "flag", 0), [True, False, True]).levels == ["yes", "no"]


def test_along_the_corpus_bins_are_of_about_as_many_documents():
    """Red with: ids on the axis, which are no titles."""
    found = along_corpus(about(), np.arange(130))
    assert len(found.levels) == 60
    assert set(found.documents) == {2, 3}
    assert found.levels[0] == "title 0 to title 2"
    assert along_corpus(about(), np.arange(3)).levels == ["title 0", "title 1", "title 2"]
    assert along_corpus(about(), np.arange(0)).levels == []
    long = SimpleNamespace(
        titles=lambda rows: ["a title that is too long for an axis" for _ in rows]
    )
    assert along_corpus(long, np.arange(1000, 1120)).levels[0] == "1,001 to 1,002"
    numbered = SimpleNamespace(titles=lambda rows: [str(7 * row) for row in rows])
    assert along_corpus(numbered, np.arange(1000, 1120)).starts[1] == "1,003"


def test_columns_that_are_asked_for_must_be_there_and_have_an_order():
    """Red with: any column taken for along."""
    given = about(part=("category", ["a", "b"]), one=("category", ["a", "a"]), id=("string", "xy"))
    rows = np.arange(2)
    assert [g.name for g in by_columns(given, (), rows)] == ["part"]
    assert [g.name for g in by_columns(given, ("id", "id", "one"), rows)] == ["id", "one"]
    with pytest.raises(
        UsageError, match="--by 'x': the corpus has no such column; its columns are"
    ):
        by_columns(given, ("x",), rows)
    with pytest.raises(UsageError, match="kind category has no order"):
        along_column(given, "part", rows)
    with pytest.raises(UsageError, match="it has no columns"):
        along_column(about(), "x", rows)
