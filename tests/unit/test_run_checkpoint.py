"""Checkpoints: whole or refused, and nothing on disk can make one that was not written."""

from __future__ import annotations

import json
import pickle
import shutil
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pysgrld.core.restore import Within, restore_arrays
from pysgrld.errors import (
    CheckpointError,
    MismatchError,
    MissingInputError,
    NumericalError,
    WriteError,
)
from pysgrld.run import RunDirectory, _failpoints, list_checkpoints, verify_checkpoint
from pysgrld.run.checkpoint_read import checkpoint_folders, read_checkpoint, read_manifest, seal
from pysgrld.run.files import digest_of
from pysgrld.run.jsonio import read_lines
from pysgrld.run.tensors import DamagedError, encode, load

CONFIG = {
    "schema": 1,
    "options": {"topics": 3, "seed": 0, "algo": "scir", "threads": 1, "eta": 0.05},
    "corpus": {"name": "toy", "fingerprint": "abc"},
}


def arrays(step: int) -> dict[str, np.ndarray]:
    return {
        "phi.g": np.full((4, 16), step + 0.5, np.float32),
        "mean": np.arange(12, dtype=np.float64) * step,
        "t": np.array(step),
    }


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDirectory]:
    made = RunDirectory.create(tmp_path / "run", CONFIG, ["a", "b", "c", "d"])
    with made.lock():
        yield made
    _failpoints.arm(None)


def save(run: RunDirectory, *steps: int, keep: int = 9) -> None:
    for step in steps:
        run.save_checkpoint(step, arrays(step), {"seconds": step / 4}, keep=keep)


def folder(run: RunDirectory, step: int) -> Path:
    return run.path / "checkpoints" / f"step-{step:08d}"


def names(run: RunDirectory) -> list[str]:
    return sorted(path.name for path in (run.path / "checkpoints").iterdir())


def reseal(path: Path, **changes: object) -> None:
    """Write a manifest that is whole but says something else."""
    content = read_manifest(path) | changes
    (path / "manifest.json").write_bytes(seal(content))


# ---- what is saved comes back


def test_the_newest_checkpoint_comes_back_bit_for_bit(run: RunDirectory) -> None:
    save(run, 100, 200)
    found = run.load_checkpoint(required=True)
    assert found is not None
    assert (found.step, found.meta, found.path) == (200, {"seconds": 50.0}, folder(run, 200))
    assert found.arrays.keys() == arrays(200).keys()
    for name, array in arrays(200).items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].tobytes() == array.tobytes()


def test_equal_states_are_equal_files(run: RunDirectory, tmp_path: Path) -> None:
    other = RunDirectory.create(tmp_path / "other", CONFIG, ["a", "b", "c", "d"])
    save(run, 100)
    with other.lock():
        other.save_checkpoint(100, dict(reversed(arrays(100).items())), {}, keep=1)
    ours, theirs = (folder(r, 100) / "state.safetensors" for r in (run, other))
    assert ours.read_bytes() == theirs.read_bytes()


def test_numpy_scalars_in_meta_come_back_as_plain_values(run: RunDirectory) -> None:
    run.save_checkpoint(1, {}, {"a": np.int64(3), "b": np.float64(0.1), "c": (1, 2)}, keep=1)
    found = run.load_checkpoint(required=True)
    assert found is not None
    assert found.meta == {"a": 3, "b": 0.1, "c": [1, 2]}


def test_without_a_checkpoint_there_is_none_unless_one_is_required(run: RunDirectory) -> None:
    assert run.load_checkpoint(required=False) is None
    with pytest.raises(CheckpointError, match="no checkpoint; start again"):
        run.load_checkpoint(required=True)


