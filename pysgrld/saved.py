"""Estimators as run directories: what one writes the other reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

import pysgrld
from pysgrld.chain import Chain
from pysgrld.core import core
from pysgrld.errors import CheckpointError, UsageError
from pysgrld.options import FREE
from pysgrld.posterior import Posterior
from pysgrld.resources import threads
from pysgrld.run import RunDirectory
from pysgrld.samplers import SAMPLERS
from pysgrld.stream import Stream
from pysgrld.types import Documents

if TYPE_CHECKING:
    from pysgrld.estimator import TopicModel


def save(path: Path, model: TopicModel, vocabulary: Sequence[str] | None) -> None:
    """Write a fitted model as a run directory with one checkpoint."""
    posterior = model._posterior
    v = model.n_features_in_
    words = [f"word{i + 1}" for i in range(v)] if vocabulary is None else list(vocabulary)
    if len(words) != v:
        raise UsageError(f"vocabulary has {len(words)} words, the model has {v}")
    config = {
        "schema": 1,
        "options": model._options,
        "defaults": [],
        "free": sorted(FREE),
        "command": {"inputs": [], "estimator": _plain(model)},
        "versions": {
            "pysgrld": pysgrld.__version__, "numpy": np.__version__, "compiler": core.compiler,
        },
        "isa": core.isa(),
        "corpus": {
            "name": "matrix", "fingerprint": None,
            "training_documents": posterior.chain.stream.documents, "words": v,
            "training_tokens": posterior.chain.tokens,
        },
    }  # fmt: skip
    run = RunDirectory.create(path, config, words)
    with run.lock():
        seen = getattr(model, "_seen", 0)
        run.save_checkpoint(
            posterior.chain.step,
            posterior.chain.arrays() | {
                name: a for name, a in posterior.arrays().items() if name.startswith("posterior.")
            },
            {"seen": seen},
            keep=1,
        )  # fmt: skip
        run.set_status("finished", step=posterior.chain.step)


Model = TypeVar("Model", bound="TopicModel")


def load(cls: type[Model], path: Path) -> Model:
    """Read a model from a run directory; `partial_fit` goes on from its state."""
    run = RunDirectory.open(path)
    options, corpus = run.config["options"], run.config["corpus"]
    if options["model"] != cls.model:
        raise UsageError(f"{path}: is a model of the kind {options['model']}, not {cls.model}")
    if SAMPLERS[options["algo"]].full_batch:
        raise UsageError(
            f"{path}: a run of {options['algo']} cannot go on without its corpus; use sgmc on it"
        )
    parameters = run.config.get("command", {}).get("estimator")
    if parameters is None:
        parameters = {name: options.get(option) for name, option in cls.options_of.items()} | {
            "total_samples": corpus["training_documents"]
        }
    model = cls(**parameters)
    checkpoint = run.load_checkpoint(required=True)
    if checkpoint is None:
        raise CheckpointError(f"{path}: has no checkpoint")
    nobody = Documents(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
    chain = Chain(
        options, Stream.of(options, nobody, np.arange(corpus["training_documents"])),
        len(run.vocabulary),
        corpus["training_tokens"], threads(model.n_jobs).number,
    )  # fmt: skip
    chain.restore(checkpoint.step, checkpoint.arrays)
    posterior = Posterior(
        chain, None, options["burn-in"], options["sample-every"],
        keep_mean="posterior.sum.phi" in checkpoint.arrays,
    )  # fmt: skip
    posterior.restore(checkpoint.arrays)
    model._options, model._posterior = options, posterior
    model._seen = checkpoint.meta.get("seen", checkpoint.meta.get("documents", 0))
    model.n_features_in_ = len(run.vocabulary)
    model._finish()
    return model


def _plain(model: TopicModel) -> dict[str, object]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in model.get_params().items()
    }
