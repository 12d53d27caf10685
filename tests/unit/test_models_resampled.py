"""Resampled documents: which are taken, and what their tokens count."""

import numpy as np

from pysgrld.core.draws import Draw
from pysgrld.corpus.minibatches import compact
from pysgrld.models.resampled import WeightedDocuments, draw_resample
from pysgrld.models.token_topics import GibbsDocuments
from pysgrld.types import Documents, Key


def documents(counts):
    """Documents of a matrix of counts."""
    rows = [np.flatnonzero(row) for row in counts]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    values = np.concatenate([row[at] for row, at in zip(counts, rows, strict=True)])
    return Documents(indptr, np.concatenate(rows).astype(np.int32), values.astype(np.int32))


def resample(*seed, number=2000, wholes=None):
    return draw_resample(number, wholes, np.random.default_rng(seed))


def test_as_many_documents_are_taken_as_there_are():
    """Red if documents are taken without replacement, or one with weight 0 is kept."""
    taken, weights = resample(1, 2)
    assert weights.sum() == 2000
    assert (np.diff(weights) >= 0).all()
    assert weights.min() == 1
    assert len(np.unique(taken)) == len(taken)
    assert abs(len(taken) / 2000 - (1 - np.exp(-1))) < 0.04
    assert resample(1, 2)[0].tolist() == taken.tolist()
    assert resample(1, 3)[0].tolist() != taken.tolist()


def test_chunks_of_a_document_are_taken_together():
    """Red with: chunks drawn one by one, which are too alike for documents drawn by chance."""
    wholes = np.repeat(np.arange(50), np.arange(1, 51))
    taken, weights = resample(4, number=len(wholes), wholes=wholes)
    times = np.zeros(len(wholes), int)
    times[taken] = weights
    books = [times[wholes == book] for book in range(50)]
    assert all(len(set(chunks.tolist())) == 1 for chunks in books)
    assert sum(chunks[0] for chunks in books) == 50
    assert sum(chunks[0] == 0 for chunks in books) > 10


def test_tokens_count_as_often_as_their_document_was_taken():
    """Red if weights count documents in another order, or sampling depends on them."""
    rng = np.random.default_rng(3)
    k, v = 3, 12
    part = documents(rng.poisson(1.5, (6, v)) + np.eye(6, v, dtype=int))
    batch = compact(part, np.arange(6), 1.0)
    phi = np.zeros((len(batch.words), 16), np.float32)
    phi[:, :k] = rng.dirichlet(np.ones(v), k).T[batch.words]
    draw: Draw = {"phi": phi}
    plain = GibbsDocuments(topics=k, alpha=0.1, sweeps=1, kept=1, rao_blackwell=False, threads=1)
    plain.keep(part)
    plain.visit(Key(1, 0, 0), draw, batch)
    weights = np.array([1, 1, 2, 2, 2, 5])
    weighted = WeightedDocuments(weights, topics=k, alpha=0.1, threads=1)
    weighted.keep(part)
    counts = weighted.visit(Key(1, 0, 0), draw, batch)["phi"].counts
    assert (weighted.z == plain.z).all()
    expected = np.zeros_like(counts)
    of_token = np.repeat(np.arange(6), np.diff(plain.token_ptr))
    word = np.repeat(batch.indices, batch.counts)
    np.add.at(expected, (word, plain.z), weights[of_token])
    assert (counts == expected).all()
