"""When the batch system ends a job, as older releases of SLURM are asked for it."""

import time

import pytest

from pysgrld.run.machine import boot_clock, job_end


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """Put a program of that name first in the path, which prints what is given."""

    def put(text):
        program = tmp_path / "squeue"
        program.write_text(
            f'#!/bin/sh\n[ "$*" = "--noheader --jobs 12 --format %L" ] && echo "{text}"\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return put


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("0:09", 9),
        ("12:34", 754),
        ("3:00:01", 10801),
        ("2-03:04:05", 183845),
        ("UNLIMITED", None),
        ("INVALID", None),
        ("", None),
        ("-5:00", None),
    ],
)
def test_the_time_that_is_left_is_read(said, seconds, squeue):
    """Red with: minutes and seconds read as hours and minutes."""
    squeue(said)
    end = job_end({"SLURM_JOB_ID": "12"})
    if seconds is None:
        assert end is None
    else:
        assert end == pytest.approx(boot_clock() + seconds, abs=5)


@pytest.mark.parametrize("job", ["", "12; touch bad", "-1", "x"])
def test_what_is_no_number_of_a_job_is_not_asked_for(job, squeue):
    squeue("1:00")
    assert job_end({"SLURM_JOB_ID": job}) is None


def test_without_squeue_nothing_is_known(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert job_end({"SLURM_JOB_ID": "12"}) is None


def test_the_clock_goes_where_no_clock_since_boot_has_a_name(monkeypatch):
    """As on macOS. Red with: CLOCK_BOOTTIME asked for anywhere."""
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    before = boot_clock()
    assert before <= boot_clock()
