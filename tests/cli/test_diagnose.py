"""``sgmc diagnose`` as users type it."""

import json
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main

from .conftest import SMALL

pytestmark = pytest.mark.cli

ALL = "sgmc-runs/bible-scir"


def parsed(done):
    """JSON from standard output, and nothing else there."""
    return json.loads(done.stdout, parse_constant=lambda name: pytest.fail(name))


def test_the_latest_chains_are_diagnosed(several):
    done = several("diagnose")
    lines = done.stdout.splitlines()
    assert "".join(lines[:2]).startswith(
        f"{ALL}: 3 chains (chain-1, chain-2, chain-3), scir, 8 samples"
    )
    table = lines[: lines.index("", 4)]
    assert sorted(int(line.split()[0]) for line in table[-8:]) == list(range(8))
    mean = np.mean(parsed(several("diagnose", "--json"))["prediction"]["log_probability"])
    assert f"held-out log probability of a token: {mean:.1f}" in done.stdout
    assert "the same in all 3 chains" in done.stdout.replace("\n  ", " ")
    assert "Only 8 samples per chain are available" in done.stdout
    assert max(map(len, lines)) <= 80
    assert done.stdout == several("diagnose", ALL, "--threads", "1").stdout


def test_json_has_all_numbers(several):
    found = parsed(several("diagnose", "--json", "--top", "4"))
    assert len(found["topics"]) == 8
    assert found["iterations"] == list(range(25, 61, 5))
    for topic in found["topics"]:
        assert len(topic["words"]) == 4
        assert len(topic["counterparts"]) == len(topic["weight"]) == 3
        assert topic["counterparts"][0] == topic["id"]
        assert 0 <= topic["overlap"] <= 1
        assert topic["same"] == (topic["overlap"] >= 0.7)
        assert topic["overlaps"][0] == 1.0
        assert 1 <= topic["found"] <= sum(overlap >= 0.7 for overlap in topic["overlaps"])
        assert (topic["found"] == 3) == topic["same"]
        measures = [topic["weight_measure"], *(word["measure"] for word in topic["words"])]
        assert topic["rhat"] == max(m["rhat"] for m in measures)
        assert topic["ess"] == min(min(m["ess_bulk"], m["ess_tail"]) for m in measures)
    for chain in range(3):
        assert sum(t["weight"][chain] for t in found["topics"]) == pytest.approx(1)
        assert sorted(t["counterparts"][chain] for t in found["topics"]) == list(range(8))
    assert np.array(found["prediction"]["traces"]).shape == (3, 8)
    assert found["verdict"][0] in several("diagnose").stdout.replace("\n  ", " ")


def test_the_log_probability_of_draws_is_that_of_the_runs_own_documents(several):
    """Averaging probabilities can only help: the run's perplexity is below every draw's."""
    found = parsed(several("diagnose", "--json"))
    own = parsed(several("eval", f"{ALL}/chain-1", "--json"))
    each = np.exp(-np.array(found["prediction"]["traces"][0]))
    assert own["perplexity"] < each.min()
    assert each.max() < own["unigram_perplexity"]


def test_some_runs_or_one_may_be_named(several):
    pair = parsed(several("diagnose", f"{ALL}/chain-3", "bible-scir/chain-1", "--json"))
    assert [name.rsplit("/", 1)[1] for name in pair["runs"]] == ["chain-3", "chain-1"]
    one = several("diagnose", f"{ALL}/chain-2").stdout
    assert "another chain may find other" in " ".join(one.split())
    assert "in both halves of the chain" in one.replace("\n  ", " ")


def test_a_picture_is_drawn(several, tmp_path):
    several("diagnose", "--picture", tmp_path / "p.png", "-q")
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    several("diagnose", f"{ALL}/chain-1", "--picture", tmp_path / "one.PNG", "-q")


