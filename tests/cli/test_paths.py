"""Paths that cannot be looked up, and paths of a wrong kind, for every option that takes a path."""

import importlib
import os
import re
import shutil
import signal
import subprocess
from typing import NamedTuple

import click
import fork_server
import numpy as np
import pytest

from pysgrld.cli import COMMANDS

from .conftest import SGMC, Sgmc

pytestmark = pytest.mark.cli

#: Words that help uses for a path, or for a list that may have one; and words for everything else.
PATHS = {"FILE", "DIR", "PATH", "CORPUS", "RUN", "LIST", "ARGS"}
OTHERS = {
    *(
        "COLUMN",
        "COMMAND",
        "EXPERIMENT",
        "FORMAT",
        "FORMULA",
        "ID",
        "ORDER",
        "HOW",
        "KIND",
        "LANGUAGE",
        "LINE",
        "NAME",
        "TITLE",
    ),
    *("NOUNS", "GAMMA", "VALUE", "REGEX", "SHARE", "SIZE", "TEXT", "TIME", "WORD"),
}


class Use(NamedTuple):
    """A place on a command line that takes a path."""

    command: tuple[str, ...]
    option: str

    def __str__(self):
        return " ".join((*self.command, self.option))


def uses():
    """List all options and arguments of all commands that take a path."""

    def walk(command, name):
        if isinstance(command, click.Group):
            context = click.Context(command)
            for each in command.list_commands(context):
                yield from walk(command.get_command(context, each), (*name, each))
        for param in command.params:
            shown = param.metavar or ("CORPUS" if param.name == "corpus" else "")
            words = {word for word in re.findall("[A-Z]+", shown) if len(word) > 1}
            assert words <= PATHS | OTHERS, f"{param.opts}: is {shown} a path? Add it to the words"
            if words & PATHS:
                yield Use(name, max(param.opts, key=len))
        for setting, row in getattr(command, "settings", {}).items():
            if row.names_file:
                yield Use(name, f"--set {setting}")

    for name in COMMANDS:
        yield from walk(importlib.import_module(f"pysgrld.cli.{name}").command, (name,))


