"""Decoder that yields the elements of a JSON array, or of a list in an object, one by one."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Self

from pysgrld.corpus.formats.protocol import field_names
from pysgrld.corpus.formats.text_fields import NAMES, usual
from pysgrld.corpus.lines import UTF8, Lines, undecodable
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import CorpusError, Log

#: Kinds of JSON files. A file may have an object in each line, or an array, or an object with a
#: list of documents, or an object that is one document.
LINES, ARRAY, WITHIN, OBJECT = "lines", "array", "within", "object"
#: A decoding error near the end of the data in memory may only mean that the last element is cut
#: off. More data is read if the error is within this number of characters of the end.
_CERTAIN = 32
#: Maximum number of nested objects that may enclose a list of documents.
_DEEPEST = 8

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_LIST = re.compile(r"\[\s*[^\s]")
#: Pattern of the assignment to a variable before the array, in a download from Twitter.
_ASSIGNED = re.compile(r"\s*window\.[\w.]+ = ")
#: Usual names of the list that names the people in an exported chat.
_PEOPLE = ("participants", "members", "users")
#: Pattern of the start of a list with a name such as "items", which usually lists documents. The
#: rest of the line may be missing.
_LIST_IN_LINE = re.compile(
    rb'"(?:items|results?|docs|documents|data|messages|records|articles|papers|works|issues|posts|tweets'
    rb'|comments|hits|entries|orderedItems|rows|statuses)"\s*:\s*\[\s*\{'
)


def contents_of(head: bytes, fields: Sequence[str]) -> str:
    """Return the layout of a JSON file: `LINES`, `WITHIN` (a list in an object) or `OBJECT`.

    Parameters
    ----------
    head : bytes
        The first bytes of the file.
    fields : sequence of str
        Names of the text fields; empty if they are to be detected.
    """
    first, _, others = head.lstrip().partition(b"\n")
    names: list[str] | None = None
    try:
        record = json.loads(first)
        if others.strip() or not isinstance(record, dict):
            return LINES
        names = list(record)
    except RecursionError:
        return LINES
    except ValueError:
        cut = not others
        if cut and not _LIST_IN_LINE.search(first):
            return LINES
        last, begin = first.rstrip()[-1:], others.lstrip()[:1]
        if not cut and (last not in b"{[,:" or (last in b"{," and begin == b"{")):
            return LINES
    is_whole = names is not None
    with suppress(ValueError, RecursionError):
        names = [*json.loads(head)]
    walk = Elements.of_head(head)
    try:
        walk.character()
        path = walk.enter()
    except CorpusError:  # The list may begin after the bytes that were read.
        path = None if is_whole else ""
    names = names or walk.names
    is_text = any(f in names for f in fields) if fields else usual(names, NAMES) is not None
    if is_text or path is None:
        return LINES if is_whole else OBJECT
    return WITHIN


class Elements:
    """Decoder of the elements of a JSON file, which reads the file in blocks as needed.

    Attributes
    ----------
    ready : str
        Characters that were read. The decoder has used those before position `at`.
    ended : bool
        Whether the file was read to its end.
    taken : int
        Number of elements decoded so far.
    names : list of str
        Names of the values in the outermost object that were met so far.
    """

    def __init__(self, source: Lines, options: CorpusOptions) -> None:
        self.label, self.encoding, self.limit = source.label, options.encoding, options.max_line
        self.blocks = source.blocks()
        self.decoder = codecs.getincrementaldecoder(UTF8)()
        self.ready, self.at, self.ended, self.taken = "", 0, False, 0
        self.names: list[str] = []

    @classmethod
    def of_head(cls, head: bytes) -> Self:
        """Create a decoder for the first bytes of a file; the last element may be cut off."""
        reader = cls.__new__(cls)
        reader.label, reader.encoding, reader.limit = "", UTF8, len(head) + 1
        reader.blocks, reader.names = iter(()), []
        reader.ready, reader.at, reader.ended, reader.taken = (
            head.decode("utf-8", "replace"),
            0,
            True,
            0,
        )
        return reader

    def elements(self, what: str, log: Log) -> Iterator[tuple[Any, int]]:
        """Yield each decoded element and its number of characters.

        Parameters
        ----------
        what : {`ARRAY`, `WITHIN`, `OBJECT`}
            Kind of the file.
        log : callable
            Called with a message that names the path of the list within an object.
        """
        self.character()
        if what == ARRAY:
            if match := _ASSIGNED.match(self.ready):
                self.at = match.end()
            yield from self._array()
        elif what == OBJECT:
            while self.character():
                yield self.element()
        else:
            before = None
            # A file may have several objects, for example one for each page of search results.
            while self.character() == "{":
                path = self.enter()
                if path is None:
                    names = field_names(self.names)
                    raise self.fault(
                        "the JSON object has neither a text nor a list of objects (its fields are "
                        f"{names}); write an object for each document",
                        1,
                    )
                if path != before:
                    log(f"{self.label}: each element of the list {path!r} is a document")
                before, self.taken = path, 0
                yield from self._array()
                self._leave(path.count(".") + 1)
        if what == ARRAY and self.character() not in ("", ";"):
            problem = "there is text after the end of the array; give a single array, or JSON lines"
            raise self.fault(problem, self.taken)
        for _ in self.blocks:  # Read the rest, because the digest is computed from the whole file.
            pass

    def enter(self, depth: int = 0) -> str | None:
        """Enter the object at the current position, and go to its first list of objects.

        Return the path of names to the list, or None if the object has no such list.
        """
        self.at += 1
        while self.character() == '"':
            name, _ = self.element()
            self.names += [name] * (not depth)
            self.character()
            self.at += 1  # Skip the colon after the name.
            begin = self.character()
            if begin == "[" and self._holds_objects() and not self._is_of_people(name):
                return str(name)
            if begin == "{" and depth < _DEEPEST:
                if (path := self.enter(depth + 1)) is not None:
                    return f"{name}.{path}"
            else:
                self.element()
            if self.character() == ",":
                self.at += 1
        self.at += 1
        return None

    def _leave(self, depth: int) -> None:
        """Go to the end of `depth` nested objects, from the current object outwards."""
        for _ in range(depth):
            while self.character() == ",":
                self.at += 1
                self.element()
                self.character()
                self.at += 1  # skip the colon
                self.element()
            self.at += 1

    def _is_of_people(self, name: str) -> bool:
        """Return True for the list of people in a chat that is followed by a list of messages."""
        return name in _PEOPLE and bool(_LIST_IN_LINE.search(self.ready[self.at :].encode()))

    def _holds_objects(self) -> bool:
        """Return True if the first element of the list at the current position is an object."""
        while not (match := _LIST.match(self.ready, self.at)) and not self.ended:
            self.more(len(self.ready) - self.at + 1)
        return match is not None and match[0].endswith("{")

    def _array(self) -> Iterator[tuple[Any, int]]:
        """Yield the elements of the array that begins at the current position."""
        self.at += 1
        if self.character() != "]":
            while True:
                yield self.element()
                after = self.character()
                if after == "]":
                    break
                if after != ",":
                    problem = f"{after!r} follows" if after else "the file ends"
                    raise self.fault(
                        f"{problem} where a comma or the closing ] of the array was expected; "
                        "correct the file",
                        self.taken,
                    )
                self.at += 1
        self.at += 1

    def element(self) -> tuple[Any, int]:
        """Decode the next element; return the element and its number of characters."""
        self.character()
        while True:
            try:
                value, end = _DECODER.raw_decode(self.ready, self.at)
                # A number at the end of the data in memory may continue.
                if end < len(self.ready) or self.ended:
                    length, self.at = end - self.at, end
                    self.taken += 1
                    return value, length
            except RecursionError:
                raise self.fault("the element is nested too deeply; leave it out") from None
            except json.JSONDecodeError as error:
                open_string = error.msg.startswith("Unterminated string")
                if self.ended or (error.pos + _CERTAIN < len(self.ready) and not open_string):
                    raise self.fault(
                        f"not JSON: {error.msg}; correct the file, or export it again"
                    ) from None
            except ValueError:
                raise self.fault("not JSON: a number is too long; write it as a string") from None
            held = len(self.ready) - self.at
            if held > self.limit:
                raise self.fault(
                    f"the element has more than {self.limit} bytes; allow more with "
                    "--set max-line=SIZE"
                )
            # Double the data in memory, so that even a long element needs few attempts.
            self.more(held)

    def character(self) -> str:
        """Skip blanks; return the next character without moving past it, or "" at the end."""
        while True:
            match = _BLANK.match(self.ready, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.ready) or self.ended:
                return self.ready[self.at : self.at + 1]
            self.more()

    def more(self, characters: int = 1) -> None:
        """Read at least the given number of additional characters, or the rest of the file."""
        parts, size = [self.ready[self.at :]], 0
        while size < characters and not self.ended:
            block = next(self.blocks, b"")
            self.ended = not block
            try:
                parts.append(self.decoder.decode(block, self.ended))
            except UnicodeDecodeError:
                raise self.fault(undecodable(self.encoding)) from None
            size += len(parts[-1])
        self.ready, self.at = "".join(parts), 0

    def fault(self, problem: str, element: int | None = None) -> CorpusError:
        """Return an error that names the number of an element, by default the next element."""
        number = self.taken + 1 if element is None else element
        return CorpusError(f"element {number}: {problem}", self.label)
