"""A Dirichlet-process mixture from the command line: scores, components, identical bits."""

import json
import signal

import numpy as np
import pytest

from .conftest import BIBLE

pytestmark = pytest.mark.cli

MIXTURE = (
    "--model",
    "dpmm",
    "--minibatch",
    "50",
    "--set",
    "dp-start=6",
    "--set",
    "burn-in=20",
    "--set",
    "sample-every=2",
)


def figures(sgmc, *args):
    return json.loads(sgmc("eval", *args, "--json").stdout)


@pytest.fixture(scope="module")
def mixture(sgmc_module):
    sgmc_module.train(*MIXTURE, "--iterations", "80", "-q", base=())
    return sgmc_module


def test_its_score_stands_beside_the_unigrams(mixture):
    found = figures(mixture, "run")
    last = json.loads((mixture.folder / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    for name in ("log_predictive", "point_log_predictive", "unigram_log_predictive"):
        assert found[name] == pytest.approx(last[name], rel=1e-12)
    assert found["log_predictive"] < found["point_log_predictive"]
    assert found["point_log_predictive"] < found["unigram_log_predictive"]
    assert "perplexity" not in found
    assert "perplexity" not in last
    assert found["samples"] == 30
    assert found["observed_fraction"] is None
    numbers = [found[name] for name in ("components", "components_of_ten")]
    assert numbers == [last[name] for name in ("components", "components_of_ten")]
    shown = mixture("eval", "run").stdout
    assert f"{found['log_predictive']:,.0f} ± {found['log_predictive_se']:,.0f}" in shown
    assert "lower is better" in shown
    said = "{} components, {} with at least ten documents".format(*numbers)
    assert said in shown
    assert said in mixture("topics", "run").stdout.splitlines()[0]
    assert 2 <= last["components"] < 40
    assert last["concentration"] > 0


def test_kept_samples_on_the_same_documents_give_the_average_of_the_run(mixture):
    """Red with: documents split; the rest of the stick not kept with a sample."""
    own, again = (
        figures(mixture, "run"),
        figures(mixture, "run", "--corpus", "run/holdout/held-out"),
    )
    assert own["log_predictive"] == pytest.approx(again.pop("log_predictive"), rel=1e-12)
    assert own == own | again
    assert not (mixture.folder / "run" / "holdout" / "observed").exists()


def test_components_have_documents_and_weights(mixture):
    found = json.loads(mixture("topics", "run", "--json").stdout)
    config = json.loads((mixture.folder / "run" / "config.json").read_text())
    components = found["topics"]
    assert sum(c["documents"] for c in components) == config["corpus"]["training_documents"]
    assert all(c["documents"] > 0 and c["words"][0]["low"] is None for c in components)
    weights = [c["weight"] for c in components]
    assert [c["id"] for c in components] == sorted(c["id"] for c in components)
    assert 0.9 < sum(weights) < 1.0
    last = json.loads((mixture.folder / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    assert len(components) == last["components"]
    assert sum(c["documents"] >= 10 for c in components) == last["components_of_ten"]
    text = mixture("topics", "run").stdout
    assert text.splitlines()[2].startswith("component  weight  documents")
    coherence = figures(mixture, "run", "--coherence")["coherence"]["topics"]
    assert {t["id"] for t in coherence} == {c["id"] for c in components}


@pytest.mark.parametrize("form", ["npy", "safetensors"])
def test_an_export_has_the_weights_beside_the_components(mixture, form):
    out = f"export-{form}"
    mixture("export", "run", "--to", form, "-o", out, "-q")
    if form == "npy":
        topics, weights = (
            np.load(mixture.folder / out / f"{n}.npy") for n in ("topics", "weights")
        )
    else:
        from pysgrld.run.tensors import view

        found = view(mixture.folder / out / "topics.safetensors")
        topics, weights = found["topics"], found["weights"]
    np.testing.assert_allclose(topics.sum(axis=1), 1.0, rtol=1e-4)
    assert weights.shape == (len(topics),)
    shown = json.loads(mixture("topics", "run", "--words", "probable", "--json").stdout)["topics"]
    for component in shown:
        assert weights[component["id"]] == pytest.approx(component["weight"], rel=1e-6)
        first = component["words"][0]
        assert topics[component["id"]].max() == pytest.approx(first["probability"], rel=1e-6)


def test_proportions_are_probabilities_of_components(mixture):
    """By hand, from what is exported. Red with: weights left out; an empty document without them."""
    mixture("export", "run", "--to", "npy", "-o", "hand", "-q", "--force")
    topics, weights = (np.load(mixture.folder / "hand" / f"{n}.npy") for n in ("topics", "weights"))
    words = (mixture.folder / "hand" / "vocab.txt").read_text().split()
    (mixture.folder / "new.txt").write_text(f"xyzzy\n{words[3]} {words[3]} {words[9]}\n")
    rows = mixture("infer", "run", "new.txt", "-q").stdout.splitlines()
    found = np.array([json.loads(row)["topics"] for row in rows])
    np.testing.assert_allclose(found[0], weights / weights.sum(), rtol=1e-5, atol=1e-9)
    likely = weights.astype(float) * topics[:, 3].astype(float) ** 2 * topics[:, 9]
    np.testing.assert_allclose(found[1], likely / likely.sum(), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize(
    "algo",
    # by day tests/unit/test_contract.py stores the chains of the others
    ["scir", *(pytest.param(a, marks=pytest.mark.nightly) for a in ("sgrld", "gibbs"))],
)
def test_threads_and_a_kill_change_nothing(sgmc, algo):
    """Red with: documents of a minibatch keyed by their place in it; new components not stored."""
    base = (
        "--model",
        "dpmm",
        "--algo",
        algo,
        "--set",
        "dp-start=6",
        "--set",
        "burn-in=10",
        "--iterations",
        "60",
    )
    base += () if algo == "gibbs" else ("--minibatch", "200")
    given = {"base": base}
    sgmc.train(out="whole", **given)
    sgmc.stop_midway(signal.SIGKILL, "--checkpoint-every", "7", word="log predictive", **given)
    done = sgmc.train("--threads", "3", **given)
    assert "resumes from iteration" in done.stderr
    assert sgmc.topics_hash() == sgmc.topics_hash("whole")
    one, two = figures(sgmc, "run"), figures(sgmc, "whole")
    assert one["log_predictive"] == two["log_predictive"]
    kept = [
        sorted((p.name, p.read_bytes()) for p in (sgmc.folder / run / "samples").iterdir())
        for run in ("run", "whole")
    ]
    assert kept[0] == kept[1]


def test_it_settles_by_its_score(sgmc):
    """Red with: the score itself within half a percent, which nats always are."""
    base = (
        "--model",
        "dpmm",
        "--algo",
        "gibbs",
        "--set",
        "dp-start=6",
        "--set",
        "dp-conc=sticks",
        "--set",
        "sample-every=1",
        "--set",
        "burn-in=20",
    )
    done = sgmc.train(base=base)
    line = next(x for x in done.stderr.splitlines() if "converged: " in x)
    now, before = (
        float(line.split(name)[1].split()[0].strip(",").replace(",", ""))
        for name in ("converged: held-out minus log predictive ", "(")
    )
    found = figures(sgmc, "run")
    exactly = found["log_predictive"]
    assert now == pytest.approx(exactly, abs=0.5)  # shown to the digits that its error leaves
    assert 1.0 - np.exp((exactly - before) * found["documents"] / found["held_out_tokens"]) < 0.005


def test_the_published_settings_are_a_preset(sgmc):
    """SCIR and SGRLD have different priors and starts there, and components are reused."""
    base = ("--preset", "dpmm-2018", "--iterations", "3", "--set", "burn-in=1", "-q")
    for algo, eta, start, steps in (
        ("scir", 0.5, 20, (0.1, 0.1)),
        ("sgrld", 0.001, 30, (0.001, 0.005)),
    ):
        sgmc("train", BIBLE, *base, "--algo", algo, "--out", algo)
        options = json.loads((sgmc.folder / algo / "config.json").read_text())["options"]
        assert (options["model"], options["eta"], options["dp-start"]) == ("dpmm", eta, start)
        assert (options["step-size"][0], options["dp-stick-step"]) == steps
        assert options["dp-reuse"] == "on"
        assert options["minibatch"] == 1000
    sgmc.train("--algo", "gibbs", out="no", base=base, code=2)


@pytest.mark.nightly  # by day those of a factorisation: tests/cli/test_chains.py
def test_several_chains(sgmc):
    sgmc.train("--chains", "2", base=(*MIXTURE, "--iterations", "30"))
    one, two = (figures(sgmc, f"run/chain-{i}")["log_predictive"] for i in (1, 2))
    assert one != two
    assert one == pytest.approx(two, rel=0.1)
    found = json.loads(sgmc("diagnose", "run", "--json").stdout)
    assert found["topics"] == []
    names = [q["name"] for q in found["quantities"]]
    assert names[:3] == ["components", "components_of_ten", "effective"]
    assert found["prediction"]["log_probability"] == pytest.approx([-one, -two], rel=0.05)
    shown = sgmc("diagnose", "run", "--picture", "d.png").stdout
    assert "effective components" in shown
    assert "Components differ from draw to draw" in shown
    assert (sgmc.folder / "d.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("topics", "run", "--intervals"), "components differ between samples"),
        (("export", "run", "--to", "npy", "-o", "all", "--draw", "all"), "and vary in number"),
        (
            ("eval", "run", "--corpus", "new.txt", "--observed", "0.5"),
            "a mixture scores whole documents",
        ),
        (("eval", "run", "--corpus", "new.txt", "--seed", "1"), "a mixture scores whole documents"),
        (("eval", "run", "--observed-corpus", "a", "--held-out-corpus", "b"), "--corpus FILE"),
        (("infer", "run", "new.txt", "--layer", "2"), "has 1 layer"),
        (("topics", "run", "--tree"), "the components of run do not use other topics"),
    ],
)
def test_what_a_mixture_cannot_give_is_refused(mixture, args, said):
    (mixture.folder / "new.txt").write_text("god lord\n")
    done = mixture(*args, code=2)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-k 20", "the number of components is learned"),
        ("--sweeps 3", "one component"),
        ("--set warm-up=5", "--set dp-start"),
        ("--set observed=0.5", "scored as a whole"),
        ("--set observed-corpus=a --set held-out-corpus=b", "--holdout-corpus"),
        ("--corpus-size 1000", "must be stored, too"),
        ("--algo smld", "choose from scir, sgrld, gibbs"),
        ("--algo cgs", "choose from scir, sgrld, gibbs"),
        ("--layers 3,2", "--layers does not apply to --model dpmm"),
        (
            "--algo gibbs --set dp-stick-step=1",
            "--set dp-stick-step does not apply to --algo gibbs",
        ),
        (
            "--algo gibbs --set dp-swaps=on",
            "--set dp-swaps does not apply to --algo gibbs, because its components have no order",
        ),
        ("--set dp-prior=1", "two numbers"),
        ("--set dp-start=0", "--set dp-start"),
        ("--set dp-conc=none", "sticks, ew"),
        ("--alpha 0.1", "--alpha does not apply to --model dpmm"),
    ],
)
def test_options_that_a_mixture_has_no_use_for_are_refused(sgmc, options, said):
    done = sgmc("train", sgmc.corpus, "--model", "dpmm", *options.split(), code=2)
    assert said in done.stderr
    assert not (sgmc.folder / "sgmc-runs").exists()


def test_options_of_mixtures_are_refused_elsewhere(sgmc):
    for option in (("--set", "dp-start=5"), ("--set", "dp-conc=ew"), ("--set", "dp-prior=1,1")):
        done = sgmc("train", sgmc.corpus, *option, code=2)
        name = option[1].partition("=")[0]
        assert f"--set {name} does not apply to --model lda" in done.stderr
