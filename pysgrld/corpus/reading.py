"""Choices of a person about reading a corpus. Plain values; no NumPy here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from pysgrld.errors import UsageError
from pysgrld.options import parse

#: What is done to words of a vocabulary that is built, where nothing else is asked for.
BUILT_MIN_DF, BUILT_MAX_DF, BUILT_MAX_VOCAB, BUILT_STOP_WORDS = 2, 0.5, 100_000, "english"
#: Bytes of texts, compressed, that are kept unless another number is asked for.
AUTO_TEXT = 256 * 2**20
#: What the built-in pattern of tokens takes, for the record.
BUILT_PATTERN = r"built in: \w\w+ of casefolded NFC text, Han by pairs, kana by syllabary"


@dataclass(frozen=True)
class CorpusOptions:
    r"""Options of reading; None is "the default of the situation".

    Attributes
    ----------
    vocab : str, optional
        File with one word a line: the vocabulary of text, the names of the ids of counts.
    max_vocab : int, optional
        Keep the most frequent words only (100,000 where a vocabulary is built).
    min_df, max_df : int or float, optional
        Documents that a word must, and may, occur in: an int counts them, a float in (0, 1] is
        their share (2 and 0.5 where a vocabulary is built).
    stop_words : str, optional
        Lists, joined by commas: "english", or files with one word a line; or "none" ("english"
        where a vocabulary is built).
    token_pattern : str, optional
        Regular expression of a token (``\w\w+``).
    text_field : str
        Field of a JSON line, CSV record or Parquet row that holds the text.
    id_field, title_field : str, optional
        Fields that are a document's id and title ("id" and "title", where they are there).
    meta_field : str, optional
        Fields that are kept as columns, joined by commas, each with ``:kind`` or without; or "all".
    metadata : str, optional
        File of ids, titles and columns: a row a document, or joined by `id_field`.
    keep_text : int or str
        Most bytes of texts that are kept, compressed; or "auto", "all", "none".
    encoding : str
        What text, CSV and JSON lines are in, as Python calls it.
    on_bad_document : {"stop", "skip"}
        Whether a document that cannot be read ends the reading or is skipped and counted.
    max_line : int
        Longest line, longest file of a folder of texts and longest page, in bytes.
    max_input : int, optional
        Most bytes that an input may have, decompressed.

    Raises
    ------
    UsageError
        If a value is out of range.
    """

    vocab: str | None = None
    max_vocab: int | None = None
    min_df: int | float | None = None
    max_df: int | float | None = None
    stop_words: str | None = None
    token_pattern: str | None = None
    text_field: str = "text"
    id_field: str | None = None
    title_field: str | None = None
    meta_field: str | None = None
    metadata: str | None = None
    keep_text: int | str = "auto"
    encoding: str = "utf-8"
    on_bad_document: str = "stop"
    max_line: int = 64 * 2**20
    max_input: int | None = None

    def __post_init__(self) -> None:
        if self.max_vocab is not None and self.max_vocab < 1:
            raise UsageError(f"--max-vocab {self.max_vocab}: give at least 1")
        for name, value in (("--min-df", self.min_df), ("--max-df", self.max_df)):
            if value is None:
                continue
            if isinstance(value, float) and not 0.0 < value <= 1.0:
                raise UsageError(
                    f"{name} {value}: give a share in (0, 1], or a number of documents"
                )
            if isinstance(value, int) and value < (0 if name == "--min-df" else 1):
                raise UsageError(
                    f"{name} {value}: give a number of documents, or a share in (0, 1]"
                )
        if self.on_bad_document not in ("stop", "skip"):
            raise UsageError(f"--on-bad-document {self.on_bad_document}: give stop or skip")
        if not 16 <= self.max_line < 2**31:
            raise UsageError(f"--max-line {self.max_line}: give 16 bytes to 2 GiB")
        parse.encoding(self.encoding)
        if self.stop_words is not None:
            parse.lists(self.stop_words)
        if self.token_pattern is not None:
            compiled_pattern(self.token_pattern)
        if self.meta_field is not None:
            parse.columns(self.meta_field)
        if isinstance(self.keep_text, str):
            parse.kept_text(self.keep_text)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Take the options of reading out of values by the names that are typed; None is none."""
        named = {f.name: values.get(f.name.replace("_", "-")) for f in fields(cls)}
        return cls(**{name: value for name, value in named.items() if value is not None})

    @classmethod
    def among(cls, names: Iterable[str]) -> bool:
        """Whether an option of reading is among names as they are typed."""
        return not {f.name.replace("_", "-") for f in fields(cls)}.isdisjoint(names)

    def for_known_words(self) -> CorpusOptions:
        """Give how other documents are read over words that are there: nothing but counts is kept."""
        return replace(
            self,
            vocab=None,
            max_vocab=None,
            min_df=None,
            max_df=None,
            stop_words=None,
            meta_field=None,
            metadata=None,
            keep_text="none",
        )

    @property
    def text_limit(self) -> int | None:
        """Most bytes of texts that are kept, compressed; None: there is no limit."""
        if isinstance(self.keep_text, int):
            return self.keep_text
        return None if self.keep_text == "all" else AUTO_TEXT

    @property
    def names(self) -> bool:
        """Whether an option was given that says what documents are called, beside their texts."""
        asked = self.id_field, self.title_field, self.meta_field, self.metadata
        return asked != (None, None, None, None)

    @property
    def prunes(self) -> bool:
        """Whether an option was given that takes words out of any vocabulary."""
        asked = self.max_vocab, self.min_df or None, self.max_df, self.stop_words
        return any(value is not None for value in asked) and asked != (None, None, None, "none")


def compiled_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """Compile a token pattern; None stands for the default, which is built in.

    Raises
    ------
    UsageError
        If it is not a regular expression, or has more than one group.
    """
    if pattern is None:
        return None
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(
            f"--token-pattern {pattern!r} is not a regular expression: {error}"
        ) from None
    if compiled.groups > 1:
        raise UsageError(
            f"--token-pattern {pattern!r} has {compiled.groups} groups: "
            "use (?:...) for all but the one that is the token"
        )
    return compiled
