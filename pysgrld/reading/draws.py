"""The draws of a run that is opened for reading: its checkpoint, its mean, and the samples that it kept.

What depends on the model is asked of its `pysgrld.models.fitted.Fitted`. Never takes the lock,
and works while the run is being trained.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.chain.posterior import history_in
from pysgrld.core.draws import Draw
from pysgrld.errors import CheckpointError, MissingInputError
from pysgrld.evaluate import Score
from pysgrld.models.fitted import Fitted
from pysgrld.models.top_words import SLIM, looked_up, width
from pysgrld.reading.recorded import check_shapes, recorded
from pysgrld.run import Checkpoint, RunDirectory, list_checkpoints
from pysgrld.types import Array, Floats, Int64s


class RunDraws:
    """The draws of a run: what it has of its posterior, in memory and on disk.

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
        self.model, self.options = recorded(self.run)
        self.threads = threads
        self.seed: int = self.options.seed
        self.chain = self.options.chain

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.run.path

    @cached_property
    def fitted(self) -> Fitted:
        """The run as its model reads it: topics, proportions, scores."""
        return self.model.fitted(_RunRecord(self), self.threads)

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
        found = self.run.load_checkpoint(required=True, invariants=self.model.state_invariants)
        assert found is not None
        return found

    # ---- topics as they are, and their mean

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

    def history(self) -> dict[int, float]:
        """Give the averaged score after each posterior sample, by iteration; empty where unknown."""
        every, first = self.options.sample_every, self.options.burn_in
        scores = history_in(self.checkpoint.arrays).tolist()
        return {first + n * every: score for n, score in enumerate(scores, 1)}

    # ---- kept samples, full and slim

    def read_sample(self, step: int) -> dict[str, Array]:
        """Read a kept sample: matrices by name, a row for each topic (``phi``: K x V).

        Raises
        ------
        MissingInputError
            If there is none of that iteration.
        CheckpointError
            If it is damaged, was changed, or is no sample of this model.
        """
        sample = self.run.read_sample(step, self.model.sample_invariants)
        check_shapes(sample, self.fitted.sample_shapes(sample), str(self.run.sample_path(step)))
        self.run.check_sample(step)
        return sample

    def kept(self) -> list[int]:
        """Give the iterations of the kept samples."""
        return self.run.sample_steps()

    def each_sample(self) -> Iterator[tuple[int, dict[str, Array]]]:
        """Read iteration and matrices (a row for each topic) of every kept sample.

        One that is dropped meanwhile is left out.
        """
        for step in self.kept():
            with contextlib.suppress(MissingInputError):
                yield step, self.read_sample(step)

    def rows_of(self, step: int, at: int) -> Floats:
        """Give the topics of a layer over the words in a kept sample, (K, V)."""
        return self.fitted.rows_of(self.read_sample(step), at)

    def read_slim(self, step: int) -> dict[str, Array]:
        """Read a kept top-word sample: ids and probabilities of words, (K, 256), a row for each topic.

        Raises
        ------
        MissingInputError
            If there is none of that iteration.
        CheckpointError
            If it is damaged, was changed, or is no sample of this model.
        """
        sample = self.run.read_sample(step, SLIM, slim=True)
        place, v = str(self.run.sample_path(step, slim=True)), len(self.vocabulary)
        shape = (self.layers[0], width(v))
        check_shapes(sample, {"words": shape, "phi": shape}, place)
        self.run.check_sample(step, slim=True)
        if sample["words"].max(initial=0) >= v:
            raise CheckpointError(f"{place}: has a word beyond the {v:,} that there are")
        return sample

    def slim_kept(self) -> list[int]:
        """Give the iterations of the kept top-word samples."""
        return self.run.sample_steps(slim=True)

    def word_steps(self, at: int = 0) -> tuple[list[int], bool]:
        """Give the iterations of the samples that words are followed by, and whether these are slim.

        Slim ones are taken where more of them are kept. They tell of the lowest layer alone.
        """
        full, slim = self.kept(), self.slim_kept() if at == 0 else []
        return (slim, True) if len(slim) > len(full) else (full, False)

    def top_word_draws(self, words: Int64s, at: int = 0) -> Iterator[tuple[Floats, Array]]:
        """Follow some words of each topic over the kept samples, full or slim, one at a time.

        One that is dropped meanwhile is left out.

        Parameters
        ----------
        words : (K, n) int64
            Ids of words of each topic.
        at : int
            The layer, counted from 0.

        Yields
        ------
        values : (K, n) float32
            Probabilities of the words in a sample.
        censored : (K, n) bool
            Whether the sample is a slim one that lacks the word: it has at most that probability.
        """
        steps, slim = self.word_steps(at)
        for step in steps:
            with contextlib.suppress(MissingInputError):
                yield self.words_at(step, words, at, slim=slim)

    def words_at(self, step: int, words: Int64s, at: int, *, slim: bool) -> tuple[Floats, Array]:
        """Look words of each topic up in one sample, as `top_word_draws` does in all."""
        if slim:
            return looked_up(self.read_slim(step), words)
        rows = np.arange(len(words))[:, None]
        return self.rows_of(step, at)[rows, words], np.zeros(words.shape, bool)


class _RunRecord:
    """A run as its model reads it. A `pysgrld.models.fitted.Record`."""

    def __init__(self, results: RunDraws) -> None:
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
