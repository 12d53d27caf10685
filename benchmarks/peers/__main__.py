"""Held-out perplexity against training seconds: sgmc beside other topic modellers.

    python benchmarks/peers --data FOLDER [--contest PATTERN...]    contests of the page (plan.py)
    python benchmarks/peers --corpus NAME FILE... -o FOLDER         one of your own

A corpus is one file (up to 1,000 of its documents are held out), a training file and a test file,
or a training file and the two halves of test documents that others have split. Every peer that this
Python can import trains in a process of its own, on cores of its own; the others are named and left
out. A contest that is over is stored in peers.json of the folder, in place of an older one of its
name. Then all that are there are shown: tables, and a plot for each; with --write-docs as
docs/internals/benchmarks.md.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
from contestants import PEERS
from pages import write_docs
from plan import CONTESTS, CORPORA, Contest, Source
from plots import image, plot
from tables import table, versus

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.build import store_documents
from pysgrld.corpus.minibatches import choose_documents, minibatch_words
from pysgrld.evaluate import Completion, pair_parts, visits
from pysgrld.evaluate.held_out import split
from pysgrld.experiments.bench.end_to_end import bundled_corpus
from pysgrld.experiments.bench.results import measure
from pysgrld.experiments.bench.timing import machine
from pysgrld.models.lda.reader import lda_readers
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.types import Key

HERE = Path(__file__).parent
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def main() -> None:
    arguments, contests = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the child too
    stored = arguments.output / "peers.json"
    for contest, source in contests:
        found = compete(contest, source, arguments.cores)
        arguments.output.mkdir(parents=True, exist_ok=True)
        store(stored, found)
    if not stored.exists():
        sys.exit(f"{stored} is not there: name a corpus, or the folder of data")
    everything = in_order(json.loads(stored.read_text())["contests"])
    for found in everything:
        print("\n\n".join(["", found["name"], table(found), versus([found])]))
        if not arguments.write_docs:
            plot(found, arguments.output / image(found))
    if arguments.write_docs:
        kernels = arguments.output / "kernels.json"
        if arguments.kernels or not kernels.exists():
            print("kernels: about a minute", file=sys.stderr)
            measured = measure(corpus=bundled_corpus())
            kernels.write_text(json.dumps(measured, indent=1) + "\n")
        write_docs(everything, json.loads(kernels.read_text()), HERE.parents[1] / "docs")


def parse() -> tuple[argparse.Namespace, list[tuple[Contest, Source]]]:
    """Parse the command line, and return the requested contests."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    cores = sorted(os.sched_getaffinity(0))
    add(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="where the files of the plan are: run its contests",
    )
    add(
        "--contest",
        nargs="+",
        metavar="PATTERN",
        help=f"only those of the plan: {', '.join(contest.name for contest in CONTESTS)}",
    )
    add(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where results go (those of the plan: benchmarks/results)",
    )
    add(
        "--cores",
        type=int,
        nargs="+",
        default=cores,
        metavar="CORE",
        help="where to pin peers: a contest takes as many as it has threads, the last ones (all)",
    )
    add(
        "--write-docs",
        action="store_true",
        help="also write docs/internals/benchmarks.md and its plots",
    )
    add("--kernels", action="store_true", help="and measure its kernels anew")
    own = parser.add_argument_group("a contest that is not in the plan")
    add = own.add_argument
    add("--corpus", nargs="+", metavar="NAME FILE", help="a name and one to three files")
    add("-k", "--topics", type=int, help="(100)")
    add("--threads", type=int, help="(1)")
    add("--chains", type=int, help="of each peer, which share its seconds (1)")
    add("--budget", type=float, metavar="SECONDS", help="of training, each (64)")
    add("--alpha", type=float, help="for all (what sgmc has by default at that K)")
    add("--eta", type=float, help="for all (the same)")
    add("--own", action="store_const", const=True, help="each peer with its own priors")
    add("--peers", nargs="+", choices=list(PEERS), metavar="PEER", help=f"{', '.join(PEERS)} (all)")
    add("--seed", type=int, help="(1)")
    arguments = parser.parse_args()
    given = {
        name: getattr(arguments, name)
        for name in Contest._fields
        if getattr(arguments, name) is not None
    }
    if not set(arguments.cores) <= set(cores):
        parser.error(f"--cores: this process may use {' '.join(map(str, cores))}")
    if arguments.corpus:
        if arguments.data or arguments.contest:
            parser.error(
                "--corpus is a contest that is not in the plan: leave --data and --contest out"
            )
        if arguments.output is None:
            parser.error("--corpus needs -o: results of the plan have their folder to themselves")
        name, *files = arguments.corpus
        if not 1 <= len(files) <= 3:
            parser.error(f"--corpus {name}: give one to three files")
        usual = {"topics": 100, "budget": 64.0, "peers": PEERS} | given
        contest = Contest(**(usual | {"corpus": name, "peers": tuple(usual["peers"])}))
        if min(contest.topics, contest.threads, contest.chains) < 1 or contest.budget <= 0:
            parser.error("topics, threads, chains and seconds are positive numbers")
        return arguments, [(contest, Source(tuple(files)))]
    arguments.output = arguments.output or HERE.parent / "results"
    if given:
        parser.error(f"--{next(iter(given))} is for --corpus: the plan has its own")
    if arguments.contest and not arguments.data:
        parser.error("--contest needs --data: where are the files?")
    patterns = (arguments.contest or ["*"]) if arguments.data else []
    for pattern in patterns:
        if not any(fnmatch(contest.name, pattern) for contest in CONTESTS):
            parser.error(f"--contest {pattern}: no contest of the plan has such a name")
    return arguments, [
        (contest, source._replace(files=tuple(str(arguments.data / f) for f in source.files)))
        for contest in CONTESTS
        if any(fnmatch(contest.name, pattern) for pattern in patterns)
        for source in [CORPORA[contest.corpus]]
    ]


