"""Vocabularies: read from a file, or chosen among the words that were seen."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.lines import Lines
from pysgrld.corpus.reading import (
    BUILT_MAX_DF,
    BUILT_MAX_VOCAB,
    BUILT_MIN_DF,
    BUILT_STOP_WORDS,
    CorpusOptions,
)
from pysgrld.corpus.stopwords import ENGLISH
from pysgrld.errors import CorpusError, MissingInputError
from pysgrld.types import Int64s

_LONGEST = 2**20  # bytes of a word that somebody else wrote; ours are as long as they are


def read_vocabulary(path: str | Path, *, exact: bool = False) -> tuple[str, ...]:
    """Read a vocabulary file: one word a line.

    Parameters
    ----------
    path : str or Path
        UTF-8, possibly compressed.
    exact : bool
        Keep blanks around words, as in a stored corpus.

    Raises
    ------
    MissingInputError
        If there is no such file.
    CorpusError
        If a line is blank, a word comes twice, or a line is not UTF-8; says which.
    """
    lines: dict[str, int] = {}
    with Lines(path, 2**31 if exact else _LONGEST) as source:
        for block in source.lines(_refuse):
            for line in block.removesuffix(b"\n").split(b"\n"):
                number = len(lines) + 1
                try:
                    word = line.decode("utf-8")
                except UnicodeDecodeError:
                    raise CorpusError(
                        "not UTF-8; convert the vocabulary", source.label, number
                    ) from None
                if not exact:
                    word = word.strip()
                if not word or "\0" in word:
                    what = "a NUL" if word else "a blank line"
                    raise CorpusError(
                        f"{what} in a vocabulary; give one word a line", source.label, number
                    )
                if word in lines:
                    raise CorpusError(
                        f"{word[:40]!r} is in the vocabulary twice, first in line {lines[word]}; "
                        "take one out",
                        source.label,
                        number,
                    )
                lines[word] = number
    if not lines:
        raise CorpusError("an empty vocabulary; give one word a line", path)
    return tuple(lines)


def _refuse(reason: str, message: str, path: str, line: int | None) -> None:
    raise CorpusError(f"{message}: this is no vocabulary", path, line)


def fold(word: str) -> str:
    """Return a word as the tokeniser writes it: casefolded, in normal form C."""
    return unicodedata.normalize("NFC", word).casefold()


def stop_words(choice: str) -> frozenset[str]:
    """Return the stop words of a choice: "english", "none", or a file with one word a line."""
    if choice == "none":
        return frozenset()
    if choice == "english":
        return ENGLISH
    if not Path(choice).exists():
        raise MissingInputError(
            f"--stop-words {choice}: there is no such file; give english, none, "
            "or a file with one word a line"
        )
    return frozenset(map(fold, read_vocabulary(choice)))


class Rules(NamedTuple):
    """The rules that take words out of a vocabulary, every default resolved.

    Attributes
    ----------
    stop_words : str
    min_df, max_df : int or float
    max_vocab : int or None
    """

    stop_words: str
    min_df: int | float
    max_df: int | float
    max_vocab: int | None

    @classmethod
    def of(cls, options: CorpusOptions, built: bool) -> Rules:
        """Resolve defaults, which are strict only where a vocabulary is built."""
        default = _BUILT if built else _GIVEN
        return cls(
            default.stop_words if options.stop_words is None else options.stop_words,
            default.min_df if options.min_df is None else options.min_df,
            default.max_df if options.max_df is None else options.max_df,
            default.max_vocab if options.max_vocab is None else options.max_vocab,
        )


_BUILT = Rules(BUILT_STOP_WORDS, BUILT_MIN_DF, BUILT_MAX_DF, BUILT_MAX_VOCAB)
_GIVEN = Rules("none", 0, 1.0, None)


class Choice(NamedTuple):
    """The words that stay in a vocabulary, and how many each rule took out.

    Attributes
    ----------
    kept : (V,) int64
        Ids that stay, in their new order.
    removed : dict
        Number of words by the rule that took them out.
    """

    kept: Int64s
    removed: dict[str, int]


def choose(
    words: Sequence[str],
    document_counts: Int64s,
    token_counts: Int64s,
    documents: int,
    rules: Rules,
    *,
    by_frequency: bool,
    must_occur: bool,
    stop: frozenset[str],
) -> Choice:
    """Apply stop words, min_df, max_df and max_vocab, in this order.

    Parameters
    ----------
    words : sequence of str
        By id.
    document_counts, token_counts : (len(words),) int64
        Documents that hold the word; its occurrences.
    documents : int
        What shares are shares of.
    rules : Rules
    by_frequency : bool
        Number the words that stay from the most frequent, ties by alphabet; else keep their order.
    must_occur : bool
        Drop words that never occur whatever min_df says.
    stop : frozenset of str
        The stop words of `rules`.
    """
    least = rules.min_df * documents if isinstance(rules.min_df, float) else rules.min_df
    most = rules.max_df * documents if isinstance(rules.max_df, float) else rules.max_df
    stay: npt.NDArray[np.bool_] = (
        document_counts > 0 if must_occur else np.ones(len(words), np.bool_)
    )
    removed: dict[str, int] = {}
    tests: dict[str, Callable[[], npt.NDArray[np.bool_]]] = {
        "stop words": lambda: np.fromiter((w not in stop for w in words), np.bool_, len(words)),
        "min_df": lambda: document_counts >= least,
        "max_df": lambda: document_counts <= most,
    }
    for name, test in tests.items():
        now = stay & test()
        removed[name] = int(stay.sum() - now.sum())
        stay = now
    kept = np.flatnonzero(stay)
    if by_frequency or rules.max_vocab is not None:
        alphabetical = sorted(kept.tolist(), key=words.__getitem__)
        ranked = np.asarray(alphabetical, np.int64)
        ranked = ranked[np.argsort(-token_counts[ranked], kind="stable")][: rules.max_vocab]
        removed["max_vocab"] = len(kept) - len(ranked)
        kept = ranked if by_frequency else np.sort(ranked)
    return Choice(kept.astype(np.int64), removed)
