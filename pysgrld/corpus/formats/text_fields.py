"""Which fields of records are the text, where a person has not said so; and several of them joined."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from statistics import fmean
from typing import Any

from pysgrld.corpus.formats.protocol import Context
from pysgrld.corpus.reading import USUAL_TEXT_FIELD
from pysgrld.errors import CorpusError

#: Names of fields that are the text, the first that is there; other letters than these do not matter.
NAMES = (USUAL_TEXT_FIELD, "abstract", "abstractnote", "body", "content", "fulltext")
#: Names of fields that are a document's id and title, where a person has named none.
_IDS, _TITLES = ("id", "key"), ("title",)
#: Records that are looked at.
SAMPLED = 200
#: A long text has so many characters and words on average, and is so many times as long as any other.
CHARACTERS, WORDS, TIMES = 40, 4, 3
#: Between texts that are joined: a paragraph ends.
JOINT = b"\n\n"

#: Scripts without blanks between words, of which each letter counts as one.
_SOLID = r"\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_SOLID}]|[^\s{_SOLID}]+")


def chosen(
    context: Context, label: str, names: Sequence[str], records: Iterable[Mapping[str, Any]]
) -> Context:
    """Return the context with the fields of a file's records settled: the text, the id and the title.

    Parameters
    ----------
    context : Context
        Told in its log what was taken for the text, and notes it for the record.
    label : str
        What messages call the file.
    names : sequence of str
        Fields that its records have.
    records : iterable of mapping
        The first of them.

    Raises
    ------
    CorpusError
        If a field that is the text is there more than once.
    """
    wanted, noticed = context.wanted, context.noticed
    if wanted.text is None:
        return context
    text = wanted.text
    if text and ",".join(text) in names:
        text = (",".join(text),)  # a name that has a comma in it
    if not text:
        found = usual(names, NAMES) or _long_text(names, records)
        text = (found or USUAL_TEXT_FIELD,)
        if found not in (None, USUAL_TEXT_FIELD) and found not in noticed.text_fields.values():
            said = f"{label}: the text is the field {found!r}"
            context.log(f"{said} (--text-field NAME takes another, NAME,NAME joins several)")
        if found:
            noticed.text_fields[label] = found
    text = tuple(name if name in names else usual(names, (_plain(name),)) or name for name in text)
    for name in text:
        if names.count(name) > 1:
            raise CorpusError(f"more than one field {name[:40]!r} in the header", label, 1)
    own = [
        name if name in wanted.named or name in names else usual(names, known) or name
        for name, known in ((wanted.id, _IDS), (wanted.title, _TITLES))
    ]
    return context._replace(wanted=wanted._replace(text=text, id=own[0], title=own[1]))


def usual(names: Sequence[str], known: Sequence[str]) -> str | None:
    """Return the name that is the first of the known ones in spite of capitals, blanks and points."""
    if len(found := [name for name in names if name == known[0]]) == 1:
        return found[0]
    plain = list(map(_plain, names))
    once = Counter(plain)
    return next((names[plain.index(name)] for name in known if once[name] == 1), None)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


def _long_text(names: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the only field that holds long texts; None where there is none, or more than one."""
    rows = list(islice(records, SAMPLED))
    lengths: dict[str, float] = {}
    for name in dict.fromkeys(names):
        values = [v for row in rows if isinstance(v := row.get(name), str) and v.strip()]
        if values and fmean(len(_WORD.findall(value)) for value in values) >= WORDS:
            lengths[name] = fmean(map(len, values))
    longest = sorted(lengths, key=lambda name: lengths[name], reverse=True)
    if not longest or lengths[longest[0]] < CHARACTERS:
        return None
    if len(longest) > 1 and lengths[longest[0]] < TIMES * lengths[longest[1]]:
        return None
    return longest[0]


def joined(texts: Iterable[bytes]) -> bytes:
    """Return the texts of a record's fields as one."""
    return JOINT.join(text for text in texts if text)


# ---- the first records of files that are read as they come


def of_json(head: bytes) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the fields and the records of the first lines of a file, or of an array on one line."""
    records: list[dict[str, Any]] = []
    for line in head.split(b"\n")[:SAMPLED]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue  # cut off, or to be refused when it is read
        if isinstance(record, dict):
            records.append(record)
    return list(dict.fromkeys(name for record in records for name in record)), records


def of_delimited(head: bytes, delimiter: str, names: Sequence[str]) -> list[dict[str, str]]:
    """Return the first records of a table, as far as they can be understood."""
    lines = head.decode("utf-8", "replace").splitlines(keepends=True)
    found = []
    try:
        for record in islice(csv.reader(lines, delimiter=delimiter), SAMPLED + 1):
            if len(record) == len(names) and [cell.strip() for cell in record] != list(names):
                found.append(dict(zip(names, record, strict=True)))
    except csv.Error:
        pass  # what is wrong is said when it is read
    return found
