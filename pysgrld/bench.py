"""How fast this machine is: kernels in nanoseconds, reading in megabytes, training in tokens.

Figures are CPU time of one thread, the median of several repeats, except in training with several
threads, where the wall's clock is what counts. Data are made here, from fixed seeds, in the sparse
shape that topics have; only training needs a corpus. Nothing is asserted: compare two files of
results from the same machine.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import pysgrld
from pysgrld.chain import Chain
from pysgrld.core import core, padded
from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.errors import CorpusError, MissingInputError, UsageError
from pysgrld.models import dlda
from pysgrld.models.lda import Local, local_step
from pysgrld.resources import threads
from pysgrld.samplers import SAMPLERS
from pysgrld.settings import Facts, resolve
from pysgrld.stream import Stream, compact, minibatch_words
from pysgrld.types import UNIT, Block, Documents, Floats, Key, Minibatch, Statistics

#: The layout of the results; files of another one are not compared.
SCHEMA = 1
#: Units of which less is better; of the others more is.
TIMES = ("ns/token-sweep", "ns/element", "ns/draw")
#: Timed repeats, after one that is not timed.
REPEATS, QUICK_REPEATS = 5, 1


class Row(NamedTuple):
    """One figure, once it is measured by calling ``run``.

    Attributes
    ----------
    group, name, unit : str
    run : callable (repeats) -> list of float
        The figure, a value per repeat.
    """

    group: str
    name: str
    unit: str
    run: Callable[[int], list[float]]


def measure(
    *,
    quick: bool = False,
    isa: str | None = None,
    corpus: Path | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Measure everything.

    Parameters
    ----------
    quick : bool
        Fewer sizes and one repeat: to see that it works, not to compare.
    isa : str, optional
        Instruction set; by default the one in use.
    corpus : Path, optional
        Any input of `open_corpus`, for training; training is left out where None.
    tell : callable (done, total), optional

    Returns
    -------
    dict
        ``schema``, ``machine``, ``quick`` and ``rows``: each with ``group``, ``name``, ``unit``,
        ``value`` (the median), ``low`` and ``high``.

    Raises
    ------
    UsageError
        If this machine has no such instruction set.
    """
    before = core.isa()
    use_isa(isa or before)
    try:
        with tempfile.TemporaryDirectory(prefix="sgmc-bench-") as scratch:
            rows = [*_documents(quick), *_rows(quick), *_draws(), *_reading(quick, Path(scratch))]
            if corpus is not None:
                rows += _training(quick, corpus, Path(scratch))
            return {
                "schema": SCHEMA,
                "machine": machine(),
                "quick": quick,
                "rows": list(_run(rows, QUICK_REPEATS if quick else REPEATS, tell)),
            }
    finally:
        use_isa(before)


def use_isa(name: str) -> None:
    """Choose an instruction set.

    Raises
    ------
    UsageError
        If there is none of that name here.
    """
    try:
        core.use_isa(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def machine() -> dict[str, Any]:
    """What a figure depends on: processor, instruction set, versions, how busy it was, and when."""
    count = threads(None)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "isa": core.isa(),
        "threads": count.number,
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "compiler": core.compiler,
        "pysgrld": pysgrld.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def bundled_corpus() -> Path | None:
    """The King James Bible of the repository, where that is at hand."""
    for root in (Path(__file__).parents[1], Path.cwd()):
        path = root / "data" / "docword.bible.txt.gz"
        if path.is_file():
            return path
    return None


def read(path: Path) -> dict[str, Any]:
    """Read results that `measure` gave, from a file.

    Raises
    ------
    MissingInputError, CorpusError
    """
    try:
        found = json.loads(path.read_bytes())
        if found["schema"] != SCHEMA:
            raise CorpusError(f"results of schema {found['schema']}: measure again", path)
        for row in found["rows"]:
            if not (isinstance(row["value"], float) and row["value"] > 0):
                raise TypeError
            _ = row["group"], row["name"], row["unit"]
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, CorpusError):
            raise
        raise CorpusError(
            "not what 'sgmc bench -o' writes: give a file of an earlier bench", path
        ) from None
    return dict(found)


