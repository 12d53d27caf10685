"""A request of training: a corpus, options, and where runs lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.corpus import corpus_name
from pysgrld.models.check import check_usage, kind_of
from pysgrld.models.resolve import resolve
from pysgrld.options.facts import Facts
from pysgrld.run.choose import Candidate, find_run
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

    @property
    def resume(self) -> str:
        """Give ``auto``, ``never``, or the run to continue."""
        resume: str = self.given.get("resume", "auto")
        return resume

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
            resume=self.resume,
            chains=chains,
        )
