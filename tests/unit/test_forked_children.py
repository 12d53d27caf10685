"""Processes that were forked after a fit on several threads fit and transform, with the same bits."""

import subprocess
import sys

import pytest

PROGRAM = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from pysgrld import LDA

COUNTS = np.random.default_rng(0).poisson(1.0, (120, 20))


def fitted(_):
    model = LDA(3, max_iter=40, burn_in=10, n_jobs=2, holdout=0, random_state=0).fit(COUNTS)
    return model.components_.tobytes() + model.transform(COUNTS[:50]).tobytes()


if __name__ == "__main__":
    mine = fitted(0)  # on two threads, which a forked child does not have
    fork = multiprocessing.get_context("fork")
    if sys.argv[1] == "pool":
        with fork.Pool(2) as pool:
            found = pool.map_async(fitted, [0, 1]).get(timeout=60)
    elif sys.argv[1] == "executor":
        with ProcessPoolExecutor(2, mp_context=fork) as pool:
            found = list(pool.map(fitted, [0, 1], timeout=60))
    else:
        from joblib import Parallel, delayed

        found = Parallel(n_jobs=2, timeout=120)(delayed(fitted)(i) for i in range(2))
    assert [each == mine for each in found] == [True, True]
    assert fitted(0) == mine
    print("the same")
"""


@pytest.mark.parametrize(
    # a pool forks as an executor does
    "how",
    ["executor", *(pytest.param(h, marks=pytest.mark.nightly) for h in ("pool", "loky"))],
)
def test_a_child_that_was_forked_after_threads_fits_with_the_same_bits(how, tmp_path):
    """Red with: a team of threads asked for in the child, which waits for ever for the parent's."""
    if how == "loky":
        pytest.importorskip("joblib")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), how],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "the same\n"), done.stderr
