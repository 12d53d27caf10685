"""The formats of files that are read, one file each, and the table that chooses among them.

To add one: a file with ``sniff(head, name)`` and ``read(stream, context)``, and a row here.
Folders are told apart by `open`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from pysgrld.corpus.formats import (
    delimited,
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
from pysgrld.corpus.formats.kinds import Context, Counts, Texts
from pysgrld.corpus.stream import Stream

__all__ = ["FORMATS", "Context", "Counts", "Format", "Texts", "recognise"]


class Format(NamedTuple):
    """How one format is recognised and read.

    Attributes
    ----------
    name : str
        As messages call it.
    kind : {"text", "counts"}
        What ``read`` gives: an iterator of `Texts`, or `Counts`.
    sniff : callable (head, name) -> bool
        ``head`` are the first decompressed bytes, ``name`` the file name without the suffix of
        its compression ("" for standard input).
    read : callable (stream, context) -> iterator of Texts, or Counts
    """

    name: str
    kind: Literal["text", "counts"]
    sniff: Callable[[bytes, str], bool]
    read: Callable[[Stream, Context], Iterator[Texts] | Counts]


#: First match wins: from the unmistakable to what any file could be.
FORMATS = (
    Format("MediaWiki XML", "text", mediawiki.sniff, mediawiki.read),
    Format("SciPy .npz", "counts", npz.sniff, npz.read),
    Format("Parquet", "text", parquet.sniff, parquet.read),
    Format("a format that is not read", "text", refused.sniff, refused.read),
    Format("Matrix Market", "counts", matrix_market.sniff, matrix_market.read),
    Format("UCI bag of words", "counts", uci.sniff, uci.read),
    Format("LDA-C", "counts", ldac.sniff, ldac.read),
    Format("SVMlight", "counts", svmlight.sniff, svmlight.read),
    Format("JSON lines", "text", jsonl.sniff, jsonl.read),
    Format("CSV or TSV", "text", delimited.sniff, delimited.read),
    Format("plain text", "text", plain.sniff, plain.read),
)


def recognise(head: bytes, name: str) -> Format:
    """Choose the format of a file by its content, then its name."""
    return next(format for format in FORMATS if format.sniff(head, name))
