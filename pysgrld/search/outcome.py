"""The result of a search: a row of figures for every contender, read from its runs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.errors import SgmcError
from pysgrld.evaluate.score import Score
from pysgrld.reading.results import Results
from pysgrld.reading.score import own_scorer
from pysgrld.run import RunDirectory, chain_path
from pysgrld.search.decide import Standing, bounds, resampled, worse_by
from pysgrld.search.plan import Contender, SearchPlan
from pysgrld.search.stability import coherences, share_found_by_all, steady_words
from pysgrld.search.standing import figure_of, standing
from pysgrld.types import Doubles

#: Bytes at the end of ``metrics.jsonl`` in which its last line lies.
_END = 1 << 16


class Tried(NamedTuple):
    """A contender in the table of a search.

    Attributes
    ----------
    name : str
    topics : int
        Of the lowest layer; 0 where their number is not chosen.
    options : dict
        Values of the options that were tried.
    dropped : float or None
        Epochs after which it was dropped; None of those that went on to the end.
    chains, iterations : int
        Chains, and iterations of the longest.
    score, low, high : float
        Of the held-out documents, with its 95 % interval over documents: the mean of the chains.
    above : tuple of float
        Share by which its perplexity is above the best, with the 95 % interval of pairs of scores of the
        same documents. Of one that was dropped: above the leader at that time.
    apart : float or None
        Share by which the perplexities of the best and the worst chain differ; None of one chain.
    gain : float or None
        Share of the perplexity that it takes off the next smaller number of topics.
    coherence : tuple of float or None
        NPMI of the topics: mean, lower and upper quartile.
    found : float or None
        Share of the words that lie in topics that all chains found.
    steady : float or None
        How many of a topic's ten words are among its ten in a draw, on average.
    seconds : float
        Seconds of training, of all chains.
    memory : int
        Bytes that the largest of its processes held.
    """

    name: str
    topics: int
    options: dict[str, Any]
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
    """The result of a search.

    Attributes
    ----------
    folder : Path
    plan : SearchPlan
    kind : Score
        What the scores are.
    documents : int
        Held-out documents.
    rows : tuple of Tried
        In the order of the plan.
    best, smallest : str
        Who predicts best, and the fewest topics within 0.5 % of it.
    """

    folder: Path
    plan: SearchPlan
    kind: Score
    documents: int
    rows: tuple[Tried, ...]
    best: str
    smallest: str

    def row(self, name: str) -> Tried:
        """Find the row of a contender."""
        return next(row for row in self.rows if row.name == name)

    @property
    def last(self) -> list[Tried]:
        """Rows of those that went on to the end."""
        return [row for row in self.rows if row.dropped is None]

    def record(self) -> dict[str, Any]:
        """Give all by name, for JSON."""
        return {
            "folder": str(self.folder),
            "score": self.kind.name,
            "documents": self.documents,
            "best": self.best,
            "smallest": self.smallest,
            "rows": [row._asdict() for row in self.rows],
        }


class _Read(NamedTuple):
    """A contender that is read: its standing, its chains, and their scores."""

    standing: Standing
    chains: list[Results]
    scores: list[float]


def result_of(
    folder: Path,
    plan: SearchPlan,
    records: Sequence[Mapping[str, Any]],
    threads: int,
    tell: Callable[[int], None] = lambda done: None,
) -> SearchResult:
    """Read the figures of all contenders.

    Parameters
    ----------
    folder : Path
    plan : SearchPlan
    records : sequence of mapping
        Lines of ``rungs.jsonl``, the last rung's at the end.
    threads : int
    tell : callable, optional
        Told how many contenders are read.
    """
    judged = {one["name"]: (record, one) for record in records for one in record["contenders"]}
    rows: list[Tried] = []
    standings: dict[str, Standing] = {}
    kind, documents = None, 0
    for number, contender in enumerate(plan.contenders, 1):
        record, one = judged[contender.name]
        dropped = None if one["goes_on"] else record["epochs"]
        read = _read(contender, folder, 1 if dropped else plan.chains, threads)
        before = None if dropped else _before(contender, plan, standings)
        share, least, most = (math.nan if x is None else x for x in one["worse"])
        rows.append(_row(contender, read, dropped, before)._replace(above=(share, least, most)))
        if not dropped:
            standings[contender.name] = read.standing
        kind, documents = read.chains[0].score, len(read.standing.figure.influence)
        tell(number)
    assert kind is not None
    end = records[-1]
    return SearchResult(folder, plan, kind, documents, tuple(rows), end["leader"], end["smallest"])


def _read(contender: Contender, folder: Path, chains: int, threads: int) -> _Read:
    paths = [chain_path(folder / contender.name, i) for i in range(1, chains + 1)]
    found = [Results(path, threads) for path in paths]
    scores = [float(figure_of(results, own_scorer(results))) for results in found]
    return _Read(standing(contender, paths, threads), found, scores)


def _before(
    contender: Contender, plan: SearchPlan, standings: Mapping[str, Standing]
) -> Standing | None:
    """Find who has the next smaller number of topics and all else alike, of those read so far."""
    if "topics" not in contender.options:
        return None
    rest = contender.place[1:]
    smaller = [
        c
        for c in plan.contenders
        if c.place[1:] == rest and c.place[0] < contender.place[0] and c.name in standings
    ]
    return standings[smaller[-1].name] if smaller else None


def _row(
    contender: Contender, read: _Read, dropped: float | None, before: Standing | None
) -> Tried:
    first, at = read.chains[0], read.standing
    interval = bounds(float(at.figure), resampled([at.figure])[0])
    npmi = coherences(first)
    widths = first.options.widths
    seconds, memory = zip(*(_spent(results.run) for results in read.chains), strict=True)
    several = len(read.chains) > 1
    return Tried(
        name=contender.name,
        topics=widths[0] if widths else 0,
        options=contender.options,
        dropped=dropped,
        chains=len(read.chains),
        iterations=max(results.checkpoint.step for results in read.chains),
        score=interval.value,
        low=interval.low,
        high=interval.high,
        above=(math.nan,) * 3,
        apart=worse_by(at, max(read.scores), min(read.scores)) if several else None,
        gain=None if before is None else float(at.share_gained(before.figure, at.figure)),
        coherence=None if npmi is None or not len(npmi) else _middle(npmi),
        found=share_found_by_all(read.chains),
        steady=steady_words(first),
        seconds=sum(seconds),
        memory=max(memory),
    )


def _middle(values: Doubles) -> tuple[float, float, float]:
    """Give the mean and the quartiles."""
    low, high = np.quantile(values, (0.25, 0.75))
    return float(values.mean()), float(low), float(high)


def _spent(run: RunDirectory) -> tuple[float, int]:
    """Give the seconds of training and the bytes of memory of a run's newest line of metrics."""
    with contextlib.suppress(SgmcError, ValueError):
        *_, last = run.read_metrics(_END)
        return float(last["train_seconds"]), int(last["rss_bytes"])
    return 0.0, 0