#: Options of training with which it ends almost immediately.
SHORT = ("-k", "2", "--set", "starts=1", "--exact-sweeps", "0", "--threads", "1", "-q")
OF_TRAINING = (*SHORT, "--iterations", "2", "--set", "warm-up=1", "--set", "sample-every=1")
EVAL = ("eval", "run")
TRAIN = ("train", "texts.csv", *OF_TRAINING, "--out", "new")
SEARCH = ("search", "texts.csv", "--epochs", "1", *SHORT, "--out", "new", "--tasks")
SHORT_AUDIT = ("--chains", "2", "--iterations", "10", "--starts", "1", "-q")
OF_MATRIX = ("--topics", "matrix.npy", "--topic-words", "words.txt")
AUDIT = (*SHORT_AUDIT, "texts.csv")
PATH = "PATH"
#: The rest of the command line of a command; of an option, the whole line. PATH stands for the path. The
#: corpus of training is missing if the place of its run is asked for, which is looked at before.
LINES = {
    "topics": ("topics", "run", "--by", "year"),
    "train": TRAIN,
    "train corpus": ("train", PATH, *OF_TRAINING, "--out", "new"),
    "train --set observed-corpus": (
        *TRAIN,
        "--set",
        "observed-corpus=PATH",
        "--set",
        "held-out-corpus=texts.csv",
    ),
    "train --set held-out-corpus": (
        *TRAIN,
        "--set",
        "held-out-corpus=PATH",
        "--set",
        "observed-corpus=texts.csv",
    ),
    "train --out": ("train", "gone", "--out", PATH),
    "train --resume": ("train", "--iterations", "3", "--resume", PATH),
    "train --from": ("train", "texts.csv", "--out", "new", "--iterations", "1", "--from", PATH),
    "search": SEARCH,
    "search corpus": ("search", PATH, "--epochs", "1", *SHORT, "--out", "new"),
    "search --out": ("search", "gone", "--out", PATH),
    "search --set observed-corpus": (
        *SEARCH,
        "--set",
        "observed-corpus=PATH",
        "--set",
        "held-out-corpus=texts.csv",
    ),
    "search --set held-out-corpus": (
        *SEARCH,
        "--set",
        "held-out-corpus=PATH",
        "--set",
        "observed-corpus=texts.csv",
    ),
    "eval": ("eval", "run"),
    "eval --observed-corpus": (*EVAL, "--observed-corpus", PATH, "--held-out-corpus", "texts.csv"),
    "eval --held-out-corpus": (*EVAL, "--held-out-corpus", PATH, "--observed-corpus", "texts.csv"),
    "eval --vocab": ("eval", "run", "--corpus", "counts.txt", "--vocab", PATH),
    "effect": ("effect", "run", "~ year"),
    "effect run": ("effect", PATH, "~ year"),
    "report": ("report", "run", "-q"),
    "infer": ("infer", "run", "texts.csv"),
    "infer --vocab": ("infer", "run", "counts.txt", "--vocab", PATH),
    "infer run_and_corpus": ("infer", "run", PATH),
    "diagnose": ("diagnose", "run", "again"),
    "compare": ("compare", "run", "again"),
    "compare named": ("compare", "run", PATH),
    "audit": ("audit", *OF_MATRIX, *AUDIT),
    "audit corpus": ("audit", *OF_MATRIX, *SHORT_AUDIT, PATH),
    "audit --topics": ("audit", "--topics", PATH, "--topic-words", "words.txt", *AUDIT),
    "audit --topic-words": ("audit", "--topics", "matrix.npy", "--topic-words", PATH, *AUDIT),
    "export": ("export", "run", "--to", "npy"),
    "export run": ("export", PATH, "--to", "npy"),
    "corpus build": ("corpus", "build", "texts.csv", "-o", "new"),
    "corpus build corpus": ("corpus", "build", PATH, "-o", "new"),
    "corpus build --out": ("corpus", "build", "gone", "-o", PATH),
    "corpus drop-text": ("corpus", "drop-text"),
    "corpus info": ("corpus", "info", "texts.csv"),
    "corpus words": ("corpus", "words", "texts.csv"),
    "corpus names": ("corpus", "names", "texts.csv", "-o", "new"),
    "corpus names corpus": ("corpus", "names", PATH, "-o", "new"),
    "corpus names --out": ("corpus", "names", "texts.csv", "-o", PATH),
    "corpus phrases": ("corpus", "phrases", "texts.csv", "-o", "new"),
    "corpus phrases corpus": ("corpus", "phrases", PATH, "-o", "new"),
    "corpus phrases --out": ("corpus", "phrases", "texts.csv", "-o", PATH),
    "corpus sample": ("corpus", "sample", "texts.csv", "-n", "5", "-o", "new"),
    "corpus sample corpus": ("corpus", "sample", PATH, "-n", "5", "-o", "new"),
    "corpus sample --out": ("corpus", "sample", "gone", "-n", "5", "-o", PATH),
    "reproduce": ("reproduce", "sam-20news", "--quick", "--no-pictures"),
    "reproduce --out": ("reproduce", "sgrld-fig1", "--rows", "gone", "--no-pictures", "-o", PATH),
    "plan": ("plan", "texts.csv", "--documents", "1000", "-k", "2"),
    "plan corpus": ("plan", PATH),
    "slurm": ("slurm", "--time", "1h", "train", "texts.csv"),
    "slurm command_line": ("slurm", "--time", "1h", "train", PATH, "--vocab", PATH),
    "slurm --setup": ("slurm", "--time", "1h", "--setup", PATH, "train", "texts.csv"),
    "slurm --out": ("slurm", "--time", "1h", "--out", PATH, "train", "texts.csv"),
    "bench": ("bench", "--quick"),
    "bench --out": ("bench", "--quick", "--corpus", "gone", "-o", PATH),
    "bench --compare": ("bench", "--quick", "--corpus", "gone", "--compare", PATH),
}
#: Options that name files to be written.
OUTPUTS = ("--out", "--folder", "--plot", "--picture", "--html", "--json")


