"""Readers of vocabularies and stop words in files, and selection of a corpus's vocabulary."""

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
from pysgrld.options.paths import is_file, is_stream, path_exists
from pysgrld.options.spelling import fold
from pysgrld.types import Int64s

#: Maximum size in bytes of a word in the user's files. A word in a file of sgmc may be longer.
_LONGEST = 2**20
#: Maximum size in bytes of a file with a list of words.
_LARGEST = 2**31
#: Endings of the names of files that list genes, in the format of 10x Genomics.
_OF_GENES = ("features.tsv", "genes.tsv")


def read_vocabulary(path: str | Path, *, exact: bool = False) -> tuple[str, ...]:
    """Read a vocabulary file, with one word per line or in a format of R, gensim or 10x Genomics.

    `pysgrld.corpus.word_lists` reads the formats of R and gensim.

    Parameters
    ----------
    path : str or Path
        File in UTF-8, possibly compressed.
    exact : bool
        Keep blanks around words, as in a stored corpus.

    Raises
    ------
    MissingInputError
        If the file is missing.
    CorpusError
        If a line is blank, a word occurs twice, or a line is not UTF-8; the message names the line.
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
            raise CorpusError("the line is blank; give one word per line", path, number)
        if word in lines:
            raise CorpusError(
                f"{word[:40]!r} occurs twice in the vocabulary, first in line {lines[word]}; "
                "remove one",
                path,
                number,
            )
        lines[word] = number
    if not lines:
        raise CorpusError("the vocabulary is empty; give one word per line", path)
    return tuple(lines)


def read_genes(path: str | Path) -> tuple[str, ...]:
    """Read a file of gene names of 10x Genomics; make repeated names distinct by numbers.

    Raises
    ------
    MissingInputError
        If the file is missing.
    CorpusError
        If the file is not text.
    """
    return tuple(genes_in(list(_lines_of(path, "a list of genes", _LONGEST))))


def _lines_of(path: str | Path, kind: str, longest: int) -> Iterator[tuple[int, str]]:
    """Yield the 1-based number and the text of each line of a word list."""
    for before, lines in _blocks_of(path, kind, longest):
        yield from enumerate(lines, before + 1)


def _blocks_of(path: str | Path, kind: str, longest: int) -> Iterator[tuple[int, list[str]]]:
    """Yield blocks of lines of a word list; a block comes with the number of lines before it.

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
    # The caller may read a list twice, but a pipe can be read only once.
    key = str(path), *_stream_of(path)
    if key not in _read_streams:
        lines = list(_decoded(path, kind, longest))
        _read_streams[key := (str(path), *_stream_of(path))] = lines
    yield from _read_streams[key]


#: Blocks of lines that were read from a pipe, by the pipe's path, device, inode and modification
#: time.
_read_streams: dict[tuple[str, int, int, int], list[tuple[int, list[str]]]] = {}


def _stream_of(path: str | Path) -> tuple[int, int, int]:
    status = Path(path).stat()
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _decoded(path: str | Path, kind: str, longest: int) -> Iterator[tuple[int, list[str]]]:
    """Decode a word list in blocks of lines; raise an error for invalid text."""

    def refuse(reason: str, message: str, path: str, line: int | None) -> None:
        raise CorpusError(
            f"{message}: this is not a list of words; give one word per line", path, line
        )

    number = 0
    with Lines(path, longest, max_input=_LARGEST) as source:
        for block in source.lines(refuse):
            whole = block.removesuffix(b"\n")
            try:
                words = whole.decode("utf-8").split("\n")
            except UnicodeDecodeError as error:
                raise CorpusError(
                    "this is not UTF-8; convert the file (for example: iconv -f WINDOWS-1252 -t "
                    "UTF-8)",
                    source.label,
                    number + whole.count(b"\n", 0, error.start) + 1,
                ) from None
            if b"\0" in whole:
                nul = number + whole.count(b"\n", 0, whole.index(b"\0")) + 1
                raise CorpusError(
                    f"{kind} has a NUL character; give one word per line", source.label, nul
                )
            yield number, words
            number += len(words)


