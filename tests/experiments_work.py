"""Functions that tests run in other processes, which can import this module."""

import os
import time
from pathlib import Path


def square(task, share):
    share(0.5)
    return task * task


def fail_or_write(path, share):
    """Fail if the path is missing, else write to it after half a minute."""
    if not path:
        raise ValueError("no path")
    for _ in range(300):
        share(0.1)
        time.sleep(0.1)
    Path(path).touch()


def die(task, share):
    os._exit(1)
