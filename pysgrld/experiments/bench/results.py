"""Results of ``sgmc bench``, which are measured, read from a file, and compared.

Times are CPU times of one thread, as medians of several repeats; training is measured in wall time.
The results are not tested against limits, but two files of results from the same machine can be
compared.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pysgrld.core import core
from pysgrld.errors import CorpusError
from pysgrld.experiments.bench import end_to_end, kernels
from pysgrld.experiments.bench.timing import SCHEMA, machine, result_row, use_isa
from pysgrld.options.paths import read_input

#: Maximum size of a file of results in bytes.
LARGEST = 16 << 20
#: Number of timed repeats, which follow a first repeat that is not timed.
REPEATS = 5
#: Number of timed repeats in a quick benchmark.
QUICK_REPEATS = 1


def measure(
    *,
    quick: bool = False,
    isa: str | None = None,
    corpus: Path | None = None,
    threads: int | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Measure the kernels and reading, and also training if a corpus is given.

    Parameters
    ----------
    quick : bool
        Whether to measure fewer sizes once, as a check that the benchmark works, not for
        comparison.
    isa : str, optional
        Instruction set; by default the one in use.
    corpus : Path, optional
        Training corpus: any input of `open_corpus`. By default training is not measured.
    threads : int, optional
        Maximum number of threads for training; by default as many as this process may use.
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
            training = end_to_end.timings(quick, corpus, Path(scratch), threads)
            timings = [*kernels.timings(quick), *training]
            rows = []
            for done, timing in enumerate(timings):
                if tell is not None:
                    tell(done, len(timings))
                values = timing.run(QUICK_REPEATS if quick else REPEATS)
                rows.append(result_row(timing.group, timing.name, timing.unit, values))
            if tell is not None:
                tell(len(rows), len(rows))
            return {"schema": SCHEMA, "machine": machine(), "quick": quick, "rows": rows}
    finally:
        use_isa(before)


def read_results(path: Path) -> dict[str, Any]:
    """Read a file of results that `measure` has made.

    Parameters
    ----------
    path : Path
        File in JSON.

    Returns
    -------
    dict

    Raises
    ------
    MissingInputError, CorpusError
    """
    try:
        results = json.loads(read_input(path, LARGEST, "result of a bench"))
        if results["schema"] != SCHEMA:
            raise CorpusError(
                "the file was written by another version of sgmc bench, and its format "
                f"({results['schema']}) cannot be read; run sgmc bench again",
                path,
            )
        for row in results["rows"]:
            if not (isinstance(row["value"], float) and row["value"] > 0):
                raise TypeError
            _ = row["group"], row["name"], row["unit"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, CorpusError):
            raise
        raise CorpusError(
            "this file was not written by 'sgmc bench -o'; give a file of an earlier bench", path
        ) from None
    return dict(results)


def speedups(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """Return the factor by which each new result is faster than the old one.

    Parameters
    ----------
    new, old : mapping
        Results, as `measure` returns them.

    Returns
    -------
    dict
        Factors by (group, name), for the rows that both results have in the same unit.
    """
    before = {(row["group"], row["name"], row["unit"]): row["value"] for row in old["rows"]}
    factors = {}
    for row in new["rows"]:
        key = (row["group"], row["name"], row["unit"])
        if key in before:
            ratio = before[key] / row["value"]
            # Higher rates are better, but lower times are better.
            rate = row["unit"].endswith("/s")
            factors[key[:2]] = 1.0 / ratio if rate else ratio
    return factors
