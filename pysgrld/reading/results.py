"""A run that is opened for reading: what a person can ask of it.

`Results` answers from the newest checkpoint, the kept samples, the training corpus and the held-out
documents of a run. What depends on the model is asked of its `pysgrld.models.fitted.Fitted`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.chain.exact import averaged, trace_in, worth_in
from pysgrld.chain.population import PopulationDraws
from pysgrld.chain.posterior import averages_in
from pysgrld.core.draws import Draw
from pysgrld.corpus import Corpus, CorpusOptions
from pysgrld.corpus.about.details import NamedDocuments
from pysgrld.corpus.characters import overlap
from pysgrld.corpus.minibatches import choose_documents, hold_out_size
from pysgrld.corpus.open import open_corpus
from pysgrld.corpus.reading import Listener, is_built_pattern
from pysgrld.corpus.steps import Wish
from pysgrld.corpus.streams import named_documents
from pysgrld.errors import CheckpointError, MissingInputError, UsageError, plural
from pysgrld.evaluate import DocumentDraw, HeldOut, pair, whole
from pysgrld.evaluate.coherence import Coherence, coherence
from pysgrld.evaluate.reader import DocumentDraws
from pysgrld.models.fitted import Fitted, Samples, evenly_spaced
from pysgrld.models.samples import TOP_WORDS, looked_up, width
from pysgrld.models.seeds import seed_names
from pysgrld.models.word_order import WordOrder, WordScorer
from pysgrld.options.paths import is_folder
from pysgrld.reading import run_record
from pysgrld.reading.former_topics import FormerTopics, read_former_topics
from pysgrld.reading.intervals import Interval, Spread, effective_sizes, interval
from pysgrld.reading.labels import Label, labels_of
from pysgrld.run import Checkpoint, RunDirectory, list_checkpoints
from pysgrld.run.layout import read_word_counts
from pysgrld.types import Array, Documents, Doubles, Floats, Int64s, Key, Others, wider

#: Documents that coherence and topic weights are measured on, at most: more change no digit shown.
COHERENCE_DOCUMENTS, WEIGHT_DOCUMENTS = 100_000, 2_000


class ChainOfTopics(NamedTuple):
    """A chain whose draws say how sure topics are.

    Attributes
    ----------
    results : Results
    rows : (K,) int64
        The chain's topic for each topic that is shown; -1 where it has none of that kind.
    """

    results: Results
    rows: Int64s


class Results:
    """A run that is open for reading: its topics, its kept samples, and its documents.

    It never takes the run's lock, and works while the run is being trained. Layers of a deep model are
    counted from 0 (``at``); other models have layer 0 alone.

    Parameters
    ----------
    path : Path
        Of a run, as `pysgrld.reading.find_runs.find_folder` returns it.
    threads : int
        Threads that documents are read and sampled with, at least 1.
    reading : mapping, optional
        Options by name that say how other documents are read, where not as in training.
    these : bool
        Whether intervals are for these documents alone. By default they are for other texts like these,
        if the run has replicates on resampled documents.

    Attributes
    ----------
    path : Path
    place : Path
        The folder that a person named: of the run, or of the chains of which it is the first.
    chains : list of Results
        The chains that were opened together: where there is one alone, itself.
    run : RunDirectory
    model : Model
    options : Resolved
        Options of training.
    seed, chain : int

    Raises
    ------
    MissingInputError
        If it cannot be read.
    CheckpointError
        If its ``config.json`` is not what was written.
    """

    def __init__(
        self,
        path: Path,
        threads: int,
        reading: Mapping[str, Any] | None = None,
        *,
        these: bool = False,
    ) -> None:
        self.path, self.threads, self.asked, self.these = path, threads, reading or {}, these
        self.place, self.chains = path, [self]
        self._word_order: WordOrder | None = None
        self.run = RunDirectory.open(path)
        self.model, self.options = run_record.model_and_options(self.run)
        self.seed: int = self.options.seed
        self.chain = self.options.chain
        if gone := self.run.samples.gone():
            run_record.warn_once(
                f"{path}: {len(gone)} of {len(self.run.samples.listed())} kept samples that the newest "
                "checkpoint lists are gone; figures are of those that are left"
            )

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
        found = self.run.load_checkpoint(
            required=True, invariants=self.model.fitted.state_invariants
        )
        assert found is not None
        return found

    @cached_property
    def fitted(self) -> Fitted:
        """The run as its model reads it: topics, proportions, scores."""
        record = run_record.RunRecord(self.run, self.options, lambda: self.checkpoint)
        return self.model.fitted(record, self.threads)

    @property
    def length(self) -> str:
        """The iterations that are done, and the exact sweeps after them, as a person reads them."""
        length = plural(self.fitted.record.step, "iteration")
        if self.fitted.exact:
            length += f" and {plural(self.fitted.exact.sweep, 'exact sweep')}"
        return length

    # ---- topics: their mean, their top words, their weights, their names

    def at(self, layer: int | None) -> int:
        """Return the index, from 0, of a layer that a person counts from 1; 0, the lowest, for None.

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

    @property
    def mean(self) -> Draw:
        """The mean of all posterior samples; the current topics where there is none."""
        return self.fitted.mean or self.fitted.current

    @property
    def no_samples(self) -> str:
        """The reason why there is no posterior sample: deleted, not yet, or never."""
        if not self.fitted.draws:
            return f"{self.options.algo} has no samples"
        return f"no posterior sample {'is there any more' if self.fitted.samples else 'yet'}"

    @property
    def no_mean(self) -> str:
        """The reason why there is no mean of the topics, where there is none."""
        return self.fitted.no_mean or self.no_samples

    def phi(self, at: int = 0, draw: Draw | None = None) -> Floats:
        """Return the topics of a layer over the words, (V, K or more): further columns are 0.

        Parameters
        ----------
        at : int
            The layer, counted from 0.
        draw : Draw, optional
            Whose topics; of the `mean` where None.
        """
        return self.fitted.over_words(self.mean if draw is None else draw, at)

    @property
    def word_order(self) -> WordOrder:
        """The order in which words of topics are shown: as a person asked, or by default."""
        return self._word_order or self.fitted.word_order

    def order_words(self, order: WordOrder | None) -> None:
        """Choose the order in which words of topics are shown; None is the default order.

        Raises
        ------
        UsageError
            If topics are directions, whose words are in the order of their entries.
        """
        if order is not None and self.fitted.signed:
            raise UsageError(
                f"--words {order}: topics of {self.fitted.kind} are directions, whose words are in the "
                "order of their entries; leave it out"
            )
        for results in (self, *self.chains):
            results._word_order = order

    def top(
        self, n: int, at: int = 0, draw: Draw | None = None, order: WordOrder | None = None
    ) -> Int64s:
        """Return the ids of the first n words of each topic, (K, n).

        Parameters
        ----------
        n : int
        at : int
            The layer, counted from 0.
        draw : Draw, optional
            Whose topics; of the `mean` where None.
        order : WordOrder, optional
            By default `word_order`.
        """
        return self.order_topics(self.phi(at, draw), n, at, order)

    def order_topics(self, phi: Floats, n: int, at: int, order: WordOrder | None = None) -> Int64s:
        """Return the ids of the first n words of topics (V, K or more) of a layer, (K, n), as `top`."""
        return self.word_scorer(phi, at, order).first_words(n)

    def word_scorer(self, phi: Floats, at: int, order: WordOrder | None = None) -> WordScorer:
        """Return the scorer of words in topics (V, K or more) of a layer, by default in `word_order`."""
        order, shares = self.word_order if order is None else order, None
        if order.name == "relevance":
            with contextlib.suppress(MissingInputError):
                if (counts := self.word_counts()) is not None:
                    shares = counts / max(1, counts.sum())
        return self.fitted.word_scorer(phi, at, order, shares)

    def coherence(self, words: int, at: int = 0, draw: Draw | None = None) -> Coherence | None:
        """Measure coherence of the first words of topics over training; None if that corpus is gone.

        Pairs of ideographs that overlap in the text are no evidence of a topic, and are left out.
        """
        corpus = self.training_corpus()
        if corpus is None or len(self.vocabulary) < 2:
            return None
        ids = evenly_spaced(self.training_documents(corpus), COHERENCE_DOCUMENTS)
        top = self.top(min(words, len(self.vocabulary)), at, draw)
        apart = None
        reading = self.run.config["corpus"].get("reading") or {}
        if is_built_pattern(reading.get("token-pattern")) and not reading.get("segment"):
            shown = [[self.vocabulary[w] for w in row] for row in top.tolist()]
            apart = np.array([[[overlap(a, b) for a in row] for b in row] for row in shown])
        return coherence(top, corpus, ids, apart)

    def weights(self, at: int = 0) -> Doubles | None:
        """Return the share of the corpus that each topic makes up, (K,); None where it is not known.

        Topics that have no weight of their own are weighed by up to 2,000 training documents, evenly
        spaced, or by the held-out documents where the corpus is gone.
        """

        def some_documents() -> tuple[Documents, Int64s] | None:
            corpus = self.training_corpus()
            if corpus is not None:
                ids = evenly_spaced(self.training_documents(corpus), WEIGHT_DOCUMENTS)
                return corpus.take(ids), ids
            if not is_folder(self.path / "holdout"):
                return None
            documents = self.held_out().observed
            return documents, np.arange(len(documents))

        return self.fitted.weights(some_documents, at)

    @cached_property
    def former(self) -> FormerTopics | None:
        """Its topics compared with those that it began with; None if it began with none."""
        return read_former_topics(self.path, self.run.config, self.phi, self.fitted.layers[0])

    @cached_property
    def named(self) -> dict[int, Label]:
        """Names of topics of the lowest layer in ``labels.json``, and who gave them (`labels_of`)."""
        labels = labels_of(self.path, self.fitted.layers[0])
        return labels if self.former is None else self.former.names_that_stay(labels)

    @property
    def labels(self) -> dict[int, str]:
        """The names alone."""
        return {k: label.name for k, label in self.named.items()}

    def replaced_topics(self) -> list[int]:
        """Return the topics that took the place of a former one; a warning tells of lost names."""
        self.named  # noqa: B018
        return [] if self.former is None else self.former.replaced

    def seed_names(self, at: int = 0) -> dict[int, str]:
        """Return the names of the topics of a layer that were trained with seed words, by number."""
        return seed_names(self.options) if at == 0 else {}

    def given_names(self, at: int = 0) -> dict[int, str]:
        """Return the names that people gave to topics of a layer, with seed words or later, by number."""
        return self.seed_names(at) | (self.labels if at == 0 else {})

    def spread(self) -> Spread:
        """Return how the draws vary that intervals are read from: as the posterior, or more."""
        noise = self.fitted.noise(self.fitted.record.step)
        return Spread(
            self.options.algo,
            self.fitted.faithful,
            noise,
            None if noise is None else math.sqrt(wider(noise)),
            self.fitted.remedy,
            worth_in(self.checkpoint.arrays) if self.fitted.exact else {},
            stretch=None if self.population is None else float(np.median(self.population.width)),
        )

    def share_sizes(self) -> Doubles | None:
        """Return the effective sizes of draws of the topics' shares, (K,); None where not known."""
        shares = trace_in(self.checkpoint.arrays, "shares") if self.fitted.exact else None
        return None if shares is None else effective_sizes([shares], exact=True)

    def sources(self, at: int = 0) -> list[ChainOfTopics]:
        """Return the chains whose draws tell of the topics of a layer; the first has them all."""
        return [ChainOfTopics(self, np.arange(self.fitted.layers[at]))]

    def found_by(self, at: int = 0) -> Int64s | None:
        """Return the number of chains that have each topic, (K,); None where there is one chain alone."""
        del at
        return None

    # ---- kept samples: full ones, and top-word samples, which have the most probable words alone

    def kept(self, *, slim: bool = False) -> list[int]:
        """Return the iterations of the kept samples, ascending: of full ones, or of top-word samples."""
        return self.run.samples.steps(top_words=slim)

    def history(self) -> dict[int, float]:
        """Return the averaged score after each posterior sample, by iteration; empty where unknown."""
        every, first = self.options.sample_every, self.options.burn_in
        arrays, exact = self.checkpoint.arrays, self.fitted.exact
        scores = averages_in(arrays).history.tolist()
        found = {first + n * every: score for n, score in enumerate(scores, 1)}
        if exact:
            first, scores = (
                exact.begun + exact.burn_in,
                averages_in(averaged(arrays)).history.tolist(),
            )
            found |= {first + n * exact.every: score for n, score in enumerate(scores, 1)}
        return found

    def read_sample(self, step: int) -> dict[str, Array]:
        """Read a kept sample: matrices by name, a row for each topic (``phi``: K x V).

        Raises
        ------
        MissingInputError
            If there is none of that iteration.
        CheckpointError
            If it is damaged, was changed, or is no sample of this model.
        """
        sample = self.run.samples.read(step, self.model.fitted.sample_invariants)
        run_record.check_shapes(
            sample, self.fitted.sample_shapes(sample), str(self.run.samples.path(step))
        )
        self.run.samples.verify(step)
        return sample

    @cached_property
    def population(self) -> PopulationDraws | None:
        """Transformation of kept draws into draws for other texts like these, or None without one."""
        return None if self.these else self.fitted.population

    def topic_sample(self, step: int) -> Mapping[str, Array]:
        """Return the draw of the population that belongs to a kept sample, in the form of one.

        Raises
        ------
        MissingInputError, CheckpointError
            As `read_sample`.
        """
        sample = self.read_sample(step)
        return sample if self.population is None else self.fitted.like_these(step, sample)

    def rows_of(self, step: int, at: int) -> Floats:
        """Return the topics of a layer over the words in a draw, (K, V)."""
        return self.fitted.rows_of(self.topic_sample(step), at)

    def topic_draws(self, steps: Sequence[int], at: int = 0) -> Iterator[Floats]:
        """Yield the topics of a layer over the words, (K, V), in one kept sample after the other.

        Parameters
        ----------
        steps : sequence of int
            Iterations of kept samples (`draw_steps`).
        at : int
            The layer, counted from 0.
        """
        return (self.rows_of(step, at) for step in steps)

    def read_slim(self, step: int) -> dict[str, Array]:
        """Read a kept top-word sample: ids and probabilities of words, (K, 256), a row for each topic.

        Raises
        ------
        MissingInputError
            If there is none of that iteration.
        CheckpointError
            If it is damaged, was changed, or is no sample of this model.
        """
        sample = self.run.samples.read(step, TOP_WORDS, top_words=True)
        place, v = str(self.run.samples.path(step, top_words=True)), len(self.vocabulary)
        shape = (self.fitted.layers[0], width(v))
        run_record.check_shapes(sample, {"words": shape, "phi": shape}, place)
        self.run.samples.verify(step, top_words=True)
        if sample["words"].max(initial=0) >= v:
            raise CheckpointError(f"{place}: has a word beyond the {v:,} that there are")
        if self.population is None:
            return sample
        words = sample["words"].astype(np.int64)
        wide, _ = self.population.at(step, words, partial(looked_up, sample))
        order = np.argsort(-wide, axis=1, kind="stable")
        return {
            "words": np.take_along_axis(sample["words"], order, axis=1),
            "phi": np.take_along_axis(wide, order, axis=1),
        }

    def word_steps(self, at: int = 0) -> tuple[list[int], bool]:
        """Return the iterations of the samples that words are followed by, and True for top-word samples.

        These are taken where more of them are kept than full ones; they have the lowest layer alone.
        """
        full, slim = self.kept(), self.kept(slim=True) if at == 0 else []
        return (slim, True) if len(slim) > len(full) else (full, False)

    def top_word_draws(self, words: Int64s, at: int = 0) -> Iterator[tuple[Floats, Array]]:
        """Yield the probabilities of some words of each topic in one kept sample after the other.

        The samples are those of `word_steps`. One that is dropped meanwhile is left out.

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
            Whether the sample is a top-word sample that lacks the word, which has at most that
            probability.
        """
        steps, slim = self.word_steps(at)
        for step in steps:
            with contextlib.suppress(MissingInputError):
                yield self.words_at(step, words, at, slim=slim)

    def words_at(self, step: int, words: Int64s, at: int, *, slim: bool) -> tuple[Floats, Array]:
        """Look words of each topic up in one sample, as `top_word_draws` does in all."""
        if slim:
            return looked_up(self.read_slim(step), words)
        phi = self.fitted.rows_of(self.read_sample(step), at)

        def look_up(some: Int64s) -> tuple[Floats, Array]:
            return phi[np.arange(len(some))[:, None], some], np.zeros(some.shape, bool)

        if self.population is None or at:
            return look_up(words)
        return self.population.at(step, words, look_up)

    def word_intervals(self, words: Int64s, at: int = 0) -> Interval | None:
        """Return the intervals of some words of each topic, (K, n); None where samples are too few."""
        exact = self.fitted.exact is not None
        return interval([list(self.top_word_draws(words, at))], exact=exact)

    # ---- documents: those of training, those held out, and others that are read like them

    def training_corpus(self) -> Corpus | None:
        """Open the stored corpus that the run was trained on; None if it is not where it was."""
        corpus = run_record.training_corpus(self.run)
        return None if corpus is None else corpus.slice_by(self.options.slicing)

    @property
    def gone(self) -> str:
        """The sentence which says that the training corpus is missing, and from where."""
        return run_record.corpus_gone(self.run)

    def training_documents(self, corpus: Corpus) -> Others:
        """Return the positions in `training_corpus` of the documents of training."""
        if self.options.holdout_corpus or self.options.observed_corpus:
            return Others(corpus.documents, np.zeros(0, np.int64))
        recorded = self.run.config["corpus"].get("held_out", self.options.holdout)
        wanted = hold_out_size(recorded, corpus.documents)
        held = choose_documents(corpus.documents, wanted, Key(self.seed, 0, 0))
        return Others(corpus.documents, held)

    def word_counts(self) -> Int64s | None:
        """Return the occurrences of each word in training, (V,); None where they were not recorded."""
        return read_word_counts(self.path, self.run.config, len(self.vocabulary))

    def held_out(self) -> HeldOut:
        """Return the run's own held-out documents.

        Raises
        ------
        UsageError
            If it has none.
        MissingInputError
            If they are gone.
        """
        folder = self.path / "holdout"
        if not is_folder(folder):
            given = self.options.holdout_corpus or self.options.observed_corpus
            if given or self.run.config["corpus"].get("held_out"):
                raise MissingInputError(
                    f"{folder}: is gone; 'sgmc train --resume {self.path}' writes it again"
                )
            raise UsageError(
                f"{self.path}: this run holds no documents out; give some with --corpus FILE"
            )
        names = ("held-out",) if self.fitted.score.whole else ("observed", "held-out")
        stored = [Corpus.open(folder / name) for name in names]
        parts = [part.take(np.arange(part.documents)) for part in stored]
        ids = np.arange(len(parts[0]))
        if self.options.slicing is not None:
            parts = run_record.in_slices(self.run, parts, stored[0], self.options.copies)
        found = whole(parts[0], ids) if self.fitted.score.whole else pair(*parts)
        return found._replace(dropped=self.run.config["corpus"].get("held_out_dropped", 0))

    def read(self, path: str, store: Path, listener: Listener) -> Corpus:
        """Read a corpus over the run's words into a folder; unknown words are counted and left out."""
        slicing = self.options.slicing
        options = self.reading_options().keeping(slicing and slicing.field)
        return open_corpus(
            [path],
            options,
            store=store,
            match=self.vocabulary,
            threads=self.threads,
            notify=listener.reading,
            log=listener.note,
        ).slice_by(slicing)

    def documents(
        self, path: str, listener: Listener, fields: Sequence[str] = (), wanted: Wish | None = None
    ) -> NamedDocuments:
        """Read a corpus over the run's words as a stream, of which nothing is stored.

        Parameters
        ----------
        path, listener
            As for `read`.
        fields : sequence of str
            Metadata fields to read with the documents' ids.
        wanted : callable (first, end) -> bool, optional
            Whether some of the documents [first, end) are wanted; others need not be counted.
        """
        return named_documents(
            [path],
            self.reading_options(),
            self.vocabulary,
            threads=self.threads,
            notify=listener.reading,
            log=listener.note,
            fields=fields,
            wanted=wanted,
            slicing=self.options.slicing,
        )

    def reading_options(self) -> CorpusOptions:
        """Return how other documents are read: as asked for, else as those of training were."""
        config = self.run.config
        recorded, usual = config["corpus"].get("reading") or {}, config.get("defaults") or ()
        trained = CorpusOptions.over(recorded, self.options.plain(), usual)
        return replace(trained, **{name.replace("-", "_"): v for name, v in self.asked.items()})

    def draw_steps(self, most: int) -> list[int]:
        """Return the iterations of at most so many kept samples, evenly spaced, the last among them."""
        return self.fitted.spread_over(self.kept(), most)

    def proportions(
        self, documents: Documents, ids: Int64s, at: int = 0, draw: Draw | None = None
    ) -> Doubles:
        """Infer the proportions of documents, (n, K), under one draw of the topics; rows sum to 1.

        Parameters
        ----------
        documents : Documents
            Over the run's words.
        ids : (n,) int64
            Key each document's randomness.
        at : int
            The layer whose topics are meant, counted from 0.
        draw : Draw, optional
            The `mean` where None.
        """
        return self.fitted.proportions(draw or self.mean, documents, ids, at)

    def document_draws(
        self, documents: Documents, ids: Int64s, steps: Sequence[int], at: int = 0
    ) -> DocumentDraws:
        """Draw the topics of documents, one draw for each of some kept samples.

        (theta, tokens) of a draw are one point of their joint posterior given the sample's topics
        (`DocumentDraw`). A document's draws depend on its counts, its id, the samples
        and the seed alone: choose blocks of documents such that S n K values have room.

        Parameters
        ----------
        documents : Documents
            Over the run's words.
        ids : (n,) int64
            Key each document's randomness: no two alike.
        steps : sequence of int
            Iterations of S kept samples, ascending (`draw_steps`).
        at : int
            The layer whose topics are meant, counted from 0.

        Raises
        ------
        UsageError
            If documents of this run are not sampled.
        MissingInputError
            If one of the samples is not there any more.
        """
        shape = len(steps), len(ids), self.fitted.layers[at]
        found = DocumentDraws(np.empty(shape, np.float32), np.empty(shape, np.float32))
        for s, draw in enumerate(self.each_document_draw(documents, ids, steps, at)):
            found.theta[s], found.tokens[s] = draw
        return found

    def each_document_draw(
        self,
        documents: Documents,
        ids: Int64s,
        steps: Sequence[int],
        at: int = 0,
        *,
        new: bool = False,
    ) -> Iterator[DocumentDraw]:
        """Yield the draws of `document_draws` one after the other.

        Documents that topics were not trained on (``new``) are drawn given the samples that
        `pysgrld.models.fitted.Fitted.samples_for_new` chooses.
        """
        if not self.fitted.draws:
            raise UsageError(f"{self.path}: {self.no_samples}, and its documents have no draws")
        samples: Samples = ((step, self.topic_sample(step)) for step in steps)
        if new:
            samples = self.fitted.samples_for_new(steps, self.topic_sample)
        return self.fitted.document_draws(samples, documents, ids, at)
