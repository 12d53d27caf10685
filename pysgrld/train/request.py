"""Request to train: a corpus, training options, and the folder that contains runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pysgrld.corpus import CorpusOptions
from pysgrld.corpus.inputs import corpus_name
from pysgrld.corpus.sources import is_contained
from pysgrld.errors import MismatchError, MissingInputError, UsageError
from pysgrld.models.choices import Choices
from pysgrld.models.options import OPTIONS, option_text
from pysgrld.options.option import Resolved
from pysgrld.options.paths import is_stream, path_exists, resolve_path
from pysgrld.reading.find_runs import find_folder, open_run
from pysgrld.reading.former_topics import digest_of_topics
from pysgrld.reading.results import Results
from pysgrld.reading.run_record import corpus_gone, model_and_options, training_corpus
from pysgrld.run import RunDirectory, chain_number, find_chains
from pysgrld.run.choose import LATEST, ROOT, Candidate, find_run
from pysgrld.run.machine import threads


class Parent(NamedTuple):
    """Earlier run that a new run continues, as recorded in ``config.json``.

    Attributes
    ----------
    run : str
        Folder of the earlier run.
    digest : str
        Digest of its mean topics.
    corpus : str
        Fingerprint of its corpus.
    only_new : bool
        True if its documents are left out of the new run.
    forget : int or None
        Number of new documents after which half of the old documents are left out.
    """

    run: str
    digest: str
    corpus: str
    only_new: bool
    forget: int | None = None

    def results(self) -> Results:
        """Open the earlier run for reading.

        Raises
        ------
        MismatchError
            If its topics have changed since.
        SgmcError
            If it cannot be read.
        """
        results = open_run(self.run, 1)
        if digest_of_topics(results.phi()) != self.digest:
            raise MismatchError(
                f"{self.run}: the topics of this run have changed since training continued from "
                "them; train a new run with --from in another folder (--out)"
            )
        return results


def refuse_streams(inputs: Sequence[str], choices: Choices, who: str) -> None:
    """Raise an error if an input that must be read more than once is a pipe, a device or stdin.

    Parameters
    ----------
    inputs : sequence of str
    choices : Choices
    who : str
        The command that reads the inputs more than once, for the message.

    Raises
    ------
    UsageError
    """
    if any(map(is_stream, inputs)):
        raise UsageError(
            f"{who} reads the corpus more than once, which is impossible for standard input and "
            "pipes; store it first with 'sgmc corpus build CORPUS -o DIR', then give DIR"
        )
    named = choices.files
    for name, path in named:
        if is_stream(path):
            raise UsageError(
                f"{option_text(name, path)}: {who} reads this input more than once, which is "
                "impossible for standard input and pipes; write the input to a file, and give "
                "the file"
            )


class Request(NamedTuple):
    """Request to train a model, made by a command or by other code.

    Attributes
    ----------
    inputs : sequence of str
        Files or folders that make up the corpus.
    choices : Choices
        Options that the user chose.
    root : Path
        Folder of runs for which ``out`` is not set.
    break_lock : bool
        Take over a run that a process on another host has left locked.
    corpus : Path, optional
        Folder in which the inputs are already stored.
    as_stored : bool
        True to use the stored corpus even if the inputs have changed since.
    parent : Parent, optional
        The run that provides the initial topics, and its documents in addition to the inputs.
    """

    inputs: Sequence[str]
    choices: Choices
    root: Path = Path("sgmc-runs")
    break_lock: bool = False
    corpus: Path | None = None
    as_stored: bool = False
    parent: Parent | None = None

    @property
    def threads(self) -> int:
        """Number of threads that this process may use for training."""
        return threads(self.choices.start.threads).number

    def find(self, *, chains: bool = False) -> Candidate:
        """Return the possible folders of the run or its chains, without creating a folder.

        Raises
        ------
        SgmcError
            For the errors of `find_run`.
        """
        start = self.choices.start
        return find_run(
            out=Path(start.out) if start.out else None,
            root=self.root,
            name=f"{corpus_name(self.inputs)}-{self.choices.sampler.name}",
            resume=start.resume,
            chains=chains,
        )


#: Options that limit the length of training. If the user types one of them to resume a run, all
#: such options from earlier starts are dropped.
_BUDGET = frozenset({"epochs", "iterations", "time-limit"})
#: Options that apply only to the current start of a run, and are not kept when the run is resumed.
_OF_A_START = frozenset({"out", "resume", "threads", "max-memory"})


def resume_request(
    choices: Choices, root: Path = ROOT, *, break_lock: bool = False
) -> tuple[Request, int]:
    """Return the request to resume the run or the chains that ``--resume`` names.

    Its options are the options of the run, updated by the options typed now. Its corpus is the
    stored corpus of the run. If the user types an option about reading, the inputs of the run are
    compared with the stored corpus, or read again.

    Parameters
    ----------
    choices : Choices
        Options that the user chose; ``resume`` names the run.
    root : Path, optional
        Folder of runs.
    break_lock : bool, optional
        Take over a run that a process on another host has left locked.

    Returns
    -------
    request : Request
    chains : int
        The greatest number of a chain in the folder; 0 for a single run.

    Raises
    ------
    UsageError
        If no run is named, or if the named run was trained on input that cannot be read again.
    MissingInputError
        If the run or its corpus is missing.
    CheckpointError
        If the record of the run is damaged.
    """
    name = choices.start.resume
    if name in ("auto", "never"):
        raise UsageError(
            "CORPUS is missing; give files or folders, - for standard input, or --resume RUN to "
            "continue a run"
        )
    folder = find_folder(name, root, chains=True)
    chains = find_chains(folder)
    run = RunDirectory.open(chains[0] if chains else folder)
    _, options = model_and_options(run)
    command = run.config.get("command", {})
    if not command.get("inputs") or options.corpus_size is not None:
        reason = (
            "a stream is not stored"
            if command.get("inputs")
            else "the run does not record the path of its corpus"
        )
        raise UsageError(f"--resume {name}: CORPUS is missing; give it again, because {reason}")
    options_of_run = chosen_options(
        run, options, _OF_A_START | {"chain-id"} if chains else _OF_A_START
    )
    if _BUDGET & choices.names:
        options_of_run = options_of_run.without(_BUDGET)
    parent = run.config.get("parent")
    stored = training_corpus(run)
    if stored is None and not all(map(path_exists, command["inputs"])):
        raise MissingInputError(
            f"{corpus_gone(run)}, and the input {' '.join(command['inputs'])} is missing, too; "
            "restore the corpus, or give CORPUS and all options"
        )
    request = Request(
        command["inputs"],
        options_of_run.updated(choices),
        root,
        break_lock,
        stored.path if stored else None,
        as_stored=parent is not None or not CorpusOptions.among(choices.names),
        parent=Parent(*(parent.get(name) for name in Parent._fields)) if parent else None,
    )
    return request, chain_number(chains[-1]) if chains else 0


def chosen_options(run: RunDirectory, options: Resolved, without: frozenset[str]) -> Choices:
    """Return the options that the user typed for a run, without the options set by default.

    Parameters
    ----------
    run : RunDirectory
    options : Resolved
        All options of the run.
    without : frozenset of str
        Names of options to leave out.
    """
    options_of_run = {
        n: value
        for n, value in options.plain().items()
        if n in OPTIONS and n not in without and value is not None
    }
    defaults = {*(run.config.get("defaults") or ())} - _BUDGET
    typed = {
        n: tuple(v) if isinstance(v, list) else v
        for n, v in options_of_run.items()
        if n not in defaults
    }
    return Choices(typed).without_preset_values()


def _run_before(name: str, folder: Path, request: Request, *, only_new: bool) -> Path:
    """Return the run that ``--from`` continues; a repeated command continues the same run.

    If the same command has begun the latest run and not finished it, the result is the run that the
    latest run continues.

    Parameters
    ----------
    name : str
        Name of the run, as typed.
    folder : Path
        Folder of the run or of its chains.
    request : Request
        The inputs and options that the user typed.
    only_new : bool
        True if the documents of the earlier run are left out.

    Raises
    ------
    UsageError
        If the run already has an input, or if the latest run is another run that is unfinished.
    """
    runs = [RunDirectory.open(path) for path in find_chains(folder) or [folder]]
    model_and_options(runs[0])  # Check `config.json`, because its entry ``parent`` is read below.
    finished = all(run.status.get("state") == "finished" for run in runs)
    corpus, parent = training_corpus(runs[0]), runs[0].config.get("parent")
    repeated = [
        path
        for path in request.inputs
        if corpus is not None and is_contained(path, corpus.provenance)
    ]
    if name == LATEST:
        out = request.choices.start.out
        is_own = out is not None and resolve_path(out) == resolve_path(folder)
        if parent and len(repeated) == len(request.inputs) and (is_own or not finished):
            return Path(parent["run"])
        if not finished:
            raise UsageError(
                f"--from latest: {folder} is unfinished; finish it with 'sgmc train --resume "
                f"{folder}', or give the name of the run to continue"
            )
    if repeated and (name == LATEST or not only_new):
        raise UsageError(
            f"--from {name}: {repeated[0]} is already in {folder}; give new documents only"
        )
    return folder


def continuation_request(
    name: str,
    request: Request,
    *,
    only_new: bool = False,
    forget: int | None = None,
    root: Path = ROOT,
) -> Request:
    """Return the request for a new run that continues with the topics of an earlier run.

    Its options are the options of the earlier run, updated by the options typed now. Its corpus
    consists of the inputs and the documents of the earlier run, or, with ``only_new``, of the
    inputs with the vocabulary of the earlier run.

    Parameters
    ----------
    name : str
        Name of the earlier run.
    request : Request
        The inputs and options that the user typed.
    only_new : bool
        Leave out the documents of the earlier run.
    forget : int, optional
        Leave out half of its documents after this number of new ones.
    root : Path

    Returns
    -------
    Request
        The request, with the earlier run as its `Request.parent`.

    Raises
    ------
    UsageError
        If topics of its kind cannot be continued, another number of topics is requested, or an
        input is already in the earlier run.
    MissingInputError
        If the earlier run or its corpus is missing.
    CheckpointError
        If the earlier run cannot be read.
    """
    choices = request.choices
    folder = find_folder(name, root, chains=True)
    if not request.inputs:
        raise UsageError(
            f"--from {name}: new documents are missing; give their files or folders as CORPUS"
        )
    if any(map(is_stream, request.inputs)) or choices.source.corpus_size:
        raise UsageError(
            "--from cannot read a stream, because new documents are read twice; give files or "
            "folders"
        )
    folder = _run_before(name, folder, request, only_new=only_new)
    if chains := find_chains(folder):
        raise UsageError(
            f"--from {name}: is a folder of chains; give one of them, such as {chains[0]}"
        )
    results = open_run(folder, request.threads)
    options, fitted = results.options, results.fitted
    if fitted.depth > 1 or fitted.signed or fitted.no_mean:
        raise UsageError(
            f"--from {name}: topics of {fitted.kind} cannot be continued; train a new run"
        )
    options_of_run = chosen_options(
        results.run, options, _OF_A_START | _BUDGET | {"chain-id", "vocab"}
    )
    topics = fitted.layers[0]
    merged = options_of_run.changed(topics=topics).updated(choices)
    if merged.source.topics != topics:
        raise UsageError(
            f"-k {merged.source.topics}: the run continues the {topics} topics of {name}; leave "
            "out -k"
        )
    if not only_new and results.training_corpus() is None:
        raise MissingInputError(
            f"{results.missing_corpus}; restore the corpus, or train without its documents: "
            "--only-new"
        )
    corpus = results.run.config["corpus"].get("fingerprint") or ""
    digest = digest_of_topics(results.phi())
    parent = Parent(str(resolve_path(folder)), digest, corpus, only_new, forget)
    return request._replace(choices=merged, parent=parent)
