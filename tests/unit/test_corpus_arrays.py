"""Compiled modules that read corpora take vectors of their own type only (pysgrld/corpus/_arrays.pxi)."""

from __future__ import annotations

import os

import numpy as np
import pytest

from pysgrld.corpus._gather import gather
from pysgrld.corpus._sparse import renumber
from pysgrld.corpus._tokenize import Dictionary, tally


def read_only(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


WRONG = {
    "another type": (np.zeros(4, np.float64), "wanted a vector of 64-bit integers"),
    "other bytes": (np.zeros(4, np.int32), "wanted a vector of 64-bit integers"),
    "no sign": (np.zeros(4, np.uint64), "wanted a vector of 64-bit integers"),
    "a matrix": (np.zeros((4, 1), np.int64), "found 2 dimensions"),
    "every other one": (np.zeros(8, np.int64)[::2], "contiguous"),
    "not to be written": (read_only(np.zeros(4, np.int64)), "read-only"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_arrays_of_another_form_are_refused_and_not_touched(wrong):
    array, message = WRONG[wrong]
    before = array.copy()
    words, good = np.array([0, 1, 1], np.int32), np.zeros(4, np.int64)
    for pair in ((array, good), (good, array)):
        with pytest.raises(ValueError, match=message):
            tally(words, words, *pair)
    assert not good.any()
    assert np.array_equal(array, before)


def test_what_is_only_read_may_be_read_only():
    documents, tokens = np.zeros(2, np.int64), np.zeros(2, np.int64)
    words = read_only(np.array([0, 1, 1], np.int32))
    tally(words, read_only(np.array([1, 2, 3], np.int32)), documents, tokens)
    assert (documents.tolist(), tokens.tolist()) == ([1, 2], [1, 5])
    assert Dictionary().place(b"ab", read_only(np.array([1, 2]))).tolist() == [0, 1]


def test_pieces_go_to_bytes_alone(tmp_path):
    (tmp_path / "file").write_bytes(b"abcdef")
    starts, sizes = np.array([4, 0]), np.array([2, 1])
    out = np.zeros(3, np.uint8)
    handle = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        assert gather(handle, starts, sizes, out) == 0
        with pytest.raises(ValueError, match="8-bit"):
            gather(handle, starts, sizes, out.astype(np.int32))
    finally:
        os.close(handle)
    assert out.tobytes() == b"efa"


@pytest.mark.parametrize("words", [70, 5_000, 200_000, 2**24 + 70])
def test_words_of_long_and_short_documents_are_sorted(words):
    """Red with: marks of the document before; a word lost that is there twice, or ends a group."""
    rng = np.random.default_rng(words)
    lengths = [0, 1, 31, 32, 64, 70, 5, 69, *rng.integers(0, 70, 20)]
    rows = [rng.permutation(words)[:n] for n in lengths] if words < 2**20 else []
    rows += [rng.integers(words - 70, words, n) for n in lengths]  # some of them twice
    rows += [np.arange(max(0, words - 64), words)[::-1]]
    indices = np.concatenate(rows).astype(np.int32)
    indptr = np.cumsum([0, *map(len, rows)])
    counts = rng.integers(-5, 2**31 - 1, len(indices)).astype(np.int32)
    found = renumber(indptr, indices, counts)
    order = np.lexsort(
        (counts.view(np.uint32), indices, np.repeat(np.arange(len(rows)), np.diff(indptr)))
    )
    assert found[0].tolist() == indptr.tolist()
    assert found[1].tolist() == indices[order].tolist()
    assert found[2].tolist() == counts[order].tolist()


def test_words_are_not_renumbered_beyond_the_arrays():
    """Red with: no look at ends, at word ids, or at the number of counts."""
    ends = lambda *values: np.array(values, np.int64)  # noqa: E731
    ids = lambda *values: np.array(values, np.int32)  # noqa: E731
    indptr, indices, counts = renumber(ends(0, 2, 3), ids(2, 0, 1), ids(5, 6, 7), ids(1, -1, 0))
    assert (indptr.tolist(), indices.tolist(), counts.tolist()) == ([0, 2, 2], [0, 1], [5, 6])
    indptr, indices, counts = renumber(ends(0, 3), ids(4, -1, 2), ids(5, 6, -7))
    assert (indptr.tolist(), indices.tolist(), counts.tolist()) == ([0, 2], [2, 4], [-7, 5])
    for wrong in (
        (ends(0, 3), ids(0, 1), ids(1, 1)),
        (ends(0, 2, 1), ids(0, 1), ids(1, 1)),
        (ends(), ids(), ids()),
        (ends(0, 2), ids(0, 1), ids(1)),
        (ends(0, 2), ids(0, 3), ids(1, 1), ids(0, 1, 2)),
        (ends(0, 1), ids(-1), ids(1), ids(0, 1, 2)),
        (ends(0, 1), ids(0), np.array([1])),
    ):
        with pytest.raises(ValueError, match=r"fit|ends|integers"):
            renumber(*wrong)


def test_neighbours_and_pieces_apart_are_gathered_in_their_order(tmp_path):
    """Red with: a run of neighbours that ends one piece too late, or that loses an empty piece."""
    data = np.arange(256, dtype=np.uint8)
    (tmp_path / "data").write_bytes(data.tobytes())
    starts = np.array([0, 10, 20, 20, 40, 45, 44, 250, 3], np.int64)
    sizes = np.array([10, 10, 0, 5, 5, 5, 2, 6, 0], np.int64)
    out = np.empty(int(sizes.sum()), np.uint8)
    with (tmp_path / "data").open("rb") as file:
        assert gather(file.fileno(), starts, sizes, out) == 0
    pieces = zip(starts.tolist(), sizes.tolist(), strict=True)
    assert out.tolist() == [i for start, size in pieces for i in range(start, start + size)]
