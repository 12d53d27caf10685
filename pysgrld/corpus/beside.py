"""The data that a file is named after, and the vocabulary that lies beside a file of counts."""

from __future__ import annotations

from pathlib import Path

from pysgrld.corpus.formats import PREFIXES, SUFFIXES
from pysgrld.corpus.names import COMPRESSED, plain_name, without_suffix


def stem(path: str | Path) -> str:
    """Return a file's name without compression, format and ``docword.``: what the data is called.

    >>> stem("data/docword.20news.train.txt.gz")
    '20news.train'
    """
    name = without_suffix(plain_name(path), SUFFIXES)
    for prefix in PREFIXES:
        name = name.removeprefix(prefix) or name
    return name


def vocabulary_beside(path: Path) -> Path | None:
    """Find the vocabulary of a file of counts.

    ``vocab.NAME.txt`` beside ``docword.NAME.txt`` or ``NAME.mtx``; else that file with the last
    dotted parts of NAME left out one by one; else the only ``vocab.*.txt`` there. Any of them may
    be compressed.
    """
    parts = stem(path).split(".")
    for end in range(len(parts), 0, -1):
        for suffix in ("", *COMPRESSED):
            found = path.parent / f"vocab.{'.'.join(parts[:end])}.txt{suffix}"
            if found.is_file():
                return found
    every = [p for s in ("", *COMPRESSED) for p in path.parent.glob(f"vocab.*.txt{s}")]
    return every[0] if len(every) == 1 else None
