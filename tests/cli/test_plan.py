"""``sgmc plan``: the needs of a training, and the warnings of ``sgmc slurm`` based on them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main, plan
from pysgrld.cli.slurm import _bytes
from pysgrld.train.estimate import ALONE, TrainingNeeds

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A stored corpus of 300 documents."""
    folder, rng = tmp_path_factory.mktemp("plan"), np.random.default_rng(1)
    lines = [" ".join(f"word{'abcdefgh'[i]}" for i in rng.integers(0, 8, 30)) for _ in range(300)]
    (folder / "texts.txt").write_text("\n".join(lines) + "\n")
    words = ["corpus", "build", str(folder / "texts.txt"), "--out", str(folder / "built")]
    done = CliRunner().invoke(main, [*words, "--max-df", "1.0"])
    assert done.exit_code == 0, done.output
    return folder


def typed(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_needs_are_printed_and_nothing_is_kept(corpus, monkeypatch):
    """Red with: memory or a refinement that does not grow with topics; a folder that stays."""
    monkeypatch.chdir(corpus)
    few, many = (
        json.loads(typed("plan", "built", "-k", k, "--threads", 64, "--json", "-q").stdout)
        for k in (5, 500)
    )
    assert few["threads"] == 64
    assert few["memory"]["topics"] < many["memory"]["topics"]
    assert few["hours_per_epoch"] < many["hours_per_epoch"]
    assert few["refinement_hours"] < many["refinement_hours"]
    assert "Gibbs sweeps" not in typed("plan", "built", "--exact-sweeps", 0, "-q").stdout
    assert many["script"].startswith("sgmc slurm --time 1h --cpus 64 --mem ")
    assert many["script"].endswith("-- train built --topics 500")
    assert not (corpus / "sgmc-runs").exists()
    shown = typed("plan", "built", "-k", 5, "--threads", 64, "-q").stdout
    assert "useful threads" in shown
    assert "Gibbs sweeps" in shown
    assert "to use 64 threads, give --minibatch" in shown


def test_a_minibatch_beyond_the_corpus_is_told_and_is_an_epoch(corpus, monkeypatch):
    """Red with: iterations of a part of an epoch; a minibatch that no corpus has without a word."""
    monkeypatch.chdir(corpus)
    done = typed("plan", "built", "-k", 5, "--minibatch", 10**6, "--json", "-q")
    row = json.loads(done.stdout)
    assert (row["minibatch"], row["iterations"]) == (row["documents"], 1.0)
    shown = typed("plan", "built", "-k", 5, "--minibatch", 10**6, "-q").stdout
    assert f"--minibatch 1000000: the corpus has only {row['documents']:,} documents" in shown


@pytest.mark.parametrize(
    ("hours", "text"), [(0.0417, "150 s"), (0.001, "3.6 s"), (0.5, "0.5 h"), (1234, "1,200 h")]
)
def test_a_time_has_two_digits_and_no_exponent(hours, text):
    """Red with: 1.5e+02 s."""
    assert plan._time(hours) == text


def test_a_corpus_that_is_not_stored_is_refused(corpus):
    """Red with: texts that are read as a whole."""
    done = typed("plan", corpus / "texts.txt")
    assert done.exit_code == 65
    assert "sgmc corpus sample" in done.stderr


def test_half_of_the_time_is_busy_with_the_most_useful_threads():
    """Red with: threads that wait for most of an iteration; a minibatch that gives them no more."""
    needs = TrainingNeeds(10**6, 1000, 10**8, 100, 1000, 1000.0, {}, 0, 9.5 * ALONE, 20)
    assert needs.useful_threads == 10
    assert needs.enough_documents == 2000
    assert needs.hours() == pytest.approx(1000 * ALONE * (9.5 / 20 + 0.95) / 3600)
    assert needs._replace(seconds=1.0).useful_threads == 250


def test_slurm_warns_of_what_does_not_fit(corpus, monkeypatch):
    """Red without each of the warnings; with one of a job that fits."""
    monkeypatch.chdir(corpus)
    job = ("slurm", "--time", "1h", "--mem")
    many = typed(*job, "20M", "--cpus", 64, "--", "train", "built", "-k", 5)
    assert "--mem 20M: training needs about" in many.stderr
    assert "--cpus 64: " in many.stderr
    fits = typed(*job, "2G", "--cpus", 1, "--", "train", "built", "-k", 5)
    assert "warning" not in fits.stderr
    raw = typed(*job, "2G", "--nodes", 2, "--", "train", "--mpi", "texts.txt")
    assert "texts.txt: is not a stored corpus, so one of 2 processes has to read it" in raw.stderr


@pytest.mark.parametrize(("typed", "size"), [("64G", 64 << 30), ("800", 800 << 20), (None, None)])
def test_sizes_are_read_as_slurm_reads_them(typed, size):
    assert _bytes(typed) == size
