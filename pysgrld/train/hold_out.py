"""Documents that are held out before training, chosen from the corpus or read from other files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus import Corpus, CorpusOptions
from pysgrld.corpus.minibatches import choose_documents, hold_out_size
from pysgrld.corpus.open import open_corpus
from pysgrld.corpus.reading import Listener
from pysgrld.corpus.sources import contents
from pysgrld.errors import CorpusError, Severity, UsageError, plural
from pysgrld.evaluate import HeldOut, pair_parts
from pysgrld.models.choices import HoldOutOptions
from pysgrld.models.options import option_text
from pysgrld.models.protocol import Model
from pysgrld.types import Int64s, Key, PositionsExcept, Slicing


class Division(NamedTuple):
    """Division of documents into training documents and held-out documents.

    Attributes
    ----------
    train : PositionsExcept
        Positions of the training documents in the corpus, in ascending order.
    held_out : HeldOut or None
    watched : HeldOut or None
        Training documents used to detect convergence, if no documents are held out and no budget is
        set.
    """

    train: PositionsExcept
    held_out: HeldOut | None
    watched: HeldOut | None = None


class Reading(NamedTuple):
    """Settings for reading other files with the vocabulary of a corpus.

    Attributes
    ----------
    options : CorpusOptions
    scratch : Path
        Folder in which the read files are stored temporarily.
    threads : int
    listener : Listener
    slicing : Slicing, optional
        Time slices to which the documents are assigned.
    """

    options: CorpusOptions
    scratch: Path
    threads: int
    listener: Listener
    slicing: Slicing | None = None

    def read_matched(self, path: str, corpus: Corpus, name: str) -> Corpus:
        """Read another corpus with the vocabulary of `corpus`; documents keep their order."""
        matched_corpus = open_corpus(
            [path],
            self.options.keeping(self.slicing and self.slicing.field),
            store=self.scratch / name,
            match=corpus.vocabulary,
            threads=self.threads,
            notify=self.listener.reading,
            log=self.listener.note,
        )
        seen = contents(corpus.provenance) & contents(matched_corpus.provenance)
        # Documents of ``observed-corpus`` may be parts of training documents, so do not warn.
        if seen and name != "observed-corpus":
            self.listener.note(
                f"{option_text(name, path)}: is also training data, so its scores do not "
                "measure new documents; give other documents",
                Severity.WARNING,
            )
        return matched_corpus.slice_by(self.slicing)


def watched_documents(documents: int, seed: int) -> Int64s:
    """Choose the training documents on which convergence is tested if no documents are held out.

    Parameters
    ----------
    documents : int
        Number of documents of the corpus.
    seed : int
        Seed of the run.

    Returns
    -------
    array of int64
        Positions of the documents, in ascending order.
    """
    size = max(1, hold_out_size(None, documents))
    return choose_documents(documents, size, Key(seed, 0, 0))


def divide(
    corpus: Corpus,
    model: Model[Any],
    options: HoldOutOptions,
    reading: Reading,
    *,
    has_budget: bool,
) -> Division:
    """Divide a corpus into training documents and held-out documents, as the options require.

    Parameters
    ----------
    corpus : Corpus
    model : Model
    options : HoldOutOptions
    reading : Reading
        Reader of further files.
    has_budget : bool
        True if the user has limited the iterations or the epochs.

    Raises
    ------
    CorpusError
        If no held-out document can be scored.
    UsageError
        If no training document would be left, or if none can be held out and nothing else ends the
        run.
    """
    everything = PositionsExcept(corpus.documents, np.zeros(0, np.int64))
    seed, observed = options.seed, options.observed
    train = everything
    if options.observed_corpus is not None and options.held_out_corpus is not None:
        parts = (
            reading.read_matched(options.observed_corpus, corpus, "observed-corpus"),
            reading.read_matched(options.held_out_corpus, corpus, "held-out-corpus"),
        )
        held_out = pair_parts(*(part.take(np.arange(part.documents)) for part in parts))
    elif options.holdout_corpus is not None:
        other = reading.read_matched(options.holdout_corpus, corpus, "holdout-corpus")
        ids = np.arange(other.documents)
        held_out = model.hold_out(other.take(ids), ids, observed, seed)
    else:
        size = hold_out_size(options.holdout, corpus.documents)
        if size == 0:
            if has_budget:
                return Division(everything, None)
            ids = watched_documents(corpus.documents, seed)
            watched = model.hold_out(corpus.take(ids), ids, observed, seed)
            if len(watched.observed) == 0:
                raise UsageError(
                    f"{corpus.path.name}: no document has two tokens, so no score can "
                    "decide when training ends; give --epochs or --iterations"
                )
            watched = watched._replace(doc_ids=np.arange(len(watched.observed)))
            return Division(everything, None, watched)
        ids = choose_documents(corpus.documents, size, Key(seed, 0, 0))
        held_out = model.hold_out(corpus.take(ids), ids, observed, seed)
        train = PositionsExcept(corpus.documents, ids)
    whole = model.score.whole
    if held_out.dropped:
        reason = "no known word" if whole else "too short to be split"
        reading.listener.note(f"{plural(held_out.dropped, 'held-out document')} ignored: {reason}")
    if len(held_out.observed) == 0:
        fewest = "a token" if whole else "two tokens"
        raise CorpusError(
            f"no held-out document has {fewest} of the vocabulary; give other documents, or "
            "--holdout 0"
        )
    # The ids are positions among the held-out documents, so that a resumed run uses the same random
    # numbers for each document.
    return Division(train, held_out._replace(doc_ids=np.arange(len(held_out.observed))))
