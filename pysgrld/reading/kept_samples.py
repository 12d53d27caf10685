"""Stored posterior samples of a run: full samples, and samples of the top words only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from pysgrld.chain.exact import read_averages
from pysgrld.chain.population import PopulationDraws
from pysgrld.chain.posterior import read_running_averages
from pysgrld.errors import CheckpointError, MissingInputError
from pysgrld.models.fitted import Fitted
from pysgrld.models.samples import TOP_WORDS, look_up_words, n_top_words
from pysgrld.reading import run_record
from pysgrld.reading.intervals import Interval, interval
from pysgrld.run import Checkpoint, RunDirectory, list_checkpoints
from pysgrld.run.tensors import TOLERANCE
from pysgrld.types import Array, Floats, Int64s


class KeptSamples:
    """Run opened for reading: its latest checkpoint, and its stored posterior samples.

    Parameters
    ----------
    path : Path
        Folder of a run.
    threads : int
        Number of threads that read and sample documents, at least 1.
    these : bool
        As for `pysgrld.reading.results.Results`.
    """

    def __init__(self, path: Path, threads: int, *, these: bool) -> None:
        self.path, self.threads, self.these = path, threads, these
        self.run = RunDirectory.open(path)
        self.model, self.options = run_record.model_and_options(self.run)
        self.seed: int = self.options.seed
        self.chain = self.options.chain
        if gone := self.run.samples.gone():
            run_record.warn_once(
                f"{path}: {len(gone)} of {len(self.run.samples.listed())} samples listed by the "
                "newest checkpoint are missing; results use the remaining samples"
            )

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Words of the corpus; column n of the topics belongs to word n."""
        return self.run.vocabulary

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """Latest undamaged checkpoint of the run.

        Raises
        ------
        CheckpointError
            If the run has no undamaged checkpoint.
        """
        if not list_checkpoints(self.path):
            status = self.run.status
            hint = "train it with 'sgmc train'"
            if status.get("state") == "running":
                hint = (
                    f"a checkpoint is written every {self.options.checkpoint_every} and at the "
                    f"end; to write a checkpoint now, run 'kill -USR2 {status.get('pid')}' on "
                    f"{status.get('host')}"
                )
            raise CheckpointError(f"{self.path}: has no checkpoint yet; {hint}")
        checkpoint = self.run.load_checkpoint(
            required=True, invariants=self.model.fitted.state_invariants
        )
        assert checkpoint is not None
        return checkpoint

    @cached_property
    def fitted(self) -> Fitted:
        """Fitted model of the run, which computes topics, proportions and scores."""
        record = run_record.RunRecord(self.run, self.options, lambda: self.checkpoint)
        return self.model.fitted(record, self.threads)

    def kept(self, *, slim: bool = False) -> list[int]:
        """Return the iterations of the stored full samples, or if ``slim``, of top-word samples."""
        return self.run.samples.steps(top_words=slim)

    def history(self) -> dict[int, float]:
        """Return, by iteration, the score of predictions averaged over the samples so far.

        The mapping is empty if these scores are unknown.
        """
        every, first = self.options.sample_every, self.options.burn_in
        arrays, exact = self.checkpoint.arrays, self.fitted.exact
        scores = read_running_averages(arrays).history.tolist()
        scores_by_iteration = {first + n * every: score for n, score in enumerate(scores, 1)}
        if exact:
            first, scores = (
                exact.begun + exact.burn_in,
                read_running_averages(read_averages(arrays)).history.tolist(),
            )
            scores_by_iteration |= {
                first + n * exact.every: score for n, score in enumerate(scores, 1)
            }
        return scores_by_iteration

    def read_sample(self, step: int) -> Mapping[str, Array]:
        """Read and check a stored sample; see `pysgrld.reading.run_record.read_sample`."""
        return run_record.read_sample(self.run, self.fitted, step)

    @cached_property
    def population(self) -> PopulationDraws | None:
        """Transformation of topic samples for intervals about other texts like these, or None."""
        return None if self.these else self.fitted.population

    def topic_sample(self, step: int) -> Mapping[str, Array]:
        """Return the stored sample of an iteration, transformed by `population` if there is one.

        Raises
        ------
        MissingInputError, CheckpointError
            As `read_sample`.
        """
        return self.for_population(step, self.read_sample(step))

    def for_population(self, step: int, sample: Mapping[str, Array]) -> Mapping[str, Array]:
        """Transform the sample of an iteration by `population`; without it, return the sample."""
        return sample if self.population is None else self.fitted.widen_sample(step, sample)

    def topics_of_sample(self, step: int, layer_index: int) -> Floats:
        """Return the topics of a layer in one sample, as distributions over words, (K, V)."""
        return self.fitted.topics_of_sample(self.topic_sample(step), layer_index)

    def topic_draws(self, steps: Sequence[int], layer_index: int = 0) -> Iterator[Floats]:
        """Yield the topics of a layer, (K, V), for each of the stored samples in turn.

        Parameters
        ----------
        steps : sequence of int
            Iterations of kept samples (`draw_steps`).
        layer_index : int
            The layer, counted from 0.
        """
        return (self.topics_of_sample(step, layer_index) for step in steps)

    def read_slim(self, step: int) -> dict[str, Array]:
        """Read a stored top-word sample: ids and probabilities of each topic's top words, (K, 256).

        Raises
        ------
        MissingInputError
            If the iteration has no sample.
        CheckpointError
            If it is damaged, was changed, or belongs to another model.
        """
        sample = self.run.samples.read(step, TOP_WORDS, top_words=True)
        place, v = str(self.run.samples.path(step, top_words=True)), len(self.vocabulary)
        shape = (self.fitted.layers[0], n_top_words(v))
        run_record.check_shapes(sample, {"words": shape, "phi": shape}, place)
        self.run.samples.verify(step, top_words=True)
        if sample["words"].max(initial=0) >= v:
            raise CheckpointError(
                f"{place}: refers to a word beyond the {v:,} words of the vocabulary; delete the "
                "file to continue without it"
            )
        total = sample["phi"].sum(axis=1, dtype=np.float64)
        off = (total <= 0.0) | (total > 1.0 + TOLERANCE)
        if off.any():
            k = int(off.argmax())
            raise CheckpointError(
                f"{place}: the top-word probabilities of topic {k} sum to {total[k]:g}; "
                "the sum must be above 0 and at most 1; delete the file to continue without it"
            )
        if self.population is None:
            return sample
        words = sample["words"].astype(np.int64)
        wide, _ = self.population.at(step, words, partial(look_up_words, sample))
        order = np.argsort(-wide, axis=1, kind="stable")
        return {
            "words": np.take_along_axis(sample["words"], order, axis=1),
            "phi": np.take_along_axis(wide, order, axis=1),
        }

    def word_steps(self, layer_index: int = 0) -> tuple[list[int], bool]:
        """Choose the samples from which intervals of word probabilities are computed.

        Return the iterations of the samples, and True if they are top-word samples. Top-word
        samples are used if more of them are stored than full samples; they contain only the lowest
        layer.
        """
        full, slim = self.kept(), self.kept(slim=True) if layer_index == 0 else []
        return (slim, True) if len(slim) > len(full) else (full, False)

    def top_word_draws(self, words: Int64s, layer_index: int = 0) -> Iterator[tuple[Floats, Array]]:
        """Yield the probabilities of the given words in each topic, for each sample in turn.

        The samples are the ones that `word_steps` chooses. Samples that training deletes meanwhile
        are left out.

        Parameters
        ----------
        words : (K, n) int64
            Ids of words of each topic.
        layer_index : int
            The layer, counted from 0.

        Yields
        ------
        values : (K, n) float32
            Probabilities of the words in a sample.
        censored : (K, n) bool
            True if the sample is a top-word sample that lacks the word; the value is then an upper
            bound.
        """
        steps, slim = self.word_steps(layer_index)
        for step in steps:
            with contextlib.suppress(MissingInputError):
                yield self.words_at(step, words, layer_index, slim=slim)

    def words_at(
        self, step: int, words: Int64s, layer_index: int, *, slim: bool
    ) -> tuple[Floats, Array]:
        """Return word probabilities in a sample, and a mask of values that are only upper bounds."""
        if slim:
            return look_up_words(self.read_slim(step), words)
        phi = self.fitted.topics_of_sample(self.read_sample(step), layer_index)

        def look_up(ids: Int64s) -> tuple[Floats, Array]:
            return phi[np.arange(len(ids))[:, None], ids], np.zeros(ids.shape, bool)

        if self.population is None or layer_index:
            return look_up(words)
        return self.population.at(step, words, look_up)

    def word_intervals(self, words: Int64s, layer_index: int = 0) -> Interval | None:
        """Return intervals of the probabilities of the given words of each topic, (K, n).

        The result is None if the run has too few samples.
        """
        exact = self.fitted.exact is not None
        return interval([list(self.top_word_draws(words, layer_index))], exact=exact)
