"""Files and folders that are whole or absent."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pysgrld.errors import OutputError, WriteError
from pysgrld.run import _failpoints
from pysgrld.run.files import refuse_full_folder, replace_file, replace_on_exit, temporary_name
from pysgrld.run.layout import check_outputs
from pysgrld.run.output_files import open_output


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    _failpoints.arm(None)


@pytest.mark.parametrize("action", ["EIO", "ENOSPC", "EDQUOT", "ESTALE"])
@pytest.mark.parametrize("point", ["open", "write", "fsync", "close", "rename"])
def test_a_failed_replacement_leaves_the_old_contents_alone(
    point: str, action: str, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("old")
    _failpoints.arm(f"t.{point}:{action}")
    with pytest.raises(OSError, match="fail point") as caught:
        replace_file(tmp_path / "a", [b"new"], "t")
    assert caught.value.errno == getattr(errno, action)
    assert (tmp_path / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_no_descriptor_leaks_when_writing_fails(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for point in ("open", "write", "fsync", "close", "rename", "fsync_folder"):
        _failpoints.arm(f"t.{point}:EIO")
        with pytest.raises(OSError, match="fail point"):
            replace_file(tmp_path / "a", [b"new"], "t")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with pytest.raises(RuntimeError), open_output(path) as file:  # noqa: PT012
        file.write(b"half")
        raise RuntimeError
    assert list(path.parent.iterdir()) == []
    with open_output(path) as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_process_has_left_of_a_file_is_removed_by_the_next_one(
    tmp_path: Path,
) -> None:
    """And nothing else is. Red with: a file for each kill, each of gigabytes, for ever."""
    others = [
        tmp_path / name
        for name in (temporary_name("other"), ".tmp-file-mine", ".tmp-file-0123456789abcdef")
    ]
    for path in others:
        path.touch()
    child = os.fork()
    if child == 0:
        with open_output(tmp_path / "file") as file:
            file.write(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (left,) = (path for path in tmp_path.iterdir() if path not in others)
    with open_output(tmp_path / "file") as first:  # a live one keeps its own
        first.write(b"first")
        assert not left.exists()
        with open_output(tmp_path / "file") as second:
            second.write(b"second")
        assert (tmp_path / "file").read_bytes() == b"second"
    assert (tmp_path / "file").read_bytes() == b"first"
    assert {*tmp_path.iterdir()} == {*others, tmp_path / "file"}


def test_a_file_that_cannot_be_made_or_written_ends_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with (
        pytest.raises(OutputError, match="cannot be created"),
        open_output(tmp_path / "file" / "a"),
    ):
        pass
    with (
        pytest.raises(WriteError, match=r"No space left.*free space"),
        open_output(tmp_path / "file"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert (tmp_path / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_appears_whole_where_none_or_an_empty_one_was(tmp_path: Path, there: bool) -> None:
    place = tmp_path / "place"
    if there:
        place.mkdir()
    with pytest.raises(RuntimeError), replace_on_exit(place, "t") as temporary:  # noqa: PT012
        temporary.mkdir()
        (temporary / "part").write_text("half")
        raise RuntimeError
    assert [path.name for path in tmp_path.rglob("*")] == ["place"] * there
    with replace_on_exit(place, "t") as temporary:
        temporary.mkdir()
        (temporary / "part").write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    assert (place / "part").read_text() == "whole"


def test_a_new_name_is_durable_only_after_its_folder_was_flushed(tmp_path: Path) -> None:
    """Red with: `Path.replace` without a flush of the folder, as exports had it."""
    _failpoints.passed = []
    try:
        with open_output(tmp_path / "a") as file:
            file.write(b"x")
        assert _failpoints.passed == ["output.rename", "output.fsync_folder"]
    finally:
        _failpoints.passed = None


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    file, folder, empty = tmp_path / "file", tmp_path / "folder", tmp_path / "empty"
    file.write_text("x")
    empty.mkdir()
    folder.mkdir()
    (folder / "x").write_text("x")
    check_outputs([tmp_path / "none"], force=False)
    check_outputs([file], force=True)
    with pytest.raises(OutputError, match="--force replaces it"):
        check_outputs([tmp_path / "none", file], force=False)
    with pytest.raises(OutputError, match="is a folder; give the name of a file"):
        check_outputs([empty], force=True)
    for name in ("config.json", "meta.json"):  # of a person's own project
        (tmp_path / name).write_text("{}")
    check_outputs([tmp_path / "vocab.txt", tmp_path / "corpus" / "topics.csv"], force=False)
    refuse_full_folder(tmp_path / "none", "advice")
    refuse_full_folder(empty, "advice")
    for path in (file, folder):
        with pytest.raises(OutputError, match=f"{path}: is there already; advice"):
            refuse_full_folder(path, "advice")
