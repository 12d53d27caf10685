"""All kept draws of all chains as one file of netCDF-4, ``draws.nc``, which xarray and ArviZ open."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from pysgrld.errors import MissingInputError, UsageError, plural
from pysgrld.evaluate.matching import assign
from pysgrld.reading.results import Results
from pysgrld.report.exports.request import Exported, ExportRequest, Tell, module_for
from pysgrld.run.machine import version
from pysgrld.run.whole import whole_file
from pysgrld.types import Array, Doubles, Floats, Int64s, Key

FILE = "draws.nc"
#: Bytes of a chunk, at most: HDF5 allows less than 4 GiB.
_CHUNK = 1 << 30
_DRAWS = ("chain", "draw")


class _Sink:
    """An open file whose first error is kept for `check`: HDF5 does not survive one while it closes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._fd, self._at, self._end = file.fileno(), 0, 0
        self._error: OSError | None = None

    def check(self) -> None:
        """Raise the error that there was.

        Raises
        ------
        OSError
        """
        if self._error is not None:
            raise self._error

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        return self._at

    def tell(self) -> int:
        """Give the place."""
        return self._at

    def write(self, data: Any) -> int:
        """Write; after an error nothing is written, and all is said to be."""
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

    def read(self, size: int) -> bytes:
        """Read back what was written."""
        room = bytearray(size)
        self.readinto(room)
        return bytes(room)

    def readinto(self, room: Any) -> int:
        """Read back what was written."""
        os.preadv(self._fd, [room], self._at)
        self._at += len(room)
        return len(room)

    def truncate(self, size: int) -> int:
        """Give the file a length."""
        try:
            if self._error is None:
                os.ftruncate(self._fd, size)
        except OSError as error:
            self._error = error
        self._end = size
        return size

    def flush(self) -> None:
        """Hold nothing back: nothing is."""


class _Plan(NamedTuple):
    """The draws that all chains have, the topics of each chain in order, and the words."""

    steps: list[int]
    order: list[Int64s]
    words: Int64s


def files(chains: Sequence[Results], asked: ExportRequest) -> list[str]:
    """Name the file.

    Raises
    ------
    MissingInputError
        If the library is not there, or chains have no draw in common.
    UsageError
        If the run draws nothing from the posterior.
    """
    _library()
    first = chains[0]
    if not first.fitted.draws:
        raise UsageError(f"{first.path}: {first.no_samples}: there are no draws to write")
    if not _steps(chains):
        who = "no posterior sample is kept (yet)"
        if len(chains) > 1:
            who = "its chains have kept no posterior sample of the same iteration (yet)"
        raise MissingInputError(f"{first.path}: {who}; train longer, with --samples above 0")
    return [FILE]


def write(chains: Sequence[Results], asked: ExportRequest, tell: Tell) -> Exported:
    """Write the draws, one after the other; topics of further chains in the order of the first's."""
    target, notes = asked.folder / FILE, []
    plan = _plan(chains, asked)
    if len({results.seed for results in chains}) > 1:
        notes.append(
            "chains of different --seed hold out different documents: no log probabilities"
        )
    with whole_file(target) as whole:
        sink = _Sink(whole)
        with _library().File(sink, "w") as file:
            file.attrs["inference_library"] = "sgmc"
            file.attrs["inference_library_version"] = version()
            file.attrs["sampler"] = chains[0].options.algo
            _write_draws(file, chains, asked, plan, tell, sink, scored=not notes)
            _write_counts(file, chains[0], plan)
        sink.check()
    shape = f"{plural(len(chains), 'chain')} of {plural(len(plan.steps), 'draw')}"
    if chains[0].samples > len(plan.steps):
        of = plural(chains[0].samples, "sample")
        shape += f" (of {of} these are kept; --samples of training says how many)"
    if chains[0].fitted.no_mean:
        return Exported(
            target, f"{shape}, quantities alone: {chains[0].fitted.no_mean}", tuple(notes)
        )
    k, words = chains[0].layers[asked.at], len(plan.words)
    return Exported(target, f"{shape}, {plural(k, 'topic')}, {plural(words, 'word')}", tuple(notes))


def _library() -> Any:
    try:
        import h5netcdf
        import h5py  # noqa: F401 - which h5netcdf writes with
    except ImportError:
        raise module_for("h5netcdf", "arviz", "writing netCDF") from None
    return h5netcdf


def _steps(chains: Sequence[Results]) -> list[int]:
    """Give the iterations of which all chains have kept a full sample."""
    return sorted(set.intersection(*(set(results.kept()) for results in chains)))