def speedups(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """How many times as fast as before each row is, by (group, name); rows that both have."""
    before = {(row["group"], row["name"], row["unit"]): row["value"] for row in old["rows"]}
    found = {}
    for row in new["rows"]:
        key = (row["group"], row["name"], row["unit"])
        if key in before:
            ratio = before[key] / row["value"]
            found[key[:2]] = ratio if row["unit"] in TIMES else 1.0 / ratio
    return found


def _run(
    rows: list[Row], repeats: int, tell: Callable[[int, int], None] | None
) -> Iterator[dict[str, Any]]:
    for done, row in enumerate(rows):
        if tell is not None:
            tell(done, len(rows))
        values = row.run(repeats)
        yield {
            "group": row.group, "name": row.name, "unit": row.unit,
            "value": _digits(median(values)), "low": _digits(min(values)),
            "high": _digits(max(values)),
        }  # fmt: skip
    if tell is not None:
        tell(len(rows), len(rows))


def _nanoseconds(work: Callable[[int], object], units: int, repeats: int) -> list[float]:
    """CPU nanoseconds per unit of ``work(step)``; the first call warms up."""
    work(0)
    values = []
    for step in range(1, repeats + 1):
        began = time.process_time_ns()
        work(step)
        values.append(max(1, time.process_time_ns() - began) / units)
    return values


# ---- documents, given topics


def _documents(quick: bool) -> Iterator[Row]:
    for k in (100,) if quick else (50, 100, 128, 256, 500, 1000):
        for length in (50, 150):
            for sweeps in (10, 20):
                for rao_blackwell in (False, True):
                    how = "Rao-Blackwell" if rao_blackwell else "plain"
                    yield Row(
                        "documents", f"K={k}, {length} tokens, {sweeps} sweeps, {how}",
                        "ns/token-sweep",
                        _gibbs(k, length, sweeps, rao_blackwell, 100 if quick else 500),
                    )  # fmt: skip

    for layers in ((128,), (128, 64), (128, 64, 32)):
        yield Row(
            "documents", f"deep, K={'-'.join(map(str, layers))}, 50 tokens, 30 sweeps",
            "ns/token-sweep", _deep(layers, 50, 30, 50 if quick else 200),
        )  # fmt: skip


def _deep(
    layers: tuple[int, ...], length: int, sweeps: int, documents: int
) -> Callable[[int], list[float]]:
    def run(repeats: int) -> list[float]:
        phi, batch = _minibatch(layers[0], length, documents)
        rng = np.random.default_rng(1)
        parts = {"phi": phi, "r": np.zeros(padded(layers[-1]), np.float32)}
        for i in range(1, len(layers)):
            upper = core.zeros(layers[i - 1], padded(layers[i]), "float32")
            upper[:, : layers[i]] = rng.dirichlet(np.full(layers[i - 1], 0.1), layers[i]).T + 1e-6
            parts[dlda.name_of(i)] = upper
        parts["r"][: layers[-1]] = 2.0 / layers[-1]
        local = dlda.Local(
            layers=layers, hyper=dlda.Hyper(0.01, 0.01, 1.0, 1.0, "counts"), sweeps=sweeps,
            kept=sweeps // 3, held=0, flat=False, rao_blackwell=True, threads=1,
            work=core.Workspace(),
        )  # fmt: skip
        return _nanoseconds(
            lambda step: dlda.local_step(Key(1, 0, step), parts, batch, local),
            documents * length * sweeps, repeats,
        )  # fmt: skip

    return run


def _gibbs(
    k: int, length: int, sweeps: int, rao_blackwell: bool, documents: int
) -> Callable[[int], list[float]]:
    def run(repeats: int) -> list[float]:
        phi, batch = _minibatch(k, length, documents)
        local = Local(
            topics=k, alpha=min(0.1, 5.0 / k), sweeps=sweeps, kept=sweeps - sweeps // 2,
            rao_blackwell=rao_blackwell, threads=1, work=core.Workspace(),
        )  # fmt: skip
        return _nanoseconds(
            lambda step: local_step(Key(1, 0, step), {"phi": phi}, batch, local),
            documents * length * sweeps, repeats,
        )  # fmt: skip

    return run


@lru_cache(maxsize=1)  # the rows of one K and length follow each other
def _minibatch(k: int, length: int, documents: int, v: int = 8000) -> tuple[Floats, Minibatch]:
    """Documents of at most twenty topics each, and topics of which a few percent carry the mass."""
    rng = np.random.default_rng(0)
    topics = rng.gamma(0.05, size=(k, v)) + 1e-6
    topics /= topics.sum(axis=1, keepdims=True)
    indptr, indices, counts = [0], [], []
    for _ in range(documents):
        chosen = rng.choice(k, min(k, 20), replace=False)
        words = rng.choice(v, length, p=rng.dirichlet(np.full(len(chosen), 0.3)) @ topics[chosen])
        distinct, often = np.unique(words, return_counts=True)
        indices.append(distinct)
        counts.append(often)
        indptr.append(indptr[-1] + len(distinct))
    batch = compact(
        Documents(
            np.array(indptr), np.concatenate(indices).astype(np.int32),
            np.concatenate(counts).astype(np.int32),
        ),
        np.arange(documents), 1.0,
    )  # fmt: skip
    phi = core.zeros(len(batch.words), padded(k), "float32")
    phi[:, :k] = topics.T[batch.words]
    return phi, batch


# ---- topics, given documents


def _rows(quick: bool) -> Iterator[Row]:
    steps = [
        ("SCIR", "scir", 0.1),
        ("SCIR", "scir", 1.0),
        ("SGRLD", "sgrld", 0.002),
        ("TLASGR", "tlasgr", 0.1),
        ("SMLD", "smld", 1e-6),
        ("relax", None, 0.1),
    ]
    # of a minibatch's words: all where V is small, one in twenty where it is large
    sizes = [("in cache", 2000, 2000)]
    if not quick:
        sizes.append(("from memory", 100_000, 5000))
    for where, v, touched in sizes:
        for name, algo, h in steps:
            yield Row(
                "rows", f"{name}, h={h:g}, K=100, V={v:,} {where}", "ns/element",
                _steps(algo, h, 100, v, touched),
            )  # fmt: skip


def _steps(
    algo: str | None, h: float, k: int, v: int, touched: int
) -> Callable[[int], list[float]]:
    def run(repeats: int) -> list[float]:
        rng = np.random.default_rng(0)
        counts = np.zeros((touched, padded(k)), np.int64)
        # one cell in ten has counts, as the topics of words have
        some = (rng.random((touched, k)) < 0.1) * rng.gamma(0.5, 40.0, (touched, k))
        counts[:, :k] = some * UNIT
        rows = np.sort(rng.choice(v, touched, replace=False)).astype(np.int32)
        statistics = Statistics(rows, counts, 1.0 / UNIT)
        block = Block("phi", "simplex", (v, k), 0.05, 0, float(some.sum()))
        scir = SAMPLERS["scir"]
        # a transition of infinite length: the state that a chain with these counts comes to
        state = scir.init(Key(1, 0, 0), block, 1)
        state = scir.step(Key(1, 0, 0), state, statistics, block, np.inf, 1)
        step = scir.relax if algo is None else SAMPLERS[algo].step
        if algo and (begin := SAMPLERS[algo].begin):
            state = begin(state, block)
        return _nanoseconds(
            lambda t: step(Key(1, 0, t + 1), state, statistics, block, h, 1), v * k, repeats
        )

    return run


# ---- random numbers


def _draws() -> Iterator[Row]:
    for kind, name, values in (
        ("normal", "a Philox block and a normal", (0.0,)),
        ("gamma", "a Philox block and a gamma, shape {}", (0.05, 1.5, 40.0)),
        ("poisson", "a Philox block and a Poisson, mean {}", (0.05, 1.5, 40.0)),
    ):
        for value in values:
            yield Row("draws", name.format(f"{value:g}"), "ns/draw", _draw(kind, value))


def _draw(kind: str, value: float) -> Callable[[int], list[float]]:
    parameter = np.full(1 << 16, value, np.float32)
    return lambda repeats: _nanoseconds(
        lambda step: core.draw(kind, parameter, 1, step), len(parameter), repeats
    )


# ---- reading


def _reading(quick: bool, scratch: Path) -> Iterator[Row]:
    documents = 500 if quick else 5000
    yield Row("reading", "plain text", "MB/s", _read(scratch / "text", documents, _write_text))
    yield Row("reading", "UCI counts", "MB/s", _read(scratch / "uci", documents, _write_counts))


def _read(
    folder: Path, documents: int, write: Callable[[Path, int], Path]
) -> Callable[[int], list[float]]:
    def run(repeats: int) -> list[float]:
        folder.mkdir()
        path = write(folder, documents)
        size = path.stat().st_size
        times = _nanoseconds(
            lambda step: open_corpus([str(path)], CorpusOptions(), store=folder / f"store-{step}"),
            size, repeats,
        )  # fmt: skip
        return [1000.0 / t for t in times]  # a nanosecond a byte is a thousand megabytes a second

    return run


def _words(documents: int) -> Any:
    """Word numbers of documents of 150 tokens, a few words making most of the text."""
    rng = np.random.default_rng(0)
    return (20_000 * rng.random((documents, 150)) ** 3).astype(np.int64)


def _write_text(folder: Path, documents: int) -> Path:
    path = folder / "corpus.txt"
    lines = (" ".join(f"word{w}" for w in document) for document in _words(documents).tolist())
    path.write_text("\n".join(lines) + "\n")
    return path


def _write_counts(folder: Path, documents: int) -> Path:
    lines = []
    for d, document in enumerate(_words(documents), 1):
        for word, count in zip(*np.unique(document, return_counts=True), strict=True):
            lines.append(f"{d} {word + 1} {count}\n")
    (folder / "vocab.made.txt").write_text("".join(f"word{w}\n" for w in range(20_000)))
    path = folder / "docword.made.txt"
    path.write_text(f"{documents}\n20000\n{len(lines)}\n" + "".join(lines))
    return path


# ---- training, end to end


def _training(quick: bool, source: Path, scratch: Path) -> list[Row]:
    corpus = open_corpus([str(source)], CorpusOptions(), store=scratch / "corpus")
    allowed = threads(None).number
    numbers = sorted({1, *(n for n in (2, 4, 8, 16, 32, 64, 128) if n < allowed), allowed})
    k, iterations = (20, 5) if quick else (100, 30)

    def train(algo: str, number: int) -> Callable[[int], list[float]]:
        def run(repeats: int) -> list[float]:
            everything = np.arange(corpus.documents)
            words = minibatch_words(corpus, everything)
            facts = Facts(corpus.documents, corpus.words, corpus.tokens, 0, words)
            options, _ = resolve({"algo": algo, "topics": k}, facts)
            # from the first iteration on as if warmed up: the sampler is what is timed
            options["warm-up"] = 10 if not quick else 1
            stream = Stream.of(options, corpus, everything)
            chain = Chain(options, stream, corpus.words, corpus.tokens, number)
            for _ in range(options["warm-up"]):
                chain.advance()
            values = []
            for _ in range(repeats):
                began = time.perf_counter()
                tokens = sum(chain.advance().tokens for _ in range(iterations))
                values.append(tokens / (time.perf_counter() - began))
            return values

        return run

    return [
        Row("training", f"{algo}, {source.name}, K={k}, {number} thread{'s' * (number > 1)}",
            "tokens/s", train(algo, number))
        for algo in ("scir", "sgrld")
        for number in numbers
    ]  # fmt: skip


# ---- small things


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = " ".join(line.split(":", 1)[1].split())
                return f"{name}, family {_field('cpu family')} model {_field('model')}"
    except OSError:
        pass
    return platform.processor() or "unknown"


def _field(name: str) -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        left, _, right = line.partition(":")
        if left.strip() == name:
            return right.strip()
    return "unknown"


def _digits(value: float) -> float:
    """Round to four significant digits: more would be noise."""
    return float(f"{value:.4g}")
