"""Record of a run (its model, its options and its corpus), which is checked before use."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np

from pysgrld.chain.exact import read_refinement_plan
from pysgrld.core.restore import name_checkpoint_in_errors
from pysgrld.corpus.reading import READING
from pysgrld.errors import CheckpointError, MissingInputError, SgmcError
from pysgrld.models.fitted import Fitted
from pysgrld.models.options import OPTIONS
from pysgrld.models.protocol import Model
from pysgrld.models.resolve import has_step_sizes, restore_options
from pysgrld.models.samples import COUNTED
from pysgrld.models.table import MODELS, find_model
from pysgrld.options.option import Resolved, Steps, option_name
from pysgrld.run import Checkpoint, RunDirectory
from pysgrld.run.layout import CONFIG
from pysgrld.run.schema import NATURAL, fits, misfit, shortened
from pysgrld.run.tensors import JoinedArrays
from pysgrld.types import Array, Documents

if TYPE_CHECKING:
    from pysgrld.corpus import Corpus

#: Required keys in the record of a corpus, with the types of their values.
_CORPUS = {
    "name": str,
    "fingerprint": str | None,
    **dict.fromkeys(("documents", "training_documents", "tokens", "training_tokens"), NATURAL),
    **dict.fromkeys(("words", "held_out", "held_out_dropped"), NATURAL),
}
#: Keys in the record of the earlier run that a run continues (``train --from``), with the types of
#: their values.
_PARENT = {
    **dict.fromkeys(("run", "digest", "corpus"), str),
    "only_new": bool,
    "forget": int | None,
}

logger = logging.getLogger(__name__)

#: Warnings that were already logged. They are not logged again if a command opens a run twice.
_warned: set[str] = set()


def warn_once(line: str) -> None:
    """Log a warning, unless this process has already logged the same warning.

    Parameters
    ----------
    line : str
        The warning.
    """
    if line not in _warned:
        _warned.add(line)
        logger.warning("%s", line)


@functools.cache
def _types_of_fields(kind: type) -> dict[str, Any]:
    """Return the types of a class's fields, which take milliseconds to evaluate."""
    return get_type_hints(kind)


def model_and_options(run: RunDirectory) -> tuple[Model[Any], Resolved]:
    """Return the model and the options of a run.

    Parameters
    ----------
    run : RunDirectory

    Returns
    -------
    (Model[object], Resolved)
        The model, and its resolved options.

    Raises
    ------
    CheckpointError
        If ``config.json`` was changed after it was written.
    """
    options, corpus = run.config.get("options", {}), run.config.get("corpus", {})
    place, name = run.path / CONFIG, options.get("model")
    if not isinstance(name, str) or name not in MODELS:
        raise CheckpointError(f"{place}: is damaged: its model is {name!r}; restore it")
    model = find_model(name)
    if options.get("algo") not in model.algorithms:
        algo = shortened(options.get("algo"))
        raise CheckpointError(f"{place}: is damaged: option algo is {algo}; restore it")
    resolved = restore_options(options)
    checked: dict[str, tuple[Any, Any]] = {}
    for record in (resolved, resolved.settings):
        kind: type = type(record)
        for field, hint in _types_of_fields(kind).items():
            if field != "settings":
                checked[f"option {option_name(field)}"] = getattr(record, field), hint
    if has_step_sizes(resolved):
        checked["option step-size"] = resolved.step_size, Steps
    parent = run.config.get("parent")
    problem = (
        misfit(corpus, _CORPUS, "corpus")
        or misfit(corpus.get("reading") or {}, READING, "corpus.reading")
        or (None if parent is None else misfit(parent, _PARENT, "parent"))
    )
    if problem:
        raise CheckpointError(f"{place}: is damaged: {problem}; restore it")
    for part, (value, hint) in checked.items():
        if not fits(value, hint):
            raise CheckpointError(f"{place}: is damaged: {part} is {shortened(value)}; restore it")
    for name, value in resolved.plain().items():
        if name in OPTIONS and not OPTIONS[name].takes(value):
            raise CheckpointError(
                f"{place}: is damaged: option {name} is {shortened(value)}; restore it"
            )
    return model, resolved


class RunRecord:
    """Record of a run, read from its directory; implements `pysgrld.models.fitted.Record`.

    Parameters
    ----------
    run : RunDirectory
    options : Resolved
    checkpoint : callable
        Returns the newest checkpoint; called on every access to a value that the checkpoint has.
    """

    def __init__(
        self, run: RunDirectory, options: Resolved, checkpoint: Callable[[], Checkpoint]
    ) -> None:
        self.options, self.words = options, len(run.vocabulary)
        self.documents: int = run.config["corpus"]["training_documents"]
        self.tokens: int = run.config["corpus"]["training_tokens"]
        self._checkpoint = checkpoint

    @property
    def step(self) -> int:
        """Number of completed training iterations."""
        checkpoint = self._checkpoint()
        plan = read_refinement_plan(checkpoint.arrays)
        return plan.begun if plan else checkpoint.step

    @property
    def arrays(self) -> Mapping[str, Array]:
        """All arrays of the checkpoint, by name."""
        return self._checkpoint().arrays

    @property
    def place(self) -> str:
        """Name of the checkpoint, for messages."""
        return str(self._checkpoint().path)

    def is_copied(self, name: str) -> bool:
        """Return True if each access to an array of the checkpoint returns a new copy."""
        arrays = self._checkpoint().arrays
        return isinstance(arrays, JoinedArrays) and arrays.is_large(name)


