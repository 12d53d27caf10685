"""Topics as plain files that other programs read: ``topics.npy`` or ``topics.safetensors``.

What else a model has goes with them: ``weights.npy`` of a mixture, or another tensor of the same file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.errors import MissingInputError, UsageError
from pysgrld.reading.labels import LABELS
from pysgrld.reading.results import Results
from pysgrld.run import jsonio
from pysgrld.run.tensors import header_of
from pysgrld.run.whole import refuse_existing, whole_file
from pysgrld.types import Floats

DRAWS = {
    "mean": "the mean of all posterior samples",
    "last": "the current topics",
    "all": "every kept sample",
}
FORMATS = {"npy": "topics.npy", "safetensors": "topics.safetensors"}
VOCABULARY = "vocab.txt"


class Exported(NamedTuple):
    """The files that were written.

    Attributes
    ----------
    path : Path
        The file of topics; the vocabulary is beside it.
    shape : tuple of int
        (K, V), or (S, K, V) for all samples.
    samples : int
        In the mean, or in the file; 0: these are the current topics.
    """

    path: Path
    shape: tuple[int, ...]
    samples: int


def export(
    results: Results, format: str, folder: Path, draw: str, *, force: bool, at: int = 0
) -> Exported:
    """Write topics, float32 rows that sum to 1, the vocabulary of their columns, and names of topics.

    Each file appears by a rename when it is complete.

    Parameters
    ----------
    results : Results
    format : {"npy", "safetensors"}
    folder : Path
        Made if it is not there.
    draw : {"mean", "last", "all"}
        What is written; the current topics stand for the mean where there is no sample.
    force : bool
        Whether files that are there may be replaced.
    at : int
        The layer whose topics are written, counted from 0; those above the first through the layers
        below.

    Raises
    ------
    MissingInputError
        If all samples are wanted and none is kept.
    UsageError
        If all samples are wanted, and topics of different ones are not the same ones.
    OutputError
        If a file is there already, or the folder cannot be made.
    WriteError
        If the disk is full.
    """
    target = folder / FORMATS[format]
    fitted, one_file = results.fitted, format == "safetensors"
    beside = {name: array.astype("<f4") for name, array in fitted.beside().items()}
    others = [] if one_file else [f"{name}.npy" for name in beside]
    labels = results.labels if at == 0 else {}
    others += [LABELS] if labels else []
    refuse_existing([target, folder / VOCABULARY, *(folder / n for n in others)], force=force)
    k, v = results.layers[at], len(results.vocabulary)
    if draw == "all":
        if fitted.no_mean:
            raise UsageError(
                f"--draw all: {fitted.no_mean}, also in their number; "
                f"{results.path / 'samples'} has each sample as a .safetensors file"
            )
        steps = results.kept()
        if not steps:
            raise MissingInputError(
                f"{results.path}: no posterior sample is kept (yet); --draw last gives the current "
                "topics"
            )
        shape: tuple[int, ...] = (len(steps), k, v)
        samples = len(steps)
        rows: Iterator[Floats] = (results.rows_of(step, at) for step in steps)
    else:
        mean = draw == "mean"
        shape, samples = (k, v), results.samples if mean else 0
        phi = fitted.over_words(results.mean if mean else results.current, at)
        rows = (np.ascontiguousarray(column) for column in phi.T[:k])
    shapes = {"topics": shape} | {name: array.shape for name, array in beside.items()}
    described = {name: {"dtype": "F32", "shape": size} for name, size in shapes.items()}
    one_file = format == "safetensors"
    with whole_file(target) as file:
        file.write(header_of(described) if one_file else _npy_header(shape))
        for part in rows:
            file.write(part.astype("<f4", copy=False).tobytes())
        for array in beside.values() if one_file else ():
            file.write(array.tobytes())
    for name, array in beside.items() if not one_file else ():
        with whole_file(folder / f"{name}.npy") as file:
            file.write(_npy_header(array.shape) + array.tobytes())
    with whole_file(folder / VOCABULARY) as file:
        file.write("".join(f"{word}\n" for word in results.vocabulary).encode())
    if labels:
        with whole_file(folder / LABELS) as file:
            file.write(jsonio.pretty({str(k): name for k, name in labels.items()}))
    return Exported(target, shape, samples)


def _npy_header(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    return file.getvalue()
