"""Reader for files with a document in each element <DOC> ... </DOC>.

These files look like XML but are not: characters may be unescaped, and a root element is missing.
Each document is therefore the text between a pair of these tags; documents are read one by one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from pysgrld.corpus.formats.protocol import BadDocument, Context, Texts
from pysgrld.corpus.formats.record_texts import Numbered, texts_of
from pysgrld.corpus.lines import Lines, undecodable
from pysgrld.errors import CorpusError

_BEGIN = re.compile(rb"\s*(?:<(?!doc\b)[^<>]*>\s*)*<doc\b([^<>]*)>", re.I)
_END = re.compile(rb"</doc\s*>", re.I)
#: Pattern of the text between two documents. This text may have only tags and blanks.
_BETWEEN = re.compile(rb"\s*(?:<[^<>]*>\s*)*")
_ATTRIBUTE = re.compile(r'([\w:-]+)\s*=\s*"([^"]*)"')
#: Pattern of a field of a TREC document: an element with a name in capitals.
_FIELD = re.compile(r"<([A-Z][A-Z0-9_-]*)\b[^<>]*>(.*?)</\1\s*>", re.S)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
#: Name of the field that has the text of a TREC document.
_TEXT = "TEXT"


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document per <DOC> element; its attributes and child elements become fields."""
    yield from texts_of(_documents(context, source), source, context, "document", title="headline")


def _documents(context: Context, source: Lines) -> Iterator[Numbered]:
    """Yield the number and the fields of each document in a file.

    Raises
    ------
    CorpusError
        If text stands between documents, or the last document does not end.
    """
    held, number, line, limit = b"", 0, 1, context.options.max_line
    looked = 0  # The first `looked` bytes of `held` have no end tag.
    for block in source.blocks():
        held += block
        start = 0
        while (end := _END.search(held, max(start, looked - 8))) is not None:
            begin = _BEGIN.match(held, start, end.start())
            if begin is None:
                raise CorpusError(
                    "there is text outside a document; each document must begin with <doc> and "
                    "end with </doc>",
                    source.label,
                    line + held.count(b"\n", start, end.start()),
                )
            number += 1
            yield number, _record(begin[1], held[begin.end() : end.start()], context)
            line += held.count(b"\n", start, end.end())
            start, looked = end.end(), 0
        held = held[start:]
        looked = len(held)
        if len(held) > limit:
            raise CorpusError(
                f"a document has more than {limit} bytes, or no </doc>; correct the file, or "
                "allow longer documents with --set max-line=SIZE",
                source.label,
                line,
            )
    if _BEGIN.match(held) or not _BETWEEN.fullmatch(held):
        raise CorpusError(
            "the last document has no </doc>: the file is incomplete; download or export it again",
            source.label,
            line + held[: len(held) - len(held.lstrip())].count(b"\n"),
        )


def _record(attributes: bytes, content: bytes, context: Context) -> dict[str, str] | BadDocument:
    """Return the attributes and child elements of a document as fields."""
    try:
        head, text = attributes.decode("utf-8"), content.decode("utf-8")
    except UnicodeDecodeError:
        return BadDocument("not UTF-8", undecodable(context.options.encoding))
    record = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(head)}
    parts: dict[str, list[str]] = {}
    # In documents of wikiextractor, elements in the text are not fields. These documents have an
    # attribute "url".
    if "url" not in record:
        for match in _FIELD.finditer(text):
            parts.setdefault(match[1], []).append(_plain(match[2]))
    if _TEXT not in parts:
        rest = _FIELD.sub(" ", text) if parts else text
        parts["text" if not parts else _TEXT] = [_plain(rest)]
    return record | {name: "\n".join(values) for name, values in parts.items()}


def _plain(text: str) -> str:
    """Remove tags from a text, and replace entities such as &amp; by their characters."""
    return html.unescape(_TAG.sub(" ", text)).strip()