def read_sample(run: RunDirectory, fitted: Fitted, step: int) -> Mapping[str, Array]:
    """Read a stored sample as a mapping of matrices with one row per topic, such as phi, (K, V).

    Parameters
    ----------
    run : RunDirectory
    fitted : Fitted
        The run as its model reads it.
    step : int
        Iteration of the sample.

    Raises
    ------
    MissingInputError
        If the iteration has no sample.
    CheckpointError
        If it is damaged, was changed, or belongs to another model.
    """
    parts, place = run.samples.read(step, fitted.sample_invariants, COUNTED), run.samples.path(step)
    with name_checkpoint_in_errors(str(place)):
        sample = fitted.expand_sample(parts)
    check_shapes(sample, fitted.sample_shapes(sample), str(place))
    run.samples.verify(step)
    return sample


def check_shapes(
    parts: Mapping[str, Array], shapes: Mapping[str, tuple[int, int]], place: str
) -> None:
    """Check that a stored sample has all matrices of its model, with the right shapes and types.

    Parameters
    ----------
    parts : mapping of str to (rows, columns) arrays
    shapes : mapping of str to (int, int)
        Shape of each matrix.
    place : str
        Name of the sample in the message.

    Raises
    ------
    CheckpointError
        If an array is missing or has another shape or type (integers for ``words``, else
        float32); the message names the first such array.
    """
    for name, model_shape in shapes.items():
        if name not in parts:
            problem = f"the file has no array {name!r}"
        elif parts[name].shape != model_shape:
            actual, due = (
                " x ".join(map(str, shape)) for shape in (parts[name].shape, model_shape)
            )
            problem = f"array {name!r} has the shape {actual}, but the model needs {due}"
        elif (parts[name].dtype == np.float32) == (name == "words"):
            problem = f"array {name!r} has the wrong type {parts[name].dtype}"
        else:
            continue
        raise CheckpointError(f"{place}: {problem}; delete the file to continue without it")


def training_corpus(run: RunDirectory, problems: list[SgmcError] | None = None) -> Corpus | None:
    """Open the stored corpus on which a run was trained, or return None if the corpus is gone.

    Parameters
    ----------
    run : RunDirectory
    problems : list, optional
        Receives the errors of corpora that exist but cannot be opened.

    Returns
    -------
    Corpus or None
        The corpus, open for reading.
    """
    # The import is here because topics can be read without a corpus.
    from pysgrld.corpus import Corpus
    from pysgrld.corpus.store import remember_words

    # Millions of words need hundreds of megabytes, so the corpus and the run use the same list of
    # words.
    with contextlib.suppress(SgmcError, ValueError):
        remember_words((run.config.get("vocabulary") or {}).get("sha256", ""), run.vocabulary)
    # The corpus may be in the run's folder, or in a folder above it that has several chains or a
    # search.
    places = [folder / "corpus" for folder in (run.path, *run.path.parents[:2])]
    if corpus_path := run.config.get("command", {}).get("corpus"):
        places.append(Path(corpus_path))
    for place in places:
        try:
            corpus = Corpus.open(place)
        except MissingInputError:
            continue
        except SgmcError as error:
            if problems is not None:
                problems.append(error)
            continue
        if corpus.fingerprint == run.config["corpus"].get("fingerprint"):
            return corpus
    return None


def corpus_gone(run: RunDirectory) -> str:
    """Return the message that the training corpus is missing or damaged, with its path.

    Parameters
    ----------
    run : RunDirectory

    Returns
    -------
    str
        A sentence for messages.
    """
    problems: list[SgmcError] = []
    if training_corpus(run, problems) is None and problems:
        return f"{run.path}: the run's training corpus cannot be used: {problems[0]}"
    command = run.config.get("command", {})
    if "estimator" in command:
        return "a fit in Python keeps no documents"
    place = command.get("corpus") or run.path / "corpus"
    return f"{run.path}: the run's training corpus is no longer at {place}, or was changed"


def in_slices(
    run: RunDirectory, parts: Sequence[Documents], stored: Corpus, copies: int
) -> list[Documents]:
    """Assign the stored time slices to the observed and held-out parts of documents.

    Parameters
    ----------
    run : RunDirectory
        The run.
    parts : sequence of Documents
        Parts of the held-out documents.
    stored : Corpus
        The stored part that contains the slices.
    copies : int
        Number of time slices T.

    Returns
    -------
    list of Documents
        The parts with a slice for each document.

    Raises
    ------
    CheckpointError
        If the stored slices do not match the documents, or the number of slices.
    """
    try:
        slices = np.array(stored.provenance.get("slices") or (), np.int32)
    except (OverflowError, TypeError, ValueError):  # The stored list of time slices is damaged.
        slices = np.empty(0, np.int32)
    if slices.shape != (len(parts[0]),) or not 0 <= slices.min() <= slices.max() < copies:
        raise CheckpointError(
            f"{run.path / 'holdout'}: has no time slices of the held-out documents; delete the "
            f"folder, then write it again with 'sgmc train --resume {run.path}'"
        )
    return [replace(part, slices=slices, copies=copies) for part in parts]
