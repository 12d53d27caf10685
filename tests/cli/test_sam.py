"""A spherical admixture model from the command line: identical bits, outputs, and refusals."""

import contextlib
import json
import random

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main

pytestmark = pytest.mark.cli

#: Words of three subjects, and some documents of each.
WORDS = [f"word{a}{b}" for a in "abcdef" for b in "abcdefghij"]
SMALL = (
    "-k",
    "4",
    "--set",
    "burn-in=20",
    "--set",
    "sample-every=2",
    "--min-df",
    "1",
    "--max-df",
    "1.0",
)
MINIBATCH = ("--minibatch", "20", "--sweeps", "12", "--set", "kept-sweeps=6")
ALGOS = {
    "sggmc": (*MINIBATCH, "--set", "inner-steps=2"),
    "gsgnht": MINIBATCH,
    "gmc-bgibbs": (),
    "gmc-apprmh": ("--set", "theta-parametrisation=flat"),
}


class Within:
    """The command in a folder, called in this process to save its start-up time."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, *args, code=0):
        with contextlib.chdir(self.folder):
            done = CliRunner().invoke(main, [*map(str, args)], prog_name="sgmc")
        assert done.exit_code == code, (args, done.output, done.exception)
        return done.output


@pytest.fixture
def within(tmp_path):
    return Within(tmp_path)


def write(folder):
    """Write 80 documents, each on one subject with some words of the other subjects."""
    rng, lines = random.Random(5), []
    for d in range(80):
        own = WORDS[(d % 3) * 20 :][:20]
        lines.append(
            " ".join(
                own[int(20 * rng.random() ** 2)] if rng.random() < 0.85 else rng.choice(WORDS)
                for _ in range(rng.randint(5, 40))
            )
        )
    (folder / "docs.txt").write_text("\n".join(lines) + "\n")


def train(sgmc, algo, *args, out="run", code=0, corpus="docs.txt"):
    kind = ("--model", "sam", "--algo", algo, *ALGOS[algo])
    return sgmc("train", corpus, *kind, *SMALL, "--out", out, *args, code=code)


def arrays(folder):
    """Return the bytes of all arrays in a run's latest checkpoint, or in its samples."""
    newest = max(p for p in folder.iterdir()) if folder.name == "checkpoints" else folder
    found = (p for p in newest.rglob("*") if p.suffix in (".npy", ".safetensors"))
    some = sorted((p.name, p.read_bytes()) for p in found)
    assert some
    return some


@pytest.fixture(scope="module")
def spherical(tmp_path_factory):
    within = Within(tmp_path_factory.mktemp("spherical"))
    write(within.folder)
    train(within, "sggmc", "--iterations", "60", "-q")
    return within


