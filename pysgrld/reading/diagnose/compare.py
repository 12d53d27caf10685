"""Comparison of chains: topics matched between them, R-hat and effective sample sizes.

Everything is read from kept posterior samples; runs may be training meanwhile. `verdict` of
pysgrld/reading/diagnose/verdict.py says it in words, docs/diagnose.md what the figures mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pysgrld.errors import CheckpointError, MismatchError, MissingInputError, UsageError, plural
from pysgrld.evaluate.convergence import FEWEST, convergence
from pysgrld.reading.diagnose.follow import KeptDraws, follow_quantities, match_topics
from pysgrld.reading.open import find_folder, open_run
from pysgrld.reading.results import Results
from pysgrld.reading.values import Diagnosis, Measure, Prediction
from pysgrld.run import chains_of
from pysgrld.run.identity import mismatch
from pysgrld.run.machine import threads as allowed_threads
from pysgrld.types import Doubles

#: Top words of a topic whose probabilities are followed.
TOP = 10
#: Remark where topics are followed by top-word samples alone.
_FEW_FULL = (
    f"fewer than {FEWEST} full samples are kept in common: nothing is told of topic weights and of "
    "what the chains predict"
)
#: Options in which chains that are compared may differ.
_OTHERS = ("--seed", "--chain-id")


class _Common(NamedTuple):
    """Iterations of samples that all chains have: those to compare, whether slim, and full ones."""

    steps: list[int]
    slim: bool
    full: list[int]


def diagnose(
    *runs: str | Path,
    top: int = TOP,
    layer: int = 1,
    burn_in: int = 0,
    threads: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Diagnosis:
    """Compare chains: which topics they share, and whether they have mixed.

    Topics of the chains are matched one to one by the probability that they share; split R-hat and
    effective sample sizes are those of rank-normalised draws. `verdict` says the findings in words,
    docs/diagnose.md what they mean.

    Parameters
    ----------
    *runs : str or path
        Runs that differ in their chain or seed only, or folders of chains (``sgmc train
        --chains``); none: the latest under ``./sgmc-runs``. One run alone is compared with itself,
        its first half with its second.
    top : int
        Top words of a topic whose probabilities are followed, at least 1.
    layer : int
        Layer of a deep model whose topics are compared, counted from 1, which is the lowest.
    burn_in : int
        Samples up to this iteration are left out.
    threads : int, optional
        Threads; by default as many as the process may use.
    tell : callable (done, total), optional
        Called with the number of samples that are read, and of all.

    Returns
    -------
    Diagnosis
        Matched topics with their R-hat, or quantities that need no matching; how well each chain
        predicts held-out documents; known faults of the sampler.

    Raises
    ------
    MissingInputError
        If there is no such run, or there are fewer than four samples that all chains have kept.
    MismatchError
        If the runs differ in more than chain and seed.
    UsageError
        If two of them are the same chain, there is no such layer, or there are no posterior samples
        because the algorithm is an approximation.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Rank-normalization, folding, and localization:
    an improved R-hat, eq. (4), of ranks; effective sample sizes as there, in bulk and in 5 % tails.
    """
    found = [open_run(path, allowed_threads(threads).number) for path in _paths(runs)]
    _check_same(found)
    at = found[0].at(layer)
    while True:
        common = _common(found, burn_in, at)
        try:
            return _compare(found, common, top, at, tell)
        except MissingInputError:  # a run that is training has thinned its samples meanwhile
            if _common(found, burn_in, at) == common:
                raise


def _compare(
    found: Sequence[Results], common: _Common, top: int, at: int, tell: Callable[[int, int], None]
) -> Diagnosis:
    """Compare the draws of some iterations, topics of a layer counted from 0."""
    run, notes = _documents(found)
    steps, slim, full = common
    if len(full) < FEWEST:
        run, notes, full = None, (*notes, _FEW_FULL), []
    draws = KeptDraws(found, steps, slim, full, None if run is None else run.held_out(), tell)
    first = found[0]
    if first.fitted.likeness is None:
        compared = follow_quantities(draws)
    else:
        compared = match_topics(draws, first.fitted.likeness, top, at)
    traces = prediction = None
    if run is not None and not notes:
        traces = compared.log_probability
        prediction = Prediction(
            tuple(traces.mean(axis=1).tolist()),
            Measure.at(convergence(traces[:, :, None]), 0),
            tuple(float(convergence(trace[None, :, None]).rhat[0]) for trace in traces),
        )
    return Diagnosis(
        runs=tuple(r.path for r in found),
        algo=first.options.algo,
        model=first.options.model,
        layer=at + 1,
        iterations=tuple(steps),
        kept=tuple(len(_steps(r, slim=slim)) for r in found),
        last=tuple(max(_steps(r, slim=slim)) for r in found),
        topics=compared.topics,
        prediction=prediction,
        moved=compared.moved,
        noise=first.fitted.noise(steps[-1]),
        contraction=_contraction(first, compared.shares),
        slow_tails=first.fitted.slow_tails,
        traces=traces,
        notes=notes,
        quantities=compared.quantities,
        noun=first.fitted.noun,
        unit="document" if first.score.whole else "token",
        slim=slim,
        traced=tuple(full),
        faithful=first.fitted.faithful(steps[-1]),
        remedy=first.fitted.remedy(),
    )


def _contraction(first: Results, shares: Doubles | None) -> tuple[float, ...]:
    """Give the contraction of each topic's steps at the newest checkpoint, where it is known."""
    if shares is None:
        return ()
    try:
        return first.fitted.contraction(shares)
    except CheckpointError:  # none was written yet: samples may be there all the same
        return ()


