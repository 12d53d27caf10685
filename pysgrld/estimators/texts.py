"""Texts as documents of counts: read as ``sgmc train`` reads them, with its defaults."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus import CorpusOptions
from pysgrld.corpus.open import open_corpus
from pysgrld.corpus.streams import matched_documents
from pysgrld.errors import CorpusError, UsageError
from pysgrld.types import Documents

#: Bytes that a text may have.
LONGEST = 2**31 - 1


def texts_in(x: Any) -> list[str] | None:
    """Give the texts that somebody brings for X; None of anything that is no sequence of texts.

    Parameters
    ----------
    x : object
        A list, tuple, one-dimensional array or Series of str.
    """
    if isinstance(x, str | bytes | Documents) or getattr(x, "ndim", 1) != 1:
        return None
    if not (hasattr(x, "__len__") and hasattr(x, "__iter__")):
        return None
    found = []
    for text in x:
        if not isinstance(text, str):
            return None
        found.append(str(text))  # of a text of NumPy's, too
    return found or None


def vocabulary_of(texts: Sequence[str], threads: int) -> list[str]:
    """Choose the words that a model of texts knows, as ``sgmc train`` does by default.

    Parameters
    ----------
    texts : sequence of str
    threads : int

    Returns
    -------
    list of str
        The most frequent first.

    Raises
    ------
    UsageError
        A `ValueError`: a text that is none, or no word is left.
    """
    options = CorpusOptions(max_line=LONGEST)
    with _written(texts) as file:
        store = file.with_name("corpus")
        corpus = open_corpus([str(file)], options, store=store, threads=threads)
        return list(corpus.vocabulary)


def counted(
    texts: Sequence[str],
    words: Sequence[str],
    pattern: str | None,
    threads: int,
    phrases: tuple[str, ...] | None = None,
) -> Documents:
    """Count some words in texts; others are left out, and a text without any is an empty document.

    Parameters
    ----------
    texts : sequence of str
    words : sequence of str
        By their numbers.
    pattern : str or None
        Regular expression of a token; None: the one that is built in.
    threads : int
    phrases : tuple of str, optional
        Words in a row that count as one.

    Raises
    ------
    UsageError
        A `ValueError`: a text that is none.
    """
    options = CorpusOptions(max_line=LONGEST, token_pattern=pattern, phrases=phrases)
    with _written(texts) as file:
        blocks = list(
            matched_documents(
                [str(file)], options, words, threads=threads, notify=_nobody, log=_nobody
            )
        )
    starts = np.cumsum([0] + [len(block.indices) for block in blocks])
    ends = [block.indptr[1:] + start for block, start in zip(blocks, starts, strict=False)]
    return Documents(
        np.concatenate([np.zeros(1, np.int64), *ends]),
        np.concatenate([block.indices for block in blocks]),
        np.concatenate([block.counts for block in blocks]),
    )


@contextmanager
def _written(texts: Sequence[str]) -> Iterator[Path]:
    """Write texts to a file for a while; what is wrong with one of them is said of X."""
    with tempfile.TemporaryDirectory(prefix="pysgrld-") as folder:
        path = Path(folder) / "texts.jsonl"
        with path.open("w", encoding="ascii") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        try:
            yield path
        except CorpusError as error:
            why = error.reason.split(";")[0].replace("--", "")  # what to type is of no use here
            if error.line is not None:
                raise UsageError(f"X[{error.line - 1}]: {why}") from None
            raise UsageError(
                f"X: {why}; scikit-learn's CountVectorizer counts the words of texts by other rules"
            ) from None


def _nobody(_: object) -> None:
    """Drop what a person at a terminal would be told."""
