"""Intervals of two halves of a corpus: how many of their differences hold 0."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.report.halves import Coverage, _Bounds

TRAIN = ["--min-df", "1", "--max-df", "1.0", "--stop-words", "none", "--set", "starts=1", "-k", "3"]
TRAIN += ["--holdout", "20", "--iterations", "40", "--exact-sweeps", "60", "--threads", "1", "-q"]


def ran(*args):
    return CliRunner().invoke(main, [*map(str, args)])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on texts of three subjects by two parties; the second has more of the first subject."""
    rng, folder = np.random.default_rng(1), tmp_path_factory.mktemp("halves")
    lines = []
    for document in range(240):
        party = document % 2
        topics = rng.choice(3, 25, p=rng.dirichlet([0.3 + party, 0.3, 0.3]))
        words = [
            f"{'abc'[t]}word{'xyz'[w % 3] * (1 + w // 3)}"
            for t, w in zip(topics, rng.integers(0, 12, 25), strict=True)
        ]
        lines.append(json.dumps({"text": " ".join(words), "party": ["left", "right"][party]}))
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    done = ran("train", folder / "corpus.jsonl", "--out", folder / "run", *TRAIN)
    assert done.exit_code == 0, done.output
    return folder / "run"


def test_a_difference_is_compared_with_both_intervals():
    """Red with: the sum of both half-widths; the half-widths on the far sides."""
    first = _Bounds(*(np.array([x]) for x in (0.5, 0.2, 0.9)))  # 0.3 below and 0.4 above
    assert first.agrees(_Bounds(np.array([0.01]), np.array([0.0]), np.array([0.41]))).all()
    assert not first.agrees(_Bounds(np.array([-0.01]), np.array([-0.9]), np.array([0.39]))).any()
    above = _Bounds(np.array([0.99]), np.array([0.69]), np.array([2.0]))
    assert first.agrees(above).all()
    assert not first.agrees(above._replace(low=np.array([0.71]))).any()


def test_the_worst_topic_is_the_one_with_the_fewest_agreements():
    """Red with: the mean of the topics' rates as the whole; a topic without differences as 0."""
    rows = [np.array([True, True]), np.array([], bool), np.array([True, False, False, False])]
    assert Coverage.of(rows) == (0.5, 0.25, 6)
    assert Coverage.of([]) == (None, None, 0)


def test_the_command_trains_on_halves_of_the_run(run, monkeypatch):
    """Red with: both runs on the same half; groups left out; halves that stay; topics not matched."""
    from pysgrld.train import halves

    trained, real = [], halves.train
    monkeypatch.setattr(halves, "train", lambda *a: trained.append(a[0]) or real(*a))
    done = ran("diagnose", run, "--halves", "--json", "-q", "--threads", "1")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert (record["topics"], record["pairs"], record["documents"]) == (3, 3, [120, 120])
    numbers = {
        name: record[name]["number"] for name in ("words", "words_these", "shares", "groups")
    }
    assert numbers == {"words": 60, "words_these": 60, "shares": 3, "groups": 6}
    assert 0.5 <= record["words_these"]["held"] <= record["words"]["held"] < 1
    assert record["groups"]["held"] >= 0.5
    assert len({request.inputs[0] for request in trained}) == 2
    assert all(request.choices.values["iterations"] == 40 for request in trained)
    assert not trained[0].root.exists()


def test_other_options_and_models_are_refused(run):
    done = ran("diagnose", run, "--halves", "--replicate", "2")
    assert done.exit_code == 2
    assert "--halves needs a single run" in done.stderr
