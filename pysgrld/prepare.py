"""From what a person typed to a run that can go: corpus, held-out documents, settings, directory."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.corpus.documents import store_documents
from pysgrld.corpus.once import Once
from pysgrld.errors import OutputError
from pysgrld.evaluate import HeldOut
from pysgrld.options import FREE
from pysgrld.plan import name_of, plan
from pysgrld.reporter import Listener
from pysgrld.resources import threads
from pysgrld.run import RunDirectory, claim, find_run
from pysgrld.run.files import make_folder, rename, replace_file, writing
from pysgrld.run.scratch import scratch_folder
from pysgrld.stream import Online, Stream, chain_of
from pysgrld.types import Int64s

#: Occurrences of each word in training: what the unigram's perplexity is made of, for readers.
WORD_COUNTS = "word-counts.npy"


class Prepared(NamedTuple):
    """All that the loop needs.

    Attributes
    ----------
    run : RunDirectory
    options : dict
        Resolved.
    corpus : Corpus
        The first documents of it, where it is read once.
    stream : Stream or Online
        Of the training documents.
    tokens : int
        Their tokens, as far as is known.
    once : Once or None
        The rest of a corpus that is read once; to be closed.
    held_out : HeldOut or None
    word_counts : (V,) int64
        Of the training documents.
    action : str
        "new", "continue" or "finished".
    checkpoint_required : bool
        Whether it may not begin from the beginning.
    """

    run: RunDirectory
    options: dict[str, Any]
    corpus: Corpus
    stream: Stream | Online
    tokens: int
    once: Once | None
    held_out: HeldOut | None
    word_counts: Int64s
    action: str
    checkpoint_required: bool


def prepare(
    inputs: Sequence[str], given: Mapping[str, Any], root: Path, listener: Listener,
    locks: contextlib.ExitStack, *, break_lock: bool = False, corpus: Path | None = None,
) -> Prepared:  # fmt: skip
    """Find or make the run that this command line means.

    Parameters
    ----------
    inputs : sequence of str
        The corpus.
    given : mapping
        Options that were given, parsed and checked (`pysgrld.options`).
    root : Path
        Where runs without a name of their own lie.
    listener : Listener
    locks : ExitStack
        Keeps the lock of the run, which is taken before anything is written to it.
    break_lock : bool
        Take over a run that a process of another host has left locked.
    corpus : Path, optional
        Where somebody has stored the inputs already.

    Raises
    ------
    SgmcError
        With the exit code of what is wrong; nothing half-made is left behind.
    """
    out = given.get("out")
    resume = given.get("resume", "auto")
    find = partial(
        find_run, out=Path(out) if out else None, root=root, name=name_of(inputs, given),
        resume=resume,
    )  # fmt: skip
    candidate = find()
    with beside(candidate.path, locks) as scratch:
        places = [run / "corpus" for run in candidate.runs] + ([corpus] if corpus else [])
        p = plan(inputs, given, places, scratch, threads(given.get("threads")).number, listener)
        decision, run = claim(
            find, p.config, p.corpus.vocabulary, locks, free=FREE, resume=resume,
            break_lock=break_lock,
        )  # fmt: skip
        for note in decision.notes:
            listener.note(note)
        stored = settle_corpus(p.corpus, run.path, scratch)
        if p.held_out:
            parts = ("observed", p.held_out.observed), ("held-out", p.held_out.held_out)
            for name, part in parts:
                place = run.path / "holdout" / name
                if part.tokens and not place.exists():  # whole documents have nothing observed
                    store_documents(place, part, stored.vocabulary, {"part": name})
        counts = stored.word_counts()
        if len(p.train) < stored.documents:
            others = np.setdiff1d(np.arange(stored.documents), p.train, assume_unique=True)
            held = stored.take(others)
            counts = counts - np.bincount(
                held.indices, weights=held.counts, minlength=stored.words
            ).astype(np.int64)
        _store_counts(run, counts)
        stream: Stream | Online = Stream.of(p.options, stored, p.train)
        if p.once:
            stream = Online(
                stored, p.train, stored.documents, p.once,
                p.config["corpus"]["training_documents"], p.options["minibatch"],
                p.options["seed"], chain_of(p.options),
            )  # fmt: skip
        return Prepared(
            run, p.options, stored, stream, p.config["corpus"]["training_tokens"], p.once,
            p.held_out, counts, decision.action, decision.required,
        )  # fmt: skip


@contextlib.contextmanager
def beside(path: Path, held: contextlib.ExitStack) -> Iterator[Path]:
    """A folder for work in hand beside what is to come of it, held until the end of ``held``.

    Raises
    ------
    OutputError
        If nothing can be written there.
    """
    parent = path.parent
    made = not parent.exists()
    try:
        make_folder(parent, "parent")
        scratch = held.enter_context(scratch_folder(parent))
    except OSError as error:
        raise OutputError(f"{parent}: cannot be written: {error.strerror}") from None
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if made:
            with contextlib.suppress(OSError):  # a folder that holds a run stays
                parent.rmdir()


def settle_corpus(corpus: Corpus, folder: Path, scratch: Path) -> Corpus:
    """Move a corpus that was read just now into a run, where every later start finds it."""
    if not corpus.path.is_relative_to(scratch):
        return corpus
    place = folder / "corpus"
    if not place.exists():
        with writing(place):
            rename(corpus.path, place, "corpus")
    return Corpus.open(place)


def _store_counts(run: RunDirectory, counts: Int64s) -> None:
    place = run.path / WORD_COUNTS
    if place.exists():
        return
    data = io.BytesIO()
    np.save(data, counts, allow_pickle=False)
    with writing(place):
        replace_file(place, data.getvalue(), "word-counts")
