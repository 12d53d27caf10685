"""Run directories with arbitrary inputs."""

from __future__ import annotations

import json
import string
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from trial_counts import examples

from pysgrld.run import RunDirectory, packing
from pysgrld.run.checkpoint_read import seal, unseal
from pysgrld.run.files import digest_of, write_new
from pysgrld.run.identity import differences, identity
from pysgrld.run.tensors import DamagedError, check_header, encode, load

NAMES = st.text(string.ascii_lowercase + string.digits + "_.", min_size=1, max_size=64)
DTYPES = st.sampled_from(["f4", "f8", "f2", "i1", "u1", "i2", "i4", "u4", "i8", "u8", "?", ">i4"])
ARRAYS = st.dictionaries(
    NAMES, arrays_of.arrays(DTYPES, arrays_of.array_shapes(min_dims=0, min_side=0)), max_size=5
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(string.ascii_letters, max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)
TABLE = st.dictionaries(st.text(string.ascii_letters, max_size=8), JSON, max_size=6)
FEW = settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))


@FEW
@given(ARRAYS, st.booleans())
def test_any_arrays_come_back_bit_for_bit(given_arrays: dict[str, np.ndarray], few: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(packing, "LEAST", 1):
        path = Path(folder) / "a"
        written = write_new(path, encode(given_arrays, compress=few), "test")
        assert written == digest_of(path)
        found = dict(load(path, written))
    assert found.keys() == given_arrays.keys()
    for name, array in given_arrays.items():
        little = array.astype(array.dtype.newbyteorder("<"))
        assert found[name].dtype == little.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == little.tobytes()


@settings(max_examples=examples(150), deadline=None)
@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_header_is_refused_in_one_way(head: bytes) -> None:
    try:
        check_header(Path("a"), head, 8 + len(head))
    except DamagedError:
        return
    assert json.loads(head) == {}


@settings(max_examples=examples(150), deadline=None)
@given(
    st.dictionaries(
        NAMES,
        st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(["F32", "U8", "I64"]),
                "shape": st.lists(st.integers(-2, 5) | st.just(1 << 61), max_size=3),
                "data_offsets": st.lists(st.integers(-1, 40), min_size=1, max_size=3),
            }
        ),
        max_size=4,
    )
)
def test_a_header_is_accepted_only_if_its_arrays_fill_the_file(table: dict[str, Any]) -> None:
    head = json.dumps(table).encode()
    try:
        header = check_header(Path("a"), head, 8 + len(head) + 40)
    except DamagedError:
        return
    covered = sorted(byte for t in header.tensors for byte in range(t.start, t.stop))
    assert covered == list(range(40))


@FEW
@given(TABLE)
def test_any_manifest_comes_back_and_its_bytes_are_canonical(content: dict[str, Any]) -> None:
    content = {"a": 1} | content  # a manifest says something
    content.pop("digest", None)
    data = seal(content)
    assert unseal(Path("a"), data) == content
    assert seal(content) == data


@settings(max_examples=examples(100), deadline=None)
@given(TABLE, st.data())
def test_any_change_of_a_manifest_is_refused(content: dict[str, Any], data: st.DataObject) -> None:
    content = {"a": 1} | content
    content.pop("digest", None)
    sealed = bytearray(seal(content))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    try:
        unseal(Path("a"), bytes(sealed))
    except DamagedError:
        return
    raise AssertionError("a changed manifest was accepted")


@FEW
@given(TABLE, TABLE)
def test_two_configurations_are_the_same_exactly_if_no_difference_is_shown(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    first, second = (identity({"options": options}, free=()) for options in (one, two))
    assert (differences(first.fields, second.fields) == []) == (first.digest == second.digest)
    assert differences(first.fields, first.fields) == []


@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(["train", "save", "drop", "stop"]), max_size=25))
def test_any_order_of_stops_gives_back_the_record_of_the_last_checkpoint(
    actions: list[str],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = RunDirectory.create(Path(folder) / "run", {"options": {}}, ["a"])
        phi, step = np.ones((1, 1), np.float32), 0
        saved: tuple[int, list[int], list[int]] = (0, [], [])
        with run.lock():
            for action in actions:
                if action == "train":
                    step += 1
                    run.append_metrics({"iteration": step})
                    run.samples.write(step, {"phi": phi})
                elif action == "drop" and run.samples.steps():
                    run.samples.drop(run.samples.steps()[0])
                elif action == "save" and step:
                    state = {"t": np.array([step])}
                    run.save_checkpoint(step, state, {}, keep=2)
                    lines = [line["iteration"] for line in run.read_metrics()]
                    saved = (step, lines, run.samples.steps())
                elif action == "stop":
                    found = run.load_checkpoint(required=False)
                    run.rewind(found)
                    step = found.step if found else 0
                    lines = [line["iteration"] for line in run.read_metrics()]
                    assert (step, lines, run.samples.steps()) == saved
