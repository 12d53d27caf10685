"""Conversion of texts and word counts to a stored corpus, which is a folder of arrays on disk.

`open_corpus` makes a stored corpus from any input. It and `Corpus` are imported at first use, so
that options can be declared and help can be printed without NumPy, and runs can be read without
importing the input formats.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pysgrld.corpus.reading import CorpusOptions

if TYPE_CHECKING:
    from pysgrld.corpus.open import open_corpus
    from pysgrld.corpus.store import Corpus

__all__ = ["Corpus", "CorpusOptions", "open_corpus"]

_MODULES = {"Corpus": "pysgrld.corpus.store", "open_corpus": "pysgrld.corpus.open"}

# Type checkers must not see `__getattr__`, because they would then accept any name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return getattr(import_module(_MODULES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
