"""Readers for JSON lines (one object per line), and for JSON arrays of objects or strings.

The elements of an array are decoded one by one, so that memory holds one element and a block of the
file, whatever the size of the array. An error between elements ends the reading, because the start
of the next element is then unknown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.formats.json_elements import ARRAY, LINES, OBJECT, Elements, contents_of
from pysgrld.corpus.formats.protocol import BadDocument, Batch, Context, Texts, field_names
from pysgrld.corpus.formats.text_fields import chosen, joined, of_json, with_nested_names
from pysgrld.corpus.lines import Lines, undecodable
from pysgrld.errors import CorpusError

#: A batch of documents is full if it has `TOGETHER` array elements or `SIZE` bytes of text.
TOGETHER, SIZE = 256, 2**20
#: Maximum number of characters of a text that is made from words and their counts.
_LARGEST = 2**26
_MISSING, _DECODER = object(), json.JSONDecoder()


def read_lines(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each object in a file of JSON lines; skip blank lines.

    If the text of an object is null, the document is empty. If the file is one object over several
    lines, the object is a document if it has a text; otherwise the objects in its first list of
    objects are the documents.
    """
    what = contents_of(source.head, context.wanted.text or ())
    if what != LINES:
        yield from _read_elements(source, context, what)
        return
    context = chosen(context, source.label, *with_nested_names(*of_json(source.head)))
    batch, dotted = Batch(source.label, context), _dotted(context.wanted)
    text_fields = context.wanted.text
    is_alone = b"\n" not in source.head.strip()
    for block in source.lines(context.bad):
        # An empty block stands for a line that was too long and was reported already.
        if not block:
            batch.refuse(BadDocument(), source.line)
        for number, line in enumerate(block.split(b"\n"), source.line + 1):
            if not line or line.isspace():
                continue
            try:
                try:
                    record = _decoded(line.decode("utf-8"))
                except UnicodeDecodeError:
                    raise BadDocument("not UTF-8", undecodable(context.options.encoding)) from None
                except (ValueError, RecursionError) as error:
                    reason = getattr(
                        error, "msg", "values are nested too deeply, or a number is too long"
                    )
                    raise BadDocument("not JSON", f"not JSON: {reason}") from None
                if is_alone:
                    _check_is_document(record, source.label)
                text = _text_of(record, text_fields)
                batch.add(text, _with_nested(record, context.wanted) if dotted else record, number)
            except BadDocument as bad:
                batch.refuse(bad, number)
        yield batch.texts()


def _decoded(line: str) -> Any:
    """Decode a line of JSON, faster than `json.loads` does if no blanks surround the value.

    Raises
    ------
    ValueError, RecursionError
    """
    try:
        value, end = _DECODER.raw_decode(line)
    except ValueError:
        return json.loads(line)
    return value if end == len(line) else json.loads(line)


