"""Readers of lists of phrases, and of seed words of topics.

No NumPy here: help must be instant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from pysgrld.errors import CorpusError, MissingInputError, UsageError, plural
from pysgrld.options.option import Option
from pysgrld.options.parse import real
from pysgrld.options.paths import read_input
from pysgrld.options.spelling import fold, is_word


def read_text(option: str, path: str, largest: int, description: str) -> str:
    """Read the UTF-8 file that an option names, without its byte-order mark.

    Parameters
    ----------
    option : str
        Name of the option as it is typed, for messages.
    path : str
    largest : int
        Maximum number of bytes.
    description : str
        Description of the expected file, for the message about a larger file.

    Raises
    ------
    MissingInputError
        If the file cannot be read.
    CorpusError
        If the file is larger than `largest`, or is not UTF-8; the message then names the line.
    """
    try:
        data = read_input(path, largest, description)
    except MissingInputError as error:
        raise MissingInputError(f"{option} {error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CorpusError("the file is not UTF-8; save it as UTF-8", path, line) from None


#: Maximum size in bytes of a file of phrases.
LARGEST = 64 << 20
#: Maximum number of words of a phrase.
LONGEST = 10
#: Maximum number of characters of a phrase that a message shows.
_SHOWN = 60


def read_phrases(path: str) -> tuple[str, ...]:
    """Read a file of phrases, one per line, in the form that 'sgmc corpus phrases' writes.

    Text after a tab is ignored.

    Returns
    -------
    tuple of str
        Distinct phrases in sorted order. Their words are written as by the tokeniser, with single
        blanks between them.

    Raises
    ------
    MissingInputError
        If the file cannot be read.
    CorpusError
        If a line is no phrase of two words or more, or the file has no phrase.
    """
    phrases = set()
    data = read_text("--phrases", path, LARGEST, "list of phrases")
    for number, line in enumerate(data.split("\n"), 1):
        text = line.split("\t", 1)[0].strip()
        if not text or text.startswith("#"):
            continue
        words = fold(text).split()
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        if not 2 <= len(words) <= LONGEST:
            raise CorpusError(
                f"{shown!r} has {plural(len(words), 'word')}, but a phrase has 2 to {LONGEST} "
                "words, separated by spaces",
                path,
                number,
            )
        if not all(is_word(word) for word in words):
            raise CorpusError(
                f"{shown!r} can never occur: words of a text consist of two or more letters or "
                "digits, and no other characters",
                path,
                number,
            )
        phrases.add(" ".join(words))
    if not phrases:
        raise CorpusError("the file has no phrase; write one per line, such as: new york", path)
    return tuple(sorted(phrases))


def spell_phrases(phrases: Sequence[str]) -> str:
    """Return a short description of a list of phrases: their number and a digest.

    Parameters
    ----------
    phrases : sequence of str
        The phrases.

    Returns
    -------
    str
        Number and digest.
    """
    digest = sha256("\n".join(map(str, phrases)).encode()).hexdigest()
    return f"{plural(len(phrases), 'phrase')} ({digest[:8]})"


#: Seed word as the user writes it: a word (game), a prefix of words (game*), or a column number in
#: a corpus of word counts.
Pattern = str | int
#: Pairs of a topic's name and its seed words, in the order of the topics.
SeedWords = tuple[tuple[str, tuple[Pattern, ...]], ...]
#: Pairs of a topic's name and its seed words. Each seed word is a pair of the word and its id in
#: the vocabulary.
FoundSeeds = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]

#: Default total weight of a topic's seed words, as a fraction of the mean number of tokens per
#: topic.
WEIGHT = 0.01
#: Maximum size in bytes of a file of seed words.
LARGEST_SEEDS = 16 << 20
#: Maximum number of characters in the name of a topic.
LONGEST_NAME = 200
_SHAPE = 'write lines such as "sport: team game*", or JSON such as {"sport": ["team", "game*"]}'


def seed_words(value: Any) -> SeedWords:
    """Check seed words that are given as a Python object, which maps topic names to words.

    Parameters
    ----------
    value : mapping, or sequence of (name, words)
        Names of topics, each with its words. A word is a text as in a file, the number of a column,
        or (word, number) as a run records it.

    Returns
    -------
    SeedWords
        Names of topics with their words, in order.

    Raises
    ------
    UsageError
        If an entry is wrong; the message names the entry.
    """
    items = list(value.items() if isinstance(value, Mapping) else value)
    if not items:
        raise UsageError("the file has no topic with seed words")
    topics: dict[str, tuple[Pattern, ...]] = {}
    for item in items:
        if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
            raise UsageError(f"{item!r} is not a pair of a topic name and a list of words")
        name, words = item[0], item[1]
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise UsageError(f"{name!r} is not a topic name; give a line of printable text")
        name = " ".join(name.split())
        if len(name) > LONGEST_NAME:
            raise UsageError(
                f"the topic name {name[:20]}... has {len(name):,} characters; the maximum is "
                f"{LONGEST_NAME}"
            )
        if name in topics:
            raise UsageError(f"topic '{name}' occurs twice; write all its words in one place")
        if isinstance(words, str) or not isinstance(words, Sequence) or not words:
            raise UsageError(f"topic '{name}' has no list of words")
        patterns: dict[Pattern, None] = {}
        for word in words:
            if isinstance(word, tuple | list) and len(word) == 2:
                word = word[0]  # A run stores a seed word as a pair (word, id).
            if hasattr(word, "__index__") and not isinstance(word, bool):
                word = int(word)
            elif not isinstance(word, str) or not word.strip() or not word.isprintable():
                raise UsageError(f"topic '{name}': {word!r} is not a word")
            elif "*" in word[:-1] or word == "*":
                raise UsageError(
                    f"topic '{name}': '{word}' is not a word; * may occur only after the first "
                    "letters of a word, as in game*"
                )
            patterns[word] = None
        topics[name] = tuple(patterns)
    return tuple(topics.items())


def read_seed_words(path: str) -> SeedWords:
    """Read a file of seed words, in JSON or in lines such as 'sport: team game*'.

    Raises
    ------
    MissingInputError
        If the file cannot be read.
    CorpusError
        If the file has neither form; the message names the line.
    """
    text = read_text("--seed-words", path, LARGEST_SEEDS, "list of seed words")
    topics: list[tuple[str, Any]] = []
    try:
        if text.lstrip()[:1] in ("{", "["):
            try:
                topics = json.loads(text, object_pairs_hook=list)
            except (ValueError, RecursionError) as error:
                raise UsageError(f"the file is not JSON ({error})") from None
            if text.lstrip()[:1] != "{":
                raise UsageError(
                    "the file is not a JSON object of topic names, each with its words"
                )
            return seed_words(topics)
        for number, line in enumerate(text.splitlines(), 1):
            name, colon, words = line.partition(":")
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if not colon:
                raise UsageError(f"line {number} has no colon after a name")
            if not words.split():
                raise UsageError(f"line {number} has no word after the colon")
            topics.append((name, words.replace(",", " ").split()))
        return seed_words(topics)
    except UsageError as error:
        raise CorpusError(f"{error}; {_SHAPE}", path) from None


#: Options for seed words of models in which a topic is a distribution over words.
SEEDS: dict[str, Option] = {
    "seed-words": Option(
        str,
        "none",
        "file with topic names and words that the topics should have: lines 'sport: team game*', "
        "or JSON",
        "Model",
        metavar="FILE",
        read=read_seed_words,
        spell=lambda value: "; ".join(
            f"{topic}: {' '.join(map(str, words))}" for topic, words in seed_words(value)
        ),
    ),
    "seed-weight": Option(
        lambda value: 0.0 if value.strip() in ("0", "0.0") else real(0.0, 1e3)(value),
        str(WEIGHT),
        "total weight of a topic's seed words, as a fraction of an average topic's tokens; 0: "
        "use only the names",
        "Model",
        metavar="C",
    ),
}
