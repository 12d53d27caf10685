"""How soon training ends when it is told to: by SIGTERM, SIGINT or a time limit, from start to end.

    python tests/faults/stops.py [-k 20,200,2000] [--moments 10] [--corpus FILE] [-- OPTIONS...]

For each K a run is trained to its end once, which gives its duration. Then runs are stopped at moments
that divide the duration into equal parts. A row has the seconds from the signal, or from the limit, to
the end of the process, without those of the last checkpoint; its exit code; and the exit code of a start
that continues the run. 85 is expected; a process that is told before Python has started ends with the
signal.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

BIBLE = Path(__file__).parents[2] / "data" / "docword.bible.txt.gz"
SGMC = Path(sys.executable).with_name("sgmc")
#: Options of a run that has all stages and takes some seconds.
OPTIONS = ("--iterations", "120", "--exact-sweeps", "20", "--threads", "1", "-q")
WAYS = ("SIGTERM", "SIGINT", "limit")


class Stop(NamedTuple):
    """A start that was told to stop.

    Attributes
    ----------
    way : str
        Of `WAYS`.
    moment : float
        Seconds after its start.
    late : float
        Seconds from there to its end, without the last checkpoint.
    code, next_code : int
        Exit codes, of this start and of the one that continues it.
    """

    way: str
    moment: float
    late: float
    code: int
    next_code: int


def last_checkpoint_seconds(run: Path) -> float:
    """Return the seconds that the last checkpoint of a run took; 0 if there is none."""
    try:
        lines = (run / "log.jsonl").read_text().splitlines()
    except OSError:
        return 0.0
    events = [json.loads(line) for line in lines]
    seconds = [event["seconds"] for event in events if event["event"] == "checkpoint"]
    return float(seconds[-1]) if seconds else 0.0


def train(run: Path, corpus: Path, options: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a training in the folder of a run."""
    command = [str(SGMC), "train", str(corpus), "--out", str(run), *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stop(way: str, moment: float, run: Path, corpus: Path, options: Sequence[str]) -> Stop:
    """Stop a training at a moment, and continue it for a few seconds."""
    limit = ("--time-limit", f"{moment:.3f}s") if way == "limit" else ()
    began = time.monotonic()
    process = train(run, corpus, (*options, *limit))
    if way != "limit":
        time.sleep(moment)
        if process.poll() is None:
            process.send_signal(signal.Signals[way])
        told = time.monotonic()
    else:
        told = began + moment
    code = process.wait(timeout=600)
    late = max(0.0, time.monotonic() - told - last_checkpoint_seconds(run))
    following = train(run, corpus, (*options, "--time-limit", "600s"))
    return Stop(way, moment, late, code, following.wait(timeout=600))


def stops(
    k: int, moments: int, corpus: Path = BIBLE, options: Sequence[str] = OPTIONS, ways=WAYS
) -> Iterator[Stop]:
    """Stop trainings of K topics at so many moments, by each of the ways."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("-k", str(k), *options)
        began = time.monotonic()
        assert train(Path(folder) / "whole", corpus, options).wait(timeout=3600) == 0
        duration = time.monotonic() - began
        for way in ways:
            for n in range(moments):
                moment = duration * (n + 0.5) / moments
                yield stop(way, moment, Path(folder) / f"{way}-{n}", corpus, options)


def main() -> None:
    """Print a row for each stop."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="20,200,2000")
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--corpus", type=Path, default=BIBLE)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("options", nargs="*")
    given = parser.parse_args()
    print("| K | by | after, s | late, s | exit code | next start |")
    print("|---|---|---|---|---|---|")
    for k in map(int, given.k.split(",")):
        options = tuple(given.options) or OPTIONS
        for s in stops(k, given.moments, given.corpus, options, given.ways.split(",")):
            row = f"| {k} | {s.way} | {s.moment:.1f} | {s.late:.2f} | {s.code} | {s.next_code} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
