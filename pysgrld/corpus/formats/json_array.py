"""A JSON array, each element a document: an object one field of which is the text, or a string.

Elements are decoded one by one, so that memory holds one of them and a block of the file, whatever the
size of the array. A fault between elements ends the reading: nobody knows where the next one begins.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from pysgrld.corpus.encodings import UTF8, not_in
from pysgrld.corpus.formats.batch import BadRecord, Batch
from pysgrld.corpus.formats.jsonl import text_of
from pysgrld.corpus.formats.protocol import Context, Texts
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError

#: Documents, and bytes of text, that are handed on together.
TOGETHER, SIZE = 256, 2**20
#: A fault so many characters before the end of what was read is no element that goes on after it.
_CERTAIN = 32

_ARRAY = re.compile(rb"\s*\[\s*(\{\s*[\"}]|\"|\]\s*$)")
_BLANK = re.compile(r"[ \t\r\n]*")


def sniff(head: bytes, name: str) -> bool:
    """Whether an array of objects or of strings begins the file."""
    return bool(_ARRAY.match(head))


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document an element; a null in the field of the text is one without words.

    Lines are numbers of elements, from 1.
    """
    batch = Batch(source.label, context, TOGETHER, SIZE, noun="element")
    for number, (value, length) in enumerate(_elements(source, context), 1):
        try:
            if length > context.options.max_line:
                raise BadRecord("line too long", _too_long(context))
            record = {context.wanted.text or "": value} if isinstance(value, str) else value
            batch.add(text_of(record, context.wanted.text), record, number)
        except BadRecord as bad:
            batch.refuse(bad, number)
        if batch.full:
            yield batch.texts()
    if batch:
        yield batch.texts()


class _Text:
    """The text of an array that was read and not yet taken, and more of it when it is needed."""

    def __init__(self, source: Lines, encoding: str) -> None:
        self.source, self.encoding = source, encoding
        self.blocks = source.blocks()
        self.decoder = codecs.getincrementaldecoder(UTF8)()
        self.ready, self.at, self.ended, self.elements = "", 0, False, 0

    def more(self, characters: int = 1) -> None:
        """Read so many characters more, or all that there are."""
        parts, size = [self.ready[self.at :]], 0
        while size < characters and not self.ended:
            block = next(self.blocks, b"")
            self.ended = not block
            try:
                parts.append(self.decoder.decode(block, self.ended))
            except UnicodeDecodeError:
                raise self.fault(not_in(self.encoding)) from None
            size += len(parts[-1])
        self.ready, self.at = "".join(parts), 0

    def character(self) -> str:
        """Give the next character that is no blank, without taking it; empty at the end."""
        while True:
            found = _BLANK.match(self.ready, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.ready) or self.ended:
                return self.ready[self.at : self.at + 1]
            self.more()

    def fault(self, what: str) -> CorpusError:
        """Say what is wrong at the element that is due."""
        return CorpusError(f"element {self.elements + 1}: {what}", self.source.label)


def _too_long(context: Context) -> str:
    return f"more than {context.options.max_line} bytes (--max-line)"


def _elements(source: Lines, context: Context) -> Iterator[tuple[Any, int]]:
    """Yield the elements of the array, decoded, and how long each was."""
    text = _Text(source, context.options.encoding)
    text.character()
    text.at += 1  # the bracket, by which the format was told
    if text.character() != "]":
        while True:
            yield _element(text, context)
            text.elements += 1
            after = text.character()
            if after == "]":
                break
            if after != ",":
                what = f"{after!r} stands where" if after else "the file ends, and"
                text.elements -= 1
                raise text.fault(
                    f"{what} a comma or the array's ] is due after it; mend the file, or write it again"
                )
            text.at += 1
    text.at += 1
    if text.character():
        text.elements -= 1
        raise text.fault("something follows the array's end; give one array, or JSON lines")


def _element(text: _Text, context: Context) -> tuple[Any, int]:
    """Decode the element that is next, reading on for as long as it may be unfinished."""
    text.character()
    while True:
        fault = ""
        try:
            value, end = _DECODER.raw_decode(text.ready, text.at)
            if end < len(text.ready) or text.ended:  # else a number may go on
                begun, text.at = text.at, end
                return value, end - begun
        except RecursionError:
            raise text.fault("nested too deeply; leave it out") from None
        except json.JSONDecodeError as error:
            fault = f"not JSON: {error.msg}; mend the file, or write it again"
            open_string = error.msg.startswith("Unterminated string")
            if text.ended or (error.pos + _CERTAIN < len(text.ready) and not open_string):
                raise text.fault(fault) from None
        except ValueError:
            raise text.fault("not JSON: a number too long") from None
        held = len(text.ready) - text.at
        if held > context.options.max_line:
            raise text.fault(_too_long(context))
        text.more(held)  # twice as much, so that long elements are not decoded again and again


_DECODER = json.JSONDecoder()