def read_array(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document per element of a JSON array; a null text makes an empty document.

    The line number of a document is the 1-based number of its element.
    """
    return _read_elements(source, context, ARRAY)


def _read_elements(source: Lines, context: Context, what: str) -> Iterator[Texts]:
    """Yield one document per element of a list, or one document for a file with a single object."""
    limit = context.options.max_line
    elements = Elements(source, context.options).elements(what, context.log)
    first = list(islice(elements, 1))
    sample = [value for value, _ in first if isinstance(value, dict)]
    if what == OBJECT:
        _check_is_document(first[0][0], source.label)
    names = [name for value in sample for name in value]
    context = chosen(context, source.label, *with_nested_names(names, sample))
    batch = Batch(source.label, context, TOGETHER, SIZE, noun="element")
    dotted = _dotted(context.wanted)
    for number, (value, length) in enumerate(chain(first, elements), 1):
        try:
            if length > limit:
                raise BadDocument(
                    "line too long",
                    f"the object has more than {limit} bytes; allow more with --set max-line=SIZE",
                )
            name = (context.wanted.text or ("",))[0]
            tokens = isinstance(value, list) and all(isinstance(token, str) for token in value)
            record = {name: value} if tokens or isinstance(value, str) else value
            text = _text_of(record, context.wanted.text)
            is_list = isinstance(record.get(context.wanted.title), list)
            fields = _with_nested(record, context.wanted) if dotted or is_list else record
            batch.add(text, fields, number)
        except BadDocument as bad:
            batch.refuse(bad, number)
        if batch.full:
            yield batch.texts()
    if batch:
        yield batch.texts()


def _text_of(value: Any, fields: tuple[str, ...] | None) -> bytes:
    """Return the text of a record in UTF-8, or empty bytes if the text is null.

    Raises
    ------
    BadDocument
        If the record is not an object, has none of the fields, or a field is not a text.
    """
    if not isinstance(value, dict):
        raise BadDocument(
            "not an object", 'this is not an object with fields, such as {"text": "..."}'
        )
    if fields is None:
        return b""
    # Most records have a string in a single text field, so this case is tested first.
    if (
        len(fields) == 1
        and type(text := value.get(fields[0])) is str
        and not value.get("truncated")
    ):
        return _utf8(text, fields[0])
    texts = {
        field: text
        for field in fields
        if (text := value.get(field, _MISSING)) is not _MISSING
        or ("." in field and (text := nested(value, field.split("."))) is not _MISSING)
    }
    parents = [value.get(field.partition(".")[0], {}) for field in fields if "." in field]
    if not texts and any(not isinstance(parent, dict | list) for parent in parents):
        # The parent of the text field is not an object but, for example, null or a link. So this
        # record has no text.
        return b""
    if not texts:
        raise BadDocument(
            "field missing",
            f"no field {fields[0]!r} (the object has {field_names(value)}; choose one with "
            "--text-field)",
        )
    long = value.get("extended_tweet")
    if (
        value.get("truncated")
        and isinstance(long, dict)
        and "full_text" in long
        and "text" in texts
    ):
        # The field "text" of a long tweet has only the beginning of the tweet.
        texts["text"] = long["full_text"]
    return joined(_utf8(text, field) for field, text in texts.items())


def _check_is_document(value: Any, label: str) -> None:
    """Raise `CorpusError` if the only object of a file is a table: a list for each column."""
    shapes = {_shape(column) for column in value.values()} if isinstance(value, dict) else {None}
    if len(shapes) == 1 < len(value) and shapes != {None}:
        raise CorpusError(
            "the file is a single object with a list for each column; write an object for each "
            "document (pandas: to_json(FILE, orient='records', lines=True))",
            label,
        )


def _shape(column: Any) -> Any:
    """Return an object's keys or a list's length, if it has two or more values, else None."""
    if isinstance(column, dict):
        return tuple(column) if len(column) > 1 else None
    return len(column) if isinstance(column, list) and len(column) > 1 else None


def nested(value: Any, path: Sequence[str]) -> Any:
    """Look up a value in nested objects by the names on the path to the value.

    If a value on the path is a list, the values in all of its elements are returned.

    Parameters
    ----------
    value : object
        A value of JSON.
    path : sequence of str
        Names from the outermost to the innermost.

    Returns
    -------
    object
        The value, a list of values, or `_MISSING` if a name is missing.
    """
    for depth, name in enumerate(path):
        if isinstance(value, list):
            elements = [nested(element, path[depth:]) for element in value]
            return [element for element in elements if element is not _MISSING] or _MISSING
        value = value.get(name, _MISSING) if isinstance(value, dict) else _MISSING
    return value


def _dotted(fields: WantedFields) -> list[str]:
    """Return the requested names of nested fields, such as user.name."""
    return [name for name in (fields.id, fields.title, *fields.columns) if "." in name]


def _with_nested(record: dict[str, Any], fields: WantedFields) -> dict[str, Any]:
    """Return a copy of a record with the requested nested values added; join lists to texts."""
    values = {}
    for name in _dotted(fields):
        if name not in record and (value := nested(record, name.split("."))) is not _MISSING:
            values[name] = _joined_list(value)
    values[fields.title] = _joined_list(values.get(fields.title, record.get(fields.title)))
    return record | values


def _joined_list(value: Any) -> Any:
    plain = isinstance(value, list) and not any(isinstance(v, dict | list) for v in value)
    return "; ".join(map(str, value)) if plain else value


def _of_list(value: list[Any] | dict[str, Any]) -> str | None:
    """Join a list of tokens or pages, or an object with counts or positions of words, to a text.

    Return None for any other value.
    """
    if isinstance(value, list):
        # Telegram writes a message as a list of texts, and of objects that contain texts.
        value = [part.get("text") if isinstance(part, dict) else part for part in value]
        if not all(isinstance(token, str) for token in value):
            return None
        return ("\n\n" if any(" " in token for token in value) else " ").join(value)
    if value and all(type(count) is int for count in value.values()):
        if sum(max(count, 0) * (len(word) + 1) for word, count in value.items()) > _LARGEST:
            return None
        return " ".join(word for word, count in value.items() for _ in range(count))
    places: dict[int, str] = {}
    for word, column in value.items():
        if not isinstance(column, list) or not all(isinstance(place, int) for place in column):
            return None
        places |= dict.fromkeys(column, word)
    return " ".join(places[place] for place in sorted(places))


def _utf8(text: Any, field: str) -> bytes:
    """Return the value of a text field in UTF-8; a list or an object is joined to a text first."""
    if text is None:
        return b""
    if isinstance(text, list | dict):
        text = text if (whole := _of_list(text)) is None else whole
    if not isinstance(text, str):
        raise BadDocument(
            "field not a string",
            f"field {field!r} is not a string but {type(text).__name__}; choose another with "
            "--text-field",
        )
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadDocument(
            "not UTF-8",
            f"field {field!r} has an unpaired surrogate; export the file again as UTF-8",
        ) from None
