"""How soon training ends after SIGTERM, SIGINT or the time limit, at any time of a start.

    python tests/faults/stops.py [-k 20,200,2000] [--moments 10] [--corpus FILE] [-- OPTIONS...]
    python tests/faults/stops.py --kills 25 [--corpus FILE]

For each K a run is trained to its end once, which gives its duration. Then runs are stopped at moments
that divide the duration into equal parts. A row has the seconds from the signal, or from the limit, to
the end of the process, without those of the last checkpoint; its exit code; and the exit code of a start
that continues the run. 85 is expected; a process that is told before Python has started ends with the
signal.

With ``--kills``, a run of 50 topics on 3,000 documents is killed as often, each time after 1.2 to 2.7
seconds of processor time, which passes as the clock does on an idle machine. A row has what is stored
after that: the iterations of the newest checkpoint, and the iterations of all short chains before the
first one. Each kill must leave more than the one before.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pysgrld.run import RunDirectory
from pysgrld.run.checkpoint_read import checkpoint_folders

BIBLE = Path(__file__).parents[2] / "data" / "docword.bible.txt.gz"
SGMC = Path(sys.executable).with_name("sgmc")
#: Options of a run that has all stages and takes some seconds.
OPTIONS = ("--iterations", "120", "--exact-sweeps", "20", "--threads", "1", "-q")
WAYS = ("SIGTERM", "SIGINT", "limit")


class Stop(NamedTuple):
    """A start that was asked to stop.

    Attributes
    ----------
    way : str
        Of `WAYS`.
    moment : float
        Seconds after its start.
    late, cpu : float
        Seconds from there to its end without the last checkpoint, and seconds of processor time, the
        checkpoint included; of a time limit, which is one of the clock, the same.
    code, next_code : int
        Exit codes, of this start and of the one that continues it.
    """

    way: str
    moment: float
    late: float
    cpu: float
    code: int
    next_code: int


def last_checkpoint_seconds(run: Path) -> float:
    """Return the seconds that a run's last checkpoint took, or 0 without a checkpoint."""
    try:
        lines = (run / "log.jsonl").read_text().splitlines()
    except OSError:
        return 0.0
    events = [json.loads(line) for line in lines]
    seconds = [event["seconds"] for event in events if event["event"] == "checkpoint"]
    return float(seconds[-1]) if seconds else 0.0


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the processor time of a process that has not been waited for."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def train(run: Path, corpus: Path, options: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start training in the folder of a run."""
    command = [str(SGMC), "train", str(corpus), "--out", str(run), *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stop(way: str, moment: float, run: Path, corpus: Path, options: Sequence[str]) -> Stop:
    """Stop a training at a given moment, and resume it for a few seconds."""
    limit = ("--time-limit", f"{moment:.3f}s") if way == "limit" else ()
    began, before, cpu = time.monotonic(), os.times(), 0.0
    process = train(run, corpus, (*options, *limit))
    if way != "limit":
        while process.poll() is None and cpu_seconds(process) < moment:
            time.sleep(0.01)
        if process.poll() is None:
            cpu = cpu_seconds(process)
            process.send_signal(signal.Signals[way])
        told = time.monotonic()
    else:
        told = began + moment
    code = process.wait(timeout=600)
    late = max(0.0, time.monotonic() - told - last_checkpoint_seconds(run))
    after = os.times()
    used = sum(after[2:4]) - sum(before[2:4])  # CPU seconds of children that ended
    cpu = late if way == "limit" else used - cpu
    following = train(run, corpus, (*options, "--time-limit", "600s"))
    return Stop(way, moment, late, cpu, code, following.wait(timeout=600))


def stops(
    k: int, moments: int, corpus: Path = BIBLE, options: Sequence[str] = OPTIONS, ways=WAYS
) -> Iterator[Stop]:
    """Stop trainings with K topics at the given number of moments, in each of the ways."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("-k", str(k), *options)
        began, before = time.monotonic(), os.times()
        assert train(Path(folder) / "whole", corpus, options).wait(timeout=3600) == 0
        clock, cpu = time.monotonic() - began, sum(os.times()[2:4]) - sum(before[2:4])
        for way in ways:
            duration = clock if way == "limit" else cpu
            for n in range(moments):
                moment = duration * (n + 0.5) / moments
                yield stop(way, moment, Path(folder) / f"{way}-{n}", corpus, options)


class Kill(NamedTuple):
    """A start killed after some seconds, and the iterations stored since then."""

    moment: float
    iterations: int
    short_chains: int


def kills(number: int, corpus: Path | None = None, seed: int = 1) -> Iterator[Kill]:
    """Kill a training of 50 topics repeatedly; it may end by itself before the last kill."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        if corpus is None:
            corpus = Path(folder) / "posts.txt"
            words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnprstxyz"] * 20
            weights = [1 / n for n in range(1, len(words) + 1)]
            posts = (rng.choices(range(len(words)), weights, k=120) for _ in range(3000))
            corpus.write_text(
                "".join(" ".join(f"{words[n]}{n // 250}" for n in post) + "\n" for post in posts)
            )
        run, code = Path(folder) / "run", None
        while code is None and number:
            moment, number = rng.uniform(1.2, 2.7), number - 1
            process = train(run, corpus, ("-k", "50", "--threads", "1", "-q"))
            while process.poll() is None and cpu_seconds(process) < moment:
                time.sleep(0.005)
            code = process.poll()
            process.kill()
            process.wait()
            step, *_ = checkpoint_folders(run) or [(0, run)]
            there = (run / "config.json").exists()
            chains = RunDirectory.open(run).short_chains.progress() if there else 0
            yield Kill(moment, step[0], chains)


def main() -> None:
    """Print a row for each stop or kill."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="20,200,2000")
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--corpus", type=Path, default=BIBLE)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("options", nargs="*")
    parser.add_argument("--kills", type=int)
    given = parser.parse_args()
    if given.kills:
        print("| after, s | iterations | of short chains | more than before |")
        print("|---|---|---|---|")
        before = (0, 0)
        corpus = None if given.corpus == BIBLE else given.corpus
        for killed in kills(given.kills, corpus):
            more = "yes" if killed[1:] > before else "no"
            print(f"| {killed.moment:.1f} | {killed[1]} | {killed[2]} | {more} |", flush=True)
            before = killed[1:]
        return
    print("| K | by | after, s | late, s | processor, s | exit code | next start |")
    print("|---|---|---|---|---|---|---|")
    for k in map(int, given.k.split(",")):
        options = tuple(given.options) or OPTIONS
        for s in stops(k, given.moments, given.corpus, options, given.ways.split(",")):
            row = f"| {k} | {s.way} | {s.moment:.1f} | {s.late:.2f} | {s.cpu:.2f} | {s.code} "
            row += f"| {s.next_code} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
