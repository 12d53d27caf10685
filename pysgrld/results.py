"""A run, opened for reading: its topics, its held-out documents, what can be said of both.

Never takes the lock, and works while the run is being trained.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.core import core
from pysgrld.corpus import Corpus, CorpusOptions
from pysgrld.corpus.matched import matched_documents
from pysgrld.errors import CheckpointError, MissingInputError, SgmcError, UsageError
from pysgrld.evaluate import HeldOut, Scorer, pair, scorer_of, split
from pysgrld.evaluate.coherence import Coherence, coherence
from pysgrld.findings import Topic, Topics, Word
from pysgrld.models import MODELS
from pysgrld.models.dlda import projection
from pysgrld.parts import by_word
from pysgrld.plan import hold_out_size, read_matched
from pysgrld.prepare import WORD_COUNTS
from pysgrld.proportions import BLOCK, proportions
from pysgrld.reporter import Listener
from pysgrld.run import Checkpoint, RunDirectory, chains_of, latest_run, list_checkpoints
from pysgrld.run.choose import ROOT
from pysgrld.run.create import is_run
from pysgrld.samplers import SAMPLERS, read, sampler_of
from pysgrld.samplers.scir import average_rate
from pysgrld.schedule import Schedule, noise_inflation
from pysgrld.stream import chain_of, choose_holdout
from pysgrld.types import Array, Block, Documents, Doubles, Floats, Int64s, Key, Parts

#: Documents that coherence looks at, and topic weights: more change no digit that is shown.
COHERENCE_DOCUMENTS, WEIGHT_DOCUMENTS = 100_000, 2_000
#: Kept samples from which a credible interval is read.
INTERVAL_SAMPLES = 20
#: Share of the posterior that lies within it.
INTERVAL = 0.9

_READING = ("token-pattern", "text-field", "on-bad-document", "max-line", "max-input")


def find(name: str | None, root: Path = ROOT, *, chains: bool = False) -> Path:
    """Folder of the run that a person means: a folder, a name under ``root``, or the latest.

    Of a folder of chains it is that of the first one, unless ``chains`` are wanted: then it is the
    folder of them all.

    Raises
    ------
    MissingInputError
        If there is no such run.
    """
    if name is None:
        path = latest_run(root)
        return path if chains or is_run(path) else chains_of(path)[0]
    for path in (Path(name), root / name):
        with contextlib.suppress(OSError, ValueError):
            if is_run(path):
                return path
            if several := chains_of(path):
                return path if chains else several[0]
    raise MissingInputError(f"{name}: is not a run (it has no config.json); check the path")


class Results:
    """What a run has found.

    Parameters
    ----------
    path : Path
        Of a run, as `find` gives it.
    threads : int

    Raises
    ------
    MissingInputError
        If it cannot be read.
    """

    def __init__(self, path: Path, threads: int) -> None:
        self.run = RunDirectory.open(path)
        self.options: dict[str, Any] = self.run.config["options"]
        self.threads = threads
        self.seed: int = self.options["seed"]
        self.chain = chain_of(self.options)

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.run.path

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """Topics of each layer."""
        return tuple(self.options["layers"] or (self.options["topics"],))

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Words; the n-th is column n of the topics."""
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
                    f"one is written every {self.options['checkpoint-every']} and at the end, or "
                    f"at once on 'kill -USR2 {status.get('pid')}' on {status.get('host')}"
                )
            raise CheckpointError(f"{self.path}: has no checkpoint yet; {hint}")
        found = self.run.load_checkpoint(required=True)
        assert found is not None
        return found

    # ---- topics

    def current(self) -> Topics:
        """The topics as they stand at the newest checkpoint."""
        algo, step, arrays = self.options["algo"], self.checkpoint.step, self.checkpoint.arrays
        parts: Parts = {}
        for b in self.blocks:
            prefix = f"{b.name}."
            state = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            parts |= read(
                sampler_of(algo, b), Key(self.seed, self.chain, step), state, None, b, self.threads,
                warm=step <= self.options["warm-up"],
            )  # fmt: skip
        return Topics(parts, 0)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The model's global parts."""
        tokens = self.run.config["corpus"]["training_tokens"]
        model = MODELS[self.options["model"]]
        return model.blocks(self.options, len(self.vocabulary), tokens)

    @cached_property
    def mean(self) -> Topics:
        """The mean of all posterior samples; the current topics where there is none."""
        arrays, samples = self.checkpoint.arrays, self.samples
        if samples == 0 or "posterior.sum.phi" not in arrays:
            return self.current()
        parts: Parts = {}
        for b in self.blocks:
            total = arrays[f"posterior.sum.{b.name}"]
            if total.ndim == 1:
                parts[b.name] = (total / samples).astype(np.float32)
            else:
                parts[b.name] = core.zeros(len(total), total.shape[1], "float32")
                np.divide(total, samples, out=parts[b.name], casting="same_kind")
        return Topics(parts, samples)

    @property
    def samples(self) -> int:
        """Posterior samples at the newest checkpoint."""
        return int(self.checkpoint.arrays.get("posterior.samples", np.zeros(1))[0])

    @property
    def no_samples(self) -> str:
        """Why there are none: not yet, or never."""
        algo = self.options["algo"]
        return "no posterior sample yet" if SAMPLERS[algo].draws else f"{algo} has no samples"

    @property
    def no_mean(self) -> str:
        """Why there is no mean of topics."""
        return self.no_samples

    def noise_inflation(self, step: int) -> float:
        """Variance of the draws over the posterior's, by minibatch noise alone, at an iteration.

        1 + tanh(h/2) D/B (Baker et al. 2018, corollary 3.2): exact for ``scir``.
        """
        documents = self.run.config["corpus"]["training_documents"]
        h = self.step_size(step) * self.rate()
        return noise_inflation(h, documents, self.options["minibatch"])

    def rate(self) -> float:
        """Rate of the process of an average topic, for ``scir``."""
        return average_rate(self.blocks[0], self.run.config["corpus"]["training_tokens"])

    def step_size(self, step: int) -> float:
        """Step size of the sampling iteration after ``step``."""
        return Schedule(*self.options["step-size"])(max(0, step - self.options["warm-up"]))

    def kept(self) -> list[int]:
        """Iterations of the kept samples."""
        return self.run.sample_steps()

    # ---- documents

    def held_out(self) -> HeldOut:
        """The run's own held-out documents.

        Raises
        ------
        UsageError
            If it has none.
        """
        folder = self.path / "holdout"
        if not folder.is_dir():
            raise UsageError(
                f"{self.path}: this run holds no documents out; give some with --corpus FILE"
            )
        parts = [Corpus.open(folder / name) for name in ("observed", "held-out")]
        found = pair(*(part.take(np.arange(part.documents)) for part in parts))
        return found._replace(dropped=self.run.config["corpus"].get("held_out_dropped", 0))

    def read(self, path: str, store: Path, listener: Listener) -> Corpus:
        """Read a corpus over the run's words; rows stay in order, unknown words are counted."""
        return read_matched(path, self.vocabulary, self._reading(), store, self.threads, listener)

    def documents(self, path: str, listener: Listener) -> Iterator[Documents]:
        """The same as a stream, of which nothing is stored."""
        return matched_documents(
            [path], self._reading(), self.vocabulary, threads=self.threads,
            notify=listener.reading, log=listener.note,
        )  # fmt: skip

    def _reading(self) -> CorpusOptions:
        given = {n.replace("-", "_"): self.options[n] for n in _READING}
        return CorpusOptions(**{name: v for name, v in given.items() if v is not None})

    def training_corpus(self) -> Corpus | None:
        """The stored corpus that the run was trained on; None if it is not where it was."""
        places = [self.path / "corpus", self.path.parent / "corpus"]  # of a folder of chains
        if found := self.run.config.get("command", {}).get("corpus"):
            places.append(Path(found))
        for place in places:
            with contextlib.suppress(SgmcError):
                corpus = Corpus.open(place)
                if corpus.fingerprint == self.run.config["corpus"]["fingerprint"]:
                    return corpus
        return None

    def training_documents(self, corpus: Corpus) -> Int64s:
        """Positions in `training_corpus` of what was trained on."""
        everything = np.arange(corpus.documents)
        if self.options["holdout-corpus"] or self.options["observed-corpus"]:
            return everything
        wanted = hold_out_size(self.options["holdout"], corpus.documents)
        held = choose_holdout(corpus.documents, wanted, Key(self.seed, 0, 0))
        return np.setdiff1d(everything, held, assume_unique=True)

    def word_counts(self) -> Int64s | None:
        """Occurrences of each word in training; None for a run that did not record them."""
        try:
            counts: Array = np.load(self.path / WORD_COUNTS, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return counts if counts.shape == (len(self.vocabulary),) else None

    def each_sample(self) -> Iterator[tuple[int, dict[str, Array]]]:
        """Iteration and matrices (``phi``: K x V) of every kept sample.

        One that is dropped meanwhile is left out.
        """
        for step in self.kept():
            with contextlib.suppress(MissingInputError):
                yield step, self.run.read_sample(step)

    def beside_topics(self) -> dict[str, Doubles]:
        """What goes with the topics in an export, by name."""
        return {}

    def parts_of(self, matrices: Mapping[str, Array]) -> Parts:
        """What documents read of a kept sample."""
        return by_word(matrices, self.blocks)

    def scorer(self, held_out: HeldOut) -> Scorer:
        """What scores draws of this run on documents."""
        return scorer_of(held_out, self.options, len(self.vocabulary), self.threads)

    def divide(self, documents: Documents, observed: float, seed: int) -> HeldOut:
        """Make documents held out: each split at random, by seed, into two parts."""
        return split(documents, np.arange(len(documents)), observed, seed)

    def proportions(
        self, parts: Parts, documents: Documents, ids: Int64s, layer: int = 0
    ) -> Doubles:
        """Topic proportions of documents, (n, K), keyed by their ids."""
        return proportions(self.options, parts, documents, ids, self.threads, layer)

    # ---- topics of a layer

    def layer(self, number: int | None) -> int:
        """Place of a layer that a person counts from 1; the lowest where None.

        Raises
        ------
        UsageError
            If there is no such layer.
        """
        depth = len(self.options["layers"] or (1,))
        if number is not None and not 1 <= number <= depth:
            raise UsageError(
                f"--layer {number}: the model of {self.path} has {depth} layer"
                + ("s" if depth > 1 else "")
            )
        return (number or 1) - 1

    def sample_over_words(self, step: int, layer: int) -> Floats:
        """Topics of a layer over the words in a kept sample, (K, V)."""
        matrices = self.run.read_sample(step)
        if layer == 0:
            return matrices["phi"]
        phi = self.over_words(self.parts_of(matrices), layer)
        return np.ascontiguousarray(phi[:, : self.layers[layer]].T)

    def over_words(self, parts: Parts, layer: int) -> Floats:
        """Topics of a layer, counted from 0, over the words, (V, Kp) float32."""
        return projection(parts, self.layers, layer)

    def shown(self, layer: int = 0) -> Int64s:
        """Topics of a layer that there is something to say of, ascending."""
        return np.arange(self.layers[layer])

    def coherence(self, words: int, layer: int = 0) -> Coherence | None:
        """Coherence of the mean topics' top words over training; None if the corpus is gone."""
        corpus = self.training_corpus()
        if corpus is None or len(self.vocabulary) < 2:
            return None
        ids = spread(self.training_documents(corpus), COHERENCE_DOCUMENTS)
        return coherence(self.top(min(words, len(self.vocabulary)), layer), corpus, ids)

    def top(self, n: int, layer: int = 0) -> Int64s:
        """Word ids of the n most probable words of each mean topic, (K, n), the first first."""
        phi = self.over_words(self.mean.parts, layer)[:, : self.layers[layer]]
        n = min(n, len(phi))
        some = np.argpartition(-phi, n - 1, axis=0)[:n]
        order = np.lexsort((some, -np.take_along_axis(phi, some, axis=0)), axis=0)
        return np.ascontiguousarray(np.take_along_axis(some, order, axis=0).T)

    def weights(self, layer: int = 0) -> Doubles | None:
        """Share of the corpus's tokens that each topic makes, (K,); None without documents.

        The expected share of the tokens of up to 2,000 training documents, evenly spaced, under
        the mean topics; of the held-out documents where the corpus is not there.
        """
        corpus = self.training_corpus()
        if corpus is not None:
            ids = spread(self.training_documents(corpus), WEIGHT_DOCUMENTS)
            documents = corpus.take(ids)
        elif (self.path / "holdout").is_dir():
            documents = self.held_out().observed
            ids = np.arange(len(documents))
        else:
            return None
        k, alpha = self.layers[layer], self.options["alpha"] or 0.0
        total = np.zeros(k)
        for begin in range(0, len(ids), BLOCK):
            some = np.arange(begin, min(begin + BLOCK, len(ids)))
            part = documents.take(some)
            theta = self.proportions(self.mean.parts, part, ids[some], layer)
            # without the prior's share, where it is the same for all topics
            total += (theta * (k * alpha + part.lengths[:, None]) - alpha).sum(axis=0)
        share: Doubles = np.maximum(total, 0.0)
        return share / share.sum() if share.sum() else None

    def intervals(self, top: Int64s, layer: int = 0) -> tuple[Doubles, Doubles] | None:
        """Bounds of the 90 % credible intervals of the top words' probabilities, each (K, n).

        Quantiles over the kept samples; None where too few are kept.
        """
        rows = np.arange(self.layers[layer])[:, None]
        draws = []
        for step in self.kept():
            with contextlib.suppress(MissingInputError):
                draws.append(self.sample_over_words(step, layer)[rows, top])
        if len(draws) < INTERVAL_SAMPLES:
            return None
        tail = (1.0 - INTERVAL) / 2
        low, high = np.quantile(np.stack(draws), (tail, 1.0 - tail), axis=0)
        return low, high

    def topics(
        self, n: int, *, intervals: bool, coherences: bool = True, layer: int = 0
    ) -> list[Topic]:
        """The topics of a layer, counted from 0, the one of greatest weight first.

        Parameters
        ----------
        n : int
            Top words of each.
        intervals, coherences : bool
            Whether to look for credible intervals, and for coherence of the ten top words.
        """
        top, phi = self.top(n, layer), self.over_words(self.mean.parts, layer)
        bounds = self.intervals(top, layer) if intervals else None
        found = self.coherence(10, layer) if coherences else None
        weights = self.weights(layer)
        topics = []
        for k in self.shown(layer).tolist():
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
                    None,
                )
            )
        return sorted(topics, key=lambda topic: (-(topic.weight or 0.0), topic.id))


def spread(ids: Int64s, most: int) -> Int64s:
    """At most so many of some ids, evenly spaced."""
    if len(ids) <= most:
        return ids
    return ids[np.arange(most) * len(ids) // most]
