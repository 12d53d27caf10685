"""What unit tests share."""

import os
import signal

import pytest


@pytest.fixture
def standard_input(tmp_path_factory):
    """Let standard input be these bytes, until the test ends."""
    before = os.dup(0)

    def give(data: bytes) -> None:
        path = tmp_path_factory.mktemp("stdin") / "bytes"
        path.write_bytes(data)
        handle = os.open(path, os.O_RDONLY)
        os.dup2(handle, 0)
        os.close(handle)

    yield give
    os.dup2(before, 0)
    os.close(before)


@pytest.fixture
def ctrl_c():
    """Give what presses Ctrl-C, which is Python's own until the test ends, as at a terminal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)
