"""Topics as a float32 matrix in ``topics.npy`` or ``topics.safetensors``.

Further arrays of a model are exported too, such as the weights of a mixture: as ``weights.npy``, or
as another tensor in the same file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np

from pysgrld.errors import MissingInputError, UsageError, plural
from pysgrld.reading.labels import LABELS
from pysgrld.reading.results import Results
from pysgrld.report.exports import Exported, ExportRequest, Tell, drawn_from
from pysgrld.run import jsonio
from pysgrld.run.output_files import open_output
from pysgrld.run.tensors import format_header
from pysgrld.types import Floats

VOCABULARY = "vocab.txt"


def files(results: Results, request: ExportRequest) -> list[str]:
    """Return the names of the output files: topics, vocabulary, further arrays, and topic names.

    Raises
    ------
    UsageError
        If all samples are requested, but topics do not correspond from sample to sample.
    MissingInputError
        If all samples are requested, but none is kept.
    """
    if request.draw == "all":
        if results.fitted.no_mean:
            raise UsageError(
                f"--draw all: {results.fitted.no_mean}, and vary in number; use the "
                f".safetensors file of each sample in {results.path / 'samples'}"
            )
        if not results.kept():
            raise MissingInputError(
                f"{results.path}: the run has no posterior samples yet; give --draw last for the "
                "current topics"
            )
    names = [f"topics.{request.format}", VOCABULARY]
    names += (
        [f"{name}.npy" for name in results.fitted.extra_arrays()] if request.format == "npy" else []
    )
    return names + ([LABELS] if results.given_names(request.at) else [])


def write(results: Results, request: ExportRequest, tell: Tell) -> Exported:
    """Write the topics as rows of an array, and the vocabulary, whose words name the columns."""
    layer, folder = request.at, request.folder
    fitted, one_file = results.fitted, request.format == "safetensors"
    target = folder / f"topics.{request.format}"
    extra_arrays = {name: array.astype("<f4") for name, array in fitted.extra_arrays().items()}
    k, v = results.fitted.layers[layer], len(results.vocabulary)
    if request.draw == "all":
        steps = results.kept()
        shape: tuple[int, ...] = (len(steps), k, v)
        description = plural(len(steps), "sample")
        rows: Iterator[Floats] = (results.topics_of_sample(step, layer) for step in steps)
    else:
        shape, description = (k, v), drawn_from(results, request.draw)
        phi = results.phi(layer, None if request.draw == "mean" else fitted.current)
        rows = (np.ascontiguousarray(column) for column in phi.T[:k])
    shapes = {"topics": shape} | {name: array.shape for name, array in extra_arrays.items()}
    described = {name: {"dtype": "F32", "shape": size} for name, size in shapes.items()}
    with open_output(target) as file:
        file.write(format_header(described) if one_file else _npy_header(shape))
        for done, part in enumerate(rows, 1):
            file.write(part.astype("<f4", copy=False).tobytes())
            tell("writing topics", done, shape[0])
        for array in extra_arrays.values() if one_file else ():
            file.write(array.tobytes())
    for name, array in extra_arrays.items() if not one_file else ():
        with open_output(folder / f"{name}.npy") as file:
            file.write(_npy_header(array.shape) + array.tobytes())
    with open_output(folder / VOCABULARY) as file:
        file.write("".join(f"{word}\n" for word in results.vocabulary).encode())
    labels = results.given_names(layer)
    if labels:
        with open_output(folder / LABELS) as file:
            file.write(jsonio.pretty({str(k): name for k, name in labels.items()}))
    return Exported(target, f"{' x '.join(f'{n:,}' for n in shape)}, {description}")


def _npy_header(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    return file.getvalue()
