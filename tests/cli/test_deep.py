"""Deep LDA from the command line: layers, topics, proportions, tree, and identical bits."""

import json

import numpy as np
import pytest

pytestmark = pytest.mark.cli

DEEP = (
    "--layers",
    "12,6,3",
    "--minibatch",
    "100",
    "--sweeps",
    "6",
    "--set",
    "burn-in=20",
    "--set",
    "sample-every=2",
)
LAYERS = (12, 6, 3)


@pytest.fixture(scope="module")
def deep(sgmc_module, quarter):
    sgmc_module(
        "train", quarter, *DEEP, "--set", "warm-up=20", "--iterations", "60", "--out", "run", "-q"
    )
    return sgmc_module


def exported(sgmc, run="run", *more):
    out = f"{run}-export{''.join(more)}"
    sgmc("export", run, "--to", "npy", "-o", out, "--force", "-q", *more)
    return np.load(sgmc.folder / out / "topics.npy")


def test_evaluation_has_the_papers_figure_beside_the_protocols(deep):
    found = json.loads(deep("eval", "run", "--json").stdout)
    last = json.loads((deep.folder / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    for name in ("perplexity", "rate_weighted_perplexity", "point_perplexity"):
        assert found[name] == last[name]
        assert 300 < found[name] < found["unigram_perplexity"]
    assert "rate weighted" in deep("eval", "run").stdout


def test_kept_samples_give_the_average_of_the_run(deep):
    """All samples are kept: layers and shapes are read back as they were.

    Red with: upper layers not transposed back.
    """
    own = json.loads(deep("eval", "run", "--json").stdout)
    parts = [f"run/holdout/{name}" for name in ("observed", "held-out")]
    again = json.loads(
        deep(
            "eval", "run", "--observed-corpus", parts[0], "--held-out-corpus", parts[1], "--json"
        ).stdout
    )
    assert again["samples"] == own["samples"] == 20
    assert again["perplexity"] == pytest.approx(own["perplexity"], rel=1e-3)
    assert again["point_perplexity"] == own["point_perplexity"]


@pytest.mark.parametrize(
    ("layer", "topics"),
    # the others as the third
    [*(pytest.param(*case, marks=pytest.mark.nightly) for case in ((1, 12), (2, 6))), (3, 3)],
)
def test_topics_of_every_layer_are_shown_as_words(deep, layer, topics):
    found = json.loads(deep("topics", "run", "--layer", layer, "--json").stdout)
    assert found["layer"] == layer
    assert len(found["topics"]) == topics
    assert sum(topic["weight"] for topic in found["topics"]) == pytest.approx(1.0)
    for topic in found["topics"]:
        for word in topic["words"]:
            assert word["low"] <= word["high"] < 1.0
    text = deep("topics", "run", "--layer", layer).stdout
    assert f"layer {layer} of 3" in text


def test_topics_above_are_mixtures_of_those_below(deep):
    first, second, third = (exported(deep, "run", "--layer", str(n)) for n in (1, 2, 3))
    assert [len(t) for t in (first, second, third)] == list(LAYERS)
    for above, below in ((second, first), (third, second)):
        np.testing.assert_allclose(above.sum(axis=1), 1.0, atol=1e-4)
        weights = np.linalg.lstsq(below.T.astype(float), above.T.astype(float), rcond=None)[0]
        np.testing.assert_allclose(weights.sum(axis=0), 1.0, atol=1e-2)
        np.testing.assert_allclose(below.T @ weights, above.T, atol=1e-5)


def test_the_tree_has_edges_three_times_above_an_even_split(deep):
    found = json.loads(deep("topics", "run", "--tree", "--json").stdout)["tree"]

    def check(node, layer):
        assert node["layer"] == layer
        shares = [child["share"] for child in node["children"]]
        assert shares == sorted(shares, reverse=True)
        assert all(share >= 3 / LAYERS[layer - 2] for share in shares)
        assert sum(shares) <= 1.0001
        for child in node["children"]:
            check(child, layer - 1)

    for node in found:
        check(node, 3)
    shares = [node["share"] for node in found]
    assert 0.95 <= sum(shares) <= 1.0001
    text = deep("topics", "run", "--tree").stdout
    assert " ".join(found[0]["words"]) in text
    deep("topics", "run", "--tree", "--layer", "2", code=2)


def test_proportions_of_every_layer(deep, quarter):
    for layer, topics in enumerate(LAYERS, 1):
        deep("infer", "run", quarter, "-o", f"t{layer}.npy", "--layer", layer, "-q")
        theta = np.load(deep.folder / f"t{layer}.npy")
        assert theta.shape == (298, topics)
        np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-5)
    assert deep("infer", "run", quarter, "--layer", "4", code=2).stderr.count("\n") == 1


def test_a_document_without_known_words_gets_the_prior(deep):
    (deep.folder / "none.txt").write_text("xyzzy plugh\nlord god\n")
    rows = deep("infer", "run", "none.txt", "--layer", "3", "-q").stdout.splitlines()
    first, second = (np.array(json.loads(row)["topics"]) for row in rows)
    samples = json.loads(deep("topics", "run", "--tree", "--json").stdout)["tree"]
    shares = {node["id"]: node["share"] for node in samples}
    for k, share in shares.items():
        assert first[k] == pytest.approx(share, rel=1e-3)
    assert not np.allclose(first, second, atol=1e-3)


@pytest.mark.parametrize(
    "algo",
    # by day tests/unit/test_contract.py stores the chains of the others
    ["scir", *(pytest.param(a, marks=pytest.mark.nightly) for a in ("tlasgr", "smld", "gibbs"))],
)
def test_threads_and_a_resume_change_nothing(sgmc, quarter, algo):
    """Red with: totals of full-batch documents left out of the checkpoint; M of tlasgr likewise."""
    options = ["--layers", "10,5", "--algo", algo, "--set", "burn-in=4", "--seed", "3"]
    if algo != "gibbs":
        options += ["--minibatch", "150", "--sweeps", "4", "--set", "warm-up=5"]
    if algo.startswith("tl"):
        options += ["--set", "warm-up=0"]
    train = ("train", quarter, *options, "-q", "--iterations")
    sgmc(*train, 12, "--threads", "1", "--out", "one")
    sgmc(*train, 12, "--threads", "3", "--out", "three")
    for stop in (5, 9):  # at the end of the warm-up, and after it
        sgmc(*train, stop, "--threads", "2", "--out", "two")
    sgmc(*train, 12, "--threads", "2", "--out", "two")
    whole = [exported(sgmc, run, "--layer", "2").tobytes() for run in ("one", "two", "three")]
    assert len(set(whole)) == 1
    figures = [json.loads(sgmc("eval", run, "--json").stdout) for run in ("one", "two", "three")]
    assert len({f["rate_weighted_perplexity"] for f in figures}) == 1
    assert len({f["perplexity"] for f in figures}) == 1


def test_a_killed_run_goes_on_to_the_same_topics(sgmc, quarter):
    train = (
        "train",
        quarter,
        *DEEP,
        "--set",
        "warm-up=20",
        "--iterations",
        "80",
        "--checkpoint-every",
        "7",
    )
    sgmc(*train, "--out", "whole", "-q")
    sgmc.kill_at("commit.rename:4", *train, "--out", "killed")
    sgmc(*train, "--out", "killed", "-q")
    assert exported(sgmc, "whole", "--layer", "3").tobytes() == (
        exported(sgmc, "killed", "--layer", "3").tobytes()
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--layers", "8,16"], "layer 2 has 16 topics, more than the 8 topics of layer 1"),
        (["--layers", "9,8,7,6,5,4,3,2,1"], "9 layers; the maximum is 8"),
        (["--layers", "8,x"], "not a whole number"),
        (["--layers", ""], "not a whole number"),
        (["--layers", "8,4", "-k", "8"], "--layers and --topics both"),
        (["--layers", "8,4", "--alpha", "0.1"], "--alpha does not apply to --model dlda"),
        (["--layers", "8,4", "--model", "lda"], "--layers does not apply to --model lda"),
        (["--link", "binary"], "--link does not apply to --model lda"),
        (["--layers", "8,4", "--link", "tweedie"], "not one of counts, binary, real"),
        (["--layers", "8,4", "--eta", "1,2,3"], "--eta has 3 numbers"),
        (["--eta", "1,2"], "--eta has 2 numbers"),
        (["--layers", "8,4", "--set", "p-prior=1"], "not A0,B0"),
        (["--layers", "8,4", "--set", "c-prior=0,1"], "not a number greater than 0"),
        (
            ["--layers", "8,4", "--set", "r-rate-prior=1,1"],
            "--set r-rate-prior does not apply to --algo scir",
        ),
        (["--set", "scale-weight=1,1,0"], "--set scale-weight does not apply to --algo scir"),
        (
            ["--sweeps", "4", "--set", "kept-sweeps=5"],
            "--set kept-sweeps=5 is greater than --sweeps 4",
        ),
        (
            ["--preset", "dlda-2017", "--algo", "scir"],
            "--preset dlda-2017 applies only to --algo tlasgr",
        ),
    ],
)
def test_bad_options_are_one_line_before_anything_is_read(sgmc, options, said):
    done = sgmc("train", "no-such-corpus.txt", *options, code=2)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_more_topics_than_the_data_can_fill_are_warned_of(sgmc):
    (sgmc.folder / "tiny.txt").write_text("alpha beta\nbeta gamma\nalpha gamma\ngamma delta\n" * 3)
    done = sgmc(
        "train",
        "tiny.txt",
        "--layers",
        "64,8",
        "--iterations",
        "5",
        "--min-df",
        "1",
        "--max-df",
        "1.0",
    )
    assert "layer 1 has 64 topics for 4 words" in done.stderr


def test_a_corpus_of_one_word_is_learned(sgmc):
    (sgmc.folder / "one.txt").write_text("word word word\nword\nword word\n" * 5)
    sgmc("train", "one.txt", "--layers", "4,2", "--iterations", "30", "--max-df", "1.0", "-q")
    found = json.loads(sgmc("eval", "--json").stdout)
    assert found["perplexity"] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("link", ["binary", pytest.param("real", marks=pytest.mark.nightly)])
def test_links_of_other_data_train_resume_and_infer(sgmc, quarter, link):
    train = ("train", quarter, *DEEP, "--set", "warm-up=10", "--link", link, "-q", "--iterations")
    sgmc(*train, 25, "--out", "whole")
    sgmc(*train, 12, "--out", "parts")
    sgmc(*train, 25, "--out", "parts")
    assert exported(sgmc, "whole").tobytes() == exported(sgmc, "parts").tobytes()
    sgmc("infer", "whole", quarter, "-o", "t.npy", "-q")
    assert np.isfinite(np.load(sgmc.folder / "t.npy")).all()
