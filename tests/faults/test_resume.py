"""Resuming: with which options, from which state, and never with a different configuration.

Rows 37, 39 to 41, 43, 44.
"""

from __future__ import annotations

import json
import shutil
import time
from itertools import product

import pytest
from faults_runs import (
    OPTIONS,
    Silent,
    checkpoints,
    opened,
    result,
    stop_at,
    stopped_here,
    train_command,
    train_here,
    write_corpus,
)
from safetensors.numpy import load_file

from pysgrld.errors import CheckpointError, Interrupted, MismatchError
from pysgrld.models.choices import Choices
from pysgrld.run import packing
from pysgrld.run.files import digest_of
from pysgrld.run.tensors import load
from pysgrld.train.request import Request
from pysgrld.train.start import train

# ---- row 37


@pytest.mark.row(37)
@pytest.mark.parametrize("schema", [1, 3, "2", None])
def test_a_run_of_another_format_is_refused_and_left_alone(schema, copied, trials):
    """Red with: a format that is not looked at; a run that is taken for a damaged one."""
    path = copied / "run" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": schema}))
    before = result(copied)
    done = train_command(copied, code=76)
    assert f"config.json: the run has format {schema!r}, written by sgmc " in done.stderr
    assert "this sgmc reads format 2; use the sgmc that wrote it" in done.stderr
    assert result(copied) == before
    trials()


@pytest.mark.row(37)
def test_a_run_that_was_told_to_reflect_is_another_than_one_by_default(tmp_path, trials):
    """Red with: a boundary that is left out of the configuration."""
    write_corpus(tmp_path / "corpus.txt")
    deep = {"algo": "tlasgr", "starts": None}
    stopped_here(tmp_path, 20, boundary="reflect", **deep)
    with pytest.raises(MismatchError, match="boundary: reflect -> clip"):
        train_here(tmp_path, **deep)
    trials()


# ---- rows 39 and 40


@pytest.mark.row(39)
@pytest.mark.parametrize(
    ("option", "value", "difference"),
    [
        ("topics", "5", "topics: 4 -> 5"),
        ("max-vocab", "20", "corpus: "),
        ("algo", "sgrld", "algo: scir -> sgrld"),
        ("seed", "7", "seed: 3 -> 7"),
        ("eta", "0.2", "eta: 0.05 -> 0.2"),
    ],
)
def test_another_configuration_is_refused_with_the_difference(
    option, value, difference, copied, trials
):
    before = result(copied)
    done = train_command(copied, f"--{option}", value, code=78)
    lines = [line for line in done.stderr.splitlines() if line.startswith("  ")]
    assert any(line.startswith(f"  {difference}") for line in lines)
    assert result(copied) == before
    trials()


@pytest.mark.row(40)
@pytest.mark.parametrize("change", ["append a line", "exchange two lines", "touch"])
def test_another_corpus_is_refused_and_another_time_is_not(change, copied, trials):
    """Red with: lengths of files alone compared."""
    path = copied / "corpus.txt"
    lines = path.read_text().splitlines(keepends=True)
    if change == "append a line":
        path.write_text("".join([*lines, "reda redb redc\n"]))
    elif change == "exchange two lines":
        lines[3], lines[4] = lines[4], lines[3]
        path.write_text("".join(lines))
    time.sleep(0.01)
    path.touch()
    done = train_command(copied, "--iterations", "41", code=0 if change == "touch" else 78)
    assert ("resumes from iteration 40" if change == "touch" else "  corpus: ") in done.stderr
    trials()


# ---- row 41


@pytest.mark.row(41)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        *((1, 3), (3, 1)),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in product((1, 2, 3), repeat=2)
            if case not in ((1, 3), (3, 1))
        ),
    ],
)
def test_threads_may_change_at_a_start(first, second, whole, tmp_path, trials):
    """State and samples are the same bytes. Red with: a random number keyed by thread."""
    shutil.copy(whole / "corpus.txt", tmp_path)
    stopped_here(tmp_path, 17, threads=first)
    lines = train_here(tmp_path, threads=second)
    assert any("resumes from iteration 17" in line for line in lines)
    assert result(tmp_path) == result(whole)
    trials()


# ---- row 43


