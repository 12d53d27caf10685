"""Reading of topics from another program: a matrix and its words, a MALLET state, or a table."""

from __future__ import annotations

import csv
import io
import itertools
import math
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, MissingInputError, SgmcError, UsageError, plural
from pysgrld.options.paths import is_file
from pysgrld.types import Floats

#: Start of the first line of a MALLET state.
_STATE = "#doc source pos"
#: Accepted names of a table's column with probabilities.
_VALUES = ("p", "probability", "weight", "prob", "beta", "count")
#: Minimum mean number of words per topic in a table. If there are fewer, the table has only the top
#: words of topics instead of whole distributions.
_WORDS = 30
#: Maximum number of entries of the matrix that is made from a table of topics.
_CELLS = 1 << 29
#: Maximum number of bytes of a line in a table of topics.
_LINE = 1 << 20


#: Advice for users whose topics are in a model of gensim.
_ADVICE = (
    ", write the topics with np.save('topics.npy', lda.get_topics()), and the words to vocab.txt, "
    "one per line"
)
#: Errors of `numpy.load` for an invalid file. `numpy.load` parses the header as Python code.
_INVALID = (ValueError, EOFError, OverflowError, MemoryError, SyntaxError, tokenize.TokenError)


class ForeignTopics(NamedTuple):
    """Topics as distributions over words, (K, V), and the V words."""

    phi: Floats
    words: tuple[str, ...]


def read_foreign_topics(path: Path, vocabulary: Path | None = None) -> ForeignTopics:
    """Read topics from a file of another program.

    Parameters
    ----------
    path : Path
        ``.npy``: a matrix (K, V) or (V, K). Any other file is text, possibly compressed:
        MALLET's state; MALLET's topic-word weights (topic, word, weight, separated by tabs); or a
        table with a header and the columns topic, word, and p, probability, weight, prob, beta or
        count.
    vocabulary : Path, optional
        Words of the matrix, one per line; by default ``vocab.txt`` in the folder of the matrix.

    Raises
    ------
    MissingInputError
        If a file is missing.
    CorpusError
        If a line or the matrix cannot be read as topics.
    UsageError
        If the file has only the top words of each topic.
    """
    if not is_file(path):
        raise MissingInputError(f"{path}: no such file; check the path")
    try:
        if path.suffix == ".npy":
            return _read_matrix(path, vocabulary or path.parent / "vocab.txt")
        counts = _read_table(path)
    except (OSError, csv.Error) as error:
        if isinstance(error, SgmcError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise MissingInputError(
            f"{path}: cannot be read: {reason}; make it readable, then try again"
        ) from None
    if not counts:
        raise CorpusError("has no topic", path)
    words = sorted({word for topic in counts.values() for word in topic})
    place = {word: i for i, word in enumerate(words)}
    if sum(map(len, counts.values())) < _WORDS * len(counts):
        raise UsageError(
            f"{path}: the file has only the first words of each topic, but all words are "
            f"needed; in gensim{_ADVICE}"
        )
    if len(counts) * len(words) > _CELLS:
        raise CorpusError(
            f"the file has {plural(len(counts), 'topic')} over {plural(len(words), 'word')}, too "
            "many to read; give fewer topics, or topics over fewer words",
            path,
        )
    phi = np.zeros((len(counts), len(words)))
    for row, topic in enumerate(sorted(counts)):
        for word, value in counts[topic].items():
            phi[row, place[word]] = value
    return ForeignTopics(_scaled(phi, path), tuple(words))


def _read_matrix(path: Path, vocabulary: Path) -> ForeignTopics:
    if not is_file(vocabulary):
        raise MissingInputError(
            f"{vocabulary}: no such file; give the words with --topic-words FILE"
        )
    try:
        words = tuple(vocabulary.read_text(encoding="utf-8").splitlines())
    except UnicodeDecodeError:
        raise CorpusError("this is not UTF-8; save it as UTF-8", vocabulary) from None
    try:
        # The file is mapped into memory, so that a wrong size in its header is refused before
        # memory is allocated.
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except _INVALID:
        matrix = None
    if not isinstance(matrix, np.ndarray):
        raise CorpusError("this is not a matrix in NumPy format; write it with np.save", path)
    if matrix.ndim != 2 or len(words) not in matrix.shape or matrix.dtype.kind not in "fiu":
        shape = " x ".join(map(str, matrix.shape))
        raise CorpusError(
            f"this is a matrix of {shape}, without a row or column for each of the "
            f"{plural(len(words), 'word')} in {vocabulary}; give the words of these topics with "
            "--topic-words",
            path,
        )
    phi = matrix if matrix.shape[1] == len(words) else matrix.T
    return ForeignTopics(_scaled(phi, path), words)


def _scaled(phi: npt.NDArray[Any], path: Path) -> Floats:
    """Scale each topic so that its row sums to 1."""
    with np.errstate(over="ignore"):
        totals = phi.sum(axis=1, keepdims=True, dtype=np.float64)
    if not (phi.size and np.isfinite(totals).all() and (phi >= 0).all() and (totals > 0).all()):
        raise CorpusError(
            "a topic has a negative value or a value that is not a number, or all its values are "
            "0; write the topics again",
            path,
        )
    scaled: Floats = (phi / totals).astype(np.float32)
    return scaled


def _read_table(path: Path) -> dict[int, dict[str, float]]:
    """Read a table, and return the words of each topic with their weights."""
    topics: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    with Lines(path, _LINE) as lines_of_file:
        file = _lines(lines_of_file, path)
        first = next(file, "")
        if first.startswith(_STATE):
            for number, line in enumerate(file, 2):
                if not line.startswith("#"):
                    fields = line.split()
                    k = int(_number(fields[-1:], path, number))
                    for word in fields[-2:-1]:
                        topics[k][word] += 1.0
            return topics
        separator = "\t" if "\t" in first else ","
        heads = [head.strip().strip('"').lower() for head in first.split(separator)]
        columns = [0, 1, 2]
        if heads[0].isdigit():
            lines = [first]
        else:
            value = next((head for head in _VALUES if head in heads), None)
            if value is None or not {"topic", "word"} <= {*heads}:
                raise CorpusError(
                    "this is neither a MALLET state file nor a table with the columns topic, "
                    f"word and probability; in gensim{_ADVICE} (in tomotopy, save the list of "
                    "get_topic_word_dist(k))",
                    path,
                    1,
                )
            columns, lines = [heads.index(head) for head in ("topic", "word", value)], []
        rows = csv.reader(itertools.chain(lines, file), delimiter=separator)
        for number, fields in enumerate(rows, 2 - len(lines)):
            if len(fields) <= max(columns):
                raise CorpusError(f"has {plural(len(fields), 'field')}", path, number)
            topic, weight = (_number([fields[columns[i]]], path, number) for i in (0, 2))
            topics[int(topic)][fields[columns[1]]] += weight
    return topics


def _lines(file: Lines, path: Path) -> Iterator[str]:
    """Yield the lines of a file with their newlines."""

    def refuse(kind: str, message: str, label: str, line: int | None) -> None:
        raise CorpusError(
            f"the file has a line of more than {_LINE >> 20} MB, too long for topics; give "
            "another file",
            path,
            line,
        )

    for block in file.lines(refuse):
        yield from io.StringIO(block.decode("utf-8", errors="replace"))


def _number(fields: list[str], path: Path, line: int) -> float:
    try:
        number = float(fields[0])
    except (ValueError, IndexError):
        number = math.nan
    if not math.isfinite(number):
        raise CorpusError(f"wanted a number, found {str(fields)[:40]}", path, line)
    return number
