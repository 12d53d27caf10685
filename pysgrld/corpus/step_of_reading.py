"""A step of reading: what one part of an input gave."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pysgrld.corpus._tokenize import WordCounts
from pysgrld.corpus.about.details import DocumentDetails
from pysgrld.corpus.formats import Texts
from pysgrld.types import Documents


@dataclass(slots=True)
class Heading:
    """The beginning of an input: text or counts, and the words of its ids.

    Attributes
    ----------
    kind : {"text", "counts"}
    vocabulary : tuple of str or None
        Of counts: the word of each id; None: words are called by their number.
    origin : str
        Where the vocabulary was found, for the record.
    """

    kind: str
    vocabulary: tuple[str, ...] | None = None
    origin: str = ""


@dataclass(slots=True)
class Step:
    """A part of an input that was read: documents, messages, and counts of bad documents.

    Attributes
    ----------
    label : str
        What messages call the input.
    input, number : int
        Which input, and which step of it, both from 0.
    content : Heading, Texts, Documents or None
        None: nothing but what follows.
    about : DocumentDetails or None
        Who its documents are; whoever leaves some out leaves them out of it too.
    words : WordCounts or None
        Of a `Texts`, when it has been counted.
    cut, pieces : int
        Long documents that were cut, and the pieces that they gave.
    unwanted : int
        Documents that were passed over because nobody wants them; nothing else is said of them.
    absent : int
        Documents that the input counts but has no words of.
    skipped : Counter
        Bad documents that were left out, by reason.
    notes : list of str
        To be said to a person.
    size : int
        Bytes taken from files since the step before.
    source : dict or None
        Of the last step of an input: the record of all that was read of it.
    read : int
        Of the last step of an input: its documents, those that were left out too.
    """

    label: str
    input: int
    number: int
    content: Heading | Texts | Documents | None = None
    about: DocumentDetails | None = None
    words: WordCounts | None = None
    absent: int = 0
    unwanted: int = 0
    cut: int = 0
    pieces: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    size: int = 0
    source: dict[str, Any] | None = None
    read: int = 0

    @property
    def documents(self) -> int:
        """Number of documents in the step, good or bad."""
        if isinstance(self.content, Texts):
            return len(self.content.documents)
        return len(self.content) if isinstance(self.content, Documents) else 0
