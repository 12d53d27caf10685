"""Table of all models; each model is a folder next to this file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pysgrld.models.protocol import Model

if TYPE_CHECKING:
    from pysgrld.evaluate.score import Score

#: Modules that declare a model as ``MODEL``, in the order of the help. Each module is imported on
#: demand, and the first model is the default.
MODELS = {
    "lda": "pysgrld.models.lda.declared",
    "dlda": "pysgrld.models.dlda.declared",
    "dtm": "pysgrld.models.dtm.declared",
    "dpmm": "pysgrld.models.dpmm.declared",
    "sam": "pysgrld.models.sam.declared",
}


@cache
def find_model(name: str) -> Model[Any]:
    """Return the model with the given name, as typed after ``--model``.

    Parameters
    ----------
    name : str
        Name of the model.

    Returns
    -------
    Model

    Raises
    ------
    KeyError
        If no model has that name.
    """
    model: Model[Any] = import_module(MODELS[name]).MODEL
    return model


def all_models() -> list[Model[Any]]:
    """Return all models, in the order of `MODELS`."""
    return [find_model(name) for name in MODELS]


def scores() -> Iterator[Score]:
    """Yield the kind of held-out score that each model has, importing one model at a time.

    Yields
    ------
    Score
        The score of held-out documents of one model; several models may have the same score.
    """
    return (model.score for model in all_models())


def find_score(name: str) -> Score:
    """Return the kind of score that has the given name.

    Parameters
    ----------
    name : str
        Name of a score of held-out documents, such as "perplexity".

    Returns
    -------
    Score
    """
    return next(score for score in scores() if score.name == name)
