"""Steps that leave the range of float32, for every sampler with step sizes. Row 74."""

from __future__ import annotations

import pytest
from faults_runs import opened, train_command, write_corpus

#: Samplers, and steps that they cannot follow: too long, or for exact transitions too short.
STEPS = {
    "scir": "1e-40,1,0",
    "scir --set cir-rate=natural": "1e-40,1,0",
    "scir --set lazy=on": "1e-40,1,0",
    "sgrld": "1000000,1,0",
    "tlasgr": "1000000,1,0",
    "tlfsgr": "1000000,1,0",
    "smld": "1000000,1,0",
}


@pytest.mark.row(74)
@pytest.mark.parametrize(
    ("algo", "topics"),  # documents are dense, and active
    [
        pytest.param(algo, topics, marks=[pytest.mark.nightly] if topics > 20 and i > 1 else [])
        for i, algo in enumerate(STEPS)
        for topics in (20, 140)
    ],
)
def test_steps_that_leave_float32_end_with_86(algo, topics, tmp_path, trials):
    """It is said in which iteration, the state is kept, and the run says that it failed.

    Red with: kernels that trust what they are given. scir never returned; the others counted tokens
    of infinite weights, in fixed point, until sums were looked at.
    """
    write_corpus(tmp_path / "corpus.txt")
    steps = ("--step-size", STEPS[algo], "--algo", *algo.split())
    more = {"starts": None} if algo.startswith("tl") else {}  # of deep LDA
    done = train_command(tmp_path, *steps, topics=topics, warm_up=0, code=86, **more)
    assert "use a larger" in done.stderr if "scir" in algo else "use a smaller" in done.stderr
    assert "iteration " in done.stderr
    assert "the state is saved in run/failed-step-" in done.stderr
    assert opened(tmp_path).status["state"] == "failed"
    trials()


@pytest.mark.row(74)
@pytest.mark.parametrize("topics", [20, 140])
def test_steps_at_the_limit_and_exact_ones_of_any_length_work(topics, tmp_path, trials):
    """The shortest steps that are taken, and exact transitions of any length, work."""
    write_corpus(tmp_path / "corpus.txt")
    for steps in ("1e-20,1,0", "1000000,1,0"):
        options = ("--algo", "scir", "--step-size", steps)
        train_command(tmp_path, *options, topics=topics, warm_up=0, iterations=12)
        (tmp_path / "run").rename(tmp_path / f"run {steps}")
        trials()
