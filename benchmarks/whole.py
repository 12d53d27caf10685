"""Seconds, memory and disk space of each command on one large corpus, from text to search over K.

    python benchmarks/whole.py FOLDER [--documents 2000000] [--words 200000] [-k 500] [--iterations 700]

Writes documents of about sixty words from planted topics into FOLDER (0.5 kB a document), then runs
``sgmc`` on them as a person would, each command in a process of its own, and prints a row for it: what
reads a run should need no more memory than what trained it. The table of docs/internals/speed.md comes
from here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from multiprocessing import Process
from pathlib import Path

import numpy as np

#: Documents that are drawn together, words that a topic has of its own, and tokens of a document.
BLOCK, OWN, TOKENS = 20_000, 2000, 60


def zipf(size: int) -> np.ndarray:
    """Return the cumulative probabilities of ranks, which fall as 1 / (rank + 5)."""
    p = 1.0 / (np.arange(size) + 5.0)
    return np.cumsum(p / p.sum())


def write(path: Path, documents: int, words: int, topics: int) -> None:
    """Write documents, one per line; a third of their tokens are from all words, others from 3 topics."""
    rng = np.random.default_rng(0)
    spelled = np.array([b"w%06d" % i for i in range(words)])
    everywhere, own = zipf(words), zipf(OWN)
    of_topics = rng.integers(0, words, (topics, OWN))
    with path.with_suffix(".part").open("wb") as file:
        for begin in range(0, documents, BLOCK):
            n = min(BLOCK, documents - begin)
            lengths = np.clip(rng.lognormal(np.log(TOKENS), 0.5, n), 8, 800).astype(int)
            total = int(lengths.sum())
            document = np.repeat(np.arange(n), lengths)
            chosen = rng.integers(0, topics, (n, 3))[
                document, rng.choice(3, total, p=[0.6, 0.3, 0.1])
            ]
            ids = of_topics[chosen, np.searchsorted(own, rng.random(total))]
            common = rng.random(total) < 1 / 3
            ids[common] = np.searchsorted(everywhere, rng.random(int(common.sum())))
            tokens, ends = spelled[ids].tolist(), np.cumsum(lengths).tolist()
            lines = (b" ".join(tokens[a:b]) for a, b in zip([0, *ends], ends, strict=False))
            file.write(b"\n".join(lines) + b"\n")
    path.with_suffix(".part").rename(path)


def size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def run(name: str, typed: list[str], made: Path, good: tuple[int, ...] = (0,)) -> None:
    """Run a command, and print its row."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "pysgrld", *typed], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in good:
        raise SystemExit(f"{name} ended with {code}")
    wall, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
    disk = size(made) / 1e9 if made.exists() else 0.0
    print(
        f"| {name} | {wall:.0f} | {cpu:.0f} | {used.ru_maxrss / 1e6:.2f} | {disk:.2f} |", flush=True
    )


def main() -> None:
    """Print a row for each command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=2_000_000)
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("-k", type=int, default=500)
    parser.add_argument("--iterations", type=int, default=700)
    parser.add_argument("--infer", default="1/20", help="part of the documents that is inferred")
    parser.add_argument("--search", type=float, default=600.0, help="seconds of the search")
    given = parser.parse_args()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    text, built, trained = folder / "docs.txt", folder / "built", folder / "run"
    if not text.exists():
        writer = Process(target=write, args=(text, given.documents, given.words, given.k))
        writer.start()  # its memory is not to count as that of processes that begin as copies of this one
        writer.join()
    print(f"{given.documents:,} documents, {size(text) / 1e9:.2f} GB")
    print("| command | seconds | CPU seconds | GB of memory | GB of disk |\n|---|---|---|---|---|")
    quiet, at = ["--quiet"], ["-k", str(given.k)]
    ends = ["--iterations", str(given.iterations)]
    if not built.exists():
        typed = ["corpus", "build", str(text), "-o", str(built), "--stop-words", "none"]
        run("corpus build", [*typed, "--max-vocab", str(given.words), *quiet], built)
    if not trained.exists():
        typed = ["train", str(built), "--out", str(trained), *at, *ends, *quiet]
        run(f"train, {given.iterations} iterations", typed, trained)
    longer = ["--iterations", str(given.iterations + 10)]
    run(
        "train, 10 more",
        ["train", str(built), "--out", str(trained), *at, *longer, *quiet],
        trained,
    )
    for name in ("eval", "topics", "diagnose"):
        run(name, [name, str(trained)], folder / "none", (0, 66))  # 66: too few samples to diagnose
    page = folder / "page.html"
    run("report", ["report", str(trained), "-o", str(page), "--force", *quiet], page)
    tables = folder / "tables"
    run(
        "export --to csv",
        ["export", str(trained), "--to", "csv", "-o", str(tables), "--force", *quiet],
        tables,
    )
    shares = folder / "shares"
    shutil.rmtree(shares, ignore_errors=True)
    typed = ["infer", str(trained), str(built), "-o", f"{shares}/", "--part", given.infer]
    run(f"infer, part {given.infer}", [*typed, "--format", "npy", *quiet], shares)
    found = folder / "search"
    typed = ["search", str(built), "--out", str(found), "-k", f"{given.k // 2},{given.k}", *quiet]
    run("search", [*typed, "--time-limit", f"{given.search:g}s"], found, (0, 85))


if __name__ == "__main__":
    main()
