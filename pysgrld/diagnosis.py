"""Whether chains tell the same: topics matched between them, R-hat and effective sample sizes.

Everything is read from kept posterior samples; runs may be training meanwhile. `verdict` of
pysgrld/verdicts.py says it in words, docs/diagnose.md what the figures mean.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld import mixture_diagnosis
from pysgrld.errors import CheckpointError, MismatchError, MissingInputError, UsageError
from pysgrld.evaluate import Completion
from pysgrld.evaluate.convergence import FEWEST, convergence
from pysgrld.evaluate.matching import affinity, assign, overlap
from pysgrld.findings import Diagnosis, MatchedTopic, Measure, Prediction, TopWord
from pysgrld.mixture_results import MixtureResults
from pysgrld.opened import opened
from pysgrld.resources import threads as allowed_threads
from pysgrld.results import Results, find
from pysgrld.run import chains_of
from pysgrld.run.identity import mismatch
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Doubles, Floats, Int64s, Key

#: Top words of a topic whose probabilities are followed.
TOP = 10
#: Options in which chains that are compared may differ.
_OTHERS = ("--seed", "--chain-id")
#: A topic has another's place in the second half of a chain if it is nearer to it by this much.
_MOVED = 0.1


def diagnose(
    *runs: str | Path, top: int = TOP, layer: int = 1, burn_in: int = 0,
    threads: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Diagnosis:  # fmt: skip
    """Compare chains: which topics they share, and whether they have mixed.

    Parameters
    ----------
    *runs : str or path
        Runs that differ in their chain or seed only, or folders of chains (``sgmc train
        --chains``); none: the latest under ``./sgmc-runs``. One run alone is compared with itself,
        its first half with its second.
    top : int
        Top words of a topic whose probabilities are followed.
    layer : int
        Of a deep model, the lowest is 1.
    burn_in : int
        Samples up to this iteration are left out.
    threads : int, optional
    tell : callable, optional
        Told how many of all samples are done.

    Returns
    -------
    Diagnosis

    Raises
    ------
    MissingInputError
        If there is no such run, or there are fewer than four samples that all chains have kept.
    MismatchError
        If the runs differ in more than chain and seed.
    UsageError
        If two of them are the same chain, or there is no such layer.
    """
    found = [opened(path, allowed_threads(threads).number) for path in _paths(runs)]
    _check_same(found)
    at = found[0].layer(layer)
    while True:
        steps = _common(found, burn_in)
        try:
            return _compare(found, steps, top, at, tell)
        except MissingInputError:  # a run that is training has thinned its samples meanwhile
            if _common(found, burn_in) == steps:
                raise


def _compare(
    found: Sequence[Results], steps: Sequence[int], top: int, at: int,
    tell: Callable[[int, int], None],
) -> Diagnosis:  # fmt: skip
    """Compare the draws of some iterations, topics of a layer counted from 0."""
    held_out, notes = _documents(found)
    if isinstance(found[0], MixtureResults):
        whole = held_out.held_out() if held_out else None
        return mixture_diagnosis.compare(found, steps, whole, notes, tell)
    total = 2 * len(found) * len(steps)
    done = itertools.count(1)
    halves = [
        _halves(r, steps, at, lambda: tell(next(done), total)) for r in found
    ]  # each (2, K, V)
    means = [pair.mean(axis=0) for pair in halves]
    order = [np.arange(len(means[0]))]
    order += [assign(affinity(means[0], mean)) for mean in means[1:]]
    words = np.argsort(-means[0], axis=1, kind="stable")[:, :top]
    aligned = [mean[rows] for mean, rows in zip(means, order, strict=True)]
    overlaps = _least_overlap(aligned if len(found) > 1 else halves[0])
    series = [
        _series(r, steps, at, words, rows, held_out, lambda: tell(next(done), total))
        for r, rows in zip(found, order, strict=True)
    ]
    probability = np.stack([s.words for s in series])
    weight = np.stack([s.weight for s in series]) if held_out else None
    of_words = convergence(probability)
    of_weight = None if weight is None else convergence(weight)
    traces = prediction = None
    if held_out and not notes:
        traces = np.stack([s.log_probability for s in series])
        prediction = Prediction(
            tuple(traces.mean(axis=1).tolist()),
            Measure.at(convergence(traces[:, :, None]), 0),
            tuple(float(convergence(trace[None, :, None]).rhat[0]) for trace in traces),
        )
    topics = tuple(
        MatchedTopic(
            k,
            tuple(int(rows[k]) for rows in order),
            float(overlaps[k]),
            () if weight is None else tuple(weight[:, :, k].mean(axis=1).tolist()),
            None if of_weight is None else Measure.at(of_weight, k),
            tuple(
                TopWord(
                    found[0].vocabulary[w],
                    tuple(probability[:, :, k, i].mean(axis=1).tolist()),
                    Measure.at(of_words, (k, i)),
                )
                for i, w in enumerate(words[k].tolist())
            ),
        )
        for k in range(len(words))
    )
    first = found[0]
    return Diagnosis(
        runs=tuple(r.path for r in found),
        algo=first.options["algo"],
        model=first.options["model"],
        layer=at + 1,
        iterations=tuple(steps),
        kept=tuple(len(r.kept()) for r in found),
        last=tuple(max(r.kept()) for r in found),
        topics=topics,
        prediction=prediction,
        moved=tuple(_moved(*pair) for pair in halves),
        noise=first.noise_inflation(steps[-1]) if first.options["algo"] == "scir" else None,
        contraction=_contraction(first, weight),
        slow_tails=first.options["algo"] in ("smld", "smld-approx"),
        traces=traces,
        notes=notes,
    )


# ---- which runs, which samples


def _paths(runs: Sequence[str | Path]) -> list[Path]:
    paths = []
    for name in runs or (None,):
        path = find(None if name is None else str(name), chains=True)
        paths += chains_of(path) or [path]
    return paths


def _check_same(found: Sequence[Results]) -> None:
    """Refuse runs that are not chains of one configuration, and a chain that is named twice."""
    first = found[0]
    for run in found:
        if not SAMPLERS[run.options["algo"]].draws:
            raise UsageError(
                f"{run.path}: {run.options['algo']} approximates the posterior and draws nothing "
                "from it: there are no samples to compare; train with a sampler, such as gibbs"
            )
    seen: dict[tuple[int, int], Results] = {}
    had = {n: v for n, v in first.run.identity.fields.items() if n not in _OTHERS}
    for other in found:
        fields = {n: v for n, v in other.run.identity.fields.items() if n not in _OTHERS}
        if fields != had or other.vocabulary != first.vocabulary:
            if fields == had:
                fields, had = {"words": "others"}, {"words": "some"}
            raise MismatchError(mismatch(
                f"{first.path} and {other.path}: are not chains of one configuration and corpus; "
                "only --seed and --chain-id may differ:", had, fields,
            ))  # fmt: skip
        twin = seen.setdefault((other.seed, other.chain), other)
        if twin is not other:
            raise UsageError(
                f"{twin.path} and {other.path}: are the same chain (seed {other.seed}, chain "
                f"{other.chain + 1}), with the same draws; give each one another --chain-id"
            )


def _common(found: Sequence[Results], burn_in: int) -> list[int]:
    """Iterations of the samples that all have kept: the same stage of every chain."""
    kept = [{step for step in r.kept() if step > burn_in} for r in found]
    steps = sorted(set.intersection(*kept))
    if len(steps) < FEWEST:
        each = ", ".join(f"{r.path.name} {len(k)}" for r, k in zip(found, kept, strict=True))
        what = "has kept" if len(found) == 1 else "all have kept, of"
        raise MissingInputError(
            f"{found[0].path}: {len(steps)} posterior samples {what} ({each}): at least {FEWEST} "
            "are needed, better 100; train longer, with --samples above 0"
        )
    return steps


def _documents(found: Sequence[Results]) -> tuple[Results | None, tuple[str, ...]]:
    """The run whose held-out documents all are scored on, if any; a note if theirs are others."""
    first = found[0]
    if not (first.path / "holdout").is_dir():
        return None, ("the runs hold no documents out: nothing is told of topic weights and of what "
                      "the chains predict",)  # fmt: skip
    same = first.options["observed-corpus"] or len({r.seed for r in found}) == 1
    if same:
        return first, ()
    return first, (
        "runs of different --seed hold out different documents, and train on each other's: what "
        "they predict is not compared; give chains one seed and different --chain-id",
    )


# ---- reading samples


def _halves(results: Results, steps: Sequence[int], layer: int, tell: Callable[[], None]) -> Floats:
    """Mean topics of the first and of the second half of the draws, (2, K, V)."""
    half = len(steps) // 2
    means = []
    for part in (steps[:half], steps[half:]):
        total: Doubles | None = None
        for step in part:
            phi = results.sample_over_words(step, layer)
            total = phi.astype(np.float64) if total is None else np.add(total, phi, out=total)
            tell()
        assert total is not None
        means.append((total / len(part)).astype(np.float32))
    return np.stack(means)


class _Series(NamedTuple):
    """Draws of one chain: top words (N, K, T), weights (N, K), log probability per token (N,)."""

    words: Doubles
    weight: Doubles
    log_probability: Doubles


def _series(
    results: Results, steps: Sequence[int], layer: int, words: Int64s, rows: Int64s,
    held_out: Results | None, tell: Callable[[], None],
) -> _Series:  # fmt: skip
    """Follow the topics ``rows`` of a chain over its draws."""
    n, k = len(steps), len(rows)
    found = _Series(np.empty((n, *words.shape)), np.full((n, k), np.nan), np.full(n, np.nan))
    scorer = None
    if held_out is not None:
        scorer = Completion(held_out.held_out(), results.options, results.threads)
    for i, step in enumerate(steps):
        found.words[i] = results.sample_over_words(step, layer)[rows[:, None], words]
        if scorer is not None:
            matrices = results.run.read_sample(step)
            some = matrices | {"phi": matrices["phi"][:, scorer.words]}
            key = Key(results.seed, results.chain, step)
            perplexity = scorer.draw(key, results.parts_of(some))
            with np.errstate(divide="ignore"):
                found.log_probability[i] = -np.log(perplexity)
            found.weight[i] = scorer.shares(layer)[rows]
        tell()
    return found


# ---- matching


def _least_overlap(aligned: Sequence[Floats] | Floats) -> Doubles:
    """What each topic has in common in the two least similar chains, (K,)."""
    pairs = [overlap(a, b) for a, b in itertools.combinations(aligned, 2)]
    least: Doubles = np.min(pairs, axis=0)
    return least


def _moved(first: Floats, second: Floats) -> int:
    """Topics that are clearly nearer to another one's second half than to their own."""
    partner = assign(affinity(first, second))
    gain = overlap(first, second[partner]) - overlap(first, second)
    return int(np.count_nonzero(gain > _MOVED))


def _contraction(first: Results, weight: Doubles | None) -> tuple[float, ...]:
    """R_k of an sgrld run's topics at its newest checkpoint, which says of their scale what counts."""
    if first.options["algo"] != "sgrld" or first.options["layers"] or weight is None:
        return ()
    try:
        checkpoint = first.checkpoint
    except CheckpointError:  # none was written yet: samples may be there all the same
        return ()
    sums, h = checkpoint.arrays["phi.sums"], first.step_size(checkpoint.step)
    tokens = weight[0].mean(axis=0) * first.run.config["corpus"]["training_tokens"]
    prior = len(first.vocabulary) * np.min(first.options["eta"])
    return tuple((h * (tokens + prior) / sums[: len(tokens)]).tolist())
