"""Functions that build, sample and copy stored corpora, and remove texts from them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pysgrld.corpus.about.archive import write_about
from pysgrld.corpus.about.columns import DetailsCollector
from pysgrld.corpus.minibatches import choose_documents
from pysgrld.corpus.open import open_corpus
from pysgrld.corpus.reading import CorpusOptions, Listener, ReadingProgress
from pysgrld.corpus.store import Corpus
from pysgrld.corpus.stored_files import (
    ARRAYS,
    BESIDE,
    PACKED,
    TEXTS,
    WORD_COUNTS,
    read_header,
    vocabulary_of,
)
from pysgrld.corpus.vocabulary import read_vocabulary
from pysgrld.corpus.write import ABOUT, work_folder
from pysgrld.errors import Interrupted, UsageError, WriteError, no_log, plural
from pysgrld.options.paths import is_file, path_exists, resolve_path
from pysgrld.run import jsonio
from pysgrld.run.files import (
    PIECE,
    fsync_folder,
    open_regular,
    read_small,
    refuse_full_folder,
    replace_file,
    write_new,
)
from pysgrld.run.ownership import file_mark, foreign
from pysgrld.run.signals import StopFlag
from pysgrld.types import Documents, Int64s, Key

#: Advice at the end of the error message if the output path exists already.
OTHER_FOLDER = "name another folder with -o"

#: Number of documents that are copied at a time.
TOGETHER = 4096


def build(
    inputs: Sequence[str],
    options: CorpusOptions,
    place: Path,
    threads: int,
    listener: Listener,
    *,
    among: Sequence[str] | None = None,
) -> Corpus:
    """Build a stored corpus from inputs; after an interruption, the same call resumes the build.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions
    place : Path
    threads : int
    listener : Listener
    among : sequence of str, optional
        As for `open_corpus`.

    Raises
    ------
    OutputError
        If ``place`` is a file or a folder that is not empty.
    Interrupted
        After a signal.
    SgmcError
        The errors of `open_corpus`.
    """
    refuse_full_folder(place, OTHER_FOLDER)
    with StopFlag() as stop:

        def reading(progress: ReadingProgress) -> None:
            listener.reading(progress)
            if stop.should_stop(0.0):
                raise Interrupted(str(stop.reason))

        try:
            made = open_corpus(
                inputs,
                options,
                store=place,
                threads=threads,
                resumable=True,
                among=among,
                notify=reading,
                log=listener.note,
            )
        except Interrupted:
            resume_hint = "run the same command again to resume"
            if "-" in inputs:
                resume_hint = (
                    "nothing that was read from standard input is kept; run the command again"
                )
            raise Interrupted(f"{stop.reason}: stopped while reading; {resume_hint}") from None
    # If the input is a stored corpus, `open_corpus` returns this corpus, so copy it.
    if resolve_path(made.path) != resolve_path(place):
        with work_folder(place) as work:
            copy_parts(made.path, work.folder / "copy")
            work.commit(work.folder / "copy")
    return made


def sample(corpus: Corpus, size: int | float, seed: int, place: Path) -> Corpus:
    """Write a random sample of a corpus's documents as a new corpus.

    The new corpus has the same words with the same ids, and its documents stay in order.

    Parameters
    ----------
    corpus : Corpus
    size : int or float
        Number of documents, or their fraction if it is a float.
    seed : int
    place : Path

    Raises
    ------
    UsageError
        If the corpus has fewer documents.
    OutputError, WriteError
        If the folder cannot be made, or the disk is full.
    """
    target = max(1, round(size * corpus.documents)) if isinstance(size, float) else size
    if not 1 <= target <= corpus.documents:
        raise UsageError(
            f"cannot draw a sample of {size}: the corpus has "
            f"{plural(corpus.documents, 'document')}; choose a smaller sample"
        )
    refuse_full_folder(place, OTHER_FOLDER)
    ids = choose_documents(corpus.documents, target, Key(seed, 0, 0))
    return take(corpus, ids, place, {"sample_of": corpus.fingerprint, "seed": seed})


def take(corpus: Corpus, ids: Int64s, place: Path, origin: dict[str, Any]) -> Corpus:
    """Write the documents with the given ids, with their texts and columns, as a new corpus.

    Parameters
    ----------
    corpus : Corpus
    ids : (n,) int64
        Documents, ascending.
    place : Path
        Folder of the new corpus.
    origin : dict
        Plain values for the record of provenance, which also gets that of the corpus.
    """
    with work_folder(place) as work:
        writer = work.writer("sample")
        collector = DetailsCollector(work.folder / ABOUT, texts=corpus.about.has_texts, limit=None)
        for begin in range(0, len(ids), TOGETHER):
            chunk = ids[begin : begin + TOGETHER]
            writer.append(corpus.take(chunk))
            collector.add(corpus.about.details(chunk, texts=True))
        parts = write_about(collector, writer.folder, None, no_log, read=len(ids))
        writer.finish_corpus(corpus.vocabulary, origin | {"of": corpus.provenance}, parts)
        work.commit(writer.folder)
    return Corpus.open(place)


def store_documents(
    path: Path, documents: Documents, vocabulary: Sequence[str], provenance: dict[str, Any]
) -> Corpus:
    """Write documents that are in memory as a new corpus.

    In a run with the same vocabulary, the folder has only two files and uses the vocabulary of the
    run.

    Parameters
    ----------
    path : Path
        Folder of the new corpus.
    documents : Documents
        Word counts of all documents.
    vocabulary : sequence of str
        The V words, in the order of their ids.
    provenance : dict
        Record of the origin of the documents, plain values.

    Returns
    -------
    Corpus
        The stored corpus, open.

    Raises
    ------
    OutputError, WriteError
        If the folder cannot be made, or the disk is full.
    """
    with work_folder(path) as work:
        writer = work.writer("documents")
        writer.append(documents)
        above = vocabulary_of(path)
        same = is_file(above) and read_vocabulary(above, exact=True) == tuple(vocabulary)
        writer.finish_corpus(vocabulary, provenance, above=above if same else None)
        work.commit(writer.folder)
    return Corpus.open(path)


def copy_parts(source: Path, folder: Path, *, link: bool = False) -> None:
    """Copy the files of a stored corpus to a new folder, and keep their modification times.

    Parameters
    ----------
    source, folder : Path
    link : bool
        Make hard links if the file system allows them: both folders then contain the same files.

    Raises
    ------
    OSError
    """
    meta = read_header(source)
    arrays = [PACKED] if path_exists(source / PACKED) else [f"{name}.npy" for name in ARRAYS]
    counted = [WORD_COUNTS] if "totals" in meta else []
    part_names = [name for name in meta.get("parts") or {} if name in BESIDE]
    folder.mkdir()
    for name in (*arrays, "vocab.txt", "meta.json", *counted, *part_names):
        file = vocabulary_of(source) if name == "vocab.txt" else source / name
        if link:
            # A hard link fails between two file systems, and on a file system without hard links.
            # The file is then copied.
            with contextlib.suppress(OSError):
                (folder / name).hardlink_to(file)
                continue
        with open_regular(file, links=True) as (fd, _):
            write_new(folder / name, iter(partial(os.read, fd, PIECE), b""), "corpus-copy")
            status = os.fstat(fd)
        os.utime(folder / name, ns=(status.st_atime_ns, status.st_mtime_ns))
    fsync_folder(folder, "corpus-copy")


def drop_text(path: Path) -> int:
    """Remove the texts from a stored corpus; return the number of bytes by which it shrinks.

    The fingerprint of the corpus stays the same, so that runs on it can continue. The header keeps
    the record of the removed file; if the process is killed before it removes the file, a second
    call removes it by that record.

    Parameters
    ----------
    path : Path
        Folder of the corpus.

    Returns
    -------
    int
        Bytes freed.

    Raises
    ------
    CorpusError
        If the folder is not a stored corpus, or is damaged.
    OutputError
        If the file of the texts is not as sgmc wrote it.
    WriteError
        If the corpus cannot be changed.
    """
    Corpus.open(path)
    freed = 0
    try:
        meta = jsonio.parse_sealed(read_small(path / "meta.json", links=True), path / "meta.json")
        listed = (meta.get("parts") or {}).pop(TEXTS, None)
        record = listed or meta.get("dropped", {}).get(TEXTS)
        if record is not None and os.path.lexists(path / TEXTS):
            mark = file_mark(path / TEXTS)
            owned = mark is not None and mark.sha256 == record["sha256"]
            if listed is not None and not owned:
                raise foreign(path / TEXTS)
            freed = mark.size if mark is not None and owned else 0
        if listed is not None:
            meta["dropped"] = {TEXTS: listed}
            replace_file(path / "meta.json", [jsonio.format_sealed(meta)], "store")
        if freed:
            (path / TEXTS).unlink()
            fsync_folder(path, "store")
    except OSError as error:
        raise WriteError(f"{path}: cannot be changed: {error.strerror or error}") from None
    return freed
