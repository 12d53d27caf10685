"""JSON lines: an object a line, one field of which is the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pysgrld.corpus.about.wanted import FieldError, Gathering
from pysgrld.corpus.encodings import not_in
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
    gathering = Gathering(context.wanted)
    for block in source.lines(context.bad):
        if not block:
            if context.keep_empty:
                gathering.add({})
                yield Texts([b""], source.label, [source.line], fields=gathering.fields())
            continue
        documents: list[bytes] = []
        lines: list[int] = []
        for offset, line in enumerate(block.split(b"\n")):
            if not line.strip():
                continue
            number = source.line + 1 + offset
            try:
                record = _record(line, context.options)
                text = _text(record, context.wanted.text)
                gathering.add(record)
            except (_BadLine, FieldError) as bad:
                reason = bad.reason if isinstance(bad, _BadLine) else "field not plain"
                context.bad(reason, str(bad), source.label, number)
                if not context.keep_empty:
                    continue
                text = b""
                gathering.add({})
            documents.append(text)
            lines.append(number)
        yield Texts(documents, source.label, lines, fields=gathering.fields())


class _BadLine(Exception):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def _record(line: bytes, options: CorpusOptions) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise _BadLine("not UTF-8", not_in(options.encoding)) from None
    except (ValueError, RecursionError) as error:
        why = getattr(error, "msg", "nested too deeply or a number too long")
        raise _BadLine("not JSON", f"not JSON: {why}") from None
    if not isinstance(value, dict):
        raise _BadLine("not an object", "JSON, but not an object with fields")
    return value


def _text(value: dict[str, Any], field: str | None) -> bytes:
    if field is None:
        return b""
    if field not in value:
        raise _BadLine(
            "field missing",
            f"no field {field!r} (it has {field_names(value)}; choose one with --text-field)",
        )
    text = value[field]
    if text is None:
        return b""
    if not isinstance(text, str):
        raise _BadLine(
            "field not a string", f"field {field!r} is not a string but {type(text).__name__}"
        )
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise _BadLine("not UTF-8", f"field {field!r} has half a surrogate pair") from None
