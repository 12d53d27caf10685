"""The documents of a run: those it was trained on, those it holds out, and others read like them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pysgrld.corpus import Corpus, CorpusOptions
from pysgrld.corpus.about.stream import NamedDocuments
from pysgrld.corpus.choice import choose_documents
from pysgrld.corpus.known_words import named_documents, read_matched
from pysgrld.corpus.listener import Listener
from pysgrld.corpus.minibatches import hold_out_size
from pysgrld.corpus.steps import Wish
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.evaluate import DocumentDraw, HeldOut, pair, whole
from pysgrld.evaluate.document_draws import DocumentDraws
from pysgrld.reading.draws import RunDraws
from pysgrld.reading.trained_on import corpus_gone, training_corpus
from pysgrld.run.word_counts import read_word_counts
from pysgrld.types import Documents, Int64s, Key, Others, Positions


class RunDocuments(RunDraws):
    """The documents of a run, and their topics in its draws."""

    # ---- what it was trained on

    def training_corpus(self) -> Corpus | None:
        """Open the stored corpus that the run was trained on; None if it is not where it was."""
        return training_corpus(self.run)

    @property
    def gone(self) -> str:
        """Say which training corpus is missing, and from where."""
        return corpus_gone(self.run)

    def training_documents(self, corpus: Corpus) -> Others:
        """Give the positions in `training_corpus` of what was trained on."""
        if self.options.holdout_corpus or self.options.observed_corpus:
            return Others(corpus.documents, np.zeros(0, np.int64))
        recorded = self.run.config["corpus"].get("held_out", self.options.holdout)
        wanted = hold_out_size(recorded, corpus.documents)
        held = choose_documents(corpus.documents, wanted, Key(self.seed, 0, 0))
        return Others(corpus.documents, held)

    def word_counts(self) -> Int64s | None:
        """Give the occurrences of each word in training; None for a run that did not record them."""
        return read_word_counts(self.path, self.run.config, len(self.vocabulary))

    # ---- what it holds out, and what is read like its corpus

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

    def divide(self, documents: Documents, observed: float | None, seed: int) -> HeldOut:
        """Make documents held out: whole, or each split at random, by seed, into two parts."""
        ids = np.arange(len(documents))
        return self.model.hold_out(documents, ids, observed or 0.0, seed)

    def read(self, path: str, store: Path, listener: Listener) -> Corpus:
        """Read a corpus over the run's words; rows stay in order, unknown words are counted."""
        return read_matched(
            path, self.vocabulary, self.reading_options(), store, self.threads, listener
        )

    def documents(
        self, path: str, listener: Listener, fields: Sequence[str] = (), wanted: Wish | None = None
    ) -> NamedDocuments:
        """Read a corpus over the run's words as a stream, of which nothing is stored.

        Parameters
        ----------
        path : str
        listener : Listener
        fields : sequence of str
            Fields of the documents that are wanted with their ids.
        wanted : callable (first, end) -> bool, optional
            Whether some of the documents [first, end) are wanted.
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
        )

    def reading_options(self) -> CorpusOptions:
        """Give how other documents are read: as asked for, else as those of training were."""
        config = self.run.config
        recorded, usual = config["corpus"].get("reading") or {}, config.get("defaults") or ()
        trained = CorpusOptions.over(recorded, self.options.plain(), usual)
        return replace(trained, **{name.replace("-", "_"): v for name, v in self.asked.items()})

    # ---- draws of their topics

    def draw_steps(self, most: int) -> list[int]:
        """Give the iterations of at most so many kept samples, evenly spaced, the last among them."""
        kept: list[int] = spread(np.array(self.kept()[::-1], np.int64), most).tolist()
        return kept[::-1]

    def document_draws(
        self, documents: Documents, ids: Int64s, steps: Sequence[int], at: int = 0
    ) -> DocumentDraws:
        """Draw the topics of documents, one draw for each of some kept samples.

        (theta, tokens) of a draw are one point of their joint posterior given the sample's topics
        (`pysgrld.evaluate.document_draws`). A document's draws depend on its counts, its id, the samples
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
        draws = self.each_document_draw(documents, ids, steps, at)
        return DocumentDraws.stacked(draws, (len(steps), len(ids), self.layers[at]))

    def each_document_draw(
        self, documents: Documents, ids: Int64s, steps: Sequence[int], at: int = 0
    ) -> Iterator[DocumentDraw]:
        """Draw as `document_draws` does, one draw after the other."""
        if not self.fitted.draws:
            raise UsageError(f"{self.path}: {self.no_samples}, and its documents have no draws")
        samples = ((step, self.read_sample(step)) for step in steps)
        return self.fitted.document_draws(samples, documents, ids, at)


def spread(ids: Positions, most: int) -> Int64s:
    """Choose at most so many of some ids, evenly spaced."""
    if len(ids) <= most:
        return ids[:]
    return ids[np.arange(most) * len(ids) // most]
