"""The baselines as runs: scores without samples, exact resumes, and refusals of options."""

import json
import signal

import pytest
from click.testing import CliRunner

from pysgrld.cli import main

pytestmark = pytest.mark.cli

TINY = ("-k", "8", "--iterations", "60")
BASE = {
    "cgs": TINY,
    "ovb": (*TINY, "--minibatch", "100", "--step-size", "0.5,10,0.7"),
    "hsvg": (*TINY, "--minibatch", "100", "--sweeps", "4", "--step-size", "0.5,10,0.7"),
}
KEPT = {
    algo: (*TINY, "--sweeps", "2", "--set", "keep-documents=on")
    for algo in ("sgrld", "ovb", "hsvg")
}


def lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def often(case):
    """Return the mark of a case that only runs at night, because another case fails with it."""
    return [pytest.mark.nightly] * (case in ("ovb", "hsvg", "hsvg kept", "sgrld kept"))


@pytest.mark.parametrize(
    ("algo", "base"),
    [
        *(pytest.param(algo, base, id=algo, marks=often(algo)) for algo, base in BASE.items()),
        *(
            pytest.param(algo, base, id=f"{algo} kept", marks=often(f"{algo} kept"))
            for algo, base in KEPT.items()
        ),
    ],
)
def test_killed_resumed_and_on_other_threads(sgmc, algo, base):
    """Red with: the topics of tokens, or kept proportions, counted but not stored; a document fitted
    on from its last gamma where the run was not interrupted.
    """
    own = ("--algo", algo)
    sgmc.train(*own, out="whole", base=base)
    sgmc.stop_midway(signal.SIGKILL, *own, "--checkpoint-every", "7", base=base)
    done = sgmc.train(*own, "--threads", "2", base=base)
    assert "resumes from iteration" in done.stderr
    assert sgmc.topics_hash() == sgmc.topics_hash("whole")
    left, right = (lines(sgmc.folder / run)[-1] for run in ("run", "whole"))
    assert left["perplexity"] == right["perplexity"]
    assert left["point_perplexity"] == right["point_perplexity"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--set", "keep-documents=on", "--minibatch", "5"), "leave out --minibatch"),
        (("--set", "keep-documents=on", "--corpus-size", "900"), "leave out --corpus-size"),
        (("--algo", "gibbs", "--set", "keep-documents=off"), "does not apply to --algo gibbs"),
        (("--set", "keep-documents=on", "--set", "counts=rao-blackwell"), "leave out --set counts"),
        (("--set", "keep-documents=on", "--set", "kept-sweeps=3"), "leave out --set kept-sweeps"),
    ],
)
def test_documents_are_kept_where_an_iteration_sees_them_all(sgmc, options, said):
    assert said in sgmc("train", "corpus.txt", *options, code=2).stderr


def test_a_run_that_keeps_its_documents_is_not_warned_of_minibatches(sgmc):
    """Its intervals are of draws, as all but exact samplers' are. Red with: noise that is not there."""
    done = sgmc.train("--set", "keep-documents=on", "--exact-sweeps", "0", base=TINY)
    assert "minibatch noise" not in done.stderr
    found = json.loads(sgmc("topics", "run", "--json").stdout)
    assert (found["interval_of"], found["noise"]) == ("draws", 1.0)


@pytest.mark.parametrize("algo", ["ovb", "hsvg"])
def test_an_approximation_has_one_perplexity_and_no_samples(sgmc, algo):
    sgmc.train("--algo", algo, "--eval-every", "20", base=BASE[algo])
    for line in lines(sgmc.folder / "run"):
        assert line["samples"] == 0
        assert line["perplexity"] == line["point_perplexity"]
    assert not list((sgmc.folder / "run" / "samples").glob("*"))
    scores = json.loads(sgmc("eval", "run", "--json").stdout)
    assert scores["samples"] == 0
    assert scores["perplexity"] == scores["point_perplexity"] == line["perplexity"]
    assert scores["perplexity"] < 0.9 * scores["unigram_perplexity"]
    topics = json.loads(sgmc("topics", "run", "--json").stdout)
    assert topics["samples"] == 0
    assert sum(topic["weight"] for topic in topics["topics"]) == pytest.approx(1.0)


def test_an_approximation_settles_by_its_topics(sgmc):
    """Red with: the number of posterior samples, which stays 0, asked for."""
    base = [*BASE["ovb"][:2], *BASE["ovb"][4:]]
    done = sgmc.train("--algo", "ovb", "--set", "sample-every=2", base=base)
    assert "converged" in done.stderr
    assert 100 <= lines(sgmc.folder / "run")[-1]["iteration"] < 2000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--algo cgs --minibatch 5", "--minibatch does not apply to --algo cgs"),
        ("--algo cgs --step-size 1,1,0", "--step-size does not apply to --algo cgs"),
        ("--algo ovb --set counts=sampled", "--set counts does not apply to --algo ovb"),
        ("--algo ovb --set samples=5", "--set samples does not apply to --algo ovb"),
        ("--algo hsvg --set warm-up=5", "--set warm-up does not apply to --algo hsvg"),
        ("--algo hsvg --set burn-in=5", "--set burn-in does not apply to --algo hsvg"),
        ("--algo cgs --layers 8,4", "cannot sample --model dlda (implied by --layers)"),
        ("--algo ovb --model dlda", "--algo ovb cannot sample --model dlda; choose from scir"),
        ("--algo ovb --step-size 2,1,0.7", "a weight of minibatches; give at most 1"),
    ],
)
def test_options_without_meaning_are_refused(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["train", *arguments.split(), "nothing.txt"])
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