def test_saving_needs_the_lock(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", CONFIG, ["a"])
    with pytest.raises(RuntimeError, match="lock"):
        save(run, 1)


def test_the_newest_ones_are_kept(run: RunDirectory) -> None:
    save(run, 1, 2, 3, 4, 5, keep=3)
    assert names(run) == ["latest", "step-00000003", "step-00000004", "step-00000005"]


def test_keeping_less_than_one_keeps_the_one_just_written(run: RunDirectory) -> None:
    save(run, 1, 2, keep=0)
    assert names(run) == ["latest", "step-00000002"]


def test_the_one_just_written_is_never_deleted(run: RunDirectory) -> None:
    save(run, 5)
    save(run, 3, keep=1)
    assert names(run) == ["latest", "step-00000003", "step-00000005"]


def test_the_hint_is_not_believed(run: RunDirectory) -> None:
    save(run, 1, 2)
    (run.path / "checkpoints" / "latest").write_text("../../../etc")
    found = run.load_checkpoint(required=True)
    assert found is not None
    assert found.step == 2


def test_the_same_step_again_with_the_same_state_is_left_as_it_is(run: RunDirectory) -> None:
    save(run, 1)
    before = (folder(run, 1) / "manifest.json").stat().st_ino
    save(run, 1)
    assert (folder(run, 1) / "manifest.json").stat().st_ino == before


def test_the_same_step_again_after_more_metrics_replaces_it(run: RunDirectory) -> None:
    save(run, 1)
    run.append_metrics({"iteration": 1})
    save(run, 1)
    run.rewind(run.load_checkpoint(required=True))
    assert run.read_metrics() == [{"iteration": 1}]
    assert names(run) == ["latest", "step-00000001"]


def test_a_damaged_one_of_the_same_step_is_set_aside(run: RunDirectory) -> None:
    save(run, 1)
    (folder(run, 1) / "state.safetensors").write_bytes(b"")
    save(run, 1)
    assert verify_checkpoint(folder(run, 1)).problem is None
    assert names(run)[0].startswith(".corrupt-step-00000001")


def test_nothing_that_is_not_finite_is_ever_written(run: RunDirectory) -> None:
    save(run, 1)
    bad = arrays(2)
    bad["phi.g"][2, 3] = np.nan
    with pytest.raises(NumericalError, match=r"'phi\.g' has nan at \[2, 3\]") as caught:
        run.save_checkpoint(2, bad, {}, keep=1)
    assert caught.value.exit_code == 86
    assert names(run) == ["latest", "step-00000001"]


def test_nan_in_meta_is_refused_before_anything_is_written(run: RunDirectory) -> None:
    with pytest.raises(ValueError, match=r"manifest\.meta\.x is nan"):
        run.save_checkpoint(1, arrays(1), {"x": float("nan")}, keep=1)
    assert names(run) == []


# ---- damage


def test_a_damaged_newest_one_is_reported_set_aside_and_the_one_before_is_used(
    run: RunDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    save(run, 1, 2)
    state = folder(run, 2) / "state.safetensors"
    data = bytearray(state.read_bytes())
    data[-1] ^= 1
    state.write_bytes(data)
    found = run.load_checkpoint(required=False)
    assert found is not None
    assert found.step == 1
    assert "step-00000002/state.safetensors: SHA-256 differs" in caplog.text
    assert names(run) == [".corrupt-step-00000002", "latest", "step-00000001"]
    event = read_lines(run.path / "log.jsonl")[-1]
    assert event["event"] == "damaged checkpoint"
    assert "state.safetensors: SHA-256" in event["problem"]


def test_a_reader_without_the_lock_renames_nothing(run: RunDirectory) -> None:
    save(run, 1, 2)
    (folder(run, 2) / "manifest.json").write_text("{}")
    found = RunDirectory.open(run.path).load_checkpoint(required=True)
    assert found is not None
    assert found.step == 1
    assert names(run) == ["latest", "step-00000001", "step-00000002"]


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"},
        {"files": {}},
        {"files": {"state.safetensors": 5}},
        {"files": {"state.safetensors": {"size": -1, "sha256": ""}}},
        {"files": {"state.safetensors": {"size": 1 << 80, "sha256": ""}}},
        {"step": 2},
        {"step": "1"},
        {"tensors": {}},
        {"meta": []},
        {"min_reader": None},
        {"append": {"metrics.jsonl": {"size": "1", "sha256": ""}}},
    ],
)
def test_a_whole_manifest_with_nonsense_is_refused(
    changes: dict[str, object], run: RunDirectory
) -> None:
    save(run, 1)
    reseal(folder(run, 1), **changes)
    with pytest.raises(DamagedError):
        read_checkpoint(folder(run, 1), run.identity)


