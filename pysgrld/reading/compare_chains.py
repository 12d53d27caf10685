"""Comparison of several chains: their topics are matched, then R-hat and ESS are computed.

All input is stored posterior samples, so the runs may still be in training. `verdict` of
`pysgrld.reading.diagnosis` writes the result in words; docs/diagnose.md explains the numbers.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.chain.exact import split_by_chain
from pysgrld.errors import CheckpointError, MismatchError, MissingInputError, UsageError, plural
from pysgrld.evaluate import HeldOut, Scorer
from pysgrld.evaluate.convergence import FEWEST, convergence
from pysgrld.evaluate.matching import Likeness, assign, match
from pysgrld.options.paths import is_folder
from pysgrld.reading.diagnosis import (
    Diagnosis,
    MatchedTopic,
    Measure,
    Prediction,
    Quantity,
    TopWord,
)
from pysgrld.reading.find_runs import find_folder, open_run
from pysgrld.reading.results import Results
from pysgrld.run import find_chains
from pysgrld.run.identity import mismatch
from pysgrld.run.machine import threads as allowed_threads
from pysgrld.types import Array, Doubles, Floats, Int64s, Key

#: Number of top words of each topic. R-hat is computed for the probabilities of these words.
TOP = 10
#: A topic has moved if its first half of samples overlaps another topic's second half more than the
#: same topic's second half. The difference must be at least this number.
MOVED = 0.1
#: Remark if only top-word samples are compared, because the chains have too few full samples from
#: the same iterations.
_FEW_FULL = (
    f"the chains have fewer than {FEWEST} complete samples of the same iterations, so topic "
    "weights and predictions are not compared"
)
#: Options that may differ between chains that are compared.
_OTHERS = frozenset({"seed", "chain-id"})
#: Options whose defaults may depend on the seed, through the held-out documents or the first
#: minibatch. Chains with default values sample the same distribution.
_CHOSEN = ("lazy", "sample-every")


#: Function that is called with the iteration and the matrices of each compared sample.
Visit = Callable[[int, Mapping[str, Array]], None]


class _Draws(NamedTuple):
    """Posterior samples of several chains that are compared, and the held-out documents.

    Attributes
    ----------
    chains : sequence of Results
    steps : dict of Path to list of int
        For each chain, iterations of the samples from which topics are compared; every chain has
        the same number of them.
    slim : bool
        True if ``steps`` refers to top-word samples.
    scored : dict of Path to list of int
        Iterations of the full samples on which documents are scored: ``steps`` unless ``steps``
        refers to top-word samples.
    held_out : HeldOut or None
        Documents that all chains are scored on.
    counted : callable
        Called after every sample that is read.
    visit : callable or None
        Gets every sample, as `compared` describes it.
    """

    chains: Sequence[Results]
    steps: dict[Path, list[int]]
    slim: bool
    scored: dict[Path, list[int]]
    held_out: HeldOut | None
    counted: Callable[[], None]
    visit: Visit | None = None

    def apart(self, followed: Doubles) -> Doubles:
        """Split the samples of each run by chain if they are from a Gibbs refinement.

        Parameters
        ----------
        followed : (C, N, ...)
        """
        if not self.chains[0].fitted.exact:
            return followed
        return np.concatenate([split_by_chain(run) for run in followed])


class _Compared(NamedTuple):
    """Result of comparing chains: matched topics, further quantities, and scores of all samples.

    Attributes
    ----------
    topics : tuple of MatchedTopic
    quantities : tuple of Quantity
    moved : tuple of int
        For each chain, the number of topics that moved to another row in its second half.
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


