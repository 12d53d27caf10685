"""Reading a corpus of made documents into a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.experiments.bench.timing import Timing, nanoseconds


def timings(quick: bool, scratch: Path) -> Iterator[Timing]:
    """Give the figures of reading plain text and counts, which are written to ``scratch`` first."""
    documents = 500 if quick else 5000
    yield Timing("reading", "plain text", "MB/s", _read(scratch / "text", documents, _write_text))
    yield Timing("reading", "UCI counts", "MB/s", _read(scratch / "uci", documents, _write_counts))


def _read(
    folder: Path, documents: int, write: Callable[[Path, int], Path]
) -> Callable[[int], list[float]]:
    def run(repeats: int) -> list[float]:
        folder.mkdir()
        path = write(folder, documents)
        size = path.stat().st_size
        times = nanoseconds(
            lambda step: open_corpus([str(path)], CorpusOptions(), store=folder / f"store-{step}"),
            size,
            repeats,
        )
        return [1000.0 / t for t in times]  # a nanosecond a byte is a thousand megabytes a second

    return run


def _words(documents: int) -> Any:
    """Draw words of documents of 150 tokens, (documents, 150); a few make most of the text."""
    rng = np.random.default_rng(0)
    return (20_000 * rng.random((documents, 150)) ** 3).astype(np.int64)


def _write_text(folder: Path, documents: int) -> Path:
    path = folder / "corpus.txt"
    lines = (" ".join(f"word{w}" for w in document) for document in _words(documents).tolist())
    path.write_text("\n".join(lines) + "\n")
    return path


def _write_counts(folder: Path, documents: int) -> Path:
    lines = []
    for d, document in enumerate(_words(documents), 1):
        for word, count in zip(*np.unique(document, return_counts=True), strict=True):
            lines.append(f"{d} {word + 1} {count}\n")
    (folder / "vocab.made.txt").write_text("".join(f"word{w}\n" for w in range(20_000)))
    path = folder / "docword.made.txt"
    path.write_text(f"{documents}\n20000\n{len(lines)}\n" + "".join(lines))
    return path