def test_a_folder_under_another_step_is_refused(run: RunDirectory) -> None:
    save(run, 1)
    folder(run, 1).rename(folder(run, 7))
    with pytest.raises(CheckpointError, match="records step 1, but is in the folder step-00000007"):
        run.load_checkpoint(required=False)


# ---- whose checkpoint it is


@pytest.mark.parametrize(
    ("option", "value"), [("topics", 4), ("seed", 1), ("algo", "sgrld"), ("eta", 0.1)]
)
def test_another_configuration_is_a_mismatch_with_its_difference(
    option: str, value: object, run: RunDirectory
) -> None:
    save(run, 1)
    path = run.path / "config.json"
    config = json.loads(path.read_text())
    old = config["options"][option]
    config["options"][option] = value
    path.write_text(json.dumps(config))
    with pytest.raises(MismatchError) as caught:
        RunDirectory.open(run.path).load_checkpoint(required=False)
    assert caught.value.exit_code == 78
    assert str(caught.value).splitlines()[1:] == [f"  {option}: {old} -> {value}"]


def test_the_checkpoint_of_another_run_is_a_mismatch(run: RunDirectory, tmp_path: Path) -> None:
    config = {**CONFIG, "corpus": {"name": "toy", "fingerprint": "xyz"}}
    other = RunDirectory.create(tmp_path / "other", config, ["a", "b", "c", "d"])
    with other.lock():
        save(other, 5)
    shutil.copytree(folder(other, 5), folder(run, 5))
    with pytest.raises(MismatchError, match="corpus: xyz -> abc"):
        run.load_checkpoint(required=False)


# ---- failing system calls


def points_of_a_save(run: RunDirectory) -> int:
    _failpoints.passed = []
    save(run, 3, keep=1)
    count = len(_failpoints.passed)
    _failpoints.passed = None
    return count


@pytest.mark.parametrize(
    ("action", "suffix"),
    [
        ("EIO", ""),
        ("ENOSPC", "+"),
        *(pytest.param(*c, marks=pytest.mark.nightly) for c in (("EIO", "+"), ("ENOSPC", ""))),
    ],
)
def test_any_failing_call_leaves_the_old_ones_and_no_remains(
    action: str, suffix: str, run: RunDirectory, tmp_path: Path
) -> None:
    """The nth call fails, once or for ever, for all n."""
    save(run, 1, 2)
    shutil.copytree(run.path, tmp_path / "copy")
    count = points_of_a_save(run)
    assert count > 20
    for nth in range(1, count + 1):
        shutil.rmtree(run.path / "checkpoints")
        shutil.copytree(tmp_path / "copy" / "checkpoints", run.path / "checkpoints")
        _failpoints.arm(f"*:{action}:{nth}{suffix}")
        failure: WriteError | None = None
        try:
            save(run, 3, keep=1)
        except WriteError as error:
            failure = error
        _failpoints.arm(None)
        if failure is not None:
            assert failure.exit_code == 74
            assert "last good checkpoint: step-0000000" in str(failure)
            assert {"step-00000001", "step-00000002"} <= set(names(run))
        found = run.load_checkpoint(required=True)
        assert found is not None
        assert found.step in ((3,) if failure is None else (2, 3))
        assert not [n for n in names(run) if n.startswith(".tmp-") and "step" in n]
        save(run, 3, keep=1)
        assert names(run) == ["latest", "step-00000003"]


def test_short_writes_change_nothing(run: RunDirectory) -> None:
    save(run, 1)
    before = (folder(run, 1) / "state.safetensors").read_bytes()
    shutil.rmtree(folder(run, 1))
    _failpoints.arm("*.write:short:1+")
    save(run, 1)
    assert (folder(run, 1) / "state.safetensors").read_bytes() == before
    assert verify_checkpoint(folder(run, 1)).verified


