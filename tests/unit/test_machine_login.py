"""The warning for those who start on a login node."""

import pytest

from pysgrld.run.machine import Threads, login_node


@pytest.fixture
def path(tmp_path):
    (tmp_path / "sbatch").write_text("#!/bin/sh\n")
    (tmp_path / "sbatch").chmod(0o755)
    return str(tmp_path)


def test_many_threads_taken_unasked_beside_a_batch_system_are_warned_of(path):
    line = login_node(Threads(64, "CPU affinity"), {"PATH": path})
    assert "--threads" in line
    assert "sbatch" in line


@pytest.mark.parametrize(
    ("count", "environment"),
    [
        (Threads(8, "CPU affinity"), {}),
        (Threads(64, "--threads"), {}),
        (Threads(64, "OMP_NUM_THREADS"), {}),
        (Threads(64, "CPU affinity"), {"SLURM_JOB_ID": "7"}),
        (Threads(64, "CPU affinity"), {"PATH": "/nowhere"}),
    ],
)
def test_nobody_else_is_warned(path, count, environment):
    assert login_node(count, {"PATH": path, **environment}) is None
