"""Topics over time from the command line: slices, scores, outputs, and identical bits."""

import csv
import json
import re
import signal

import numpy as np
import pytest
from faults.ranks import MPIEXEC
from fork_server import SGMC

from pysgrld.run.tensors import view

pytestmark = pytest.mark.cli

SLICES, K, V = 4, 3, 30
FAST = (
    *("-k", "3", "--max-df", "1.0", "--min-df", "1", "--holdout", "40", "--minibatch", "100", "-q"),
    *(
        "--set",
        "starts=1",
        "--sweeps",
        "4",
        "--set",
        "warm-up=30",
        "--set",
        "burn-in=40",
        "--set",
        "sample-every=2",
    ),
)


def documents(rng, number, slices):
    """Write documents of three themes of ten words; in the first theme, one word rises and one falls."""
    for d in range(number):
        t = slices[d % len(slices)]
        theme = (d // len(slices)) % K
        weights = np.full(V, 0.2)
        weights[10 * theme : 10 * theme + 10] = 6.0
        if theme == 0:
            weights[0], weights[1] = 1.0 + 6.0 * t, max(1.0, 19.0 - 6.0 * t)
        weights /= weights.sum()
        yield 1990 + t, " ".join(f"w{w:02d}" for w in rng.choice(V, 40, p=weights))


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "year"])
        writer.writerows((text, year) for year, text in rows)


@pytest.fixture(scope="module")
def dated(sgmc_module):
    """A corpus of four years, and a run on it."""
    sgmc_module.corpus = "news.csv"
    rng = np.random.default_rng(11)
    write(sgmc_module.folder / "news.csv", documents(rng, 600, range(SLICES)))
    write(sgmc_module.folder / "more.csv", documents(rng, 150, [SLICES]))
    train(sgmc_module, "run")
    return sgmc_module


def train(sgmc, out, *options, code=0, corpus="news.csv"):
    given = ("--time", "year", *FAST, "--iterations", "200", "--out", out)
    return sgmc("train", corpus, *given, *options, code=code)


def test_words_rise_and_fall_as_they_were_made_to(dated):
    """Red with: the slice of a document's row for that of another; slices in another order."""
    config = json.loads((dated.folder / "run" / "config.json").read_text())
    assert config["options"]["model"] == "dtm"
    assert config["options"]["slices"][1] == ["1990", "1991", "1992", "1993"]
    dated("export", "run", "--to", "csv", "-o", "tables", "--force")
    with (dated.folder / "tables" / "words-over-time.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["word"] in ("w00", "w01")]
    best = max(rows, key=lambda row: float(row["p"]))["topic"]
    p = {(r["word"], r["slice"]): r for r in rows if r["topic"] == best}
    for word, first, last in (("w00", 1.0, 19.0), ("w01", 19.0, 1.0)):
        of = [p[word, str(1990 + t)] for t in range(SLICES)]
        assert all(float(r["low"]) < float(r["p"]) < float(r["high"]) for r in of)
        values = [float(r["p"]) for r in of]
        assert np.sign(values[-1] - values[0]) == np.sign(last - first)
        assert max(values) > 2 * min(values)


def test_words_in_slices_on_a_terminal(dated):
    """Red with: a slice's words under another one's name; a word that rises among those that fall."""
    found = json.loads(dated("topics", "run", "--over-time", "--json").stdout)
    assert found["names"] == ["1990", "1991", "1992", "1993"]
    topic = next(t for t in found["topics"] if "w00" in t["slices"][-1])
    assert topic["slices"][0][0] == "w01"
    assert topic["slices"][-1][0] == "w00"
    change = {c["word"]: c for c in topic["changes"]}
    assert 1 < change["w00"]["low"] < change["w00"]["times"] < change["w00"]["high"]
    assert change["w01"]["high"] < 1
    shown = dated("topics", "run", "--over-time").stdout
    assert "        1990  w01 " in shown
    assert "       rises  w00 " in shown
    assert "       falls  w01 " in shown
    dated("train", "news.csv", *FAST, "--iterations", "40", "--out", "plain")
    said = dated("topics", "plain", "--over-time", code=2).stderr
    assert "do not change over time; train with --time COLUMN" in said


def test_an_effect_of_time_is_told_to_be_of_words_too(dated):
    assert "from changes of topics' words" in dated("effect", "run", "~ year").stderr


def test_a_document_is_scored_by_the_topics_of_its_slice(dated):
    """As if it were of another year it is predicted worse."""
    own = json.loads(dated("eval", "run", "--json").stdout)
    assert own["perplexity"] < own["unigram_perplexity"]
    rows = list(documents(np.random.default_rng(5), 300, range(SLICES)))
    write(dated.folder / "right.csv", rows)
    write(dated.folder / "wrong.csv", [(3980 + 3 - year, text) for year, text in rows])
    right, wrong = (
        json.loads(dated("eval", "run", "--corpus", f"{name}.csv", "--json").stdout)["perplexity"]
        for name in ("right", "wrong")
    )
    assert right < wrong - 0.5


def test_proportions_of_new_documents_need_their_time(dated):
    (dated.folder / "new.csv").write_text("text,year\nw00 w03 w04 w05,1990\nw10 w11,2050\n")
    dated("infer", "run", "new.csv", "-o", "theta.npy", "--force")
    theta = np.load(dated.folder / "theta.npy")
    assert theta.shape == (2, K)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-5)
    (dated.folder / "none.csv").write_text("text,year\nw00 w03,1990\nw10 w11,\n")
    for command in (
        ("infer", "run", "none.csv", "-o", "x.npy"),
        ("eval", "run", "--corpus", "none.csv"),
    ):
        said = dated(*command, code=65).stderr
        assert "none.csv:3: field 'year' (--time) has no value" in said


