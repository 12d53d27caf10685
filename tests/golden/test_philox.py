"""The generator gives the published values on every instruction set."""

from pathlib import Path

import numpy as np
import pytest
from oracles.philox import philox

from pysgrld.core import core

pytestmark = pytest.mark.golden

LINES = (Path(__file__).parent / "kat_vectors.txt").read_text().splitlines()
VECTORS = [
    tuple(int(word, 16) for word in line.split()) for line in LINES if not line.startswith("#")
]


@pytest.mark.parametrize("vector", VECTORS)
def test_kernel_gives_the_known_answer(isa, vector):
    words = np.array(vector, np.uint32)
    assert core.philox(words[None, :4], words[None, 4:6]).tolist() == [list(vector[6:])]


@pytest.mark.parametrize("vector", VECTORS)
def test_oracle_gives_the_known_answer(vector):
    assert philox(vector[:4], vector[4:6]) == vector[6:]


def test_every_lane_equals_the_oracle(isa):
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**32, (40, 6), dtype=np.uint32)
    expected = [philox(tuple(map(int, w[:4])), tuple(map(int, w[4:]))) for w in words]
    assert core.philox(words[:, :4].copy(), words[:, 4:].copy()).tolist() == [
        list(x) for x in expected
    ]
