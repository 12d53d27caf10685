"""Models that were fitted, apart from their chains: as they are read, saved and loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.chain.posterior import Posterior, sums_in, without_scores
from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import CheckpointError, UsageError
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.table import model_of
from pysgrld.options.option import Resolved
from pysgrld.reading.run_record import check_shapes, model_and_options
from pysgrld.run import RunDirectory
from pysgrld.train.begin import begin
from pysgrld.train.plan import config_of
from pysgrld.types import Array, Documents

#: A kept posterior sample: matrices by name, a row for each topic.
Sample = Mapping[str, Array]


class MatrixRecord(NamedTuple):
    """A model that was fitted to a matrix, as models read one: a `pysgrld.models.fitted.Record`.

    Attributes
    ----------
    options : Resolved
    words, documents, tokens : int
        V, and documents and tokens of training.
    step : int
    arrays : mapping
        The chain's, and those of its averages.
    place : str
    """

    options: Resolved
    words: int
    documents: int
    tokens: int
    step: int
    arrays: Mapping[str, Array]
    place: str = "this model"

    @classmethod
    def of(cls, options: Resolved, words: int, posterior: Posterior) -> MatrixRecord:
        """Take the record of a chain as it stands, and of its averages.

        Parameters
        ----------
        options : Resolved
        words : int
            V.
        posterior : Posterior
        """
        chain = posterior.chain
        arrays = chain.arrays() | posterior.averages()
        return cls(options, words, chain.stream.documents, chain.tokens, chain.step, arrays)

    def resumed(self, threads: int) -> Posterior:
        """Make the chain again, ready to go on with documents that are brought to it.

        Parameters
        ----------
        threads : int

        Raises
        ------
        CheckpointError
            If the arrays are no state of this model.
        """
        nobody = Documents(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
        posterior = begin(
            self.options,
            Epochs.of(self.options, nobody, np.arange(self.documents)),
            CorpusFacts(self.words, self.tokens),
            RunOn(threads),
            keep_mean=bool(sums_in(self.arrays)),
        )
        posterior.chain.restore(self.step, self.arrays)
        posterior.restore(without_scores(self.arrays))
        return posterior


class Saved(NamedTuple):
    """An estimator as a run directory holds it.

    Attributes
    ----------
    parameters : dict
        Parameters of the constructor, by name.
    record : MatrixRecord
    words : tuple of str
        Words of the columns.
    samples : mapping of int to Sample
        Kept posterior samples by their iterations.
    own : dict of str to number
        Numbers that the estimator has beside its chain, by name.
    """

    parameters: dict[str, Any]
    record: MatrixRecord
    words: tuple[str, ...]
    samples: Mapping[int, Sample]
    own: dict[str, int | float]


def save(path: Path, saved: Saved) -> None:
    """Write a fitted model as a run directory with one checkpoint.

    Parameters
    ----------
    path : Path
        The folder to make; there must be none yet.
    saved : Saved

    Raises
    ------
    OutputError
        If the folder exists or cannot be made.
    """
    record = saved.record
    plain = {n: list(v) if isinstance(v, tuple) else v for n, v in saved.parameters.items()}
    config = config_of(record.options, []) | {
        "command": {"inputs": [], "estimator": plain},
        "corpus": {
            "name": "matrix",
            "fingerprint": None,
            "training_documents": record.documents,
            "words": record.words,
            "training_tokens": record.tokens,
        },
    }
    model = model_of(record.options.model)
    run = RunDirectory.create(path, config, list(saved.words))
    with run.lock():
        for step, sample in saved.samples.items():
            run.samples.write(step, sample, model.sample_invariants)
        invariants = model.state_invariants
        run.save_checkpoint(record.step, record.arrays, saved.own, keep=1, invariants=invariants)
        run.set_status("finished", step=record.step)


def load(path: Path, name: str, options_of: Mapping[str, str]) -> Saved:
    """Read a model of a model from a run directory.

    Parameters
    ----------
    path : Path
    name : str
        Name of the model, as after ``--model``.
    options_of : mapping
        Parameters of the estimator, and the options of a run that they are.

    Raises
    ------
    UsageError
        If the run has another model.
    CheckpointError
        If it has no checkpoint.
    """
    run = RunDirectory.open(path)
    model, options = model_and_options(run)
    plain, corpus = run.config["options"], run.config["corpus"]
    if model.name != name:
        raise UsageError(f"{path}: is a model of the kind {model.name}, not {name}")
    parameters = run.config.get("command", {}).get("estimator")
    if parameters is None:
        parameters = {own: plain.get(option) for own, option in options_of.items()}
        parameters["total_samples"] = corpus["training_documents"]
    checkpoint = run.load_checkpoint(required=True, invariants=model.state_invariants)
    if checkpoint is None:
        raise CheckpointError(f"{path}: has no checkpoint")
    record = MatrixRecord(
        options,
        len(run.vocabulary),
        corpus["training_documents"],
        corpus["training_tokens"],
        checkpoint.step,
        checkpoint.arrays,
        str(checkpoint.path),
    )
    own = {"seen": checkpoint.meta.get("documents", 0)} | checkpoint.meta
    return Saved(parameters, record, run.vocabulary, StoredSamples(run, record), own)


class StoredSamples(Mapping[int, Sample]):
    """Kept posterior samples of a run by their iterations, read when they are wanted; none if it is gone.

    Parameters
    ----------
    run : RunDirectory
    record : MatrixRecord
    """

    def __init__(self, run: RunDirectory, record: MatrixRecord) -> None:
        self.run, self.record = run, record

    def __getitem__(self, step: int) -> Sample:
        model = model_of(self.record.options.model)
        sample = self.run.samples.read(step, model.sample_invariants)
        shapes = model.fitted(self.record, 1).sample_shapes(sample)
        check_shapes(sample, shapes, str(self.run.samples.path(step)))
        self.run.samples.verify(step)
        return sample

    def __iter__(self) -> Iterator[int]:
        return iter(self.run.samples.steps())

    def __len__(self) -> int:
        return len(self.run.samples.steps())
