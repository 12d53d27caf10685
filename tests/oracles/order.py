"""The keyed bijection of [0, n) and the addressed uniforms, in Python integers."""

from __future__ import annotations

from oracles.philox import Address, uniform53


def permute(position: int, n: int, address: Address) -> int:
    """Apply Feistel rounds on the smallest even number of bits that fits n, until inside."""
    half = 1
    while 4**half < n:
        half += 1
    x = position
    while True:
        left, right = x >> half, x % 2**half
        for j in range(16 if half <= 6 else 6):
            left, right = right, left ^ (address.block(j, right)[0] % 2**half)
        x = left * 2**half + right
        if x < n:
            return x


def uniform(entity: int, ordinal: int, address: Address) -> float:
    """Return a uniform with 53 bits from the first two words of a block."""
    return uniform53(*address.block(ordinal, entity)[:2])
