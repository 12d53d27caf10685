"""A request of training: a corpus, options, and where runs lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.corpus import CorpusOptions
from pysgrld.corpus.inputs import corpus_name
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.models.options import OPTIONS, check_usage, kind_of, preset_of
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.reading.find_runs import find_folder
from pysgrld.reading.run_record import corpus_gone, model_and_options, training_corpus
from pysgrld.run import RunDirectory, chain_number, chains_of
from pysgrld.run.choose import ROOT, Candidate, find_run
from pysgrld.run.machine import threads

#: For options whose values do not matter yet.
_ANY_CORPUS = Facts(1, 1, 1, 0, lambda *_: 1)


class Request(NamedTuple):
    """One call of training, as a command or a program makes it.

    Attributes
    ----------
    inputs : sequence of str
        Files or folders that make up the corpus.
    given : mapping
        Options that were given, parsed (`pysgrld.models.options.OPTIONS`).
    root : Path
        Folder of runs that have no ``out``.
    break_lock : bool
        Take over a run that a process of another host has left locked.
    corpus : Path, optional
        Where somebody has stored the inputs already.
    as_stored : bool
        Whether the corpus is taken as it was stored, whatever has become of the inputs since.
    """

    inputs: Sequence[str]
    given: Mapping[str, Any]
    root: Path = Path("sgmc-runs")
    break_lock: bool = False
    corpus: Path | None = None
    as_stored: bool = False

    def check(self) -> None:
        """Refuse options that contradict each other, before anything is read.

        Raises
        ------
        UsageError
        """
        check_usage(self.given)
        resolve(self.given, _ANY_CORPUS)  # what contradicts a preset or another default

    @property
    def threads(self) -> int:
        """Threads that this process may use for the training."""
        return threads(self.given.get("threads")).number

    def find(self, *, chains: bool = False) -> Candidate:
        """Look where the run, or the folder of chains, is to go; nothing is read or made.

        Raises
        ------
        SgmcError
            As `find_run` does.
        """
        out = self.given.get("out")
        sampler, _ = kind_of(self.given)
        return find_run(
            out=Path(out) if out else None,
            root=self.root,
            name=f"{corpus_name(self.inputs)}-{sampler.name}",
            resume=self.given.get("resume", "auto"),
            chains=chains,
        )


#: How far a start goes: what a person says of it replaces all that was said before.
_BUDGET = frozenset({"epochs", "iterations", "time-limit"})
#: Of one start alone.
_OF_A_START = frozenset({"out", "resume", "threads", "max-memory"})


def going_on(
    given: Mapping[str, Any], root: Path = ROOT, *, break_lock: bool = False
) -> tuple[Request, int]:
    """Make the request that goes on with the run, or the chains, that ``given`` names to resume.

    Its options are the run's, beside those that are given now. Its corpus is the one that the run has
    stored; an option of reading has the inputs compared, or read again, as if they were given.

    Returns
    -------
    request : Request
    chains : int
        The greatest number of a chain in the folder; 0: it is one run.

    Raises
    ------
    UsageError
        If no run is named, or the one that is was trained on what cannot be read again.
    MissingInputError
        If there is no such run, or its corpus is gone.
    CheckpointError
        If its record is damaged.
    """
    name = given.get("resume", "auto")
    if name in ("auto", "never"):
        raise UsageError(
            "CORPUS is missing: give files or folders, - for standard input, or --resume RUN to go on "
            "with a run on its own corpus"
        )
    folder = find_folder(name, root, chains=True)
    chains = chains_of(folder)
    run = RunDirectory.open(chains[0] if chains else folder)
    _, options = model_and_options(run)
    command = run.config.get("command", {})
    if not command.get("inputs") or options.corpus_size is not None:
        why = (
            "it was read once, as a stream" if command.get("inputs") else "the run does not name it"
        )
        raise UsageError(f"--resume {name}: CORPUS must be given again: {why}")
    own = _OF_A_START | {"chain-id"} if chains else _OF_A_START
    had = {
        n: value
        for n, value in options.plain().items()
        if n in OPTIONS and n not in own and value is not None
    }
    defaults = {*run.config.get("defaults", ())} - _BUDGET
    kept = {n: tuple(v) if isinstance(v, list) else v for n, v in had.items() if n not in defaults}
    preset = preset_of(kept)
    kept = {n: v for n, v in kept.items() if n == "algo" or preset.get(n) != v}
    if _BUDGET & {*given}:
        kept = {n: v for n, v in kept.items() if n not in _BUDGET}
    stored = training_corpus(run)
    if stored is None and not all(Path(path).exists() for path in command["inputs"]):
        raise MissingInputError(
            f"{corpus_gone(run)}, nor can {' '.join(command['inputs'])} be read again; put it back, or "
            "give CORPUS and all options"
        )
    request = Request(
        command["inputs"],
        {**kept, **given},
        root,
        break_lock,
        stored.path if stored else None,
        as_stored=not CorpusOptions.among(given),
    )
    return request, chain_number(chains[-1]) if chains else 0