def test_the_page_has_topics_over_time(dated):
    dated("report", "run", "-o", "page.html", "--json", "facts.json", "--force", "-q")
    facts = json.loads((dated.folder / "facts.json").read_text())
    assert facts["slices"]["names"] == ["1990", "1991", "1992", "1993"]
    assert facts["slices"]["documents"] == [150] * SLICES
    assert len(facts["slices"]["topics"]) == K
    assert len(facts["topics"][0]["over_time"]["words"]) == 10
    assert "wordsOverTime" in (dated.folder / "page.html").read_text()


def test_a_killed_run_and_one_on_other_threads_have_the_same_bits(dated):
    train(dated, "part", "--iterations", "90")
    train(dated, "part", "--threads", "2")
    dated("export", "run", "--to", "npy", "-o", "a", "--draw", "last", "--force")
    dated("export", "part", "--to", "npy", "-o", "b", "--draw", "last", "--force")
    assert (dated.folder / "a" / "topics.npy").read_bytes() == (
        dated.folder / "b" / "topics.npy"
    ).read_bytes()


def test_exact_draws_stopped_and_on_other_threads_have_the_same_bits(dated):
    """Red with: a chain that forgets how far it is; all chains with the same randomness."""
    base = [option for option in FAST if option != "-q"]
    given = ("--time", "year", "--iterations", "60", "--exact-sweeps", "60", "--set", "samples=8")
    done = dated("train", "news.csv", *base, *given, "--threads", "1", "--out", "all")
    assert "  sgmc topics --over-time all\n" in done.stderr
    code, said = dated.stop_midway(
        *(signal.SIGTERM, *given, "--checkpoint-every", "1", "--threads", "2"),
        **{"base": base, "out": "killed", "word": "Gibbs refinement"},
    )
    assert code == 85
    stopped = re.search(r"stopped after Gibbs sweep (\d+)", said)
    assert stopped is not None
    assert int(stopped[1]) < 60
    last = max((dated.folder / "all" / "checkpoints").glob("step-*"))
    arrays = view(last / "state.safetensors")
    assert len({arrays[f"exact.{chain}.z"].tobytes() for chain in range(4)}) == 4
    assert "4 chains of Gibbs sampling with Metropolis steps, 60 sweeps" in said
    dated("train", "news.csv", *base, *given, "--threads", "3", "--out", "killed")
    for name in ("all", "killed"):
        dated("export", name, "--to", "npy", "-o", f"exact-{name}", "--force")
    a, b = (np.load(dated.folder / f"exact-{name}" / "topics.npy") for name in ("all", "killed"))
    np.testing.assert_array_equal(a, b)
    samples = sorted((dated.folder / "all" / "samples").iterdir())
    assert len({p.read_bytes() for p in samples}) == len(samples) == 8
    shown = " ".join(dated("diagnose", "all").stdout.split())
    assert "--exact-sweeps 1000" in shown  # sixty exact sweeps are too few


@pytest.mark.skipif(not MPIEXEC.exists(), reason="no launcher of ranks")
def test_ranks_have_the_bits_of_one_process(dated):
    given = (*("train", "news.csv", "--time", "year", *FAST), *("--iterations", "40"))
    dated(*given, "--out", "alone")
    dated.command, alone = (str(MPIEXEC), "-n", "2", str(SGMC)), dated.command
    try:
        dated(*given, "--mpi", "--out", "ranks", "--threads", "1")
    finally:
        dated.command = alone
    for name in ("alone", "ranks"):
        dated("export", name, "--to", "npy", "-o", f"of-{name}", "--draw", "last", "--force")
    assert (dated.folder / "of-alone" / "topics.npy").read_bytes() == (
        dated.folder / "of-ranks" / "topics.npy"
    ).read_bytes()


def test_a_corpus_that_has_grown_by_a_year_has_one_slice_more(dated):
    done = dated(
        *("train", "--from", "run", "more.csv", "--iterations", "120", "--holdout", "40", "-q"),
        *("--out", "grown"),
    )
    assert done.returncode == 0
    config = json.loads((dated.folder / "grown" / "config.json").read_text())
    assert config["options"]["slices"][1] == ["1990", "1991", "1992", "1993", "1994"]
    found = json.loads(dated("compare", "run", "grown", "--json").stdout)
    assert found


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--model", "dtm"), 2, "--model dtm needs --time: the column with the date"),
        (("--time", "month"), 65, "no document has a field 'month' (--time)"),
        (("--time", "text"), 65, "(--time) is 'w01 w04 w05"),
        (("--time", "year", "--slices", "month"), 2, "months need dates"),
        (("--time", "year", "--slices", "9"), 2, "only 4 different values; give 4 or fewer"),
        (
            ("--time", "year", "--eta", "0.1"),
            2,
            "--eta does not apply to --model dtm: word probabilities change",
        ),
        (
            ("--time", "year", "--algo", "mala", "--exact-sweeps", "9"),
            2,
            "--exact-sweeps does not apply",
        ),
        (("--time", "year", "--algo", "scir"), 2, "(implied by --time); choose from sgld, mala"),
        (("--slices", "4"), 2, "--slices does not apply to --model lda"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(dated, options, code, said):
    found = dated("train", "news.csv", *options, "--out", "refused", code=code).stderr
    assert said in found
    assert "Traceback" not in found
