"""Pooled results of several chains of one run, and the number of chains that have each topic.

The topics shown are the topics of the first chain. Each topic has two results: the number of chains
that have the topic, and the pooled values of the topic. Neither result implies the other. The
pooled values are means over the draws of the chains that have the topic; the differences between
these chains are part of the uncertainty. A chain without the topic contributes nothing to its
pooled values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from pysgrld.core.draws import Draw
from pysgrld.errors import MissingInputError
from pysgrld.evaluate import DocumentDraw
from pysgrld.evaluate.matching import Matched, match
from pysgrld.models.fitted import Fitted
from pysgrld.reading.intervals import Interval, Spread, effective_sizes, interval
from pysgrld.reading.results import ChainOfTopics, Results
from pysgrld.run import Checkpoint
from pysgrld.types import Array, Documents, Doubles, Floats, Int64s


class PooledResults(Results):
    """Chains of a run, opened for reading and pooled as if they were a single chain.

    Options, labels, held-out documents and the training corpus are the first chain's. A method that
    is called with a draw uses that draw of the first chain.

    Parameters
    ----------
    chains : sequence of Results
        Two or more chains of one configuration and corpus.
    place : Path
        The folder that contains the chains.
    """

    def __init__(self, chains: Sequence[Results], place: Path) -> None:
        first = chains[0]
        super().__init__(first.path, first.threads, first.asked, these=first.these)
        self.place, self.chains = place, [*chains]
        self._matched: dict[int, Matched] = {}

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """Latest checkpoint of the first chain."""
        return self.chains[0].checkpoint

    @cached_property
    def fitted(self) -> Fitted:
        """Fitted model of the first chain."""
        return self.chains[0].fitted

    def matched(self, layer_index: int = 0) -> Matched:
        """Match the topics of all chains with the topics of the first chain; cache the result."""
        if layer_index not in self._matched:
            likeness, k = self.fitted.likeness, self.fitted.layers[layer_index]
            assert likeness is not None
            rows = [np.ascontiguousarray(chain.phi(layer_index)[:, :k].T) for chain in self.chains]
            self._matched[layer_index] = match(rows, likeness)
        return self._matched[layer_index]

    def found_by(self, layer_index: int = 0) -> Int64s:
        """Return the number of chains that have each topic, (K,)."""
        return self.matched(layer_index).found

    def sources(self, layer_index: int = 0) -> list[ChainOfTopics]:
        """Return each chain with the rows of its topics that match the first chain's topics."""
        matched = self.matched(layer_index)
        own_rows = np.where(matched.has, matched.rows, -1)
        return [
            ChainOfTopics(chain, rows) for chain, rows in zip(self.chains, own_rows, strict=True)
        ]

    def spread(self) -> Spread:
        """Return the spread of the pooled samples, compared with the posterior's spread."""
        return super().spread()._replace(ess={}, chains=len(self.chains))

    # ---- topics

    def phi(self, layer_index: int = 0, draw: Draw | None = None) -> Floats:
        """Return the topics over words; each topic is averaged over the chains that have it."""
        if draw is not None:
            return super().phi(layer_index, draw)
        matched, phi = self.matched(layer_index), self.chains[0].phi(layer_index).copy()
        total = phi[:, : matched.rows.shape[1]].astype(np.float64)
        for chain, rows, has in zip(
            self.chains[1:], matched.rows[1:], matched.has[1:], strict=True
        ):
            total[:, has] += chain.phi(layer_index)[:, rows[has]]
        phi[:, : total.shape[1]] = total / matched.found
        return phi

    def weights(self, layer_index: int = 0) -> Doubles | None:
        """Return each topic's share of the corpus, averaged over the chains that have it."""
        weights_of_chains = [chain.weights(layer_index) for chain in self.chains]
        known_weights = [weights for weights in weights_of_chains if weights is not None]
        if len(known_weights) < len(weights_of_chains):
            return None
        total: Doubles = self._total(layer_index, known_weights)
        total /= total.sum()
        return total

    def word_intervals(self, words: Int64s, layer_index: int = 0) -> Interval | None:
        """Return intervals of topics' word probabilities, from the chains that have each topic."""
        matched = self.matched(layer_index)
        drawn = []
        for chain, rows in zip(self.chains, matched.rows, strict=True):
            chain_words = np.empty_like(words)
            chain_words[rows] = words
            drawn.append(
                [
                    (v[rows], missing[rows])
                    for v, missing in chain.top_word_draws(chain_words, layer_index)
                ]
            )
        return interval(drawn, matched.has, exact=self._exact)

    def share_sizes(self) -> Doubles | None:
        """Return the ESS of each topic's share, from the chains that have the topic."""
        traces = [chain.share_trace for chain in self.chains]
        known_traces = [trace for trace in traces if trace is not None]
        if not self._exact or len(known_traces) < len(traces):
            return None
        matched = self.matched()
        sizes = np.empty(matched.rows.shape[1])
        for k, has in enumerate(matched.has.T):
            topic_traces = [known_traces[c][:, matched.rows[c, k]] for c in np.flatnonzero(has)]
            sizes[k] = effective_sizes([trace[:, None] for trace in topic_traces], exact=True)[0]
        return sizes

    def topic_draws(self, steps: Sequence[int], layer_index: int = 0) -> Iterator[Floats]:
        """Yield samples of all topics; the chains that have a topic provide its samples in turn."""
        steps_of_chains, matched = self._own_steps(len(steps)), self.matched(layer_index)
        for s, turn in enumerate(_turns(matched.has, len(steps))):
            phi = np.empty((len(turn), len(self.vocabulary)), np.float32)
            for c in np.unique(turn):
                topics = turn == c
                phi[topics] = self.chains[c].topics_of_sample(steps_of_chains[c][s], layer_index)[
                    matched.rows[c, topics]
                ]
            yield phi

    # ---- documents

    def proportions(
        self, documents: Documents, ids: Int64s, layer_index: int = 0, draw: Draw | None = None
    ) -> Doubles:
        """Infer the topic proportions of documents.

        The proportion of each topic is averaged over the chains that have the topic; then the
        proportions of each document are scaled to sum to 1.
        """
        if draw is not None:
            return super().proportions(documents, ids, layer_index, draw)
        theta = self._total(
            layer_index, [chain.proportions(documents, ids, layer_index) for chain in self.chains]
        )
        theta /= theta.sum(axis=1, keepdims=True)
        return theta

    def draw_steps(self, most: int) -> list[int]:
        """Return the iterations of ``most`` samples, or of fewer if a chain has not that many."""
        return self.chains[0].draw_steps(min(most, *(len(chain.kept()) for chain in self.chains)))

    def each_document_draw(
        self,
        documents: Documents,
        ids: Int64s,
        steps: Sequence[int],
        layer_index: int = 0,
        *,
        new: bool = False,
    ) -> Iterator[DocumentDraw]:
        """Yield samples of proportions; the chains that have a topic provide its values in turn.

        The proportions in a sample are then scaled to sum to 1. Parameters are as in
        `Results.each_document_draw`.
        """
        steps_of_chains, matched = self._own_steps(len(steps)), self.matched(layer_index)
        turns = _turns(matched.has, len(steps))
        drawn = [
            chain.each_document_draw(
                documents,
                ids,
                [mine[s] for s in np.flatnonzero((turns == c).any(axis=1))],
                layer_index,
                new=new,
            )
            for c, (chain, mine) in enumerate(zip(self.chains, steps_of_chains, strict=True))
        ]
        lengths = documents.lengths[:, None].astype(np.float32)
        for turn in turns:
            theta = np.empty((len(ids), len(turn)), np.float32)
            tokens = np.empty_like(theta)
            for c in np.unique(turn):
                draw, topics = next(drawn[c]), turn == c
                theta[:, topics] = draw.theta[:, matched.rows[c, topics]]
                tokens[:, topics] = draw.tokens[:, matched.rows[c, topics]]
            theta /= theta.sum(axis=1, keepdims=True)
            sums = tokens.sum(axis=1, keepdims=True)
            scaled = tokens * (lengths / np.maximum(sums, 1e-30))
            yield DocumentDraw(theta, np.where(sums > 0, scaled, theta * lengths))

    # ---- the chains

    def _own_steps(self, draws: int) -> list[list[int]]:
        """Return the iterations of ``draws`` stored samples of each chain.

        Raises
        ------
        MissingInputError
            If a chain has fewer samples by now.
        """
        steps_of_chains = [chain.draw_steps(draws) for chain in self.chains]
        if any(len(mine) < draws for mine in steps_of_chains):
            raise MissingInputError(
                f"{self.place}: samples of a chain were deleted during reading; run the command "
                "again"
            )
        return steps_of_chains

    @cached_property
    def _exact(self) -> bool:
        return all(chain.fitted.exact is not None for chain in self.chains)

    def _total(self, layer_index: int, values: Sequence[Doubles]) -> Doubles:
        """Average values of topics, (..., K), each topic over the chains that have the topic."""
        matched = self.matched(layer_index)
        total = np.zeros(values[0].shape)
        for value, rows, has in zip(values, matched.rows, matched.has, strict=True):
            total[..., has] += value[..., rows[has]]
        mean: Doubles = total / matched.found
        return mean


def _turns(has: Array, draws: int) -> Int64s:
    """Choose, for each topic of each pooled sample, the chain that provides the topic, (S, K)."""
    turns = np.empty((draws, has.shape[1]), np.int64)
    numbers = np.arange(draws)
    for pattern in np.unique(has, axis=1).T:
        chains = np.flatnonzero(pattern)
        # The chains take turns, and the term numbers // len(chains) changes their order after each
        # turn. A chain of training may have several chains of Gibbs refinement. Without the term,
        # all samples that it provides could be from one of these.
        turn = chains[(numbers + numbers // len(chains)) % len(chains)]
        turns[:, (has == pattern[:, None]).all(axis=0)] = turn[:, None]
    return turns


def read_together(chains: Sequence[Results], place: Path) -> Results:
    """Return the pooled chains of a run, or only the first chain if topics cannot be averaged.

    `Results.chains` of the result contains all chains.

    Parameters
    ----------
    chains : sequence of Results
        One or more chains of one run.
    place : Path
        The folder that the user named.
    """
    first = chains[0]
    if len(chains) == 1 or first.fitted.likeness is None or first.fitted.signed:
        first.place, first.chains = place, [*chains]
        return first
    return PooledResults(chains, place)
