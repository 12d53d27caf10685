"""Limits of the machine, unusual environments, and NaN or infinite numbers. Rows 60, 61, 62."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from faults_runs import (
    SGMC,
    checkpoints,
    command_line,
    opened,
    result,
    sgmc,
    train_command,
    train_here,
    write_corpus,
)

from pysgrld import cli
from pysgrld.chain.blocks import BlockChain
from pysgrld.run.files import digest_of
from pysgrld.run.jsonio import read_lines
from pysgrld.run.tensors import load


@pytest.fixture
def folder(whole, tmp_path):
    """A folder with only the corpus."""
    shutil.copy(whole / "corpus.txt", tmp_path)
    return tmp_path


# ---- row 60


def limited(limit, value):
    """Return a function for ``preexec_fn`` that lowers a limit of the new process."""
    return lambda: resource.setrlimit(limit, (value, value))


@pytest.mark.row(60)
def test_thirty_two_descriptors_are_enough(folder, whole, trials):
    """Red with: descriptors of corpora or samples that are never closed."""
    few = limited(resource.RLIMIT_NOFILE, 32)
    sgmc(folder, "train", "corpus.txt", *command_line(), "--out", "run", preexec_fn=few)
    assert result(folder) == result(whole)
    for command in ("eval", "checkpoint verify"):
        sgmc(folder, *command.split(), "run", preexec_fn=few)
    trials()


@pytest.mark.row(60)
def test_too_few_descriptors_are_named(folder, trials):
    done = subprocess.run(
        [SGMC, "train", "corpus.txt", "--out", "run"],
        cwd=folder,
        text=True,
        check=False,
        capture_output=True,
        preexec_fn=limited(resource.RLIMIT_NOFILE, 7),
    )
    assert done.returncode != 0
    assert "Too many open files" in done.stderr
    trials()


@pytest.mark.row(60)
def test_a_stack_of_256_kilobytes_is_enough(folder, whole, trials):
    small = limited(resource.RLIMIT_STACK, 256 << 10)
    arguments = ["corpus.txt", *command_line(threads=2), "--out", "run"]
    sgmc(folder, "train", *arguments, preexec_fn=small)
    assert result(folder) == result(whole)
    trials()


#: Trains as a user without privileges, who may have so many processes. Modules come first: that user
#: may not be allowed to read them.
UNPRIVILEGED = """
import codecs, importlib, os, pkgutil, resource, sys
codecs.lookup("cp437")  # of names in archives: a codec is a module too
import pysgrld, pysgrld.cli
for module in pkgutil.walk_packages(pysgrld.__path__, "pysgrld."):
    importlib.import_module(module.name)