def compete(contest: Contest, source: Source, cores: list[int]) -> dict[str, Any]:
    """Run all peers of a contest."""
    present = []
    for name in contest.peers:
        peer = PEERS[name]
        if not importlib.util.find_spec(peer.module):
            say(contest, f"{name} is not installed: left out (pip install {peer.package})")
        elif lacks := peer.cannot(own=contest.own, threads=contest.threads, chains=contest.chains):
            say(contest, f"{name} has no {lacks}: left out")
        else:
            present.append(name)
    cores = cores[-contest.threads :]
    if len(cores) < contest.threads:
        say(contest, f"{contest.threads} threads on {len(cores)} core: the figures will say little")
    with tempfile.TemporaryDirectory(prefix="sgmc-bench-") as scratch:
        facts, priors = prepare(contest, source, Path(scratch))
        settings = contest._replace(**priors)._asdict()
        found: dict[str, Any] = {
            "name": contest.name,
            "machine": machine(),
            "versions": {
                package: importlib.metadata.version(package)
                for package in ["numpy", *dict.fromkeys(PEERS[name].package for name in present)]
            },
            "settings": {n: v for n, v in settings.items() if n not in {"corpus", "peers"}},
            "corpus": facts,
        }
        job = {**found["settings"], "name": contest.name, "cores": cores, "corpus": scratch}
        found["peers"] = [child(peer, job, Path(scratch)) for peer in present]
    return found


def prepare(
    contest: Contest, source: Source, folder: Path
) -> tuple[dict[str, Any], dict[str, float]]:
    """Store the three parts of a corpus for child processes; return its facts and priors."""
    corpus = open_corpus([source.files[0]], CorpusOptions(), store=folder / "read")
    training = corpus.take(np.arange(corpus.documents))
    if source.cut:
        training = source.cut(training, contest.seed)
    if len(source.files) == 1:
        d = len(training)
        ids = choose_documents(d, min(1000, max(1, d // 10)), Key(contest.seed, 0, 0))
        held_out = split(training.take(ids), ids, 0.8, contest.seed)
        training = training.take(np.setdiff1d(np.arange(d), ids, assume_unique=True))
    else:
        parts = []
        for i, path in enumerate(source.files[1:]):
            other = open_corpus(
                [path], CorpusOptions(), store=folder / f"read-{i}", match=corpus.vocabulary
            )
            parts.append(other.take(np.arange(other.documents)))
        if len(parts) == 2:
            held_out = pair_parts(*parts)
        else:
            held_out = split(parts[0], np.arange(len(parts[0])), 0.8, contest.seed)
    stored = {"training": training, "observed": held_out.observed, "held-out": held_out.held_out}
    for part, documents in stored.items():
        store_documents(folder / part, documents, corpus.vocabulary, {"part": part})
    counts = np.asarray(Corpus.open(folder / "training").totals.word_counts)
    words = minibatch_words(training, np.arange(len(training)))
    facts = Facts(len(training), corpus.words, training.tokens, visits(held_out), words)
    usual = resolve({"algo": "scir", "topics": contest.topics}, facts).options
    priors = {
        name: float(getattr(usual, name))
        if getattr(contest, name) is None
        else getattr(contest, name)
        for name in ("alpha", "eta")
    }
    readers = lda_readers(contest.topics, priors["alpha"])
    return {
        "name": contest.corpus,
        "about": source.about,
        "documents": len(training),
        "words": corpus.words,
        "tokens": training.tokens,
        "held_out_documents": len(held_out.observed),
        "held_out_tokens": held_out.held_out.tokens,
        "dropped": held_out.dropped,
        "unigram": round(Completion(held_out, readers, 1).unigram(counts), 2),
    }, priors


def child(name: str, job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train one peer in a separate process; if it fails, that is printed, and the others continue."""
    peer, result = PEERS[name], folder / "result.json"
    (folder / "job.json").write_text(json.dumps({**job, "peer": name, "result": str(result)}))
    facts = {
        "peer": name,
        "kind": peer.kind,
        "refits": peer.refits,
        "settings": peer.own if job["own"] else peer.settings,
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "child.py"), str(folder / "job.json")],
        env={**os.environ, **dict.fromkeys(THREADS, str(job["threads"]))},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        print(f"{job['name']}: {name} failed with {done.returncode}: left out", file=sys.stderr)
        return facts | {"failed": done.returncode, "points": []}
    return facts | json.loads(result.read_text())


def store(path: Path, found: dict[str, Any]) -> None:
    """Write a contest to the file of all contests, in place of an older one of the same name."""
    before = json.loads(path.read_text())["contests"] if path.exists() else []
    others = [contest for contest in before if contest["name"] != found["name"]]
    path.write_text(json.dumps({"contests": in_order([*others, found])}, indent=1) + "\n")


def in_order(contests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put contests in the order of the plan; those that are not in it come last, by name."""
    order = [contest.name for contest in CONTESTS]
    return sorted(
        contests,
        key=lambda c: (order.index(c["name"]) if c["name"] in order else len(order), c["name"]),
    )


def say(contest: Contest, line: str) -> None:
    """Write a line to standard error."""
    print(f"{contest.name}: {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
