"""The array container: what is written is plain safetensors, what is read is not believed."""

from __future__ import annotations

import json
import random
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from pysgrld.run.files import digest_of, write_new
from pysgrld.run.tensors import DamagedError, check_header, encode, first_bad, load, view_one

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


def container(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype: object = "F32", shape: object = (2,), offsets: object = (0, 8)) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def test_round_trip_keeps_bits_shapes_and_types(tmp_path: Path) -> None:
    path = write(tmp_path / "a", ARRAYS)
    _, arrays = load(path, digest_of(path))
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def test_loaded_arrays_are_aligned_and_writable(tmp_path: Path) -> None:
    path = write(tmp_path / "a", ARRAYS)
    _, arrays = load(path, digest_of(path))
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
    _, arrays = load(path, digest_of(path))
    assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)


def test_equal_arrays_in_any_order_give_equal_bytes(tmp_path: Path) -> None:
    a = write(tmp_path / "a", ARRAYS)
    b = write(tmp_path / "b", dict(reversed(ARRAYS.items())))
    assert a.read_bytes() == b.read_bytes()


def test_big_endian_and_strided_arrays_are_stored_plain(tmp_path: Path) -> None:
    odd = np.arange(24, dtype=">f4").reshape(4, 6)[::2, ::-1]
    path = write(tmp_path / "a", {"x": odd})
    _, arrays = load(path, digest_of(path))
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


BIG = 1 << 62
LIES = {
    "empty file": b"",
    "seven bytes": b"\0" * 7,
    "length 2^62": BIG.to_bytes(8, "little") + b"{}",
    "length 2^64-1": b"\xff" * 8 + b"{}",
    "length beyond the file": (3).to_bytes(8, "little") + b"{}",
    "length 0": bytes(8),
    "length 17 MiB": (17 << 20).to_bytes(8, "little") + b" " * (17 << 20),
    "not json": container(b"{{"),
    "list": container([]),
    "number": container(b"1"),
    "null": container(b"null"),
    "not utf-8": container(b'{"\xff": 1}'),
    "nan": container(b'{"a": NaN}'),
    "deep": container(b"[" * 100_000),
    "key twice": container(
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
        b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b"x",
    ),
    "metadata": container({"__metadata__": {"a": "b"}}),
    "entry no table": container({"a": 1}),
    "key missing": container({"a": {"dtype": "F32", "shape": [2]}}, bytes(8)),
    "key too many": container({"a": {**tensor(), "x": 1}}, bytes(8)),
    "unknown dtype": container({"a": tensor("F128")}, bytes(8)),
    "object dtype": container({"a": tensor("O")}, bytes(8)),
    "dtype no text": container({"a": tensor(["F32"])}, bytes(8)),
    "shape overflow to 2": container({"a": tensor(shape=[1 << 32, 1 << 32])}, bytes(8)),
    "shape overflow past 64": container({"a": tensor(shape=[BIG, 4, 2])}, bytes(8)),
    "shape negative": container({"a": tensor(shape=[-1, -2])}, bytes(8)),
    "shape fraction": container({"a": tensor(shape=[2.0])}, bytes(8)),
    "shape true": container({"a": tensor(shape=[True, 2])}, bytes(8)),
    "shape text": container({"a": tensor(shape="2")}, bytes(8)),
    "shape of nine axes": container({"a": tensor(shape=[1] * 8 + [2])}, bytes(8)),
    "shape 10^400": container({"a": tensor(shape=[10**400])}, bytes(8)),
    "shape 10^5000": container(b'{"a":{"shape":[1' + b"0" * 5000 + b"]}}", bytes(8)),
    "offsets reversed": container({"a": tensor(offsets=[8, 0])}, bytes(8)),
    "offsets negative": container({"a": tensor(offsets=[-8, 0])}, bytes(8)),
    "offsets beyond": container({"a": tensor(offsets=[8, 16])}, bytes(8)),
    "offsets three": container({"a": tensor(offsets=[0, 8, 8])}, bytes(8)),
    "offsets none": container({"a": tensor(offsets=None)}, bytes(8)),
    "hole at the start": container({"a": tensor(offsets=[4, 12])}, bytes(12)),
    "hole between": container({"a": tensor(), "b": tensor(offsets=[9, 17])}, bytes(17)),
    "overlap": container({"a": tensor(), "b": tensor(offsets=[4, 12])}, bytes(12)),
    "same bytes twice": container({"a": tensor(), "b": tensor()}, bytes(8)),
    "data after the last": container({"a": tensor()}, bytes(9)),
    "data missing": container({"a": tensor()}, bytes(7)),
    "name with a slash": container({"../a": tensor()}, bytes(8)),
    "name in capitals": container({"A": tensor()}, bytes(8)),
    "too many arrays": container({f"a{i}": tensor("U8", [0], [0, 0]) for i in range(4097)}),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies_is_refused(lie: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(LIES[lie])
    with pytest.raises(DamagedError, match="/a: "):
        load(path, digest_of(path))


def test_mutated_headers_are_refused_or_describe_the_file_exactly() -> None:
    """Without the digest, so that the header's own checks are what is tested.

    Broken once: without the check for holes one of these was accepted.
    """
    rng = random.Random(5)
    good = b"".join(encode(ARRAYS))
    length = int.from_bytes(good[:8], "little")
    head, started, accepted = good[8 : 8 + length].rstrip(), time.monotonic(), 0
    values = ["0", "-1", "1e9", "4611686018427387904", "null", '""', "[]", "{}", "true", "NaN"]
    for _ in range(2000):
        text = bytearray(head)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            kind = rng.randrange(4)
            if kind == 0:
                text[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                del text[at : at + rng.randint(1, 20)]
            elif kind == 2:
                text[at:at] = rng.choice(values).encode()
            else:
                stop = rng.randrange(len(text))
                text[at:at] = text[min(at, stop) : max(at, stop)][:200]
            if not text:
                text = bytearray(b"{}")
        try:
            header = check_header(Path("a"), bytes(text), 8 + len(text) + len(good) - 8 - length)
        except DamagedError:
            continue
        accepted += 1
        position = 0
        for found in header.tensors:
            assert found.start == position
            position = found.stop
        assert position == len(good) - 8 - length
    assert accepted < 2000
    assert time.monotonic() - started < 10


def test_a_pickle_under_a_checkpoint_name_is_refused_and_not_run(tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    code = f"cos\nsystem\n(S'touch {canary}'\ntR.".encode()
    plain, packed = tmp_path / "plain.pt", tmp_path / "packed.npz"
    plain.write_bytes(code)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("g.npy", b"\x93NUMPY\x01\x00" + code)
    for path in (plain, packed):
        with pytest.raises(DamagedError):
            load(path, digest_of(path))
    assert not canary.exists()


def test_a_mapped_array_is_read_only_and_equal(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"phi": ARRAYS["g"]})
    phi = view_one(path, "phi")
    assert np.array_equal(phi, ARRAYS["g"])
    assert not phi.flags.writeable
    assert phi.ctypes.data % 64 == 0


def test_mapping_refuses_a_file_with_other_arrays(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match="other arrays"):
        view_one(write(tmp_path / "a", ARRAYS), "phi")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
def test_the_first_bad_value_is_found_with_its_index(value: float) -> None:
    g = np.ones((3, 4))
    g[1, 2] = value
    assert first_bad("g", g) == f"array 'g' has {value} at [1, 2]"
    assert first_bad("layer1.g", g) is not None


def test_logarithms_may_be_negative() -> None:
    assert first_bad("log_g", np.array([-3.0])) is None
    assert first_bad("counts", np.array([-3])) is None
