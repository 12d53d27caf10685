"""Phrases on the command line: finding, viewing, and using them in training and inference."""

import json

import pytest

TEXT = (
    "New York City has trains. The trains of New York City are red.\n"
    "Red wine and white wine; cheese from New York.\n"
    "White wine, red wine. Cheese and bread for the trains.\n"
) * 12
TRAIN = ("-k", "2", "--iterations", "12", "--exact-sweeps", "0", "--holdout", "0")
TRAIN += ("--min-df", "1", "--max-df", "1.0")


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "texts.txt").write_text(TEXT)
    return "texts.txt"


def tokens(sgmc, run):
    rows = sgmc("infer", run, "other.txt", "-q").stdout.splitlines()
    return [json.loads(row)["tokens"] for row in rows]


def test_phrases_are_found_and_are_words_in_training_and_inference(sgmc, texts):
    """Red with: phrases of a corpus that was built not known to infer; a file that is read again."""
    said = sgmc("corpus", "phrases", texts, "-o", "phrases.txt", "--min-count", "12").stderr
    assert "phrases.txt: 5 phrases: new york; " in said
    lines = (sgmc.folder / "phrases.txt").read_text().splitlines()
    assert lines[0].startswith("# 5 phrases of texts.txt")
    assert lines[1].split("\t")[:2] == ["new york", "36"]
    sgmc("corpus", "phrases", texts, "-o", "phrases.txt", code=73)
    (sgmc.folder / "few.txt").write_text("new york\nnew york city\t24\n")
    (sgmc.folder / "other.txt").write_text("new york city, new york\nnew trains york\ncity\n")
    sgmc("train", texts, *TRAIN, "--phrases", "few.txt", "--out", "run")
    sgmc(
        "corpus",
        "build",
        texts,
        "--phrases",
        "few.txt",
        "--min-df",
        "1",
        "--max-df",
        "1.0",
        "-o",
        "built",
    )
    sgmc("train", "built", "-k", "2", "--iterations", "12", "--holdout", "0", "--out", "of-built")
    (sgmc.folder / "few.txt").unlink()
    for run in ("run", "of-built"):
        words = (sgmc.folder / run / "vocab.txt").read_text().split()
        assert {"new_york", "new_york_city"} <= set(words)
        assert "york" not in words
        assert tokens(sgmc, run) == [2, 1, 0]
    sgmc("train", "--resume", "run", "--iterations", "20")


def test_other_phrases_are_another_run_and_counts_have_none(sgmc, texts):
    (sgmc.folder / "a.txt").write_text("new york\n")
    (sgmc.folder / "b.txt").write_text("new york\nred wine\n")
    sgmc("train", texts, *TRAIN, "--phrases", "a.txt", "--out", "run")
    refused = sgmc("train", texts, *TRAIN, "--phrases", "b.txt", "--out", "run", code=78).stderr
    assert "  phrases: 1 phrase (" in refused
    assert "-> 2 phrases" in refused
    for command in (("train", "--iterations", "2"), ("corpus", "build", "-o", "x")):
        said = sgmc(*command, "run/corpus", "--phrases", "a.txt", code=65).stderr
        assert "--phrases needs text" in said
    (sgmc.folder / "a.txt").write_text("new\n")
    assert "a.txt:1:" in sgmc("train", texts, "--phrases", "a.txt", code=65).stderr
    sgmc("train", texts, "--phrases", "none.txt", code=66)
    sgmc("corpus", "phrases", "-", "-o", "x.txt", code=2)
