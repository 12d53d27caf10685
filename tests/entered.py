"""Plugin that records, for thresholds.py, which functions of the package each test enters.

    pytest -p entered        with SGMC_ENTERED=FOLDER in the environment

Each process writes its own file there, a JSON object a line: the test, its seconds, and the functions as
``path:name``. A command that a test starts through `fork_server` writes a line of its own.
"""

import atexit
import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


class Watch:
    """Recorder of the code run between `begin` and `end`, in all threads."""

    def __init__(self):
        self.codes, self.began = set(), 0.0

    def _note(self, frame, event, value):
        if event == "call":
            self.codes.add(frame.f_code)

    def begin(self):
        self.codes.clear()
        self.began = time.perf_counter()
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def end(self, test):
        sys.setprofile(None)
        threading.setprofile(None)
        seconds = round(time.perf_counter() - self.began, 3)
        ours = set()
        for code in self.codes.copy():  # other threads continue
            path = Path(code.co_filename).resolve()
            if any(path.is_relative_to(ROOT / folder) for folder in ("pysgrld", "cli")):
                ours.add(f"{path.relative_to(ROOT)}:{code.co_name}")
        row = {"test": test, "seconds": seconds, "entered": sorted(ours)}
        with Path(os.environ["SGMC_ENTERED"], f"{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    watch = Watch()
    watch.begin()
    try:
        return (yield)
    finally:
        watch.end(item.nodeid)


def watch_command():
    """Record what a forked command runs until it exits, for the test that started it."""
    if "SGMC_ENTERED" in os.environ and "PYTEST_CURRENT_TEST" in os.environ:
        watch, test = Watch(), os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
        atexit.register(watch.end, test)
        watch.begin()
