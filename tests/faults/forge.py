"""Forge runs: change one value, recompute the digests, and try the commands that read the run.

    python tests/faults/forge.py --number 2000 [--seed 1] [--only sam] [-o forged.json]

`forgeries` and `forged_frames` say what is changed. A command may then show a result or refuse the run in
one line with a documented exit code. It is a fault to end with 70, a traceback or a signal, to hang, or
to take more than three times the memory that the command takes of the real run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from faults.forged_frames import of_counted, of_packed  # noqa: E402
from faults.forgeries import WAYS  # noqa: E402
from faults_runs import command_line, write_corpus  # noqa: E402

#: The ways to forge a run; the more often one is listed, the more often it is taken.
EVERY = [*WAYS, *2 * [of_packed], of_counted]

#: Seconds after which a command is judged to hang; a machine may be busy.
HANGS = 100.0
#: The exit codes that docs/getting-started.md has for runs that cannot be read, and for success.
DOCUMENTED = {0, 2, 64, 65, 66, 73, 74, 75, 76, 78, 85, 86, 87}
#: A forged run may take so many times the memory of the real one.
TIMES = 3

_SHORT = {"burn_in": 8, "iterations": 60, "sample_every": 2}
#: The models and states that are forged, by name: what is typed after ``sgmc train corpus``.
KINDS: dict[str, list[str]] = {
    "lda": [*command_line(**_SHORT), "--exact-sweeps", "0"],
    "refined": [*command_line(**_SHORT), "--exact-sweeps", "20"],
    "learned": [
        *command_line(**_SHORT, minibatch=None),
        "--alpha",
        "learn",
        "--set",
        "keep-documents=on",
    ],
    "top-words": [*command_line(**_SHORT), "--set", "samples=2", "--set", "top-word-samples=20"],
    "dlda": [*command_line(topics=None, starts=None, **_SHORT), "--layers", "4,2"],
    "dpmm": [
        *command_line(
            topics=None, starts=None, sweeps=None, warm_up=None, burn_in=20, iterations=60
        ),
        *("--model", "dpmm"),
    ],
    "sam": [*command_line(starts=None, sweeps=None, warm_up=None, **_SHORT), "--model", "sam"],
    "dtm": [
        *command_line(sweeps=None, warm_up=None, **_SHORT),
        *("--model", "dtm", "--time", "year", "--slices", "3"),
    ],
    "ovb": [
        *command_line(sweeps=None, warm_up=None, **{**_SHORT, "burn_in": None}),
        "--algo",
        "ovb",
    ],
    "cgs": [*command_line(**_SHORT, minibatch=None, warm_up=None, sweeps=None), "--algo", "cgs"],
}
#: Commands that read a run; {out} is an empty folder.
READING = [
    ["topics", "run", "--json"],
    ["topics", "run", "--intervals"],
    ["eval", "run"],
    ["eval", "run", "--corpus", "new.jsonl"],
    ["report", "run", "-o", "{out}/page.html"],
    ["infer", "run", "new.jsonl"],
    ["infer", "run", "new.jsonl", "--draws", "20"],
    ["compare", "real", "run"],
    ["diagnose", "run"],
    ["export", "run", "--to", "csv", "-o", "{out}/tables"],
    ["runs", "."],
    ["checkpoint", "verify", "run"],
]
#: Commands that continue a run, and change it.
TRAINING = [
    ["train", "--resume", "run", "--iterations", "70", "-q"],
    ["train", "--resume", "run", "-q"],
]


class Outcome(NamedTuple):
    """A command's exit code (None if it hung), messages, and peak memory in bytes."""

    code: int | None
    messages: str
    memory: int


def run(folder: Path, words: list[str]) -> Outcome:
    """Run ``sgmc`` in a fork of this process, which has imported everything and has no threads."""
    with (
        tempfile.TemporaryDirectory(dir=folder.parent) as out,
        tempfile.TemporaryFile() as messages,
    ):
        pid = os.fork()
        if pid == 0:
            _child(folder, [word.replace("{out}", out) for word in words], messages.fileno())
        handle = os.pidfd_open(pid)
        hung = not select.select([handle], [], [], HANGS)[0]
        if hung:
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        os.close(handle)
        messages.seek(0)
        text = messages.read().decode(errors="replace")
        code = None if hung else os.waitstatus_to_exitcode(status)
        return Outcome(code, text, usage.ru_maxrss << 10)


def _child(folder: Path, words: list[str], messages: int) -> None:
    """Run the command in this process, and end the process."""
    code: Any = 70
    try:
        os.chdir(folder)
        null = os.open(os.devnull, os.O_RDWR)
        for number, place in ((0, null), (1, null), (2, messages)):
            os.dup2(place, number)
        # pytest has others, from which nothing comes here
        sys.stdout, sys.stderr = (os.fdopen(n, "w", closefd=False) for n in (1, 2))
        # a run that asks for all memory of the machine is seen, and does not harm its neighbours
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        from pysgrld.cli import main

        main(words)
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1 if code else 0)