@pytest.mark.row(43)
@pytest.mark.parametrize("edit", ["number", "line less", "nothing left", "missing"])
def test_metrics_that_were_edited_are_named(edit, copied, trials):
    """Red with: rows cut to a length without their digest."""
    path = copied / "run" / "metrics.jsonl"
    text = path.read_bytes()
    if edit == "number":
        path.write_bytes(text.replace(b'"iteration": 20', b'"iteration": 21'))
    elif edit == "line less":
        path.write_bytes(text[text.index(b"\n") + 1 :])
    elif edit == "nothing left":
        path.write_bytes(b"")
    else:
        path.unlink()
    done = train_command(copied, "--iterations", "45", code=76)
    assert "run/metrics.jsonl: " in done.stderr
    path.write_bytes(text)  # restored, as the message says
    train_command(copied, "--iterations", "45")
    trials()


@pytest.mark.row(43)
def test_lines_appended_by_a_person_are_cut_and_the_log_is_never_looked_at(copied, trials):
    run = copied / "run"
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 99}\nmy own note\n')
    (run / "log.jsonl").write_text("my own note\n")
    train_here(copied, iterations=45)
    assert [line["iteration"] for line in opened(copied).read_metrics()] == [10, 20, 30, 40, 45]
    trials()


@pytest.mark.row(43)
def test_a_sample_that_was_edited_is_named(copied, trials):
    path = max((copied / "run" / "samples").iterdir())
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(CheckpointError, match=f"{path.name}: was changed since"):
        train_here(copied, iterations=45)
    trials()


# ---- row 44


def jump(monkeypatch, hours):
    """Shift the clock of the day by the given number of hours from now on."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600 * hours)


@pytest.mark.row(44)
@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_is_set_moves_no_limit(hours, whole, tmp_path, trials, monkeypatch):
    """Neither the limit given nor SLURM's, read as a date when the process starts.

    Red with: time.time for CLOCK_BOOTTIME: set forward it ends at once, set back it never ends.
    """
    shutil.copy(whole / "corpus.txt", tmp_path)
    monkeypatch.setenv("SLURM_JOB_END_TIME", str(time.time() + 1000))
    train_here(
        tmp_path,
        lambda step: jump(monkeypatch, hours) if step == 5 else None,
        time_limit=_so_far() + 900.0,
    )
    assert result(tmp_path) == result(whole)
    monkeypatch.undo()
    given = OPTIONS | {"iterations": 10**9, "time-limit": _so_far() + 1.5}
    reporter = Silent(lambda step: jump(monkeypatch, hours) if step == 5 else None)
    with pytest.raises(Interrupted, match="time limit"):
        train(
            Request([str(tmp_path / "corpus.txt")], Choices(given | {"out": str(tmp_path / "b")})),
            reporter,
        )
    trials(2)


def _so_far():
    """Return the seconds since this process started, from which limits count."""
    from pysgrld.run import boot_clock, process_start

    return boot_clock() - process_start()


@pytest.mark.row(41)
def test_stop_at_stops(whole, tmp_path):
    """The tests above mean what they say: it is stopped where it is told."""
    shutil.copy(whole / "corpus.txt", tmp_path)
    with pytest.raises(Interrupted, match="SIGUSR1: stopped after iteration 17"):
        train_here(tmp_path, stop_at(17))


@pytest.mark.row(41)
def test_compressed_arrays_resume_with_the_same_bits(tmp_path, trials, monkeypatch):
    """In training and in Gibbs refinement. Red with: blocks unpacked in another order."""
    states = {}
    for name, least in (("plain", packing.LEAST), ("compressed", 1)):
        monkeypatch.setattr(packing, "LEAST", least)
        folder = tmp_path / name
        folder.mkdir()
        write_corpus(folder / "corpus.txt", documents=400)
        for step in (15, 15) if least == 1 else ():  # an iteration, then a sweep
            stopped_here(folder, step, exact_sweeps=20, holdout=50)
        train_here(folder, exact_sweeps=20, holdout=50)
        newest = checkpoints(folder)[0]
        files = [newest / "state.safetensors", newest / "training.safetensors"]
        states[name] = {n: a.tobytes() for f in files for n, a in load(f, digest_of(f)).items()}
        stored = {n: a for f in files for n, a in load_file(f).items()}
        assert (stored["exact.posterior.sum.phi"].dtype == "uint8") == (least == 1)
    assert states["plain"] == states["compressed"]
    trials()
