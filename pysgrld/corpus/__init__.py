"""Text and counts become a stored corpus: a folder of memory-mapped arrays.

``open_corpus`` is the only door. Nothing here is imported before it is used, so that options can
be declared, and help be printed, without NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pysgrld.corpus.options import CorpusOptions, Progress

if TYPE_CHECKING:
    from pysgrld.corpus.inputs import corpus_name, inputs_record
    from pysgrld.corpus.open import open_corpus
    from pysgrld.corpus.store import Corpus
    from pysgrld.corpus.summary import describe

__all__ = [
    "Corpus",
    "CorpusOptions",
    "Progress",
    "corpus_name",
    "describe",
    "inputs_record",
    "open_corpus",
]

_HOMES = {
    "Corpus": "store",
    "corpus_name": "inputs",
    "describe": "summary",
    "inputs_record": "inputs",
    "open_corpus": "open",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
