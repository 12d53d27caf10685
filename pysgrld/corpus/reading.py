"""Options for reading a corpus, and types for progress reports; this module imports no NumPy."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Protocol, Self

from pysgrld.errors import Severity, UsageError
from pysgrld.options import parse
from pysgrld.options.spelling import BUILT_IN

#: Defaults of the options for choosing a vocabulary from the texts of a corpus.
BUILT_MIN_DF, BUILT_MAX_DF, BUILT_MAX_VOCAB, BUILT_STOP_WORDS = 2, 0.5, 100_000, "english"
BUILT_NUMBERS = "years"
#: Value of an option that sgmc chooses from the inputs.
AUTO = "auto"
#: Usual name of the text field.
USUAL_TEXT_FIELD = "text"
#: Name of a column that is added by default: the folder of a document's file.
FOLDER = "folder"
#: Name of another column that is added by default: the year in the name of a document's file.
YEAR = "year"
#: Default of the maximum total size in bytes of a corpus's compressed texts.
AUTO_TEXT = 256 * 2**20
#: Text that a corpus records as its token pattern if the built-in tokeniser was used.
BUILT_PATTERN = f"{BUILT_IN}words of two characters or more, Han by pairs, kana by syllabary"


def is_built_pattern(recorded: str | None) -> bool:
    """Return True if a recorded token pattern stands for the built-in tokeniser, in any version.

    Parameters
    ----------
    recorded : str or None
        Token pattern that a corpus records.

    Returns
    -------
    bool
        False if no pattern is recorded.
    """
    return recorded is not None and recorded.startswith(BUILT_IN)


#: Key under which a corpus of counts records how its words are named.
OF_WORDS = "words"
#: Value of the key `OF_WORDS` if words are column numbers.
NUMBERED = "numbered"
#: Value of the key `OF_WORDS` if a vocabulary names the words.
NAMED_WORDS = "named"
#: Recorded origin of a vocabulary in which words are column numbers.
NUMBERS = "numbers"
#: Options that a corpus records because they determine how texts are divided into documents.
OF_TEXT = ("document-is", "chunk", "encoding")
#: Key under which a corpus records whether links count as words. In corpora without this key, which
#: are older, links count as words.
KEEP_LINKS = "keep-links"
#: Options that a corpus records because they determine how tables are read.
OF_TABLES = (
    *("text-field", "id-field", "header-line", "quote", "sheet"),
    *("missing", "date-format"),
)
#: Options that a corpus records so that further texts can be read in the same way.
_AS_READ = (*OF_TEXT, "token-pattern", "segment", "phrases", KEEP_LINKS, "mask", *OF_TABLES)
#: Types of the values of reading options, as corpora and runs record them.
READING: dict[str, Any] = {
    **dict.fromkeys(("document-is", "encoding", "numbers", "token-pattern", "segment"), str | None),
    **dict.fromkeys(("text-field", "id-field", "quote", "sheet", OF_WORDS), str | None),
    **dict.fromkeys(("missing", "date-format"), str | None),
    **dict.fromkeys(("min-df", "max-df", "holdout"), int | float | None),
    **dict.fromkeys(("max-vocab", "chunk", "header-line"), int | None),
    **dict.fromkeys((KEEP_LINKS, "mask"), bool | None),
    "stop-words": list[dict[str, Any]] | None,
    "phrases": list[str] | None,
}


@dataclass(frozen=True)
class CorpusOptions:
    r"""Options for reading a corpus; None stands for a default that depends on the inputs.

    Attributes
    ----------
    vocab : str, optional
        File with one word a line: the vocabulary for text, or the names of word ids for counts.
    max_vocab : int, optional
        Maximum number of words; the most frequent words stay (100,000 if a vocabulary is built).
    min_df, max_df : int or float, optional
        Minimum and maximum number of documents that contain a word; a float in (0, 1] is a fraction
        of the documents (2 and 0.5 if a vocabulary is built).
    stop_words : str, optional
        Names of lists such as "english", or files with one word a line, joined by commas; or "none"
        ("english" if a vocabulary is built).
    numbers : {"years", "keep", "drop"}, optional
        Which words made up of digits stay: only years, all, or none ("years" if a vocabulary is
        built).
    token_pattern : str, optional
        Regular expression of a token (``\w\w+``).
    segment : str, optional
        Language for which a library segments text into words; "none" is the same as None.
    keep_links : bool, optional
        Whether links, e-mail addresses, @names and RT count as words; by default they are left out.
    mask : bool, optional
        Whether paths, IP addresses, hexadecimal and other numbers of log lines are left out of the
        texts.
    drop_repeated : bool, optional
        Whether documents that repeat another document, exactly or nearly, are left out.
    language : str, optional
        Language of the documents to keep; documents in other languages are left out.
    phrases : tuple of str, optional
        Sequences of words that count as one word each, spelled as by the tokeniser.
    text_field : str
        Fields of a JSON line, CSV record or Parquet row with the text, joined by commas; "auto":
        the field "text", or else a field that is clearly the text.
    id_field, title_field : str, optional
        Fields with a document's id and title ("id" and "title", if present).
    meta_field : str
        Fields that are kept as columns, joined by commas, each optionally with ``:kind``; or "all",
        "none", or "auto": all fields with short values.
    metadata : str, optional
        File of ids, titles and columns, with one row for each document, or matched by `id_field`.
    missing : str, optional
        Further texts that stand for a missing value of a column, joined by commas.
    date_format : str, optional
        Format of dates in columns, as for ``strptime``.
    time_field : str, optional
        Field with the time of a document, a number or a date; a document without it is bad.
    header_line : int, optional
        Number of the line with the column names of a table; 0 if the table has none.
    quote : {"auto", "none"}
        If "none", quotes in a table are ordinary characters.
    sheet : str, optional
        Name of the sheet of a workbook.
    keep_text : int or str
        Maximum size in bytes of the compressed texts that are kept; or "auto", "all", "none".
    document_is : {"auto", "line", "file"}
        Whether each line or each file of plain text is a document; "auto": the inputs decide.
    chunk : int, optional
        Split documents of text into pieces of about this many words; 0 leaves them whole, and by
        default few and long files are split.
    encoding : str
        Encoding of text, CSV and JSON lines, by its name in Python.
    on_bad_document : {"stop", "skip"}
        Whether a document that cannot be read ends the reading or is skipped and counted.
    max_line : int
        Maximum size in bytes of a line, of a file in a folder of texts, and of a page.
    max_input : int, optional
        Maximum size of an input in bytes, after decompression.
    numbered : bool, optional
        True if the given words are column numbers, according to the record of their corpus
        (`over`); None without such a record.
    transpose : {"on", "off"}, optional
        Whether rows of counts are words, and columns documents.
    as_recorded : bool
        Whether the text field is from the record of a corpus (`over`): files without fields are read too.

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
    numbers: str | None = None
    token_pattern: str | None = None
    segment: str | None = None
    phrases: tuple[str, ...] | None = None
    keep_links: bool | None = None
    mask: bool | None = None
    drop_repeated: bool | None = None
    language: str | None = None
    text_field: str = AUTO
    id_field: str | None = None
    title_field: str | None = None
    meta_field: str = AUTO
    metadata: str | None = None
    missing: str | None = None
    date_format: str | None = None
    time_field: str | None = None
    header_line: int | None = None
    quote: str = "auto"
    sheet: str | None = None
    keep_text: int | str = "auto"
    document_is: str = "auto"
    chunk: int | None = None
    encoding: str = "utf-8"
    on_bad_document: str = "stop"
    max_line: int = 64 * 2**20
    max_input: int | None = None
    numbered: bool | None = None
    as_recorded: bool = False
    transpose: str | None = None

    def __post_init__(self) -> None:
        if self.max_vocab is not None and self.max_vocab < 1:
            raise UsageError(f"--max-vocab {self.max_vocab} is too small; give at least 1")
        for name, value in (("--min-df", self.min_df), ("--max-df", self.max_df)):
            if value is None:
                continue
            if isinstance(value, float) and not 0.0 < value <= 1.0:
                raise UsageError(
                    f"{name} {value} is out of range; give a fraction above 0 and at most 1, or a "
                    "number of documents"
                )
            if isinstance(value, int) and value < (0 if name == "--min-df" else 1):
                raise UsageError(
                    f"{name} {value} is too small; give a number of documents, or a fraction "
                    "above 0 and at most 1"
                )
        if self.on_bad_document not in ("stop", "skip"):
            raise UsageError(
                f"--on-bad-document {self.on_bad_document} is unknown; give stop or skip"
            )
        if self.document_is not in ("auto", "line", "file"):
            raise UsageError(
                f"--document-is {self.document_is} is unknown; give line, file or auto"
            )
        if self.chunk is not None and self.chunk < 0:
            raise UsageError(
                f"--chunk {self.chunk} is negative; give a number of words, or 0 to split no "
                "document"
            )
        if not 16 <= self.max_line < 2**31:
            raise UsageError(
                f"--set max-line={self.max_line} is out of range; give a size from 16 bytes to "
                "2 GiB"
            )
        if self.header_line is not None and self.header_line < 0:
            raise UsageError(
                f"--header-line {self.header_line} is negative; give the number of a line, or 0 if "
                "the table has no column names"
            )
        parse.encoding(self.encoding)
        if self.stop_words is not None:
            parse.lists(self.stop_words)
        if self.token_pattern is not None:
            compiled_pattern(self.token_pattern)
            if self.phrases:
                raise UsageError(
                    "--phrases cannot be combined with --token-pattern: phrases require the "
                    "built-in tokeniser; leave out one of these options"
                )
        if self.cuts and (self.token_pattern is not None or self.phrases):
            raise UsageError(
                "--segment cannot be combined with --token-pattern or --phrases; give "
                "only one of these options"
            )
        parse.columns(self.meta_field)
        if isinstance(self.keep_text, str):
            parse.kept_text(self.keep_text)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create options from values by command-line name; None stands for the default."""
        named = {f.name: values.get(f.name.replace("_", "-")) for f in fields(cls)}
        if named["phrases"] is not None:
            named["phrases"] = tuple(named["phrases"])
        return cls(**{name: value for name, value in named.items() if value is not None})

    @classmethod
    def over(
        cls,
        recorded: Mapping[str, Any],
        given: Mapping[str, Any],
        usual: Container[str] = frozenset(),
    ) -> CorpusOptions:
        """Return options for reading new documents in the same way as an earlier corpus.

        Options given by the user take precedence over the record, and the record over defaults.

        Parameters
        ----------
        recorded : mapping
            Recorded reading options of the corpus (`Corpus.reading`).
        given : mapping
            Reading options, by their names on the command line.
        usual : container of str
            Names of the options that are defaults and not set explicitly.
        """
        recorded_values = {
            name: recorded[name] for name in _AS_READ if recorded.get(name) is not None
        }
        # Records without "keep-links" are from older versions, in which links counted as words.
        if "token-pattern" in recorded and KEEP_LINKS not in recorded:
            recorded_values[KEEP_LINKS] = True
        if is_built_pattern(recorded_values.get("token-pattern")):
            del recorded_values["token-pattern"]
        # The usual name of the text field is recorded even if the inputs have no fields.
        if recorded_values.get("text-field") == USUAL_TEXT_FIELD:
            del recorded_values["text-field"]
        explicit = {
            name: value
            for name, value in given.items()
            if value not in (None, "auto") and name not in usual
        }
        numbered = None
        # A token pattern is recorded for texts only.
        if OF_WORDS in recorded or "token-pattern" in recorded:
            numbered = recorded.get(OF_WORDS) == NUMBERED
        options = cls.from_values({**given, **recorded_values, **explicit}).for_known_words()
        recorded_field = "text-field" in recorded_values and "text-field" not in explicit
        return replace(options, numbered=numbered, as_recorded=recorded_field)

    @classmethod
    def among(cls, names: Iterable[str]) -> bool:
        """Return True if ``names`` contains the command-line name of any reading option."""
        return not {f.name.replace("_", "-") for f in fields(cls)}.isdisjoint(names)

    def for_documents(self) -> CorpusOptions:
        """Return the options for reading the documents, not the metadata file."""
        if self.metadata is None:
            return self
        return replace(self, header_line=None, quote="auto", sheet=None)

    def for_known_words(self) -> CorpusOptions:
        """Return options with which reading only counts the words of a fixed vocabulary."""
        return replace(
            self,
            vocab=None,
            max_vocab=None,
            min_df=None,
            max_df=None,
            stop_words=None,
            numbers=None,
            drop_repeated=None,
            language=None,
            chunk=self.chunk or 0,
            meta_field=parse.NOTHING,
            metadata=None,
            keep_text="none",
        )

    def keeping(self, field: str | None) -> CorpusOptions:
        """Return options that keep the time field ``field`` as a column, unless it is None."""
        if field is None:
            return self
        meta_field = self.meta_field
        if meta_field == parse.NOTHING:
            meta_field = field
        elif meta_field not in (AUTO, parse.EVERYTHING):
            fields = meta_field.split(",")
            if field not in [parse.column(name)[0] for name in fields]:
                meta_field = f"{meta_field},{field}"
        return replace(self, meta_field=meta_field, time_field=field)

    @property
    def cuts(self) -> str | None:
        """Language for which a library segments text, or None with the built-in tokeniser."""
        return None if self.segment == "none" else self.segment

    @property
    def text_limit(self) -> int | None:
        """Maximum total size in bytes of the corpus's compressed texts, or None if unlimited."""
        if isinstance(self.keep_text, int):
            return self.keep_text
        return None if self.keep_text == "all" else AUTO_TEXT

    @property
    def prunes(self) -> bool:
        """True if the user set an option that removes words even from a given vocabulary."""
        by_words = [self.stop_words not in (None, "none"), self.numbers not in (None, "keep")]
        return any(by_words) or bool(self.max_vocab or self.min_df or self.max_df)


class ReadingProgress(NamedTuple):
    """Numbers of bytes and documents of a corpus that were read so far.

    Attributes
    ----------
    bytes_read : int
        Number of bytes read from the files on disk, which may be compressed.
    bytes_total : int or None
        Total number of bytes; None if it is unknown (standard input, pipes).
    documents : int
        Number of documents read so far, including skipped documents.
    """

    bytes_read: int
    bytes_total: int | None
    documents: int


class Listener(Protocol):
    """Protocol for callbacks that show messages and progress while a corpus is read."""

    def note(self, line: str, severity: Severity = Severity.NOTE, /) -> None:
        """Show a message to the user."""

    def reading(self, progress: ReadingProgress) -> None:
        """Report the progress of reading."""


def compiled_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """Compile the user's token pattern; return None if the built-in tokeniser is to be used.

    Parameters
    ----------
    pattern : str or None
        A regular expression with at most one group.

    Returns
    -------
    Pattern or None
        The compiled pattern; None for the built-in one.

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
            f"--token-pattern {pattern!r} has {compiled.groups} groups, but only one group may "
            "capture the token; write the other groups as (?:...)"
        )
    return compiled
