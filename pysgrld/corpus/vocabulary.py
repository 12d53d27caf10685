"""Vocabularies: read from a file, or chosen among the words that were seen."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.lines import Lines, plain_name
from pysgrld.corpus.reading import (
    BUILT_MAX_DF,
    BUILT_MAX_VOCAB,
    BUILT_MIN_DF,
    BUILT_NUMBERS,
    BUILT_PATTERN,
    BUILT_STOP_WORDS,
    KEEP_LINKS,
    OF_TEXT,
    CorpusOptions,
)
from pysgrld.corpus.segment import SEGMENTERS
from pysgrld.corpus.stopwords import NAMED, named
from pysgrld.corpus.word_lists import genes_in, words_in
from pysgrld.errors import CorpusError, MissingInputError
from pysgrld.options.paths import is_file, is_stream, is_there
from pysgrld.options.spelling import fold
from pysgrld.types import Int64s

#: Most bytes of a word in a list of the user; words of sgmc's lists may be longer.
_LONGEST = 2**20
#: Bytes of a list of words, at most.
_LARGEST = 2**31
#: Suffixes of files of gene names from 10x.
_OF_GENES = ("features.tsv", "genes.tsv")


def read_vocabulary(path: str | Path, *, exact: bool = False) -> tuple[str, ...]:
    """Read a vocabulary file: one word a line, or what R and gensim write (`pysgrld.corpus.word_lists`).

    Parameters
    ----------
    path : str or Path
        UTF-8, possibly compressed.
    exact : bool
        Keep blanks around words, as in a stored corpus.

    Raises
    ------
    MissingInputError
        If the file is missing.
    CorpusError
        If a line is blank, a word comes twice, or a line is not UTF-8; the message names the line.
    """
    lines: dict[str, int] = {}
    if not exact and plain_name(path).lower().endswith(_OF_GENES):
        return read_genes(path)
    every: Iterable[tuple[int, str]] = _lines_of(path, "a vocabulary", 2**31 if exact else _LONGEST)
    if not exact:
        every = words_in(list(every), path)
    for number, line in every:
        word = line if exact else line.strip()
        if not word:
            raise CorpusError("a blank line in a vocabulary; give one word a line", path, number)
        if word in lines:
            raise CorpusError(
                f"{word[:40]!r} is in the vocabulary twice, first in line {lines[word]}; "
                "take one out",
                path,
                number,
            )
        lines[word] = number
    if not lines:
        raise CorpusError("an empty vocabulary; give one word a line", path)
    return tuple(lines)


def read_genes(path: str | Path) -> tuple[str, ...]:
    """Read the names of the genes of a matrix of 10x; repeated names are made distinct.

    Raises
    ------
    MissingInputError
        If the file is missing.
    CorpusError
        If it is no text.
    """
    return tuple(genes_in(list(_lines_of(path, "a list of genes", _LONGEST))))


def _lines_of(path: str | Path, kind: str, longest: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a list of words, each with its number."""
    for before, lines in _blocks_of(path, kind, longest):
        yield from enumerate(lines, before + 1)


