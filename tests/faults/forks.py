"""Many starts of ``sgmc`` at the cost of one, with fail points or functions of children.py."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import fork_server
from command_words import last_of_each

#: A run of some hundred milliseconds, with all files that a run without short chains can have.
SMALL = (
    "-k",
    "4",
    "--set",
    "starts=1",
    "--minibatch",
    "20",
    "--sweeps",
    "2",
    "--set",
    "warm-up=5",
    "--set",
    "sample-every=2",
    "--set",
    "samples=12",
    "--iterations",
    "60",
    "--threads",
    "1",
    "--eval-every",
    "7",
    "--checkpoint-every",
    "4",
)


def write_corpus(path, documents=80, words=40, seed=0):
    """Write UCI counts of random documents that have a few topics' structure."""
    rng = random.Random(seed)
    lines = []
    for document in range(1, documents + 1):
        first = rng.randrange(4) * (words // 4)
        seen = {first + 1 + min(rng.randrange(words // 4), rng.randrange(words)) for _ in range(12)}
        lines += [f"{document} {word} {rng.randint(1, 3)}" for word in sorted(seen)]
    path.write_text("\n".join([str(documents), str(words), str(len(lines)), *lines]) + "\n")


class Child:
    """A start that runs while the test continues."""

    def __init__(self, ask, pid, said):
        self.ask, self.pid, self.said, self.code = ask, pid, said, None

    def kill(self, number=signal.SIGKILL):
        os.kill(self.pid, number)

    def wait(self):
        """Exit code, or minus the number of the signal that ended the process."""
        if self.code is None:
            self.code = self.ask(wait=self.pid)
        return self.code

    @property
    def stderr(self):
        return Path(self.said).read_text()


class Forks:
    """Starts whose current folder is ``folder``."""

    def __init__(self, folder):
        self.ask, self.folder = fork_server.shared().ask, folder
        self.corpus = folder / "docword.small.txt"
        write_corpus(self.corpus)
        self._children = []

    def close(self):
        """End all processes that a failed test left running."""
        for child in self._children:
            if child.code is None:
                with contextlib.suppress(ProcessLookupError):
                    child.kill()
                child.wait()

    def start(self, *args, fail=None, env=(), call=None):
        """Start ``sgmc`` with arguments, or a function of children.py.

        ``fail`` arms a fail point, ``env`` are more environment variables.
        """
        said = str(self.folder / f"stderr-{len(self._children)}")
        plain = [a if isinstance(a, int | float | list) else str(a) for a in args]
        pid = self.ask(
            args=plain, folder=str(self.folder), said=said, fail=fail, env=dict(env), call=call
        )
        self._children.append(Child(self.ask, pid, said))
        return self._children[-1]

    def __call__(self, *args, code=0, **kwargs):
        child = self.start(*args, **kwargs)
        done = child.wait()
        assert done == code, (args, done, child.stderr)
        return child.stderr

    def train(self, out="run", *args):
        """Return the arguments of the small run."""
        return last_of_each(("train", self.corpus, *SMALL, "--out", out, *args))


def wait_until(true, seconds=200.0):
    """Wait until a condition is true, and return its value."""
    end = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)
    return value
