"""Small real runs for tests of the fault matrix, trained in this process or by the command."""

from __future__ import annotations

import os
import random
import signal
import subprocess

import fork_server
from command_words import last_of_each, typed
from fork_server import SGMC

from pysgrld.errors import Interrupted
from pysgrld.models.choices import Choices
from pysgrld.run import RunDirectory
from pysgrld.run.checkpoint_read import read_manifest, seal
from pysgrld.run.files import digest_of
from pysgrld.train.request import Request
from pysgrld.train.start import train

#: A run of an eighth of a second, without short chains: eight samples, checkpoints at 5, 10, 15, ...
OPTIONS = {
    "topics": 4,
    "starts": 1,
    "minibatch": 10,
    "sweeps": 2,
    "warm-up": 4,
    "burn-in": 8,
    "sample-every": 4,
    "iterations": 40,
    "holdout": 10,
    "min-df": 1,
    "stop-words": "none",
    "eval-every": 10,
    "checkpoint-every": 5,
    "keep": 3,
    "threads": 1,
    "seed": 3,
}


def write_corpus(path, documents=60, seed=0):
    """Write a text corpus of two kinds of documents over fifty words, one document per line."""
    rng = random.Random(seed)
    words = [f"{a}{b}" for a in ("red", "blue", "green", "black", "white") for b in "abcdefghij"]
    lines = []
    for d in range(documents):
        own = words[:30] if d % 2 else words[20:]
        lines.append(" ".join(rng.choices(own, k=rng.randint(8, 30))))
    path.write_text("\n".join(lines) + "\n")
    return path


class Silent:
    """A silent reporter that stores what it is told.

    ``at`` is called with the iteration whenever one is done.
    """

    def __init__(self, at=None):
        self.lines, self.at = [], at

    def note(self, line, severity=None):
        self.lines.append(line)

    def reading(self, progress):
        pass

    def started(self, run, line):
        self.lines.append(line)

    def moved(self, position):
        if self.at is not None:
            self.at(position.iteration)

    def refining(self, run, line):
        self.lines.append(line)

    def evaluated(self, record):
        pass

    def finished(self, run, line):
        self.lines.append(line)


def train_here(folder, at=None, **changes):
    """Train ``folder/corpus.txt`` into ``folder/run`` in this process; return the messages."""
    given = OPTIONS | {"out": str(folder / "run")}
    given |= {name.replace("_", "-"): value for name, value in changes.items()}
    given = {name: value for name, value in given.items() if value is not None}
    reporter = Silent(at)
    train(Request([str(folder / "corpus.txt")], Choices(given), folder), reporter)
    return reporter.lines


def stop_at(step, number=signal.SIGUSR1):
    """Return a callback for `train_here` that sends a signal after the given iterations."""
    return lambda iteration: os.kill(os.getpid(), number) if iteration == step else None


def stopped_here(folder, step, **changes):
    """Train until a signal stops training after the given iterations."""
    try:
        train_here(folder, stop_at(step), **changes)
    except Interrupted:
        return
    raise AssertionError("it was not stopped")


def sgmc(folder, *arguments, code=0, **kwargs):
    """Run the command in a folder; check its exit code and that it shows no traceback.

    Without other arguments of `subprocess.run` it is a fork of a process that has imported it.
    """
    words = [str(SGMC), *map(str, last_of_each(arguments))]
    if kwargs:
        kwargs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | kwargs
        done = subprocess.run(words, cwd=folder, text=True, timeout=120, check=False, **kwargs)
    else:
        done = fork_server.shared().run(words, folder, text=True, seconds=120)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in (done.stderr or "")
    return done


def command_line(**changes):
    """Return `OPTIONS` as command-line words."""
    given = OPTIONS | {name.replace("_", "-"): value for name, value in changes.items()}
    return typed(given)


def train_command(folder, *more, code=0, corpus="corpus.txt", **changes):
    """Train into ``folder/run`` with the command."""
    out = ("--out", "run", *more)
    return sgmc(folder, "train", corpus, *command_line(**changes), *out, code=code)


def checkpoints(folder):
    """Return the checkpoints of ``folder/run``, newest first."""
    return sorted((folder / "run" / "checkpoints").glob("step-*"), reverse=True)


def result(folder, run="run"):
    """Return what must be bit-identical: the latest state and all samples, by name."""
    path = folder / run
    newest = sorted((path / "checkpoints").glob("step-*"))[-1]
    files = [newest / "state.safetensors", *sorted((path / "samples").glob("[!.]*.safetensors"))]
    return {str(file.relative_to(path)): digest_of(file).sha256 for file in files}


def sign_again(folder, change=None, **changes):
    """Write a manifest that is complete and matches the state, but has other claims."""
    content = read_manifest(folder)
    content["files"] = {name: digest_of(folder / name)._asdict() for name in content["files"]}
    content |= changes
    if change is not None:
        change(content)
    (folder / "manifest.json").write_bytes(seal(content))


def flip(path, at, bit):
    """Flip one bit of a file, in place."""
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << bit]))


def opened(folder):
    """Open ``folder/run``."""
    return RunDirectory.open(folder / "run")
