"""Corpora made to be kept: built from any input, or cut from another one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from pysgrld.corpus.about.collector import DetailsCollector
from pysgrld.corpus.about.finish import FOLDER, write_about
from pysgrld.corpus.listener import Listener, ReadingProgress
from pysgrld.corpus.minibatches import choose_documents
from pysgrld.corpus.open import open_corpus
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.corpus.store import Corpus
from pysgrld.corpus.stored_files import parts_of
from pysgrld.corpus.write import ABOUT, WorkFolder
from pysgrld.errors import Interrupted, UsageError, plural
from pysgrld.run.files import PIECE, fsync_folder, open_regular, write_new
from pysgrld.run.signals import StopFlag
from pysgrld.run.whole import refuse_full_folder
from pysgrld.types import Key

#: What is done where something is already.
OTHER_FOLDER = "name another folder with -o"

#: Documents that are copied together.
TOGETHER = 4096


def build(
    inputs: Sequence[str],
    options: CorpusOptions,
    place: Path,
    threads: int,
    listener: Listener,
    *,
    shard: bool = False,
) -> Corpus:
    """Build a stored corpus; a signal ends it so that the same call goes on from there.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions
    place : Path
    threads : int
    listener : Listener
    shard : bool
        As for `open_corpus`.

    Raises
    ------
    OutputError
        If there is something at ``place`` already.
    Interrupted
        After a signal.
    SgmcError
        As `open_corpus` does.
    """
    refuse_full_folder(place, OTHER_FOLDER)
    with StopFlag() as stop:
        try:
            made = open_corpus(
                inputs,
                options,
                store=place,
                threads=threads,
                resumable=True,
                shard=shard,
                notify=_until(stop, listener.reading),
                log=listener.note,
            )
        except Interrupted:
            kept = "run the same command again to go on"
            if "-" in inputs:
                kept = "nothing is kept of standard input"
            raise Interrupted(f"{stop.reason}: stopped while reading; {kept}") from None
    if made.path.resolve() != place.resolve():  # a stored corpus, opened where it lies
        _copy(made.path, place)
    return made


def _until(
    stop: StopFlag, notify: Callable[[ReadingProgress], None]
) -> Callable[[ReadingProgress], None]:
    def show(progress: ReadingProgress) -> None:
        notify(progress)
        if stop.should_stop(0.0):
            raise Interrupted(str(stop.reason))

    return show


def sample(corpus: Corpus, size: int | float, seed: int, place: Path) -> Corpus:
    """Cut a random sample of the documents out of a corpus; they keep their order and word ids.

    Parameters
    ----------
    corpus : Corpus
    size : int or float
        Documents, or (a float) their share.
    seed : int
    place : Path

    Raises
    ------
    UsageError
        If the corpus has fewer documents.
    OutputError, WriteError
        If the folder cannot be made, or the disk is full.
    """
    wanted = max(1, round(size * corpus.documents)) if isinstance(size, float) else size
    if not 1 <= wanted <= corpus.documents:
        raise UsageError(
            f"a sample of {size}: the corpus has {plural(corpus.documents, 'document')}"
        )
    refuse_full_folder(place, OTHER_FOLDER)
    ids = choose_documents(corpus.documents, wanted, Key(seed, 0, 0))
    with WorkFolder(place) as work:
        writer = work.writer("sample")
        collector = DetailsCollector(work.folder / ABOUT, texts=corpus.about.has_texts, limit=None)
        for begin in range(0, wanted, TOGETHER):
            some = ids[begin : begin + TOGETHER]
            writer.append(corpus.take(some))
            collector.add(corpus.about.details(some, texts=True))
        origin = {"sample_of": corpus.fingerprint, "seed": seed, "of": corpus.provenance}
        parts = write_about(collector, writer.folder, None, lambda _: None, read=wanted)
        writer.finish_corpus(corpus.vocabulary, origin, parts)
        work.commit(writer.folder)
    return Corpus.open(place)


def _copy(source: Path, place: Path) -> None:
    with WorkFolder(place) as work:
        folder = work.folder / "copy"
        copy_parts(source, folder)
        work.commit(folder)


def copy_parts(source: Path, folder: Path, *, link: bool = False) -> None:
    """Copy the files of a stored corpus into a new folder, durably, and with their times.

    Parameters
    ----------
    source, folder : Path
    link : bool
        Make hard links where the file system lets us: both folders then hold the same files.

    Raises
    ------
    OSError
    """
    folder.mkdir()
    names = parts_of(source)
    nested = any("/" in name for name in names)
    if nested:
        (folder / FOLDER).mkdir()
    for name in names:
        if link:
            with contextlib.suppress(OSError):  # another file system, or one without links
                (folder / name).hardlink_to(source / name)
                continue
        with open_regular(source / name, links=True) as (fd, _):
            write_new(folder / name, iter(partial(os.read, fd, PIECE), b""), "corpus-copy")
            status = os.fstat(fd)
        os.utime(folder / name, ns=(status.st_atime_ns, status.st_mtime_ns))
    if nested:
        fsync_folder(folder / FOLDER, "corpus-copy")
    fsync_folder(folder, "corpus-copy")