most = int(sys.argv.pop(1))
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
pysgrld.cli.main(prog_name="sgmc")
"""


@pytest.mark.row(60)
@pytest.mark.parametrize("processes", [1, pytest.param(8, marks=pytest.mark.nightly)])
def test_fewer_processes_than_threads_that_were_asked_for(processes, folder, whole, trials):
    """It says so and takes what there is: the bits are the same for any number.

    Red with: threads that OpenMP is asked for without a trial (it ends the process, code 1).
    """
    if os.getuid() != 0:
        pytest.skip("only root can become a user whose processes are counted")
    for path in (folder, *folder.parents):
        path.chmod(path.stat().st_mode | 0o111) if path.owner() == "root" else None
    folder.chmod(0o777)
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            UNPRIVILEGED,
            str(processes),
            "train",
            "corpus.txt",
            *command_line(threads=16),
            "--out",
            "run",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "(--threads 16, reduced by a limit on processes or memory)" in done.stderr
    assert result(folder) == result(whole)
    trials()


# ---- row 61


@pytest.fixture
def turkish(tmp_path):
    """A folder with a text whose letters change case differently in Turkish."""
    rng = random.Random(0)
    words = ["İstanbul", "ışık", "IŞIK", "straße", "iğne", "TITLE", "naïve", "日本語"]
    lines = [" ".join(rng.choices(words, k=9)) for _ in range(40)]
    (tmp_path / "corpus.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.row(61)
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"LC_ALL": "C"}, marks=pytest.mark.nightly),  # as the last one
        pytest.param(
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            marks=pytest.mark.nightly,
        ),
        {"LC_ALL": "tr_TR.UTF-8", "HOME": None, "LANG": None, "PATH": None},
        pytest.param({"LC_ALL": "tr_TR.UTF-8"}, marks=pytest.mark.nightly),
        pytest.param({"PYTHONIOENCODING": "latin-1"}, marks=pytest.mark.nightly),
        pytest.param({"HOME": None, "LANG": None, "PATH": None}, marks=pytest.mark.nightly),
    ],
    ids=str,
)
def test_surroundings_change_nothing(environment, turkish, trials):
    """The same words, the same bits, and topics can be shown on any terminal.

    Red with: words in an encoding that the terminal has no letters for (a traceback).
    """
    options = {"max_df": 1.0, "holdout": 5}
    expected = turkish / "expected"
    expected.mkdir()
    shutil.copy(turkish / "corpus.txt", expected)
    train_here(expected, **options)
    variables = os.environ | environment
    variables = {name: value for name, value in variables.items() if value is not None}
    arguments = ["train", "corpus.txt", *command_line(**options), "--out", "run"]
    sgmc(turkish, *arguments, env=variables, errors="replace")  # whatever it is encoded in
    ours, theirs = (where / "run" / "vocab.txt" for where in (turkish, expected))
    assert ours.read_bytes() == theirs.read_bytes()
    assert result(turkish) == result(expected)
    if "PYTHONIOENCODING" in environment:
        done = subprocess.run(
            [SGMC, "topics", "run"], cwd=turkish, env=variables, check=True, capture_output=True
        )
        assert rb"\u65e5\u672c" in done.stdout
    else:
        assert "日本" in sgmc(turkish, "topics", "run", env=variables, encoding="utf-8").stdout
    trials()


@pytest.mark.row(61)
@pytest.mark.parametrize(
    "closed",
    # the last closes each of the first two as well
    [*(pytest.param(c, marks=pytest.mark.nightly) for c in ((0,), (1,))), (2,), (0, 1, 2)],
    ids=str,
)
def test_closed_streams(closed, folder, whole, trials):
    """No file of the run may land on the number of a stream and be written to as one.

    Red with: an error message that cannot be written and becomes a traceback.
    """

    def close():
        for number in closed:
            os.close(number)

    arguments = [SGMC, "train", "corpus.txt", *command_line(), "--out", "run"]
    done = subprocess.run(arguments, cwd=folder, check=False, preexec_fn=close)
    assert done.returncode == 0
    assert result(folder) == result(whole)
    for path in (folder / "run").rglob("*.jsonl"):
        assert path.read_bytes().startswith(b"{")
    trials()


@pytest.mark.row(61)
def test_a_reader_who_leaves_and_a_full_disk_behind_standard_output(copied, trials):
    """EPIPE ends quietly; a full device is 74 in one line; neither stops a training.

    Red with: lines that wait in standard error, for which the interpreter ends with 120.
    """
    line = f"'{SGMC}' topics run --top 1000 | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=copied, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 141)
    assert done.stderr == ""
    with open("/dev/full", "w") as full:
        done = sgmc(copied, "topics", "run", stdout=full, code=74)
        assert done.stderr.count("\n") == 1
        arguments = ["train", "corpus.txt", *command_line(iterations=50), "--out", "run"]
        buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
        sgmc(copied, *arguments, stdout=full, stderr=full, env=buffered)
    assert checkpoints(copied)[0].name == "step-00000050"
    with subprocess.Popen(
        [SGMC, "train", "corpus.txt", *command_line(iterations=60), "--out", "run"],
        cwd=copied,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        process.stderr.close()
        assert process.wait(60) == 0
    assert checkpoints(copied)[0].name == "step-00000060"
    trials(4)


# ---- row 62


@pytest.mark.row(62)
@pytest.mark.parametrize(
    ("step", "good"), [(22, 20), (24, 20), (40, 35)], ids=["loop", "sample", "end"]
)
def test_numbers_that_are_none_end_it_with_86(step, good, folder, whole, trials, monkeypatch):
    """NaN or infinity forced in g, in mid-run, at a sample, or before the last checkpoint.

    The state is saved and named, the last good checkpoint kept and gone on from.

    Red with: no state saved; a sample with NaN that is no numerical failure (70); a failure in the
    last checkpoint that is not recorded.
    """
    advance = BlockChain.advance

    def poisoned(self, batch=None):
        state = self.states["phi"]
        move = state.step

        def then_poison(*arguments):
            move(*arguments)
            state.g[3, 2] = np.inf if step == 24 else np.nan
            if step == 22:  # as a step of the kernel would leave it
                state.sums[2] = np.nan

        if self.step == step - 1:
            state.step = then_poison
        return advance(self, batch)

    monkeypatch.chdir(folder)
    with monkeypatch.context() as patch:
        patch.setattr(BlockChain, "advance", poisoned)
        arguments = ["train", "corpus.txt", *command_line(checkpoint_every=5), "--out", "run"]
        done = CliRunner().invoke(cli.main, arguments, prog_name="sgmc")
    assert done.exit_code == 86, done.output
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("sgmc: error:")]
    (saved,) = (folder / "run").glob("failed-step-*.safetensors")
    assert f"the state is saved in run/{saved.name}" in said
    assert f"last good checkpoint: step-{good:08d}" in said
    arrays = dict(load(saved, digest_of(saved)))
    assert not np.isfinite(arrays["phi.g"]).all()
    assert opened(folder).status["state"] == "failed"
    assert opened(folder).status["error"] in said
    assert read_lines(opened(folder).path / "log.jsonl")[-1]["event"] == "failed"
    lines = train_here(folder)
    assert any(f"resumes from iteration {good}" in line for line in lines)
    assert result(folder) == result(whole)
    trials()


@pytest.mark.row(62)
def test_a_step_size_that_explodes_is_86_too(tmp_path, trials):
    """Through the command, with nothing forced."""
    write_corpus(tmp_path / "corpus.txt")
    done = train_command(
        tmp_path, "--algo", "sgrld", "--step-size", "1000000,1,0", warm_up=0, code=86
    )
    assert "use a smaller --step-size" in done.stderr
    assert "the state is saved in run/failed-step-" in done.stderr
    trials()
