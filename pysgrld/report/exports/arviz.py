"""All stored draws of all chains in a netCDF-4 file, ``draws.nc``, for xarray and ArviZ."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from pysgrld.errors import MissingInputError, UsageError, plural
from pysgrld.evaluate.matching import assign
from pysgrld.options.paths import is_folder
from pysgrld.reading.results import Results
from pysgrld.report.exports import Exported, ExportRequest, Tell
from pysgrld.run.machine import RELEASE
from pysgrld.run.output_files import open_output
from pysgrld.types import Int64s, Key

FILE = "draws.nc"
#: Maximum size of a chunk in bytes. HDF5 requires less than 4 GiB.
_CHUNK = 1 << 30
_DRAWS = ("chain", "draw")


class _Sink(io.RawIOBase):
    """Output file for HDF5 that stores the first write error until `check` raises the error.

    An error at closing would crash HDF5.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._fd, self._at, self._end = file.fileno(), 0, 0
        self._error: OSError | None = None

    def check(self) -> None:
        """Raise the first error that occurred in writing, if any.

        Raises
        ------
        OSError
        """
        if self._error is not None:
            raise self._error

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position in the file, and return the position."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        return self._at

    def write(self, data: Any) -> int:
        """Write data, unless an earlier write failed; in any case return the length of the data."""
        rest = memoryview(data).cast("B")
        written = len(rest)
        try:
            while len(rest) and self._error is None:
                done = os.pwrite(self._fd, rest, self._at + written - len(rest))
                rest = rest[done:]
        except OSError as error:
            self._error = error
        self._at += written
        self._end = max(self._end, self._at)
        return written

    def readinto(self, room: Any) -> int:
        """Read bytes from the current position into a buffer."""
        os.preadv(self._fd, [room], self._at)
        self._at += len(room)
        return len(room)

    def truncate(self, size: int | None = None) -> int:
        """Set the length of the file, by default to the current position."""
        self._end = self._at if size is None else size
        try:
            if self._error is None:
                os.ftruncate(self._fd, self._end)
        except OSError as error:
            self._error = error
        return self._end


def files(results: Results, request: ExportRequest) -> list[str]:
    """Return the name of the output file.

    Raises
    ------
    MissingInputError
        If the library is not installed, or no iteration has a kept draw in every chain.
    UsageError
        If the run takes no draws from the posterior.
    """
    _library()
    first, chains = results, results.chains
    if not first.fitted.draws:
        raise UsageError(
            f"{first.path}: {first.no_samples}, so no draws can be written; choose another --to"
        )
    if not _steps(chains):
        who = "the run has no posterior samples yet"
        if len(chains) > 1:
            who = "the chains have no posterior samples of the same iteration yet"
        raise MissingInputError(f"{first.path}: {who}; train longer with --set samples=200")
    return [FILE]


def write(results: Results, request: ExportRequest, tell: Tell) -> Exported:
    """Write the draws of all chains one at a time, with topics in a common order if requested."""
    target, first, chains, notes = request.folder / FILE, results, results.chains, []
    steps, matched = _steps(chains), not first.fitted.no_mean and first.fitted.likeness is not None
    order, words = _topics_and_words(chains, request) if matched else ([], np.empty(0, np.int64))
    if len({chain.seed for chain in chains}) > 1:
        notes.append(
            "log probabilities are not written, because chains with different --seed hold out "
            "different documents"
        )
    with open_output(target) as whole:
        sink = _Sink(whole)
        with _library().File(sink, "w") as file:
            file.attrs["inference_library"] = "sgmc"
            file.attrs["inference_library_version"] = RELEASE
            file.attrs["sampler"] = first.options.algo
            _write_draws(file, sink, chains, request, steps, order, words, tell, scored=not notes)
            counts = first.word_counts()
            if counts is not None:
                ids = words if matched else np.arange(len(counts))
                group = file.create_group("constant_data")
                _set_words(group, first, ids)
                group.create_variable("word_counts", ("word",), data=counts[ids])
        sink.check()
    shape = f"{plural(len(chains), 'chain')} of {plural(len(steps), 'draw')}"
    if first.fitted.samples > len(steps):
        n_samples = plural(first.fitted.samples, "sample")
        shape += (
            f" (of {n_samples}; set the number of stored samples with --set samples=N in training)"
        )
    if first.fitted.no_mean:
        shape += f", without topics: {first.fitted.no_mean}"
    else:
        topics = plural(first.fitted.layers[request.at], "topic")
        shape += f", {topics}, {plural(len(words), 'word')}"
    return Exported(target, shape, tuple(notes))


