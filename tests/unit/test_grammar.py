from pysgrld.grammar import plural


def test_a_number_has_its_noun_in_the_plural_unless_it_is_one():
    """Red with: "1 threads"."""
    assert [plural(n, "thread") for n in (0, 1, 2, 1200)] == [
        *("0 threads", "1 thread", "2 threads", "1,200 threads")
    ]
    assert [plural(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]
