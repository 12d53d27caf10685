"""Damaged checkpoints are refused and named, and the previous one is used.

Rows 28, 29, 32, 33, 34, 38.
"""

from __future__ import annotations

import logging
import os
import random
import re
import shutil
import zipfile

import pytest
from faults_runs import (
    checkpoints,
    flip,
    opened,
    result,
    sgmc,
    sign_again,
    train_command,
    train_here,
)
from trial_counts import counts

from pysgrld.errors import CheckpointError
from pysgrld.run import verify_checkpoint
from pysgrld.run.checkpoint_read import MANIFEST, STATE, read_checkpoint, read_manifest
from pysgrld.run.tensors import DamagedError


def refused(folder, name):
    """The reader of `train` and `checkpoint verify` refuses the newest checkpoint, naming a file."""
    newest = checkpoints(folder)[0]
    with pytest.raises(DamagedError, match=name):
        read_checkpoint(newest, opened(folder).identity)
    problem = verify_checkpoint(newest).problem
    assert problem is not None
    assert re.search(name, problem)


def the_one_before_is_used(folder):
    _, second, *_ = checkpoints(folder)
    found = opened(folder).load_checkpoint(required=True)
    assert found.path == second


@pytest.mark.row(28)
@counts(4, 1)
@pytest.mark.parametrize("name", [STATE, MANIFEST])
def test_cut_at_any_length(copied, trials, name, n):
    """Every per cent of the file, and the first 64 lengths, near the header; every fourth by day.

    Size, header and digest each refuse what is cut: it is red only without all three.
    """
    path = checkpoints(copied)[0] / name
    data = path.read_bytes()
    lengths = sorted({len(data) * i // 100 for i in range(0, 100, n)} | set(range(0, 64, n)))
    for length in lengths:
        path.write_bytes(data[:length])
        refused(copied, name)
        the_one_before_is_used(copied)
        trials()


@pytest.mark.row(28)
def test_longer_than_it_was(copied, trials):
    for name in (STATE, MANIFEST):
        path = checkpoints(copied)[0] / name
        data = path.read_bytes()
        path.write_bytes(data + b"\n")
        refused(copied, name)
        path.write_bytes(data)
        trials()


@pytest.mark.row(29)
@counts(200, 10_000)
def test_no_flipped_bit_is_accepted(copied, trials, n):
    """One random bit of any file that a checkpoint vouches for: its own, metrics, samples.

    Red with: samples that are not compared with their digests; a manifest whose digest is taken of
    the parsed content only.
    """
    rng = random.Random(n)
    run, newest = opened(copied), checkpoints(copied)[0]
    own = [newest / STATE, newest / MANIFEST]
    others = [run.path / "metrics.jsonl", *(run.path / "samples").iterdir()]
    with run.lock():
        for _ in range(n):
            path = rng.choice([*own, *own, *others])
            at, bit = rng.randrange(path.stat().st_size), rng.randrange(8)
            flip(path, at, bit)
            if path in own:
                with pytest.raises(DamagedError, match=path.name):
                    read_checkpoint(newest, run.identity)
            else:
                checkpoint = read_checkpoint(newest, run.identity)
                with pytest.raises(CheckpointError, match=path.name):
                    run.rewind(checkpoint)
            flip(path, at, bit)
            trials()
        run.rewind(read_checkpoint(newest, run.identity))


@pytest.mark.row(32)
@pytest.mark.parametrize("name", [STATE, MANIFEST])
@pytest.mark.parametrize("kind", ["missing", "link", "pipe", "folder", "device"])
def test_what_is_no_regular_file_is_refused_and_does_not_block(name, kind, copied, trials):
    """Red with: links followed; pipes opened without O_NONBLOCK (it hangs)."""
    path = checkpoints(copied)[0] / name
    real = path.rename(copied / "elsewhere")
    if kind == "link":
        path.symlink_to(real)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    refused(copied, name)
    the_one_before_is_used(copied)
    trials()


@pytest.mark.row(32)
def test_a_checkpoint_that_is_a_link_is_refused(copied, trials):
    newest = checkpoints(copied)[0]
    shutil.move(newest, copied / "moved")
    newest.symlink_to(copied / "moved")
    refused(copied, "symbolic link")
    trials()


@pytest.mark.row(32)
@pytest.mark.parametrize("name", ["../state.safetensors", "/etc/passwd", "a/b", "", ".", "other"])
def test_a_manifest_that_names_another_file_is_refused(name, copied, trials):
    newest = checkpoints(copied)[0]
    entry = read_manifest(newest)["files"][STATE]
    sign_again(newest, files={name: entry, STATE: entry})
    refused(copied, "lists an unknown file")
    trials()


@pytest.mark.row(33)
@pytest.mark.parametrize("kind", ["pickle", "npz", "pt"])
def test_a_pickle_under_a_checkpoint_name_is_refused_and_not_run(kind, copied, trials):
    canary = copied / "ran"
    code = f"cos\nsystem\n(S'touch {canary}'\ntR.".encode()
    newest = checkpoints(copied)[0]
    path = newest / STATE
    if kind == "pickle":
        path.write_bytes(code)
    else:
        inside = "g.npy" if kind == "npz" else "archive/data.pkl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(inside, (b"\x93NUMPY\x01\x00" if kind == "npz" else b"") + code)
    refused(copied, STATE)
    sign_again(newest)  # as if the damaged state had been written by a run
    refused(copied, STATE)
    assert not canary.exists()
    trials()


@pytest.mark.row(33)
def test_a_pickle_in_place_of_a_sample_is_refused_and_not_run(copied, trials):
    canary = copied / "ran"
    sample = min((copied / "run" / "samples").iterdir())
    sample.write_bytes(f"cos\nsystem\n(S'touch {canary}'\ntR.".encode())
    run = opened(copied)
    with pytest.raises(CheckpointError, match=sample.name):
        run.samples.read(run.samples.steps()[0])
    assert not canary.exists()
    trials()


@pytest.mark.row(34)
def test_a_missing_state(copied, trials):
    (checkpoints(copied)[0] / STATE).unlink()
    refused(copied, STATE)
    the_one_before_is_used(copied)
    trials()


@pytest.mark.row(34)
def test_an_extra_state_is_ignored_with_a_warning(copied, trials, caplog):
    (checkpoints(copied)[0] / "state-0001-of-0002.safetensors").write_bytes(b"x")
    found = opened(copied).load_checkpoint(required=True)
    assert found.path == checkpoints(copied)[0]
    assert "ignored files that sgmc did not write: state-0001-of-0002.safetensors" in caplog.text
    trials()


@pytest.mark.row(34)
def test_exchanged_states(copied, trials):
    one, two, *_ = (path / STATE for path in checkpoints(copied))
    one.rename(copied / "x")
    two.rename(one)
    (copied / "x").rename(two)
    refused(copied, "bytes|SHA-256")
    assert opened(copied).load_checkpoint(required=True).path == checkpoints(copied)[2]
    trials()


@pytest.mark.row(34)
def test_the_state_of_another_run(copied, whole, trials, tmp_path):
    """With the manifest of its own run it is a mismatch (78), without it damage."""
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(whole / "corpus.txt", other)
    train_here(other, seed=4)
    newest = checkpoints(copied)[0]
    shutil.copy(checkpoints(other)[0] / STATE, newest / STATE)
    refused(copied, "bytes|SHA-256")
    shutil.copy(checkpoints(other)[0] / MANIFEST, newest / MANIFEST)
    done = train_command(copied, "--iterations", "45", code=78)
    assert "seed: 4 -> 3" in done.stderr
    trials()


@pytest.mark.row(28, 29)
def test_after_damage_a_run_goes_on_from_the_one_before_to_the_same_bits(copied, trials, tmp_path):
    """The damaged one is reported, set aside, and its steps are done again."""
    shutil.copy(copied / "corpus.txt", tmp_path)
    train_here(tmp_path, iterations=41)
    newest = checkpoints(copied)[0]
    flip(newest / STATE, 5000, 3)
    done = train_command(copied, "--iterations", "41")
    assert "resumes from iteration 35" in done.stderr
    assert "step-00000040/state.safetensors: SHA-256 differs" in done.stderr
    assert (newest.parent / ".corrupt-step-00000040").is_dir()
    assert result(copied) == result(tmp_path)
    trials()


@pytest.mark.row(38)
def test_all_damaged_never_begins_from_zero(copied, trials):
    """Red with: None given where no checkpoint is usable; those set aside forgotten."""
    for number, path in enumerate(checkpoints(copied)):
        flip(path / STATE, 4000 + number, 0)
    metrics = (copied / "run" / "metrics.jsonl").read_bytes()
    for _ in range(2):  # at the second start damaged checkpoints may have been set aside
        done = train_command(copied, "--iterations", "45", code=76)
        for step in (30, 35, 40):
            assert f"step-000000{step}" in done.stderr
    assert (copied / "run" / "metrics.jsonl").read_bytes() == metrics
    done = sgmc(copied, "checkpoint", "verify", "run", code=76)
    assert "good" not in done.stdout
    assert "damaged: 3 of 3 checkpoints" in done.stderr
    trials()


@pytest.mark.row(38)
def test_those_set_aside_count_as_checkpoints_that_existed(copied, trials, caplog):
    caplog.set_level(logging.ERROR)
    for path in checkpoints(copied):
        path.rename(path.with_name(f".corrupt-{path.name}"))
    with pytest.raises(CheckpointError, match="found damaged at an earlier start"):
        train_here(copied, iterations=45)
    trials()
