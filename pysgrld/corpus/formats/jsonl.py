"""JSON lines: an object a line, one field of which is the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pysgrld.corpus.encodings import not_in
from pysgrld.corpus.formats.batch import BadRecord, Batch
from pysgrld.corpus.formats.protocol import Context, Texts, field_names
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.reading import CorpusOptions

SUFFIXES = (".jsonl", ".ndjson", ".json")
#: Names that are believed whatever the content is: a .json may be one value.
_SURE = SUFFIXES[:2]

_OBJECT = re.compile(rb'\s*\{\s*"')


def sniff(head: bytes, name: str) -> bool:
    """Whether an object with a key begins the file, or the file is named so."""
    return bool(_OBJECT.match(head)) or name.lower().endswith(_SURE)


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document an object; a null is one without words, and blank lines are none."""
    batch = Batch(source.label, context)
    for block in source.lines(context.bad):
        if not block:  # a line above the limit, which was reported
            batch.refuse(BadRecord(), source.line)
        for offset, line in enumerate(block.split(b"\n")):
            if not line.strip():
                continue
            number = source.line + 1 + offset
            try:
                record = _record(line, context.options)
                batch.add(text_of(record, context.wanted.text), record, number)
            except BadRecord as bad:
                batch.refuse(bad, number)
        yield batch.texts()


def _record(line: bytes, options: CorpusOptions) -> Any:
    try:
        return json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadRecord("not UTF-8", not_in(options.encoding)) from None
    except (ValueError, RecursionError) as error:
        why = getattr(error, "msg", "nested too deeply or a number too long")
        raise BadRecord("not JSON", f"not JSON: {why}") from None


def text_of(value: Any, field: str | None) -> bytes:
    """Give the text of a record as UTF-8; a null has none.

    Raises
    ------
    BadRecord
        If it is no object, or its field of that name is no text.
    """
    if not isinstance(value, dict):
        raise BadRecord("not an object", "JSON, but not an object with fields")
    if field is None:
        return b""
    if field not in value:
        raise BadRecord(
            "field missing",
            f"no field {field!r} (it has {field_names(value)}; choose one with --text-field)",
        )
    text = value[field]
    if text is None:
        return b""
    if not isinstance(text, str):
        raise BadRecord(
            "field not a string", f"field {field!r} is not a string but {type(text).__name__}"
        )
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadRecord("not UTF-8", f"field {field!r} has half a surrogate pair") from None