def test_a_run_that_was_removed_is_not_made_again(run: RunDirectory) -> None:
    shutil.rmtree(run.path)
    with pytest.raises(WriteError, match="run: was removed"):
        save(run, 1)
    for write in (
        lambda: run.append_metrics({}),
        lambda: run.log_event("x"),
        lambda: run.set_status("running"),
        lambda: run.samples.write(1, {"phi": np.ones((1, 1))}),
    ):
        with pytest.raises(WriteError):
            write()
    assert not run.path.exists()


# ---- looking


# ---- arrays that two checkpoints share


def refined(run: RunDirectory, step: int) -> Path:
    """Save a checkpoint after the end of training at step 1, whose arrays did not change."""
    return run.save_checkpoint(step, {"exact.z": np.array(step)}, {}, keep=9, training=arrays(1))


def test_checkpoints_share_the_file_of_arrays_that_did_not_change(run: RunDirectory) -> None:
    """Red with: a second copy of the arrays; a checkpoint that needs the folder of the other one."""
    save(run, 1)
    second, third = refined(run, 2), refined(run, 3)
    files = (
        folder(run, 1) / "state.safetensors",
        *(p / "training.safetensors" for p in (second, third)),
    )
    assert len({path.stat().st_ino for path in files}) == 1
    shutil.copytree(run.path, run.path.with_name("copy"))
    for path in (folder(run, 1), second):
        shutil.rmtree(path)
    for whole in (third, run.path.with_name("copy") / "checkpoints" / third.name):
        found = read_checkpoint(whole, None).arrays
        assert sorted(found) == ["exact.z", "mean", "phi.g", "t"]
        np.testing.assert_array_equal(found["mean"], arrays(1)["mean"])
    report = verify_checkpoint(third)
    assert report.verified
    assert report.size == sum(path.stat().st_size for path in third.glob("*.safetensors"))


@pytest.mark.parametrize("problem", ["no links", "damaged", "changed"])
def test_arrays_that_cannot_be_shared_are_written_again(run: RunDirectory, problem: str) -> None:
    """Red with: a link that must succeed; a link to a damaged file or to one of other values."""
    save(run, 2 if problem == "changed" else 1)
    first = next(run.path.glob("checkpoints/step-*/state.safetensors"))
    if problem == "damaged":
        data = bytearray(first.read_bytes())
        data[-1] ^= 1
        first.write_bytes(data)
    if problem == "no links":
        _failpoints.arm("training.link:EPERM")
    second = refined(run, 3)
    assert not first.samefile(second / "training.safetensors")
    assert verify_checkpoint(second).verified
    if problem == "damaged":
        found = run.load_checkpoint(required=True)
        assert found is not None
        assert found.step == 3


def test_a_damaged_or_lost_file_of_shared_arrays_is_named(run: RunDirectory) -> None:
    """Red with: a check of the first file only; an array that two files have."""
    second = refined(run, 2)
    path = second / "training.safetensors"
    path.rename(path.with_name("away"))
    with pytest.raises(DamagedError, match=r"training\.safetensors: No such file"):
        read_checkpoint(second, None)
    assert "training.safetensors" in str(list_checkpoints(run.path)[0].problem)
    path.write_bytes((second / "state.safetensors").read_bytes())
    reseal(second, files={p.name: digest_of(p)._asdict() for p in second.glob("*.safetensors")})
    with pytest.raises(DamagedError, match="names, types or shapes of arrays differ"):
        read_checkpoint(second, None)


def test_a_failed_write_of_shared_arrays_leaves_the_older_checkpoint(run: RunDirectory) -> None:
    """Red with: a checkpoint that is committed without its second file."""
    save(run, 2)
    _failpoints.arm("training.write:ENOSPC")
    with pytest.raises(WriteError, match="step 3 cannot be written"):
        refined(run, 3)
    assert names(run) == ["latest", "step-00000002"]


def test_listing_reads_manifests_and_changes_nothing(run: RunDirectory) -> None:
    save(run, 1, 2)
    (folder(run, 1) / "manifest.json").write_text("{}")
    first, second = list_checkpoints(run.path)
    assert (first.step, second.step) == (1, 2)
    assert first.problem is not None
    assert second.problem is None
    assert not second.verified
    assert second.tensors["phi.g"] == {"dtype": "F32", "shape": [4, 16]}
    assert names(run) == ["latest", "step-00000001", "step-00000002"]


