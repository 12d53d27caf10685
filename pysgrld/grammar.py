"""Grammar of messages."""

from __future__ import annotations


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Write a number with its noun, in the plural unless it is 1.

    >>> plural(1, "thread"), plural(1200, "thread"), plural(0, "entry", "entries")
    ('1 thread', '1,200 threads', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def all_of(number: int, nouns: str) -> str:
    """Write that all of several are meant, at least two.

    >>> all_of(2, "chains"), all_of(4, "chains")
    ('both chains', 'all 4 chains')
    """
    return f"both {nouns}" if number == 2 else f"all {number:,} {nouns}"
