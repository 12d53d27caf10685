"""Topics as plain files that other programs read: ``topics.npy`` or ``topics.safetensors``.

A mixture's weights go with them: ``weights.npy``, or another tensor of the same file.
"""

from __future__ import annotations

import io
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from pysgrld.errors import MissingInputError, OutputError, UsageError, WriteError
from pysgrld.results import Results
from pysgrld.scores import score_of
from pysgrld.types import Floats

DRAWS = {
    "mean": "the mean of all posterior samples",
    "last": "the current topics",
    "all": "every kept sample",
}
FORMATS = {"npy": "topics.npy", "safetensors": "topics.safetensors"}
VOCABULARY = "vocab.txt"


class Exported(NamedTuple):
    """What was written.

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
    results: Results, format: str, folder: Path, draw: str, *, force: bool, layer: int = 0
) -> Exported:
    """Write topics, float32 rows that sum to 1, and the vocabulary of their columns.

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
    layer : int
        Whose topics, counted from 0; those above the first through the layers below.

    Raises
    ------
    MissingInputError
        If all samples are wanted and none is kept.
    UsageError
        If all samples are wanted of a mixture.
    OutputError
        If a file is there already, or the folder cannot be made.
    WriteError
        If the disk is full.
    """
    target = folder / FORMATS[format]
    others = [] if format == "safetensors" else [f"{name}.npy" for name in results.beside_topics()]
    refuse_existing([target, folder / VOCABULARY, *(folder / n for n in others)], force=force)
    k, v = results.layers[layer], len(results.vocabulary)
    if draw == "all":
        if score_of(results.options).whole:
            raise UsageError(
                f"--draw all: {results.no_mean}, also in their number; "
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
        rows: Iterator[Floats] = (results.sample_over_words(step, layer) for step in steps)
    else:
        topics = results.mean if draw == "mean" else results.current()
        shape, samples = (k, v), topics.samples
        phi = results.over_words(topics.parts, layer)
        rows = (np.ascontiguousarray(column) for column in phi.T[:k])
    beside = {name: array.astype("<f4") for name, array in results.beside_topics().items()}
    shapes = {"topics": shape} | {name: array.shape for name, array in beside.items()}
    one_file = format == "safetensors"
    with whole_file(target) as file:
        file.write(_safetensors_header(shapes) if one_file else _npy_header(shape))
        for part in rows:
            file.write(part.astype("<f4", copy=False).tobytes())
        for array in beside.values() if one_file else ():
            file.write(array.tobytes())
    for name, array in beside.items() if not one_file else ():
        with whole_file(folder / f"{name}.npy") as file:
            file.write(_npy_header(array.shape) + array.tobytes())
    with whole_file(folder / VOCABULARY) as file:
        file.write("".join(f"{word}\n" for word in results.vocabulary).encode())
    return Exported(target, shape, samples)


def _npy_header(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


def _safetensors_header(shapes: Mapping[str, tuple[int, ...]]) -> bytes:
    entries, begin = {}, 0
    for name, shape in shapes.items():
        end = begin + 4 * int(np.prod(shape, dtype=np.int64))
        entries[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


# ---- files that appear when they are complete


def refuse_existing(paths: list[Path], *, force: bool) -> None:
    """Refuse to write over what is there, unless that is wanted.

    Raises
    ------
    OutputError
    """
    for path in paths:
        if path.is_dir():
            raise OutputError(f"{path}: is a folder; name a file")
        if not force and os.path.lexists(path):
            raise OutputError(f"{path}: is there already; --force replaces it")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file under another name; it is renamed when it is complete, removed on any error.

    Raises
    ------
    OutputError
        If it cannot be created.
    WriteError
        If writing fails; what was there before is intact.
    """
    temporary = path.with_name(f".{path.name}.tmp-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = temporary.open("xb")
    except OSError as error:
        raise OutputError(f"{path}: cannot be created: {error.strerror or error}") from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise WriteError(
            f"{path}: cannot be written: {error.strerror or error}; free space and try again"
        ) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
