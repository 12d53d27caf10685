"""Held-out perplexity against training seconds: sgmc beside other topic modellers.

    python benchmarks/peers --corpus NAME FILE... [--corpus ...] -o FOLDER

A corpus is one file (1,000 of its documents are held out), a training file and a test file, or a
training file and the two halves of test documents that others have split. Every peer that this
Python can import trains in a process of its own, on one core and one thread; the others are named
and left out. Written are peers.json with every point, a table, and a plot for each corpus;
--write-docs also measures the kernels and writes docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pages
from contestants import PEERS

from pysgrld.bench.end_to_end import bundled_corpus
from pysgrld.bench.machine import machine
from pysgrld.bench.results import measure
from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.choice import choose_documents
from pysgrld.corpus.documents import store_documents
from pysgrld.evaluate import Completion, pair, split
from pysgrld.models.lda.reader import LdaReaders
from pysgrld.types import Key

HERE = Path(__file__).parent
ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def main() -> None:
    arguments = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the child too
    if arguments.corpus:
        compete(arguments)
    found = json.loads((arguments.output / "peers.json").read_text())
    for corpus in found["corpora"]:
        print(f"\n{corpus['name']}\n\n{pages.table(found, corpus)}")
        if not arguments.write_docs:
            pages.plot(found, corpus, arguments.output / f"peers-{corpus['name']}.png")
    if arguments.write_docs:
        kernels = arguments.output / "kernels.json"
        if arguments.corpus or not kernels.exists():
            print("kernels: about a minute", file=sys.stderr)
            measured = measure(corpus=bundled_corpus())
            kernels.write_text(json.dumps(measured, indent=1) + "\n")
        pages.write_docs(found, json.loads(kernels.read_text()), HERE.parents[1] / "docs")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--corpus",
        nargs="+",
        action="append",
        default=[],
        metavar="NAME FILE",
        help="a name and one to three files; without any, FOLDER/peers.json is shown again",
    )
    add(
        "-o",
        "--output",
        type=Path,
        default=HERE.parent / "results",
        metavar="FOLDER",
        help="where results go (benchmarks/results)",
    )
    add("-k", "--topics", type=int, default=100)
    add("--alpha", type=float, help="for all (min(0.1, 5/K), the default of sgmc)")
    add("--eta", type=float, default=0.05, help="for all (0.05)")
    add("--budget", type=float, default=64.0, metavar="SECONDS", help="of training, each (64)")
    add(
        "--peers",
        nargs="+",
        default=list(PEERS),
        choices=list(PEERS),
        metavar="PEER",
        help=f"which of: {', '.join(PEERS)} (all)",
    )
    add("--own", action="store_true", help="a second time with each peer's own priors and defaults")
    add("--core", type=int, default=max(os.sched_getaffinity(0)), help="where to pin them (last)")
    add("--seed", type=int, default=1)
    add("--write-docs", action="store_true", help="also write docs/benchmarks.md and its plots")
    arguments = parser.parse_args()
    for name, *files in arguments.corpus:
        if not 1 <= len(files) <= 3:
            parser.error(f"--corpus {name}: give one to three files")
    if arguments.alpha is None:
        arguments.alpha = min(0.1, 5.0 / arguments.topics)
    return arguments


def compete(arguments: argparse.Namespace) -> None:
    """Run every peer on every corpus; peers.json is written anew after each of them."""
    present = []
    for name in arguments.peers:
        if importlib.util.find_spec(PEERS[name].module):
            present.append(name)
        else:
            print(
                f"{name} is not installed: left out (pip install {PEERS[name].package})",
                file=sys.stderr,
            )
    found: dict[str, Any] = {
        "machine": machine(),
        "command": "python benchmarks/peers " + " ".join(map(shorten, sys.argv[1:])),
        "versions": {
            package: importlib.metadata.version(package)
            for package in ["numpy", *dict.fromkeys(PEERS[name].package for name in present)]
        },
        "settings": {
            name: getattr(arguments, name) for name in ("topics", "alpha", "eta", "budget", "seed")
        },
        "corpora": [],
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, *files in arguments.corpus:
        with tempfile.TemporaryDirectory(prefix="sgmc-bench-") as scratch:
            facts = prepare(name, files, arguments, Path(scratch))
            found["corpora"].append(facts)
            for peer in present:
                for own in (False, True) if arguments.own and PEERS[peer].own else (False,):
                    facts["peers"].append(child(peer, own, name, arguments, Path(scratch)))
                    target = arguments.output / "peers.json"
                    target.write_text(json.dumps(found, indent=1) + "\n")


def prepare(
    name: str, files: list[str], arguments: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """Store the three parts of a corpus where every child finds them."""
    corpus = open_corpus(files[:1], CorpusOptions(), store=folder / "read")
    train = np.arange(corpus.documents)
    if len(files) == 1:
        ids = choose_documents(
            corpus.documents, min(1000, max(1, corpus.documents // 10)), Key(arguments.seed, 0, 0)
        )
        held_out = split(corpus.take(ids), ids, 0.8, arguments.seed)
        train = np.setdiff1d(train, ids, assume_unique=True)
    else:
        parts = []
        for i, path in enumerate(files[1:]):
            other = open_corpus(
                [path], CorpusOptions(), store=folder / f"read-{i}", match=corpus.vocabulary
            )
            parts.append(other.take(np.arange(other.documents)))
        if len(parts) == 2:
            held_out = pair(*parts)
        else:
            held_out = split(parts[0], np.arange(len(parts[0])), 0.8, arguments.seed)
    stored = {
        "training": corpus.take(train),
        "observed": held_out.observed,
        "held-out": held_out.held_out,
    }
    for part, documents in stored.items():
        store_documents(folder / part, documents, corpus.vocabulary, {"part": part})
    counts = np.asarray(Corpus.open(folder / "training").totals.word_counts)
    unigram = Completion(held_out, LdaReaders(arguments.topics, arguments.alpha), 1).unigram(counts)
    return {
        "name": name,
        "documents": len(train),
        "words": corpus.words,
        "tokens": stored["training"].tokens,
        "held_out_documents": len(held_out.observed),
        "held_out_tokens": held_out.held_out.tokens,
        "dropped": held_out.dropped,
        "unigram": round(unigram, 2),
        "peers": [],
    }


def child(
    peer: str, own: bool, corpus: str, arguments: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """Train one peer in a process of its own; one that fails is said, and the others go on."""
    job = {
        "peer": peer,
        "own": own,
        "name": corpus,
        "corpus": str(folder),
        "core": arguments.core,
        "topics": arguments.topics,
        "alpha": arguments.alpha,
        "eta": arguments.eta,
        "budget": arguments.budget,
        "seed": arguments.seed,
        "result": str(folder / "result.json"),
    }
    (folder / "job.json").write_text(json.dumps(job))
    facts = {
        "peer": peer,
        "own": own,
        "kind": PEERS[peer].kind,
        "refits": PEERS[peer].refits,
        "settings": PEERS[peer].own if own else PEERS[peer].settings,
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "contest.py"), str(folder / "job.json")],
        env={**os.environ, **dict.fromkeys(ONE_THREAD, "1")},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        print(f"{corpus}: {peer} failed with {done.returncode}: left out", file=sys.stderr)
        return facts | {"failed": done.returncode, "points": []}
    return facts | json.loads((folder / "result.json").read_text())


def shorten(argument: str) -> str:
    """Leave out the folders of a path: where data lies on this machine interests nobody."""
    return shlex.quote(Path(argument).name if os.sep in argument else argument)


if __name__ == "__main__":
    main()