def diagnose(
    *runs: str | Path,
    top: int = TOP,
    layer: int = 1,
    burn_in: int = 0,
    threads: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Diagnosis:
    """Compare chains: match their topics, and measure by R-hat whether the chains have mixed.

    Topics of different chains are matched one to one by the probability that two topics have in
    common. Split R-hat and effective sample sizes are computed from rank-normalised draws.
    `verdict` writes the result in words; docs/diagnose.md explains the numbers.

    Parameters
    ----------
    *runs : str or path
        Runs that differ only in their chain or seed, or folders of chains (``sgmc train
        --chains``). By default the latest run under ``./sgmc-runs``. A single run is compared with
        itself, its first half with its second.
    top : int
        Number of top words per topic for which R-hat of the probability is computed, at least 1.
    layer : int
        Layer of a deep model to compare, counted from 1, the lowest layer.
    burn_in : int
        Samples up to this iteration are left out.
    threads : int, optional
        Threads; by default as many as the process may use.
    tell : callable (done, total), optional
        Called with the number of samples read so far and the total number of samples.

    Returns
    -------
    Diagnosis
        Matched topics with their R-hat, or quantities that need no matching; also the score of each
        chain on held-out documents, and known faults of the sampler.

    Raises
    ------
    MissingInputError
        If the run is missing, or the chains have fewer than four samples in common.
    MismatchError
        If the runs differ in more than chain and seed.
    UsageError
        If two runs are the same chain, the layer does not exist, or the algorithm is an
        approximation without posterior samples.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Rank-normalization, folding, and localization:
    an improved R-hat: eq. (4) applied to ranks, and effective sample sizes in bulk and 5 % tails.
    """
    paths: list[Path] = []
    for name in runs or (None,):
        path = find_folder(None if name is None else str(name), chains=True)
        paths += find_chains(path) or [path]
    chains = [open_run(path, allowed_threads(threads).number) for path in paths]
    return compared(chains, top, layer, burn_in, tell)


def compared(
    chains: Sequence[Results],
    top: int = TOP,
    layer: int = 1,
    burn_in: int = 0,
    tell: Callable[[int, int], None] = lambda done, total: None,
    visit: Visit | None = None,
) -> Diagnosis:
    """Compare chains that are already open for reading; see `diagnose`.

    Parameters
    ----------
    chains : sequence of Results
    top, layer, burn_in, tell
        As of `diagnose`.
    visit : callable (step, matrices), optional
        Called with every full sample in order, if they are read in one pass.

    Returns
    -------
    Diagnosis
        As `diagnose` returns it.

    Raises
    ------
    MissingInputError
        If the chains have fewer than four samples in common.
    MismatchError
        If the runs differ in more than chain and seed.
    """
    _check_same(chains)
    layer_index = chains[0].at(layer)
    while True:
        common = _in_common(chains, burn_in, layer_index)
        try:
            return _compare(chains, *common, not burn_in, top, layer_index, tell, visit)
        except MissingInputError:  # If the run is still training, it may have deleted samples.
            if visit is not None or _in_common(chains, burn_in, layer_index) == common:
                raise


def _check_same(chains: Sequence[Results]) -> None:
    """Raise an error if chains differ in configuration or corpus, or if a chain is named twice."""
    first = chains[0]
    for run in chains:
        if not run.fitted.draws:
            raise UsageError(
                f"{run.path}: {run.options.algo} approximates the posterior and has no "
                "samples to compare; train with an --algo that samples"
            )
    seen: dict[tuple[int, int], Results] = {}
    chosen = set(_CHOSEN).intersection(*(run.run.config.get("defaults") or () for run in chains))
    others = _OTHERS | chosen
    expected = {n: v for n, v in first.run.identity.fields.items() if n not in others}
    for other in chains:
        fields = {n: v for n, v in other.run.identity.fields.items() if n not in others}
        if fields != expected or other.vocabulary != first.vocabulary:
            if fields == expected:
                fields, expected = {"words": "others"}, {"words": "some"}
            raise MismatchError(
                mismatch(
                    f"{first.path} and {other.path}: these chains differ in configuration or "
                    "corpus, but only --seed and --chain-id may differ:",
                    expected,
                    fields,
                )
            )
        twin = seen.setdefault((other.seed, other.chain), other)
        if twin is not other:
            raise UsageError(
                f"{twin.path} and {other.path}: both are the same chain (seed {other.seed}, "
                f"chain {other.chain + 1}) with the same draws; train one with another --chain-id"
            )


def _in_common(
    chains: Sequence[Results], burn_in: int, layer_index: int
) -> tuple[list[list[int]], bool, list[list[int]]]:
    """Choose the samples by which the chains are compared.

    Return three values: the iterations of these samples for each chain, True if they are top-word
    samples, and the iterations of the full samples for each chain. All chains have samples from the
    same iterations. Only Gibbs refinements begin at different iterations; from each of them, the
    same number of first samples is taken. Top-word samples are compared if the chains have more
    common top-word samples than common full samples; top-word samples contain only the lowest
    layer.
    """
    exact = all(chain.fitted.exact for chain in chains)

    def common(*, slim: bool) -> list[list[int]]:
        kept_steps = [[s for s in chain.kept(slim=slim) if s > burn_in] for chain in chains]
        if exact:
            return [steps[: min(map(len, kept_steps))] for steps in kept_steps]
        return [sorted(set.intersection(*map(set, kept_steps)))] * len(chains)

    full = common(slim=False)
    if layer_index == 0:
        slim = common(slim=True)
        if len(slim[0]) >= FEWEST and len(slim[0]) > len(full[0]):
            return slim, True, full
    if len(full[0]) < FEWEST:
        counts = ", ".join(f"{r.path.name} {len(r.kept())}" for r in chains)
        who = "the chain has stored" if len(chains) == 1 else "the chains have stored in common"
        raise MissingInputError(
            f"{chains[0].path}: {who} {plural(len(full[0]), 'posterior sample')} ({counts}), "
            f"but at least {FEWEST} are needed (better 100); train longer, with --set samples "
            "above 0"
        )
    return full, False, full


def _compare(
    chains: Sequence[Results],
    steps: list[list[int]],
    slim: bool,
    full: list[list[int]],
    all_of_them: bool,
    top: int,
    layer_index: int,
    tell: Callable[[int, int], None],
    visit: Visit | None,
) -> Diagnosis:
    """Compare one layer of the chains, given the iterations of the samples to compare."""
    first = chains[0]
    fitted, notes = first.fitted, []
    is_scored = is_folder(first.path / "holdout")
    if not is_scored:
        notes.append(
            "the runs have no held-out documents, so topic weights and predictions are not compared"
        )
    elif not first.options.observed_corpus and len({chain.seed for chain in chains}) > 1:
        notes.append(
            "predictions are not compared, because runs with different --seed hold out "
            "different documents; train chains with the same --seed and different --chain-id"
        )
    if len(full[0]) < FEWEST:
        notes.append(_FEW_FULL)
        is_scored, full = False, [[] for _ in chains]
    # If no sample is left out, topics are matched by the posterior means. Otherwise, samples are
    # read twice: to match topics, and to compute R-hat. If top-word samples are compared, the full
    # samples are read in addition, to score documents.
    means = None
    if all_of_them and fitted.likeness is not None:
        means = _posterior_means(chains, layer_index)
    passes = 1 if fitted.likeness is None or (means is not None and not slim) else 2
    total = len(chains) * (passes * len(steps[0]) + (len(full[0]) if slim else 0))
    done = itertools.count(1)
    held_out = first.held_out() if is_scored else None
    followed, scored = (
        dict(zip((c.path for c in chains), part, strict=True)) for part in (steps, full)
    )
    draws = _Draws(chains, followed, slim, scored, held_out, lambda: tell(next(done), total), visit)
    if fitted.likeness is None:
        compared = _follow_quantities(draws)
    else:
        compared = _match_topics(draws, fitted.likeness, means, top, layer_index)
    traces = prediction = None
    if not notes:
        traces = compared.log_probability
        prediction = Prediction(
            tuple(traces.mean(axis=1).tolist()),
            Measure.at(convergence(draws.apart(traces[:, :, None])), 0),
            tuple(float(convergence(trace[None, :, None]).rhat[0]) for trace in traces),
        )
    contraction: tuple[float, ...] = ()
    if compared.shares is not None:
        # A run may store samples before it writes its first checkpoint.
        with contextlib.suppress(CheckpointError):
            contraction = fitted.contraction(compared.shares)
    kept_steps = [chain.kept(slim=slim) for chain in chains]
    return Diagnosis(
        runs=tuple(chain.path for chain in chains),
        algo=first.options.algo,
        model=first.options.model,
        layer=layer_index + 1,
        iterations=tuple(steps[0]),
        kept=tuple(map(len, kept_steps)),
        last=tuple(map(max, kept_steps)),
        topics=compared.topics,
        prediction=prediction,
        moved=compared.moved,
        noise=fitted.noise(steps[0][-1]),
        contraction=contraction,
        slow_tails=fitted.slow_tails,
        traces=traces,
        notes=tuple(notes),
        quantities=compared.quantities,
        noun=fitted.noun,
        unit="document" if first.fitted.score.whole else "token",
        slim=slim,
        traced=tuple(full[0]),
        faithful=fitted.faithful,
        remedy=fitted.remedy,
        exact_sweeps=fitted.exact.sweeps if fitted.exact else 0,
    )


# ---- comparison of topics that were matched between chains


def _match_topics(
    draws: _Draws, likeness: Likeness, means: Sequence[Floats] | None, top: int, layer_index: int
) -> _Compared:
    """Match the topics of all chains by their mean word probabilities; compute R-hat."""
    chains = draws.chains
    averages = [_Halves(chain, len(draws.steps[chain.path]), layer_index) for chain in chains]
    in_one_pass = means is not None and not draws.slim
    if not in_one_pass:
        for chain, average in zip(chains, averages, strict=True):
            _read_halves(chain, draws, layer_index, average)
    if means is None:
        means = [average.means.mean(axis=0) for average in averages]
    matched = match(means, likeness)
    order, least, overlaps = matched.rows, matched.common.min(axis=(0, 1)), matched.common[0]
    words = np.argsort(-means[0], axis=1, kind="stable")[:, :top]
    series = [
        _follow(chain, draws, layer_index, words, rows, average if in_one_pass else None)
        for chain, rows, average in zip(chains, order, averages, strict=True)
    ]
    halves = [average.means for average in averages]
    if len(chains) == 1:  # For a single chain, compare each topic in the two halves of the samples.
        least = likeness.overlap(*halves[0])
    # Count the topics whose first half is clearly more similar to another topic's second half than
    # to the same topic's second half.
    moved = []
    for early, late in halves:
        partner = assign(likeness.similarity(early, late))
        gain = likeness.overlap(early, late[partner]) - likeness.overlap(early, late)
        moved.append(int(np.count_nonzero(gain > MOVED)))
    probability, weight, log_probability = map(np.stack, zip(*series, strict=True))
    of_words = convergence(draws.apart(probability))
    of_weight = convergence(draws.apart(weight)) if draws.held_out else None
    topics = tuple(
        MatchedTopic(
            k,
            tuple(int(rows[k]) for rows in order),
            float(least[k]),
            () if of_weight is None else tuple(weight[:, :, k].mean(axis=1).tolist()),
            None if of_weight is None else Measure.at(of_weight, k),
            tuple(
                TopWord(
                    chains[0].vocabulary[w],
                    tuple(probability[:, :, k, i].mean(axis=1).tolist()),
                    Measure.at(of_words, (k, i)),
                )
                for i, w in enumerate(words[k].tolist())
            ),
            tuple(overlaps[:, k].tolist()),
            int(matched.found[k]),
        )
        for k in range(len(words))
    )
    shares = weight[0].mean(axis=0) if draws.held_out else None
    return _Compared(topics, (), tuple(moved), log_probability, shares)


def _posterior_means(chains: Sequence[Results], layer_index: int) -> list[Floats] | None:
    """Return the posterior mean of each chain's topics, (K, V), or None if a chain has no mean."""
    with contextlib.suppress(CheckpointError):
        if all(chain.fitted.mean is not None for chain in chains):
            return [
                np.ascontiguousarray(c.phi(layer_index)[:, : c.fitted.layers[layer_index]].T)
                for c in chains
            ]
    return None


class _Halves:
    """Mean of each topic over the first half of a chain's samples, and over the second half.

    Attributes
    ----------
    means : (2, K, V) float32
        Valid after all draws were added. Rows sum to 1. In top-word samples, words that a sample
        lacks count as 0.
    """

    def __init__(self, chain: Results, draws: int, layer_index: int) -> None:
        shape = chain.fitted.layers[layer_index], len(chain.vocabulary)
        self.means = np.empty((2, *shape), np.float32)
        self._ends, self._done = (draws // 2, draws), 0
        self._rows = np.arange(shape[0])[:, None]

    def add(self, phi: Floats, words: Int64s | None = None) -> None:
        """Add the topics of the next sample to the mean of its half of the chain's samples.

        Parameters
        ----------
        phi : (K, V), or (K, n) of a top-word sample
        words : (K, n) unsigned, optional
            Ids of the words of a top-word sample.
        """
        if self._done in (0, self._ends[0]):
            self._total = np.zeros(self.means.shape[1:])
        if words is None:
            self._total += phi
        else:
            self._total[self._rows, words] += phi
        self._done += 1
        if self._done in self._ends:
            half = self._ends.index(self._done)
            if words is None:
                self._total /= self._done - (self._ends[0] if half else 0)
            else:
                self._total /= self._total.sum(axis=1, keepdims=True)
            self.means[half] = self._total
            del self._total


def _read_halves(chain: Results, draws: _Draws, layer_index: int, average: _Halves) -> None:
    """Read the samples of a chain, and add the topics of each sample to ``average``."""
    for step in draws.steps[chain.path]:
        if draws.slim:
            sample = chain.read_slim(step)
            average.add(sample["phi"], sample["words"])
        else:
            average.add(chain.topics_of_sample(step, layer_index))
        draws.counted()


def _follow(
    chain: Results,
    draws: _Draws,
    layer_index: int,
    words: Int64s,
    rows: Int64s,
    average: _Halves | None,
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the word probabilities and the weights of some topics in each sample of a chain.

    If ``average`` is not None, the topics of each sample are also added to it.

    Returns
    -------
    probability : (N, K, T) float64
        Probabilities of the given words in each topic.
    weight : (N, K) float64
        Each topic's share of the held-out tokens; NaN without held-out documents.
    log_probability : (N,) float64
        Log probability of the held-out documents; NaN without them.
    """
    steps, n, k = draws.steps[chain.path], len(draws.scored[chain.path]), len(rows)
    probability = np.empty((len(steps), *words.shape))
    weight, log_probability = np.full((n, k), np.nan), np.full(n, np.nan)
    if draws.slim:
        chain_words = np.empty_like(words)
        chain_words[rows] = words
        for i, step in enumerate(steps):
            probability[i] = chain.words_at(step, chain_words, layer_index, slim=True)[0][rows]
            draws.counted()
    for i, (sample, scorer, value) in enumerate(_scored(chain, draws)):
        if not draws.slim:
            topics = chain.fitted.topics_of_sample(sample, layer_index)
            probability[i] = topics[rows[:, None], words]
        if average is not None:
            wide = chain.for_population(steps[i], sample)
            average.add(chain.fitted.topics_of_sample(wide, layer_index))
            if draws.visit is not None:
                draws.visit(steps[i], wide)
        log_probability[i] = value
        shares = None if scorer is None else scorer.shares(layer_index)
        if shares is not None:
            weight[i] = shares[rows]
    return probability, weight, log_probability


def _scored(
    chain: Results, draws: _Draws
) -> Iterator[tuple[Mapping[str, Array], Scorer | None, float]]:
    """Read the full samples of a chain in turn, and score each sample on held-out documents.

    Yields
    ------
    sample : mapping of str to array
    scorer : Scorer or None
        The scorer after this sample, or None without held-out documents.
    log_probability : float
        Mean log probability per held-out token or document; NaN without held-out documents.
    """
    scorer = chain.fitted.scorer(draws.held_out) if draws.held_out else None
    for step in draws.scored[chain.path]:
        sample, value = chain.read_sample(step), float("nan")
        if scorer is not None:
            draw = chain.fitted.sample_to_draw(sample, scorer.words)
            value = scorer.log_probability(Key(chain.seed, chain.chain, step), draw)
        yield sample, scorer, value
        draws.counted()


# ---- comparison of quantities that do not require matched topics


def _follow_quantities(draws: _Draws) -> _Compared:
    """Compute R-hat of quantities that do not depend on the order of topics."""
    rows: list[list[dict[str, float]]] = []
    values: list[list[float]] = []
    for chain in draws.chains:
        fitted = chain.fitted
        draws_of_chain = [
            (fitted.quantities(fitted.sample_to_draw(sample), draws.held_out), value)
            for sample, _, value in _scored(chain, draws)
        ]
        rows.append([quantities for quantities, _ in draws_of_chain])
        values.append([value for _, value in draws_of_chain])
    names = list(rows[0][0])
    series = np.array([[[row[name] for name in names] for row in chain] for chain in rows])
    measured, titles = convergence(series), draws.chains[0].fitted.titles
    quantities = tuple(
        Quantity(
            name,
            titles[name],
            tuple(series[:, :, i].mean(axis=1).tolist()),
            Measure.at(measured, i),
        )
        for i, name in enumerate(names)
    )
    return _Compared((), quantities, (), np.array(values), None)
