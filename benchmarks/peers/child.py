"""One peer on one corpus, in a process of its own on its cores: job as JSON in, points as JSON out."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
from contestants import PEERS
from scoring import Done, Judge, Task, Watch, together

from pysgrld.corpus import Corpus
from pysgrld.evaluate import HeldOut, visits


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    os.sched_setaffinity(0, job["cores"])
    peer = PEERS[job["peer"]]
    folder = Path(job["corpus"])
    training, observed, held_out = (
        Corpus.open(folder / part) for part in ("training", "observed", "held-out")
    )
    everything = np.arange(training.documents)
    # one shuffle for all: a peer that reads in order must not suffer from how the file is sorted
    order = np.random.default_rng(job["seed"]).permutation(everything)
    ids = np.arange(observed.documents)
    scored = HeldOut(observed.take(ids), held_out.take(ids), ids, 0)
    task = Task(
        training.take(order),
        training.words,
        job["topics"],
        job["alpha"],
        job["eta"],
        job["seed"],
        job["threads"],
        visits(scored),
    )
    label = f"{job['name']:<20}{job['peer']:<14}"
    watches, chains = [], job["chains"]
    for chain in range(chains):
        judge = Judge(scored, job["topics"], job["alpha"])
        watch = Watch(
            judge,
            job["budget"] / chains,
            job["threads"],
            lambda line: print(label + line, file=sys.stderr),
        )
        with contextlib.suppress(Done):
            peer.run(task._replace(seed=task.seed + chain), watch, job["own"])
        watches.append(watch)
    found = {
        "points": together(watches),
        "other_alphas": {} if watch.last is None else judge.other_alphas(watch.last),
        "judging_seconds": round(sum(watch.judging for watch in watches), 1),
        "peak_rss_bytes": peak(),
    }
    Path(job["result"]).write_text(json.dumps(found))


def peak() -> int:
    """Read the peak of this program's memory; that of ``resource`` begins with its parent's."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    main()
