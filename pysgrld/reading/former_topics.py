"""Comparison of the topics of a run with those of the earlier run that it continues (``--from``).

Topic k of the run has replaced topic k of the earlier run if the two have less than half of their
probability in common. The topic then loses the name that was carried over from the earlier run, and
`compare` calls it new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.errors import CheckpointError, plural
from pysgrld.options.paths import path_exists
from pysgrld.reading.labels import LABELS, Label
from pysgrld.reading.run_record import warn_once
from pysgrld.run.files import replace_file
from pysgrld.run.tensors import DamagedError, encode, view
from pysgrld.types import Doubles, Floats

#: Name of the file in a run's folder that stores the topics of the earlier run. The file has an
#: array ``phi`` with one row per word, and with at least one column per topic.
FORMER = "former-topics.safetensors"
#: Minimum overlap of a topic with its earlier version. With less overlap, the topic counts as new.
STILL_THE_SAME = 0.5
#: Number of words that are compared at a time.
_WORDS = 8192


def digest_of_topics(phi: Floats) -> str:
    """Return the SHA-256 of the mean topics of a run.

    Parameters
    ----------
    phi : Floats
        Topics over words, shape (V, K or more).

    Returns
    -------
    str
        SHA-256 in hexadecimal digits.
    """
    return hashlib.sha256(np.ascontiguousarray(phi).tobytes()).hexdigest()


def write_former_topics(run: Path, phi: Floats) -> None:
    """Store in a run the topics of the earlier run from which it starts.

    Parameters
    ----------
    run : Path
    phi : (V, K or more) float32
        Mean topics of the former run.

    Raises
    ------
    OSError
    """
    replace_file(run / FORMER, encode({"phi": np.ascontiguousarray(phi)}), "former-topics")


class FormerTopics(NamedTuple):
    """Overlap of each topic of a run with the topic of the earlier run from which it started.

    Attributes
    ----------
    run : Path
    parent : mapping
        The record of the former run in ``config.json``.
    overlaps : (K,) float64
        Probability that each topic has in common with the former topic of the same row. A topic's
        probability of words that the former run lacked does not count.
    """

    run: Path
    parent: Mapping[str, Any]
    overlaps: Doubles

    @property
    def replaced(self) -> list[int]:
        """Numbers of the topics that no longer match the topics of the earlier run."""
        numbers: list[int] = np.flatnonzero(self.overlaps < STILL_THE_SAME).tolist()
        return numbers

    def names_that_stay(self, labels: Mapping[int, Label]) -> dict[int, Label]:
        """Return topic names without the names that were inherited from replaced topics.

        Log a warning that lists the replaced topics.
        """
        lost = {k: labels[k] for k in self.replaced if k in labels and labels[k].carried}
        if lost:
            topics = ", ".join(
                f"{k} {label.name!r} ({self.overlaps[k]:.2f})" for k, label in lost.items()
            )
            warn_once(
                f"{self.run / LABELS}: the names of {plural(len(lost), 'topic')} are not "
                "carried over, because other topics have replaced these topics: "
                f"{topics}; in brackets: overlap with the topic of {self.parent.get('run')}"
            )
        return {k: label for k, label in labels.items() if k not in lost}


def read_former_topics(
    run: Path, config: Mapping[str, Any], phi: Callable[[], Floats], topics: int
) -> FormerTopics | None:
    """Compare the topics of a run with the topics of the earlier run from which it started.

    Parameters
    ----------
    run : Path
    config : mapping
        ``config.json``; its ``parent`` is the record of the former run.
    phi : callable
        Returns the topics of the run, (V, K or more); the first rows belong to the words of the
        former run, in the same order.
    topics : int
        K.

    Returns
    -------
    FormerTopics or None
        None if the run did not begin with topics of another run, or the file of the former topics
        is gone.

    Raises
    ------
    CheckpointError
        If the file of the former topics was changed.
    """
    parent = config.get("parent")
    if not parent or not path_exists(run / FORMER):
        return None
    try:
        former = view(run / FORMER)["phi"]
    except (DamagedError, KeyError, OSError):
        former = np.zeros((0, 0), np.float32)
    now = phi()
    if digest_of_topics(former) != parent.get("digest") or len(former) > len(now):
        raise CheckpointError(
            f"{run / FORMER}: was changed since it was written; delete the file to continue "
            "without it (each name then stays with its topic number)"
        )
    overlaps = np.zeros(topics)
    for begin in range(0, len(former), _WORDS):
        words = slice(begin, min(begin + _WORDS, len(former)))
        common = np.minimum(former[words, :topics], now[words, :topics])
        overlaps += common.sum(axis=0, dtype=np.float64)
    return FormerTopics(run, parent, overlaps)
