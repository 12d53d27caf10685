"""One chain over several ranks, played in turn: the same bits for any number of them."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from in_turn import InTurn
from trial_counts import counts

from pysgrld.chain.communicator import ALONE
from pysgrld.core import core
from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import MemoryLimitError, NumericalError
from pysgrld.models.protocol import CorpusFacts, Extent, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.models.table import all_models, find_model
from pysgrld.options.option import Facts
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers import lazy_rows as _lazy
from pysgrld.train.plan import check_memory
from pysgrld.types import Documents

WORDS, DOCUMENTS = 150, 90
RANKS = (2, 3, 7)
#: Models and samplers whose minibatches are shared.
PAIRS = [
    (m.name, algo)
    for m in all_models()
    if m.adds_up
    for algo in m.algorithms
    if not SAMPLERS[algo].whole_corpus
]
#: Beside each of them: many topics, sampled counts, lazy rows, one topic.
FORMS = [
    *((name, algo, 5, {}) for name, algo in PAIRS),
    ("lda", "scir", 1, {}),
    ("lda", "scir", 130, {"lazy": "on"}),
    ("lda", "scir", 5, {"lazy": "on"}),
    ("lda", "scir", 130, {"counts": "sampled"}),
    ("lda", "sgrld", 130, {}),
    ("lda", "ovb", 130, {}),
    ("lda", "scir", 5, {"alpha": "learn", "eta": "learn"}),
    ("lda", "sgrld", 130, {"alpha": "learn"}),
    ("dlda", "tlasgr", None, {"layers": (130, 20, 3)}),
]


def corpus():
    rng = np.random.default_rng(0)
    table = [np.unique(rng.zipf(1.3, 40) % WORDS, return_counts=True) for _ in range(DOCUMENTS)]
    return Documents(
        np.cumsum([0] + [len(words) for words, _ in table]),
        np.concatenate([words for words, _ in table]).astype(np.int32),
        np.concatenate([counts for _, counts in table]).astype(np.int32),
    )


CORPUS = corpus()
TRAIN = np.arange(DOCUMENTS)
FACTS = Facts(DOCUMENTS, WORDS, CORPUS.tokens, 100, lambda *_: WORDS)


def options_of(name, algo, topics, more):
    sampled = {"warm-up": 2} if SAMPLERS[algo].draws else {}
    given = {"model": name, "algo": algo, "minibatch": 40, "sweeps": 2, "seed": 3}
    wide = {"topics": topics} if topics else {}
    return resolve(given | wide | sampled | more, FACTS).options


def digest(options, comm, *, threads=1, iterations=5):
    """SHA-256 of the state after some iterations, two of them of the warm-up."""
    stream = Epochs.of(options, CORPUS, TRAIN)
    run_on = RunOn(threads, comm=comm)
    chain = find_model(options.model).chain(
        options, stream, CorpusFacts(WORDS, CORPUS.tokens), run_on
    )
    for _ in range(iterations):
        chain.advance()
    chain.close()
    found = hashlib.sha256()
    for name, array in sorted(chain.arrays().items()):
        found.update(name.encode() + array.tobytes())
    return found.hexdigest()


@counts(100, 1000)
@pytest.mark.parametrize(("name", "algo", "topics", "more"), FORMS, ids=str)
def test_any_number_of_ranks_gives_the_same_bits(name, algo, topics, more, n, monkeypatch):
    """Minibatches of 40, 40 and 10 documents: slices of 100 and 1,000 ranks are empty.

    Red with: buckets that are spread before they are added up, above 128 topics; q of deep documents
    added up by rank.
    """
    monkeypatch.setattr(_lazy, "DENSE", 0.0)  # lazy rows stay lazy, however small the topics
    options = options_of(name, algo, topics, more)
    alone = digest(options, ALONE)
    several = (*RANKS, n)
    assert [digest(options, InTurn(ranks)) for ranks in several] == [alone] * len(several)


@pytest.mark.parametrize("size", [1, 40, DOCUMENTS])
@pytest.mark.parametrize("ranks", [1, 2, 7, 100])
def test_the_slices_of_all_ranks_are_the_minibatch(size, ranks):
    """Red with: a slice that is scaled by its own size."""
    for t in range(0, 5):
        whole = Epochs(CORPUS, TRAIN, size, 1, 0).minibatch(t)
        slices = [Epochs(CORPUS, TRAIN, size, 1, 0, r, ranks).minibatch(t) for r in range(ranks)]
        assert np.concatenate([s.doc_ids for s in slices]).tolist() == whole.doc_ids.tolist()
        assert np.concatenate([s.words[s.indices] for s in slices]).tolist() == (
            whole.words[whole.indices].tolist()
        )
        assert {s.scale for s in slices} == {whole.scale}
        sizes = [len(s.doc_ids) for s in slices]
        assert max(sizes) - min(sizes) <= 1


def test_counts_are_added_up_exactly():
    """Red with: a chunk's end that is left out."""
    rng = np.random.default_rng(0)
    for n, size in ((0, 5), (1, 1), (3, 8192), (5, 20_001)):
        parts = rng.integers(-(2**60), 2**60, (n, size))
        out = np.ones(size, np.int64)
        core.add_counts(parts=parts, out=out, threads=2)
        assert (out == 1 + parts.sum(axis=0)).all()


