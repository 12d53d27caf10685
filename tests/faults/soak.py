"""Stop a training every few seconds for as long as you like, and see whether anything is different.

    python tests/faults/soak.py --minutes 60 --every 20 [--corpus FILE] [--folder DIR]

A line for every cycle: how it was stopped, where it stands, what the process held, and how many
files the run has. At the end the run is brought to the next round iteration and compared, byte for
byte, with one that nobody has disturbed: that takes as long again. Exit code 1 if they differ.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from faults_runs import SGMC, result  # noqa: E402

from pysgrld.run import RunDirectory, list_checkpoints  # noqa: E402

SIGNALS = itertools.cycle(
    [signal.SIGUSR1, signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGXCPU]
)
OPTIONS = ["-k", "20", "--samples", "20", "--checkpoint-every", "5s", "--eval-every", "10s"]


def start(folder, corpus, name, iterations):
    """Begin to train, or go on."""
    arguments = ["train", corpus, *OPTIONS, "--iterations", str(iterations), "--out", name]
    with (folder / f"{name}.log").open("a") as log:
        return subprocess.Popen([SGMC, *arguments], cwd=folder, stdout=log, stderr=log)


def held(process):
    """Descriptors and megabytes of a process."""
    place = Path(f"/proc/{process.pid}")
    pages = int((place / "statm").read_text().split()[1])
    return len(list((place / "fd").iterdir())), pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def reached(folder):
    """Iterations of the newest checkpoint, 0 before the first."""
    steps = [report.step for report in list_checkpoints(folder / "disturbed")]
    return steps[-1] if steps else 0


def cycle(folder, corpus, number, seconds):
    """One start and one stop; say what was seen, or what is wrong."""
    process = start(folder, corpus, "disturbed", 10**9)
    time.sleep(seconds)
    if process.poll() is not None:
        return f"ended by itself with {process.returncode}: see {folder}/disturbed.log", True
    descriptors, megabytes = held(process)
    process.send_signal(number)
    code = process.wait(120)
    wrong = code != (-signal.SIGKILL if number == signal.SIGKILL else 85)
    files = sum(1 for _ in (folder / "disturbed").rglob("*"))
    status = RunDirectory.open(folder / "disturbed").status.get("state")
    line = (
        f"{number.name:<8} exit {code:>3}  iteration {reached(folder):>9,}  {status:<12}"
        f"{descriptors:>3} descriptors {megabytes:>7.1f} MB {files:>4} files"
    )
    return line, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=20, help="seconds of a cycle")
    parser.add_argument("--corpus", default=str(ROOT / "data" / "docword.bible.txt.gz"))
    parser.add_argument("--folder", help="where to work (a temporary folder)")
    given = parser.parse_args()
    folder = Path(given.folder or tempfile.mkdtemp(prefix="soak-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    corpus = str(Path(given.corpus).resolve())
    end, bad = time.monotonic() + 60 * given.minutes, 0
    for count in itertools.count(1):
        line, wrong = cycle(folder, corpus, next(SIGNALS), given.every)
        bad += wrong
        print(f"{count:>5}  {line}{'  WRONG' if wrong else ''}", flush=True)
        if time.monotonic() > end:
            break
    iterations = (reached(folder) // 100 + 1) * 100
    print(f"both to iteration {iterations:,}", flush=True)
    for name in ("disturbed", "undisturbed"):
        if start(folder, corpus, name, iterations).wait() != 0:
            sys.exit(f"{name}: cannot be finished: see {folder}/{name}.log")
    one, other = (result(folder, name) for name in ("disturbed", "undisturbed"))
    for name in sorted(one.keys() | other.keys()):
        same = one.get(name) == other.get(name)
        print(f"{'same     ' if same else 'DIFFERENT'} {name} {other.get(name, 'missing')[:16]}")
        bad += not same
    print(
        f"{count} cycles in {folder}: {'nothing is different' if not bad else f'{bad} are wrong'}"
    )
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
