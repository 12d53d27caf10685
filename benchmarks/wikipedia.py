"""Reading of a Wikipedia dump by sgmc and by other tools, on one machine in one run.

    python benchmarks/wikipedia.py DUMP.xml.bz2 [--megabytes 20]

First from the file to a stored corpus, by as many threads as this process may use: sgmc, and gensim's
WikiCorpus with as many processes (its dictionary pass alone, which is what it does before it can count
words). Then the markup alone,
of the same articles in memory on one core: sgmc, gensim's filter_wiki and mwparserfromhell's
strip_code, with what markup each of them leaves, and how far their words agree. Libraries that this
Python cannot import are named and left out. ``--megabytes`` bounds the wikitext of the second part.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.formats import Context, Texts, mediawiki
from pysgrld.corpus.formats.protocol import BadDocuments
from pysgrld.corpus.lines import Lines
from pysgrld.run.machine import threads as count_threads

MB = 1e6
#: What is no longer there when markup is gone; articles on style and HTTP have a few of their own.
LEFT = {mark: re.escape(mark) for mark in ("{{", "}}", "[[", "]]", "|", "''", "==")}
LEFT |= {word: rf"\b{word}\b" for word in ("ref", "http", "style", "thumb", "nbsp")}


def batches(dump: Path) -> Iterator[Texts]:
    with Lines(dump, CorpusOptions().max_line) as source:
        yield from mediawiki.read(
            source,
            Context(CorpusOptions(), BadDocuments(False), False, lambda _: None, lambda _: None),
        )


def xml_bytes(dump: Path) -> int:
    with Lines(dump, CorpusOptions().max_line) as source:
        return sum(map(len, source.blocks()))


def row(name: str, seconds: float, size: int, documents: int, more: str) -> None:
    print(
        f"{name:24} {seconds:8.2f} s {size / MB / seconds:8.1f} MB/s "
        f"{documents / seconds:9.0f} articles/s   {more}"
    )


def read_by_sgmc(dump: Path, size: int, threads: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        begin = time.perf_counter()
        corpus = open_corpus(
            [str(dump)], CorpusOptions(), store=Path(scratch) / "corpus", threads=threads
        )
        seconds = time.perf_counter() - begin
        more = f"{corpus.documents} documents, {corpus.tokens} tokens stored, {threads} threads"
        row("sgmc corpus build", seconds, size, corpus.documents, more)


def read_by_gensim(dump: Path, size: int, processes: int) -> None:
    from gensim.corpora import WikiCorpus

    with Lines(dump, CorpusOptions().max_line) as source:
        marked = b"<ns>" in next(source.blocks()).replace(b"\0", b"")
    begin = time.perf_counter()
    # it cannot read dumps without <ns> unless it does not look at namespaces
    corpus = WikiCorpus(
        str(dump), processes=processes, filter_namespaces=("0",) if marked else False
    )
    seconds = time.perf_counter() - begin
    found = corpus.dictionary
    more = f"{found.num_docs} articles (of 50 words or more), {found.num_pos} tokens counted"
    row("gensim WikiCorpus", seconds, size, found.num_docs, f"{more}, {processes} processes")


def strippers() -> Iterator[tuple[str, Callable[[str], str]]]:
    if importlib.util.find_spec("gensim"):
        from gensim.corpora.wikicorpus import filter_wiki

        yield "gensim filter_wiki", filter_wiki
    if importlib.util.find_spec("mwparserfromhell"):
        import mwparserfromhell

        yield "mwparserfromhell", lambda text: mwparserfromhell.parse(text).strip_code()


def report(name: str, seconds: float, source: int, texts: list[str], ours: set[str]) -> None:
    whole = "\n".join(texts)
    marks = {mark: len(re.findall(pattern, whole)) for mark, pattern in LEFT.items()}
    words = vocabulary(whole)
    both = len(words & ours) / len(words | ours)
    row(
        name,
        seconds,
        source,
        len(texts),
        f"{len(whole.encode()) / source:.2f} kept, words shared {both:.2f}",
    )
    print(" " * 24, "left:", "  ".join(f"{mark} {n}" for mark, n in marks.items()))


def vocabulary(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{3,}", text.casefold()))


def markup_alone(dump: Path, most: float) -> None:
    documents: list[bytes] = []
    size = 0
    for texts in batches(dump):
        clean = texts.clean
        for document in texts.documents:
            if size < most:
                documents.append(document)
                size += len(document)
        if size >= most:
            break
    if not documents:
        return
    assert clean is not None
    begin = time.perf_counter()
    stripped = clean(documents)
    seconds = time.perf_counter() - begin
    ours = [text.decode() for text in stripped]
    words = vocabulary("\n".join(ours))
    print(f"\nmarkup of {len(documents)} articles, {size / MB:.1f} MB of wikitext, one core")
    report("sgmc", seconds, size, ours, words)
    for name, strip in strippers():
        sources = [document.decode() for document in documents]
        begin = time.perf_counter()
        theirs = [strip(source) for source in sources]
        report(name, time.perf_counter() - begin, size, theirs, words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("dump", type=Path)
    parser.add_argument("--megabytes", type=float, default=20.0)
    arguments = parser.parse_args()
    size = xml_bytes(arguments.dump)
    print(f"{arguments.dump.name}: {size / MB:.1f} MB of XML")
    number = count_threads(None).number
    read_by_sgmc(arguments.dump, size, number)
    if importlib.util.find_spec("gensim"):
        read_by_gensim(arguments.dump, size, number)
    for library in ("gensim", "mwparserfromhell"):
        if not importlib.util.find_spec(library):
            print(f"{library}: not installed here, left out")
    markup_alone(arguments.dump, arguments.megabytes * MB)


if __name__ == "__main__":
    main()
