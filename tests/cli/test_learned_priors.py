"""Learned priors: how users request, read and export them."""

import gzip
import json
import signal

import pytest
from click.testing import CliRunner

from pysgrld.cli import main

pytestmark = pytest.mark.cli


def said(*args):
    done = CliRunner().invoke(main, list(map(str, args)))
    assert done.exit_code == 0, done.output
    return done.stdout


LEARNED = ("--alpha", "learn", "--eta", "learn")


def test_killed_resumed_on_other_threads_read_and_exported(sgmc):
    """Red with: alpha or eta not stored in a checkpoint; exports of the prior's mean."""
    sgmc.train(*LEARNED, out="whole")
    sgmc.stop_midway(signal.SIGKILL, *LEARNED, "--checkpoint-every", "7")
    assert "resumes from iteration" in sgmc.train(*LEARNED, "--threads", "2").stderr
    whole, found = (
        json.loads(said("topics", sgmc.folder / run, "--json")) for run in ("whole", "run")
    )
    assert whole["topics"] == found["topics"]
    assert whole["eta"] == found["eta"] != 0.05
    alpha = {topic["id"]: topic["alpha"] for topic in found["topics"]}
    assert len(set(alpha.values())) == 8
    assert f"eta is {found['eta']:.3g}" in " ".join(said("topics", sgmc.folder / "run").split())
    said("export", sgmc.folder / "run", "--to", "mallet", "-o", sgmc.folder / "mallet")
    with gzip.open(sgmc.folder / "mallet" / "state.gz", "rt") as file:
        head = [file.readline() for _ in range(3)]
    assert [float(a) for a in head[1].split(":")[1].split()] == [alpha[k] for k in range(8)]
    assert float(head[2].split(":")[1]) == found["eta"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--alpha", "learn", "--model", "sam"), "--alpha learn does not apply to --model sam"),
        (("--alpha", "learn", "--algo", "hsvg"), "--alpha learn does not apply to --algo hsvg"),
        (("--eta", "learn", "--layers", "9,5"), "--eta learn does not apply to --model dlda"),
        (("--eta", "learn", "--model", "dpmm"), "--eta learn does not apply to --model dpmm"),
        (("--eta", "learn", "--algo", "tlasgr", "--model", "lda"), "or --algo scir, gibbs, cgs"),
        (("--alpha", "learnt"), "'learnt' is not a number"),
    ],
)
def test_what_cannot_be_learned_is_refused_in_a_line(options, said):
    done = CliRunner().invoke(main, ["train", "corpus.txt", *options])
    assert done.exit_code == 2
    assert said in str(done.output)
