"""Stop a training every few seconds for as long as requested, and look for differences.

    python tests/faults/soak.py --minutes 60 --every 20 [--corpus FILE] [--folder DIR]

Another run of the same configuration is trained beside it and never disturbed. Both write a checkpoint
every 1,000 iterations and keep all of them; at the end those of the same iteration, and the kept
samples, must be equal byte for byte. A line for every cycle: how it was stopped, where it stands, what
the process held, and how many files the run has. Exit code 1 if anything is wrong.
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

from faults_runs import SGMC  # noqa: E402

from pysgrld.run import RunDirectory, list_checkpoints  # noqa: E402

SIGNALS = itertools.cycle(
    [signal.SIGUSR1, signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGXCPU]
)
OPTIONS = [
    "-k",
    "20",
    "--set",
    "samples=20",
    "--checkpoint-every",
    "1000",
    "--set",
    "keep=100000",
    "--eval-every",
    "10s",
    "--iterations",
    "1000000000",
]


def start(folder, corpus, name):
    """Start or resume training."""
    arguments = ["train", corpus, *OPTIONS, "--out", name]
    with (folder / f"{name}.log").open("a") as log:
        return subprocess.Popen([SGMC, *arguments], cwd=folder, stdout=log, stderr=log)


def held(process):
    """Return the number of open descriptors and the megabytes of a process."""
    place = Path(f"/proc/{process.pid}")
    pages = int((place / "statm").read_text().split()[1])
    return len(list((place / "fd").iterdir())), pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def reached(folder):
    """Return the iterations of the latest checkpoint, or 0 before the first."""
    steps = [report.step for report in list_checkpoints(folder / "disturbed")]
    return steps[-1] if steps else 0


def cycle(folder, corpus, number, seconds):
    """Make one start and one stop; return observations or faults."""
    process = start(folder, corpus, "disturbed")
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
    beside = start(folder, corpus, "undisturbed")
    for count in itertools.count(1):
        line, wrong = cycle(folder, corpus, next(SIGNALS), given.every)
        bad += wrong
        print(f"{count:>5}  {line}{'  WRONG' if wrong else ''}", flush=True)
        if time.monotonic() > end:
            break
    beside.terminate()
    bad += beside.wait(120) != 85
    same, different = compared(folder)
    bad += len(different) + (not same)
    for name in different:
        print(f"DIFFERENT {name}")
    print(f"{count} cycles in {folder}: {len(same)} files are the same, {bad} things are wrong")
    sys.exit(bool(bad))


def compared(folder):
    """Return the names of states and samples that both runs have but that differ."""
    both = [folder / "disturbed", folder / "undisturbed"]
    same, different = [], []
    for pattern in ("checkpoints/step-*/state.safetensors", "samples/step-*.safetensors"):
        for path in sorted(both[0].glob(pattern)):
            name = path.relative_to(both[0])
            if (both[1] / name).exists():
                equal = path.read_bytes() == (both[1] / name).read_bytes()
                (same if equal else different).append(str(name))
    return same, different


if __name__ == "__main__":
    main()
