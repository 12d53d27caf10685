"""The formats of files that are read, one file each, and the table that chooses among them.

To add one: a file with ``SUFFIXES``, ``sniff(head, name)`` and ``read(source, context)``, and a row
here. Folders are told apart by `pysgrld.corpus.steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from pysgrld.corpus.formats import (
    delimited,
    docx,
    html,
    json_array,
    jsonl,
    ldac,
    matrix_market,
    mediawiki,
    npz,
    parquet,
    pdf,
    plain,
    refused,
    svmlight,
    uci,
)
from pysgrld.corpus.formats.protocol import Context, CountedDocuments, Noticed, Texts
from pysgrld.corpus.formats.whole import Extract
from pysgrld.corpus.lines import Lines

__all__ = [
    "FORMATS",
    "IN_FOLDERS",
    "PLAIN",
    "PREFIXES",
    "SUFFIXES",
    "Context",
    "CountedDocuments",
    "Extract",
    "Format",
    "Noticed",
    "Texts",
    "named_as_counts",
    "of_folder",
    "recognise",
]


class Format(NamedTuple):
    """One format: how its files are recognised and read, and what they are called.

    Attributes
    ----------
    name : str
        As messages call it.
    kind : {"text", "counts"}
        What ``read`` gives: an iterator of `Texts`, or `CountedDocuments`.
    sniff : callable (head, name) -> bool
        ``head`` are the first decompressed bytes, ``name`` the file name without the suffix of
        its compression ("" for standard input).
    read : callable (source, context) -> iterator of Texts, or CountedDocuments
    suffixes : tuple of str
        What names of such files end with, in lower case; no proof of what is in them.
    prefix : str
        What names of such files begin with; empty if nothing.
    encoded : bool
        Whether a person may say what encoding it is in.
    fields : bool
        Whether it holds records with named fields.
    extract : callable, optional
        Makes one document of all that is in a file, where a file may be one.
    """

    name: str
    kind: Literal["text", "counts"]
    sniff: Callable[[bytes, str], bool]
    read: Callable[[Lines, Context], Iterator[Texts] | CountedDocuments]
    suffixes: tuple[str, ...]
    prefix: str = ""
    encoded: bool = False
    fields: bool = False
    extract: Extract | None = None


#: What any file may be, and what those of a folder are whose names end so.
PLAIN = Format(
    "plain text", "text", plain.sniff, plain.read, plain.SUFFIXES, encoded=True, extract=plain.text
)
#: First match wins: from the unmistakable to what any file could be.
FORMATS = (
    Format("HTML", "text", html.sniff, html.read, html.SUFFIXES, encoded=True, extract=html.text),
    Format("MediaWiki XML", "text", mediawiki.sniff, mediawiki.read, mediawiki.SUFFIXES),
    Format("SciPy .npz", "counts", npz.sniff, npz.read, npz.SUFFIXES),
    Format("Parquet", "text", parquet.sniff, parquet.read, parquet.SUFFIXES, fields=True),
    Format("Word", "text", docx.sniff, docx.read, docx.SUFFIXES, extract=docx.text),
    Format("PDF", "text", pdf.sniff, pdf.read, pdf.SUFFIXES, extract=pdf.text),
    Format("a format that is not read", "text", refused.sniff, refused.read, (), encoded=True),
    Format(
        "Matrix Market", "counts", matrix_market.sniff, matrix_market.read, matrix_market.SUFFIXES
    ),
    Format("UCI bag of words", "counts", uci.sniff, uci.read, (), uci.PREFIX),
    Format("LDA-C", "counts", ldac.sniff, ldac.read, ldac.SUFFIXES),
    Format("SVMlight", "counts", svmlight.sniff, svmlight.read, svmlight.SUFFIXES),
    Format(
        "a JSON array", "text", json_array.sniff, json_array.read, (), encoded=True, fields=True
    ),
    Format(
        "JSON lines", "text", jsonl.sniff, jsonl.read, jsonl.SUFFIXES, encoded=True, fields=True
    ),
    Format(
        "CSV or TSV",
        "text",
        delimited.sniff,
        delimited.read,
        delimited.SUFFIXES,
        encoded=True,
        fields=True,
    ),
    PLAIN,
)


#: What names of files may end and begin with, whatever their format.
SUFFIXES = tuple(suffix for format in FORMATS for suffix in format.suffixes)
PREFIXES = tuple(format.prefix for format in FORMATS if format.prefix)
#: What names of the files of a folder end with that are each a document.
IN_FOLDERS = {
    suffix: format
    for format in FORMATS
    if format.extract is not None
    for suffix in (format.suffixes if format is not PLAIN else (".txt",))
}


def recognise(head: bytes, name: str) -> Format:
    """Choose the format of a file by its content, then its name."""
    return next(format for format in FORMATS if format.sniff(head, name))


def of_folder(name: str) -> Format | None:
    """Give the format of a file of a folder, by its name without the suffix of its compression."""
    return IN_FOLDERS.get(Path(name).suffix.lower())


def named_as_counts(name: str) -> bool:
    """Whether a file, called so without the suffix of its compression, has the name of counts."""
    return any(
        name.lower().endswith(format.suffixes)
        or (format.prefix != "" and name.startswith(format.prefix))
        for format in FORMATS
        if format.kind == "counts"
    )
