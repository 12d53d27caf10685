"""JSON lines, an object a line, and a JSON array of objects or strings; a field of each is the text.

The elements of an array are decoded one by one, so that memory holds one of them and a block of the file,
whatever the size of the array. A fault between elements ends the reading: the begin of the next element
is then unknown.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.formats.protocol import BadDocument, Batch, Context, Texts, field_names
from pysgrld.corpus.formats.text_fields import chosen, joined, of_json
from pysgrld.corpus.lines import UTF8, Lines, undecodable
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import CorpusError

#: Elements of an array, and bytes of text, that are handed on together.
TOGETHER, SIZE = 256, 2**20
#: A fault at least this many characters before the end of the data is not an incomplete element.
_CERTAIN = 32

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_MISSING = object()


def read_lines(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document an object; a null is one without words, and blank lines are none."""
    context = chosen(context, source.label, *of_json(source.head))
    batch, dotted = Batch(source.label, context), _dotted(context.wanted)
    for block in source.lines(context.bad):
        if not block:  # a line above the limit, which was reported
            batch.refuse(BadDocument(), source.line)
        for offset, line in enumerate(block.split(b"\n")):
            if not line.strip():
                continue
            number = source.line + 1 + offset
            try:
                try:
                    record = json.loads(line.decode("utf-8"))
                except UnicodeDecodeError:
                    raise BadDocument("not UTF-8", undecodable(context.options.encoding)) from None
                except (ValueError, RecursionError) as error:
                    reason = getattr(error, "msg", "nested too deeply or a number too long")
                    raise BadDocument("not JSON", f"not JSON: {reason}") from None
                text = _text_of(record, context.wanted.text)
                batch.add(text, _with_nested(record, context.wanted) if dotted else record, number)
            except BadDocument as bad:
                batch.refuse(bad, number)
        yield batch.texts()