def _blocks_of(path: str | Path, kind: str, longest: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a list of words, many at a time, with the number of lines before them.

    Raises
    ------
    MissingInputError
        If the file is missing.
    CorpusError
        If a line is not UTF-8, has a NUL or is too long.
    """
    if not is_stream(path):
        yield from _decoded(path, kind, longest)
        return
    # a pipe gives its lines once, and a list is asked for more than once
    key = str(path), *_stream_of(path)
    if key not in _read_streams:
        lines = list(_decoded(path, kind, longest))
        _read_streams[key := (str(path), *_stream_of(path))] = lines
    yield from _read_streams[key]


#: Lines of lists that were read from pipes, by the path, the pipe, and when it was last written to.
_read_streams: dict[tuple[str, int, int, int], list[tuple[int, list[str]]]] = {}


def _stream_of(path: str | Path) -> tuple[int, int, int]:
    status = Path(path).stat()
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _decoded(path: str | Path, kind: str, longest: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a list of words, many at a time; raises as `_blocks_of`."""

    def refuse(reason: str, message: str, path: str, line: int | None) -> None:
        raise CorpusError(f"{message}: this is no list of words", path, line)

    number = 0
    with Lines(path, longest, max_input=_LARGEST) as source:
        for block in source.lines(refuse):
            whole = block.removesuffix(b"\n")
            try:
                words = whole.decode("utf-8").split("\n")
            except UnicodeDecodeError as error:
                raise CorpusError(
                    "not UTF-8; convert the file (for example: iconv -f WINDOWS-1252 -t UTF-8)",
                    source.label,
                    number + whole.count(b"\n", 0, error.start) + 1,
                ) from None
            if b"\0" in whole:
                nul = number + whole.count(b"\n", 0, whole.index(b"\0")) + 1
                raise CorpusError(f"a NUL in {kind}; give one word a line", source.label, nul)
            yield number, words
            number += len(words)


class StopWords(NamedTuple):
    """The stop words of a choice.

    Attributes
    ----------
    words : frozenset of str
        As the tokeniser writes them.
    record : list of dict
        Of each list its ``name``, the number of its ``words``, and the SHA-256 of them, sorted.
    """

    words: frozenset[str]
    record: list[dict[str, Any]]


def stop_words(choice: str) -> StopWords:
    """Read the stop words of a choice: lists, by name or by file, joined by commas; or "none".

    Parameters
    ----------
    choice : str
        Value of ``--stop-words``.

    Returns
    -------
    StopWords
        The words of all lists, with the digest of each list.

    Raises
    ------
    MissingInputError
        If the list is missing.
    CorpusError
        If a file is none of words.
    """
    lists: dict[str, _WordList] = {}
    for name in () if choice == "none" else choice.split(","):
        if name in NAMED:
            lists[name] = _WordList.of(named(name))
            continue
        if not is_there(name):
            raise MissingInputError(
                f"--stop-words {name}: no such file; give {', '.join(NAMED)}, none, "
                "a file with one word a line, or several of them joined by commas"
            )
        status = Path(name).stat()
        stamp = status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        lists[name] = _list_of(name, stamp if is_file(name) else (object(),))
    record = [
        {"name": name, "words": len(word_list.words), "sha256": word_list.sha256}
        for name, word_list in lists.items()
    ]
    words = [word_list.words for word_list in lists.values()]
    return StopWords(words[0] if len(words) == 1 else frozenset().union(*words), record)


class _WordList(NamedTuple):
    """Words of a list, and the SHA-256 (hex) of them, sorted."""

    words: frozenset[str]
    sha256: str

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        """Return a list of these words."""
        return cls(frozenset(words), hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest())


@lru_cache(maxsize=2)
def _list_of(path: str, stamp: tuple[object, ...]) -> _WordList:
    """Read a list of stop words; a file of the same stamp is read once."""
    # Words may repeat. They stay in the order of the file: a sorted list is soon sorted again.
    words: dict[str, None] = {}
    for _, lines in _blocks_of(path, "a list of stop words", _LONGEST):
        text = fold("\n".join(lines))
        for sign in ',;"':  # people write several words in a line
            text = text.replace(sign, " ")
        words.update(dict.fromkeys(text.split()))
    if not words:
        raise CorpusError("no stop words in the list; give one word a line", path)
    return _WordList.of(words)


class Rules(NamedTuple):
    """The rules that take words out of a vocabulary, every default resolved.

    Attributes
    ----------
    stop_words : str
    numbers : {"years", "keep", "drop"}
    min_df, max_df : int or float
    max_vocab : int or None
    """

    stop_words: str
    numbers: str
    min_df: int | float
    max_df: int | float
    max_vocab: int | None

    @classmethod
    def of(cls, options: CorpusOptions, built: bool) -> Rules:
        """Resolve defaults, which are strict only if a vocabulary is built."""
        default = _BUILT if built else _GIVEN
        if built and options.cuts:
            lists = (default.stop_words, SEGMENTERS[options.cuts].stop_words)
            default = default._replace(stop_words=",".join(dict.fromkeys(lists)))
        return cls(
            default.stop_words if options.stop_words is None else options.stop_words,
            options.numbers or default.numbers,
            default.min_df if options.min_df is None else options.min_df,
            default.max_df if options.max_df is None else options.max_df,
            default.max_vocab if options.max_vocab is None else options.max_vocab,
        )


_BUILT = Rules(BUILT_STOP_WORDS, BUILT_NUMBERS, BUILT_MIN_DF, BUILT_MAX_DF, BUILT_MAX_VOCAB)
_GIVEN = Rules("none", "keep", 0, 1.0, None)
#: Words that are numbers, or the rest of a number that was split at a comma; and words that are years.
_NUMBER = re.compile(r"_*\d[\d_]*(?:st|nd|rd|th)?")
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")


def is_number(word: str, numbers: str) -> bool:
    """Return True if a rule removes a word because it is a number.

    Parameters
    ----------
    word : str
        A word of the vocabulary.
    numbers : str
        The rule, as ``--numbers`` takes it.

    Returns
    -------
    bool
        True if the word is removed.
    """
    if numbers == "keep" or not _NUMBER.fullmatch(word):
        return False
    return numbers == "drop" or not _YEAR.fullmatch(word)


def resolved(
    options: CorpusOptions, rules: Rules, stop: StopWords, *, text: bool
) -> dict[str, Any]:
    """Return the options that make a vocabulary, by the names that are typed, every default resolved.

    For counts the options of tokens and encodings are left out.
    """
    options_by_name: dict[str, Any] = {
        "stop-words": stop.record,
        "min-df": rules.min_df,
        "max-df": rules.max_df,
        "max-vocab": rules.max_vocab,
    }
    if text:
        options_by_name["numbers"] = rules.numbers
        options_by_name["token-pattern"] = options.token_pattern or BUILT_PATTERN
        options_by_name |= {name: getattr(options, name.replace("-", "_")) for name in OF_TEXT}
        options_by_name[KEEP_LINKS] = bool(options.keep_links)
        if options.mask:
            options_by_name["mask"] = True
        if options.cuts:
            options_by_name["segment"] = options.cuts
        if options.phrases:
            options_by_name["phrases"] = list(options.phrases)
    return options_by_name


class Choice(NamedTuple):
    """The words that stay in a vocabulary, and which rule took out each of the others.

    Attributes
    ----------
    kept : (V,) int64
        Ids that stay, in their new order.
    by : (number of words,) int8
        By which of `RULES` each word was taken out; -1: by none.
    """

    kept: Int64s
    by: npt.NDArray[np.int8]

    @property
    def removed(self) -> dict[str, int]:
        """Number of words by the rule that took them out."""
        return {name: int((self.by == number).sum()) for number, name in enumerate(RULES)}


#: Rules that leave words out, in the order of their application; the last: a word never occurs.
RULES = ("stop words", "numbers", "min_df", "max_df", "max_vocab", "unused")


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
    """Apply stop words, numbers, min_df, max_df and max_vocab, in this order.

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
        Drop words that never occur, for any min_df.
    stop : frozenset of str
        The stop words of `rules`.
    """
    least = rules.min_df * documents if isinstance(rules.min_df, float) else rules.min_df
    most = rules.max_df * documents if isinstance(rules.max_df, float) else rules.max_df
    rule_numbers = np.full(len(words), -1, np.int8)
    if must_occur:
        rule_numbers[document_counts == 0] = RULES.index("unused")
    tests: dict[str, Callable[[], npt.NDArray[np.bool_]]] = {
        "stop words": lambda: np.fromiter((w in stop for w in words), np.bool_, len(words)),
        "numbers": lambda: np.fromiter(
            ((w[0] == "_" or w[0].isdigit()) and is_number(w, rules.numbers) for w in words),
            np.bool_,
            len(words),
        ),
        "min_df": lambda: document_counts < least,
        "max_df": lambda: document_counts > most,
    }
    for name, test in tests.items():
        rule_numbers[(rule_numbers == -1) & test()] = RULES.index(name)
    kept_ids = np.flatnonzero(rule_numbers == -1)
    if by_frequency or rules.max_vocab is not None:
        alphabetical = sorted(kept_ids.tolist(), key=words.__getitem__)
        ranked = np.asarray(alphabetical, np.int64)
        ranked = ranked[np.argsort(-token_counts[ranked], kind="stable")]
        ranked, beyond = np.split(
            ranked, [len(ranked) if rules.max_vocab is None else rules.max_vocab]
        )
        rule_numbers[beyond] = RULES.index("max_vocab")
        kept_ids = ranked if by_frequency else np.sort(ranked)
    return Choice(kept_ids.astype(np.int64), rule_numbers)
