"""Results of a run, opened for reading: topics, posterior samples, proportions and documents.

`Results` reads the newest checkpoint, the kept samples, the training corpus and the held-out
documents of a run. Everything that depends on the model is done by `pysgrld.models.fitted.Fitted`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysgrld.chain.exact import ExactPlan, read_ess, read_refinement_plan, read_trace
from pysgrld.core.arithmetic import median
from pysgrld.core.draws import Draw
from pysgrld.corpus import Corpus, CorpusOptions
from pysgrld.corpus.characters import overlap
from pysgrld.corpus.minibatches import choose_documents, hold_out_size
from pysgrld.corpus.reading import Listener, is_built_pattern
from pysgrld.errors import CheckpointError, MissingInputError, SgmcError, UsageError, plural
from pysgrld.evaluate import DocumentDraw, HeldOut, hold_out_whole, pair_parts
from pysgrld.evaluate.coherence import Coherence, coherence
from pysgrld.evaluate.reader import DocumentDraws
from pysgrld.models.fitted import Samples, evenly_spaced
from pysgrld.models.seeds import seed_names
from pysgrld.models.word_order import WordOrder, WordScorer
from pysgrld.options.paths import is_folder
from pysgrld.reading import run_record
from pysgrld.reading.former_topics import FormerTopics, read_former_topics
from pysgrld.reading.intervals import Spread, effective_sizes
from pysgrld.reading.kept_samples import KeptSamples
from pysgrld.reading.labels import Label, labels_of
from pysgrld.run.layout import read_word_counts
from pysgrld.types import (
    Documents,
    Doubles,
    Floats,
    Int64s,
    Key,
    PositionsExcept,
    WordTotals,
    wider,
)

if TYPE_CHECKING:
    from pysgrld.corpus.about.details import NamedDocuments
    from pysgrld.corpus.about.stored import About
    from pysgrld.corpus.steps import Wish

#: Number of bytes at the end of ``metrics.jsonl`` that certainly include its whole last line.
_END = 1 << 16
#: Maximum number of documents from which coherence and topic weights are computed. More documents
#: would not change the digits that are shown.
COHERENCE_DOCUMENTS, WEIGHT_DOCUMENTS = 100_000, 2_000


class FitMeasures(NamedTuple):
    """Statistics of topics that a Python estimator computed while fitting; None if unknown.

    Attributes
    ----------
    shares, npmi, deviation : (K,) float64
        Share of each topic in the tokens, coherence of its first ten words, and standard deviation
        of the share over samples of documents.
    """

    shares: Doubles | None = None
    npmi: Doubles | None = None
    deviation: Doubles | None = None


class ChainOfTopics(NamedTuple):
    """Chain of a run, with the rows of the chain's topics that match the shown topics.

    Attributes
    ----------
    results : Results
    rows : (K,) int64
        The row of each shown topic in this chain; -1 if the chain lacks the topic.
    """

    results: Results
    rows: Int64s


class Results(KeptSamples):
    """Run opened for reading: its topics, its stored samples, and its documents.

    Reading never takes the run's lock, so it is possible while the run is in training. Layers of a
    deep model are counted from 0 (``layer_index``); other models have only layer 0.

    Parameters
    ----------
    path : Path
        Folder of a run, as `pysgrld.reading.find_runs.find_folder` returns it.
    threads : int
        Number of threads that read and sample documents, at least 1.
    reading : mapping, optional
        Options by name for reading other documents, if they differ from the options of training.
    these : bool
        True for intervals for the training documents alone. By default, intervals are for other
        texts like these if the run has replicates on resampled documents.

    Attributes
    ----------
    path : Path
    place : Path
        The folder that the user named: the run's folder, or the folder that contains the chains if
        the run is the first of several chains.
    chains : list of Results
        All chains that were opened together; a list of the run alone if it is a single chain.
    run : RunDirectory
    model : Model
    options : Resolved
        Options of training.
    seed, chain : int

    Raises
    ------
    MissingInputError
        If the run cannot be read.
    CheckpointError
        If ``config.json`` of the run was changed after it was written.
    """

    def __init__(
        self,
        path: Path,
        threads: int,
        reading: Mapping[str, Any] | None = None,
        *,
        these: bool = False,
    ) -> None:
        super().__init__(path, threads, these=these)
        self.asked = reading or {}
        self.place, self.chains = path, [self]
        # Columns of documents from a metadata file that the user named.
        self.lent: About | None = None
        self._word_order: WordOrder | None = None

    @property
    def length(self) -> str:
        """Length of training as text: the number of iterations and of any Gibbs sweeps."""
        length = plural(self.fitted.record.step, "iteration")
        if self.fitted.exact:
            length += f" and {plural(self.fitted.exact.sweep, 'Gibbs sweep')}"
        return length

    # ---- topics: means, top words, weights, names

    def at(self, layer: int | None) -> int:
        """Convert a layer number (1 or more) to an index (0 or more); None is the lowest layer.

        Raises
        ------
        UsageError
            If the layer does not exist.
        """
        depth = self.fitted.depth
        if layer is not None and not 1 <= layer <= depth:
            raise UsageError(
                f"--layer {layer}: the model of {self.path} has {plural(depth, 'layer')}"
            )
        return (layer or 1) - 1

    @property
    def mean(self) -> Draw:
        """Mean of the topics over all posterior samples; current topics if no mean exists."""
        return self.fitted.mean or self.fitted.current

    @property
    def no_samples(self) -> str:
        """Reason why samples are missing: deleted, not yet taken, or never taken."""
        if not self.fitted.draws:
            return f"{self.options.algo} has no samples"
        if self.fitted.samples:
            return "the posterior samples were deleted"
        return "the run has no posterior sample yet"

    @property
    def no_mean(self) -> str:
        """Explanation, for messages, of why the mean of the topics is missing."""
        return self.fitted.no_mean or self.no_samples

    def phi(self, layer_index: int = 0, draw: Draw | None = None) -> Floats:
        """Return a layer's topics as columns, (V, K or more); columns from K on are 0.

        Parameters
        ----------
        layer_index : int
            The layer, counted from 0.
        draw : Draw, optional
            The draw of the topics; by default the `mean`.
        """
        return self.fitted.topics_over_words(self.mean if draw is None else draw, layer_index)

    @property
    def word_order(self) -> WordOrder:
        """Order in which a topic's words are shown: the user's choice or the default."""
        return self._word_order or self.fitted.word_order

    def order_words(self, order: WordOrder | None) -> None:
        """Set the order in which a topic's words are shown; None is the default order.

        Raises
        ------
        UsageError
            If topics are directions, which are always shown in the order of their entries.
        """
        if order is not None and self.fitted.signed:
            raise UsageError(
                f"--words {order}: words of {self.fitted.kind} are always sorted by value; leave "
                "out --words"
            )
        for results in (self, *self.chains):
            results._word_order = order

    def top(
        self, n: int, layer_index: int = 0, draw: Draw | None = None, order: WordOrder | None = None
    ) -> Int64s:
        """Return the ids of the first n words of each topic, (K, n).

        Parameters
        ----------
        n : int
        layer_index : int
            The layer, counted from 0.
        draw : Draw, optional
            The draw of the topics; by default the `mean`.
        order : WordOrder, optional
            By default `word_order`.
        """
        return self.order_topics(self.phi(layer_index, draw), n, layer_index, order)

    def order_topics(
        self, phi: Floats, n: int, layer_index: int, order: WordOrder | None = None
    ) -> Int64s:
        """Return the ids of the first n words of given topics, (K, n), in the given word order."""
        return self.word_scorer(phi, layer_index, order).first_words(n)

    def word_scorer(
        self, phi: Floats, layer_index: int, order: WordOrder | None = None
    ) -> WordScorer:
        """Return the scorer by which the words of given topics are sorted."""
        order, totals = self.word_order if order is None else order, None
        if order.needs_totals:
            with contextlib.suppress(MissingInputError):
                totals = self.word_totals
        return self.fitted.word_scorer(phi, layer_index, order, totals)

    def coherence(
        self, words: int, layer_index: int = 0, draw: Draw | None = None
    ) -> Coherence | None:
        """Measure the coherence of topics' first words; return None if the corpus is gone.

        Pairs of words with overlapping ideographs say nothing about a topic, and are left out.
        """
        corpus = self.training_corpus()
        if corpus is None or len(self.vocabulary) < 2:
            return None
        ids = evenly_spaced(self.training_documents(corpus), COHERENCE_DOCUMENTS)
        top = self.top(min(words, len(self.vocabulary)), layer_index, draw)
        apart = None
        reading = self.run.config["corpus"].get("reading") or {}
        if is_built_pattern(reading.get("token-pattern")) and not reading.get("segment"):
            shown = [[self.vocabulary[w] for w in row] for row in top.tolist()]
            apart = np.array([[[overlap(a, b) for a in row] for b in row] for row in shown])
        return coherence(top, corpus, ids, apart)

    def prediction_remark(self) -> str:
        """Return a remark if the topics predict no better than word frequencies, else ""."""
        # The file metrics.jsonl may still be empty.
        with contextlib.suppress(SgmcError, ValueError):
            *_, last = self.run.read_metrics(_END)
            return self.fitted.score.remark(last)
        return ""

    @cached_property
    def _unfinished_plan(self) -> ExactPlan | None:
        """Plan of a Gibbs refinement that has stopped before its last sweep, otherwise None."""
        plan = read_refinement_plan(self.checkpoint.arrays)
        return None if plan is None or plan.sweep >= plan.sweeps else plan

    def progress_remark(self) -> str:
        """Return a remark if the Gibbs refinement has stopped before its last sweep, else ""."""
        if (plan := self._unfinished_plan) is None:
            return ""
        return (
            f"{plan.sweep} of {plan.sweeps} Gibbs sweeps are done; repeat the 'sgmc train' command "
            "to complete them, so that the intervals become credible intervals"
        )

    def weights(self, layer_index: int = 0) -> Doubles | None:
        """Return the share of each topic in the corpus, (K,), or None if the shares are unknown.

        After a Gibbs refinement, the share is the topic's mean share of the training tokens over
        all draws. Without a refinement, if the model itself has no weights of topics, shares are
        measured on up to 2,000 evenly spaced training documents, or on the held-out documents if
        the corpus is gone, or were measured by a fit in Python.
        """
        shares = self.share_trace
        if shares is not None and layer_index == 0:
            mean: Doubles = shares.mean(axis=0, dtype=np.float64)
            return mean

        def some_documents() -> tuple[Documents, Int64s] | None:
            corpus = self.training_corpus()
            if corpus is not None:
                ids = evenly_spaced(self.training_documents(corpus), WEIGHT_DOCUMENTS)
                return corpus.take(ids), ids
            if not is_folder(self.path / "holdout"):
                return None
            documents = self.held_out().observed
            return documents, np.arange(len(documents))

        weights = self.fitted.weights(some_documents, layer_index)
        return self.fit_measures.shares if weights is None and layer_index == 0 else weights

    @cached_property
    def former(self) -> FormerTopics | None:
        """Comparison with the topics of the earlier run from which this run started, or None."""
        return read_former_topics(self.path, self.run.config, self.phi, self.fitted.layers[0])

    @cached_property
    def named(self) -> dict[int, Label]:
        """Names of the lowest layer's topics, with their origin, read from ``labels.json``."""
        labels = labels_of(self.path, self.fitted.layers[0])
        return labels if self.former is None else self.former.names_that_stay(labels)

    @property
    def labels(self) -> dict[int, str]:
        """Names of the lowest layer's topics in ``labels.json``, without their origin."""
        return {k: label.name for k, label in self.named.items()}

    def replaced_topics(self) -> list[int]:
        """Return the topics that replaced earlier topics, and log a warning about lost names."""
        self.named  # noqa: B018
        return [] if self.former is None else self.former.replaced

    def seed_names(self, layer_index: int = 0) -> dict[int, str]:
        """Return the names that a layer's topics get from their seed words, by topic number."""
        return seed_names(self.options) if layer_index == 0 else {}

    def given_names(self, layer_index: int = 0) -> dict[int, str]:
        """Return the topics' names by number, from ``labels.json`` or else from seed words."""
        return self.seed_names(layer_index) | (self.labels if layer_index == 0 else {})

    def spread(self) -> Spread:
        """Return the spread of the samples used for intervals, compared with the posterior."""
        noise = self.fitted.noise(self.fitted.record.step)
        return Spread(
            self.options.algo,
            self.fitted.faithful,
            noise,
            None if noise is None else math.sqrt(wider(noise)),
            f"sgmc train --resume {self.path}" if self._unfinished_plan else self.fitted.remedy,
            read_ess(self.checkpoint.arrays) if self.fitted.exact else {},
            stretch=None if self.population is None else median(self.population.width),
        )

    def share_sizes(self) -> Doubles | None:
        """Return the effective sample size of each topic's share, (K,), or None if unknown."""
        shares = self.share_trace
        return None if shares is None else effective_sizes([shares], exact=True)

    @property
    def share_trace(self) -> Doubles | None:
        """Shares of topics in each draw of the Gibbs refinement, (S, K), or None without draws."""
        shares = read_trace(self.checkpoint.arrays, "shares") if self.fitted.exact else None
        if shares is None or not len(shares):
            return None
        if shares.shape[1:] != self.fitted.layers[:1]:
            raise CheckpointError(
                f"{self.fitted.record.place}: the shares of topics in the draws have shape "
                f"{shares.shape}, but must have {self.fitted.layers[0]} columns, one for each topic"
            )
        return shares

    @cached_property
    def fit_measures(self) -> FitMeasures:
        """Statistics that a Python estimator computed while it had the training documents."""
        parts = self.checkpoint.meta.get("measures") or ()
        return FitMeasures(*(None if part is None else np.array(part) for part in parts))

    def sources(self, layer_index: int = 0) -> list[ChainOfTopics]:
        """Return the chains from which topics are read: a list that has only this run."""
        return [ChainOfTopics(self, np.arange(self.fitted.layers[layer_index]))]

    def found_by(self, layer_index: int = 0) -> Int64s | None:
        """Return the number of chains that have each topic, (K,), or None for a single chain."""
        del layer_index
        return None

    # ---- documents: training documents, held-out documents, and other documents

    def training_corpus(self) -> Corpus | None:
        """Open the stored corpus of training, or return None if the corpus is gone."""
        corpus = run_record.training_corpus(self.run)
        if corpus is not None and self.lent is not None:
            corpus.about = self.lent
        return None if corpus is None else corpus.slice_by(self.options.slicing)

    @property
    def missing_corpus(self) -> str:
        """Message that the training corpus is missing, with its expected path."""
        return run_record.corpus_gone(self.run)

    @property
    def without_corpus(self) -> str:
        """Return a remark on shares and coherence, for a run whose training corpus is missing."""
        if self.fit_measures.npmi is not None:
            return "topic shares and coherence were computed during the fit"
        if is_folder(self.path / "holdout"):
            return "coherence is missing, and topic shares are computed from held-out documents"
        return "topic shares and coherence are missing"

    def training_documents(self, corpus: Corpus) -> PositionsExcept:
        """Return the positions of the training documents in `training_corpus`."""
        if self.options.holdout_corpus or self.options.observed_corpus:
            return PositionsExcept(corpus.documents, np.zeros(0, np.int64))
        size = hold_out_size(self.run.config["corpus"]["held_out"], corpus.documents)
        held = choose_documents(corpus.documents, size, Key(self.seed, 0, 0))
        return PositionsExcept(corpus.documents, held)

    def word_counts(self) -> Int64s | None:
        """Return the number of occurrences of each word in training, (V,), or None if unknown."""
        return None if self.word_totals is None else self.word_totals.occurrences

    @cached_property
    def word_totals(self) -> WordTotals | None:
        """Occurrences and sum of squared counts of each word in training, or None if unknown."""
        return read_word_counts(self.path, self.run.config, len(self.vocabulary))

    def held_out(self) -> HeldOut:
        """Return the held-out documents on which the run itself was scored.

        Raises
        ------
        UsageError
            If the run has no held-out documents.
        MissingInputError
            If the held-out documents are gone.
        """
        folder = self.path / "holdout"
        if not is_folder(folder):
            other_corpus = self.options.holdout_corpus or self.options.observed_corpus
            if other_corpus or self.run.config["corpus"]["held_out"]:
                raise MissingInputError(
                    f"{folder}: is missing; write it again with 'sgmc train --resume {self.path}'"
                )
            raise UsageError(
                f"{self.path}: this run has no held-out documents; give documents with --corpus "
                "FILE"
            )
        names = ("held-out",) if self.fitted.score.whole else ("observed", "held-out")
        stored = [Corpus.open(folder / name) for name in names]
        parts = [part.take(np.arange(part.documents)) for part in stored]
        ids = np.arange(len(parts[0]))
        if self.options.slicing is not None:
            parts = run_record.in_slices(self.run, parts, stored[0], self.options.copies)
        held_out = hold_out_whole(parts[0], ids) if self.fitted.score.whole else pair_parts(*parts)
        return held_out._replace(dropped=self.run.config["corpus"]["held_out_dropped"])

    def read(self, path: str, store: Path, listener: Listener) -> Corpus:
        """Read a corpus into a folder; words unknown to the run are counted but left out."""
        # The import is here so that topics can be read without loading the input formats.
        from pysgrld.corpus import open_corpus

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
        """Stream a corpus as counts of the run's words in documents, without storing the corpus.

        Parameters
        ----------
        path, listener
            As for `read`.
        fields : sequence of str
            Metadata fields to read with the documents' ids.
        wanted : callable (first, end) -> bool, optional
            Returns True if any of the documents [first, end) is needed; words of other documents
            need not be counted.
        """
        from pysgrld.corpus.streams import named_documents

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
        """Return options for reading new documents: training options with the user's changes."""
        config = self.run.config
        recorded, usual = config["corpus"].get("reading") or {}, config.get("defaults") or ()
        trained = CorpusOptions.over(recorded, self.options.plain(), usual)
        return replace(trained, **{name.replace("-", "_"): v for name, v in self.asked.items()})

    def draw_steps(self, most: int) -> list[int]:
        """Return the iterations of at most `most` samples, evenly spaced, including the last."""
        return self.fitted.choose_samples(self.kept(), most)

    def proportions(
        self, documents: Documents, ids: Int64s, layer_index: int = 0, draw: Draw | None = None
    ) -> Doubles:
        """Infer the topic proportions of documents, (n, K), given one sample or the mean of topics.

        Parameters
        ----------
        documents : Documents
            Counts of the run's words.
        ids : (n,) int64
            Keys of the documents' random numbers.
        layer_index : int
            The layer of the topics, counted from 0.
        draw : Draw, optional
            By default the `mean`.
        """
        return self.fitted.proportions(draw or self.mean, documents, ids, layer_index)

    def document_draws(
        self, documents: Documents, ids: Int64s, steps: Sequence[int], layer_index: int = 0
    ) -> DocumentDraws:
        """Sample topic proportions and token counts of documents, once for each stored sample.

        Each result is a joint sample of proportions and token counts, given the topics of one
        stored sample (`DocumentDraw`). The results for a document depend only on its counts, its
        id, the stored samples and the seed. Therefore documents can be passed in groups of n that
        are small enough that S n K values fit in memory, for S samples and K topics.

        Parameters
        ----------
        documents : Documents
            Counts of the run's words.
        ids : (n,) int64
            Keys of the documents' random numbers, all different.
        steps : sequence of int
            Iterations of S kept samples, ascending (`draw_steps`).
        layer_index : int
            The layer of the topics, counted from 0.

        Raises
        ------
        UsageError
            If the run's model does not sample documents.
        MissingInputError
            If one of the samples no longer exists.
        """
        shape = len(steps), len(ids), self.fitted.layers[layer_index]
        draws = DocumentDraws(np.empty(shape, np.float32), np.empty(shape, np.float32))
        for s, draw in enumerate(self.each_document_draw(documents, ids, steps, layer_index)):
            draws.theta[s], draws.tokens[s] = draw
        return draws

    def each_document_draw(
        self,
        documents: Documents,
        ids: Int64s,
        steps: Sequence[int],
        layer_index: int = 0,
        *,
        new: bool = False,
    ) -> Iterator[DocumentDraw]:
        """Yield the results of `document_draws` one at a time.

        If ``new`` is True, the documents were not used in training, and are sampled given the
        topics that `pysgrld.models.fitted.Fitted.samples_for_new` chooses.
        """
        if not self.fitted.draws:
            raise UsageError(
                f"{self.path}: {self.no_samples}, so topics of documents cannot be drawn"
            )
        samples: Samples = ((step, self.topic_sample(step)) for step in steps)
        if new:
            samples = self.fitted.samples_for_new(steps, self.topic_sample)
        return self.fitted.document_draws(samples, documents, ids, layer_index)
