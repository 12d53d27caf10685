"""documents_gibbs against its oracle, token by token, at the edges of every size."""

import numpy as np
import pytest
from oracles.documents_gibbs import documents_gibbs as oracle

from pysgrld.core import core, padded_width
from pysgrld.models import token_topics as lda
from pysgrld.types import UNIT, Key, Minibatch


def topics_matrix(rows, topics, seed=0):
    """phi (rows, padded K), topics sum to 1 over rows."""
    rng = np.random.default_rng(seed)
    g = rng.gamma(0.5, size=(rows, topics)) + 1e-3
    phi = np.zeros((rows, padded_width(topics)), np.float32)
    phi[:, :topics] = g / g.sum(axis=0)
    return phi


def make_documents(lengths, rows, seed=0):
    """Documents with as many tokens as ``lengths`` says, words drawn at random."""
    rng = np.random.default_rng(seed)
    indptr, indices, counts = [0], [], []
    for n in lengths:
        words, times = np.unique(rng.integers(0, rows, n), return_counts=True)
        indices += words.tolist()
        counts += times.tolist()
        indptr.append(len(indices))
    return {
        "indptr": np.array(indptr),
        "indices": np.array(indices, np.int32),
        "counts": np.array(counts, np.int32),
        "doc_ids": 3 * np.arange(len(lengths)) + 2**33,
    }


def sampling(**changes):
    return {
        "alpha": 0.3,
        "sweeps": 3,
        "kept": 2,
        "rao_blackwell": False,
        "seed": 5,
        "chain": 1,
        "step": 9,
    } | changes


def kernel(
    phi, topics, docs, threads=1, z=None, token_ptr=None, documents=True, bucket=None, **how
):
    return core.documents_gibbs(
        phi=phi,
        topics=topics,
        **docs,
        **sampling(**how),
        purpose=core.Purpose.documents,
        z=z,
        token_ptr=token_ptr,
        want_documents=documents,
        bucket=bucket,
        work=core.Workspace(),
        threads=threads,
    )


def token_ptr_of(docs):
    tokens = [
        docs["counts"][a:b].sum() for a, b in zip(docs["indptr"], docs["indptr"][1:], strict=False)
    ]
    return np.concatenate(([0], np.cumsum(tokens))).astype(np.int64)


SIZES = [1, 2, 3, 15, 16, 17, 100, 128, 129, 300]


@pytest.mark.parametrize("topics", SIZES)
def test_topics_of_tokens_are_the_oracle_s(isa, topics):
    docs = make_documents([7, 0, 1, 65, 40, 2], 12)
    phi, at = topics_matrix(12, topics), token_ptr_of(docs)
    z = np.full(at[-1], -1, np.int32)
    kernel(phi, topics, docs, z=z, token_ptr=at)
    *_, expected = oracle(phi, topics, **docs, **sampling(), purpose="documents")
    assert z.tolist() == np.concatenate(expected).tolist()


@pytest.mark.parametrize("topics", [2, 16, 20, 100])
def test_documents_that_advance_together_are_the_oracle_s_in_sweeps_of_one(isa, topics):
    # more documents than advance at once; words of up to 70 tokens, of which 16 are listed at a time
    docs = make_documents([65, 40, 130, 16, 17, 33, 1, 0, 48, 200, 31, 32, 64, 5, 90, 15, 47], 3)
    docs["doc_ids"] = 7 * np.arange(17)
    phi, at = topics_matrix(3, topics), token_ptr_of(docs)
    z, expected = np.full(at[-1], -1, np.int32), None
    for step in range(3):
        how = {"sweeps": 1, "kept": 1, "step": step}
        words, _ = kernel(phi, topics, docs, z=z, token_ptr=at, **how)
        found = oracle(phi, topics, **docs, **sampling(**how), purpose="documents", z=expected)
        expected = found[-1]
        assert z.tolist() == np.concatenate(expected).tolist()
        assert words[:, :topics].tolist() == found[0].tolist()


@pytest.mark.parametrize("topics", SIZES)
def test_sampled_counts_are_the_oracle_s_exactly(topics):
    docs = make_documents([7, 0, 1, 65, 40, 2], 12)
    phi = topics_matrix(12, topics)
    words, documents = kernel(phi, topics, docs)
    expected = oracle(phi, topics, **docs, **sampling(), purpose="documents")
    assert words[:, :topics].tolist() == expected[0].tolist()
    assert documents[:, :topics].tolist() == expected[1].tolist()


