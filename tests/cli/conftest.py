"""Fixtures shared by tests of the command: the command itself, and runs made with it."""

import gzip
import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path

import fork_server
import numpy as np
import pytest
from command_words import last_of_each
from fork_server import SGMC

BIBLE = Path(__file__).parents[2] / "data" / "docword.bible.txt.gz"

#: A run of a fraction of a second, long enough for a few posterior samples.
SMALL = (
    *(
        "-k",
        "8",
        "--minibatch",
        "25",
        "--sweeps",
        "4",
        "--set",
        "warm-up=20",
        "--set",
        "sample-every=5",
    ),
    *("--set", "starts=1", "--iterations", "60"),
)


class Started(subprocess.Popen):
    """A process that is killed at the end of its test, because a failed one would go on waiting."""

    def __exit__(self, kind, *details):
        if kind is not None:
            self.kill()
        super().__exit__(kind, *details)


class Sgmc:
    """The command, run in its own folder as a user would run it.

    It is a fork of a process that has imported all modules; what is given other arguments of
    `subprocess.run` is a process of its own.
    """

    def __init__(self, folder, command=(SGMC,), corpus=BIBLE):
        self.folder, self.command, self.corpus = folder, command, corpus

    def __call__(self, *args, code=0, text=True, at=None, env=None, **kwargs):
        words = [*map(str, self.command), *map(str, last_of_each(args))]
        if kwargs or self.command != (SGMC,):
            if at:
                env = os.environ | {"SIGNAL_AT": json.dumps(at)}
            done = subprocess.run(
                words,
                cwd=self.folder,
                capture_output=True,
                text=text,
                timeout=240,
                check=False,
                env=env,
                **kwargs,
            )
        else:
            done = fork_server.shared().run(
                words, self.folder, text=text, seconds=240, env=env, at=at
            )
        assert code in (None, done.returncode), (args, done.returncode, done.stdout, done.stderr)
        return done

    def start(self, *args, **kwargs):
        words = [*map(str, self.command), *map(str, last_of_each(args))]
        if not kwargs and self.command == (SGMC,):
            return fork_server.Running(words, self.folder)
        return Started(
            words,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            **kwargs,
        )

    def kill_at(self, point, *args):
        """Run the command until it is killed at a fail point, which no pause of a machine moves."""
        env = os.environ | {"SGMC_TEST": "1", "SGMC_FAILPOINT": point.replace(":", ":kill:")}
        return self(*args, code=-signal.SIGKILL, env=env)

    def train(self, *args, out="run", code=0, base=SMALL):
        return self("train", self.corpus, *base, "--out", out, *args, code=code)

    def topics_hash(self, run="run"):
        out = f"{run}-export"
        self("export", run, "--to", "npy", "-o", out, "--force")
        return hashlib.sha256((self.folder / out / "topics.npy").read_bytes()).hexdigest()

    def stop_midway(self, number, *args, out="run", base=SMALL, word="perplexity"):
        """Stop training by a signal at the first evaluation; return the exit code and the output.

        The process sends the signal to itself, so that it cannot end before the signal arrives.
        """
        arguments = ("train", self.corpus, *base, "--out", out, "--eval-every", "15", *args)
        done = self(*arguments, code=None, at=(word, int(number)))
        return done.returncode, done.stderr


@pytest.fixture
def sgmc(tmp_path, quarter):
    return Sgmc(tmp_path, corpus=quarter)


@pytest.fixture(scope="module")
def sgmc_module(tmp_path_factory, quarter):
    """The same command, in a folder shared by the tests of a module."""
    return Sgmc(tmp_path_factory.mktemp("shared"), corpus=quarter)


@pytest.fixture(scope="session")
def bible():
    return BIBLE


@pytest.fixture(scope="session")
def quarter(tmp_path_factory):
    """Every fourth chapter of the Bible, 298 documents, and its 1,000 commonest words.

    Titles and books of these chapters are beside it, in ``chapters.bible.csv``.
    """
    documents, words, _, *lines = gzip.decompress(BIBLE.read_bytes()).decode().splitlines()
    entries = np.array([line.split() for line in lines], int)
    entries = entries[(entries[:, 0] - 1) % 4 == 0]
    often = np.bincount(entries[:, 1], entries[:, 2], int(words) + 1)
    common = np.sort(np.argsort(-often, kind="stable")[:1000])
    entries = entries[np.isin(entries[:, 1], common)]
    entries[:, 0] = (entries[:, 0] - 1) // 4 + 1
    entries[:, 1] = np.searchsorted(common, entries[:, 1]) + 1
    path = tmp_path_factory.mktemp("quarter") / "docword.bible.txt"
    kept = [" ".join(map(str, entry)) for entry in entries.tolist()]
    number = -(-int(documents) // 4)
    path.write_text("\n".join([str(number), "1000", str(len(kept)), *kept]) + "\n")
    vocabulary = BIBLE.with_name("vocab.bible.txt").read_text().splitlines()
    path.with_name("vocab.bible.txt").write_text("".join(f"{vocabulary[i - 1]}\n" for i in common))
    head, *rows = BIBLE.with_name("chapters.bible.csv").read_text().splitlines()
    path.with_name("chapters.bible.csv").write_text("\n".join([head, *rows[::4]]) + "\n")
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory, quarter):
    """A finished run, the latest one under ./sgmc-runs of its folder. Not to be changed."""
    command = Sgmc(tmp_path_factory.mktemp("trained"))
    command("train", quarter, *SMALL)
    return command


@pytest.fixture(scope="session")
def several(tmp_path_factory, quarter):
    """Three finished chains of such a run, the latest under ./sgmc-runs. Not to be changed."""
    command = Sgmc(tmp_path_factory.mktemp("several"))
    command("train", quarter, *SMALL, "--chains", "3")
    return command


@pytest.fixture(scope="session")
def benched(tmp_path_factory, quarter):
    """A folder with the results of a quick benchmark in first.json, and the benchmark's output."""
    command = Sgmc(tmp_path_factory.mktemp("benched"))
    done = command("bench", "--quick", "--json", "-o", "first.json", "--corpus", quarter)
    return command, done


@pytest.fixture(scope="session")
def undisturbed(trained):
    return trained.topics_hash("sgmc-runs/bible-scir")
