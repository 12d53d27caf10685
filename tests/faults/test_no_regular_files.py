"""Pipes, devices and files of absurd size in place of the files of a run or a corpus."""

import os
import shutil

import pytest

from pysgrld.errors import SgmcError

#: Exit codes of ordinary ends: success or a refusal, not an internal error and no signal.
PLAIN = {0, *(kind.exit_code for kind in SgmcError.__subclasses__())} - {SgmcError.exit_code}

#: Files that commands read, other than checkpoints.
FILES = [
    *("config.json", "vocab.txt", "status.json", "metrics.jsonl", "log.jsonl", "lock"),
    *("word-counts.npy", "samples/newest", "../latest"),
    *(
        f"corpus/{name}"
        for name in ("meta.json", "vocab.txt", "indptr.npy", "indices.npy", "counts.npy")
    ),
    *(
        f"holdout/{part}/{name}"
        for part in ("observed", "held-out")
        for name in ("meta.json", "counts.npz")
    ),
]


def pipe(path):
    os.mkfifo(path)


def device(path):
    path.symlink_to("/dev/zero")


def endless(path):
    """Create a sparse file of a terabyte, which takes no disk space."""
    path.touch()
    os.truncate(path, 1 << 40)


def large(path):
    """Create a file that would just fit into memory."""
    path.touch()
    os.truncate(path, 900 << 20)


@pytest.fixture(scope="module")
def trained(forks_of_module):
    forks = forks_of_module
    forks(*forks.train("sgmc-runs/run"))
    (forks.folder / "sgmc-runs/latest").write_text("run\n")
    shutil.copytree(forks.folder / "sgmc-runs", forks.folder / "safe")
    return forks


COMMANDS = [["topics"], ["eval"], ["diagnose"], ["train"]]
KINDS = [pipe, device, endless, large]
#: Every file is a pipe by day, and of one other kind.
BY_DAY = [(name, kind, 1) for i, name in enumerate(FILES) for kind in (pipe, KINDS[1 + i % 3])]


@pytest.mark.row(80)
@pytest.mark.parametrize(
    ("name", "kind", "commands"),
    [
        *BY_DAY,
        *(
            pytest.param(name, kind, 4, marks=pytest.mark.nightly)
            for name in FILES
            for kind in KINDS
        ),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_no_command_waits_for_what_is_no_file(name, kind, commands, trained, trials):
    """Red with: a file of a run or a corpus opened by its name alone; samples hashed to their end."""
    forks = trained
    root = forks.folder / "sgmc-runs"
    shutil.rmtree(root)
    shutil.copytree(forks.folder / "safe", root)
    path = max((root / "run/samples").iterdir()) if "newest" in name else root / "run" / name
    path.unlink()
    kind(path)
    first = FILES.index(name)
    for i in range(first, first + commands):
        args = COMMANDS[i % 4]
        if args == ["train"]:
            args = forks.train("sgmc-runs/run", "--iterations", "70")
        child = forks.start(*args)
        assert child.wait() in PLAIN, (args, child.stderr)
        trials()
