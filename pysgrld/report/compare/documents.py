"""Topic proportions of the same documents in two runs, by which their topics are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.evaluate.matching import correlations
from pysgrld.models.fitted import evenly_spaced
from pysgrld.reading.results import Results
from pysgrld.types import Documents, Doubles

#: Proportions of two runs' topics are compared in at most this number of documents from each run.
DOCUMENTS = 500


class SharedDocuments(NamedTuple):
    """Proportions of two runs' topics in the same documents, (n, K) and (n, L).

    Attributes
    ----------
    left, right : float64
    """

    left: Doubles
    right: Doubles

    @property
    def correlations(self) -> Doubles:
        """Correlations between the topics of the two runs, (K, L)."""
        return correlations(self.left, self.right)

    def correlation(self, left: Sequence[int], right: Sequence[int]) -> float:
        """Return the correlation between summed proportions of left and of right topics."""
        sums = (
            part[:, list(rows)].sum(axis=1, keepdims=True)
            for part, rows in ((self.left, left), (self.right, right))
        )
        return float(correlations(*sums)[0, 0])


def shared_documents(
    left: Results, right: Results, layers: tuple[int, int]
) -> SharedDocuments | None:
    """Infer the proportions of both runs' training documents under the topics of each run.

    Parameters
    ----------
    left, right : Results
    layers : (int, int)
        Layers of the topics, counted from 0.

    Returns
    -------
    SharedDocuments or None
        None if topics are directions or depend on time, or a training corpus is missing.
    """
    runs = (left, right)
    if any(run.fitted.signed or run.fitted.slices for run in runs):
        return None
    parts: tuple[list[Doubles], list[Doubles]] = ([], [])
    is_one_corpus = len({run.run.config["corpus"].get("fingerprint") for run in runs}) == 1
    for owner in runs[:1] if is_one_corpus else runs:
        corpus = owner.training_corpus()
        if corpus is None:
            return None
        ids = evenly_spaced(owner.training_documents(corpus)[:], DOCUMENTS)
        documents = corpus.take(ids)
        readings = [with_words_of(documents, owner, run) for run in runs]
        known = np.logical_and(*(reading.lengths > 0 for reading in readings))
        rows = np.flatnonzero(known)
        for part, run, reading, layer in zip(parts, runs, readings, layers, strict=True):
            proportions = run.proportions(reading.take(rows), ids[rows], layer)
            part.append(proportions[:, run.fitted.shown(layer)])
    return SharedDocuments(*map(np.concatenate, parts))


def with_words_of(documents: Documents, owner: Results, reader: Results) -> Documents:
    """Convert documents to another run's word ids; words that the other run lacks are left out.

    Parameters
    ----------
    documents : Documents
        Documents over the vocabulary of `owner`.
    owner : Results
        The run with these documents.
    reader : Results
        The run with the other vocabulary.

    Returns
    -------
    Documents
        The same documents; some may be empty.
    """
    if owner is reader or owner.vocabulary == reader.vocabulary:
        return documents
    place = {word: n for n, word in enumerate(reader.vocabulary)}
    words = np.array([place.get(word, -1) for word in owner.vocabulary], np.int32)
    indices = words[documents.indices]
    known = indices >= 0
    rows = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))[known]
    lengths = np.bincount(rows, minlength=len(documents))
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Documents(indptr, indices[known], documents.counts[known])
