"""Scripts of ``sgmc slurm`` under a real SLURM: requeued, cancelled, and with a time limit.

Skipped where SLURM or the rights to start it are missing; continuous integration installs it.
"""

import hashlib
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from faults.slurm import PROGRAMS, Cluster
from trial_counts import counts

from pysgrld.run import list_checkpoints

missing = [name for name in PROGRAMS if not shutil.which(name)]
pytestmark = [
    pytest.mark.skipif(bool(missing), reason=f"no {', '.join(missing)} here (Debian: slurmctld)"),
    pytest.mark.skipif(os.geteuid() != 0, reason="a private SLURM is started by root"),
]

DATA = Path(__file__).parents[2] / "data"
SGMC = str(Path(sys.executable).with_name("sgmc"))
#: A run of some seconds.
OPTIONS = [
    *("-k", "8", "--minibatch", "100", "--sweeps", "4"),
    *("--set", "warm-up=20", "--set", "sample-every=5"),
    *("--set", "starts=1"),
]


@pytest.fixture(scope="module")
def cluster():
    found = Cluster()
    try:
        found.up()
        yield found
    finally:
        found.down()


@pytest.fixture(scope="module")
def corpus(cluster, tmp_path_factory):
    built = tmp_path_factory.mktemp("corpus") / "built"
    sgmc(cluster, "corpus", "build", str(DATA / "docword.bible.txt.gz"), "-o", str(built))
    return built


@pytest.fixture
def limited(cluster, corpus, tmp_path_factory):
    """A job that ends by its time limit, which in SLURM is at least a minute."""
    folder = tmp_path_factory.mktemp("limited")
    train = ["train", str(corpus), *OPTIONS, "--iterations", "1000000", "--out", "run"]
    words = [SGMC, *train, "--time-limit", "auto"]
    (folder / "job.sh").write_text(f"#!/bin/bash\nsrun {shlex.join(words)}\n")
    return cluster("sbatch", "--parsable", "--time=1", "job.sh", cwd=folder), folder


def sgmc(cluster, *args, cwd=None):
    return cluster(SGMC, *args, cwd=cwd)


def submit(cluster, folder, *options, train):
    """Write a script and submit it; return the job's number."""
    sgmc(cluster, "slurm", "-o", "job.sh", *options, "--", *train, cwd=folder)
    return cluster("sbatch", "--parsable", "job.sh", cwd=folder)


def newest(run):
    """Return the iteration of a run's latest checkpoint, or 0."""
    if not (run / "config.json").exists():
        return 0
    return max((each.step for each in list_checkpoints(run)), default=0)


def waiting(state, restarts):
    """Return True if a job is in the queue again, for the given time."""
    return (state["JobState"], state["Restarts"]) == ("PENDING", restarts)


def digests(run):
    """Return digests of a finished run's last state and of its samples."""
    states = sorted(run.glob("checkpoints/*/state.safetensors"))[-1:]
    files = states + sorted(run.glob("samples/*.safetensors"))
    assert len(files) > 2
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


@pytest.mark.nightly
@pytest.mark.row(14)
@pytest.mark.timeout(240)
@counts(1, 2)
def test_an_array_that_is_stopped_ends_as_one_that_nobody_stopped(
    cluster, corpus, tmp_path, trials, n
):
    """Red with: a shell that gets the signal instead of sgmc; the element's number not requeued."""
    train = [
        "train",
        str(corpus),
        *OPTIONS,
        "--iterations",
        str(2000 * n),
        "--checkpoint-every",
        "200",
    ]
    train += ["--chain-id", "{i}", "--out", "chain-{i}"]
    job = submit(cluster, tmp_path, "--time", "1h", "--array", "2", train=train)
    elements = {f"{job}_{i}": tmp_path / f"chain-{i}" for i in (1, 2)}
    reached = dict.fromkeys(elements, 0)
    for restart in map(str, range(1, n + 1)):
        for element, run in elements.items():
            cluster.wait(lambda r=run, n=reached[element]: newest(r) > n)
            cluster("scancel", "--signal=USR1", element)  # as before the time limit: to the step
        for element in elements:
            cluster.wait(lambda e=element, n=restart: waiting(cluster.state(e), n))
            cluster("scontrol", "update", f"JobId={element}", "StartTime=now+3")  # not two minutes
        reached = {element: newest(run) for element, run in elements.items()}
        assert max(reached.values()) < 2000 * n
    for element in elements:
        cluster.wait(lambda e=element: cluster.state(e)["JobState"] == "COMPLETED", 120)
    alone = [word.replace("{i}", "1") for word in train]
    sgmc(cluster, *alone[:-1], "alone", cwd=tmp_path)
    assert digests(tmp_path / "chain-1") == digests(tmp_path / "alone")
    assert digests(tmp_path / "chain-2") != digests(tmp_path / "alone")
    trials(2 * n)


@pytest.mark.row(14)
def test_ranks_that_end_one_after_the_other_go_back_into_the_queue(cluster, tmp_path, trials):
    """Ranks end with 85 half a second apart. Red with: ``--kill-on-bad-exit=1`` (143, and no requeue)."""
    rank = tmp_path / "sgmc"
    rank.write_text('#!/bin/bash\n[ "$SLURM_PROCID" = 0 ] || sleep 0.5\nexit 85\n')
    rank.chmod(0o755)
    (tmp_path / "setup").write_text(f"export PATH={shlex.quote(str(tmp_path))}:$PATH\n")
    nodes = ("--time", "1h", "--nodes", "2", "--setup", "setup")
    job = submit(cluster, tmp_path, *nodes, train=["train", "--mpi", "built", "--out", "run"])
    cluster.wait(lambda: cluster.state(job)["Restarts"] == "1")
    cluster("scancel", job)
    trials()


