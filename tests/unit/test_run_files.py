"""Durable files: whole or absent."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pysgrld.errors import OutputError, WriteError
from pysgrld.run import _failpoints, files, lock
from pysgrld.run.files import (
    convert_write_errors,
    digest_of,
    open_regular,
    parse_step,
    read_small,
    remove_folder,
    remove_stale,
    replace_file,
    step_name,
    write_new,
)
from pysgrld.run.lock import scratch_folder, scratch_name, sweep
from pysgrld.run.ownership import marked_name


@pytest.fixture(autouse=True)
def _disarm() -> Iterator[None]:
    yield
    _failpoints.arm(None)
    _failpoints.passed = None


def test_what_is_written_agrees_with_its_digest(tmp_path: Path) -> None:
    written = write_new(tmp_path / "a", [b"abc", b"", bytes(9 << 20)], "t")
    assert written == digest_of(tmp_path / "a")
    assert written.size == 3 + (9 << 20)


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", [b"new"], "t")
    assert (tmp_path / "a").read_text() == "old"


def test_short_writes_are_continued(tmp_path: Path) -> None:
    data = os.urandom(100_000)
    _failpoints.arm("t.write:short:1+")
    write_new(tmp_path / "a", [data], "t")
    assert (tmp_path / "a").read_bytes() == data


def test_a_failed_call_becomes_one_sentence_with_exit_code_74(tmp_path: Path) -> None:
    _failpoints.arm("t.write:ENOSPC")
    with (
        pytest.raises(WriteError, match=r"a: cannot be written: .*No space left") as caught,
        convert_write_errors(tmp_path / "a"),
    ):
        replace_file(tmp_path / "a", [b"new"], "t")
    assert caught.value.exit_code == 74
    assert "\n" not in str(caught.value)


def test_a_pipe_does_not_block_and_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"), open_regular(tmp_path / "pipe"):
        pass


@pytest.mark.parametrize("target", ["file", "/dev/zero"])
def test_a_symbolic_link_is_refused(target: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(OSError, match=r"ymbolic"):
        read_small(tmp_path / "link")


def test_a_device_is_refused() -> None:
    with pytest.raises(OSError, match="not a regular file"):
        read_small(Path("/dev/zero"))


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(11))
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_small(tmp_path / "a", 10)


def test_stale_files_and_folders_are_removed_and_others_left(tmp_path: Path) -> None:
    """Red with: names that only look like ours, as before names had a checksum."""
    a, c, b = (marked_name(stem) for stem in (".tmp-a", ".tmp-c", ".trash-b"))
    (tmp_path / a).mkdir()
    (tmp_path / a / "inner").write_text("x")
    (tmp_path / b).mkdir()
    (tmp_path / b / "folder").mkdir()
    (tmp_path / c).write_text("x")
    kept = [".tmp-thesis", f"{a}.tex", ".trash-bin", "keep", ".tmp-a-0123abcd"]
    kept += [".tmp-a-0123456789abcdef", marked_name("a")]
    for name in kept:
        (tmp_path / name).write_text("x")
    assert sorted(remove_stale(tmp_path, "t")) == sorted([a, c, b])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def test_a_folder_that_another_process_sweeps_before_it_is_held_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red with: the folder that the other process is removing, used as if locks did not work."""
    hold, seen = lock.hold_folder, []

    def swept_first(path: Path) -> int | None:
        if seen:
            return hold(path)
        seen.append(path)
        other = hold(path)
        assert other is not None
        try:
            return hold(path)
        finally:
            path.rmdir()
            os.close(other)

    monkeypatch.setattr(lock, "hold_folder", swept_first)
    with scratch_folder(tmp_path) as folder:
        assert folder not in seen
        (folder / "work").mkdir()
    assert not list(tmp_path.iterdir())


def test_folders_for_work_are_swept_only_by_the_names_they_are_given(tmp_path: Path) -> None:
    """Red with: whatever begins as they do; a link followed."""
    left = tmp_path / scratch_name()
    left.mkdir()
    others = [tmp_path / f"{left.name[:-8]}{digits}" for digits in ("thesis", "01234567")]
    for other in others:
        other.mkdir()
        (other / "thesis.tex").write_text("x")
    (tmp_path / scratch_name()).symlink_to(others[0])
    sweep(tmp_path)
    assert not left.exists()
    assert all((other / "thesis.tex").exists() for other in others)


def test_a_deletion_that_fails_in_the_middle_leaves_no_half_under_the_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("x")
    _failpoints.arm("t.unlink:EIO")
    with pytest.raises(OSError, match="fail point"):
        remove_folder(tmp_path / "a", "t", ["x"])
    assert not (tmp_path / "a").exists()


def test_a_folder_with_a_file_of_the_user_is_not_removed(tmp_path: Path) -> None:
    """Red with: notes that a user put beside the files of a checkpoint, deleted with it."""
    for name in ("x", "notes.txt"):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / name).write_text(name)
    with pytest.raises(OutputError, match=r"a/notes\.txt: was not written by sgmc"):
        remove_folder(tmp_path / "a", "t", ["x"])
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["notes.txt", "x"]


def test_steps_have_eight_digits_or_more() -> None:
    assert step_name(12_000) == "step-00012000"
    assert parse_step("step-00012000") == 12_000
    assert parse_step(step_name(123_456_789)) == 123_456_789


@pytest.mark.parametrize(
    "name", ["step-1", "step-000000001", "step-0000000a", "step-00000001.x", ".tmp-step-00000001"]
)
def test_no_other_name_is_a_step(name: str) -> None:
    assert parse_step(name) is None


def test_fail_points_count_and_match_by_pattern() -> None:
    _failpoints.arm("a.*:EIO:2")
    assert not files.fail_point("a.write")
    assert not files.fail_point("b.write")
    with pytest.raises(OSError, match=r"a\.fsync"):
        files.fail_point("a.fsync")
    assert not files.fail_point("a.write")


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown action"):
        _failpoints.arm("a:explode")


@pytest.mark.parametrize("code", ["EINVAL", "ENOTSUP", "ENOSYS"])
def test_a_file_system_that_cannot_flush_is_no_error(tmp_path: Path, code: str) -> None:
    """As SQLite and git have it. Red with: a training that ended with 74 at its first checkpoint."""
    for point in ("t.fsync", "t.fsync_folder"):
        _failpoints.arm(f"{point}:{code}:1+")
        assert replace_file(tmp_path / "a", [b"abc"], "t").size == 3
        assert (tmp_path / "a").read_bytes() == b"abc"


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "free space and try again"),
        (errno.EDQUOT, "free space in your quota and try again"),
        (errno.EXDEV, "use a folder that is on a single file system"),
        (errno.EIO, "the disk or its connection may be faulty: check it, or use another disk"),
        (errno.EROFS, "use another folder"),
    ],
)
def test_the_advice_fits_the_error(tmp_path: Path, code: int, advice: str) -> None:
    """Red with: "free space or repair the disk" for all of them."""
    with pytest.raises(WriteError) as caught, convert_write_errors(tmp_path / "a"):
        raise OSError(code, os.strerror(code))
    reason = os.strerror(code)
    assert str(caught.value) == f"{tmp_path / 'a'}: cannot be written: {reason}; {advice}"
