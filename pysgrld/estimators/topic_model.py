"""Base class of topic models that are fitted to a matrix, by scikit-learn's conventions."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from pysgrld.chain.exact import ExactChain, refinement_sweeps
from pysgrld.chain.posterior import stored_sample_numbers
from pysgrld.core import check_lengths
from pysgrld.corpus.minibatches import Epochs, choose_documents, hold_out_size, minibatch_words
from pysgrld.corpus.store import count
from pysgrld.errors import ConvergenceWarning, UsageError, plural
from pysgrld.estimators.base import (
    Rule,
    by_parameters,
    is_number,
    is_whole,
    number,
    seed_of,
    switch,
)
from pysgrld.estimators.dataframes import Transformer
from pysgrld.estimators.fitting import AUTO, Progress, check_memory, jobs
from pysgrld.estimators.inputs import content_keys
from pysgrld.estimators.kept import NO_SAMPLE, Sample
from pysgrld.estimators.topic_tables import TopicTables
from pysgrld.estimators.words import new_documents, tokens_in
from pysgrld.evaluate import HeldOut
from pysgrld.models.admixture import BLOCK
from pysgrld.models.options import check_usage
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.models.seeds import unknown_seeds
from pysgrld.models.table import find_model
from pysgrld.options.option import Facts, Option
from pysgrld.train.begin import begin, begin_refinement
from pysgrld.train.hold_out import watched_documents
from pysgrld.train.short_chains import Stopped, clusters_of_topics
from pysgrld.types import Array, Documents, Doubles, Floats, Int64s, Key

#: The model observes this fraction of a held-out document's tokens. The other tokens are scored.
OBSERVED = 0.8


class TopicModel(TopicTables, Transformer):
    """Base class of topic models that are fitted to a matrix.

    A subclass has a constructor with keyword parameters, and `_rules` for these parameters. The
    decorator `with_sampler_options` adds parameters for the options of single samplers, and the
    attribute ``sampler_options``.
    """

    sampler_options: ClassVar[Mapping[str, Option]]

    algo: str
    minibatch: int | None
    sweeps: int | None
    warm_up: int | None
    burn_in: int | None
    max_iter: int | None
    step_size: tuple[float, float, float] | None
    holdout: int | float | None
    total_samples: float
    random_state: Any
    verbose: int | str

    # ---- parameters ----

    @property
    def _no_score(self) -> str:
        """Reason why documents have no held-out score, or an empty text."""
        return ""

    def _shared_rules(self) -> list[Rule]:
        """Return the rules for the parameters that all topic models have."""
        algorithms, share, total = (
            find_model(self.model).algorithms,
            self.holdout,
            self.total_samples,
        )
        good_share = (
            share is None or is_whole(share, 0) or (isinstance(share, float) and 0 <= share < 1)
        )
        try:  # The values A, B and C must give a step size A (1 + t/B)^(-C) that does not grow.
            a, b, c = map(float, steps := tuple(self.step_size or ()))
            good_steps = all(map(is_number, steps)) and 0 < a <= 1e6 and b > 0 and 0 <= c <= 1
        except (TypeError, ValueError):
            good_steps = False
        # The values of these parameters are checked by the parsers of the command line's options.
        of_sampler = []
        for name, option in self.sampler_options.items():
            parameter = name.replace("-", "_")
            value, good = getattr(self, parameter), True
            if value is not None:
                parts = value if isinstance(value, tuple | list) else [value]
                try:
                    value = option.parse(",".join(map(str, parts)))
                except UsageError:
                    good = False
            of_sampler.append(Rule(name, value, good, option.metavar, parameter))
        return [
            Rule("model", self.model, True, ""),
            Rule("algo", self.algo, self.algo in algorithms, f"algo in {', '.join(algorithms)}"),
            number("minibatch", "minibatch", self.minibatch, 1),
            number("sweeps", "sweeps", self.sweeps, 1, 100_000),
            number("warm-up", "warm_up", self.warm_up, 0),
            number("burn-in", "burn_in", self.burn_in, 0),
            number("iterations", "max_iter", self.max_iter, 1, 2**53),
            Rule("step-size", self.step_size, good_steps, "step_size = (A, B, C)"),
            number("seed", "random_state", seed_of(self.random_state), 0, 2**63 - 1),
            *of_sampler,
            Rule(
                "",
                share,
                good_share,
                "a number of documents >= 0, or a fraction below 1",
                "holdout",
            ),
            switch("verbose", self.verbose),
            Rule(
                "",
                self.keep_samples,
                self.keep_samples == AUTO or is_whole(self.keep_samples, 0),
                f'a whole number >= 0, or "{AUTO}"',
                "keep_samples",
            ),
            Rule(
                "",
                total,
                is_number(total) and 1 <= total <= 2**53,
                "a number of documents >= 1",
                "total_samples",
            ),
        ]

    # ---- fitting ----

    @by_parameters
    def fit(self, X: Any, y: Any = None, *, vocabulary: Any = None) -> Self:
        """Learn topics from documents, without using an earlier fit.

        Without ``max_iter`` training continues until the averaged held-out perplexity has
        converged: docs/evaluation.md, "When training ends by itself". Ctrl-C ends training after
        the current iteration: the model is then fitted with the iterations so far, and
        `KeyboardInterrupt` is raised.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Number of occurrences of each of V words in each of n documents: whole numbers from 0 to
            2^31 - 1, of any dtype. Documents without words are left out, as they carry no
            information. "Words" stands for a list of texts, with words counted as in
            ``sgmc train``; a list of lists of tokens, or of spaCy's documents; or gensim's bags of
            words. See docs/python.md, "What X may be".
        y : None
            Ignored; exists for scikit-learn.
        vocabulary : object, optional
            Words of the columns, which become ``feature_names_in_``: a sequence of str, gensim's
            Dictionary, or a vectorizer of scikit-learn. Other words in texts or lists of tokens are
            not counted.

        Returns
        -------
        Self
            This estimator, fitted.

        Raises
        ------
        UsageError
            A `ValueError`: a bad count, shape or parameter; no document with words; or no held-out
            score that shows convergence, if ``max_iter`` is left out.
        CorpusError
            A `ValueError`: a document has too many tokens.
        NumericalError
            If steps are so large that topics overflow.

        Warns
        -----
        UserWarning
            If there are more topics than training documents.
        ConvergenceWarning
            If ``max_iter`` ends before the first posterior sample, so that the topics are one draw.
        """
        del y
        explicit_options = self._given()
        check_usage(explicit_options)
        new, names = new_documents(X, jobs(self.n_jobs), vocabulary)
        documents, words = self._documents(new, None if names is None else len(names))
        usable = np.flatnonzero(np.diff(documents.indptr) > 0)
        if len(usable) == 0:
            if vocabulary is not None and tokens_in(X) is not None:
                raise UsageError(
                    "no document has a word of the given vocabulary; check the spelling of "
                    "tokens, including capital letters"
                )
            raise UsageError(
                "X has no counts, because every document is empty; give other documents"
            )
        # Hold documents out. If no documents are held out, watch some training documents. The score
        # of these documents decides when training has converged.
        if self._no_score and (self.holdout or self.max_iter is None):
            raise UsageError(f"{self._no_score}; give max_iter, and leave out holdout")
        size = 0 if self._no_score else hold_out_size(self.holdout, len(usable))
        model, train, held_out, watched = find_model(self.model), usable, None, None
        seed = explicit_options.get("seed", 0)
        if size == 0 and self.max_iter is None:
            chosen = watched_documents(len(usable), seed)
            watched = model.hold_out(documents.take(usable[chosen]), chosen, OBSERVED, seed)
            if len(watched.observed) == 0:
                raise UsageError(
                    "no document has two tokens, so no score can decide when training "
                    "ends; give max_iter"
                )
        if size:
            chosen = choose_documents(len(usable), size, Key(seed, 0, 0))
            held_out = model.hold_out(documents.take(usable[chosen]), chosen, OBSERVED, seed)
            train = np.delete(usable, chosen)
        if held_out is not None and len(held_out.observed) == 0:
            if self.max_iter is None:
                raise UsageError("no held-out document has two tokens; give max_iter and holdout=0")
            held_out = None
        # Real values have no tokens, so the number of entries determines the size of minibatches.
        trained = documents.take(train)
        tokens = trained.tokens if self.of_counts else len(trained.indices)
        scored = held_out or watched
        visits = scored.observed.tokens if scored else 0
        seen = minibatch_words(documents, train)
        vocabulary_of_model = self._vocabulary(explicit_options, names, words)
        facts = Facts(len(train), words, tokens, visits, seen, vocabulary_of_model)
        if self.of_counts:
            facts = facts._replace(mean_length=float(documents.lengths[usable].mean()))
        self._begin(explicit_options, facts, documents, train, held_out, names, watched)
        topics = max(self._options.widths, default=0)
        if topics > len(train) and names is not None:
            from pysgrld.train.plan import too_many_topics

            warnings.warn(too_many_topics(topics, facts), UserWarning, stacklevel=3)
        if self.of_counts:
            self._word_counts = count([trained], words).words
        corpus = CorpusFacts(facts.words, facts.tokens)
        posterior, progress = self._posterior, Progress(type(self).__name__, self.verbose)
        chain, ended = posterior.chain, False
        run_on = RunOn(jobs(self.n_jobs))
        if first := clusters_of_topics(chain.stream, self._options, corpus, run_on):
            chain.start_from_topics(*first)
        with progress:
            while not (ended or progress.interrupted):
                progress.advance(self._advance, chain.step)
                ended = (
                    chain.step == self.max_iter
                    if self.max_iter
                    else posterior.is_due and posterior.convergence_scores() is not None
                )
                parts = [plural(posterior.samples, "posterior sample")]
                if not math.isnan(score := posterior.score):
                    parts.append(f"{model.score.title} {score:.5g}")
                last = ended or progress.interrupted
                progress.show(chain.step, self.max_iter, parts, last=last)
            if not progress.interrupted:
                self._draw_exactly(held_out, progress)
            chain.close()
            self._finish()
            self._measure(documents, train)
        if posterior.draws and not posterior.samples and self._stage is None:
            most = chain.step - posterior.every
            less = f", or burn_in to {most} or less" if most >= self._options.warm_up else ""
            warnings.warn(
                f"max_iter={chain.step} ends before the first posterior sample at iteration "
                f"{posterior.first} (burn_in is {posterior.burn_in}), so components_ and "
                f"{model.score.name}_ are from a single draw; set max_iter to at least "
                f"{posterior.first}, better to ten times that number{less}",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _vocabulary(
        self, explicit_options: Mapping[str, Any], names: Array | None, words: int
    ) -> list[str] | None:
        """Return the words of the columns if the model has seed words, else None.

        The words are the numbers of the columns, as text, if the columns have no names.
        """
        if (seeds := explicit_options.get("seed-words")) is None:
            return None
        if names is None and any(
            isinstance(word, str) for _, words_of_topic in seeds for word in words_of_topic
        ):
            raise UsageError(
                "seed_words has words, but X has only counts; give texts, a DataFrame with "
                "words as columns, or column numbers as seeds"
            )
        vocabulary_of_model = [str(i) for i in range(words)] if names is None else names.tolist()
        if line := unknown_seeds(seeds, vocabulary_of_model):
            warnings.warn(line.replace("--seed-words", "seed_words"), UserWarning, stacklevel=5)
        return vocabulary_of_model

    def _check_lengths(self, documents: Documents, sweeps: int | None = None) -> None:
        """Raise an error for a document that is too long for exact counts of its tokens."""
        # Documents of real values have no tokens, so document lengths are not checked.
        if self.of_counts and (sweeps or not self._no_score):
            check_lengths(documents.lengths, sweeps or self._options.kept_sweeps, "document")

    def _begin(
        self,
        explicit_options: Mapping[str, Any],
        facts: Facts,
        documents: Documents,
        train: Int64s,
        held_out: HeldOut | None,
        names: Array | None,
        watched: HeldOut | None = None,
    ) -> None:
        """Resolve the training options, and start a chain on the training documents."""
        options = resolve(explicit_options, facts).options
        stream = Epochs.of(options, documents, train)
        run_on = RunOn(jobs(self.n_jobs))
        most = self._most_samples(options, facts.words)
        check_memory(options, facts, documents, run_on.threads, most)
        corpus = CorpusFacts(facts.words, facts.tokens)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # Remove the results of an earlier fit.
        vars(self).pop("_kept", None)
        self._options = options
        self._note_parameters()
        self._posterior = begin(options, stream, corpus, run_on, held_out, watched=watched)
        self.n_features_in_ = facts.words
        self._samples, self._seen, self._told_of_words = {}, 0, False
        self._word_counts, self._measures, self._labels = None, None, {}
        self._score_error = None
        if names is not None:
            self.feature_names_in_ = names
        self._check_lengths(documents)

    def _advance(self, batch: Any = None) -> None:
        """Do one iteration; if a posterior sample is due, take the sample and possibly store it."""
        posterior, stage, self._stage = self._posterior, self._stage, None
        # In partial_fit, the caller provides the minibatch, in which documents may be repeated.
        if batch is not None:
            self._word_counts = self._measures = self._score_error = None
            if stage is not None:  # Discard the draws of the refinement, because topics now change.
                self._samples = {}
        chain = posterior.chain
        chain.advance(batch)
        if not posterior.is_due:
            return
        posterior.take_sample()
        if posterior.draws and (most := self._most_samples(self._options, self.n_features_in_)):
            spread = stored_sample_numbers(posterior.samples, most)
            steps_to_keep = {posterior.burn_in + n * posterior.every for n in spread}
            self._samples = {
                step: one for step, one in self._samples.items() if step in steps_to_keep
            }
            if chain.step in steps_to_keep:
                self._samples[chain.step] = chain.sample()

    def _draw_exactly(self, held_out: HeldOut | None, progress: Progress) -> None:
        """Run Gibbs refinement after training, if the training options request it."""
        posterior, options = self._posterior, self._options
        sweeps = refinement_sweeps(
            posterior.chain,
            options,
            open_ended=self.max_iter is None,
            over_time=options.slicing is not None,
        )
        if not sweeps:
            return
        words, number = self.n_features_in_, jobs(self.n_jobs)

        def waiting() -> None:
            if progress.interrupted:
                raise Stopped

        run_on = RunOn(number, waiting)
        try:
            stage = begin_refinement(posterior, options, words, run_on, held_out, sweeps=sweeps)
        except Stopped:
            return
        samples: dict[int, Sample] = {}
        most = self._most_samples(options, words)

        def keep(chain: ExactChain) -> Sample | None:
            if not most or not stage.is_stored(most):
                return None
            samples[stage.step] = chain.sample()
            return samples[stage.step]

        with stage.run_chains(keep), contextlib.suppress(Stopped):
            while not progress.interrupted and not stage.complete:
                if stage.done:
                    stage.replicate(waiting)
                    continue
                stage.advance(waiting)
                parts = [plural(stage.draws, "exact draw")]
                progress.show(stage.sweep, stage.sweeps, parts, last=stage.done)
        if stage.done:
            self._stage, self._samples = stage, samples

    def fit_transform(self, X: Any, y: Any = None, *, vocabulary: Any = None) -> Doubles:
        """Learn topics from documents, and return the topic proportions of these documents.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            As in `fit`.
        y : None
            Ignored; exists for scikit-learn.
        vocabulary : object, optional
            As in `fit`.

        Returns
        -------
        (n, K) float64
            The proportions that `transform` returns; rows sum to 1.

        Raises
        ------
        UsageError
            A `ValueError`, as from `fit`.
        NumericalError
            As from `fit`.
        """
        shares: Doubles = self.fit(X, y, vocabulary=vocabulary).transform(X)
        return shares

    # ---- use of a fitted model ----

    def transform(self, X: Any, *, draws: int | None = None) -> Any:
        """Infer the topic proportions of documents, given the topics ``components_``.

        A document's result depends only on its counts and the seed, not on its position or on other
        documents.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            Counts as in `fit`, with the same number of columns; words that the model lacks are left
            out.
        draws : int, optional
            Return this number of posterior draws of the proportions, one for each kept sample of
            the topics (``keep_samples``); if fewer samples are kept, a warning reports it. After a Gibbs
            refinement, proportions are drawn given the mean of the topics, as in ``sgmc infer
            --draws``. Draws also depend on a document's row, so that equal documents have different
            draws.

        Returns
        -------
        (n, K) float64, or with ``draws`` (S, n, K) float32
            Estimates of E[theta_d] given the document: (alpha + E[n_dk]) / (K alpha + N_d). The
            expectation comes from collapsed variational inference; for a deep model it is the mean
            over the second half of Gibbs sweeps, and with ``ovb`` it comes from mean-field
            inference (docs/internals/mathematics.md, "New documents"). Rows sum to 1; a document
            without words has 1/K everywhere. Draws are always an array, even if `set_output` has
            chosen DataFrames.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`: a bad count, another number of columns, or no kept sample.
        """
        if draws is not None:
            return self._drawn_shares(X, 1, draws)
        return self._contained(self._shares(X, 1), X)

    def _shares(self, X: Any, layer: int) -> Doubles:
        """Return the proportions of a layer's topics in each document, (n, K)."""
        layer_index, documents = self._at(layer), self._documents_like(X)
        self._check_lengths(documents, 1)
        fitted, keys, shares = self._fitted(), content_keys(documents), []
        for first in range(0, len(documents), BLOCK):
            ids = np.arange(first, min(first + BLOCK, len(documents)))
            shares.append(
                fitted.proportions(self._draw, documents.take(ids), keys[ids], layer_index)
            )
        return np.concatenate(shares)

    def _drawn_shares(self, X: Any, layer: int, draws: int) -> Floats:
        """Return S posterior draws of each document's topic proportions in a layer, (S, n, K)."""
        if not is_whole(draws, 1):
            raise UsageError(f"draws: wanted a number of draws, at least 1, found {draws!r}")
        layer_index, documents = self._at(layer), self._documents_like(X)
        self._check_lengths(documents, 1)
        fitted = self._fitted()
        steps = fitted.choose_samples(list(self._samples), draws)
        if not steps:
            raise UsageError(f"draws: {NO_SAMPLE}")
        if len(steps) < draws:
            warnings.warn(
                f"draws: only {plural(len(steps), 'sample')} of the topics are stored, so there "
                f"are {len(steps)} draws instead of {draws:,}; for more, set keep_samples before "
                "fit",
                UserWarning,
                stacklevel=3,
            )
        theta = np.empty((len(steps), len(documents), fitted.layers[layer_index]), np.float32)
        for first in range(0, len(documents), BLOCK):
            ids = np.arange(first, min(first + BLOCK, len(documents)))
            samples = fitted.samples_for_new(steps, self._samples.__getitem__)
            draws_of_group = fitted.document_draws(samples, documents.take(ids), ids, layer_index)
            for s, draw in enumerate(draws_of_group):
                theta[s, ids] = draw.theta
        return theta
