"""Threads by scikit-learn's `n_jobs`, and memory, that an estimator may use."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysgrld.errors import UsageError
from pysgrld.models.protocol import Extent
from pysgrld.models.table import model_of
from pysgrld.options.option import Facts, Resolved
from pysgrld.run.machine import MOST, allowed_memory, threads
from pysgrld.types import Documents


def jobs(n_jobs: Any) -> int:
    """Give the number of threads that `n_jobs` means, as scikit-learn counts them.

    Parameters
    ----------
    n_jobs : int or None
        A number of threads; -1 for all processors, -2 for all but one, and so on; None for what the
        environment says, else all.

    Raises
    ------
    UsageError
        A `ValueError`, if it is 0 or no whole number.
    """
    if n_jobs is None:
        return threads(None).number
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise UsageError(
            f"n_jobs: wanted a number of threads, or -1 for all processors, found {n_jobs!r}"
        )
    if n_jobs > 0:
        return threads(min(int(n_jobs), MOST)).number
    return max(1, threads(None, {}).number + 1 + int(n_jobs))


def check_memory(
    options: Resolved, facts: Facts, documents: Documents, number: int, kept: int = 0
) -> None:
    """Refuse a model that needs more memory than this process may use.

    Parameters
    ----------
    options : Resolved
    facts : Facts
    documents : Documents
        That it is begun on.
    number : int
        Threads.
    kept : int
        Posterior samples that are kept.

    Raises
    ------
    UsageError
        A `ValueError` that says how much.
    """
    distinct = int(np.diff(documents.indptr).max(initial=0))
    extent = Extent(distinct, int(documents.lengths.max(initial=0)), number, None)
    need = sum(model_of(options.model).memory(options, facts, extent).values())
    need += (samples := kept * facts.words * sum(options.widths[:1]) * 4)
    allowed = allowed_memory()
    if allowed is not None and need > allowed:
        raise UsageError(
            f"X has {facts.words} features: topics over so many need about {need / 2**30:,.1f} GB of "
            f"memory, and {allowed / 2**30:,.1f} GB may be used; take fewer topics or features"
            + (f", or keep fewer samples ({samples / 2**30:,.1f} GB)" if samples else "")
        )
