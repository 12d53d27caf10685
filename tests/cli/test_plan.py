"""``sgmc plan``: the needs of a training, and the warnings of ``sgmc slurm`` based on them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main, plan
from pysgrld.cli.slurm import _bytes
from pysgrld.train.estimate import ALONE, MOST, SHARE, RankLayout, TrainingNeeds

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
    assert few["layout"]["cpus"] < many["layout"]["cpus"]
    totals = [row["refinement_hours"] * row["layout"]["cpus"] for row in (few, many)]
    assert totals[0] < totals[1]
    assert "Gibbs sweeps" not in typed("plan", "built", "--exact-sweeps", 0, "-q").stdout
    assert many["script"].startswith(f"sgmc slurm --time 1h --cpus {many['useful_threads']} --mem ")
    assert many["script"].endswith("-- train built --topics 500")
    assert not (corpus / "sgmc-runs").exists()
    shown = typed("plan", "built", "-k", 5, "--threads", 64, "-q").stdout
    assert "useful threads" in shown
    assert "Gibbs sweeps" in shown
    assert f"to use {MOST} threads, give --minibatch" in shown
    assert f"to use more than {MOST} threads, give several chains (--chains), or ranks" in shown


def test_a_sample_is_planned_as_the_corpus_that_it_is_a_sample_of(corpus, monkeypatch):
    """Red with: needs of the sample; texts refused; steps left out; a plan that reads on."""
    monkeypatch.chdir(corpus)
    many = ("--documents", 10**6 + 30, "-k", 5, "--threads", 64)
    row = json.loads(typed("plan", "built", *many, "--json", "-q").stdout)
    small = json.loads(typed("plan", "built", "-k", 5, "--threads", 64, "--json", "-q").stdout)
    assert row["documents"] == 10**6
    assert row["tokens"] == small["tokens"] * 10**6 // small["documents"]
    assert row["corpus"] > 3000 * small["corpus"]
    assert row["hours_per_epoch"] > 100 * small["hours_per_epoch"]
    steps = row["script"].splitlines()
    assert steps.pop(0).startswith("# FILES: all input files; --array is at most their number")
    assert all(" --mem " in step for step in steps)
    assert [step.split(" -- ")[1].split(" FILES")[0] for step in steps] == [
        "corpus build",
        "corpus merge built-2",
        "train built-2 --topics 5 --out runs/all",
        "infer runs/all built-2 -o theta/ --top 8 --part {i}/{n}",
    ]
    assert "--array 1 " in steps[0]
    assert "--vocab built/vocab.txt" in steps[0]
    texts = "\n".join(f"{a * 4} {b * 4} {a * 4}{b * 4}" for a in "abcdef" for b in "ghijk")
    (corpus / "raw.txt").write_text(texts)
    raw = typed("plan", "raw.txt", "--documents", 10**8, "-k", 2, "-q")
    assert "sgmc corpus build raw.txt -o sample\n# FILES" in raw.stdout
    assert "sgmc slurm --time 2h --array 100 " in raw.stdout
    assert "--vocab sample/vocab.txt" in raw.stdout
    ranks = typed("plan", "built", *many, "--minibatch", 10**5, "-q").stdout
    assert "--nodes 1 --ranks-per-node 3 --cpus 21" in ranks
    assert "with 3 ranks of 21 threads" in ranks
    assert "not tested: ranks over a network" in ranks
    few = typed("plan", "built", *many, "--minibatch", 90_000, "-q").stdout
    assert f"--cpus {MOST} " in few
    assert "--mpi built" not in few
    assert "-- train --mpi built-2 --topics 5 --minibatch 100000 --out runs/all" in ranks


def test_the_options_by_which_a_sample_is_read_are_in_the_scripts(tmp_path, monkeypatch):
    """Red with: options of reading refused; shards of another field, or of a folder that exists."""
    monkeypatch.chdir(tmp_path)
    words = [f"{a * 4}{b * 3}" for a in "abcdef" for b in "ghijk"]
    rows = [{"id": i, "abstract": " ".join(words[i:] * 2), "title": words[0]} for i in range(20)]
    (tmp_path / "sample.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "sample").mkdir()
    given = ("--documents", 10**6, "-k", 2, "--text-field", "title,abstract", "--min-df", 1)
    shown = typed("plan", "sample.jsonl", *given, "--max-df", "1.0", "-q")
    assert shown.exit_code == 0, shown.output
    lines = [line for line in shown.stdout.splitlines() if line.startswith("sgmc ")]
    read = "--min-df 1 --max-df 1.0 --text-field title,abstract"
    assert lines[0] == f"sgmc corpus build sample.jsonl {read} -o sample-2"
    assert "build FILES --text-field title,abstract --vocab sample-2/vocab.txt -o built" in lines[1]
    assert lines[3].endswith("-- train built --topics 2 --out runs/all")
    done = typed("corpus", "build", "sample.jsonl", *given[4:], "--max-df", "1.0", "-o", "built")
    assert done.exit_code == 0, done.output
    shown = typed("plan", "built", "--documents", 10**6, "-k", 2, "-q").stdout
    assert "build FILES --text-field title,abstract --vocab built/vocab.txt -o built-2" in shown


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
    assert "--documents N" in done.stderr


@pytest.mark.parametrize(
    ("threads", "cores", "layout"),
    [(128, None, (1, 6, 21)), (128, 64, (2, 3, 21)), (128, 16, (6, 1, 16)), (8, 64, (1, 1, 8))],
)
def test_ranks_are_on_nodes_that_have_their_cores(threads, cores, layout):
    """Red with: 126 cores on one node; more processors in a process than are busy."""
    needs = TrainingNeeds(10**7, 1000, 10**9, 100, 10**5, 100.0, {}, 0, 100.0, threads)
    assert RankLayout.of(needs, cores) == layout
    assert RankLayout.of(needs._replace(minibatch=400), cores).all_ranks == 1


def test_a_much_faster_minibatch_is_named(corpus, monkeypatch):
    """Red with: hours of a small minibatch alone, most of which are updates of topics."""
    monkeypatch.chdir(corpus)
    needs = TrainingNeeds(10**7, 1000, 10**9, 100, 1000, 1e4, {}, 0, 0.5, 20, update=0.4)
    other = needs.with_minibatch(100_000)
    assert other.seconds == pytest.approx(10.4)
    assert other.iterations == 100
    given = ("plan", "built", "-k", 5000, "--threads", 2, "--minibatch", 1, "-q", "--documents")
    assert "--minibatch 100000: 60 epochs in about" in typed(*given, 2 * 10**7).stdout
    assert "--minibatch 100000: 60 epochs" not in typed(*given, 10**6).stdout


def test_a_sample_whose_words_still_grow_is_named(tmp_path, monkeypatch):
    """Red with: hours for the words of a sample of any size, without a warning."""
    monkeypatch.chdir(tmp_path)
    given = ("-k", 2, "--min-df", 1, "--max-df", "1.0", "--documents", 10**6, "-q")
    names = [f"{a * 4}{b * 3}" for a in "abcdefghij" for b in "klmnopqrst"]
    for name, kinds in (("few", 10), ("many", 100)):
        texts = [" ".join(names[i % kinds : i % kinds + 5]) for i in range(100)]
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n")
    few, many = (typed("plan", f"{name}.txt", *given) for name in ("few", "many"))
    assert "the sample is too small for its words" not in few.stderr, few.output
    assert "% of the tokens in its second half have words" in many.stderr, many.output


def test_half_of_the_time_is_busy_with_the_most_useful_threads():
    """Red with: threads that wait for most of an iteration; a minibatch that gives them no more."""
    needs = TrainingNeeds(10**6, 1000, 10**8, 100, 1000, 1000.0, {}, 0, 9.5 * ALONE, 20)
    assert needs.useful_threads == 10
    assert needs.enough_documents == 2000
    assert needs.hours() == pytest.approx(1000 * ALONE * (9.5 / 20 + 0.95) / 3600)
    assert needs._replace(seconds=0.001 * ALONE, minibatch=8).useful_threads == 1


def test_speed_up_has_the_ceiling_of_the_page_on_performance():
    """Docs: 6.1 times on 8 threads and 13 on 32. Red with: an iteration of any number of threads."""
    for seconds in (ALONE / SHARE, 100.0):
        needs = TrainingNeeds(10**6, 1000, 10**8, 100, 10**5, 10.0, {}, 0, seconds, 1)
        faster = [needs.hours() / needs._replace(threads=t).hours() for t in (8, 32)]
        assert faster == pytest.approx([6.1, 13.4], abs=0.05)
        assert needs.useful_threads == MOST


def test_slurm_warns_of_what_does_not_fit(corpus, monkeypatch):
    """Red without each warning; with one of a job that fits, or the same minibatch as advice."""
    monkeypatch.chdir(corpus)
    job = ("slurm", "--time", "1h", "--mem")
    many = typed(*job, "20M", "--cpus", 64, "--", "train", "built", "-k", 5)
    assert "--mem 20M: training needs about" in many.stderr
    assert "--cpus 64: " in many.stderr
    whole = typed(*job, "2G", "--cpus", 64, "--", "train", "built", "-k", 5, "--minibatch", 270)
    assert whole.stderr.splitlines()[0].endswith(" busy; give fewer --cpus")
    # No minibatch makes more than MOST threads useful.
    many = typed(*job, "2G", "--cpus", MOST + 9, "--", "train", "built", "-k", 500)
    assert "give fewer --cpus" in many.stderr
    assert ("--minibatch" in many.stderr) == (f" only {MOST} processors" not in many.stderr)
    fits = typed(*job, "2G", "--cpus", 1, "--", "train", "built", "-k", 5)
    assert "warning" not in fits.stderr
    raw = typed(*job, "2G", "--nodes", 2, "--", "train", "--mpi", "texts.txt")
    assert "texts.txt: is not a stored corpus, so one of 2 processes has to read it" in raw.stderr


@pytest.mark.parametrize(("typed", "size"), [("64G", 64 << 30), ("800", 800 << 20), (None, None)])
def test_sizes_are_read_as_slurm_reads_them(typed, size):
    assert _bytes(typed) == size