@pytest.mark.row(14)
@pytest.mark.nightly
@pytest.mark.timeout(240)
def test_ranks_on_two_nodes_that_are_stopped_end_as_one_process_that_nobody_stopped(
    cluster, corpus, tmp_path, trials
):
    """The script of ``sgmc slurm --nodes 2``. Red with: ``--mpi`` of srun left out (single processes)."""
    pytest.importorskip("mpi4py")
    train = ["train", str(corpus), *OPTIONS, "--iterations", "400", "--checkpoint-every", "100"]
    nodes = ("--time", "1h", "--nodes", "2")
    job = submit(cluster, tmp_path, *nodes, train=[*train, "--mpi", "--out", "run"])
    run = tmp_path / "run"
    cluster.wait((run / "checkpoints" / "step-00000100").exists, 120)
    cluster("scancel", "--signal=USR1", job)
    cluster.wait(lambda: waiting(cluster.state(job), "1"), 120)
    stopped = newest(run)
    assert 0 < stopped < 400
    # the steps of both nodes have ended before the next one begins
    cluster("scontrol", "update", f"JobId={job}", "StartTime=now+8")
    cluster.wait(lambda: cluster.state(job)["JobState"] == "COMPLETED", 180)
    sgmc(cluster, *train, "--out", "alone", cwd=tmp_path)
    assert digests(run) == digests(tmp_path / "alone")
    trials()


@pytest.mark.row(14)
@pytest.mark.nightly
@pytest.mark.timeout(400)
def test_the_scripts_of_a_plan_run_from_texts_to_proportions(cluster, tmp_path, trials):
    """Shards, merge, ranks, inference in parts. Red with: a step that does not find the one before."""
    pytest.importorskip("mpi4py")
    words = [a + b for a in ("rain", "gold", "tree") for b in ("ing", "er", "ly", "ness", "ful")]
    for i in range(3):
        rows = [
            " ".join(
                words[5 * (r % 3) + (r * r + i * j + j * j) % 5] + "abcdefg"[(r + j) % 7]
                for j in range(9)
            )
            for r in range(400)
        ]
        (tmp_path / f"part-{i}.txt").write_text("\n".join(rows) + "\n")
    shown = sgmc(
        cluster,
        *("plan", "part-0.txt", "--documents", "1200", "-k", "3", "--minibatch", "200", "-q"),
        cwd=tmp_path,
    )
    build, *steps = [line for line in shown.splitlines() if line.startswith("sgmc ")]
    sgmc(cluster, *shlex.split(build)[1:], cwd=tmp_path)
    for step in steps:
        step = step.replace("FILES", "part-0.txt part-1.txt part-2.txt")
        if " train " in step:
            step = step.replace("-- train", "--nodes 2 -- train --mpi") + " --iterations 300"
        # The nodes of this cluster are small.
        words = [word for word in shlex.split(step)[1:] if not word.endswith("G")]
        words = [word for word in words if word != "--mem"]
        words = ["2" if word == "1" and "--array" in words else word for word in words]
        sgmc(cluster, *words, cwd=tmp_path)
        job = cluster("sbatch", "--parsable", words[words.index("-o") + 1], cwd=tmp_path)
        done = [f"{job}_{i}" for i in (1, 2)] if "--array" in words else [job]
        for element in done:
            cluster.wait(
                lambda e=element: cluster.state(e)["JobState"] not in ("PENDING", "RUNNING")
            )
            assert cluster.state(element)["JobState"] == "COMPLETED", (step, element)
    assert "theta/: 1,200 documents" in "".join(
        file.read_text() for file in sorted(tmp_path.glob("*.out"))
    )
    trials()


@pytest.mark.row(14)
def test_a_cancelled_job_has_a_checkpoint_and_does_not_come_back(cluster, corpus, tmp_path, trials):
    """Red with: a shell that traps SIGTERM and asks for a requeue on 85."""
    train = ["train", str(corpus), *OPTIONS, "--iterations", "1000000", "--eval-every", "50"]
    train += ["--out", "run"]
    job = submit(cluster, tmp_path, "--time", "1h", train=train)
    metrics = tmp_path / "run" / "metrics.jsonl"
    cluster.wait(lambda: metrics.exists() and metrics.stat().st_size > 0)
    cluster("scancel", job)
    cluster.wait(lambda: cluster.state(job)["JobState"] == "CANCELLED")
    cluster.wait(lambda: "interrupted" in (tmp_path / "run" / "status.json").read_text())
    assert cluster.state(job)["Restarts"] == "0"
    assert list((tmp_path / "run" / "checkpoints").iterdir())
    trials(1)


@pytest.mark.row(14)
@pytest.mark.nightly
@pytest.mark.timeout(240)
def test_the_time_limit_of_a_job_is_found(cluster, limited, trials):
    """With a real one; tests/unit/test_batch.py has what SLURM says of it.

    Red with: the variable alone, which older releases of SLURM do not set.
    """
    job, folder = limited
    cluster.wait(lambda: cluster.state(job)["JobState"] not in ("PENDING", "RUNNING"), 120)
    assert cluster.state(job)["ExitCode"] == "85:0"
    assert "time limit" in (folder / f"slurm-{job}.out").read_text()
    trials(1)