@pytest.mark.parametrize("topics", SIZES)
def test_rao_blackwell_counts_are_the_oracle_s_within_float32(topics):
    docs = make_documents([7, 0, 1, 65, 40, 2], 12)
    phi = topics_matrix(12, topics)
    words, documents = kernel(phi, topics, docs, rao_blackwell=True)
    expected = oracle(phi, topics, **docs, **sampling(rao_blackwell=True), purpose="documents")
    np.testing.assert_allclose(words[:, :topics] / UNIT, expected[0], rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(documents[:, :topics] / UNIT, expected[1], rtol=2e-6, atol=2e-6)


def test_one_word_vocabulary_and_one_topic():
    docs = make_documents([5], 1)
    words, documents = kernel(topics_matrix(1, 1), 1, docs, rao_blackwell=True)
    assert words[0].tolist() == [10 * UNIT] + [0] * 15
    assert documents[0].tolist() == [10 * UNIT] + [0] * 15


@pytest.mark.parametrize("topics", [7, 200])
def test_document_of_5000_tokens_is_the_oracle_s_beyond_the_uniform_buffer(topics):
    docs = make_documents([5000, 3, 513, 512], 40)
    phi, at = topics_matrix(40, topics), token_ptr_of(docs)
    z = np.full(at[-1], -1, np.int32)
    kernel(phi, topics, docs, z=z, token_ptr=at, sweeps=2, kept=1)
    *_, expected = oracle(phi, topics, **docs, **sampling(sweeps=2, kept=1), purpose="documents")
    assert z.tolist() == np.concatenate(expected).tolist()


@pytest.mark.parametrize("topics", [5, 150])
def test_topics_kept_between_calls_go_on_as_the_oracle_s(topics):
    docs = make_documents([9, 0, 30, 4, 4], 12)
    phi, at = topics_matrix(12, topics), token_ptr_of(docs)
    z = np.full(at[-1], -1, np.int32)
    expected = None
    for step in range(3):
        kernel(phi, topics, docs, z=z, token_ptr=at, step=step)
        *_, expected = oracle(
            phi, topics, **docs, **sampling(step=step), purpose="documents", z=expected
        )
    assert z.tolist() == np.concatenate(expected).tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_one_sweep_is_over_few_topics_only_where_a_document_uses_few(threads):
    """Red with: documents by their length alone; those over all topics left out, or as the others."""
    topics, rng = 600, np.random.default_rng(3)
    docs = make_documents([40, 200, 30, 90, 60, 0, 25], 50)
    phi, at = topics_matrix(50, topics), token_ptr_of(docs)
    z = rng.integers(0, topics, at[-1]).astype(np.int32)
    for d in (0, 3, 6):  # all of their tokens have one of two topics
        z[at[d] : at[d + 1]] = rng.integers(7, 9, at[d + 1] - at[d])
    z[at[4]] = -1  # which makes it new
    before = np.split(z.copy(), at[1:-1])
    once = {"sweeps": 1, "kept": 1, "alpha": 0.01}
    words, documents = kernel(phi, topics, docs, threads, z=z, token_ptr=at, **once)
    expected = oracle(
        phi, topics, **docs, **sampling(**once), purpose="documents", z=before, sparse={0, 3, 6}
    )
    assert z.tolist() == np.concatenate(expected[2]).tolist()
    np.testing.assert_array_equal(words[:, :topics], expected[0])
    np.testing.assert_array_equal(documents[:, :topics], expected[1])


def test_kept_topics_make_no_difference_when_they_are_unknown():
    docs = make_documents([9, 0, 30, 4, 4], 12)
    phi, at = topics_matrix(12, 5), token_ptr_of(docs)
    z = np.full(at[-1], -1, np.int32)
    fresh, kept = kernel(phi, 5, docs)[0], kernel(phi, 5, docs, z=z, token_ptr=at)[0]
    assert fresh.tobytes() == kept.tobytes()


@pytest.mark.parametrize("topics", SIZES)
@pytest.mark.parametrize("rao_blackwell", [False, True])
def test_counts_of_a_word_sum_to_its_tokens(topics, rao_blackwell):
    docs = make_documents([300, 1, 0, 77, 1200], 25)
    words, _ = kernel(topics_matrix(25, topics), topics, docs, rao_blackwell=rao_blackwell)
    unit = UNIT if rao_blackwell else 1
    tokens = np.bincount(docs["indices"], docs["counts"], minlength=25) * 2  # two kept sweeps
    # a probability is a float32: half a unit in the last place for each of K additions a token
    np.testing.assert_allclose(words.sum(axis=1) / unit, tokens, rtol=3e-6 if rao_blackwell else 0)


def test_large_counts_are_conserved():
    docs = {
        "indptr": np.array([0, 2]),
        "indices": np.array([0, 1], np.int32),
        "counts": np.array([200_000, 1], np.int32),
        "doc_ids": np.array([0]),
    }
    words, _ = kernel(topics_matrix(2, 20), 20, docs)
    assert words.sum(axis=1).tolist() == [400_000, 2]


@pytest.mark.parametrize("topics", [1, 15, 17, 129, 300])
@pytest.mark.parametrize("rao_blackwell", [False, True])
def test_pads_of_all_counts_stay_zero(topics, rao_blackwell):
    docs = make_documents([50, 20, 3], 12)
    words, documents = kernel(topics_matrix(12, topics), topics, docs, rao_blackwell=rao_blackwell)
    assert not words[:, topics:].any()
    assert not documents[:, topics:].any()


def test_rows_that_no_document_uses_get_no_counts():
    docs = make_documents([10], 4)
    words, _ = kernel(topics_matrix(9, 3), 3, docs)
    assert not words[4:].any()


def test_no_documents_give_no_counts():
    words, documents = kernel(topics_matrix(4, 3), 3, make_documents([], 4))
    assert not words.any()
    assert documents.shape == (0, 16)


def test_only_empty_documents_give_no_counts():
    words, documents = kernel(topics_matrix(4, 3), 3, make_documents([0, 0], 4))
    assert not words.any()
    assert not documents.any()


@pytest.mark.parametrize("topics", [3, 20, 150])
def test_words_without_mass_in_any_topic_still_get_a_topic(topics):
    phi = topics_matrix(4, topics)
    phi[:, :topics] = core.PHI_FLOOR
    words, _ = kernel(phi, topics, make_documents([100], 4))
    assert words.sum() == 200


@pytest.mark.parametrize("topics", SIZES)
@pytest.mark.parametrize("rao_blackwell", [False, True])
def test_threads_1_2_7_and_every_instruction_set_give_the_same_bytes(topics, rao_blackwell):
    docs = make_documents([int(n) for n in np.random.default_rng(2).integers(0, 90, 60)], 30)
    phi, at = topics_matrix(30, topics), token_ptr_of(docs)
    before, seen = core.isa(), set()
    for name in core.available_isas():
        core.use_isa(name)
        for threads in (1, 2, 7):
            z = np.full(at[-1], -1, np.int32)
            words, documents = kernel(
                phi, topics, docs, threads, z, at, rao_blackwell=rao_blackwell
            )
            seen.add((words.tobytes(), documents.tobytes(), z.tobytes()))
    core.use_isa(before)
    assert len(seen) == 1


def test_order_of_documents_does_not_matter():
    docs = make_documents([5, 60, 33, 2], 12)
    phi = topics_matrix(12, 6)
    words, documents = kernel(phi, 6, docs, rao_blackwell=True)
    order = [2, 0, 3, 1]
    pieces = [slice(docs["indptr"][d], docs["indptr"][d + 1]) for d in order]
    shuffled = {
        "indptr": np.cumsum([0] + [s.stop - s.start for s in pieces]),
        "indices": np.concatenate([docs["indices"][s] for s in pieces]),
        "counts": np.concatenate([docs["counts"][s] for s in pieces]),
        "doc_ids": docs["doc_ids"][order],
    }
    words2, documents2 = kernel(phi, 6, shuffled, rao_blackwell=True)
    assert words.tobytes() == words2.tobytes()
    assert documents[order].tobytes() == documents2.tobytes()


@pytest.mark.parametrize("changed", ["seed", "chain", "step"])
def test_another_address_gives_other_topics(changed):
    docs, phi = make_documents([50], 12), topics_matrix(12, 6)
    assert kernel(phi, 6, docs)[0].tobytes() != kernel(phi, 6, docs, **{changed: 2})[0].tobytes()


def test_word_and_document_counts_agree_whether_both_are_wanted():
    docs, phi = make_documents([50, 0, 7], 12), topics_matrix(12, 6)
    both = kernel(phi, 6, docs)
    assert kernel(phi, 6, docs, documents=False)[0].tobytes() == both[0].tobytes()
    alone = core.documents_gibbs(
        phi=phi,
        topics=6,
        **docs,
        **sampling(),
        purpose=core.Purpose.documents,
        want_words=False,
        want_documents=True,
        work=core.Workspace(),
        threads=1,
    )
    assert alone[0] is None
    assert alone[1].tobytes() == both[1].tobytes()


@pytest.mark.parametrize("topics", [17, core.DENSE_TOPICS, core.DENSE_TOPICS + 1, 300])
def test_counts_that_are_spread_afterwards_are_the_same_bits(topics):
    """What a bucket held before is of no account. Red with: a bucket that is added to; none to spread."""
    docs, phi = make_documents([7, 0, 1, 65, 40, 2], 12), topics_matrix(12, topics)
    whole, _ = kernel(phi, topics, docs, rao_blackwell=True)
    bucket, work = np.full(12, 99), core.Workspace()
    counts, _ = kernel(phi, topics, docs, rao_blackwell=True, bucket=bucket)
    assert bucket.any() == (topics > core.DENSE_TOPICS)
    core.spread(
        phi=phi, alpha=0.1, topics=topics, bucket=bucket, counts=counts, work=work, threads=2
    )
    assert counts.tobytes() == whole.tobytes()


def test_more_counts_than_may_wait_are_those_of_parts():
    """A thread lets 2^20 counts wait: 800 documents have more, each part of 200 has fewer.

    Red with: what waits forgotten where there is no room.
    """
    docs = make_documents([200] * 800, 40)
    phi = topics_matrix(40, 400)
    how = sampling(alpha=2.0, sweeps=4, kept=3, rao_blackwell=True)
    whole, _ = kernel(
        phi, 400, docs, documents=False, bucket=(rest := np.zeros(40, np.int64)), **how
    )
    found, bucket = np.zeros_like(whole), np.zeros(40, np.int64)
    for begin in range(0, 800, 200):
        indptr = docs["indptr"][begin : begin + 201]
        entries = slice(indptr[0], indptr[-1])
        part = {
            "indptr": indptr - indptr[0],
            "indices": docs["indices"][entries],
            "counts": docs["counts"][entries],
            "doc_ids": docs["doc_ids"][begin : begin + 200],
        }
        some = np.zeros(40, np.int64)
        found += kernel(phi, 400, part, documents=False, bucket=some, **how)[0]
        bucket += some
    np.testing.assert_array_equal(whole, found)
    np.testing.assert_array_equal(rest, bucket)


def test_uniform_just_below_one_never_leaves_the_topics_that_exist():
    """A uniform of 1 - 2^-24 must choose a topic below K, though prefix sums round differently.

    Seed 1, step 8, document 2790354 begins with that uniform under the address of ``test``.
    """
    assert core.draw("uniform24", np.zeros(2790355, np.float32), 1, 8)[-1] == np.float32(1 - 2**-24)
    rows, topics = 500, 3
    rng = np.random.default_rng(0)
    phi = np.zeros((rows, 16), np.float32)
    phi[:, :topics] = rng.random((rows, topics))
    z = np.full(rows, -1, np.int32)
    core.documents_gibbs(
        phi=phi,
        topics=topics,
        indptr=np.arange(rows + 1),
        indices=np.arange(rows, dtype=np.int32),
        counts=np.ones(rows, np.int32),
        doc_ids=np.full(rows, 2790354),
        alpha=0.5,
        sweeps=1,
        kept=1,
        rao_blackwell=False,
        seed=1,
        chain=0,
        step=8,
        purpose=core.Purpose.test,
        z=z,
        token_ptr=np.arange(rows + 1),
        work=core.Workspace(),
        threads=1,
    )
    assert z.min() >= 0
    assert z.max() < topics


BAD = {
    "phi: rows must be padded": {"topics": 17},
    "phi: rows must be padded ": {"topics": 0},
    "phi: rows must be padded  ": {"phi": np.ones((4, 15), np.float32)},
    "phi has shape": {"phi": np.ones(16, np.float32)},
    "alpha: must be positive": {"alpha": 0.0},
    "alpha: must be positive ": {"alpha": np.nan},
    "sweeps, kept: must be": {"kept": 0},
    "sweeps, kept: must be ": {"kept": 4},
    "sweeps, kept: must be  ": {"sweeps": 0},
    "indptr: must start at 0": {"indptr": np.array([1, 3])},
    "indptr: must start at 0 ": {"indptr": np.array([0, 2])},
    "indptr: must start at 0  ": {"indptr": np.array([], np.int64)},
    "indptr: must not decrease": {"indptr": np.array([0, 5, 3]), "doc_ids": np.arange(2)},
    "indices: 4 is not a row": {"indices": np.array([0, 1, 4], np.int32)},
    "indices: -1 is not a row": {"indices": np.array([0, 1, -1], np.int32)},
    "counts: must be at least 1": {"counts": np.array([1, 0, 1], np.int32)},
    "counts has shape": {"counts": np.array([1, 1], np.int32)},
    "doc_ids has shape": {"doc_ids": np.arange(2)},
    "z and token_ptr: both": {"z": np.zeros(4, np.int32)},
    "z and token_ptr: both ": {"token_ptr": np.array([0, 4])},
    "token_ptr has shape": {"z": np.zeros(4, np.int32), "token_ptr": np.array([0])},
    "token_ptr: must give": {"z": np.zeros(4, np.int32), "token_ptr": np.array([0, 3])},
    "token_ptr: must give ": {"z": np.zeros(3, np.int32), "token_ptr": np.array([0, 4])},
    "token_ptr: must give  ": {"z": np.zeros(4, np.int32), "token_ptr": np.array([-1, 3])},
    "bucket has shape": {"bucket": np.zeros(3, np.int64)},
    "bucket: with want_words only": {"bucket": np.zeros(4, np.int64), "want_words": False},
    "z: topics must be": {"z": np.array([0, 3, 0, 0], np.int32), "token_ptr": np.array([0, 4])},
    "z: topics must be ": {"z": np.array([0, -2, 0, 0], np.int32), "token_ptr": np.array([0, 4])},
}


def good():
    return {
        "phi": np.ones((4, 16), np.float32),
        "topics": 3,
        "indptr": np.array([0, 3]),
        "indices": np.array([0, 1, 2], np.int32),
        "counts": np.array([1, 2, 1], np.int32),
        "doc_ids": np.array([0]),
        **sampling(),
        "purpose": core.Purpose.documents,
        "work": core.Workspace(),
        "threads": 1,
    }


@pytest.mark.parametrize("message", BAD)
def test_bad_argument_is_named(message):
    with pytest.raises(ValueError, match=message.strip()):
        core.documents_gibbs(**good() | BAD[message])


@pytest.mark.parametrize("bucket", [np.zeros(4, np.int32), np.zeros(8, np.int64)[::2]])
def test_a_bucket_that_would_be_copied_is_refused(bucket):
    """What is counted would be lost. Red with: an argument that is converted."""
    with pytest.raises(TypeError, match="incompatible function arguments"):
        core.documents_gibbs(**good() | {"bucket": bucket})


@pytest.mark.parametrize("threads", [0, -1])
def test_number_of_threads_below_one_is_named(threads):
    with pytest.raises(ValueError, match="threads: wanted 1 to 4096"):
        core.documents_gibbs(**good() | {"threads": threads})


@pytest.mark.parametrize("wrong", [np.int64, np.float32])
def test_topics_of_tokens_of_another_type_are_refused_since_a_copy_would_be_lost(wrong):
    docs = make_documents([4], 4)
    with pytest.raises((TypeError, ValueError)):
        kernel(topics_matrix(4, 3), 3, docs, z=np.zeros(4, wrong), token_ptr=np.array([0, 4]))


@pytest.mark.parametrize("rao_blackwell", [False, True])
@pytest.mark.parametrize(("sweeps", "kept"), [(1, 1), (4, 1), (5, 3)])
def test_statistics_count_the_minibatch_s_tokens_times_documents_over_its_size(
    rao_blackwell, sweeps, kept
):
    """Red with: the factor not divided by the kept sweeps."""
    docs = make_documents([50, 3, 0, 20], 12)
    batch = Minibatch(**docs | {"words": np.arange(12, dtype=np.int32), "scale": 2.5})
    documents = lda.GibbsDocuments(
        topics=5, alpha=0.1, sweeps=sweeps, kept=kept, rao_blackwell=rao_blackwell, threads=1
    )
    found = documents.visit(Key(1, 0, 0), {"phi": topics_matrix(12, 5)}, batch)["phi"]
    tokens = np.bincount(docs["indices"], docs["counts"], minlength=12)
    np.testing.assert_allclose(found.counts.sum(axis=1) * found.factor, 2.5 * tokens, rtol=3e-6)
    assert found.rows.tolist() == list(range(12))
