"""Readers for reference lists with tagged lines, from Web of Science, PubMed, EndNote or RefWorks.

References ("works") are read one by one, so that memory does not depend on their number.
Continuation lines are joined to the line before; lists, such as authors and keywords, are joined by
semicolons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pysgrld.corpus.formats.protocol import Context, Texts
from pysgrld.corpus.formats.record_texts import Numbered, texts_of
from pysgrld.corpus.lines import Lines, undecodable
from pysgrld.errors import CorpusError


class _Tags(NamedTuple):
    """Description of the tags that a format of reference lists uses.

    Attributes
    ----------
    what : str
        Name of the format in messages.
    line : re.Pattern
        Pattern of a line with a tag and a value.
    first, last : str
        The tags that begin and end a work. `last` is empty if works have no end tag.
    lists : frozenset of str
        Tags of lists, in which each continuation line is a further value.
    known : tuple of str
        Fields that works may have, even if the first works do not have them.
    names : mapping of str to str
        Field names for tags that users do not know.
    outside : frozenset of str
        Tags of lines that belong to the file and not to a work.
    """

    what: str
    line: re.Pattern[str]
    first: str
    last: str
    known: tuple[str, ...]
    lists: frozenset[str] = frozenset()
    names: Mapping[str, str] = {}
    outside: frozenset[str] = frozenset()


_WEB_OF_SCIENCE = _Tags(
    "Web of Science",
    re.compile(r"([A-Z][A-Z0-9])(?: (.*))?"),
    "PT",
    "ER",
    ("UT", "TI", "AB", "PY"),
    frozenset(["AU", "AF", "BA", "BF", "BE", "CA", "GP", "CR", "C1", "C3", "RI", "OI", "EM"]),
    outside=frozenset(["FN", "VR", "EF"]),
)
_PUBMED = _Tags(
    "PubMed (MEDLINE)",
    re.compile(r"([A-Z][A-Z0-9]{0,3}) *- ?(.*)"),
    "PMID",
    "",
    ("PMID", "TI", "AB", "DP", "PY"),
)
#: PubMed's format as ERIC writes it. Works have no PubMed number, and begin with the tag OWN.
_ERIC = _PUBMED._replace(what="ERIC", first="OWN", known=("OID", "TI", "AB", "DP", "PY"))
_ENDNOTE = _Tags(
    "EndNote",
    re.compile(r"(%[A-Z0-9!@#$%^&*()+\[\]<>=~?:;|-])(?: (.*))?"),
    "%0",
    "",
    ("title", "abstract", "year"),
    names={
        "%0": "type",
        "%T": "title",
        "%A": "authors",
        "%X": "abstract",
        "%D": "year",
        "%K": "keywords",
        "%J": "journal",
        "%B": "secondary_title",
        "%R": "doi",
        "%V": "volume",
        "%N": "number",
        "%P": "pages",
        "%I": "publisher",
        "%C": "place_published",
        "%E": "editors",
        "%G": "language",
        "%U": "url",
        "%Z": "notes",
        "%@": "issn",
        "%8": "date",
        "%M": "accession_number",
        "%L": "call_number",
        "%F": "label",
        "%+": "author_address",
    },
)
_REFWORKS = _Tags("RefWorks", re.compile(r"([A-Z][A-Z0-9]) (.*)"), "RT", "", ("T1", "AB", "YR"))


def web_of_science(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each reference in a plain-text export of Web of Science."""
    return _read(source, context, _WEB_OF_SCIENCE)


def pubmed(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each reference in an export of PubMed or ERIC (.nbib, MEDLINE)."""
    return _read(source, context, _ERIC if source.head.lstrip().startswith(b"OWN") else _PUBMED)


def endnote(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each reference in the format of EndNote (.enw, refer)."""
    return _read(source, context, _ENDNOTE)


def refworks(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each reference in the tagged format of RefWorks."""
    return _read(source, context, _REFWORKS)


def _read(source: Lines, context: Context, tags: _Tags) -> Iterator[Texts]:
    yield from texts_of(_works(source, context, tags), source, context, "work", tags.known)


def _works(source: Lines, context: Context, tags: _Tags) -> Iterator[Numbered]:
    """Yield the number and the fields of each work (reference) in a file.

    Raises
    ------
    CorpusError
        If the file has no works, or the last work does not end.
    """
    number, work, open_since, size = 0, _Work(tags), 0, 0
    limit = context.options.max_line
    for line_number, line in lines_of(context, source):
        match = tags.line.fullmatch(line)
        tag = match[1] if match else ""
        ends = bool(tags.last) and tag == tags.last
        if work and (ends or tag == tags.first):
            if tags.last and not ends:
                raise CorpusError(
                    f"a new work begins here ({tags.first}) before the end ({tags.last}) of the "
                    f"work that begins in line {open_since}; export the list again",
                    source.label,
                    line_number,
                )
            number += 1
            yield number, work.record()
            work, size = _Work(tags), 0
        if ends or tag in tags.outside or not line.strip():
            continue
        size += len(line)
        if size > limit:
            raise CorpusError(
                f"a work has more than {limit} bytes; export the {tags.what} list again, or allow "
                "more with --set max-line=SIZE",
                source.label,
                line_number,
            )
        if match:
            if not work:
                open_since = line_number
            work.add(tag, match[2] or "")
        # A line without a tag continues the line before, with or without an indent.
        elif work:
            work.go_on(line)
        else:
            raise CorpusError(
                f"{line.strip()[:40]!r} does not belong to any work of the {tags.what} list; "
                "export the list again",
                source.label,
                line_number,
            )
    if work:
        if tags.last:
            raise CorpusError(
                f"the work that begins in line {open_since} has no end ({tags.last}): the file is "
                "incomplete; export it again",
                source.label,
            )
        number += 1
        yield number, work.record()
    if not number:
        raise CorpusError(f"the {tags.what} list contains no work; export it again", source.label)


def lines_of(context: Context, source: Lines) -> Iterator[tuple[int, str]]:
    """Yield the number and the decoded text of each line of a file."""
    for block in source.lines(context.bad):
        for offset, line in enumerate(block.removesuffix(b"\n").split(b"\n")):
            number = source.line + 1 + offset
            try:
                yield number, line.decode("utf-8").rstrip("\r").removeprefix("\ufeff")
            except UnicodeDecodeError:
                raise CorpusError(
                    undecodable(context.options.encoding), source.label, number
                ) from None


class _Work:
    """Collector that turns the lines of one work (reference) into fields."""

    def __init__(self, tags: _Tags) -> None:
        self.tags, self.tag = tags, ""
        self.values: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self.values)

    def add(self, tag: str, value: str) -> None:
        """Add a line with a tag and a value."""
        self.tag = tag
        self.values.setdefault(tag, []).append(value.strip())

    def go_on(self, text: str) -> None:
        """Add a line that continues the line before."""
        values = self.values[self.tag]
        if self.tag in self.tags.lists:
            values.append(text.strip())
        else:
            values[-1] = f"{values[-1]} {text.strip()}".strip()

    def record(self) -> dict[str, str]:
        """Return the collected fields by name, with lists joined by semicolons."""
        record = {
            self.tags.names.get(tag, tag): "; ".join(filter(None, values))
            for tag, values in self.values.items()
        }
        if "DP" in self.tags.known and (year := re.match(r"[0-9]{4}", record.get("DP", ""))):
            record["PY"] = year[0]
        return record
