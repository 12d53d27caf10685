"""Mapping of words to ids while a corpus is read; new words may be added."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from pysgrld.corpus import links, masks
from pysgrld.corpus._tokenize import Dictionary
from pysgrld.corpus.formats import Texts
from pysgrld.corpus.formats.protocol import BadDocuments
from pysgrld.corpus.lines import undecodable
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.corpus.steps import Heading, Step
from pysgrld.corpus.vocabulary import read_vocabulary
from pysgrld.corpus.write import renumber, without_empty
from pysgrld.errors import CorpusError, Log, Severity, UsageError, plural
from pysgrld.options.spelling import fold
from pysgrld.types import Documents, Int32s, Int64s

#: Names of the attributes that are recorded, so that an interrupted reading can resume.
_PLAIN = ("kind", "numbers", "origin", "label", "documents", "empty", "unknown", "cut", "pieces")


class Lexicon:
    """Words and ids of a corpus that is being read, with counts of omitted words and documents.

    The words come from a trained run (`match`), from a given vocabulary file, or from the inputs;
    then the dictionary grows with each new word of a text (``built``) or each vocabulary of counts.

    Parameters
    ----------
    options : CorpusOptions
    match : sequence of str or None
        The only words of the corpus, by id.
    keep_empty : bool
        True if documents without words, and bad documents, keep their place as empty rows.
    log : callable
        Called with each line of a message to the user.

    Attributes
    ----------
    documents, empty : int
        Number of good documents so far, and number of documents without a known word.
    cut, pieces : int
        Number of long documents that were split, and number of their pieces.
    unknown : int
        Number of tokens that are not among the given words.
    skipped : Counter
        Number of bad documents by reason.
    parts : Counter
        Number of parts removed from texts, by kind, and of placeholders for a missing text.
    origin : str
        Origin of the words: "run", "built", a file, ...
    numbers : bool or None
        True if words are named by their number, or None before the first counts.
    """

    def __init__(
        self, options: CorpusOptions, match: Sequence[str] | None, keep_empty: bool, log: Log
    ) -> None:
        self.options, self.match, self.keep_empty, self.log = options, match, keep_empty, log
        self.bad = BadDocuments(options.on_bad_document == "skip")
        self.skipped = self.bad.skipped
        self.parts = Counter[str]()
        self.kind: str | None = None
        self.numbers: bool | None = None
        self.label = ""
        self.documents = self.empty = self.unknown = self.cut = self.pieces = 0
        self.chosen = (
            None if options.vocab is None or match is not None else read_vocabulary(options.vocab)
        )
        self.fixed = match if match is not None else self.chosen
        self.origin = "" if self.fixed is None else "run" if match is not None else options.vocab
        self.dictionary = Dictionary(self.fixed)
        # Id in this lexicon of each word in the current input's vocabulary. None without a
        # vocabulary.
        self._places: Int32s | None = None

    @property
    def final(self) -> bool:
        """True if word ids will not change after the inputs have been read."""
        return self.match is not None or not (
            self.origin == "built" or self.numbers or self.options.prunes or self._drops
        )

    @property
    def _drops(self) -> bool:
        """True if an option removes documents after the inputs have been read."""
        return bool(self.options.drop_repeated or self.options.language)

    def take(self, step: Step) -> Documents | None:
        """Convert the documents of a `Step` to word ids; count the words that are left out.

        The step's details of documents are reduced to the documents that are returned.

        Returns
        -------
        Documents or None
            Documents with the current word ids, sorted within documents if the ids are `final`;
            None if the step has no documents.

        Raises
        ------
        CorpusError
            If a document is bad and bad ones are not skipped, or text and counts are mixed.
        """
        for note in step.notes:
            self.log(*note)
        self.skipped.update(step.skipped)
        self.parts.update(step.parts)
        self.cut += step.cut
        self.pieces += step.pieces
        self.documents += step.absent
        self.empty += step.absent
        if step.content is None:
            return None
        if isinstance(step.content, Heading):
            self._begin(step.content, step.label)
            return None
        # Positions of the documents that stay in the corpus. None if all documents stay.
        remaining: Int64s | None = None
        if isinstance(step.content, Texts):
            block, remaining = self._text(step.content, step)
        elif self._places is not None:
            block = Documents(
                step.content.indptr, self._places[step.content.indices], step.content.counts
            )
        else:  # Without a vocabulary, words are named 1, 2, 3, ...
            numbers, inverse = np.unique(step.content.indices, return_inverse=True)
            indices = self.places([str(i + 1) for i in numbers.tolist()])[inverse]
            block = Documents(step.content.indptr, indices, step.content.counts)
        if self.fixed is not None:
            lost = block.indices < 0
            self.unknown += int(block.counts[lost].sum(dtype=np.int64))
        if self.final or self.fixed is not None:
            block = renumber(block, None)
        self.documents += len(block)
        whole, block, has_words = block, *without_empty(block)
        self.empty += len(whole) - len(block)
        if self.keep_empty:
            return whole
        if has_words is not None:
            remaining = has_words if remaining is None else remaining[has_words]
        if step.about is not None and remaining is not None:
            step.about = step.about.take(remaining)
        return block

    def log_removed_parts(self) -> None:
        """Log the number of links and of masked parts that were removed from texts, by kind."""
        for called, remark in ((links.CALLED, "--keep-links keeps them"), (masks.CALLED, "--mask")):
            counted = [(self.parts[kind], *nouns) for kind, nouns in called.items()]
            if parts := [plural(n, noun, nouns) for n, noun, nouns in counted if n]:
                self.log(f"{', '.join(parts)} removed ({remark})")

    def _begin(self, heading: Heading, label: str) -> None:
        """Begin the next input; raise an error if it cannot be combined with earlier inputs.

        Text and counts cannot be mixed in one corpus.
        """
        if self.kind not in (None, heading.kind):
            raise CorpusError(
                f"this file has {heading.kind}, but the inputs before it have {self.kind}; a "
                "corpus must be either all text or all counts",
                label,
            )
        if heading.kind == "counts" and self.match is None and self.options.phrases:
            raise CorpusError(
                "--phrases needs text, but this file has counts, which do not record the order "
                "of words; leave out --phrases, or give the texts",
                label,
            )
        if heading.kind == "counts" and self.match is None and self._drops:
            raise CorpusError(
                "--drop-repeated and --language need text, but this file has counts; leave them "
                "out",
                label,
            )
        if heading.kind == "text":
            if self.kind is None and self.match is not None and self.options.vocab is not None:
                raise UsageError(
                    "--vocab cannot be used here: the documents are matched to the vocabulary of "
                    "a trained run; leave it out"
                )
            if self.kind is None and self.chosen and self.options.token_pattern is None:
                never = sum(word != fold(word) for word in self.chosen)
                if never:
                    self.log(
                        f"{plural(never, 'word')} of {self.options.vocab} can never occur, "
                        "because text is converted to lower case; write them in lower case",
                        Severity.WARNING,
                    )
            self.origin = self.origin or "built"
        else:
            numbers = heading.vocabulary is None
            if self.fixed is None and self.numbers not in (None, numbers):
                raise CorpusError(
                    "some inputs contain words and others only word numbers; give the words with "
                    "--vocab FILE",
                    label,
                )
            if numbers and self.match is not None and not self._numbered(self.match):
                raise CorpusError(
                    "this file has only word numbers, but the run or corpus has words; give the "
                    "words with --vocab FILE, or as vocab.*.txt next to the file",
                    label,
                )
            self.numbers = numbers
            self.origin = self.origin or heading.origin
            self._places = None if numbers else self.places(heading.vocabulary or ())
        self.kind = heading.kind

    def _numbered(self, words: Sequence[str]) -> bool:
        """Return True if the words are only column numbers, because the matrix had no word list."""
        if self.options.numbered is not None:
            return self.options.numbered
        return all(re.fullmatch("[1-9][0-9]*", word) for word in words)

    def places(self, words: Sequence[str]) -> Int32s:
        """Return the ids of words; an unknown word gets a new id, or -1 in a fixed vocabulary."""
        encoded = [word.encode() for word in words]
        ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
        placed: Int32s = self.dictionary.place(b"".join(encoded), ends)
        return placed

    def _text(self, texts: Texts, step: Step) -> tuple[Documents, Int64s | None]:
        assert step.words is not None
        indptr, indices, counts, words, ends, bad, _ = step.words
        for position, reason in bad:
            label, line = texts.where(position)
            message = (
                "the text has a NUL character"
                if reason == "NUL"
                else undecodable(self.options.encoding)
            )
            self.bad(reason, message, label, line)
        remaining: Int64s | None = None
        if bad and not self.keep_empty:
            remaining = np.delete(
                np.arange(len(texts.documents)), [position for position, _ in bad]
            )
        if bad and self.keep_empty:
            places = [position - i for i, (position, _) in enumerate(bad)]
            indptr = np.insert(indptr, places, indptr[places])
        return Documents(indptr, self.dictionary.place(words, ends)[indices], counts), remaining

    # ---- state of an interrupted reading

    def record(self) -> dict[str, Any]:
        """Return the state of this lexicon except its words, as plain values for JSON."""
        return {name: getattr(self, name) for name in _PLAIN} | {
            "skipped": dict(self.skipped),
            "parts": dict(self.parts),
        }

    def restore(self, record: dict[str, Any], words: Sequence[str]) -> None:
        """Restore the state from words and a state that `record` returned."""
        for name in _PLAIN:
            setattr(self, name, record[name])
        self.skipped.update(record["skipped"])
        self.parts.update(record.get("parts", {}))
        if self.fixed is None:
            self.places(words)
