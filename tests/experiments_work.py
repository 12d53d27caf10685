"""What tests give other processes to do: spawned ones can import it, as they cannot a test module."""

import os
import time
from pathlib import Path


def square(task, share):
    share(0.5)
    return task * task


def fail_or_write(path, share):
    """Fail where there is no path; else write there after half a minute."""
    if not path:
        raise ValueError("no path")
    for _ in range(300):
        share(0.1)
        time.sleep(0.1)
    Path(path).touch()


def die(task, share):
    os._exit(1)
