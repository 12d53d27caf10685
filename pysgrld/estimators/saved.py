"""Estimators as run directories: what one writes the other reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.chain.posterior import Posterior, sums_in
from pysgrld.errors import CheckpointError, UsageError
from pysgrld.estimators.resources import jobs
from pysgrld.minibatches import Epochs
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.table import model
from pysgrld.options.resolved import Resolved
from pysgrld.reading.recorded import recorded
from pysgrld.run import RunDirectory
from pysgrld.samplers import SAMPLERS
from pysgrld.train.begin import begin
from pysgrld.train.plan import config_of
from pysgrld.types import Documents


class Saved(NamedTuple):
    """An estimator as a run directory holds it.

    Attributes
    ----------
    parameters : dict
        Parameters of the constructor, by name.
    options : Resolved
    posterior : Posterior
        With the chain as it stood; it has no documents of its own.
    words : tuple of str
        Words of the columns.
    seen : int
        Documents that the chain has seen.
    """

    parameters: dict[str, Any]
    options: Resolved
    posterior: Posterior
    words: tuple[str, ...]
    seen: int


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
    chain = saved.posterior.chain
    plain = {n: list(v) if isinstance(v, tuple) else v for n, v in saved.parameters.items()}
    config = config_of(saved.options, []) | {
        "command": {"inputs": [], "estimator": plain},
        "corpus": {
            "name": "matrix",
            "fingerprint": None,
            "training_documents": chain.stream.documents,
            "words": len(saved.words),
            "training_tokens": chain.tokens,
        },
    }
    run = RunDirectory.create(path, config, list(saved.words))
    with run.lock():
        arrays = chain.arrays() | saved.posterior.averages()
        invariants = model(saved.options.model).state_invariants
        run.save_checkpoint(chain.step, arrays, {"seen": saved.seen}, keep=1, invariants=invariants)
        run.set_status("finished", step=chain.step)


def load(path: Path, name: str, options_of: Mapping[str, str]) -> Saved:
    """Read a model of a family from a run directory, its chain ready to go on.

    Parameters
    ----------
    path : Path
    name : str
        Name of the family, as after ``--model``.
    options_of : mapping
        Parameters of the estimator, and the options of a run that they are.

    Raises
    ------
    UsageError
        If the run has another model, or cannot go on without its corpus.
    CheckpointError
        If it has no checkpoint.
    """
    run = RunDirectory.open(path)
    family, options = recorded(run)
    plain, corpus = run.config["options"], run.config["corpus"]
    if family.name != name:
        raise UsageError(f"{path}: is a model of the kind {family.name}, not {name}")
    if SAMPLERS[plain["algo"]].whole_corpus:
        raise UsageError(
            f"{path}: a run of {plain['algo']} cannot go on without its corpus; use sgmc on it"
        )
    parameters = run.config.get("command", {}).get("estimator")
    if parameters is None:
        parameters = {own: plain.get(option) for own, option in options_of.items()}
        parameters["total_samples"] = corpus["training_documents"]
    checkpoint = run.load_checkpoint(required=True, invariants=family.state_invariants)
    if checkpoint is None:
        raise CheckpointError(f"{path}: has no checkpoint")
    nobody = Documents(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
    posterior = begin(
        options,
        Epochs.of(options, nobody, np.arange(corpus["training_documents"])),
        CorpusFacts(len(run.vocabulary), corpus["training_tokens"]),
        RunOn(jobs(parameters.get("n_jobs"))),
        keep_mean=bool(sums_in(checkpoint.arrays)),
    )
    posterior.chain.restore(checkpoint.step, checkpoint.arrays)
    posterior.restore(checkpoint.arrays)
    seen = checkpoint.meta.get("seen", checkpoint.meta.get("documents", 0))
    return Saved(parameters, options, posterior, run.vocabulary, seen)
