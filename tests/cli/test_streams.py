"""Streams as users see them: one pass over standard input, stopped and resumed."""

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import fork_server
import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.corpus.open import CorpusBuilder

SGMC = Path(sys.executable).with_name("sgmc")
BIBLE = Path(__file__).parents[2] / "data" / "docword.bible.txt.gz"
pytestmark = pytest.mark.cli
STREAM = (
    "-k",
    "6",
    "--minibatch",
    "50",
    "--sweeps",
    "4",
    "--set",
    "warm-up=10",
    "--corpus-size",
    "1100",
    "--set",
    "shuffle-buffer=300",
)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Write 1,100 documents as lines of text."""
    draw = np.random.default_rng(3)
    words = np.array([f"word{i}" for i in range(400)])
    lines = [" ".join(words[draw.zipf(1.5, 80) % 400]) for _ in range(1100)]
    path = tmp_path_factory.mktemp("text") / "stream.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def topics(sgmc, run):
    return sgmc.topics_hash(run)


def pipe(sgmc, data, *args, code=0):
    words = ["sgmc", "train", *STREAM, *args, "-"]
    done = fork_server.shared().run(words, sgmc.folder, text=True, seconds=240, data=data)
    assert done.returncode == code, done.stderr
    return done.stderr


def test_a_stream_ends_the_run_and_gives_the_same_topics_for_any_threads_or_source(sgmc, text):
    """Red with: documents in the order of their blocks; the buffer filled by what is ready."""
    said = pipe(sgmc, text.read_bytes(), "--out", "a", "--threads", "1")
    assert "the stream ended after 1,0" in said
    pipe(sgmc, text.read_bytes(), "--out", "b", "--threads", "3")
    sgmc("train", *STREAM, "--out", "c", text)
    assert topics(sgmc, "a") == topics(sgmc, "b") == topics(sgmc, "c")
    again = pipe(sgmc, text.read_bytes(), "--out", "a")
    assert "already finished" in again
    last = json.loads((sgmc.folder / "a" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["documents"] == 1070  # 30 of the first 300 documents are held out


def test_a_stream_that_stalls_is_stopped_and_goes_on_when_it_is_given_again(sgmc, text):
    """Red with: waiting for documents without looking at signals; the buffer not replayed."""
    pipe(sgmc, text.read_bytes(), "--out", "whole")
    lines = text.read_bytes().splitlines(keepends=True)
    with subprocess.Popen(
        [SGMC, "train", *STREAM, "--out", "run", "--eval-every", "1", "-"],
        cwd=sgmc.folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write(b"".join(lines[:700]))
        process.stdin.flush()
        said = b""
        while b"iteration 6" not in said:
            said += process.stderr.readline()
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGTERM)
        said += process.stderr.read()
        assert process.wait(timeout=120) == 85, said
        process.stdin.close()
        said = pipe(sgmc, text.read_bytes(), "--out", "run", "--threads", "1")
        assert "of the stream again" in said
        assert topics(sgmc, "run") == topics(sgmc, "whole")


def test_another_stream_is_refused_in_a_run_that_had_begun(sgmc, text):
    lines = text.read_bytes().splitlines(keepends=True)
    other = lines[:500] + lines[501:]
    pipe(sgmc, b"".join(lines), "--out", "run", "--iterations", "12")
    said = pipe(sgmc, b"".join(other), "--out", "run", "--iterations", "15", code=78)
    assert "the stream now differs from the stream read before" in said
    said = pipe(sgmc, b"".join(lines[1:]), "--out", "run", "--iterations", "15", code=78)
    assert "other options or another corpus" in said


def test_options_of_streams_are_refused_where_they_mean_nothing(sgmc, text):
    for wrong, why in (
        (("--set", "shuffle-buffer=10"), "requires --corpus-size"),
        (("--corpus-size", "10", "--epochs", "2"), "only once"),
        (("--corpus-size", "10", "--algo", "gibbs"), "does not apply to --algo gibbs"),
    ):
        assert why in sgmc("train", *wrong, text, code=2).stderr


def test_bad_text_in_mid_stream_is_said_with_its_line_and_the_checkpoint_stays(sgmc, text):
    lines = text.read_bytes().splitlines(keepends=True)
    lines[800] = b"bad \xff bytes\n"
    args = ("--out", "run", "--checkpoint-every", "2")
    said = pipe(sgmc, b"".join(lines), *args, code=65)
    assert "<stdin>:801: this is not UTF-8" in said
    assert sgmc("checkpoint", "list", "run").stdout
    said = pipe(sgmc, b"".join(lines), "--out", "skip", "--on-bad-document", "skip")
    assert "1 bad document skipped" in said


def test_infer_gives_rows_as_documents_come(trained):
    """Red with: the whole corpus read first."""
    with subprocess.Popen(
        [SGMC, "infer", "-q", "-"],
        cwd=trained.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        # as many lines as are needed to recognise the format
        process.stdin.write(4 * b"and the lord said unto moses\n")
        process.stdin.flush()
        rows = [json.loads(process.stdout.readline()) for _ in range(4)]
        assert [row["document"] for row in rows] == [0, 1, 2, 3]
        assert abs(sum(rows[3]["topics"]) - 1) < 1e-5
        process.stdin.write(b"nothing known\n")
        process.stdin.close()
        assert json.loads(process.stdout.readline())["document"] == 4
        process.stdout.close()
        assert process.wait(timeout=120) == 0


def test_infer_to_a_matrix_has_the_rows_of_the_stream(trained, tmp_path, quarter):
    trained("infer", quarter, "-o", tmp_path / "t.npy")
    trained("infer", quarter, "-o", tmp_path / "u.npy", "--threads", "1")
    theta = np.load(tmp_path / "t.npy")
    assert theta.shape == (298, 8)
    assert (tmp_path / "t.npy").read_bytes() == (tmp_path / "u.npy").read_bytes()


# ---- corpora


def fingerprint(folder):
    return json.loads((folder / "meta.json").read_text())["fingerprint"]


def test_a_build_that_is_stopped_goes_on(sgmc, text, monkeypatch):
    """Red with: progress thrown away by the signal."""
    add, steps = CorpusBuilder.add, []

    def add_and_stop(self, step):
        add(self, step)
        steps.append(1)
        if len(steps) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    many = sgmc.folder / "many.txt.gz"
    many.write_bytes(gzip.compress(text.read_bytes() * 30, 1))
    sgmc("corpus", "build", many, "-o", "whole")
    command = ["corpus", "build", str(many), "-o", "c"]
    with monkeypatch.context() as patch:
        patch.chdir(sgmc.folder)
        patch.setattr(CorpusBuilder, "add", add_and_stop)
        done = CliRunner().invoke(main, [*command, "--threads", "1"])
    assert done.exit_code == 85, done.output
    assert "run the same command again to resume" in done.stderr
    assert "resuming: " in sgmc(*command).stderr
    assert fingerprint(sgmc.folder / "c") == fingerprint(sgmc.folder / "whole")


def test_a_sample_has_documents_of_the_corpus_in_their_order(sgmc):
    sgmc("corpus", "build", BIBLE, "-o", "all")
    sgmc("corpus", "sample", "all", "-n", "100", "-o", "some", "--seed", "3")
    sgmc("corpus", "sample", BIBLE, "-n", "0.0841", "-o", "share", "--seed", "3")
    assert fingerprint(sgmc.folder / "some") == fingerprint(sgmc.folder / "share")
    parts = []
    for name in ("all", "some"):
        folder = sgmc.folder / name
        indptr, indices, counts = (
            np.load(folder / f"{n}.npy") for n in ("indptr", "indices", "counts")
        )
        parts.append(
            [
                hashlib.sha256(indices[a:b].tobytes() + counts[a:b].tobytes()).hexdigest()
                for a, b in pairwise(indptr)
            ]
        )
    whole = iter(parts[0])
    assert len(parts[1]) == 100
    assert all(row in whole for row in parts[1])  # in order
    assert (sgmc.folder / "all" / "vocab.txt").read_text() == (
        sgmc.folder / "some" / "vocab.txt"
    ).read_text()
    assert (
        "has 1,189 documents"
        in sgmc("corpus", "sample", "all", "-n", "2000", "-o", "x", code=2).stderr
    )
    assert sgmc("corpus", "sample", "all", "-n", "0", "-o", "x", code=2)
