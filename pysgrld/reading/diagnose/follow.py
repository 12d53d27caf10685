"""Following the kept draws of several chains: topics that are matched, or quantities that all have."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.evaluate import HeldOut, Scorer
from pysgrld.evaluate.convergence import convergence
from pysgrld.evaluate.matching import Likeness, assign
from pysgrld.reading.results import Results
from pysgrld.reading.values import SAME, MatchedTopic, Measure, Quantity, TopWord
from pysgrld.types import Array, Doubles, Floats, Int64s, Key

#: A topic has another's place in the second half of a chain if it is nearer to it by this much.
MOVED = 0.1


class KeptDraws(NamedTuple):
    """The draws that are compared.

    Attributes
    ----------
    found : sequence of Results
        A run for each chain.
    steps : sequence of int
        Iterations whose samples all have kept, and that topics are followed by.
    slim : bool
        Whether these are top-word samples.
    scored : sequence of int
        Iterations whose full samples score documents: ``steps`` unless these are slim.
    held_out : HeldOut or None
        Documents that all are scored on.
    tell : callable
        Told how many of all samples are read.
    """

    found: Sequence[Results]
    steps: Sequence[int]
    slim: bool
    scored: Sequence[int]
    held_out: HeldOut | None
    tell: Callable[[int, int], None]


class Compared(NamedTuple):
    """Topics or quantities that were followed over the draws, and how each draw predicts.

    Attributes
    ----------
    topics : tuple of MatchedTopic
    quantities : tuple of Quantity
    moved : tuple of int
        In each chain, topics that have another's place in its second half.
    log_probability : (C, N) float64
        Log probability of each draw of each chain; NaN without held-out documents.
    shares : (K,) float64 or None
        Mean share of the held-out tokens that each topic has in the first chain.
    """

    topics: tuple[MatchedTopic, ...]
    quantities: tuple[Quantity, ...]
    moved: tuple[int, ...]
    log_probability: Doubles
    shares: Doubles | None


class _ScoredSample(NamedTuple):
    """A kept sample, its scorer, and the log probability that it gives."""

    sample: Mapping[str, Array]
    scorer: Scorer | None
    log_probability: float


def _scored(
    results: Results, draws: KeptDraws, tell: Callable[[], None]
) -> Iterator[_ScoredSample]:
    """Read the full samples of a chain, one after the other, and score each."""
    scorer = results.fitted.scorer(draws.held_out) if draws.held_out else None
    for step in draws.scored:
        sample, value = results.read_sample(step), float("nan")
        if scorer is not None:
            draw = results.fitted.draw_of(sample, scorer.words)
            value = scorer.log_probability(Key(results.seed, results.chain, step), draw)
        yield _ScoredSample(sample, scorer, value)
        tell()


def _counted(draws: KeptDraws, passes: int) -> Callable[[], None]:
    """Count samples that are read, and tell how many are done: topics in so many passes, and scores."""
    alone = len(draws.scored) if draws.slim else 0  # else a pass over topics scores, too
    total, done = len(draws.found) * (passes * len(draws.steps) + alone), itertools.count(1)
    return lambda: draws.tell(next(done), total)


# ---- topics that are matched


def match_topics(draws: KeptDraws, likeness: Likeness, top: int, at: int) -> Compared:
    """Match the topics of all chains, and follow their weights and top words.

    Parameters
    ----------
    draws : KeptDraws
    likeness : Likeness
    top : int
        Top words of a topic whose probabilities are followed.
    at : int
        The layer, counted from 0.
    """
    tell = _counted(draws, 2)
    found = draws.found
    halves = [_halves(r, draws, at, tell) for r in found]  # each (2, K, V)
    means = [pair.mean(axis=0) for pair in halves]
    order = [np.arange(len(means[0]))]
    order += [assign(likeness.similarity(means[0], mean)) for mean in means[1:]]
    words = np.argsort(-means[0], axis=1, kind="stable")[:, :top]
    aligned = [mean[rows] for mean, rows in zip(means, order, strict=True)]
    pairs = _overlaps(likeness, aligned if len(found) > 1 else halves[0])
    least, overlaps = pairs.min(axis=(0, 1)), pairs[0, : len(found)]
    series = [
        _follow(r, draws, at, words, rows, tell) for r, rows in zip(found, order, strict=True)
    ]
    probability = np.stack([s.words for s in series])
    weight = np.stack([s.weight for s in series]) if draws.held_out else None
    of_words = convergence(probability)
    of_weight = None if weight is None else convergence(weight)
    topics = tuple(
        MatchedTopic(
            k,
            tuple(int(rows[k]) for rows in order),
            float(least[k]),
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
            tuple(overlaps[:, k].tolist()),
            finders(pairs[:, :, k]) if len(found) > 1 else 1,
        )
        for k in range(len(words))
    )
    return Compared(
        topics,
        (),
        tuple(_moved(likeness, *pair) for pair in halves),
        np.stack([s.log_probability for s in series]),
        None if weight is None else weight[0].mean(axis=0),
    )


def _halves(results: Results, draws: KeptDraws, at: int, tell: Callable[[], None]) -> Floats:
    """Average topics over the first and the second half of the draws, (2, K, V); rows sum to 1.

    Of top-word samples it is the average of the words that they have.
    """
    half, k = len(draws.steps) // 2, results.layers[at]
    means = np.empty((2, k, len(results.vocabulary)), np.float32)
    rows = np.arange(k)[:, None]
    for mean, part in zip(means, (draws.steps[:half], draws.steps[half:]), strict=True):
        total = np.zeros(mean.shape)
        for step in part:
            if draws.slim:
                sample = results.read_slim(step)
                total[rows, sample["words"]] += sample["phi"]
            else:
                total += results.rows_of(step, at)
            tell()
        if draws.slim:
            total /= total.sum(axis=1, keepdims=True)
        else:
            total /= len(part)
        mean[:] = total
    return means


class _Series(NamedTuple):
    """Draws of one chain: top words (N, K, T), weights (N, K), log probability (N,)."""

    words: Doubles
    weight: Doubles
    log_probability: Doubles


def _follow(
    results: Results,
    draws: KeptDraws,
    at: int,
    words: Int64s,
    rows: Int64s,
    tell: Callable[[], None],
) -> _Series:
    """Follow the topics ``rows`` of a chain over its draws."""
    n, k = len(draws.scored), len(rows)
    found = _Series(
        np.empty((len(draws.steps), *words.shape)), np.full((n, k), np.nan), np.full(n, np.nan)
    )
    if draws.slim:
        own = np.empty_like(words)
        own[rows] = words
        for i, step in enumerate(draws.steps):
            found.words[i] = results.words_at(step, own, at, slim=True)[0][rows]
            tell()
    for i, (sample, scorer, value) in enumerate(_scored(results, draws, tell)):
        if not draws.slim:
            found.words[i] = results.fitted.rows_of(sample, at)[rows[:, None], words]
        found.log_probability[i] = value
        shares = None if scorer is None else scorer.shares(at)
        if shares is not None:
            found.weight[i] = shares[rows]
    return found


def _overlaps(likeness: Likeness, aligned: Sequence[Floats] | Floats) -> Doubles:
    """Give the probability that each topic has in common in any two chains, (C, C, K)."""
    pairs = np.ones((len(aligned), len(aligned), len(aligned[0])))
    for a, b in itertools.combinations(range(len(aligned)), 2):
        pairs[a, b] = pairs[b, a] = likeness.overlap(aligned[a], aligned[b])
    return pairs


def finders(pairs: Doubles) -> int:
    """Count the chains that found a topic of the first one, as `MatchedTopic.found` has it.

    Parameters
    ----------
    pairs : (C, C) float64
        What the topic has in common in any two chains.
    """
    alike = (pairs >= SAME).tolist()
    order = np.argsort(-pairs[0], kind="stable").tolist()
    return 1 + _together(alike, [chain for chain in order if chain and alike[0][chain]])


def _together(alike: Sequence[Sequence[bool]], chains: Sequence[int]) -> int:
    """Count the most of some chains of which any two are alike."""
    most = 0
    for i, chain in enumerate(chains):
        if len(chains) - i <= most:
            break
        rest = [other for other in chains[i + 1 :] if alike[chain][other]]
        most = max(most, 1 + _together(alike, rest))
    return most


def _moved(likeness: Likeness, first: Floats, second: Floats) -> int:
    """Count topics that are clearly nearer to another one's second half than to their own."""
    partner = assign(likeness.similarity(first, second))
    gain = likeness.overlap(first, second[partner]) - likeness.overlap(first, second)
    return int(np.count_nonzero(gain > MOVED))


# ---- quantities that every draw has


def follow_quantities(draws: KeptDraws) -> Compared:
    """Follow the quantities that do not depend on the names of topics, over all draws."""
    tell = _counted(draws, 1)
    rows: list[list[dict[str, float]]] = []
    values: list[list[float]] = []
    for results in draws.found:
        fitted = results.fitted
        each = [
            (fitted.quantities(fitted.draw_of(sample), draws.held_out), value)
            for sample, _, value in _scored(results, draws, tell)
        ]
        rows.append([quantities for quantities, _ in each])
        values.append([value for _, value in each])
    names = list(rows[0][0])
    series = np.array([[[row[name] for name in names] for row in chain] for chain in rows])
    measured, titles = convergence(series), draws.found[0].fitted.titles
    quantities = tuple(
        Quantity(
            name,
            titles[name],
            tuple(series[:, :, i].mean(axis=1).tolist()),
            Measure.at(measured, i),
        )
        for i, name in enumerate(names)
    )
    return Compared((), quantities, (), np.array(values), None)
