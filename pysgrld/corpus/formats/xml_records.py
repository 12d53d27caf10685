"""Reader for XML files of records, such as feeds and exports of EndNote, Jira or Zotero.

A record is an element with a usual name, such as <record> or <row>, or the outermost element that
repeats and has several fields. The attributes of a record, and the elements with text in it, are its
fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, cast
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pysgrld.corpus.formats.articles_xml import articles_in, name_of, new_parser
from pysgrld.corpus.formats.protocol import BadDocument, Context, Texts
from pysgrld.corpus.formats.record_texts import Numbered, texts_of
from pysgrld.corpus.lines import Lines

#: Usual names of elements that are records.
_USUAL = (
    *(
        "record",
        "row",
        "item",
        "entry",
        "result",
        "rec",
        "article",
        "document",
        "hit",
        "post",
        "tweet",
    ),
    *("issue", "work", "publication", "review", "comment", "message", "doc"),
)
#: Names of elements that only mark up the text of a field.
_WITHIN_TEXT = frozenset(
    (
        *("style", "i", "b", "em", "strong", "sub", "sup", "u", "span", "br", "italic", "bold"),
        "p",
        "a",
    )
)
#: Names of elements that have the field's name in an attribute, as in <field name="title">.
_NAMING = ("field", "str", "arr", "int", "date", "long", "double", "bool", "column", "attribute")
#: Minimum number of fields of a record whose element has no usual name.
_FEWEST = 3
#: In Zotero's RDF, the element with this name states the kind of an item.
_KIND = "itemType"
#: Kinds of items that are skipped.
_NO_WORKS = ("attachment", "note")


def is_records(head: bytes, name: str) -> bool:
    """Return True if an XML file has records and is not a survey of LimeSurvey."""
    return b"<LimeSurveyDocType>Survey<" not in head and record_name(head) is not None


def record_name(head: bytes) -> str | None:
    """Detect from a file's first bytes which elements are records; return their name."""
    parser = new_parser()
    # Open elements, the outermost first. Each has a name, and a set of the fields that were read in
    # the element so far.
    path: list[tuple[str, set[str]]] = []
    records: dict[tuple[int, str], list[int]] = {}
    order: Counter[str] = Counter()
    try:
        parser.feed(head)
        events = cast("list[tuple[str, Element]]", list(parser.read_events()))
    except ElementTree.ParseError:
        events = []
    for event, element in events:
        name = name_of(element)
        if event == "start":
            if path:
                path[-1][1].add(name)
            path.append((name, set(element.attrib)))
            order[name.lower()] += len(path) > 1
            continue
        _, fields = path.pop()
        if path:
            records.setdefault((len(path), name), []).append(len(fields))
    if "rdf" in order or (events and name_of(events[0][1]) == "RDF"):
        return "RDF"
    root = name_of(events[0][1]).lower() if events else ""
    if root == _USUAL[0] and not order[root]:
        return root  # The root element is the only record.
    usual = next((name for name in _USUAL if order[name]), None)
    if usual is not None:
        return usual
    often = [
        (depth, name)
        for (depth, name), sizes in records.items()
        if len(sizes) > 1 and sorted(sizes)[len(sizes) // 2] >= _FEWEST
    ]
    return min(often)[1].lower() if often else None


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each record of an XML file."""
    name = record_name(source.head) or ""
    context.log(f"{source.label}: each element <{name}> is a document")
    records = articles_in(source, context, partial(_reader, name))
    yield from texts_of(_works(records), source, context, "record")


def _works(records: Iterator[Numbered]) -> Iterator[Numbered]:
    """Leave out Zotero's attachments and notes; yield the other records, numbered from 1."""
    number = 0
    for _, record in records:
        if isinstance(record, BadDocument) or record.get(_KIND) not in _NO_WORKS:
            number += 1
            yield number, record


def _reader(record: str, element: str, depth: int) -> Any:
    """Return the function that reads a record from an element, or None for other elements."""
    if record == "RDF":
        return _fields if depth == 1 else None
    return _fields if element.lower() == record else None


def _fields(record: Element) -> dict[str, Any]:
    fields: dict[str, list[str]] = {}
    for name, value in record.attrib.items():
        fields.setdefault(name.rpartition("}")[2], []).append(value)
    if own_text := " ".join((record.text or "").split()):
        fields.setdefault("text", []).append(own_text)
    walk = list(reversed(record))
    while walk:
        element = walk.pop()
        name = name_of(element)
        if name == "datafield":  # A field of MARC has parts, which are named by letters.
            for part in element:
                name = f"{element.get('tag')}{part.get('code')}"
                fields.setdefault(name, []).append(" ".join("".join(part.itertext()).split()))
        elif all(name_of(child) in _WITHIN_TEXT for child in element):
            name = (element.get("name") if name.lower() in _NAMING else None) or name
            if text := " ".join("".join(element.itertext()).split()):
                fields.setdefault(name, []).append(text)
        else:
            walk += reversed(element)
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}
