"""Arguments that kernels of points on spheres refuse, each with its message."""

import re

import numpy as np
import pytest
from sphere_calls import KEY, TEAM, walking

from pysgrld.core import core

POINTS = {"x": np.ones((4, 16)), "topics": 3}
ROWS = {"indptr": np.array([0, 2]), "indices": np.array([0, 3], np.int32), "values": np.ones(2)}
PRODUCTS = {"gram": np.eye(16), "along": np.ones((2, 16)), "topics": 3}
MOVED = {"v": np.ones((4, 16)), "squares": np.ones(16), "length": 0.1, "damp": 1.0}
#: Good arguments of every kernel.
GOOD = {
    "sphere_moments": POINTS | {"centre": None} | TEAM,
    "sphere_along": POINTS | ROWS | {"threads": 1},
    "sphere_force": POINTS
    | MOVED
    | {"gradient": np.ones((4, 16)), "sd": None, "stream": 0, "part": 0}
    | KEY
    | TEAM,
    "sphere_drift": POINTS | MOVED | TEAM,
    "sphere_gradient": POINTS
    | ROWS
    | {"centre": None, "pull": 1.0, "of_centre": 1.0, "of_sum": 1.0, "weight": 1.0}
    | {"proportions": np.ones((1, 16)), "outer": np.eye(16)}
    | TEAM,
    "sphere_halves": POINTS
    | {"first": np.ones((4, 16)), "other": np.ones((4, 16)), "centre": None, "pull": 1.0}
    | {"of_centre": 1.0, "of_sum": 1.0, "of_first": 1.0, "of_other": 1.0}
    | TEAM,
    "sphere_proportions": walking(2, 3),
    "sphere_evidence": PRODUCTS | {"samples": np.ones((2, 3, 16), np.float32)} | TEAM,
    "sphere_cosines": PRODUCTS | {"theta": np.ones((5, 16)), "kappa": 1.0} | TEAM,
}
PADDED = "rows must be padded to a multiple of 16 and hold K values"
_POINTS = [
    ("x", np.ones((4, 15)), f"x: {PADDED}"),
    ("x", np.ones(16), "x has shape (16), wanted (any, any)"),
    ("topics", 17, f"x: {PADDED}"),
    ("topics", 0, f"x: {PADDED}"),
    ("threads", 0, "threads: wanted 1 to 4096, found 0"),
]
_ROWS = [
    ("indptr", np.array([1, 2]), "indptr: must lead from 0 to the number of indices"),
    ("indptr", np.array([0, 1]), "indptr: must lead from 0 to the number of indices"),
    ("indptr", np.zeros(0, np.int64), "indptr: must lead from 0 to the number of indices"),
    ("indptr", np.array([0, 3, 2]), "indptr: must not decrease"),
    ("indices", np.array([0, 4], np.int32), "indices: 4 is not a row of x"),
    ("indices", np.array([-1, 0], np.int32), "indices: -1 is not a row of x"),
    ("values", np.ones(3), "values has shape (3), wanted (2)"),
]
_CENTRE = [("centre", np.ones(3), "centre has shape (3), wanted (4)")]
_MOVED = [("v", np.ones((3, 16)), "v has shape"), ("squares", np.ones(15), "squares has shape")]
_PRODUCTS = [
    ("gram", np.eye(32), "gram has shape (32, 32), wanted (16, 16)"),
    ("along", np.ones((2, 15)), f"along: {PADDED}"),
    ("topics", 17, f"along: {PADDED}"),
    ("threads", 5000, "threads: wanted 1 to 4096, found 5000"),
]
_WALKS = "trajectories, kept, leaps: must be 0 <= kept <= trajectories, leaps >= 1"
_KAPPA = [("kappa", x, "kappa: must be finite and at least 0") for x in (-1.0, np.nan, np.inf)]
#: By kernel, what is refused: an argument, its value, the message.
BAD = {
    "sphere_moments": _POINTS + _CENTRE,
    "sphere_along": _POINTS + _ROWS,
    "sphere_force": [
        *_POINTS,
        *_MOVED,
        ("sd", np.ones(15), "sd has shape"),
        ("gradient", np.ones((4, 32)), "gradient has shape"),
    ],
    "sphere_drift": _POINTS + _MOVED,
    "sphere_gradient": [
        *_POINTS,
        *_ROWS,
        *_CENTRE,
        ("proportions", np.ones((2, 16)), "proportions has shape"),
        ("outer", np.eye(32), "outer has shape"),
    ],
    "sphere_halves": [
        *_POINTS,
        *_CENTRE,
        ("first", np.ones((3, 16)), "first has shape"),
        ("other", np.ones((4, 32)), "other has shape"),
    ],
    "sphere_proportions": [
        *_PRODUCTS,
        *_KAPPA,
        ("doc_ids", np.arange(3), "doc_ids has shape"),
        ("theta", -np.ones((2, 16)), "theta: must be at least 0"),
        ("theta", np.full((2, 16), np.nan), "theta: must be at least 0"),
        ("theta", np.ones((2, 32)), "theta has shape"),
        ("alpha", 0.0, "alpha: must be finite"),
        ("length", -1.0, "length: must be finite and at least 0"),
        ("length", np.nan, "length: must be finite and at least 0"),
        ("trajectories", 0, _WALKS),
        ("trajectories", 2**31 - 1, "trajectories: "),
        ("kept", 5, _WALKS),
        ("kept", -1, _WALKS),
        ("leaps", 0, _WALKS),
        ("chart", "square", "chart: wanted root or flat, found 'square'"),
    ],
    "sphere_evidence": [*_PRODUCTS, ("samples", np.ones((3, 3, 16), np.float32), "samples has")],
    "sphere_cosines": [
        *_PRODUCTS,
        *_KAPPA,
        ("theta", np.ones((5, 32)), "theta has shape"),
        ("theta", np.ones((0, 16)), "theta: at least one row"),
    ],
}


@pytest.mark.parametrize("kernel", BAD)
def test_bad_arguments_are_named(kernel):
    """Each beside good ones, with which the kernel is called first."""
    getattr(core, kernel)(**GOOD[kernel])
    for name, value, message in BAD[kernel]:
        with pytest.raises(ValueError, match=re.escape(message)):
            getattr(core, kernel)(**GOOD[kernel] | {name: value})


@pytest.mark.parametrize("name", ["x", "v", "squares", "gradient", "first", "theta"])
def test_arrays_that_would_be_copied_before_they_are_changed_are_refused(name):
    """Red with: changes made to a copy."""
    kernels = {"gradient": "sphere_force", "first": "sphere_halves", "theta": "sphere_proportions"}
    kernel = kernels.get(name, "sphere_drift")
    good = GOOD[kernel]
    for wrong in (good[name].astype(np.float32), np.repeat(good[name], 2, axis=-1)[..., ::2]):
        with pytest.raises(TypeError):
            getattr(core, kernel)(**good | {name: wrong})
