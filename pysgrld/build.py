"""Corpora made to be kept: built from any input, or cut from another one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from pysgrld.corpus import Corpus, CorpusOptions, Progress, open_corpus
from pysgrld.corpus.write import Workshop
from pysgrld.errors import Interrupted, OutputError, UsageError
from pysgrld.reporter import Listener
from pysgrld.run import StopFlag
from pysgrld.stream import choose_holdout
from pysgrld.types import Key

#: Documents that are copied together.
TOGETHER = 4096


def build(
    inputs: Sequence[str], options: CorpusOptions, place: Path, threads: int, listener: Listener
) -> Corpus:
    """Build a stored corpus; a signal ends it so that the same call goes on from there.

    Raises
    ------
    OutputError
        If there is something at ``place`` already.
    Interrupted
        After a signal.
    SgmcError
        As `open_corpus` does.
    """
    refuse_existing(place)
    with StopFlag() as stop:
        try:
            made = open_corpus(
                inputs, options, store=place, threads=threads, resumable=True,
                notify=_until(stop, listener.reading), log=listener.note,
            )  # fmt: skip
        except Interrupted:
            kept = "run the same command again to go on"
            if "-" in inputs:
                kept = "nothing is kept of standard input"
            raise Interrupted(f"{stop.reason}: stopped while reading; {kept}") from None
    if made.path.resolve() != place.resolve():  # a stored corpus, opened where it lies
        _copy(made.path, place)
    return made


def _until(stop: StopFlag, notify: Callable[[Progress], None]) -> Callable[[Progress], None]:
    def told(progress: Progress) -> None:
        notify(progress)
        if stop.should_stop(0.0):
            raise Interrupted(str(stop.reason))

    return told


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
        raise UsageError(f"a sample of {size}: the corpus has {corpus.documents} documents")
    refuse_existing(place)
    ids = choose_holdout(corpus.documents, wanted, Key(seed, 0, 0))
    with Workshop(place) as workshop:
        writer = workshop.writer("sample")
        for begin in range(0, wanted, TOGETHER):
            writer.append(corpus.take(ids[begin : begin + TOGETHER]))
        origin = {"sample_of": corpus.fingerprint, "seed": seed, "of": corpus.provenance}
        writer.finish_corpus(corpus.vocabulary, origin)
        workshop.commit(writer)
    return Corpus.open(place)


def refuse_existing(place: Path) -> None:
    """Refuse to write where something is.

    Raises
    ------
    OutputError
    """
    if place.exists() and not (place.is_dir() and next(place.iterdir(), None) is None):
        raise OutputError(f"{place}: is there already; name another folder with -o")


def _copy(source: Path, place: Path) -> None:
    temporary = place.with_name(f".{place.name}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, temporary)
        temporary.replace(place)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise OutputError(f"{place}: cannot be written: {error.strerror or error}") from error
