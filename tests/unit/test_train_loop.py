"""What a start says before it trains, and when it stops."""

import os
import signal

import pytest
from faults_runs import checkpoints, flip, result, stopped_here, train_here, write_corpus
from safetensors.numpy import load_file

from pysgrld.errors import Interrupted
from pysgrld.models.lda.exact import ExactLDA
from pysgrld.run.prune import prune


def test_a_budget_that_ends_before_the_first_sample_is_warned_of_where_it_is_to_come(tmp_path):
    """Red with: a warning of a run that has its samples already, under a budget that it has used."""
    write_corpus(tmp_path / "corpus.txt")
    warned = [
        any("before the first posterior sample" in line for line in said)
        for said in (
            train_here(tmp_path, iterations=6),
            train_here(tmp_path, iterations=16),
            train_here(tmp_path, iterations=7),
        )
    ]
    assert warned == [True, False, False]


@pytest.mark.parametrize("method", ["start", "sweep"])
def test_a_stop_is_heeded_between_the_chains_of_a_refinement(method, tmp_path, monkeypatch):
    """The chains that have swept wait for the others then.

    Red with: all chains started, or swept, before a signal is looked at (2.5 s with 2,000 topics);
    chains that sweep twice.
    """
    refinement = {"iterations": 10, "burn_in": 6, "sample_every": 2, "exact_sweeps": 4}
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
        write_corpus(tmp_path / name / "corpus.txt")
    train_here(tmp_path / "whole", **refinement)
    work, calls = getattr(ExactLDA, method), []

    def work_and_signal(*arguments):
        work(*arguments)
        calls.append(arguments)
        os.kill(os.getpid(), signal.SIGUSR1)

    with monkeypatch.context() as patch:
        patch.setattr(ExactLDA, method, work_and_signal)
        with pytest.raises(Interrupted):
            train_here(tmp_path / "stopped", **refinement)
    assert len(calls) == 1
    train_here(tmp_path / "stopped", **refinement)
    assert result(tmp_path / "stopped") == result(tmp_path / "whole")


@pytest.mark.parametrize(("threads", "more"), [(1, {"alpha": "learn", "eta": "learn"}), (4, {})])
def test_a_stop_is_heeded_within_a_sweep_and_resumed_there(threads, more, tmp_path, monkeypatch):
    """A sweep over many documents, or of many topics, takes longer than a stop may.

    Red with: a signal that is looked at after a sweep; documents that are visited twice, or left out,
    after the resume; a thread whose stop leaves the other threads' chains unfinished.
    """
    refinement = {"iterations": 10, "burn_in": 6, "sample_every": 2, "exact_sweeps": 8, "sweeps": 3}
    refinement |= more
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
        write_corpus(tmp_path / name / "corpus.txt", documents=300)
    train_here(tmp_path / "whole", threads=1, **refinement)
    looks, stops, work = [], 0, ExactLDA.sweep

    def sweep_and_stop(chain, sweeps, others, waiting):
        def look():
            looks.append(chain)
            if len(looks) > 23:
                os.kill(os.getpid(), signal.SIGUSR1)
            waiting()

        work(chain, sweeps, others, look)

    monkeypatch.setattr("pysgrld.models.lda.collapsed.LOOK", 0.0)
    monkeypatch.setattr(ExactLDA, "sweep", sweep_and_stop)
    for attempt in range(8):
        if attempt > 1 and stops:
            break  # with several threads a stop may come between two sweeps
        looks.clear()
        with pytest.raises(Interrupted):
            train_here(tmp_path / "stopped", threads=threads, **refinement)
        newest = checkpoints(tmp_path / "stopped")[0]
        visited = [load_file(newest / "state.safetensors")[f"exact.{c}.visited"] for c in range(4)]
        stops += any(0 < n < 300 for n in visited)
    assert stops
    monkeypatch.undo()
    train_here(tmp_path / "stopped", threads=2, **refinement)
    assert result(tmp_path / "stopped") == result(tmp_path / "whole")


def test_converged_training_trains_no_more_after_a_stop_at_the_refinement(tmp_path, monkeypatch):
    """Red with: training that resumes at its convergence and trains until the next sample."""
    options = {"iterations": None, "burn_in": 6, "sample_every": 2, "exact_sweeps": 4}
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
        write_corpus(tmp_path / name / "corpus.txt")
    train_here(tmp_path / "whole", **options)
    start = ExactLDA.start

    def start_and_signal(*arguments):
        start(*arguments)
        os.kill(os.getpid(), signal.SIGUSR1)

    with monkeypatch.context() as patch:
        patch.setattr(ExactLDA, "start", start_and_signal)
        with pytest.raises(Interrupted):
            train_here(tmp_path / "stopped", **options)
    train_here(tmp_path / "stopped", **options)
    assert result(tmp_path / "stopped") == result(tmp_path / "whole")


def test_a_finished_run_keeps_its_last_checkpoint_alone(tmp_path):
    """Red with: three kept after the end; a number that the user named overruled."""
    write_corpus(tmp_path / "corpus.txt")
    stopped_here(tmp_path, 22, keep=None)
    assert len(checkpoints(tmp_path)) == 3
    train_here(tmp_path, iterations=30, keep=None)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000030"]
    train_here(tmp_path, iterations=40, keep=2)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000040", "step-00000035"]
    pruned = prune(tmp_path / "run")
    assert pruned.checkpoints == 1
    assert pruned.bytes > 0
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000040"]
    train_here(tmp_path, iterations=44, keep=None)


def test_a_run_that_may_need_its_checkpoints_is_not_pruned(tmp_path):
    """Red with: an interrupted run pruned; a damaged checkpoint kept as the only one."""
    write_corpus(tmp_path / "corpus.txt")
    stopped_here(tmp_path, 22)
    assert prune(tmp_path / "run") == (0, 0)
    train_here(tmp_path, iterations=30)
    flip(checkpoints(tmp_path)[0] / "state.safetensors", 5000, 3)
    prune(tmp_path / "run")
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000025"]
