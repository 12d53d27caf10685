"""SVMlight, also libsvm: a document a line, "label id:count ...", with comments and ``qid:``.

Ids begin at 1 by convention, yet some write them from 0 (scikit-learn does). The first that holds
decides: the comment ``# Column indices are zero-based`` (``one-based``), which scikit-learn can
write, before the first document; an id 0 anywhere in the file; else the convention.
"""

from __future__ import annotations

import re

from pysgrld.corpus.formats.entries import wrong_count
from pysgrld.corpus.formats.pairs import documents, looks_like_pairs, wrong_id
from pysgrld.corpus.formats.protocol import Context, CountedDocuments
from pysgrld.corpus.formats.vocabulary_files import find_words, quoted, refuse_line
from pysgrld.corpus.lines import Lines

SUFFIXES = (".svmlight", ".libsvm", ".svm")

_SAID = re.compile(
    rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*?[ \t]*#[ \t]*column indices are (zero|one)-based", re.I
)
_ZEROS = (b" 0:", b"\t0:", b"\n0:")
_COMMENT = "# Column indices are zero-based"


def sniff(head: bytes, name: str) -> bool:
    """Whether the file is named so, or has lines of pairs; LDA-C is asked first."""
    return name.lower().endswith(SUFFIXES) or looks_like_pairs(head)


def read(source: Lines, context: Context) -> CountedDocuments:
    """Find the words and the id of the first, and leave the documents to be iterated."""
    vocabulary, origin = find_words(source, context)
    first = _first(source, context.options.max_input)
    context.log(f"{source.label}: word ids are read as counted from {first}")
    words = None if vocabulary is None else len(vocabulary)
    return CountedDocuments(
        vocabulary, origin, documents(source, first, words, True, _explain), numbered=False
    )


def _first(source: Lines, max_input: int | None) -> int:
    said = _SAID.match(source.head)
    if said:
        return int(said[1].lower() == b"one")
    if _has_zero(source.head):
        return 0
    if source.path is None or not source.path.is_file():
        return 1  # it cannot be read twice; an id 0 further down ends it with what to do
    with Lines(source.path, source.max_line, max_input=max_input) as ahead:
        return int(not any(map(_has_zero, ahead.lines(refuse_line))))


def _has_zero(block: bytes) -> bool:
    if b"#" in block:
        block = re.sub(rb"#[^\n]*", b"", block)
    return block.startswith(b"0:") or any(zero in block for zero in _ZEROS)


def _explain(line: bytes, first: int, last: int) -> str:
    fields = line.partition(b"#")[0].split()
    if fields and b":" not in fields[0]:
        if not re.fullmatch(rb"[-+0-9.,eE]+", fields[0]):
            return f"{quoted(fields[0])} is no label; a line of SVMlight is: label id:count ..."
        fields = fields[1:]
    for pair in fields:
        word, colon, count = pair.partition(b":")
        if not colon:
            return f"{quoted(pair)} is not a pair id:count"
        if word == b"qid":
            if not count.isdigit():
                return f"{quoted(pair)}: a query is a whole number"
            continue
        if first and word.isdigit() and not word.strip(b"0"):
            return f"word 0, but words were counted from 1; begin the file with a line {_COMMENT!r}"
        if why := wrong_id(word, first, last) or wrong_count(count, False):
            return why
    return f"{quoted(line)} is not a line of SVMlight: label id:count ..."
