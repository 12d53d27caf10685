"""Two models fitted at once, in two threads of one process: each is what it is alone."""

import ast
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pysgrld
from pysgrld import LDA, SAM, DeepLDA, DPMixture
from pysgrld.models.table import find_model
from pysgrld.samplers import SAMPLERS

#: Fits of each kind, two at a time.
PAIRS = 2


def counts(documents, words, seed):
    """Documents of a corpus of their own."""
    return np.random.default_rng(seed).poisson(0.1, (documents, words)) + np.eye(
        documents, words, dtype=int
    )


def topics(algo, i):
    """What a fit learns; the i-th is wider than the one before, so that scratch memory grows."""
    kind, size = (DeepLDA, [20 + 17 * i]) if algo in ("tlasgr", "tlfsgr") else (LDA, 20 + 17 * i)
    more = {"minibatch": 10, "sweeps": 2, "max_iter": 36}
    if SAMPLERS[algo].draws:
        more |= {"burn_in": 0}
    if SAMPLERS[algo].whole_corpus:
        more = {"burn_in": 0, "max_iter": 40}
    if SAMPLERS[algo].geometry == "sphere":
        kind, more = SAM, {"sweeps": 2, "max_iter": 5, "burn_in": 0, "holdout": 0}
        if not SAMPLERS[algo].draws:
            more = {"sweeps": 2, "max_iter": 2, "holdout": 0}
    model = kind(size, algo=algo, random_state=i, n_jobs=1, **more)
    return model.fit(counts(20, 1000 + 250 * i, i)).components_


def components(i):
    """What a fit of a mixture learns that is nearly all steps of the kernel."""
    model = DPMixture(
        algo="sgrld",
        max_iter=20,
        burn_in=6,
        start_components=40,
        minibatch=20,
        random_state=i,
        n_jobs=1,
    )
    return model.fit(counts(60, 1000 + 250 * i, i)).components_


def assert_alone_and_together_are_equal(fit):
    numbers = range(2 * PAIRS)
    alone = [fit(i) for i in numbers]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(fit, numbers))
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


#: Samplers whose scratch memory is that of another: sgrld, smld-approx, tlasgr, sggmc, gmc-bgibbs, vi.
BY_NIGHT = {"sgrhmc", "smld", "tlfsgr", "gsgnht", "gmc-apprmh", "svi"}


@pytest.mark.parametrize(
    "algo",
    [
        pytest.param(n, marks=pytest.mark.nightly) if n in BY_NIGHT else n
        for n in SAMPLERS
        if n not in find_model("dtm").algorithms
    ],
)
def test_topics_fitted_in_two_threads_are_those_fitted_one_after_the_other(algo):
    """Red with: one scratch memory for all states of a process: other topics, or a crash (in two of
    three runs; the next test is sure).
    """
    assert_alone_and_together_are_equal(lambda i: topics(algo, i))


def test_mixtures_fitted_in_two_threads_are_those_fitted_one_after_the_other():
    """Red with: one scratch memory for all mixtures of a process (in one of three runs)."""
    assert_alone_and_together_are_equal(components)


def test_no_module_has_a_scratch_memory_of_its_own():
    """Red with: ``_work = core.Workspace()`` at the end of models/dpmm/slice_sampling.py."""
    for path in Path(pysgrld.__file__).parent.rglob("*.py"):
        text = path.read_text()
        for statement in ast.parse(text).body if "Workspace(" in text else ():
            if not isinstance(statement, ast.ClassDef | ast.FunctionDef):
                assert "Workspace(" not in ast.unparse(statement), path


@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_python_may_end_while_a_daemon_thread_fits(n_jobs, tmp_path):
    """Red with: abort (134) when Python unwinds a thread that asks for the lock in C++."""
    code = f"""
import threading
import numpy as np
from pysgrld import LDA
begun = threading.Event()
def fit():
    x = np.random.default_rng(0).poisson(1.0, (400, 300))
    model = LDA(20, max_iter=10**6, n_jobs={n_jobs}, holdout=0)
    model.partial_fit(x)
    begun.set()
    while True:
        model.partial_fit(x)
threading.Thread(target=fit, daemon=True).start()
begun.wait()
"""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, "")
