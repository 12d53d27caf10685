"""One peer on one corpus, in a process of its own on one core: job as JSON in, points as JSON out."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from pathlib import Path

import numpy as np
from contestants import PEERS
from scoring import Done, Judge, Task, Watch

from pysgrld.corpus import Corpus
from pysgrld.evaluate import HeldOut, visits


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    os.sched_setaffinity(0, {job["core"]})
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
    judge = Judge(scored, job["topics"], job["alpha"])
    task = Task(
        training.take(order),
        training.words,
        job["topics"],
        job["alpha"],
        job["eta"],
        job["seed"],
        visits(scored),
    )
    label = f"{job['name']:<12}{job['peer'] + (', own' if job['own'] else ''):<18}"
    watch = Watch(judge, job["budget"], lambda line: print(label + line, file=sys.stderr))
    with contextlib.suppress(Done):
        peer.run(task, watch, job["own"])
    found = {
        "points": watch.points,
        "other_alphas": {} if watch.last is None else judge.other_alphas(watch.last),
        "judging_seconds": round(watch.judging, 1),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    Path(job["result"]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
