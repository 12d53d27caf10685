"""Preparation of a run from its plan: lock the folder, store corpus and held-out documents."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.corpus import Corpus
from pysgrld.corpus.build import copy_parts, store_documents
from pysgrld.corpus.minibatches import Epochs, OnePass
from pysgrld.corpus.reading import Listener
from pysgrld.corpus.stored_files import FILES
from pysgrld.corpus.streams import SinglePassCorpus
from pysgrld.evaluate import HeldOut
from pysgrld.options.option import Resolved
from pysgrld.options.paths import is_file, path_exists
from pysgrld.reading.former_topics import FORMER, write_former_topics
from pysgrld.reading.labels import LABELS, write_labels
from pysgrld.run import RunDirectory, claim, find_chains
from pysgrld.run.files import convert_write_errors, rename
from pysgrld.run.layout import is_run, store_word_counts
from pysgrld.run.ownership import foreign
from pysgrld.train.plan import ALL_ALONE, Plan, ProcessCounts, plan_training
from pysgrld.train.request import Parent, Request
from pysgrld.types import WordTotals


class Prepared(NamedTuple):
    """Run that is ready to train, with all data that the training loop needs.

    Attributes
    ----------
    run : RunDirectory
    options : Resolved
    words, tokens : int
        Size V of the vocabulary, and number of training tokens, if known.
    stream : Epochs or OnePass
        Minibatches of the training documents.
    once : SinglePassCorpus or None
        The unread rest of a corpus that is read only once; the caller must close it.
    held_out : HeldOut or None
    word_counts : WordTotals
        Number of occurrences of each word in the training documents.
    typed : frozenset of str
        Names of the options that the user typed for this start.
    free : dict of str to object
        Values, in their JSON form, of the options that may change at every start.
    action : str
        "new", "continue" or "finished".
    checkpoint_required : bool
        True if the run must resume from a checkpoint.
    parent : Parent or None
        The run that provides the initial topics.
    watched : HeldOut or None
        Training documents used to detect convergence.
    """

    run: RunDirectory
    options: Resolved
    words: int
    tokens: int
    stream: Epochs | OnePass
    once: SinglePassCorpus | None
    held_out: HeldOut | None
    word_counts: WordTotals
    typed: frozenset[str]
    free: dict[str, Any]
    action: str
    checkpoint_required: bool
    parent: Parent | None = None
    watched: HeldOut | None = None


def prepare(
    request: Request,
    listener: Listener,
    locks: contextlib.ExitStack,
    ranks: ProcessCounts = ALL_ALONE,
) -> Prepared:
    """Find or create the run that a request describes, and store the run's training corpus.

    Parameters
    ----------
    request : Request
        A valid request.
    listener : Listener
    locks : ExitStack
        Holds the lock of the run, which is acquired before anything is written to the run.
    ranks : Sharing
        Number of processes that share each minibatch; this process is the first.

    Raises
    ------
    SgmcError
        For any error, with its exit code; no incomplete files remain.
    """
    with plan_training(request, listener, ranks=ranks) as plan:
        decision, run = claim(
            request.find,
            plan.config,
            plan.corpus.vocabulary,
            locks,
            resume=request.choices.start.resume,
            break_lock=request.break_lock,
        )
        for note in decision.notes:
            listener.note(note)
        stored = move_corpus(plan, run.path)
        if request.parent and decision.action == "new":
            _take_former_topics(request.parent, run.path)
        if plan.held_out is not None:
            parts = {"observed": plan.held_out.observed, "held-out": plan.held_out.held_out}
            for name, part in parts.items():
                place = run.path / "holdout" / name
                # The observed part is empty if documents are scored whole.
                if part.tokens and not path_exists(place):
                    about: dict[str, Any] = {"part": name}
                    if part.slices is not None:
                        about["slices"] = part.slices.tolist()
                    store_documents(place, part, plan.corpus.vocabulary, about)
        store_word_counts(run.path, plan.word_counts)
        return Prepared(
            run,
            plan.options,
            stored.words,
            plan.config["corpus"]["training_tokens"],
            _stream(plan, stored, ranks.all),
            plan.once,
            plan.held_out,
            plan.word_counts,
            request.choices.names,
            {name: plan.config["options"][name] for name in plan.config["free"]},
            decision.action,
            decision.required,
            request.parent,
            plan.watched,
        )


def move_corpus(plan: Plan, folder: Path) -> Corpus:
    """Store the corpus of a plan in a folder, in which later starts of the run find the corpus.

    A corpus that was just read is moved into the folder. A corpus in another run is linked or
    copied. A corpus that the user stored elsewhere is not moved. If the same documents were read
    again with other options, for example with other names or texts, they replace the stored ones.

    Parameters
    ----------
    plan : Plan
    folder : Path
        Folder of a run, or of chains.

    Returns
    -------
    Corpus
        The corpus in its new place.
    """
    place, source = folder / "corpus", plan.corpus.path
    if plan.elsewhere or source == place:
        return plan.corpus
    just_read = source.is_relative_to(plan.scratch)
    if just_read and path_exists(place):
        stored = Corpus.open(place)
        read_alike = plan.corpus.provenance.get("options") == stored.provenance.get("options")
        if plan.corpus.fingerprint == stored.fingerprint and not read_alike:
            _check_replaceable(folder, place)
            with convert_write_errors(place):
                rename(place, plan.scratch / "replaced", "corpus")
    if not path_exists(place):
        with convert_write_errors(place):
            if not just_read:
                source = plan.scratch / "linked"
                copy_parts(plan.corpus.path, source, link=True)
            rename(source, place, "corpus")
    return Corpus.open(place)


def _check_replaceable(folder: Path, place: Path) -> None:
    """Raise an error if a stored corpus belongs to no run, or if its folder has files of the user.

    Raises
    ------
    OutputError
    """
    owned = is_run(folder) or find_chains(folder) or is_file(folder / "search.json")
    foreign_names = sorted({path.name for path in place.iterdir()} - FILES)
    if foreign_names or not owned:
        raise foreign(place / foreign_names[0] if foreign_names else place)


def _stream(plan: Plan, stored: Corpus, ranks: int) -> Epochs | OnePass:
    """Return minibatches of the stored corpus, or of a corpus that can be read only once."""
    options = plan.options
    if plan.once is None:
        return Epochs.of(options, stored.slice_by(options.slicing), plan.train, 0, ranks)
    return OnePass(
        stored,
        plan.train,
        stored.documents,
        plan.once,
        plan.config["corpus"]["training_documents"],
        options.minibatch,
        options.seed,
        options.chain,
    )


def _take_former_topics(parent: Parent, folder: Path) -> None:
    """Store the topics of the earlier run, and their names, in the folder of the new run."""
    results = parent.results()
    with convert_write_errors(folder / FORMER):
        write_former_topics(folder, results.phi())
    if results.named:
        carried = {k: label._replace(carried=True) for k, label in results.named.items()}
        write_labels(folder / LABELS, carried)
