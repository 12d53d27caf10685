"""The measurements of `sgmc bench`: measure every figure, read earlier results, compare the two.

Figures are CPU time of one thread, the median of several repeats, except in training with several
threads, where the wall's clock is what counts. Nothing is asserted: compare two files of results
from the same machine.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from pysgrld.core import core
from pysgrld.errors import CorpusError, MissingInputError
from pysgrld.experiments.bench import end_to_end, kernels, reading
from pysgrld.experiments.bench.machine import machine, use_isa
from pysgrld.experiments.bench.timing import Timing

#: The layout of the results; files of another one are not compared.
SCHEMA = 1
#: Timed repeats, after one that is not timed.
REPEATS, QUICK_REPEATS = 5, 1


def measure(
    *,
    quick: bool = False,
    isa: str | None = None,
    corpus: Path | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Measure kernels, reading, and training where there is a corpus.

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
            rows = [*kernels.timings(quick), *reading.timings(quick, Path(scratch))]
            if corpus is not None:
                rows += end_to_end.timings(quick, corpus, Path(scratch))
            return {
                "schema": SCHEMA,
                "machine": machine(),
                "quick": quick,
                "rows": list(_run(rows, QUICK_REPEATS if quick else REPEATS, tell)),
            }
    finally:
        use_isa(before)


def read_results(path: Path) -> dict[str, Any]:
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
    """Compare two results: how many times as fast each row has become.

    Returns
    -------
    dict
        By (group, name), of the rows that both results have in the same unit.
    """
    before = {(row["group"], row["name"], row["unit"]): row["value"] for row in old["rows"]}
    found = {}
    for row in new["rows"]:
        key = (row["group"], row["name"], row["unit"])
        if key in before:
            ratio = before[key] / row["value"]
            rate = row["unit"].endswith("/s")  # of these more is better, of times less
            found[key[:2]] = 1.0 / ratio if rate else ratio
    return found


def _run(
    rows: list[Timing], repeats: int, tell: Callable[[int, int], None] | None
) -> Iterator[dict[str, Any]]:
    for done, row in enumerate(rows):
        if tell is not None:
            tell(done, len(rows))
        yield figure(row.group, row.name, row.unit, row.run(repeats))
    if tell is not None:
        tell(len(rows), len(rows))


def figure(group: str, name: str, unit: str, values: list[float]) -> dict[str, Any]:
    """Give a row of results: the median of the values of all repeats, and their range."""
    return {
        "group": group,
        "name": name,
        "unit": unit,
        "value": _digits(median(values)),
        "low": _digits(min(values)),
        "high": _digits(max(values)),
    }


def _digits(value: float) -> float:
    """Round to four significant digits: more would be noise."""
    return float(f"{value:.4g}")