# ---- which runs, which samples


def _paths(runs: Sequence[str | Path]) -> list[Path]:
    paths = []
    for name in runs or (None,):
        path = find_folder(None if name is None else str(name), chains=True)
        paths += chains_of(path) or [path]
    return paths


def _check_same(found: Sequence[Results]) -> None:
    """Refuse runs that are not chains of one configuration, and a chain that is named twice."""
    first = found[0]
    for run in found:
        if not run.fitted.draws:
            raise UsageError(
                f"{run.path}: {run.options.algo} approximates the posterior and draws nothing "
                "from it: there are no samples to compare; train with an --algo that samples"
            )
    seen: dict[tuple[int, int], Results] = {}
    had = {n: v for n, v in first.run.identity.fields.items() if n not in _OTHERS}
    for other in found:
        fields = {n: v for n, v in other.run.identity.fields.items() if n not in _OTHERS}
        if fields != had or other.vocabulary != first.vocabulary:
            if fields == had:
                fields, had = {"words": "others"}, {"words": "some"}
            raise MismatchError(
                mismatch(
                    f"{first.path} and {other.path}: are not chains of one configuration and corpus; "
                    "only --seed and --chain-id may differ:",
                    had,
                    fields,
                )
            )
        twin = seen.setdefault((other.seed, other.chain), other)
        if twin is not other:
            raise UsageError(
                f"{twin.path} and {other.path}: are the same chain (seed {other.seed}, chain "
                f"{other.chain + 1}), with the same draws; give each one another --chain-id"
            )


def _steps(results: Results, *, slim: bool) -> list[int]:
    return results.slim_kept() if slim else results.kept()


def _common(found: Sequence[Results], burn_in: int, at: int) -> _Common:
    """Find the samples that all have kept, the same stage of every chain: the full ones, or the slim.

    Slim ones, where there are more; they tell of the lowest layer alone.
    """

    def kept_by_all(*, slim: bool) -> tuple[list[set[int]], list[int]]:
        kept = [{step for step in _steps(r, slim=slim) if step > burn_in} for r in found]
        return kept, sorted(set.intersection(*kept))

    kept, full = kept_by_all(slim=False)
    slim = kept_by_all(slim=True)[1] if at == 0 else []
    if len(slim) >= FEWEST and len(slim) > len(full):
        return _Common(slim, True, full)
    if len(full) < FEWEST:
        each = ", ".join(f"{r.path.name} {len(k)}" for r, k in zip(found, kept, strict=True))
        who = "it has kept" if len(found) == 1 else "the chains have kept in common"
        raise MissingInputError(
            f"{found[0].path}: {who} {plural(len(full), 'posterior sample')} ({each}): at least "
            f"{FEWEST} are needed, better 100; train longer, with --samples above 0"
        )
    return _Common(full, False, full)


def _documents(found: Sequence[Results]) -> tuple[Results | None, tuple[str, ...]]:
    """Give the run whose held-out documents all are scored on, if any, and notes on what is missing."""
    first = found[0]
    if not (first.path / "holdout").is_dir():
        return None, (
            "the runs hold no documents out: nothing is told of topic weights and of what "
            "the chains predict",
        )
    same = first.options.observed_corpus or len({r.seed for r in found}) == 1
    if same:
        return first, ()
    return first, (
        "runs of different --seed hold out different documents, and train on each other's: what "
        "they predict is not compared; give chains one seed and different --chain-id",
    )