@pytest.mark.parametrize("learned", [False, True])
def test_a_bucket_is_spread_in_proportion_to_the_weights(learned):
    """Red with: sums of rows without the shares of topics."""
    rng = np.random.default_rng(0)
    phi = np.zeros((70, 144), np.float32)
    phi[:, :130] = rng.random((70, 130))
    bucket = rng.integers(0, 2**40, 70)
    bucket[3] = 0
    counts = np.zeros(phi.shape, np.int64)
    alpha = np.zeros(144, np.float32)
    alpha[:130] = rng.random(130) + 0.1 if learned else 0.1
    core.spread(
        phi=phi,
        alpha=alpha if learned else 0.1,
        topics=130,
        bucket=bucket,
        counts=counts,
        work=core.Workspace(),
        threads=2,
    )
    weights = phi * alpha
    wanted = weights / weights.sum(axis=1, keepdims=True) * bucket[:, None]
    assert np.abs(counts - wanted).max() < 1e-5 * wanted.max()
    assert not counts[3].any()


def test_a_bucket_is_spread_over_rows_that_lie_in_two_arrays():
    """Red with: rows of the first array alone; an order that is left out; rows in the order of arrays."""
    rng = np.random.default_rng(1)
    phi = rng.random((60, 144)).astype(np.float32)
    phi[:, 130:] = 0
    bucket, order = rng.integers(1, 2**40, 90), rng.integers(0, 60, 90)
    found = [np.zeros((90, 144), np.int64) for _ in range(2)]
    of = {"alpha": 0.1, "topics": 130, "bucket": bucket, "work": core.Workspace(), "threads": 2}
    core.spread(phi=phi[order], counts=found[0], **of)
    own, theirs = phi[:25].copy(), phi[25:].copy()
    core.spread(phi=own, theirs=theirs, order=order, counts=found[1], **of)
    assert found[0].tobytes() == found[1].tobytes()


def test_a_row_without_weights_is_refused_by_its_number():
    phi = np.ones((70, 16), np.float32)
    phi[66] = 0
    with pytest.raises(NumericalError, match="phi: row 66 sums to 0"):
        core.spread(
            phi=phi,
            alpha=0.1,
            topics=16,
            bucket=np.ones(70, np.int64),
            counts=np.zeros((70, 16), np.int64),
            work=core.Workspace(),
            threads=2,
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bucket": np.zeros(3, np.int64)}, "bucket has shape"),
        ({"counts": np.zeros((2, 32), np.int64)}, "counts has shape"),
        ({"phi": np.zeros((2, 17), np.float32)}, "phi: rows must be padded"),
        ({"theirs": np.ones((2, 32), np.float32)}, "theirs has shape"),
        ({"theirs": np.ones((1, 16), np.float32)}, "bucket has shape"),
        ({"order": np.array([0, 2])}, "order: must be rows"),
        ({"order": np.array([-1, 1])}, "order: must be rows"),
        ({"threads": 0}, "threads: wanted"),
    ],
)
def test_wrong_arguments_of_spread_are_named(change, message):
    good = {
        "phi": np.ones((2, 16), np.float32),
        "alpha": 0.1,
        "topics": 16,
        "bucket": np.zeros(2, np.int64),
        "counts": np.zeros((2, 16), np.int64),
        "work": core.Workspace(),
        "threads": 1,
    }
    core.spread(**good)
    with pytest.raises(ValueError, match=message):
        core.spread(**good | change)


def test_wrong_arguments_of_add_counts_are_named():
    with pytest.raises(ValueError, match="out has shape"):
        core.add_counts(parts=np.zeros((2, 3), np.int64), out=np.zeros(2, np.int64), threads=1)


@pytest.mark.parametrize(
    "many", [(3, 1, "3 runs at a time"), (1, 4, "4 ranks of this machine")], ids=str
)
def test_memory_is_that_of_all_processes_of_the_machine(many):
    """Each rank is taken to need what the first does. Red with: ranks that are not counted."""
    chains, ranks, said = many
    options = options_of("lda", "scir", 5, {"max-memory": 200 << 20})
    extent = Extent(20, 40, 1, None, shared=ranks > 1)
    check_memory(options, FACTS, extent)
    with pytest.raises(MemoryLimitError, match=f"^each of {said} needs about"):
        check_memory(options, FACTS, extent, chains, ranks)


def test_counts_of_other_ranks_need_memory():
    options = options_of("lda", "scir", 130, {})
    alone, shared = (
        sum(find_model("lda").memory(options, FACTS, Extent(20, 40, 1, None, shared=s)).values())
        for s in (False, True)
    )
    assert shared - alone == (8 + 4) * WORDS * 144  # counts, and rows of topics