def test_scores_of_the_run_and_of_its_samples(spherical):
    """Red with: the weights of words left out of a kept sample."""
    own = json.loads(spherical("eval", "run", "--json"))
    last = json.loads((spherical.folder / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    for name in ("log_perplexity", "point_log_perplexity", "unigram_log_perplexity"):
        assert own[name] == pytest.approx(last[name], rel=1e-12)
    assert own["log_perplexity"] < own["unigram_log_perplexity"]
    assert own["samples"] == 20
    assert own["observed_fraction"] is None
    again = json.loads(spherical("eval", "run", "--corpus", "run/holdout/held-out", "--json"))
    assert again["log_perplexity"] == pytest.approx(own["log_perplexity"], rel=1e-6)
    assert "lower is better" in spherical("eval", "run")


def test_topics_are_unit_vectors_in_all_that_is_read(spherical):
    """Red with: a mean of draws that is not normalised."""
    for draw in ("mean", "last"):
        spherical("export", "run", "--to", "npy", "-o", draw, "--draw", draw, "-q")
        topics = np.load(spherical.folder / draw / "topics.npy").astype(float)
        assert topics.shape == (4, len(WORDS))
        np.testing.assert_allclose(np.linalg.norm(topics, axis=1), 1.0, rtol=1e-5)
    mean = np.load(spherical.folder / "mean" / "topics.npy")
    shown = json.loads(spherical("topics", "run", "--json"))["topics"]
    assert len(shown) == 4
    assert sum(topic["weight"] for topic in shown) == pytest.approx(1.0)
    words = (spherical.folder / "mean" / "vocab.txt").read_text().split()
    for topic in shown:
        assert topic["words"][0]["word"] == words[mean[topic["id"]].argmax()]
    assert "NaN" not in spherical("topics", "run", "--json")


def test_new_documents_have_proportions_whatever_they_hold(spherical):
    """Those of one without a known word are the prior's mean."""
    own = [" ".join(WORDS[20 * i : 20 * i + 6]) for i in range(3)]
    (spherical.folder / "new.txt").write_text("\n".join([*own, "xyzzy"]) + "\n")
    spherical("infer", "run", "new.txt", "-o", "theta.npy", "-q")
    theta = np.load(spherical.folder / "theta.npy")
    assert theta.shape == (4, 4)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(theta[3], 0.25, atol=1e-6)
    assert (np.abs(theta[:3] - 0.25).max(axis=1) > 0.1).all()


def test_several_chains_are_compared_by_their_directions(within):
    write(within.folder)
    train(within, "sggmc", "--iterations", "40", "--chains", "2", "-q")
    found = json.loads(within("diagnose", "run", "--json"))
    assert len(found["topics"]) == 4
    assert "nan" not in within("diagnose", "run")


@pytest.mark.parametrize(
    "algo",
    [
        # by day tests/unit/test_contract.py stores the chains of the others
        algo if algo == "gsgnht" else pytest.param(algo, marks=pytest.mark.nightly)
        for algo in ALGOS
    ],
)
def test_threads_and_a_kill_change_nothing(sgmc, algo):
    """Red with: velocities, proportions that go on, or their step left out of a checkpoint."""
    write(sgmc.folder)
    often = ("--iterations", "80", "--eval-every", "10", "--checkpoint-every", "7")
    train(sgmc, algo, *often, "--threads", "1", out="whole")
    kind = ("--model", "sam", "--algo", algo, *ALGOS[algo], *SMALL)
    sgmc.kill_at("commit.rename:5", "train", "docs.txt", *kind, *often, "--out", "run")
    assert "resumes from iteration" in train(sgmc, algo, *often, "--threads", "2").stderr
    for folder in ("samples", "checkpoints"):
        assert arrays(sgmc.folder / "run" / folder) == arrays(sgmc.folder / "whole" / folder)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--kappa 0", 2, "--kappa: '0' is not a number greater than 0"),
        ("--kappa 1e9", 2, "--kappa: '1e9' is not a number greater than 0 and below 1e+08"),
        ("--kappa nan", 2, "--kappa: 'nan' is not a number"),
        ("--set sigma=-1", 2, "--set sigma: '-1' is not a number greater than 0"),
        ("-k 61", 2, "--topics 61 is more than the 60 words of the vocabulary"),
        ("--set weighting=bm25", 2, "--set weighting"),
        ("--set resample=off", 2, "--set resample requires --set inner-steps above 1"),
        ("--set leapfrog-steps=3", 2, "--set leapfrog-steps does not apply to --algo sggmc"),
        (
            "--algo gmc-bgibbs --set friction=0.1",
            2,
            "--set friction does not apply to --algo gmc-bgibbs",
        ),
        ("--algo gmc-bgibbs --minibatch 5", 2, "--minibatch does not apply to --algo gmc-bgibbs"),
        ("--algo scir", 2, "choose from sggmc, gsgnht"),
        ("--eta 0.1", 2, "the prior of topics is --set sigma"),
        ("--set observed=0.5", 2, "scored whole"),
        ("--corpus-size 100", 2, "so the corpus must be stored"),
        ("--model lda --kappa 5", 2, "--kappa does not apply to --model lda"),
    ],
)
def test_options_that_make_no_sense_are_refused(within, options, code, said):
    refused(within, "docs.txt", options, code, said)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("god god god\n" * 30, "", "needs at least two words, but the vocabulary has 1"),
        (
            "god lord lord\n" * 30,
            "-k 2",
            "every word occurs in all documents, so all word weights are 0; use --set weighting=tf",
        ),
        (
            "god lord\n" * 30,
            "-k 2 --holdout 29",
            "every word occurs in all documents, so all word weights are 0; use --set weighting=tf",
        ),
    ],
)
def test_corpora_without_directions_are_refused(within, text, options, said):
    (within.folder / "bad.txt").write_text(text)
    refused(within, "bad.txt", options, 65, said)


def refused(within, corpus, options, code, said):
    """One line that says why, and the exit code that it has; a wrong option makes no run."""
    write(within.folder)
    every = ("--min-df", "1", "--max-df", "1.0", "--stop-words", "none", "--iterations", "5", "-q")
    model = () if "--model" in options else ("--model", "sam")
    done = within("train", corpus, *model, *every, *options.split(), code=code)
    assert said in done
    assert len([line for line in done.splitlines() if " warning: " not in line]) == 1
    assert code == 65 or not (within.folder / "sgmc-runs").exists()


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("god lord lord\n" * 30, "-k 2 --set weighting=tf"),
        ("god both\nlord both\nboth\n" * 15, "-k 2"),  # documents without any weight
        ("god\nlord\n\n" * 15, "-k 1"),
        ("god\nlord\n" * 15, "-k 2 --algo gmc-bgibbs"),
        ("god\nlord\nking\n" * 10, "-k 3 --holdout 0 --kappa 9e7 --set sigma=9e7 --set kappa0=9e7"),
        ("god lord\nlord king\n" * 15, "-k 2 --alpha 0.001 --set theta-parametrisation=flat"),
        ("god lord\nlord king\n" * 15, "-k 2 --kappa 1e-6 --set sigma=1e-6 --set kappa0=1e-6"),
        (
            "god lord\nlord king\n" * 15,
            "-k 2 --set theta-step=9 --set friction=99 --set inner-steps=3",
        ),
    ],
)
def test_odd_corpora_and_settings_train_and_are_read(within, text, options):
    (within.folder / "odd.txt").write_text(text)
    every = ("--min-df", "1", "--max-df", "1.0", "--stop-words", "none", "--iterations", "12")
    often = ("--set", "burn-in=4", "--set", "sample-every=2", "--out", "run", "-q")
    within("train", "odd.txt", "--model", "sam", *every, *often, *options.split())
    shown = json.loads(within("topics", "run", "--json"))
    assert all(np.isfinite(topic["weight"]) for topic in shown["topics"])
    within("infer", "run", "odd.txt", "-o", "theta.npy", "-q")
    np.testing.assert_allclose(np.load(within.folder / "theta.npy").sum(axis=1), 1.0, atol=1e-5)