def _library() -> Any:
    try:
        import h5netcdf
        import h5py  # noqa: F401 - which h5netcdf writes with
    except ImportError:
        raise MissingInputError("writing netCDF needs h5netcdf: pip install h5netcdf") from None
    return h5netcdf


def _steps(chains: Sequence[Results]) -> list[int]:
    """Return the iterations for which every chain has a stored sample."""
    return sorted(set.intersection(*(set(results.kept()) for results in chains)))


def _topics_and_words(
    chains: Sequence[Results], request: ExportRequest
) -> tuple[list[Int64s], Int64s]:
    """Return the order of each chain's topics, and the ids of the words to write.

    With ``align``, topics of each chain have the order of the first chain's topics.
    """
    likeness, layer = chains[0].fitted.likeness, request.at
    assert likeness is not None
    k, v = chains[0].fitted.layers[layer], len(chains[0].vocabulary)
    first_mean, order, top = None, [], []
    for results in chains:
        phi = results.phi(layer)
        mean = np.ascontiguousarray(phi[:, :k].T)
        if first_mean is None:
            first_mean = mean
        aligned = request.align and mean is not first_mean
        order.append(assign(likeness.similarity(first_mean, mean)) if aligned else np.arange(k))
        if request.top:
            top.append(results.top(min(request.top, v), layer))
    return order, np.unique(np.concatenate(top)) if top else np.arange(v)


def _write_draws(
    file: Any,
    sink: _Sink,
    chains: Sequence[Results],
    request: ExportRequest,
    steps: list[int],
    order: list[Int64s],
    words: Int64s,
    tell: Tell,
    *,
    scored: bool,
) -> None:
    """Write topics, other quantities and held-out log probabilities of each draw."""
    posterior, statistics = file.create_group("posterior"), file.create_group("sample_stats")
    first, size = chains[0], (len(chains), len(steps))
    coordinates = {"chain": [results.chain for results in chains], "draw": steps}
    for group in (posterior, statistics):
        _set_coordinates(group, coordinates)
    phi = None
    quantities = {name: np.full(size, np.nan) for name in first.fitted.titles}
    if order:
        k, w = first.fitted.layers[request.at], len(words)
        _set_coordinates(posterior, {"topic": list(range(k))})
        _set_words(posterior, first, words)
        topics = max(1, min(k, _CHUNK // (4 * w)))
        phi = posterior.create_variable(
            "phi", (*_DRAWS, "topic", "word"), "f4", chunks=(1, 1, topics, w)
        )
        phi.attrs["long_name"] = "probability of each word in each topic"
    values = np.full(size, np.nan)
    for c, results in enumerate(chains):
        fitted = results.fitted
        held_out = results.held_out() if is_folder(results.path / "holdout") else None
        scorer = fitted.scorer(held_out) if scored and held_out is not None else None
        for s, step in enumerate(steps):
            sample = results.read_sample(step)
            if scorer is not None:
                draw = fitted.sample_to_draw(sample, scorer.words)
                key = Key(results.seed, results.chain, step)
                values[c, s] = scorer.log_probability(key, draw)
            if phi is not None:
                rows = fitted.topics_of_sample(sample, request.at)[order[c]]
                phi[c, s] = rows if len(words) == rows.shape[1] else rows[:, words]
            else:
                for name, quantity in fitted.quantities(
                    fitted.sample_to_draw(sample), held_out
                ).items():
                    quantities[name][c, s] = quantity
            sink.check()
            tell("writing draws", c * size[1] + s + 1, size[0] * size[1])
    variables = [
        (posterior, name, part, first.fitted.titles[name]) for name, part in quantities.items()
    ]
    if not np.isnan(values).all():
        unit = "document" if first.fitted.score.whole else "token"
        variables.append(
            (statistics, "log_probability", values, f"log probability, mean over held-out {unit}s")
        )
        if unit == "token":
            description = "perplexity of held-out tokens, under this draw"
            variables.append((statistics, "perplexity", np.exp(-values), description))
    for group, name, part, title in variables:
        group.create_variable(name, _DRAWS, data=part).attrs["long_name"] = title


def _set_coordinates(group: Any, coordinates: dict[str, list[int]]) -> None:
    for name, values in coordinates.items():
        group.dimensions[name] = len(values)
        group.create_variable(name, (name,), data=np.array(values, np.int64))


def _set_words(group: Any, results: Results, ids: Int64s) -> None:
    import h5py

    group.dimensions["word"] = len(ids)
    variable = group.create_variable("word", ("word",), h5py.string_dtype())
    variable[:] = np.array([results.vocabulary[i] for i in ids.tolist()], object)
