"""A run, opened for reading: its topics, its documents, and figures of both."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from pysgrld.core.draws import Draw
from pysgrld.errors import UsageError, plural
from pysgrld.evaluate.coherence import Coherence, coherence
from pysgrld.models.fitted import top_words
from pysgrld.models.seeds import seed_names
from pysgrld.reading.documents import RunDocuments, spread
from pysgrld.reading.intervals import Spread, interval
from pysgrld.reading.labels import labels_of
from pysgrld.reading.values import Topic, Word
from pysgrld.types import Documents, Doubles, Floats, Int64s, wider

__all__ = ["COHERENCE_DOCUMENTS", "WEIGHT_DOCUMENTS", "Results", "spread"]

#: Documents that coherence looks at, and topic weights: more change no digit that is shown.
COHERENCE_DOCUMENTS, WEIGHT_DOCUMENTS = 100_000, 2_000


class Results(RunDocuments):
    """A run that is open for reading: its draws, its documents, and the topics that are told of them.

    It is opened as `RunDraws` is.
    """

    @cached_property
    def labels(self) -> dict[int, str]:
        """Names that a person gave to topics of the lowest layer, in ``labels.json``.

        Raises
        ------
        CorpusError
            If the file is not what it must be.
        """
        return labels_of(self.path, self.layers[0])

    def seed_names(self, at: int = 0) -> dict[int, str]:
        """Give the names of the topics of a layer that were trained with seed words, by number."""
        return seed_names(self.options) if at == 0 else {}

    def given_names(self, at: int = 0) -> dict[int, str]:
        """Give the names that people gave to topics of a layer, with seed words or later, by number."""
        return self.seed_names(at) | (self.labels if at == 0 else {})

    def at(self, layer: int | None) -> int:
        """Give the place, from 0, of a layer that a person counts from 1; the lowest where None.

        Raises
        ------
        UsageError
            If there is no such layer.
        """
        depth = self.fitted.depth
        if layer is not None and not 1 <= layer <= depth:
            raise UsageError(
                f"--layer {layer}: the model of {self.path} has {plural(depth, 'layer')}"
            )
        return (layer or 1) - 1

    def coherence(self, words: int, at: int = 0, draw: Draw | None = None) -> Coherence | None:
        """Measure coherence of the top words over training; None if the corpus is gone.

        Of the mean topics, or of another draw.
        """
        corpus = self.training_corpus()
        if corpus is None or len(self.vocabulary) < 2:
            return None
        ids = spread(self.training_documents(corpus), COHERENCE_DOCUMENTS)
        return coherence(self.top(min(words, len(self.vocabulary)), at, draw), corpus, ids)

    def top(self, n: int, at: int = 0, draw: Draw | None = None) -> Int64s:
        """Give the word ids of the n most probable words of each topic, (K, n), the first first.

        Of the mean topics, or of another draw.
        """
        phi = self.fitted.over_words(self.mean if draw is None else draw, at)
        return top_words(phi[:, : self.layers[at]], n)

    def weights(self, at: int = 0) -> Doubles | None:
        """Weigh each topic by how much of the corpus it makes up, (K,); None where nothing is known.

        Topics that have no weight of their own are weighed by up to 2,000 training documents, evenly
        spaced, or by the held-out documents where the corpus is not there.
        """
        return self.fitted.weights(self._some_documents, at)

    def _some_documents(self) -> tuple[Documents, Int64s] | None:
        """Give documents that topics are weighed by, and their ids; None where there are none."""
        corpus = self.training_corpus()
        if corpus is not None:
            ids = spread(self.training_documents(corpus), WEIGHT_DOCUMENTS)
            return corpus.take(ids), ids
        if not (self.path / "holdout").is_dir():
            return None
        documents = self.held_out().observed
        return documents, np.arange(len(documents))

    def spread(self) -> Spread:
        """Say what the draws are of that intervals are read from."""
        step = self.checkpoint.step
        noise = self.fitted.noise(step)
        return Spread(
            self.options.algo,
            self.fitted.faithful(step),
            noise,
            None if noise is None else math.sqrt(wider(noise)),
            self.fitted.remedy(),
        )

    def topics(
        self, n: int, *, intervals: bool, coherences: bool = True, at: int = 0
    ) -> list[Topic]:
        """Describe the topics of a layer, the one of greatest weight first.

        Parameters
        ----------
        n : int
            Top words of each.
        intervals, coherences : bool
            Whether to look for intervals, and for coherence of the ten top words.
        at : int
            The layer.
        """
        top, phi = self.top(n, at), self.fitted.over_words(self.mean, at)
        followed = intervals and not self.fitted.no_mean
        bounds = interval(self.top_word_draws(top, at)) if followed else None
        found = self.coherence(10, at) if coherences else None
        weights, counts = self.weights(at), self.fitted.counts()
        labels = self.given_names(at)
        topics = []
        for k in self.fitted.shown(at).tolist():
            words = tuple(
                Word(
                    self.vocabulary[w],
                    float(phi[w, k]),
                    None if bounds is None else float(bounds.low[k, i]),
                    None if bounds is None else float(bounds.high[k, i]),
                    bounds is not None and bool(bounds.low_open[k, i]),
                    bounds is not None and bool(bounds.high_open[k, i]),
                )
                for i, w in enumerate(top[k].tolist())
            )
            topics.append(
                Topic(
                    k,
                    None if weights is None else float(weights[k]),
                    None if found is None else float(found.npmi[k]),
                    None if found is None else float(found.umass[k]),
                    words,
                    None if counts is None else int(counts[k]),
                    self._against(phi[:, k], words[-1].probability, n),
                    labels.get(k),
                )
            )
        return sorted(topics, key=lambda topic: (-(topic.weight or 0.0), topic.id))

    def _against(self, entries: Floats, least: float, n: int) -> tuple[Word, ...]:
        """Give the words that a direction points away from by ``least`` or more, at most n of them."""
        if not self.fitted.signed:
            return ()
        lowest = top_words(-entries[:, None], n)[0]
        return tuple(
            Word(self.vocabulary[w], float(entries[w]), None, None)
            for w in lowest.tolist()
            if entries[w] < 0.0 and -entries[w] >= least
        )
