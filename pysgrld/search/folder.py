"""Folder of a search: find or create it, lock it, and store the corpus and the plan in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pysgrld.corpus import Corpus
from pysgrld.corpus.inputs import check_inputs, corpus_name
from pysgrld.corpus.reading import Listener
from pysgrld.errors import (
    MismatchError,
    MissingInputError,
    OutputError,
    SgmcError,
    UsageError,
    plural,
)
from pysgrld.models.choices import Choices
from pysgrld.models.options import FREE, option_text
from pysgrld.options.option import Resolved
from pysgrld.options.paths import is_folder, list_folder, path_exists
from pysgrld.run import StopFlag
from pysgrld.run.choose import check_writable, free_path
from pysgrld.run.files import TEMPORARY, make_folder, open_regular
from pysgrld.run.identity import mismatch
from pysgrld.run.lock import PREFIX, hold, refuse_foreign_lock
from pysgrld.run.machine import allowed_memory
from pysgrld.run.ownership import LIST, is_marked
from pysgrld.search.plan import (
    Axis,
    Contender,
    SearchPlan,
    first_epochs,
    is_search,
    list_settings,
    read_plan,
    varied_options,
)
from pysgrld.search.result_files import claim_results
from pysgrld.search.rounds import Cell, Round
from pysgrld.train.plan import plan_training
from pysgrld.train.prepare import move_corpus
from pysgrld.train.request import Request, refuse_streams
from pysgrld.train.start import Stoppable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pysgrld.train.plan import Plan

#: Default number of chains in which each remaining setting is trained in the last round.
CHAINS = 2
#: Names of the files in the folder of a search that has no plan yet.
_BEGUN = frozenset({"lock", "lock.held", "corpus", LIST})
#: Names of the facts about the corpus that the plan stores.
_FACTS = ("name", "fingerprint", "training_documents", "held_out", "words", "training_tokens")
#: Training options that apply to the search as a whole, not to each of its runs.
_OF_SEARCH = frozenset({"out", "resume", "time-limit", "epochs", "max-memory"})


class SearchRequest(NamedTuple):
    """Arguments of a search, as a command passes them.

    Attributes
    ----------
    inputs : sequence of str
        Files or folders that make up the corpus; or one folder of a search, to continue it.
    choices : Choices
        Options of training that the user chose; ``out`` is the folder of the search.
    topics : tuple of int or None
        Numbers of topics to try.
    grid : sequence of Axis
        Further options to try.
    chains : int or None
    jobs : int
        Number of runs that train at the same time.
    root : Path
        Folder for searches without ``out``.
    break_lock : bool
        Whether to take over a lock that a process of another host has left.
    """

    inputs: Sequence[str]
    choices: Choices
    topics: tuple[int, ...] | None = None
    grid: Sequence[Axis] = ()
    chains: int | None = None
    jobs: int = 1
    root: Path = Path("sgmc-runs")
    break_lock: bool = False

    def resumed(self) -> Path | None:
        """Return the search folder that the user gave instead of a corpus, or None."""
        folders = [Path(name) for name in self.inputs]
        places = [p for f in folders for p in (f, self.root / f)]
        match = next((p for p in places if is_search(p)), None)
        return match if len(folders) == 1 else None


class ReadySearch(NamedTuple):
    """Search with its folder, plan and request, ready to train its next runs.

    Attributes
    ----------
    folder : Path
    plan : SearchPlan
    request : SearchRequest
        The request, completed with the options of the plan.
    """

    folder: Path
    plan: SearchPlan
    request: SearchRequest

    def training_request(self, contender: Contender, out: Path, **changes: Any) -> Request:
        """Return the request to train a run of a setting, with a share of the search's threads."""
        request = self.request
        threads = max(1, Request(request.inputs, request.choices).threads // request.jobs)
        choices = request.choices.without(_OF_SEARCH).updated(contender.choices)
        choices = choices.changed(**changes, out=str(out), resume="auto", threads=threads)
        if "exact-sweeps" in choices.model.options:
            # Compared runs continue in the next round, so they must not end with Gibbs refinement.
            choices = choices.changed(exact_sweeps=0)
        corpus = self.folder / "corpus"
        return Request(request.inputs, choices, request.root, request.break_lock, corpus)

    def cell_request(self, current_round: Round, cell: Cell) -> Request:
        """Return the request to train one run, which gets a part of the search's threads and memory."""
        changes: dict[str, Any] = {"chain_id": cell.chain}
        if current_round.epochs is not None:
            changes["epochs"] = float(current_round.epochs)
        memory = self.request.choices.start.max_memory or allowed_memory()
        if memory is not None:
            changes["max_memory"] = memory // self.request.jobs
        task_request = self.training_request(cell.contender, cell.path(self.folder), **changes)
        # All inputs were checked once, so each run uses the stored corpus.
        return task_request._replace(as_stored=True)


def check(request: SearchRequest) -> None:
    """Raise an error if options contradict each other, before any file is read.

    Parameters
    ----------
    request : SearchRequest

    Raises
    ------
    UsageError
    """
    choices = request.choices
    if choices.hold_out.holdout == 0:
        raise UsageError("--holdout 0 leaves no documents for comparisons; leave out --holdout")
    refuse_streams(request.inputs, choices, "a search")
    if request.resumed() is None:
        draft = _draft(request)
        for contender in draft.contenders:
            choices.updated(contender.choices).check()


def _draft(request: SearchRequest, tokens: int = 0) -> SearchPlan:
    """Return the plan of a search, with the number of tokens as the only fact about the corpus.

    Before the corpus is read, this number is 0, and numbers of topics that the user did not choose
    are provisional.
    """
    choices = request.choices
    contenders = list_settings(varied_options(request.topics, request.grid, choices, tokens))
    chains = request.chains or CHAINS
    if len(contenders) < 2 and chains < 2:
        raise UsageError(
            f"{plural(len(contenders), 'setting')} in one chain leaves nothing to compare; give "
            "several numbers with -k, or use 'sgmc train'"
        )
    lasting, epochs = choices.without(FREE), choices.source.epochs
    return SearchPlan(tuple(request.inputs), lasting, contenders, chains, 0, epochs, {})


@contextlib.contextmanager
def prepare_search(
    request: SearchRequest, listener: Listener, stop: StopFlag
) -> Iterator[ReadySearch]:
    """Find or create the folder of a search, and hold its lock during the ``with`` block.

    Raises
    ------
    LockedError
        If another process is searching in the folder.
    MismatchError
        If the folder that was named holds another search.
    SgmcError
        For everything else that is wrong before a round begins.
    """
    stoppable = Stoppable(listener, stop)
    if (folder := request.resumed()) is not None:
        _refuse_other_options(request, folder)
        _check_folder(folder)
        with hold(folder / "lock", break_lock=request.break_lock):
            yield reopen_search(request, folder)
        return
    for folder in _candidate_folders(request):
        check_writable(folder)
        _check_folder(folder)
        if not path_exists(folder, OutputError):
            check_inputs(request.inputs)  # The request is checked before any file is written.
        make_folder(folder, "search")
        with hold(folder / "lock", break_lock=request.break_lock):
            if (ready := _plan_settings(request, folder, stoppable)) is not None:
                yield ready
                return


def _check_folder(folder: Path) -> None:
    """Raise an error if files of another program have the names of a search's files.

    Raises
    ------
    CheckpointError
        If ``search.json`` was changed after it was written.
    OutputError
        If files of results exist there that sgmc did not write.
    """
    if is_search(folder):
        read_plan(folder)
    claim_results(folder)


def reopen_search(request: SearchRequest, folder: Path) -> ReadySearch:
    """Open a search that has a plan, in order to continue it on its original corpus.

    The corpus is the copy in the search's folder, or the stored corpus that was named at the start.
    """
    plan = read_plan(folder)
    places = [folder / "corpus", *(Path(name) for name in plan.inputs if len(plan.inputs) == 1)]
    for place in places:
        with contextlib.suppress(SgmcError):
            if Corpus.open(place).fingerprint == plan.corpus["fingerprint"]:
                break
    else:
        where = " or ".join(map(str, places))
        raise MissingInputError(
            f"{folder}: its corpus is no longer at {where}, or was changed; restore it, or begin "
            "a new search"
        )
    choices = plan.choices.updated(request.choices)
    if plan.epochs is not None:
        choices = choices.changed(epochs=plan.epochs)
    return ReadySearch(folder, plan, request._replace(inputs=plan.inputs, choices=choices))


def _refuse_other_options(request: SearchRequest, folder: Path) -> None:
    """Raise an error if the options of a request would change the search that it continues."""
    other = [option_text(name) for name in request.choices.values if name not in FREE]
    other += ["--epochs"] if "epochs" in request.choices.names else []
    other += ["--out"] if "out" in request.choices.names else []
    other += ["-k"] if request.topics else []
    other += ["--grid"] if request.grid else []
    other += ["--chains"] if request.chains else []
    if other:
        raise MismatchError(
            f"{folder}: a search resumes with its original options; leave out {', '.join(other)}, "
            "or begin a new search with the corpus and another --out"
        )


def find(request: SearchRequest) -> Path:
    """Return the folder of the search that a request continues; the search must have a plan.

    Raises
    ------
    MissingInputError
        If no such search exists.
    """
    if (folder := request.resumed()) is not None:
        _refuse_other_options(request, folder)
        return folder
    for folder in _candidate_folders(request):
        if is_search(folder) and _matches_plan(request, read_plan(folder)):
            return folder
    raise MissingInputError(
        "this search does not exist yet; create it with --tasks, then give --task I"
    )


def _matches_plan(request: SearchRequest, plan: SearchPlan) -> bool:
    """Return True if a request and a plan have equal settings and options; ignore the corpus."""
    return _draft(request, plan.corpus["training_tokens"]).is_like(plan)


def _candidate_folders(request: SearchRequest) -> Iterator[Path]:
    """Yield folders in which the search may be, the likeliest first, and finally a new folder."""
    if (out := request.choices.start.out) is not None:
        folder = Path(out)
        if (
            is_folder(folder, OutputError)
            and not is_search(folder)
            and not _has_only_started(folder)
        ):
            raise OutputError(
                f"{folder}: is not empty and contains no search; choose another folder with --out"
            )
        yield folder
        return
    name = f"{corpus_name(request.inputs)}-search"
    free, folders = free_path(request.root, name, lambda p: is_search(p) or _has_only_started(p))
    yield from (f for f in folders if _has_only_started(f) or _matches_plan(request, read_plan(f)))
    yield free


def _has_only_started(folder: Path) -> bool:
    """Return True if a folder only has files of a search that was killed before it had a plan."""
    if not is_folder(folder):
        return False
    inside = {
        p.name for p in list_folder(folder, OutputError) if not is_marked(p.name, PREFIX, TEMPORARY)
    }
    if not inside <= _BEGUN:
        return False
    try:
        for name in inside & {"lock", "lock.held"}:
            with open_regular(folder / name) as (lock, _):
                refuse_foreign_lock(folder / name, lock)
        if "corpus" in inside:
            Corpus.open(folder / "corpus")
    except (OSError, SgmcError):  # Files that cannot be opened may be from another program.
        return False
    return True


def _plan_settings(request: SearchRequest, folder: Path, listener: Stoppable) -> ReadySearch | None:
    """Plan all settings for the corpus; return None if the folder's search has another corpus."""
    search = ReadySearch(folder, _draft(request), request)
    # The memory limit applies to all runs together. Check only once how many runs fit into memory
    # at a time.
    memory = request.choices.start.max_memory
    shared = {} if memory is None else {"max_memory": memory}

    def plan_of(contender: Contender) -> AbstractContextManager[Plan]:
        contender_request = search.training_request(contender, folder / contender.name, **shared)
        return plan_training(contender_request, listener, request.jobs)

    with plan_of(search.plan.contenders[0]) as plan:
        corpus = plan.config["corpus"]
        facts = {name: corpus[name] for name in _FACTS}
        draft = _draft(request, facts["training_tokens"])._replace(corpus=facts)
        if is_search(folder):
            stored_plan = read_plan(folder)
            if stored_plan.identity == draft.identity:
                return ReadySearch(folder, stored_plan, request)
            if request.choices.start.out is None:
                return None
            summary = (
                f"{folder}: contains a search with other options or another corpus; "
                "give the same options, or begin a new search in another folder "
                "(--out). Different:"
            )
            raise MismatchError(mismatch(summary, stored_plan.identity, draft.identity))
        move_corpus(plan, folder)
    resolved: list[tuple[Resolved, int]] = []
    for contender in draft.contenders:
        with plan_of(contender) as plan:
            resolved.append((plan.options, plan.config["corpus"]["training_documents"]))
    made = draft._replace(first=first_epochs(resolved))
    made.write(folder)
    return search._replace(plan=made)
