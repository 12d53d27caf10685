"""Results of a search, read from its runs: the scores of each setting and its row in the table."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.chain.posterior import has_settled, read_running_averages
from pysgrld.core.draws import select_words
from pysgrld.errors import SgmcError
from pysgrld.evaluate import Estimate, Score
from pysgrld.evaluate.matching import match
from pysgrld.models.fitted import evenly_spaced
from pysgrld.models.word_order import PROBABLE
from pysgrld.reading.results import Results
from pysgrld.reading.score import own_scorer
from pysgrld.report.sample_pass import TEN, tenth
from pysgrld.run import chain_path
from pysgrld.search.plan import Contender, SearchPlan
from pysgrld.search.rounds import Standing, bounds, relative_excess, resample_scores
from pysgrld.types import Key

#: Number of bytes at the end of ``metrics.jsonl`` that certainly include its last line.
_END = 1 << 16
#: Minimum fraction of words that lie in topics found by all chains, for a setting to be recommended
#: for reading.
SHARED = 0.5
#: Maximum number of posterior samples that `steady_words` reads. More samples would not change the
#: digits shown.
SAMPLES = 40


def read_standing(
    contender: Contender, chains: Sequence[Results]
) -> tuple[Standing, list[Estimate]]:
    """Read a setting's score and recent improvement from the latest checkpoints of its chains.

    Parameters
    ----------
    contender : Contender
    chains : sequence of Results
        Results of the chains, which score the same documents.

    Returns
    -------
    standing : Standing
        Standing of the setting, with the mean score over the chains.
    scores : list of Estimate
        Score of each chain: of its posterior average, or of its current topics if it has no
        samples.
    """
    scorers, scores = [own_scorer(results) for results in chains], []
    for results, scorer in zip(chains, scorers, strict=True):
        if scorer.samples:
            scores.append(scorer.average())
        else:
            key = Key(results.seed, results.chain, results.checkpoint.step)
            scores.append(scorer.point(key, select_words(results.fitted.current, scorer.words)))
    first, share_gained = chains[0], scorers[0].share_gained
    step, options = first.checkpoint.step, first.options
    history = read_running_averages(first.checkpoint.arrays).history.tolist()
    # Fraction by which the score has improved in the second half of the iterations. None if the
    # first half has no sample.
    gained = None
    before = (step // 2 - options.burn_in) // options.sample_every
    if 1 <= before < len(history):
        share = share_gained(history[before - 1], history[-1])
        gained = float(share) if np.isfinite(share) else None
    standing = Standing(
        contender.name,
        contender.place,
        Estimate.combine(scores),
        share_gained,
        gained,
        has_settled(history, share_gained),
        step,
        len(history),
    )
    return standing, scores


class SettingResult(NamedTuple):
    """Row of a setting in the table of a search's results.

    Attributes
    ----------
    name : str
    topics : int
        Number of topics of the lowest layer; 0 if the model has no fixed number.
    options : dict
        Values of the options that were tried.
    dropped : float or None
        Epochs after which it was dropped, or None if it was trained to the end.
    chains, iterations : int
        Number of chains, and of iterations of the longest chain.
    score, low, high : float
        Mean score of the chains on held-out documents, with its 95 % interval over documents.
    above : tuple of float
        Fraction by which its perplexity is above the best perplexity, with the 95 % interval of
        paired differences on the same documents. A dropped setting is compared with the leader at
        the time when it was dropped.
    apart : float or None
        Fraction by which the perplexities of the best and the worst chain differ, or None for one
        chain.
    gain : float or None
        Fraction by which its perplexity is below that of the next smaller number of topics.
    coherence : tuple of float or None
        NPMI of the topics: mean, lower and upper quartile.
    found : float or None
        Fraction of the words that lie in topics that all chains found.
    steady : float or None
        Mean number of a topic's ten top words that are also among its ten top words in a single
        draw.
    seconds : float
        Training time of all chains together, in seconds.
    memory : int
        Memory of its largest process, in bytes.
    """

    name: str
    topics: int
    options: Mapping[str, Any]
    dropped: float | None
    chains: int
    iterations: int
    score: float
    low: float
    high: float
    above: tuple[float, float, float]
    apart: float | None
    gain: float | None
    coherence: tuple[float, float, float] | None
    found: float | None
    steady: float | None
    seconds: float
    memory: int


class SearchResult(NamedTuple):
    """Result of a search: the table of settings, and the best and the smallest good setting.

    Attributes
    ----------
    folder : Path
    plan : SearchPlan
    kind : Score
        The kind of the scores.
    documents : int
        Number of held-out documents.
    rows : tuple of Tried
        In the order of the plan.
    best, smallest : str
        Names of the setting that predicts best, and of the setting with the fewest topics
        within 0.5 % of the best perplexity.
    """

    folder: Path
    plan: SearchPlan
    kind: Score
    documents: int
    rows: tuple[SettingResult, ...]
    best: str
    smallest: str

    def row(self, name: str) -> SettingResult:
        """Return the table row of a setting, given the setting's name."""
        return next(row for row in self.rows if row.name == name)

    @property
    def interpretable_setting(self) -> str:
        """Name of the setting that is recommended for interpretable topics.

        This setting is `smallest`, unless less than half of its words lie in topics that all chains
        found. In that case it is the setting with the largest fraction of words in such topics.
        """
        found = self.row(self.smallest).found
        if found is None or found >= SHARED:
            return self.smallest
        whole = [row for row in self.rows if row.dropped is None and row.found is not None]
        return max(whole, key=lambda row: (row.found, -row.topics)).name

    def record(self) -> dict[str, Any]:
        """Return all fields by name, as values that JSON can represent."""
        return {
            "folder": str(self.folder),
            "score": self.kind.name,
            "documents": self.documents,
            "best": self.best,
            "smallest": self.smallest,
            "reading": self.interpretable_setting,
            "rows": [row._asdict() for row in self.rows],
        }


