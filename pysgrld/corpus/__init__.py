"""Text and counts become a stored corpus: a folder of arrays, read from disk as they are needed.

``open_corpus`` is the only door. Nothing here is imported before it is used, so that options can
be declared, and help be printed, without NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pysgrld.corpus.listener import Listener, ReadingProgress
from pysgrld.corpus.reading import CorpusOptions

if TYPE_CHECKING:
    from pysgrld.corpus.inputs import corpus_name
    from pysgrld.corpus.open import open_corpus
    from pysgrld.corpus.sources import stands_for
    from pysgrld.corpus.store import Corpus
    from pysgrld.corpus.summary import describe

__all__ = [
    "Corpus",
    "CorpusOptions",
    "Listener",
    "ReadingProgress",
    "corpus_name",
    "describe",
    "open_corpus",
    "stands_for",
]

_HOMES = {
    "Corpus": "store",
    "corpus_name": "inputs",
    "describe": "summary",
    "open_corpus": "open",
    "stands_for": "sources",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