class StopWords(NamedTuple):
    """The stop words that the user has chosen, from one list or several lists.

    Attributes
    ----------
    words : frozenset of str
        Words as the tokeniser spells them.
    record : list of dict
        For each list its ``name``, the number of its ``words``, and the SHA-256 of its sorted
        words.
    """

    words: frozenset[str]
    record: list[dict[str, Any]]


def stop_words(choice: str) -> StopWords:
    """Read the user's lists of stop words, which are built-in lists or files.

    Parameters
    ----------
    choice : str
        Value of ``--stop-words``: names of lists or files, separated by commas, or "none".

    Returns
    -------
    StopWords
        The words of all lists, with the digest of each list.

    Raises
    ------
    MissingInputError
        If a list is missing.
    CorpusError
        If a file is not a list of words.
    """
    lists: dict[str, _WordList] = {}
    for name in () if choice == "none" else choice.split(","):
        if name in NAMED:
            lists[name] = _WordList.of(named(name))
            continue
        if not path_exists(name):
            raise MissingInputError(
                f"--stop-words {name}: no such file; give {', '.join(NAMED)}, none, a file with "
                "one word per line, or several of these separated by commas"
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
    """A list of stop words, with the SHA-256 of its sorted words in hexadecimal."""

    words: frozenset[str]
    sha256: str

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        """Create a list of the given words, and compute the SHA-256."""
        return cls(frozenset(words), hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest())


@lru_cache(maxsize=2)
def _list_of(path: str, stamp: tuple[object, ...]) -> _WordList:
    """Read a file of stop words; a new ``stamp`` means that the file has changed."""
    # A dict drops repeated words and keeps the order of the file. Sorting the words later is fast
    # if the file is sorted.
    words: dict[str, None] = {}
    for _, lines in _blocks_of(path, "a list of stop words", _LONGEST):
        text = fold("\n".join(lines))
        for sign in ',;"':  # Commas, semicolons and quotation marks may separate words in a line.
            text = text.replace(sign, " ")
        words.update(dict.fromkeys(text.split()))
    if not words:
        raise CorpusError("the list of stop words is empty; give one word per line", path)
    return _WordList.of(words)


class Rules(NamedTuple):
    """Values of the options that remove words from a vocabulary; defaults are filled in.

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
        """Create the rules from options; if ``built`` is False, the defaults keep all words."""
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
#: Pattern of words that are numbers, or parts of numbers that were split at a comma.
_NUMBER = re.compile(r"_*\d[\d_]*(?:st|nd|rd|th)?")
#: Pattern of numbers that may be years.
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")


def is_number(word: str, numbers: str) -> bool:
    """Return True if a word is a number that the option ``--numbers`` removes.

    Parameters
    ----------
    word : str
        A word of the vocabulary.
    numbers : str
        Value of ``--numbers``: "years", "keep" or "drop".

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
    """Return the reading options that a corpus records, by name, with defaults filled in.

    For counts, the options for text are left out.
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
    """Result of `choose`: the words that stay, and the rule that removed each of the other words.

    Attributes
    ----------
    kept : (V,) int64
        Ids of the words that stay, in their new order.
    by : (number of words,) int8
        Index in `RULES` of the rule that removed each word, or -1 if the word stays.
    """

    kept: Int64s
    by: npt.NDArray[np.int8]

    @property
    def removed(self) -> dict[str, int]:
        """Number of words that each rule removed, by the rule's name."""
        return {name: int((self.by == number).sum()) for number, name in enumerate(RULES)}


#: Names of the rules that remove words, in the order in which the rules are applied. The rule
#: "unused" removes words that never occur.
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
    """Choose the vocabulary among all words of a corpus, by rules that remove words.

    The rules are applied in this order: stop words, numbers, min_df, max_df and max_vocab.

    Parameters
    ----------
    words : sequence of str
        Words by id.
    document_counts, token_counts : (len(words),) int64
        Number of documents with each word, and number of its occurrences.
    documents : int
        Number of documents, to which a fraction as min_df or max_df refers.
    rules : Rules
    by_frequency : bool
        If True, number the words that stay by descending frequency, ties in alphabetical order;
        else keep their order.
    must_occur : bool
        Whether words that never occur are dropped even if min_df is 0.
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
