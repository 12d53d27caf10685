"""What launchers say, when a launch is refused, and the watch over ranks that wait."""

import sys
import time

import pytest
from click.testing import CliRunner

from pysgrld.chain import watch
from pysgrld.chain.communicator import Launch, check_launch, launch, refuse_launch
from pysgrld.chain.watch import Watch
from pysgrld.cli import main
from pysgrld.errors import LaunchError, UsageError
from pysgrld.models.options import check_shared


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, (0, 1)),
        ({"PMI_RANK": "3", "PMI_SIZE": "4"}, (3, 4)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMI_SIZE": "9"}, (1, 2)),
        ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "3"}, (2, 3)),
        # mpiexec in a step of SLURM: the nearer one counts
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "SLURM_STEP_NUM_TASKS": "1"}, (1, 2)),
        ({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "8"}, (0, 1)),  # a batch script, without srun
        ({"PMI_SIZE": "many"}, (0, 1)),
    ],
)
def test_the_place_in_a_launch_is_the_launchers(environment, found):
    assert launch(environment) == found


def test_one_of_several_processes_without_mpi_is_refused():
    """Red with: the check left out (all processes train one run, and all but one end with 75)."""
    refuse_launch(Launch(0, 1))
    with pytest.raises(UsageError, match="4 MPI processes run the same command; give --mpi"):
        refuse_launch(Launch(2, 4))


def test_a_library_that_sees_fewer_processes_is_refused():
    check_launch(Launch(1, 4), 4, "MPICH 5")
    with pytest.raises(
        LaunchError, match=r"started 4 processes, but the MPI library \(MPICH 5\) sees 1"
    ):
        check_launch(Launch(1, 4), 1, "MPICH 5")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"algo": "cgs"}, "--algo cgs draws the topics of all tokens one after the other"),
        ({"model": "dpmm"}, "--model dpmm is trained by a single process"),
        ({"model": "sam"}, "--model sam is trained by a single process"),
        ({"corpus-size": 100}, "build the corpus first"),
    ],
)
def test_what_ranks_cannot_share_is_refused(options, said):
    with pytest.raises(UsageError, match=f"^--mpi: .*{said}"):
        check_shared(options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"algo": "ovb"},
        {"layers": (8, 4)},
        {"algo": "sgrld"},
        {"algo": "gibbs"},
        {"keep-documents": "on"},
    ],
)
def test_what_ranks_share_is_not(options):
    check_shared(options)


def test_without_mpi4py_a_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.delitem(sys.modules, "pysgrld.chain.mpi", raising=False)
    done = CliRunner().invoke(main, ["train", "--mpi", "corpus.txt"])
    assert done.exit_code == 64
    assert "pip install mpi4py; if" in done.stderr


def test_a_timeout_of_ranks_without_ranks_is_refused():
    done = CliRunner().invoke(main, ["train", "--set", "rank-timeout=3m", "corpus.txt"])
    assert done.exit_code == 2
    assert "requires --mpi" in done.stderr


def test_a_watch_ends_a_process_that_waits_for_too_long_and_no_other(monkeypatch):
    """Red with: a watch that counts from when it was made."""
    monkeypatch.setattr(watch, "LOOK", 0.01)
    monkeypatch.setattr(watch, "SAY", 0.05)
    said, ended = [], []
    looks = Watch("rank 1 on n2", 0.3, said.append, ended.append)
    time.sleep(0.5)  # it works, and waits for nobody
    assert not said
    assert not ended
    began = time.monotonic()
    with looks.waiting():
        while not ended and time.monotonic() < began + 200:
            time.sleep(0.01)
    assert ended == [70]
    assert "rank 1 on n2 has waited" in said[0]
    assert "--set rank-timeout" in said[-1]
    assert looks.seconds > 0.3
