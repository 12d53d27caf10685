"""Seed words of topics: their ids in a vocabulary, and their prior counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pysgrld.errors import UsageError, plural
from pysgrld.options.option import Resolved
from pysgrld.options.spelling import fold
from pysgrld.options.word_files import FoundSeeds, Pattern, seed_words
from pysgrld.types import Seeds

#: Maximum number of words that a message names.
NAMED = 10


def _matches(pattern: Pattern, ids: Mapping[str, int]) -> list[int]:
    """Return the ids of the words that match a pattern.

    If no word matches the pattern as it is written, it is folded as the tokeniser folds words.
    The list is empty if still no word matches; ``ids`` has the ids of all words.
    """
    if isinstance(pattern, int):
        return [pattern] if 0 <= pattern < len(ids) else []
    folded = fold(pattern)
    for word in (pattern, folded):
        if word in ids:
            return [ids[word]]
        if word.endswith("*"):
            matches = [i for w, i in ids.items() if w.startswith(word[:-1])]
            if matches:
                return matches
    return []


def resolve_seeds(seeds: Any, topics: int, vocabulary: Sequence[str] | None) -> Any:
    """Return the seed words of each topic with their ids in the vocabulary.

    Parameters
    ----------
    seeds : object
        Value of ``--seed-words``.
    topics : int
        K.
    vocabulary : sequence of str or None
        All words, or None if they are not known; then words are not replaced by ids.

    Raises
    ------
    UsageError
        If seeds are given for more than K topics, or no seed of a topic is in the corpus.
    """
    requested = seed_words(seeds)
    if len(requested) > topics:
        raise UsageError(
            f"--seed-words has {plural(len(requested), 'topic')}, but the model has {topics}; "
            f"give --topics {len(requested)} (or more, for topics without seeds)"
        )
    if vocabulary is None:
        return requested
    every, cells = {word: i for i, word in enumerate(vocabulary)}, []
    for name, patterns in requested:
        ids = sorted({i for pattern in patterns for i in _matches(pattern, every)})
        if not ids:
            tried = " ".join(str(pattern) for pattern in patterns[:NAMED])
            raise UsageError(
                f"--seed-words: no seed of topic '{name}' is among the "
                f"{plural(len(vocabulary), 'word')} of the corpus (tried {tried}): the "
                "vocabulary lacks stop words, rare words and very frequent words; choose other "
                "seeds, or leave out the topic"
            )
        cells.append((name, tuple((vocabulary[i], i) for i in ids)))
    return tuple(cells)


def unknown_seeds(seeds: Any, vocabulary: Sequence[str]) -> str | None:
    """Return a message about seed words that the vocabulary does not have, or None.

    Parameters
    ----------
    seeds : Any
        Value of ``--seed-words``, or None.
    vocabulary : sequence of str
    """
    every = {word: i for i, word in enumerate(vocabulary)}
    requested = () if seeds is None else seed_words(seeds)
    missing = [str(word) for _, words in requested for word in words if not _matches(word, every)]
    if not missing:
        return None
    remainder = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
    return (
        f"--seed-words: ignored {plural(len(missing), 'seed')} that "
        f"{'is' if len(missing) == 1 else 'are'} not among the "
        f"{plural(len(vocabulary), 'word')} of the corpus: "
        f"{' '.join(missing[:NAMED])}{remainder}"
    )


def seed_names(options: Resolved | Mapping[str, Any]) -> dict[int, str]:
    """Return the names of those topics that have seed words, by topic number.

    These topics are the first topics, in the order of the file.

    Parameters
    ----------
    options : Resolved or mapping
        Options of a run.

    Returns
    -------
    dict of int to str
    """
    names = (
        options.get("seed-words")
        if isinstance(options, Mapping)
        else getattr(options, "seed_words", None)
    )
    return {k: name for k, (name, _) in enumerate(names or ())}


def prior_seed_counts(
    words: FoundSeeds | None, weight: float | None, topics: int, tokens: float
) -> Seeds | None:
    """Return the prior counts of seed words.

    The counts of a topic's seed words sum to ``seed-weight`` times N/K, for N tokens and K topics.
    Return None without seed words, or if their weight is 0.

    Parameters
    ----------
    words : FoundSeeds or None
        Seed words of the first topics, as `resolve_seeds` returns them.
    weight : float or None
        ``--seed-weight``.
    topics : int
        K.
    tokens : float
        N, tokens of the training corpus.
    """
    if not weight or words is None:
        return None
    cells = [(i, k) for k, (_, seeds) in enumerate(words) for _, i in seeds]
    rows, places = np.unique([i for i, _ in cells], return_inverse=True)
    counts = np.zeros((len(rows), topics))
    for place, (_, k) in zip(places.tolist(), cells, strict=True):
        share = weight * tokens / topics
        counts[place, k] = share / len(words[k][1])
    return Seeds(rows.astype(np.int32), counts)
