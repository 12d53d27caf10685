"""A run that is compared with another: its topics over its own words, and over those that both have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pysgrld.reading.results import Results
from pysgrld.report.compare.partners import Likening, Topics
from pysgrld.report.compare.values import Side
from pysgrld.report.names import names_of
from pysgrld.types import Doubles, Floats, Int64s


class OneSide:
    """One of the runs, with the topics that are shown, over its own words.

    Parameters
    ----------
    results : Results
    at : int
        The layer, counted from 0.
    """

    def __init__(self, results: Results, at: int) -> None:
        self.results, self.at = results, at
        self.ids: Int64s = results.fitted.shown(at)
        self.phi = results.fitted.over_words(results.mean, at)
        self.known_weights = results.weights(at)
        weights = self.known_weights
        self.weights: Doubles = np.ones(len(self.ids)) if weights is None else weights[self.ids]

    def over(self, shared: Sequence[str], how: Likening) -> Topics:
        """Give the topics over words that both runs have, scaled to these."""
        place = {word: n for n, word in enumerate(self.results.vocabulary)}
        there = np.array([place[word] for word in shared], np.int64)
        self._lacking = np.setdiff1d(np.arange(len(place)), there)
        rows = np.ascontiguousarray(self.phi[there][:, self.ids].T)
        return Topics(how.scaled(rows), self.weights)

    def share(self, rows: Sequence[int]) -> float | None:
        """Give the share of the corpus of some of the topics."""
        return (
            None
            if self.known_weights is None or not rows
            else float(self.weights[list(rows)].sum())
        )

    def numbers(self, rows: Sequence[int]) -> tuple[int, ...]:
        """Give the numbers of some of the topics, as an export has them."""
        return tuple(self.ids[list(rows)].tolist())

    def mixed(self, rows: Sequence[int], how: Likening) -> Floats:
        """Put topics together over the run's own words."""
        own = Topics(
            np.ascontiguousarray(self.phi[:, self.ids[list(rows)]].T), self.weights[list(rows)]
        )
        return how.put_together(own, list(range(len(rows))))

    def outside(self, mixed: Floats, how: Likening) -> float:
        """Give the share of what is put together that is on words that the other run lacks."""
        part = mixed[self._lacking].astype(np.float64)
        return float(part @ part) if how.signed else float(part.sum())

    def side(self, known: frozenset[str]) -> Side:
        """Describe the run."""
        run, at = self.results, self.at
        labels = run.labels if at == 0 else {}
        counts, outside = run.word_counts(), None
        if counts is not None and counts.sum():
            lacks = [word not in known for word in run.vocabulary]
            outside = float(counts[lacks].sum() / counts.sum())
        names = names_of(run, at) | labels
        return Side(
            run.path,
            run.options.model,
            run.options.algo,
            run.fitted.noun,
            at + 1,
            len(self.ids),
            len(run.vocabulary),
            run.run.config["corpus"]["training_documents"],
            run.checkpoint.step,
            run.samples,
            run.run.status.get("state") == "running",
            {k: names[k] for k in self.ids.tolist()},
            labels,
            outside,
        )
