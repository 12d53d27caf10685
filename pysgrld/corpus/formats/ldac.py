"""LDA-C: a document a line, "N id:count ...", N being the number of pairs and ids from 0."""

from __future__ import annotations

from pysgrld.corpus.formats.entries import wrong_count
from pysgrld.corpus.formats.pairs import (
    begins_with_number_of_pairs,
    documents,
    looks_like_pairs,
    wrong_id,
)
from pysgrld.corpus.formats.protocol import Context, CountedDocuments
from pysgrld.corpus.formats.svmlight import SUFFIXES as OTHERS
from pysgrld.corpus.formats.vocabulary_files import find_words, quoted
from pysgrld.corpus.lines import Lines
from pysgrld.errors import plural

SUFFIXES = (".ldac", ".lda-c", ".dat")
#: Names that are believed whatever the content is: a .dat may be anything.
_SURE = SUFFIXES[:2]


def sniff(head: bytes, name: str) -> bool:
    """Whether the file is named so, or has lines of pairs that mostly begin with their number."""
    name = name.lower()
    if name.endswith(OTHERS):
        return False
    return name.endswith(_SURE) or (looks_like_pairs(head) and begins_with_number_of_pairs(head))


def read(source: Lines, context: Context) -> CountedDocuments:
    """Find the words, and leave the documents to be iterated."""
    vocabulary, origin = find_words(source, context)
    words = None if vocabulary is None else len(vocabulary)
    return CountedDocuments(
        vocabulary, origin, documents(source, 0, words, False, _explain), numbered=False
    )


def _explain(line: bytes, first: int, last: int) -> str:
    fields = line.split()
    if not fields:
        return "a blank line; a document without words is a line 0"
    if not fields[0].isdigit() or len(fields[0]) > 18:
        return f"the number of pairs is {quoted(fields[0])}; a line of LDA-C is: N id:count ..."
    for pair in fields[1:]:
        word, colon, count = pair.partition(b":")
        if not colon:
            return f"{quoted(pair)} is not a pair id:count"
        if why := wrong_id(word, first, last) or wrong_count(count, True):
            return why
    if int(fields[0]) != len(fields) - 1:
        return f"the line promises {plural(int(fields[0]), 'pair')}, but has {len(fields) - 1}"
    return f"{quoted(line)} is not a line of LDA-C: N id:count ..."
