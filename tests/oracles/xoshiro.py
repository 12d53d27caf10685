"""xoshiro128++ in NumPy, a lane a column, and the seeds of cpp/include/sgmc/philox.hpp."""

from __future__ import annotations

import numpy as np
from oracles.philox import Address


def rotl(x, n):
    return (x << np.uint32(n)) | (x >> np.uint32(32 - n))


def xoshiro(state: np.ndarray, n: int) -> np.ndarray:
    """Return the first n words of each lane from a nonzero state (4, lanes): (n, lanes)."""
    s = np.array(state, np.uint32)
    words = np.empty((n, s.shape[1]), np.uint32)
    for i in range(n):
        words[i] = rotl(s[0] + s[3], 7) + s[0]
        t = s[1] << np.uint32(9)
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 11)
    return words


def row_words(address: Address, entity: int, n: int) -> np.ndarray:
    """Lane j is seeded by block j of the entity; (n, 16)."""
    return xoshiro(np.array([address.block(j, entity) for j in range(16)], np.uint32).T, n)
