"""The array container: what is written is plain safetensors, what is read is not believed."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from pysgrld.run.files import digest_of, write_new
from pysgrld.run.tensors import encode, load, view, violation
from pysgrld.types import Condition, Invariant

ARRAYS = {
    "g": np.arange(96, dtype=np.float32).reshape(6, 16),
    "n.topics": np.arange(4, dtype=np.float64),
    "e": np.empty((0, 4), np.int32),
    "t": np.array(7, np.int64),
    "flag": np.array([True, False, True]),
}


def write(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    write_new(path, encode(arrays), "test")
    return path


def test_round_trip_keeps_bits_shapes_and_types(tmp_path: Path) -> None:
    path = write(tmp_path / "a", ARRAYS)
    arrays = dict(load(path, digest_of(path)))
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def test_loaded_arrays_are_aligned_and_writable(tmp_path: Path) -> None:
    path = write(tmp_path / "a", ARRAYS)
    arrays = dict(load(path, digest_of(path)))
    assert all(a.flags.writeable for a in arrays.values())
    assert all(a.ctypes.data % 64 == 0 for a in arrays.values() if a.size)


def test_the_safetensors_library_reads_what_is_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a", ARRAYS)
    arrays = safetensors.numpy.load_file(path)
    assert arrays.keys() == ARRAYS.keys()
    assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)


def test_what_the_safetensors_library_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    safetensors.numpy.save_file(ARRAYS, path)
    arrays = dict(load(path, digest_of(path)))
    assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)


def test_equal_arrays_in_any_order_give_equal_bytes(tmp_path: Path) -> None:
    a = write(tmp_path / "a", ARRAYS)
    b = write(tmp_path / "b", dict(reversed(ARRAYS.items())))
    assert a.read_bytes() == b.read_bytes()


def test_big_endian_and_strided_arrays_are_stored_plain(tmp_path: Path) -> None:
    odd = np.arange(24, dtype=">f4").reshape(4, 6)[::2, ::-1]
    path = write(tmp_path / "a", {"x": odd})
    arrays = dict(load(path, digest_of(path)))
    assert np.array_equal(arrays["x"], odd)
    assert arrays["x"].dtype == np.float32


@pytest.mark.parametrize("name", ["", "A", "a/b", "ä", "a" * 65, "a\n", "__metadata__ "])
def test_a_name_that_could_be_anything_else_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="array name"):
        list(encode({name: np.zeros(1)}))


@pytest.mark.parametrize("array", [np.array(["a"]), np.zeros(1, complex), np.array([None])])
def test_a_type_that_is_no_plain_number_is_refused(array: np.ndarray) -> None:
    with pytest.raises(ValueError, match="cannot be stored"):
        list(encode({"x": array}))


def test_a_mapped_array_is_read_only_and_equal(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"phi": ARRAYS["g"]})
    phi = view(path)["phi"]
    assert np.array_equal(phi, ARRAYS["g"])
    assert not phi.flags.writeable
    assert phi.ctypes.data % 64 == 0


def test_all_arrays_of_a_file_are_mapped(tmp_path: Path) -> None:
    found = view(write(tmp_path / "a", ARRAYS))
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert np.array_equal(found[name], array)


def test_a_check_of_values_takes_little_memory():
    """Red with: comparisons of 8 million values at a time (24 MB)."""
    array = np.zeros(1 << 23, np.int32)
    tracemalloc.start()
    try:
        assert violation("z", array, {"z": Invariant(Condition.INDEX)}) is None
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
