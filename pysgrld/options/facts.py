"""The facts of a corpus that the rules behind the defaults know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Facts(NamedTuple):
    """The facts of a corpus that defaults of options depend on.

    Attributes
    ----------
    documents : int
        Training documents D.
    words : int
        Vocabulary V.
    tokens : int
        Training tokens.
    score_visits : int
        Token visits of one update of the running score (0 without held-out documents).
    minibatch_words : callable (size, seed) -> int
        Distinct words of the first minibatch, which stands for all of them.
    vocabulary : sequence of str, optional
        The words, where options may name some.
    """

    documents: int
    words: int
    tokens: int
    score_visits: int
    minibatch_words: Callable[[int, int], int]
    vocabulary: Sequence[str] | None = None
