"""Whether chains of a mixture tell the same: by what does not depend on names of components.

Components of one draw are not those of the next, so none can be followed. What every draw has is how
large its components are, whatever they are called, which documents it puts together, and how it predicts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.evaluate.convergence import convergence
from pysgrld.evaluate.split import HeldOut
from pysgrld.findings import Diagnosis, Measure, Prediction, Quantity
from pysgrld.results import Results
from pysgrld.types import Doubles, Key

#: Names of the quantities, and what a person reads; docs/diagnose.md says what they are.
TITLES = {
    "components": "components of a document or more",
    "effective": "effective components",
    "first": "largest weight",
    "second": "second weight",
    "third": "third weight",
    "together": "a document and the next together",
}
#: Held-out documents, at most, of which each is asked whether it is with the next.
NEIGHBOURS = 2000


def compare(
    found: Sequence[Results], steps: Sequence[int], held_out: HeldOut | None,
    notes: tuple[str, ...], tell: Callable[[int, int], None],
) -> Diagnosis:  # fmt: skip
    """Compare the draws of some iterations of runs that are chains of one configuration.

    Parameters
    ----------
    found : sequence of Results
    steps : sequence of int
        Iterations whose samples all have kept.
    held_out : HeldOut or None
        Documents that all are scored on.
    notes : tuple of str
        Why predictions are not compared, if they are not.
    tell : callable
        Told how many of all samples are done.
    """
    total, done = len(found) * len(steps), itertools.count(1)
    series = [_series(r, steps, held_out, lambda: tell(next(done), total)) for r in found]
    draws = np.stack([s.quantities for s in series])
    names = [n for n in TITLES if held_out is not None or n != "together"]
    measured = convergence(draws)
    traces = prediction = None
    if held_out is not None and not notes:
        traces = np.stack([s.log_density for s in series])
        prediction = Prediction(
            tuple(traces.mean(axis=1).tolist()),
            Measure.at(convergence(traces[:, :, None]), 0),
            tuple(float(convergence(trace[None, :, None]).rhat[0]) for trace in traces),
        )
    first = found[0]
    return Diagnosis(
        runs=tuple(r.path for r in found),
        algo=first.options["algo"],
        model=first.options["model"],
        layer=1,
        iterations=tuple(steps),
        kept=tuple(len(r.kept()) for r in found),
        last=tuple(max(r.kept()) for r in found),
        topics=(),
        prediction=prediction,
        moved=(),
        noise=first.noise_inflation(steps[-1]) if first.options["algo"] == "scir" else None,
        contraction=(),
        slow_tails=False,
        traces=traces,
        notes=notes,
        quantities=tuple(
            Quantity(
                name, TITLES[name], tuple(draws[:, :, i].mean(axis=1).tolist()),
                Measure.at(measured, i),
            )
            for i, name in enumerate(names)
        ),
    )  # fmt: skip


class _Series(NamedTuple):
    """Draws of one chain: the quantities (N, Q), log density of a document (N,)."""

    quantities: Doubles
    log_density: Doubles


def _series(
    results: Results, steps: Sequence[int], held_out: HeldOut | None, tell: Callable[[], None]
) -> _Series:
    rows, densities = [], np.full(len(steps), np.nan)
    scorer = None if held_out is None else results.scorer(held_out)
    documents = results.run.config["corpus"]["training_documents"]
    if held_out is not None:
        ids = np.arange(min(NEIGHBOURS, len(held_out.held_out)))
        neighbours = held_out.held_out.take(ids)
    for i, step in enumerate(steps):
        matrices = results.run.read_sample(step)
        w = matrices["w"][0, :-1].astype(np.float64)
        row = [float((w * documents >= 1.0).sum()), _effective(w)]
        row += np.sort(np.append(w, np.zeros(3)))[::-1][:3].tolist()
        if scorer is not None and held_out is not None:
            some = matrices | {"phi": matrices["phi"][:, scorer.words]}
            key = Key(results.seed, results.chain, step)
            densities[i] = -scorer.point(key, results.parts_of(some))
            p = results.proportions(results.parts_of(matrices), neighbours, ids)
            row.append(float((p[:-1] * p[1:]).sum(axis=1).mean()))
        rows.append(row)
        tell()
    return _Series(np.array(rows), densities)


def _effective(w: Doubles) -> float:
    """Exponential of the entropy of weights: as many equal components would have it."""
    p = w[w > 0] / w.sum()
    return float(np.exp(-(p * np.log(p)).sum()))
