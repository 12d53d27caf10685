"""Paths that a person names: their kind, and a file or a pipe that is opened to be read."""

import os
import sys
import threading
import time

import pytest

from pysgrld.errors import CorpusError, Interrupted, MissingInputError, OutputError
from pysgrld.options.paths import (
    Kind,
    is_stream,
    list_folder,
    open_input,
    path_error,
    path_kind,
    read_input,
    resolve_path,
    while_waiting,
)
from pysgrld.run import StopFlag


def test_a_path_is_a_file_a_folder_a_stream_or_nothing(tmp_path):
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("gone")
    assert path_kind(tmp_path) is Kind.FOLDER
    assert path_kind(tmp_path / "file") is path_kind(tmp_path / "link") is Kind.FILE
    assert path_kind(tmp_path / "pipe") is path_kind("/dev/null") is Kind.STREAM
    for name in ("gone", "dangling", "file/below"):
        assert path_kind(tmp_path / name) is None
    assert is_stream("-")


@pytest.mark.parametrize("name", ["x" * 300, "circle", "a\0b"])
def test_a_path_that_the_system_refuses_is_an_error_of_the_caller_s_choice(tmp_path, name):
    (tmp_path / "circle").symlink_to("circle")
    path = f"{tmp_path}/{name}"
    with pytest.raises(MissingInputError, match="check the path and its permissions") as caught:
        path_kind(path)
    assert len(str(caught.value)) < 300
    with pytest.raises(OutputError):
        path_kind(path, OutputError)
    assert path_kind(path, None) is None
    with pytest.raises(MissingInputError):
        open_input(path)


def test_a_circle_of_links_has_no_resolved_path(tmp_path):
    """Red with: ``Path.resolve``, which raises a `RuntimeError` before Python 3.13."""
    (tmp_path / "circle").symlink_to("circle")
    if sys.version_info >= (3, 13):  # which resolves as far as it can
        assert resolve_path(tmp_path / "circle").name == "circle"
        return
    with pytest.raises(MissingInputError, match="symbolic links"):
        resolve_path(tmp_path / "circle")


def test_an_error_that_is_one_of_ours_stays_as_it_is():
    error = MissingInputError("said already")
    assert path_error("x", error) is error


def test_a_folder_that_is_none_cannot_be_listed(tmp_path):
    (tmp_path / "file").write_text("x")
    assert list_folder(tmp_path) == [tmp_path / "file"]
    with pytest.raises(OutputError):
        list_folder(tmp_path / "file", OutputError)


def test_a_pipe_is_read_as_its_writer_writes_and_to_its_end(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        with path.open("wb") as file:
            for _ in range(3):
                file.write(b"x" * 70_000)
                file.flush()
                time.sleep(0.05)

    thread = threading.Thread(target=write)
    thread.start()
    assert read_input(path, 1 << 20, "list") == b"x" * 210_000
    thread.join()


def test_a_pipe_without_a_writer_is_waited_for_until_somebody_says_stop(tmp_path):
    """Red with: ``open``, which waits where no Python code runs."""
    path, calls = tmp_path / "pipe", []
    os.mkfifo(path)

    def stop(name):
        calls.append(name)
        if len(calls) > 2:
            raise Interrupted("stopped")

    before = while_waiting.set(stop)
    try:
        with pytest.raises(Interrupted), open_input(path) as file:
            file.read(1)
    finally:
        while_waiting.reset(before)
    assert calls == [str(path)] * 3


def test_a_time_limit_ends_the_wait_and_nothing_is_left_set(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    clock = iter(range(100))
    with (
        StopFlag(3.0, start=0.0, clock=lambda: float(next(clock))),
        pytest.raises(Interrupted, match=r"time limit: stopped while waiting for .*pipe"),
    ):
        read_input(tmp_path / "pipe", 10, "list")
    assert while_waiting.get() is None


def test_a_folder_is_no_file_and_a_device_without_an_end_is_too_large(tmp_path):
    with pytest.raises(MissingInputError, match="is a folder; give the name of a file"):
        open_input(tmp_path)
    with pytest.raises(CorpusError, match="larger than 1 MB, so it is not a list"):
        read_input("/dev/zero", 1 << 20, "list")
