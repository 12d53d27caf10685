"""Chains of mixtures compared: planted draws whose figures are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.corpus.build import store_documents
from pysgrld.errors import CheckpointError
from pysgrld.evaluate import hold_out_whole
from pysgrld.models.dpmm.fitted import MixtureFitted
from pysgrld.reading.compare_chains import diagnose
from pysgrld.reading.find_runs import open_run
from pysgrld.reading.topics import topics_of
from pysgrld.reading.verdict import verdict
from pysgrld.run import RunDirectory
from pysgrld.types import Documents

WORDS, DRAWS, DOCUMENTS = 6, 60, 40


def plant(path, chain, weights, components=None):
    """A run whose samples are these: one row of weights, the rest of the stick last, for each draw."""
    options = {
        "algo": "gibbs",
        "model": "dpmm",
        "topics": None,
        "layers": None,
        "seed": 0,
        "chain-id": chain,
        "eta": 0.5,
        "minibatch": DOCUMENTS,
        "observed-corpus": None,
        "holdout-corpus": None,
        "dp-prior": [1.0, 1.0],
        "dp-conc": "sticks",
        "dp-start": 20,
        "dp-reuse": "off",
        "step-size": None,
        "dp-stick-step": None,
        "counts": "sampled",
        "sweeps": 1,
        "kept-sweeps": 1,
        "warm-up": 0,
        "burn-in": 0,
        "sample-every": 5,
        "eval-every": "10s",
        "checkpoint-every": "15m",
        "keep": 3,
        "samples": 200,
        "top-word-samples": 0,
        "iterations": 5 * DRAWS,
        "stop-signal": "USR1",
        "requeue-exit-code": 85,
        "resume": "auto",
        "out": str(path),
        "on-bad-document": "stop",
        "encoding": "utf-8",
        "document-is": "auto",
        "quote": "auto",
        "keep-text": "auto",
        "text-field": "auto",
        "max-line": 1 << 26,
        "cir-rate": "paper",
        "dp-swaps": "on",
        "lazy": "off",
    }
    corpus = {
        "name": "toy",
        "fingerprint": "x",
        **dict.fromkeys(("documents", "training_documents"), DOCUMENTS),
        **dict.fromkeys(("tokens", "training_tokens"), 100),
        **dict.fromkeys(("held_out", "held_out_dropped"), 0),
        "words": WORDS,
    }
    config = {"schema": 1, "options": options, "free": ["out"], "corpus": corpus, "defaults": []}
    words = [f"w{i}" for i in range(WORDS)]
    run = RunDirectory.create(path, config, words)
    held_out = Documents(
        np.arange(0, 21, 2), np.tile([0, 1, 2, 3], 5).astype(np.int32), np.ones(20, np.int32)
    )
    store_documents(
        path / "holdout" / "held-out", hold_out_whole(held_out, np.arange(10)).held_out, words, {}
    )
    with run.lock():
        for t, w in enumerate(weights):
            j = len(w) - 1
            phi = components[t] if components is not None else np.full((j, WORDS), 1 / WORDS)
            run.samples.write(
                5 * (t + 1), {"phi": phi.astype(np.float32), "w": np.array([w], np.float32)}
            )
    return path


def rows(seed, first=0.5):
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 0.01, DRAWS)
    return [np.array([0.2, first + e, 0.29 - first + 0.5 - e, 0.005, 0.005]) for e in noise]


def test_quantities_are_those_of_the_weights(tmp_path):
    """By hand. Red with: weights in the order of the sticks; the rest of the stick counted."""
    weights = [np.array([0.1, 0.6, 0.2, 0.01, 0.09])] * DRAWS
    d = diagnose(plant(tmp_path / "a", 1, weights), plant(tmp_path / "b", 2, weights))
    found = {q.name: q.mean for q in d.quantities}
    p = np.array([0.1, 0.6, 0.2, 0.01]) / 0.91
    assert found["components"] == (3.0, 3.0)  # 0.01 x 40 documents are less than one
    assert found["components_of_ten"] == (1.0, 1.0)
    assert found["effective"][0] == pytest.approx(np.exp(-(p * np.log(p)).sum()), rel=1e-5)
    assert [found[n][0] for n in ("first", "second", "third")] == pytest.approx([0.6, 0.2, 0.1])
    assert found["together"][0] == pytest.approx((p**2).sum(), rel=1e-5)  # components are alike
    assert d.topics == ()


def test_documents_of_one_component_are_together(tmp_path):
    """Documents have words 0 and 1 or 2 and 3 in turn, each its component: never with the next."""
    phi = np.array([[0.5, 0.5, 0, 0, 0, 0], [0, 0, 0.5, 0.5, 0, 0]])
    run = plant(tmp_path / "a", 1, [np.array([0.5, 0.4, 0.1])] * DRAWS, [phi] * DRAWS)
    together = {q.name: q.mean for q in diagnose(run).quantities}["together"]
    assert together[0] == pytest.approx(0.0, abs=1e-12)


def test_chains_of_one_law_have_mixed_and_others_have_not(tmp_path):
    same = diagnose(plant(tmp_path / "a", 1, rows(1)), plant(tmp_path / "b", 2, rows(2)))
    assert max(q.measure.rhat for q in same.quantities if q.measure.rhat == q.measure.rhat) < 1.1
    assert "All quantities that describe whole draws have mixed" in verdict(same)[0]
    other = diagnose(tmp_path / "a", plant(tmp_path / "c", 3, rows(3, first=0.6)))
    by_name = {q.name: q.measure.rhat for q in other.quantities}
    assert by_name["first"] > 1.5
    said = verdict(other)[0]
    assert "not mixed: " in said
    assert "largest weight" in said
    assert "components with at least one document" not in said  # it never changes


def test_names_of_components_do_not_matter(tmp_path):
    """Red with: the weight of component 0 followed."""
    rng = np.random.default_rng(5)
    shuffled = [np.append(rng.permutation(w[:-1]), w[-1]) for w in rows(2)]
    d = diagnose(plant(tmp_path / "a", 1, rows(2)), plant(tmp_path / "b", 2, shuffled))
    for q in d.quantities:
        assert q.mean[0] == pytest.approx(q.mean[1], rel=1e-5)


def test_the_log_density_is_that_of_a_document(tmp_path):
    weights = [np.array([0.9, 0.1])] * DRAWS
    d = diagnose(plant(tmp_path / "a", 1, weights), plant(tmp_path / "b", 2, weights))
    prior = 1 / 3 * 0.5 / 4 * 0.5  # Dirichlet(0.5, ...) of six words, two different ones seen
    density = 0.9 / 36 + 0.1 * prior
    assert d.prediction.log_probability[0] == pytest.approx(np.log(density), rel=1e-5)
    assert d.traces.shape == (2, DRAWS)


def test_one_chain_is_told_to_get_company(tmp_path):
    said = " ".join(verdict(diagnose(plant(tmp_path / "a", 1, rows(1)))))
    assert "may find other components" in said


def test_components_without_documents_are_not_shown():
    """Red with: all up to the last one."""
    run = SimpleNamespace(mixture=SimpleNamespace(sizes=np.array([10, 0, 0, 9, 0, 11])))
    assert MixtureFitted.shown(run, 0).tolist() == [0, 3, 5]
    assert MixtureFitted.numbers(run) == {"components": 3, "components_of_ten": 2}


def test_a_checkpoint_of_something_else_is_named(tmp_path):
    """Whole, and not of this run. Red with: arrays looked at before they are asked for."""
    path = plant(tmp_path / "a", 1, rows(1))
    run = RunDirectory.open(path)
    with run.lock():
        run.save_checkpoint(5, {"phi.g": np.ones((WORDS, 16), np.float32)}, {}, keep=1)
    with pytest.raises(CheckpointError, match="step-00000005: the checkpoint lacks array 'z'"):
        topics_of(open_run(path, 1), 3, intervals=False)
