from pysgrld.errors import all_of, plural


def test_a_number_has_its_noun_in_the_plural_unless_it_is_one():
    """Red with: "1 threads"."""
    assert [plural(n, "thread") for n in (0, 1, 2, 1200)] == [
        *("0 threads", "1 thread", "2 threads", "1,200 threads")
    ]
    assert [plural(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


def test_two_are_both():
    """Red with: "all 2 chains"."""
    assert [all_of(n, "chains") for n in (2, 3, 1200)] == [
        *("both chains", "all 3 chains", "all 1,200 chains")
    ]