def test_without_matplotlib_a_picture_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("pysgrld.reading.plotting.find_spec", lambda name: None)
    done = CliRunner().invoke(main, ["diagnose", "--picture", "p.png"], prog_name="sgmc")
    assert done.exit_code == 2
    assert "--picture needs matplotlib: pip install matplotlib" in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["nothing"], 66, "nothing: is not a run"),
        ([ALL, f"{ALL}/chain-1"], 2, "are the same chain (seed 0, chain 1)"),
        ([ALL, "--layer", "2"], 2, "--layer 2: the model of"),
        ([ALL, "--top", "0"], 2, "--top"),
        ([ALL, "--burn-in", "50"], 66, "have stored in common 2 posterior samples"),
        ([ALL, "--picture", "p.pdf"], 2, "name a file that ends in .png"),
        ([ALL, "--picture", "sgmc-runs/latest/p.png"], 73, "cannot be created"),
    ],
)
def test_bad_input_is_said_in_one_line(several, args, code, said):
    done = several("diagnose", *args, code=code)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_runs_that_are_no_chains_of_each_other_are_refused(sgmc, several):
    sgmc.train("--alpha", "0.3")
    done = sgmc("diagnose", "run", several.folder / ALL, code=78)
    assert "only --seed and --chain-id may differ" in done.stderr
    assert "  alpha: 0.3 -> 0.1" in done.stderr.splitlines()


def longer(sgmc, run):
    """Follow the advice of a run's diagnosis literally."""
    said = sgmc("diagnose", run).stdout
    assert "too few for a judgement: R-hat and ESS mean little" in " ".join(said.split())
    assert "No shared topic has mixed" not in said
    assert "R-hat of their log probability" not in said
    (command,) = said.partition("Train longer with:\n")[2].splitlines()
    assert command.startswith("  sgmc train --resume ")
    return sgmc(*shlex.split(command)[1:]).stderr


def test_the_command_that_is_advised_goes_on_with_the_run(sgmc, quarter):
    """The corpus is gone meanwhile. Red with: a new run; the options or the corpus not the run's own."""
    corpus = shutil.copy(quarter, sgmc.folder)
    sgmc("train", corpus, *SMALL, "--seed", "3", "--out", "a run")
    Path(corpus).unlink()
    assert "a run: training resumes from iteration 60" in longer(sgmc, "a run")
    lines = (sgmc.folder / "a run" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["iteration"] == 120
    assert not (sgmc.folder / "sgmc-runs").exists()


def test_the_command_that_is_advised_goes_on_with_all_chains(sgmc):
    """Red with: a command for one run of a folder of chains."""
    sgmc.train("--chains", "2", out="both")
    said = longer(sgmc, "both")
    for chain in ("both/chain-1", "both/chain-2"):
        assert f"{chain}: training resumes from iteration 60" in said


def test_training_without_a_corpus_or_a_run_says_what_is_missing(sgmc):
    assert "CORPUS is missing" in sgmc("train", code=2).stderr
    assert "nothing: is not a run" in sgmc("train", "--resume", "nothing", code=66).stderr


def test_runs_without_samples_say_what_to_do(sgmc):
    sgmc.train("--set", "samples=0")
    assert "train longer, with --set samples above 0" in sgmc("diagnose", "run", code=66).stderr


def test_runs_of_other_seeds_and_without_held_out_documents(sgmc):
    for seed in ("1", "2"):
        sgmc.train("--seed", seed, out=f"seed-{seed}")
    found = parsed(sgmc("diagnose", "seed-1", "seed-2", "--json"))
    assert found["prediction"] is None
    assert "hold out different documents" in found["notes"][0]
    assert found["topics"][0]["weight_measure"]["rhat"] > 0
    sgmc.train("--holdout", "0", out="none")
    shown = sgmc("diagnose", "none").stdout
    assert "have no held-out documents" in shown
    assert "     -     " in shown


def test_layers_of_a_deep_model(sgmc):
    words = ["sea fish wave", "tree leaf bird", "king war city"]
    (sgmc.folder / "some.txt").write_text(
        "".join(f"{words[i % 3]} {words[i % 3]} {words[(i // 3) % 3]}\n" for i in range(60))
    )
    sgmc(
        "train",
        "--algo",
        "gibbs",
        "--layers",
        "6,3",
        "--iterations",
        "60",
        "--set",
        "burn-in=20",
        "--max-df",
        "1.0",
        "some.txt",
        "--chains",
        "2",
        "--out",
        "deep",
    )
    for layer, k in ((1, 6), (2, 3)):
        found = parsed(sgmc("diagnose", "deep", "--layer", layer, "--json"))
        assert len(found["topics"]) == k
        assert sum(t["weight"][1] for t in found["topics"]) == pytest.approx(1)


def test_steps_of_sgrld_are_told(sgmc):
    sgmc.train("--algo", "sgrld")
    found = parsed(sgmc("diagnose", "run", "--json"))
    assert len(found["contraction"]) == 8
    assert all(0 < r < 2 for r in found["contraction"])
    assert found["noise"] is None
