"""The formats of files that are read, one file each, and the table that chooses among them.

To add one: a file with ``SUFFIXES``, ``sniff(head, name)`` and ``read(source, context)``, and a row
here. Folders are told apart by `pysgrld.corpus.steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from pysgrld.corpus.formats import (
    delimited,
    html,
    jsonl,
    ldac,
    matrix_market,
    mediawiki,
    npz,
    parquet,
    plain,
    refused,
    svmlight,
    uci,
)
from pysgrld.corpus.formats.protocol import Context, CountedDocuments, Noticed, Texts
from pysgrld.corpus.lines import Lines

__all__ = [
    "FORMATS",
    "PREFIXES",
    "SUFFIXES",
    "Context",
    "CountedDocuments",
    "Format",
    "Noticed",
    "Texts",
    "named_as_counts",
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
    """

    name: str
    kind: Literal["text", "counts"]
    sniff: Callable[[bytes, str], bool]
    read: Callable[[Lines, Context], Iterator[Texts] | CountedDocuments]
    suffixes: tuple[str, ...]
    prefix: str = ""
    encoded: bool = False
    fields: bool = False


#: First match wins: from the unmistakable to what any file could be.
FORMATS = (
    Format("HTML", "text", html.sniff, html.read, (), encoded=True),
    Format("MediaWiki XML", "text", mediawiki.sniff, mediawiki.read, mediawiki.SUFFIXES),
    Format("SciPy .npz", "counts", npz.sniff, npz.read, npz.SUFFIXES),
    Format("Parquet", "text", parquet.sniff, parquet.read, parquet.SUFFIXES, fields=True),
    Format("a format that is not read", "text", refused.sniff, refused.read, (), encoded=True),
    Format(
        "Matrix Market", "counts", matrix_market.sniff, matrix_market.read, matrix_market.SUFFIXES
    ),
    Format("UCI bag of words", "counts", uci.sniff, uci.read, (), uci.PREFIX),
    Format("LDA-C", "counts", ldac.sniff, ldac.read, ldac.SUFFIXES),
    Format("SVMlight", "counts", svmlight.sniff, svmlight.read, svmlight.SUFFIXES),
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
    Format("plain text", "text", plain.sniff, plain.read, plain.SUFFIXES, encoded=True),
)


#: What names of files may end and begin with, whatever their format.
SUFFIXES = tuple(suffix for format in FORMATS for suffix in format.suffixes)
PREFIXES = tuple(format.prefix for format in FORMATS if format.prefix)


def recognise(head: bytes, name: str) -> Format:
    """Choose the format of a file by its content, then its name."""
    return next(format for format in FORMATS if format.sniff(head, name))


def named_as_counts(name: str) -> bool:
    """Whether a file, called so without the suffix of its compression, has the name of counts."""
    return any(
        name.lower().endswith(format.suffixes)
        or (format.prefix != "" and name.startswith(format.prefix))
        for format in FORMATS
        if format.kind == "counts"
    )