def test_verifying_reads_every_byte(run: RunDirectory) -> None:
    save(run, 1)
    assert verify_checkpoint(folder(run, 1)).verified
    state = folder(run, 1) / "state.safetensors"
    data = bytearray(state.read_bytes())
    data[-1] ^= 1
    state.write_bytes(data)
    assert list_checkpoints(run.path)[0].problem is None
    report = verify_checkpoint(folder(run, 1))
    assert not report.verified
    assert report.problem is not None
    assert "SHA-256" in report.problem


def test_looking_for_what_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="is not a run"):
        list_checkpoints(tmp_path)
    with pytest.raises(MissingInputError, match="is not a checkpoint"):
        verify_checkpoint(tmp_path / "step-00000001")


def test_a_list_whose_checkpoints_were_all_replaced_meanwhile_is_made_again(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red with: one look at the folder. A run that trains is then said to have no checkpoint."""
    save(run, 2)
    there = checkpoint_folders
    looks = iter([[(1, folder(run, 1))]])
    monkeypatch.setattr(
        "pysgrld.run.checkpoint_read.checkpoint_folders",
        lambda path: next(looks, None) or there(path),
    )
    assert [report.step for report in list_checkpoints(run.path)] == [2]


def test_large_arrays_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    """Red with: all in memory; what was changed since it was verified, believed; a file found by name."""
    path = tmp_path / "arrays"
    large = np.arange(400_000, dtype=np.float64)
    path.write_bytes(b"".join(encode({"large": large, "small": large[:3]})))
    arrays = load(path, digest_of(path))
    assert list(arrays) == ["large", "small"]
    first = arrays["large"]
    np.testing.assert_array_equal(first, large)
    assert first is not arrays["large"]
    first[:] = 0  # whoever asked owns it
    copied = pickle.loads(pickle.dumps(arrays))
    assert type(copied) is dict
    np.testing.assert_array_equal(copied["large"], large)
    with ThreadPoolExecutor(4) as pool:  # which share the open file
        for found in pool.map(lambda _: arrays["large"], range(40)):
            np.testing.assert_array_equal(found, large)
    np.testing.assert_array_equal(arrays["large"], large)
    path.rename(tmp_path / "other")
    np.testing.assert_array_equal(Within(arrays, "la")["rge"], large)
    with (tmp_path / "other").open("r+b") as file:
        file.seek(-100, 2)
        file.write(b"\x01")
    np.testing.assert_array_equal(arrays["small"], large[:3])
    assert "large" in arrays
    with pytest.raises(CheckpointError, match="changed during reading"):
        arrays["large"]
    (tmp_path / "other").write_bytes(b"")
    with pytest.raises(CheckpointError, match="cannot be read any more"):
        arrays["large"]


def test_a_state_is_restored_with_one_array_of_the_checkpoint_at_a_time():
    """Red with: each read for its shape and once more for its values, the last one held meanwhile.

    A run that goes on then needed more memory than one that begins.
    """
    there: list[weakref.ref[np.ndarray]] = []

    class Lazy(Within):
        def __getitem__(self, name):
            assert not [ref for ref in there if ref() is not None]
            array = super().__getitem__(name).copy()
            there.append(weakref.ref(array))
            return array

    own = {name: np.zeros(5) for name in "abc"}
    restore_arrays(own, Lazy({f"x.{name}": np.arange(5.0) for name in "abc"}, "x."))
    assert len(there) == 3
    assert all((array == np.arange(5.0)).all() for array in own.values())
    with pytest.raises(CheckpointError, match="lacks array 'b'"):
        restore_arrays(own, {"a": np.zeros(5)})
    with pytest.raises(
        CheckpointError,
        match=r"array 'a' of the checkpoint has type float64 and shape \(4,\), but this",
    ):
        restore_arrays(own, {"a": np.zeros(4)})
