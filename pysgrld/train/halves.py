"""Training on two random halves of a run's documents, to test the run's intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.corpus.build import take
from pysgrld.corpus.reading import CorpusOptions, ReadingProgress
from pysgrld.errors import MissingInputError, Severity, UsageError
from pysgrld.models.choices import Choices
from pysgrld.models.options import OPTIONS
from pysgrld.reading.replicated import can_replicate
from pysgrld.reading.results import Results
from pysgrld.run import RunDirectory
from pysgrld.train.events import Position
from pysgrld.train.request import Request, chosen_options
from pysgrld.train.start import train

#: Number added to the seed, so that the division of the documents is independent of other random
#: numbers.
_SEED = 1948
#: Options of a run that do not apply to the training on its halves. The options of reading do not
#: apply either.
_OF_THE_RUN = frozenset({"out", "resume", "threads", "max-memory", "time-limit", "chain-id"})


class _Silent:
    """Reporter of training that prints nothing."""

    def note(self, line: str, severity: Severity = Severity.NOTE, /) -> None:
        """Ignore a message."""

    def reading(self, progress: ReadingProgress) -> None:
        """Ignore the progress of reading."""

    def started(self, run: RunDirectory, line: str) -> None:
        """Ignore the start of the run."""

    def moved(self, position: Position) -> None:
        """Ignore the state after an iteration."""

    def refining(self, run: RunDirectory, line: str) -> None:
        """Ignore the beginning of Gibbs refinement."""

    def evaluated(self, record: Mapping[str, Any]) -> None:
        """Ignore an evaluation."""

    def finished(self, run: RunDirectory, line: str) -> None:
        """Ignore the end of the run."""


def options_for_halves(results: Results) -> Choices:
    """Return the options with which the halves of a run's documents are trained.

    Parameters
    ----------
    results : Results

    Raises
    ------
    UsageError
        If the model is not LDA.
    """
    options = results.options
    if not can_replicate(options):
        raise UsageError(
            f"{results.path}: --halves does not apply to --model {options.model}; it needs --model lda"
        )
    reading = {name for name in OPTIONS if CorpusOptions.among([name])}
    return chosen_options(results.run, options, _OF_THE_RUN | reading)


def open_training_corpus(results: Results) -> Corpus:
    """Return the training corpus of a run.

    Parameters
    ----------
    results : Results

    Raises
    ------
    MissingInputError
        If it is missing.
    """
    corpus = results.training_corpus()
    if corpus is None:
        raise MissingInputError(
            f"{results.missing_corpus}, so --halves cannot train on its documents; restore the "
            "corpus, or train with 'sgmc train'"
        )
    return corpus


def train_halves(
    corpus: Corpus,
    choices: Choices,
    folder: Path,
    seed: int,
    threads: int,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Path, Path]:
    """Divide a corpus at random into two halves, and train a run on each half.

    Chunks of a long document are in the same half.

    Parameters
    ----------
    corpus : Corpus
    choices : Choices
        Options of both runs.
    folder : Path
        Empty folder for the halves and the runs.
    seed : int
        Seed of the division.
    threads : int
    tell : callable (done, total), optional
        Called after each run.

    Returns
    -------
    (Path, Path)
        Folders of the runs.

    Raises
    ------
    Interrupted
        If training is stopped.
    """
    every = np.arange(corpus.documents)
    wholes = corpus.about.wholes(every)
    units = every if wholes is None else wholes
    order = np.random.default_rng([_SEED, seed]).permutation(int(units.max(initial=-1)) + 1)
    runs = folder / "run-1", folder / "run-2"
    tell(0, 2)
    for number, (chosen_units, run) in enumerate(
        zip(np.array_split(order, 2), runs, strict=True), 1
    ):
        rows = np.flatnonzero(np.isin(units, chosen_units))
        half = folder / f"half-{number}"
        take(corpus, rows, half, {"half_of": corpus.fingerprint, "seed": seed})
        chosen = choices.changed(out=str(run), threads=threads)
        train(Request([str(half)], chosen, folder), _Silent())
        tell(number, 2)
    return runs
