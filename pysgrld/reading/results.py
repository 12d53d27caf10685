"""A run, opened for reading: its topics, its held-out documents, and figures of both.

What depends on the family of models is asked of its `pysgrld.models.fitted.Fitted`. Never takes the lock,
and works while the run is being trained.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.chain.posterior import history_in
from pysgrld.corpus import Corpus, CorpusOptions
from pysgrld.corpus.choice import choose_documents
from pysgrld.corpus.known_words import matched_documents, read_matched
from pysgrld.corpus.listener import Listener
from pysgrld.draws import Draw
from pysgrld.errors import CheckpointError, MissingInputError, UsageError
from pysgrld.evaluate import HeldOut, Score, pair, whole
from pysgrld.evaluate.coherence import Coherence, coherence
from pysgrld.grammar import plural
from pysgrld.minibatches import hold_out_size
from pysgrld.models.fitted import Fitted, top_words
from pysgrld.reading.intervals import Spread, interval
from pysgrld.reading.labels import labels_of
from pysgrld.reading.recorded import check_shapes, recorded
from pysgrld.reading.trained_on import corpus_gone, training_corpus
from pysgrld.reading.values import Topic, Word
from pysgrld.run import Checkpoint, RunDirectory, list_checkpoints
from pysgrld.run.word_counts import read_word_counts
from pysgrld.schedule import wider
from pysgrld.types import Array, Documents, Doubles, Floats, Int64s, Key

#: Documents that coherence looks at, and topic weights: more change no digit that is shown.
COHERENCE_DOCUMENTS, WEIGHT_DOCUMENTS = 100_000, 2_000


class Results:
    """A run that is open for reading.

    Parameters
    ----------
    path : Path
        Of a run, as `pysgrld.reading.open.find_folder` gives it.
    threads : int
    reading : mapping, optional
        How other documents are read, by the names of options, where not as in training.

    Raises
    ------
    MissingInputError
        If it cannot be read.
    CheckpointError
        If its ``config.json`` is not what was written.
    """

    def __init__(self, path: Path, threads: int, reading: Mapping[str, Any] | None = None) -> None:
        self.asked = reading or {}
        self.run = RunDirectory.open(path)
        self.family, self.options = recorded(self.run)
        self.threads = threads
        self.seed: int = self.options.seed
        self.chain = self.options.chain

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.run.path

    @cached_property
    def fitted(self) -> Fitted:
        """The run as its family of models reads it: topics, proportions, scores."""
        return self.family.fitted(_RunRecord(self), self.threads)

    @property
    def score(self) -> Score:
        """The figure that held-out documents are scored by."""
        return self.fitted.score

    @property
    def layers(self) -> tuple[int, ...]:
        """Numbers of topics of each layer."""
        return self.fitted.layers

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Words of the corpus; the n-th is column n of the topics."""
        return self.run.vocabulary

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """The newest checkpoint that verifies.

        Raises
        ------
        CheckpointError
            If there is none.
        """
        if not list_checkpoints(self.path):
            status = self.run.status
            hint = "train it with 'sgmc train'"
            if status.get("state") == "running":
                hint = (
                    f"one is written every {self.options.checkpoint_every} and at the end, or "
                    f"at once on 'kill -USR2 {status.get('pid')}' on {status.get('host')}"
                )
            raise CheckpointError(f"{self.path}: has no checkpoint yet; {hint}")
        found = self.run.load_checkpoint(required=True, invariants=self.family.state_invariants)
        assert found is not None
        return found

    # ---- topics

    @property
    def current(self) -> Draw:
        """The draw at the newest checkpoint: topics as documents read them, word-major."""
        return self.fitted.current

    @property
    def mean(self) -> Draw:
        """The mean of all posterior samples; the current topics where there is none."""
        return self.fitted.mean or self.current

    @property
    def samples(self) -> int:
        """Posterior samples in the `mean`; 0 where it is the current topics."""
        return self.fitted.samples

    @property
    def no_samples(self) -> str:
        """Reason why there is no posterior sample: deleted, not yet, or never."""
        if self.fitted.draws:
            return (
                "no posterior sample is there any more"
                if self.samples
                else "no posterior sample yet"
            )
        return f"{self.options.algo} has no samples"

    @property
    def no_mean(self) -> str:
        """Reason why there is no mean of the topics, where there is none."""
        return self.fitted.no_mean or self.no_samples

    def read_sample(self, step: int) -> dict[str, Array]:
        """Read a kept sample: matrices by name, a row for each topic (``phi``: K x V).

        Raises
        ------
        MissingInputError
            If there is none of that iteration.
        CheckpointError
            If it is damaged, was changed, or is no sample of this model.
        """
        sample = self.run.read_sample(step, self.family.sample_invariants)
        check_shapes(sample, self.fitted.sample_shapes(sample), str(self.run.sample_path(step)))
        self.run.check_sample(step)
        return sample

    def kept(self) -> list[int]:
        """Give the iterations of the kept samples."""
        return self.run.sample_steps()

    @cached_property
    def labels(self) -> dict[int, str]:
        """Names that a person gave to topics of the lowest layer, in ``labels.json``.

        Raises
        ------
        CorpusError
            If the file is not what it must be.
        """
        return labels_of(self.path, self.layers[0])

    def history(self) -> dict[int, float]:
        """Give the averaged score after each posterior sample, by iteration; empty without scores."""
        every, first = self.options.sample_every, self.options.burn_in
        scores = history_in(self.checkpoint.arrays).tolist()
        return {first + n * every: score for n, score in enumerate(scores, 1)}

    # ---- documents

    def held_out(self) -> HeldOut:
        """Give the run's own held-out documents.

        Raises
        ------
        UsageError
            If it has none.
        MissingInputError
            If they are gone.
        """
        folder = self.path / "holdout"
        if not folder.is_dir():
            given = self.options.holdout_corpus or self.options.observed_corpus
            if given or self.run.config["corpus"].get("held_out"):
                raise MissingInputError(
                    f"{folder}: is gone; 'sgmc train --resume {self.path}' writes it again"
                )
            raise UsageError(
                f"{self.path}: this run holds no documents out; give some with --corpus FILE"
            )
        names = ("held-out",) if self.score.whole else ("observed", "held-out")
        stored = [Corpus.open(folder / name) for name in names]
        parts = [part.take(np.arange(part.documents)) for part in stored]
        ids = np.arange(len(parts[0]))
        found = whole(parts[0], ids) if self.score.whole else pair(*parts)
        return found._replace(dropped=self.run.config["corpus"].get("held_out_dropped", 0))

    def read(self, path: str, store: Path, listener: Listener) -> Corpus:
        """Read a corpus over the run's words; rows stay in order, unknown words are counted."""
        return read_matched(path, self.vocabulary, self._reading(), store, self.threads, listener)

    def documents(self, path: str, listener: Listener) -> Iterator[Documents]:
        """Read a corpus over the run's words as a stream, of which nothing is stored."""
        return matched_documents(
            [path],
            self._reading(),
            self.vocabulary,
            threads=self.threads,
            notify=listener.reading,
            log=listener.note,
        )

    def _reading(self) -> CorpusOptions:
        trained = CorpusOptions.of(self.options.plain()).without_vocabulary()
        return replace(trained, **{name.replace("-", "_"): v for name, v in self.asked.items()})

    def training_corpus(self) -> Corpus | None:
        """Open the stored corpus that the run was trained on; None if it is not where it was."""
        return training_corpus(self.run)

    @property
    def gone(self) -> str:
        """Say which training corpus is missing, and from where."""
        return corpus_gone(self.run)

    def training_documents(self, corpus: Corpus) -> Int64s:
        """Give the positions in `training_corpus` of what was trained on."""
        everything = np.arange(corpus.documents)
        if self.options.holdout_corpus or self.options.observed_corpus:
            return everything
        recorded = self.run.config["corpus"].get("held_out", self.options.holdout)
        wanted = hold_out_size(recorded, corpus.documents)
        held = choose_documents(corpus.documents, wanted, Key(self.seed, 0, 0))
        return np.setdiff1d(everything, held, assume_unique=True)

    def word_counts(self) -> Int64s | None:
        """Give the occurrences of each word in training; None for a run that did not record them."""
        return read_word_counts(self.path, self.run.config, len(self.vocabulary))

    def each_sample(self) -> Iterator[tuple[int, dict[str, Array]]]:
        """Read iteration and matrices (a row for each topic) of every kept sample.

        One that is dropped meanwhile is left out.
        """
        for step in self.kept():
            with contextlib.suppress(MissingInputError):
                yield step, self.read_sample(step)

    def divide(self, documents: Documents, observed: float | None, seed: int) -> HeldOut:
        """Make documents held out: whole, or each split at random, by seed, into two parts."""
        ids = np.arange(len(documents))
        return self.family.hold_out(documents, ids, observed or 0.0, seed)

    # ---- topics of a layer, counted from 0

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

    def rows_of(self, step: int, at: int) -> Floats:
        """Give the topics of a layer over the words in a kept sample, (K, V)."""
        return self.fitted.rows_of(self.read_sample(step), at)

    def coherence(self, words: int, at: int = 0) -> Coherence | None:
        """Measure coherence of the mean topics' top words over training; None if the corpus is gone."""
        corpus = self.training_corpus()
        if corpus is None or len(self.vocabulary) < 2:
            return None
        ids = spread(self.training_documents(corpus), COHERENCE_DOCUMENTS)
        return coherence(self.top(min(words, len(self.vocabulary)), at), corpus, ids)

    def top(self, n: int, at: int = 0) -> Int64s:
        """Give the word ids of the n most probable words of each mean topic, (K, n), the first first."""
        return top_words(self.fitted.over_words(self.mean, at)[:, : self.layers[at]], n)

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

    def _probabilities(self, top: Int64s, at: int) -> Iterator[Floats]:
        """Give the top words' probabilities in each kept sample, (K, n)."""
        rows = np.arange(self.layers[at])[:, None]
        for step in self.kept():
            with contextlib.suppress(MissingInputError):
                yield self.rows_of(step, at)[rows, top]

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
        bounds = interval(self._probabilities(top, at)) if followed else None
        found = self.coherence(10, at) if coherences else None
        weights, counts = self.weights(at), self.fitted.counts()
        labels = self.labels if at == 0 else {}
        topics = []
        for k in self.fitted.shown(at).tolist():
            words = tuple(
                Word(
                    self.vocabulary[w],
                    float(phi[w, k]),
                    None if bounds is None else float(bounds[0][k, i]),
                    None if bounds is None else float(bounds[1][k, i]),
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


class _RunRecord:
    """A run as its family of models reads it. A `pysgrld.models.fitted.Record`."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self.options = results.options

    @property
    def words(self) -> int:
        return len(self._results.vocabulary)

    @property
    def documents(self) -> int:
        found: int = self._results.run.config["corpus"]["training_documents"]
        return found

    @property
    def tokens(self) -> int:
        found: int = self._results.run.config["corpus"]["training_tokens"]
        return found

    @property
    def step(self) -> int:
        return self._results.checkpoint.step

    @property
    def arrays(self) -> Mapping[str, Array]:
        return self._results.checkpoint.arrays

    @property
    def place(self) -> str:
        return str(self._results.checkpoint.path)


def spread(ids: Int64s, most: int) -> Int64s:
    """Choose at most so many of some ids, evenly spaced."""
    if len(ids) <= most:
        return ids
    return ids[np.arange(most) * len(ids) // most]
