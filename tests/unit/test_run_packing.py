"""Compressed arrays of checkpoints: every bit comes back, and no frame is trusted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from pysgrld.run import packing
from pysgrld.run.files import digest_of
from pysgrld.run.tensors import DamagedError, encode, format_header, load

RNG = np.random.default_rng(1)
#: Topics with columns of padding, tokens' topics, one long row, and an array without a gain.
ARRAYS = {
    "phi.g": np.pad(RNG.gamma(0.1, size=(9000, 5)).astype(np.float32), ((0, 0), (0, 11))),
    "posterior.sum.phi": np.pad(RNG.random((30_001, 5)), ((0, 0), (0, 11))),
    "z": RNG.integers(0, 9, 300_001, np.uint8),
    "spread": np.repeat(RNG.random((2, 1, 3)), 70_000, axis=1) + RNG.integers(0, 9, (2, 70_000, 3)),
    "wide": RNG.random((2, 200_000)).astype(np.float32),
    "noise": RNG.integers(0, 256, 1 << 17, np.uint8),
    "small": np.zeros(9),
    "none": np.zeros((0, 16), np.float32),
}


def write(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    path.write_bytes(b"".join(encode(arrays, compress=True)))
    return path


def test_every_bit_comes_back_from_a_smaller_file(tmp_path):
    """Red with: blocks in another order; the last, shorter block left out."""
    path = write(tmp_path / "a", ARRAYS)
    assert path.stat().st_size < sum(a.nbytes for a in ARRAYS.values()) / 2
    read = load(path, digest_of(path))
    for _ in range(2):  # a large array is read again at each access
        for name, array in ARRAYS.items():
            assert read[name].dtype == array.dtype
            assert read[name].shape == array.shape
            assert read[name].tobytes() == array.tobytes()
    plain = {name for name, array in load_file(path).items() if array.shape == ARRAYS[name].shape}
    assert plain == {"noise", "small", "none"}


@pytest.mark.parametrize("shape", [(1 << 20,), (9001, 7), (1 << 22, 1)])
def test_a_frame_has_an_eighth_of_the_bytes_of_its_array_at_least(tmp_path, shape):
    """The size of a file limits the memory of its reader. Red with: a ratio of 64, no padding."""
    zeros = {"a": np.zeros(shape)}
    path = write(tmp_path / "a", zeros)
    packed = load_file(path)["a"]
    assert packed.dtype == np.uint8
    assert 0 <= packed.nbytes - zeros["a"].nbytes / 8 < 9
    assert load(path, digest_of(path))["a"].tobytes() == zeros["a"].tobytes()


def test_an_array_of_more_than_eight_times_its_frame_is_refused(tmp_path):
    """Red with: a ratio of 64, so that 5 MB in a checkpoint took 320 MB."""
    frame = b"".join(packing.pack(np.zeros(1 << 17)))[: 1 << 17]
    entry = {"dtype": "F64", "shape": [1 << 17]}
    path = tmp_path / "a"
    path.write_bytes(format_header({"a": entry}, {"a": len(frame) - 1}) + frame[:-1])
    with pytest.raises(DamagedError, match="wrong type or shape for compressed array 'a'"):
        load(path, digest_of(path))


@pytest.mark.parametrize(
    ("form", "cut", "message"),
    [
        ("F64 30001 16", 40, "'a': the (data cannot be decompressed|decompressed data is shorter)"),
        ("F64 30002 16", 0, "'a': the decompressed data is shorter than the array"),
        ("F64 30000 16", 0, "'a': the decompressed data is longer than the array"),
        ("F64 30001 160000", 0, "wrong type or shape for compressed array 'a'"),
        ("F64 0 16", 0, "wrong type or shape for compressed array 'a'"),
        ("F65 30001 16", 0, "wrong type or shape for compressed array 'a'"),
        ("F64", 0, "wrong type or shape for compressed array 'a'"),
        (3, 0, "wrong type or shape for compressed array 'a'"),
    ],
)
def test_a_frame_that_is_not_its_array_is_refused(tmp_path, form, cut, message):
    """Red with: a header that is trusted (a crash, or values from fresh memory)."""
    array = ARRAYS["posterior.sum.phi"]
    frame = b"".join(packing.pack(array))
    frame = frame[: len(frame) - cut]
    entry = {"dtype": "F64", "shape": list(array.shape)}
    head = format_header({"a": entry}, {"a": len(frame)})
    old = b'"F64 30001 16"'
    new = b"3" if form == 3 else f'"{form}"'.encode()
    assert head.count(old) == 1
    text = head[8:].rstrip().replace(old, new)
    text += b" " * (-(len(text) + 8) % 64)
    path = tmp_path / "a"
    path.write_bytes(len(text).to_bytes(8, "little") + text + frame)
    with pytest.raises(DamagedError, match=message):
        load(path, digest_of(path))
