"""Topics guided by seed words, from the command line: names, ids, places, identical bits."""

import json
import signal

import pytest

SEEDS = '{"war": ["battle*", "sword", "Host"], "love": ["love*", "loathe"], "king": ["king"]}'


@pytest.fixture
def seeds(tmp_path):
    (tmp_path / "seeds.json").write_text(SEEDS)
    return ("--seed-words", "seeds.json")


def topics(sgmc, run="run"):
    return json.loads(sgmc("topics", run, "--json").stdout)["topics"]


def test_topics_take_names_and_places_of_seeds_and_go_on_without_the_file(sgmc, seeds):
    """Red with: content of the file not kept in the run; names of the report's alone."""
    said = sgmc.train(*seeds, "--seed-weight", "0.1").stderr
    assert "ignored 1 seed that is not among the 1,000 words of" in said
    assert "loathe" in said
    (sgmc.folder / "seeds.json").unlink()
    sgmc("train", "--resume", "run", "--iterations", "180")
    found = {topic["id"]: topic for topic in topics(sgmc)}
    assert [found[k]["label"] for k in range(3)] == ["war", "love", "king"]
    assert [found[k]["named"] for k in range(4)] == [True, True, True, False]
    assert [seed["word"] for seed in found[2]["seeds"]] == ["king"]
    assert "seeds" not in found[3]
    for k in range(3):
        for seed in found[k]["seeds"]:
            assert 1 <= seed["rank"] <= 1000
            assert 0.0 <= seed["ten"] <= 1.0
    top = [word["word"] for word in found[2]["words"]]
    assert found[2]["seeds"][0]["rank"] == top.index("king") + 1
    shown = sgmc("topics", "run").stdout
    assert "king: " in shown
    assert "ranks of seed words: king 1" in " ".join(shown.split())
    (sgmc.folder / "run" / "labels.json").write_text('{"0": "swords"}')
    assert [t["label"] for t in sorted(topics(sgmc), key=lambda t: t["id"])][:2] == [
        "swords",
        "love",
    ]
    sgmc("export", "run", "--to", "npy", "-o", "out")
    labels = json.loads((sgmc.folder / "out" / "labels.json").read_text())
    assert labels == {"0": "swords", "1": "love", "2": "king"}
    sgmc("report", "run", "-q")
    page = (sgmc.folder / "run" / "report.html").read_text()
    assert '"seeds":[["king",1,' in page
    assert "swords" in page


@pytest.mark.parametrize(
    ("weight", "said"), [("0.1", "ranks of seed words:"), ("0", "no seed word is among")]
)
def test_a_topic_that_has_the_name_and_not_the_words_is_told(sgmc, weight, said):
    """Red with: a topic "arks" of whatever words, and nothing that says so."""
    (sgmc.folder / "seeds.txt").write_text("arks: noah ark cubits\n")
    sgmc.train("--seed-words", "seeds.txt", "--seed-weight", weight)
    shown = " ".join(sgmc("topics", "run").stdout.split())
    assert said in shown


def test_other_seeds_are_another_run(sgmc, seeds):
    """Red with: seeds left out of a run's identity."""
    sgmc.train(*seeds)
    (sgmc.folder / "other").write_text("war: battle*\n")
    refused = sgmc.train("--seed-words", "other", "--resume", "run", code=78).stderr
    assert "  seed-words: war: battle host sword; love: " in refused
    assert "-> war: battle" in refused
    sgmc.train("--seed-words", "missing", code=66)
    refused = sgmc.train("--seed-words", "other", "--model", "dpmm", base=(), code=2).stderr
    assert "--seed-words does not apply to --model dpmm" in refused


def test_seeds_of_no_weight_only_name_topics(sgmc, seeds):
    """Red with: seeds of no weight among the words of every step of lazy rows."""
    sgmc.train("--set", "lazy=on", out="plain")
    sgmc.train("--set", "lazy=on", *seeds, "--seed-weight", "0")
    assert sgmc.topics_hash() == sgmc.topics_hash("plain")
    assert "love" in {topic["label"] for topic in topics(sgmc)}


@pytest.mark.nightly  # by day lazy rows without seeds: tests/cli/test_same_bits.py
def test_seeded_lazy_runs_stopped_and_on_other_threads(sgmc, seeds):
    how = (*seeds, "--set", "lazy=on", "--set", "warm-up=4")
    sgmc.train(*how, "--threads", "1", out="whole")
    sgmc.stop_midway(signal.SIGKILL, *how, "--checkpoint-every", "7")
    assert "resumes from iteration" in sgmc.train(*how, "--threads", "3").stderr
    assert sgmc.topics_hash() == sgmc.topics_hash("whole")