def _plan(chains: Sequence[Results], asked: ExportRequest) -> _Plan:
    first, at = chains[0], asked.at
    steps = _steps(chains)
    likeness = first.fitted.likeness
    if first.fitted.no_mean or likeness is None:
        return _Plan(steps, [], np.empty(0, np.int64))
    k, v = first.layers[at], len(first.vocabulary)
    means = (_mean(results, at) for results in chains)
    own = next(means)
    order, top = [np.arange(k)], [first.top(min(asked.top, v), at)] if asked.top else []
    for results, mean in zip(chains[1:], means, strict=True):
        matched = assign(likeness.similarity(own, mean)) if asked.align else np.arange(k)
        order.append(matched)
        if asked.top:
            top.append(results.top(min(asked.top, v), at))
    words = np.unique(np.concatenate(top)) if top else np.arange(v)
    return _Plan(steps, order, words)


def _mean(results: Results, at: int) -> Floats:
    phi = results.fitted.over_words(results.mean, at)
    return np.ascontiguousarray(phi[:, : results.layers[at]].T)


def _write_draws(
    file: Any,
    chains: Sequence[Results],
    asked: ExportRequest,
    plan: _Plan,
    tell: Tell,
    sink: _Sink,
    *,
    scored: bool,
) -> None:
    """Write topics, or quantities, of each draw, and what it gives held-out documents."""
    posterior, statistics = file.create_group("posterior"), file.create_group("sample_stats")
    first, size = chains[0], (len(chains), len(plan.steps))
    coordinates = {"chain": [results.chain for results in chains], "draw": plan.steps}
    for group in (posterior, statistics):
        _set_coordinates(group, coordinates)
    phi = None
    quantities = {name: np.full(size, np.nan) for name in first.fitted.titles}
    if plan.order:
        k, w = first.layers[asked.at], len(plan.words)
        _set_coordinates(posterior, {"topic": list(range(k))})
        _set_words(posterior, [first.vocabulary[i] for i in plan.words.tolist()])
        topics = max(1, min(k, _CHUNK // (4 * w)))
        phi = posterior.create_variable(
            "phi", (*_DRAWS, "topic", "word"), "f4", chunks=(1, 1, topics, w)
        )
        phi.attrs["long_name"] = "topics over words"
    values = np.full(size, np.nan)
    for c, results in enumerate(chains):
        for s, (sample, value) in enumerate(_scored(results, plan.steps, scored=scored)):
            values[c, s] = value
            if phi is not None:
                rows = results.fitted.rows_of(sample, asked.at)[plan.order[c]]
                phi[c, s] = rows if len(plan.words) == rows.shape[1] else rows[:, plan.words]
            else:
                for name, found in _quantities(results, sample).items():
                    quantities[name][c, s] = found
            sink.check()
            tell("writing draws", c * size[1] + s + 1, size[0] * size[1])
    for name, drawn in quantities.items():
        _set(posterior, name, drawn, first.fitted.titles[name])
    if not np.isnan(values).all():
        unit = "document" if first.score.whole else "token"
        _set(statistics, "log_probability", values, f"mean of a held-out {unit}")
        if unit == "token":
            _set(statistics, "perplexity", np.exp(-values), "of held-out tokens, under this draw")


def _scored(
    results: Results, steps: Sequence[int], *, scored: bool
) -> Iterator[tuple[dict[str, Array], float]]:
    """Read samples, and give each the log probability that it gives the run's held-out documents."""
    there = scored and (results.path / "holdout").is_dir()
    scorer = results.fitted.scorer(results.held_out()) if there else None
    for step in steps:
        sample, value = results.read_sample(step), float("nan")
        if scorer is not None:
            draw = results.fitted.draw_of(sample, scorer.words)
            value = scorer.log_probability(Key(results.seed, results.chain, step), draw)
        yield sample, value


def _quantities(results: Results, sample: dict[str, Array]) -> dict[str, float]:
    held_out = results.held_out() if (results.path / "holdout").is_dir() else None
    return results.fitted.quantities(results.fitted.draw_of(sample), held_out)


def _write_counts(file: Any, results: Results, plan: _Plan) -> None:
    """Write how often each word is in training, where that is known."""
    counts = results.word_counts()
    if counts is None:
        return
    words = plan.words if plan.order else np.arange(len(counts))
    group = file.create_group("constant_data")
    _set_words(group, [results.vocabulary[i] for i in words.tolist()])
    group.create_variable("word_counts", ("word",), data=counts[words])


def _set(group: Any, name: str, values: Doubles, title: str) -> None:
    group.create_variable(name, _DRAWS, data=values).attrs["long_name"] = title


def _set_coordinates(group: Any, coordinates: dict[str, list[int]]) -> None:
    for name, values in coordinates.items():
        group.dimensions[name] = len(values)
        group.create_variable(name, (name,), data=np.array(values, np.int64))


def _set_words(group: Any, words: Sequence[str]) -> None:
    import h5py

    group.dimensions["word"] = len(words)
    variable = group.create_variable("word", ("word",), h5py.string_dtype())
    variable[:] = np.array(words, object)