def fault_of(outcome: Outcome, real: Outcome) -> str | None:
    """Return the name of the fault that a command shows when it reads a forged run, or None."""
    if outcome.code is None:
        return "hang"
    if outcome.code < 0:
        return f"signal {-outcome.code}"
    if "Traceback" in outcome.messages or "bug in sgmc" in outcome.messages:
        return "traceback"
    if outcome.code not in DOCUMENTED:
        return f"exit code {outcome.code}"
    errors = [line for line in outcome.messages.splitlines() if line.startswith("sgmc: error: ")]
    if outcome.code and len(errors) != 1 and outcome.code != 85:
        return f"{len(errors)} error lines"
    if "Warning: " in outcome.messages and "Warning: " not in real.messages:
        return "a warning of Python"
    if outcome.memory > TIMES * real.memory:
        return f"memory {outcome.memory >> 20} MB for {real.memory >> 20}"
    return None


# ---- real runs


def prepare(folder: Path, kinds: list[str]) -> None:
    """Train a small run of each kind in its own folder, ``KIND/run``, next to its inputs."""
    for kind in kinds:
        place = folder / kind
        place.mkdir(parents=True)
        texts = write_corpus(place / "corpus.txt").read_text().splitlines()
        rows = [
            json.dumps({"text": text, "year": 1990 + d % 9, "who": "xyz"[d % 3]}) + "\n"
            for d, text in enumerate(texts)
        ]
        (place / "rows.jsonl").write_text("".join(rows))
        (place / "new.jsonl").write_text("".join(rows[:6]))
        words = ["train", "rows.jsonl", *KINDS[kind], "--meta-field", "year,who", "--out", "run"]
        done = run(place, words)
        if done.code != 0:
            raise RuntimeError(f"{kind}: {done.code}: {done.messages}")
        shutil.copytree(place / "run", place / "real")


class Fault(NamedTuple):
    """A command that failed on a forged run."""

    number: int
    kind: str
    forgery: str
    command: str
    fault: str
    messages: str


def forgeries(
    folder: Path,
    numbers: Iterator[int] | range,
    kinds: list[str],
    commands: int,
    seed: int,
    ways: list[Callable[[Path, random.Random], str]] | None = None,
) -> Iterator[list[Fault]]:
    """Forge runs by number, and yield each run's faults.

    Parameters
    ----------
    folder : Path
        With the real runs, as `prepare` makes them.
    numbers : iterable of int
        Each has a forgery of its own, whatever the others are.
    kinds : list of str
    commands : int
        Commands that read each, before one that trains it.
    seed : int
    ways : list of callable, optional
        The ways to forge a run; all by default.
    """
    real: dict[tuple[str, str], Outcome] = {}
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        kind = kinds[number % len(kinds)]
        faults = []
        with tempfile.TemporaryDirectory(dir=folder) as name:
            place = Path(name) / "copy"
            shutil.copytree(folder / kind, place)
            forgery = rng.choice(EVERY if ways is None else ways)(place / "run", rng)
            for words in [*rng.sample(READING, commands), rng.choice(TRAINING)]:
                command = " ".join(words)
                if (kind, command) not in real:
                    whole = Path(name) / "whole"
                    shutil.copytree(folder / kind, whole)
                    real[kind, command] = run(whole, words)
                    shutil.rmtree(whole)
                    assert real[kind, command].code in DOCUMENTED - {70}, (
                        kind,
                        command,
                        real[kind, command],
                    )
                outcome = run(place, words)
                if fault := fault_of(outcome, real[kind, command]):
                    faults.append(
                        Fault(number, kind, forgery, command, fault, outcome.messages[-3000:])
                    )
        yield faults


def main() -> None:
    """Forge the requested number of runs, print the faults, and exit with 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commands", type=int, default=3)
    parser.add_argument("--only", help="kinds of runs, separated by commas")
    parser.add_argument("--ways", help="functions that forge, separated by commas, as of_packed")
    parser.add_argument("-o", type=Path, dest="output")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    load()
    kinds = given.only.split(",") if given.only else list(KINDS)
    names = given.ways.split(",") if given.ways else [way.__name__ for way in EVERY]
    ways = [way for way in EVERY if way.__name__ in names]
    found: list[Fault] = []
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        prepare(Path(name), kinds)
        numbers = range(given.first, given.first + given.number)
        for number, faults in zip(
            numbers,
            forgeries(Path(name), numbers, kinds, given.commands, given.seed, ways),
            strict=True,
        ):
            for fault in faults:
                last = fault.messages.strip().splitlines()[-1:] or [""]
                print(*fault[:5], last[0][:200], sep=": ", flush=True)
            found += faults
            if number % 50 == 49:
                print(
                    f"{number + 1 - given.first} forged, {len(found)} faults",
                    file=sys.stderr,
                    flush=True,
                )
    if given.output:
        given.output.write_text(json.dumps([fault._asdict() for fault in found], indent=1))
    print(Counter(fault.fault for fault in found))
    sys.exit(bool(found))


def load() -> None:
    """Import the whole package, so that forks have it."""
    import gc
    import importlib
    import pkgutil

    import pysgrld

    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1", "SGMC_LOG_COLOR": "0"}
    for module in pkgutil.walk_packages(pysgrld.__path__, "pysgrld."):
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)
    gc.freeze()


if __name__ == "__main__":
    main()
