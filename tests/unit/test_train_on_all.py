"""Training on all documents, without held-out ones and without a budget."""

import json
import os
import re
import signal

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld import LDA
from pysgrld.chain.posterior import Posterior
from pysgrld.cli import main
from pysgrld.reading.results import Results

WORDS, TOPICS = 60, 4


def made():
    rng = np.random.default_rng(7)
    topics = rng.dirichlet(np.full(WORDS, 0.1), TOPICS)
    return [
        " ".join(f"w{w}" for w in rng.choice(WORDS, 40, p=rng.dirichlet([0.3] * TOPICS) @ topics))
        for _ in range(90)
    ]


def train(folder, name, *typed, code=0):
    (folder / "corpus.txt").write_text("\n".join(made()))
    line = ["train", str(folder / "corpus.txt"), "-k", "4", "--holdout", "0", "--min-df", "1"]
    line += ["--max-df", "1.0", "--exact-sweeps", "0", "--set", "starts=1"]
    line += ["--out", str(folder / name), *typed]
    done = CliRunner().invoke(main, line)
    assert done.exit_code == code, done.output
    return done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of an undisturbed run, "a", and what was said of it."""
    folder = tmp_path_factory.mktemp("all")
    return folder, train(folder, "a", "--threads", "1")


def test_training_on_all_documents_ends_by_itself(whole):
    """Red with: a budget that is asked for; a score that is called held-out."""
    folder, said = whole
    results = Results(folder / "a", 1)
    assert results.fitted.record.documents == 90
    assert re.search(
        r"converged: perplexity of training documents [\d,.]+ \([\d,.]+ with half", said
    )
    assert "held-out perplexity" not in said
    assert not (folder / "a" / "holdout").exists()
    records = map(json.loads, (folder / "a" / "metrics.jsonl").read_text().splitlines())
    assert all(record.get("perplexity") is None for record in records)
    assert results.fitted.samples >= 50


def test_it_ends_at_the_same_iteration_with_the_same_bits(whole):
    """Red with: a stop by the clock."""
    folder, _ = whole
    train(folder, "b", "--threads", "2")
    one, two = (Results(folder / name, 1) for name in "ab")
    assert one.fitted.record.step == two.fitted.record.step
    np.testing.assert_array_equal(one.phi(), two.phi())


def test_a_run_that_was_stopped_ends_where_it_would_have(whole, tmp_path, monkeypatch):
    """Red with: averages of the training documents that a checkpoint lacks."""
    whole = Results(whole[0] / "a", 1)
    take_sample, taken = Posterior.take_sample, []

    def stop_at_the_twentieth(self, *args):
        take_sample(self, *args)
        taken.append(self.chain.step)
        if len(taken) == 20:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Posterior, "take_sample", stop_at_the_twentieth)
    train(tmp_path, "parts", code=85)
    monkeypatch.undo()
    assert Results(tmp_path / "parts", 1).fitted.record.step < whole.fitted.record.step
    done = CliRunner().invoke(main, ["train", "--resume", str(tmp_path / "parts")])
    assert done.exit_code == 0, done.output
    parts = Results(tmp_path / "parts", 1)
    assert parts.fitted.record.step == whole.fitted.record.step
    np.testing.assert_array_equal(parts.phi(), whole.phi())


def test_estimators_train_on_all_documents():
    """Red with: UsageError that asks for max_iter; perplexity_ of documents that were trained on."""
    texts = made()
    models = [
        LDA(4, starts=1, holdout=0, exact_sweeps=0, n_jobs=n, random_state=1).fit(texts)
        for n in (1, 2)
    ]
    assert models[0].n_iter_ == models[1].n_iter_ > 50
    assert models[0].n_samples_ >= 50
    assert not hasattr(models[0], "perplexity_")
    np.testing.assert_array_equal(models[0].components_, models[1].components_)


def test_one_token_documents_cannot_end_training():
    with pytest.raises(ValueError, match="no document has two tokens"):
        LDA(2, holdout=0).fit(np.eye(5, dtype=int))
