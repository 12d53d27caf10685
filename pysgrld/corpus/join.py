"""Functions that join stored corpora into one, or add new documents to a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus.about.archive import write_about
from pysgrld.corpus.about.columns import DetailsCollector
from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.about.stored import About
from pysgrld.corpus.build import TOGETHER
from pysgrld.corpus.inputs import input_names
from pysgrld.corpus.minibatches import choose_documents
from pysgrld.corpus.open import asked_fields, open_corpus
from pysgrld.corpus.reading import CorpusOptions, Listener, ReadingProgress
from pysgrld.corpus.store import Corpus
from pysgrld.corpus.write import ABOUT, work_folder
from pysgrld.errors import CorpusError, plural
from pysgrld.types import Int64s, Key

#: Entries of ``meta.json`` that are added up over the joined corpora.
_SUMS = ("documents_read", "empty", "unknown_tokens")
#: Seed for the random choice of old documents. A fixed seed gives the same corpus every time.
_FORGOTTEN = 1987


def join(
    parts: Sequence[Corpus],
    place: Path,
    options: CorpusOptions,
    provenance: Mapping[str, Any],
    listener: Listener,
    *,
    empty: bool = True,
    of_first: Int64s | None = None,
    renamed: Mapping[str, str] | None = None,
) -> Corpus:
    """Join corpora in the given order into one corpus, with the vocabulary of the last corpus.

    If the texts exceed the limit of ``--keep-text``, a uniform sample of all texts is kept.

    Parameters
    ----------
    parts : sequence of Corpus
        Corpora to join. The vocabulary of each is the beginning of the vocabulary of the last.
    place : Path
        Path of the corpus.
    options : CorpusOptions
        Options with which the documents were read.
    provenance : mapping
        Record of the joined corpus, to which the numbers of documents read and skipped, of empty
        documents and of unknown tokens are added.
    listener : Listener
    empty : bool
        Whether documents without words are kept.
    of_first : (n,) int64, optional
        Ascending indices of the documents of the first part that are kept; None for all.
    renamed : mapping of str to str, optional
        New names for files of later parts that have the same name as a file of the first part.
        Given if the parts have different inputs; ids of documents then include the file names.

    Raises
    ------
    CorpusError
        If no document has a word.
    OutputError, WriteError
        If it cannot be written.
    """
    with work_folder(place) as work:
        writer = work.writer("merged")
        collector = DetailsCollector(
            work.folder / ABOUT,
            texts=any(part.about.has_texts for part in parts),
            limit=options.text_limit,
            wanted=WantedFields.of(options, metadata=options.metadata is not None),
        )
        rows = [np.arange(part.documents) for part in parts]
        if of_first is not None:
            rows[0] = of_first
        total, done, read, placed = sum(map(len, rows)), 0, 0, True
        for number, part in enumerate(parts):
            # If all documents of a corpus are kept, its texts are copied without decompressing
            # them.
            texts = part.about.stored_texts() if empty and (number or of_first is None) else None
            before = collector.documents
            for begin in range(0, len(rows[number]), TOGETHER):
                chunk = rows[number][begin : begin + TOGETHER]
                documents = part.take(chunk)
                done += len(chunk)
                if not empty and (short := documents.lengths == 0).any():
                    chunk = chunk[~short]
                    documents = part.take(chunk)
                writer.append(documents)
                details = part.about.details(chunk, number, texts=texts is None)
                # Detect the kind of a column again from all values, because each corpus may record
                # another kind.
                details.kinds = {}
                if renamed is not None:
                    details.several_inputs = True
                    if number:
                        details.names = [renamed.get(name, name) for name in details.names]
                collector.add(details, read)
                placed = placed and bool((details.places >= 0).all())
                listener.reading(ReadingProgress(done, total, done))
            if texts is not None and collector.texts is not None:
                collector.texts.add_stored(texts, before)
            read += part.about.read
        about = write_about(
            collector,
            writer.folder,
            None,
            listener.note,
            None,
            asked_fields(options),
            read=read if placed else None,
        )
        records = [part.provenance for part in parts]
        skipped: Counter[str] = sum((Counter(r["skipped"]) for r in records), Counter())
        whole = {**provenance, "skipped": dict(sorted(skipped.items()))}
        whole |= {name: sum(r[name] for r in records) for name in _SUMS}
        writer.finish_corpus(parts[-1].vocabulary, whole, about)
        work.commit(writer.folder)
    return Corpus.open(place)


def grown(
    words: Sequence[str],
    old: Corpus | None,
    inputs: Sequence[str],
    options: CorpusOptions,
    place: Path,
    threads: int,
    listener: Listener,
    forget: int | None = None,
) -> Corpus:
    """Write a corpus of old and new documents, with new words added to the vocabulary.

    Old words keep their ids; new words follow. The rules of ``options`` choose the new words from
    the new documents, which are read twice, because the new words are known only after the first
    reading.

    Parameters
    ----------
    words : sequence of str
        Words of the old documents.
    old : Corpus or None
        Corpus of the old documents; None if they are left out.
    inputs : sequence of str
        Files or folders with the new documents.
    options : CorpusOptions
        Options for reading the new documents.
    place : Path
        Path of the corpus, in a folder for unfinished work.
    threads : int
    listener : Listener
    forget : int, optional
        Number of new documents after which half of the old documents are left out: after n new
        documents each old document stays with probability 2^(-n / forget).

    Raises
    ------
    SgmcError
        The errors of `open_corpus` and `join`.
    """
    how: dict[str, Any] = {"threads": threads, "notify": listener.reading}
    first = open_corpus(
        inputs, options, store=place.with_name("new-words"), log=listener.note, **how
    )
    known_words = set(words)
    new = [word for word in first.vocabulary if word not in known_words]
    if not first.tokens:
        raise CorpusError("no document has a word; check that this is the right file", inputs[0])
    matched = open_corpus(
        inputs,
        replace(options, vocab=None, min_df=None, max_df=None, max_vocab=None),
        store=place.with_name("new-documents"),
        match=(*words, *new),
        **how,
    )
    before, stays, renamed, many = "no earlier document", None, None, 0
    if old is not None:
        many = old.documents
        renamed = _renamed(list(input_names(inputs).values()), old.about)
        before = f"with {plural(old.documents, 'earlier document')}"
        if forget is not None:
            many = round(old.documents * 0.5 ** (matched.documents / forget))
            stays = choose_documents(old.documents, many, Key(_FORGOTTEN, matched.documents, 0))
            before = f"with {many:,} of {plural(old.documents, 'earlier document')}"
    listener.note(
        f"{plural(first.documents, 'new document')}, {plural(len(new), 'new word')}; {before}"
    )
    provenance = first.provenance | {"grown": None if old is None else old.fingerprint}
    provenance |= {"earlier": many}
    provenance |= {"forget": forget} if forget is not None else {}
    parts = [matched] if old is None else [old, matched]
    return join(
        parts, place, options, provenance, listener, empty=False, of_first=stays, renamed=renamed
    )


def _renamed(names: Sequence[str], about: About) -> dict[str, str]:
    """Map each new file's name to a unique name; add a number if an old file has the name."""
    renamed, number = {name: name for name in names}, 1
    while taken := about.files_named(renamed.values()):
        number += 1
        renamed |= {name: f"{name} ({number})" for name in names if renamed[name] in taken}
    return renamed