def read_array(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document an element; a null in the field of the text is one without words.

    Lines are numbers of elements, from 1.
    """
    limit = context.options.max_line
    elements = _Array(source, context.options).elements()
    first = list(islice(elements, 1))
    sample = [value for value, _ in first if isinstance(value, dict)]
    context = chosen(context, source.label, [name for value in sample for name in value], sample)
    batch = Batch(source.label, context, TOGETHER, SIZE, noun="element")
    dotted = _dotted(context.wanted)
    for number, (value, length) in enumerate(chain(first, elements), 1):
        try:
            if length > limit:
                raise BadDocument("line too long", f"more than {limit} bytes (--max-line)")
            name = (context.wanted.text or ("",))[0]
            tokens = isinstance(value, list) and all(isinstance(token, str) for token in value)
            record = {name: value} if tokens or isinstance(value, str) else value
            text = _text_of(record, context.wanted.text)
            batch.add(text, _with_nested(record, context.wanted) if dotted else record, number)
        except BadDocument as bad:
            batch.refuse(bad, number)
        if batch.full:
            yield batch.texts()
    if batch:
        yield batch.texts()


def _text_of(value: Any, fields: tuple[str, ...] | None) -> bytes:
    """Return the text of a record as UTF-8; a null has none.

    Raises
    ------
    BadDocument
        If it is no object, has none of the fields, or one of them is no text.
    """
    if not isinstance(value, dict):
        raise BadDocument("not an object", "JSON, but not an object with fields")
    if fields is None:
        return b""
    if (
        len(fields) == 1
        and type(text := value.get(fields[0])) is str
        and not value.get("truncated")
    ):  # as most are
        return _utf8(text, fields[0])
    texts = {
        field: text
        for field in fields
        if (text := value.get(field, _MISSING)) is not _MISSING
        or ("." in field and (text := nested(value, field.split("."))) is not _MISSING)
    }
    if not texts:
        raise BadDocument(
            "field missing",
            f"no field {fields[0]!r} (it has {field_names(value)}; choose one with --text-field)",
        )
    long = value.get("extended_tweet")
    if (
        value.get("truncated")
        and isinstance(long, dict)
        and "full_text" in long
        and "text" in texts
    ):
        texts["text"] = long["full_text"]  # "text" is the beginning of it
    return joined(_utf8(text, field) for field, text in texts.items())


def nested(value: Any, path: Sequence[str]) -> Any:
    """Return the value at a path of names; in a list, the values of all its elements."""
    for depth, name in enumerate(path):
        if isinstance(value, list):
            elements = [nested(element, path[depth:]) for element in value]
            return [element for element in elements if element is not _MISSING] or _MISSING
        value = value.get(name, _MISSING) if isinstance(value, dict) else _MISSING
    return value


def _dotted(fields: WantedFields) -> list[str]:
    """Return the kept fields with paths as names."""
    return [name for name in (fields.id, fields.title, *fields.columns) if "." in name]


def _with_nested(record: dict[str, Any], fields: WantedFields) -> dict[str, Any]:
    """Return a record with the values at paths that are wanted; lists are joined."""
    values = {}
    for name in _dotted(fields):
        if name not in record and (value := nested(record, name.split("."))) is not _MISSING:
            plain = isinstance(value, list) and not any(isinstance(v, dict | list) for v in value)
            values[name] = "; ".join(map(str, value)) if plain else value
    return record | values


def _of_list(value: list[Any] | dict[str, Any]) -> str | None:
    """Return the text of a list of tokens, pages, or words with their places; None for other lists."""
    if isinstance(value, list):
        if not all(isinstance(token, str) for token in value):
            return None
        return ("\n\n" if any(" " in token for token in value) else " ").join(value)
    places: dict[int, str] = {}
    for word, column in value.items():
        if not isinstance(column, list) or not all(isinstance(place, int) for place in column):
            return None
        places |= dict.fromkeys(column, word)
    return " ".join(places[place] for place in sorted(places))


def _utf8(text: Any, field: str) -> bytes:
    """Return the text of a field as UTF-8."""
    if text is None:
        return b""
    if isinstance(text, list | dict):
        text = text if (whole := _of_list(text)) is None else whole
    if not isinstance(text, str):
        raise BadDocument(
            "field not a string", f"field {field!r} is not a string but {type(text).__name__}"
        )
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadDocument("not UTF-8", f"field {field!r} has half a surrogate pair") from None


class _Array:
    """The text of an array that was read and not yet taken, and more of it when it is needed.

    Attributes
    ----------
    ready : str
        The characters read, from the next element or before it; used up to `at`.
    ended : bool
        Whether the file was read to its end.
    taken : int
        Elements that were taken.
    """

    def __init__(self, source: Lines, options: CorpusOptions) -> None:
        self.label, self.encoding, self.limit = source.label, options.encoding, options.max_line
        self.blocks = source.blocks()
        self.decoder = codecs.getincrementaldecoder(UTF8)()
        self.ready, self.at, self.ended, self.taken = "", 0, False, 0

    def elements(self) -> Iterator[tuple[Any, int]]:
        """Yield the elements of the array, decoded, and how many characters each has."""
        self.character()
        self.at += 1  # the bracket, by which the format was detected
        if self.character() != "]":
            while True:
                yield self.element()
                after = self.character()
                if after == "]":
                    break
                if after != ",":
                    problem = f"{after!r} stands where" if after else "the file ends, and"
                    raise self.fault(
                        f"{problem} a comma or the array's ] is due after it; mend the file, or write it "
                        "again",
                        self.taken,
                    )
                self.at += 1
        self.at += 1
        if self.character():
            problem = "something follows the array's end; give one array, or JSON lines"
            raise self.fault(problem, self.taken)

    def element(self) -> tuple[Any, int]:
        """Decode the element that is next, reading on for as long as it may be unfinished."""
        self.character()
        while True:
            try:
                value, end = _DECODER.raw_decode(self.ready, self.at)
                if end < len(self.ready) or self.ended:  # else a number may continue
                    length, self.at = end - self.at, end
                    self.taken += 1
                    return value, length
            except RecursionError:
                raise self.fault("nested too deeply; leave it out") from None
            except json.JSONDecodeError as error:
                open_string = error.msg.startswith("Unterminated string")
                if self.ended or (error.pos + _CERTAIN < len(self.ready) and not open_string):
                    raise self.fault(
                        f"not JSON: {error.msg}; mend the file, or write it again"
                    ) from None
            except ValueError:
                raise self.fault("not JSON: a number too long") from None
            held = len(self.ready) - self.at
            if held > self.limit:
                raise self.fault(f"more than {self.limit} bytes (--max-line)")
            self.more(held)  # twice as much, so that long elements are not decoded again and again

    def character(self) -> str:
        """Return the next character that is no blank, without taking it; empty at the end."""
        while True:
            match = _BLANK.match(self.ready, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.ready) or self.ended:
                return self.ready[self.at : self.at + 1]
            self.more()

    def more(self, characters: int = 1) -> None:
        """Read the next block of characters, or the rest."""
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
        """Return the error of an element, by its number from 1; by default the next element."""
        number = self.taken + 1 if element is None else element
        return CorpusError(f"element {number}: {problem}", self.label)