def read_result(
    folder: Path,
    plan: SearchPlan,
    records: Sequence[Mapping[str, Any]],
    threads: int,
    tell: Callable[[int], None] = lambda done: None,
) -> SearchResult:
    """Read the results of all settings.

    Parameters
    ----------
    folder : Path
    plan : SearchPlan
    records : sequence of mapping
        Lines of ``rounds.jsonl`` in the order of the rounds.
    threads : int
    tell : callable, optional
        Called with the number of settings read so far.

    Returns
    -------
    SearchResult
        Rows in the order of the plan.
    """
    judged = {one["name"]: (record, one) for record in records for one in record["contenders"]}
    rows: list[SettingResult] = []
    standings: dict[str, Standing] = {}
    kind, documents = None, 0
    for number, contender in enumerate(plan.contenders, 1):
        record, one = judged[contender.name]
        dropped = None if one["goes_on"] else record["epochs"]
        chains = [
            Results(chain_path(folder / contender.name, i), threads)
            for i in range(1, 2 if dropped else plan.chains + 1)
        ]
        first = chains[0]
        standing, scores = read_standing(contender, chains)
        score = bounds(float(standing.score), resample_scores([standing.score])[0])
        share, least, most = (math.nan if x is None else x for x in one["worse"])
        # Fraction by which the score is better than the score of the setting with the next smaller
        # number of topics and otherwise the same options.
        gain = None
        if not dropped:
            smaller = [
                standings[c.name]
                for c in plan.contenders
                if "topics" in contender.options and c.name in standings
                if c.place[1:] == contender.place[1:] and c.place[0] < contender.place[0]
            ]
            if smaller:
                gain = float(standing.share_gained(smaller[-1].score, standing.score))
            standings[contender.name] = standing
        coherence, measured = None, first.coherence(TEN)
        npmi = np.empty(0) if measured is None else measured.npmi[first.fitted.shown(0)]
        if len(npmi):
            low, high = np.quantile(npmi, (0.25, 0.75))
            coherence = float(npmi.mean()), float(low), float(high)
        apart = None
        if len(chains) > 1:
            apart = relative_excess(standing, float(max(scores)), float(min(scores)))
        seconds, memory = 0.0, 0
        for results in chains:
            with contextlib.suppress(SgmcError, ValueError, TypeError, KeyError, OverflowError):
                *_, last = results.run.read_metrics(_END)
                seconds += float(last["train_seconds"])
                memory = max(memory, int(last["rss_bytes"]))
        rows.append(
            SettingResult(
                name=contender.name,
                topics=first.options.widths[0] if first.options.widths else 0,
                options=contender.options,
                dropped=dropped,
                chains=len(chains),
                iterations=max(results.checkpoint.step for results in chains),
                score=score.value,
                low=score.low,
                high=score.high,
                above=(share, least, most),
                apart=apart,
                gain=gain,
                coherence=coherence,
                found=share_found_by_all(chains),
                steady=steady_words(first),
                seconds=seconds,
                memory=memory,
            )
        )
        kind, documents = first.fitted.score, len(standing.score.influence)
        tell(number)
    assert kind is not None
    end = records[-1]
    return SearchResult(folder, plan, kind, documents, tuple(rows), end["leader"], end["smallest"])


def share_found_by_all(chains: Sequence[Results]) -> float | None:
    """Return the share of the tokens that lie in topics found by every chain.

    Another chain has found a topic of the first chain if the topic and its match have at least 70 %
    of their probability in common. Returns None for a single chain, or if topics cannot be matched.

    Parameters
    ----------
    chains : sequence of Results
    """
    likeness = chains[0].fitted.likeness
    if len(chains) < 2 or likeness is None:
        return None
    topics = [np.ascontiguousarray(c.phi()[:, : c.fitted.layers[0]].T) for c in chains]
    matched = match(topics, likeness)
    is_in_all = matched.found == len(chains)
    weights = chains[0].weights()
    if weights is None:
        weights = np.full(len(is_in_all), 1.0 / len(is_in_all))
    return float(weights[is_in_all].sum() / weights.sum())


def steady_words(results: Results) -> float | None:
    """Return the mean number of a topic's top ten words that are also top words in a single sample.

    Returns None if the run has fewer than two posterior samples, or its topics have no mean.

    Parameters
    ----------
    results : Results
    """
    steps, slim = results.word_steps()
    if results.fitted.no_mean or len(steps) < 2:
        return None
    top = results.top(min(TEN, len(results.vocabulary)), order=PROBABLE)
    rows, everywhere = np.arange(len(top)), np.ones(top.shape, bool)
    shares = []
    for step in evenly_spaced(np.array(steps), SAMPLES).tolist():
        values, censored = results.words_at(step, top, 0, slim=slim)
        if slim:
            last = results.read_slim(step)["phi"][:, [top.shape[1] - 1]]
            shares.append((values >= last) & ~censored)
        else:
            least = tenth(results.topics_of_sample(step, 0), rows, values, everywhere)
            shares.append(values >= least[:, None])
    return float(np.mean(shares) * top.shape[1])
