"""A workspace serves one call at a time, and word counts belong to whoever holds them."""

import threading

import numpy as np
import pytest

from pysgrld.core import core

ROWS, STRIDE, TOPICS = 400, 16, 10


def documents(seed, number=60):
    """Arguments that every kernel of documents takes."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(20, 60, number)
    return {
        "topics": TOPICS,
        "indptr": np.concatenate(([0], np.cumsum(lengths))),
        "indices": rng.integers(0, ROWS, lengths.sum()).astype(np.int32),
        "counts": rng.integers(1, 4, lengths.sum()).astype(np.int32),
        "threads": 1,
    }


def phi(seed):
    array = core.zeros(ROWS, STRIDE, "float32")
    array[:, :TOPICS] = np.random.default_rng(seed).gamma(0.5, size=(ROWS, TOPICS)) + 1e-3
    return array


def address(given):
    return {"doc_ids": np.arange(len(given["indptr"]) - 1), "seed": 3, "chain": 0, "step": 0}


def gibbs(work, seed, sweeps=4):
    given = documents(seed)
    return core.documents_gibbs(
        **given,
        **address(given),
        phi=phi(seed),
        alpha=0.1,
        sweeps=sweeps,
        kept=2,
        rao_blackwell=True,
        purpose=core.Purpose.documents,
        work=work,
    )[0]


def deep(work, seed, sweeps=4):
    given = documents(seed)
    given["topics"] = [TOPICS]
    return core.documents_deep(
        **given,
        **address(given),
        phi=[phi(seed)],
        r=np.where(np.arange(STRIDE) < TOPICS, 0.5, 0).astype(np.float32),
        start=np.where(np.arange(STRIDE) < TOPICS, 0.5, 0).astype(np.float32),
        a0=1.0,
        b0=1.0,
        e0=1.0,
        f0=1.0,
        link="counts",
        sweeps=sweeps,
        kept=2,
        held=0,
        rao_blackwell=True,
        purpose=core.Purpose.documents,
        work=work,
    )[0]


def mean_field(work, seed, sweeps=4):
    given = documents(seed)
    gamma = np.zeros((len(given["indptr"]) - 1, STRIDE), np.float32)
    gamma[:, :TOPICS] = 1
    return core.documents_mean_field(
        **given, weights=phi(seed), alpha=0.1, sweeps=sweeps, tolerance=0, gamma=gamma, work=work
    )


def collapsed(work, seed, sweeps=4):
    given = documents(seed)
    tokens = np.add.reduceat(given["counts"], given["indptr"][:-1])
    token_ptr = np.concatenate(([0], np.cumsum(tokens)))
    return core.documents_collapsed(
        **given,
        doc_ids=np.arange(len(given["indptr"]) - 1),
        seed=3,
        chain=0,
        steps=[0],
        rows=ROWS,
        alpha=np.full((1, STRIDE), 0.1, np.float32),
        priors=np.full((1, 1, STRIDE), 0.1, np.float32),
        prior_of=np.zeros(ROWS, np.int32),
        mass=np.full((1, STRIDE), 0.1 * ROWS),
        sweeps=sweeps,
        z=[np.full(token_ptr[-1], -1, np.int32)],
        token_ptr=token_ptr,
        work=work,
    )


def simplex(work, seed, sweeps=4):
    """Many steps of topics, whose calls take scratch of the other sizes."""
    g, sums = core.zeros(20 * ROWS, STRIDE, "float32"), core.zeros(1, STRIDE, "float64")[0]
    state = {"g": g, "sums": sums, "topics": TOPICS, "work": work, "threads": 1}
    core.simplex_start(**state, scale=1.0, seed=seed, chain=0, stream=0)
    for step in range(1, max(2, sweeps // 8)):
        core.simplex_scir(
            **state,
            eta=0.1,
            rows=np.arange(4, dtype=np.int32),
            counts=np.full((4, STRIDE), seed),
            factor=1.0,
            h=0.1,
            seed=seed,
            chain=0,
            step=step,
            stream=0,
        )
    return g


COUNTING = [gibbs, deep, mean_field, collapsed]


def in_two_threads(call, works, seeds):
    """What each thread got, a result or an error."""
    found, together = [None, None], threading.Barrier(2)

    def run(i):
        together.wait()
        try:
            found[i] = call(works[i], seeds[i], sweeps=300)
        except RuntimeError as error:
            found[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("call", [*COUNTING, simplex])
def test_a_second_thread_in_a_workspace_is_refused_and_the_first_one_undisturbed(call):
    """Red with: no flag, or one that nobody clears."""
    work = core.Workspace()
    expected = [call(core.Workspace(), seed, sweeps=300).tobytes() for seed in (1, 2)]
    refused = 0
    for _ in range(2000):  # until two calls have met
        for i, got in enumerate(in_two_threads(call, [work, work], [1, 2])):
            if isinstance(got, RuntimeError):
                assert str(got).startswith("internal: a workspace is in use by another thread")
                refused += 1
            else:
                assert got.tobytes() == expected[i]
        if refused:
            break
    assert refused
    assert call(work, 1, sweeps=300).tobytes() == expected[0]


@pytest.mark.parametrize("call", [*COUNTING, simplex])
def test_two_threads_with_a_workspace_each_get_what_one_thread_gets(call):
    expected = [call(core.Workspace(), seed, sweeps=300).tobytes() for seed in (1, 2)]
    got = in_two_threads(call, [core.Workspace(), core.Workspace()], [1, 2])
    assert [array.tobytes() for array in got] == expected


def test_a_call_that_fails_gives_its_workspace_back():
    """Red with: a flag that is cleared at the end of a call only."""
    work = core.Workspace()
    given = documents(1, number=1)
    with pytest.raises(ValueError, match="document 0 has"):
        core.documents_gibbs(
            **given | {"counts": np.full_like(given["counts"], core.MAX_COLLECTED // 2)},
            **address(given),
            phi=phi(1),
            alpha=0.1,
            sweeps=2,
            kept=2,
            rao_blackwell=True,
            purpose=core.Purpose.documents,
            work=work,
        )
    assert gibbs(work, 1).any()


@pytest.mark.parametrize("call", COUNTING)
def test_word_counts_stay_as_they_are(call):
    """Red with: views of the workspace, which the next call overwrites."""
    work = core.Workspace()
    first = call(work, 1)
    before = first.copy()
    second = call(work, 2)
    assert (first == before).all()
    assert (second != before).any()
    del work
    assert (first == before).all()


def test_memory_of_word_counts_that_were_let_go_serves_the_next_call():
    """Red with: a new buffer for each call, whose pages cost up to 7 % of the Gibbs kernel."""
    work = core.Workspace()
    places = set()
    for seed in range(5):
        counts = gibbs(work, seed)
        places.add(counts.ctypes.data)
        del counts
    assert len(places) == 1