def line_of(use, path):
    """Return a command line with a path in place of an option's value or an argument."""
    line = LINES.get(str(use))
    if line is None and use.option.startswith("--"):
        line = (*LINES[" ".join(use.command)], use.option, PATH)
    elif line is None:
        line = (*use.command, PATH)
    return [re.sub(rf"(^|=){PATH}$", lambda match: f"{match[1]}{path}", str(word)) for word in line]


#: Paths that the system refuses to look up or to open, and paths of another kind, by name.
BAD = {"below a closed folder": "closed/file", "a pipe": "pipe"}
#: Further bad paths, which end in the same functions.
FURTHER = {
    "a closed file": "closed.csv",
    "a folder": "empty",
    "a circle of links": "circle",
    "a device without an end": "/dev/zero",
    "missing": "gone/file",
    "a long name": "x" * 300,
    "below a file": "texts.csv/file",
    "a closed folder": "closed",
    "a long path": "x/" * 3000,
    "a link to nothing": "dangling",
    "an empty device": "/dev/null",
    "a name that is not UTF-8": "\udcff.csv",
    "no name": "",
    "JSON that is nested deeply": "deep.json",
}
#: Kinds that are good values of an input, by its place; of any, what may be a text or a list of words.
GOOD = {"slurm --setup": ("an empty device",), "corpus words --metadata": (*BAD, *FURTHER)}
ANYWHERE = ("JSON that is nested deeply",)
#: Where paths of all kinds are tried by day.
EVERY_KIND = "corpus info corpus"
#: Exit codes of bad usage, input and output: docs/getting-started.md, "When something is wrong".
REFUSED = {2, 65, 66, 73, 74, 76}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a corpus, runs, and bad paths."""
    place = tmp_path_factory.mktemp("paths")
    words = [" ".join(f"word{(i + j * j) % 23}" for j in range(9)) for i in range(40)]
    rows = [f"{i},{2000 + i % 5},{text}" for i, text in enumerate(words)]
    (place / "texts.csv").write_text("\n".join(["id,year,text", *rows, ""]))
    (place / "counts.txt").write_text("1 0:1 1:2\n1 1:1\n")
    np.save(place / "matrix.npy", np.ones((2, 23)))
    (place / "words.txt").write_text("".join(f"word{i}\n" for i in range(23)))
    sgmc = Sgmc(place)
    sgmc("train", "texts.csv", *OF_TRAINING, "--meta-field", "year", "--out", "run")
    sgmc("train", "texts.csv", *OF_TRAINING, "--seed", "1", "--out", "again")
    (place / "closed").mkdir()
    (place / "closed" / "file").write_text("x")
    (place / "closed.csv").write_text("text\nx\n")
    (place / "deep.json").write_text("[" * 100_000)
    os.mkfifo(place / "pipe")
    (place / "empty").mkdir()
    (place / "circle").symlink_to("circle")
    (place / "dangling").symlink_to("gone")
    for path in ("closed", "closed.csv"):
        (place / path).chmod(0)
    yield place
    for path in ("closed", "closed.csv"):
        (place / path).chmod(0o700)


def names_in(folder):
    """Return the paths in a folder, except what commands write into runs."""
    return {*folder.iterdir(), *(folder / "empty").iterdir()}


def cases():
    """List all places with bad paths of both kinds.

    By day, an option that names an input of several commands is tried with one of them, and one
    place with paths of every kind.
    """
    options = set()
    for use in uses():
        is_new = use.option not in options or not use.option.startswith("--")
        is_new |= use.option in OUTPUTS
        options.add(use.option)
        night = [pytest.mark.nightly]
        yield pytest.param(use, BAD, id=f"{use}-usual", marks=[] if is_new else night)
        marks = [] if str(use) == EVERY_KIND else night
        yield pytest.param(use, FURTHER, id=f"{use}-further", marks=marks)


@pytest.mark.parametrize(("use", "kinds"), list(cases()))
def test_a_path_of_any_kind_ends_with_a_documented_code(folder, use, kinds):
    """A user who is not root names a path of every kind in every place that takes one.

    Red with: ``Path.exists`` or ``Path.is_dir`` in place of `pysgrld.options.paths.path_kind`, which
    raise a `PermissionError` (70 and a traceback); with ``open`` in place of `open_input`, which hangs.
    """
    before, wrong = names_in(folder), []
    for kind, path in kinds.items():
        done = run(folder, line_of(use, path), folder / "pipe" if kind == "a pipe" else None)
        for new in names_in(folder) - before:
            shutil.rmtree(new) if new.is_dir() and not new.is_symlink() else new.unlink()
        allowed = set(REFUSED)
        if kind == "a pipe":  # SIGTERM came while the command waited for the pipe
            allowed |= {85, -signal.SIGTERM}
        if kind in (*ANYWHERE, *GOOD.get(str(use), ())) or use.option in OUTPUTS:
            allowed |= {0}
        if done.returncode not in allowed or "Traceback" in done.stderr:
            wrong.append((kind, done.returncode, done.stderr[-400:]))
    assert not wrong


def run(folder, line, pipe=None):
    """Run a command as a user other than root; end it by SIGTERM after it has opened a pipe."""
    words = ["sgmc", *line]
    return fork_server.shared().run(words, folder, text=True, seconds=60, plain=True, pipe=pipe)


#: A command line for each command that reads a run.
READERS = (
    *(
        "eval run",
        "eval run --coherence",
        "topics run",
        "topics run --documents 1",
        "effect run ~year",
    ),
    *(
        "report run --force -q",
        "infer run texts.csv",
        "diagnose run",
        "compare run again",
        "runs .",
    ),
    *("export run --to npy -o new", "checkpoint list run", "checkpoint show run", "runs"),
    *("checkpoint verify run", "train --resume run --iterations 3", "corpus info run/corpus"),
    *("train texts.csv --from run --iterations 2 --out new -q", "corpus drop-text run/corpus"),
)


#: Of commands that read what another one in the list reads as well.
AS_OTHERS = {
    *("eval run --coherence", "topics run --documents 1", "runs", "checkpoint show run"),
    *("topics run", "effect run ~year", "compare run again", "checkpoint list run"),
    "export run --to npy -o new",
}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=pytest.mark.nightly) if line in AS_OTHERS else line
        for line in READERS
    ],
)
def test_what_nobody_may_read_of_a_run_ends_with_a_documented_code(folder, tmp_path, line):
    """Each file and folder of a run is closed in turn, as of another user.

    Red with: ``Path.is_dir`` for ``corpus/`` or ``holdout/`` of a run, which raises a `PermissionError`.
    """
    wrong = []
    for name in ("run", "again"):
        shutil.copytree(folder / name, tmp_path / name)
    shutil.copy(folder / "texts.csv", tmp_path)
    folder = tmp_path
    for path in sorted((folder / "run").iterdir()):
        if path.name == "lock":
            continue
        mode = path.stat().st_mode
        path.chmod(0)
        try:
            done = run(folder, line.split())
        finally:
            path.chmod(mode)
        shutil.rmtree(folder / "new", ignore_errors=True)
        if done.returncode not in {0, 85, *REFUSED} or "Traceback" in done.stderr:
            wrong.append((path.name, done.returncode, done.stderr[-400:]))
    assert not wrong


@pytest.mark.parametrize(
    "readers",
    [
        [line for line in READERS if line not in AS_OTHERS],
        pytest.param(sorted(AS_OTHERS), marks=pytest.mark.nightly),
    ],
    ids=["day", "others"],
)
def test_a_current_folder_that_was_removed_ends_with_a_documented_code(folder, readers):
    """Red with: ``Path.resolve``, which raises a `FileNotFoundError` there."""
    lines = [line.split() for line in readers]
    lines += [list(LINES[f"{name} corpus"]) for name in OF_CORPUS]
    run, corpus = str(folder / "run"), str(folder / "texts.csv")
    places = {"run": run, "texts.csv": corpus, PATH: corpus}
    lines += [[places.get(word, word) for word in line] for line in lines]
    wrong = []
    for line in lines:
        (folder / "removed").mkdir()
        done = fork_server.shared().run(
            ["sgmc", *line], folder / "removed", text=True, seconds=60, removed=True
        )
        if done.returncode not in {0, *REFUSED} or "Traceback" in done.stderr:
            wrong.append((line, done.returncode, done.stderr[-400:]))
    assert not wrong


OF_CORPUS = ("train", "search", "corpus build", "corpus names", "corpus phrases", "corpus sample")


def test_values_that_are_nested_deeply_are_refused_in_a_line(folder):
    """Red with: ``json.loads`` alone, whose `RecursionError` nobody foresees."""
    for line in (
        LINES["bench --compare"],
        ("report", "run", "-q", "-o", "new.html", "--labels", PATH),
    ):
        done = run(folder, ["deep.json" if word == PATH else word for word in line])
        assert done.returncode == 65, done.stderr
        assert done.stderr.startswith("sgmc: error: deep.json: ")
        assert done.stderr.count("\n") == 1


# ---- pipes


def test_a_time_limit_ends_the_wait_for_a_pipe(folder):
    """Red with: ``open``, which waits for a writer for ever."""
    for option in ("--stop-words", "--vocab", "--metadata", "--seed-words", "--phrases"):
        done = run(folder, [*TRAIN, option, "pipe", "--time-limit", "0.2s"])
        assert done.returncode == 85, done.stderr
        assert "time limit: stopped while waiting for pipe" in done.stderr


def test_lists_of_words_come_through_pipes(folder):
    """Red with: a pipe that is read twice, whose second reading finds no words."""
    shell = [
        "train texts.csv -k 2 --set starts=1 --exact-sweeps 0 --iterations 2 --out new"
        " --stop-words <(echo word1; echo word2)",
        "corpus build counts.txt --vocab <(printf 'a\nb\nc\n') -o new",
        "corpus words texts.csv --kept --vocab <(printf 'word1\nword2\n')",
    ]
    for line in shell:
        done = subprocess.run(
            ["bash", "-c", f"{SGMC} {line}"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        shutil.rmtree(folder / "new", ignore_errors=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "line", ["search texts.csv --out new", "train texts.csv --chains 2 --out new"]
)
@pytest.mark.parametrize("option", ["--stop-words", "--vocab", "--metadata", "--holdout-corpus"])
def test_processes_that_all_read_a_file_refuse_a_pipe(folder, line, option):
    """Red with: a pipe whose words the first process has taken, so that the others wait for ever."""
    done = run(folder, [*line.split(), option, "pipe"])
    assert done.returncode == 2, done.stderr
    assert f"{option} pipe: " in done.stderr
    assert "write the input to a file, and give the file" in done.stderr


# ---- standard output that is closed, and arguments that are not UTF-8


@pytest.mark.parametrize("line", ["infer run texts.csv", "slurm --time 1h -- train texts.csv"])
def test_a_standard_output_that_is_closed_is_73(folder, line):
    done = subprocess.run(
        ["sh", "-c", f"exec {SGMC} {line} >&-"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 73, done.stderr
    assert done.stderr.splitlines()[-1].startswith("sgmc: error: standard output is closed")
    assert "Traceback" not in done.stderr


def test_a_batch_script_has_the_bytes_of_arguments_that_are_not_utf_8(folder):
    """Red with: the script encoded as UTF-8."""
    words = [SGMC, "slurm", "--time", "1h", "--", "train", b"caf\xe9.txt"]
    done = subprocess.run(words, cwd=folder, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert b"sgmc train 'caf\xe9.txt'" in done.stdout
    done = subprocess.run([*words[:4], "-o", "job.sh", *words[4:]], cwd=folder, timeout=120)
    assert done.returncode == 0
    assert b"sgmc train 'caf\xe9.txt'" in (folder / "job.sh").read_bytes()
