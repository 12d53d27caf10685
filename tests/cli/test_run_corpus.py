"""Where the corpus of a run is stored, and the message if it is missing."""

from __future__ import annotations

import json
import shutil

from faults_runs import sgmc, write_corpus

TRAIN = (
    *("train", "corpus.txt", "-k", "3", "--iterations", "6"),
    *("--minibatch", "10", "--holdout", "10"),
)


def test_a_run_holds_its_own_corpus_and_is_the_same_when_its_sibling_is_gone(tmp_path):
    """Red with: the second run without a corpus, and other weights once the first was removed."""
    write_corpus(tmp_path / "corpus.txt")
    sgmc(tmp_path, *TRAIN, "--min-df", "1")
    sgmc(tmp_path, *TRAIN, "--min-df", "1", "--seed", "5")
    runs = tmp_path / "sgmc-runs"
    first, second = runs / "corpus-scir", runs / "corpus-scir-2"
    assert json.loads((second / "config.json").read_text())["command"]["corpus"] is None
    assert (second / "corpus" / "indices.npy").samefile(first / "corpus" / "indices.npy")
    shown = sgmc(tmp_path, "topics", "corpus-scir-2", "--json").stdout
    shutil.rmtree(first)
    done = sgmc(tmp_path, "topics", "corpus-scir-2", "--json")
    assert done.stdout == shown
    assert "training corpus" not in done.stderr


def test_a_corpus_that_is_gone_is_said(tmp_path):
    """Red with: other weights, and no coherence, without a word."""
    write_corpus(tmp_path / "corpus.txt")
    sgmc(tmp_path, "corpus", "build", "corpus.txt", "-o", "named", "--min-df", "1")
    sgmc(tmp_path, "train", "named", *TRAIN[2:], "--out", "o")
    assert not (tmp_path / "o" / "corpus").exists()
    assert "training corpus" not in sgmc(tmp_path, "topics", "o").stderr
    (tmp_path / "named").rename(tmp_path / "renamed")
    assert (
        f"training corpus is no longer at {tmp_path / 'named'}"
        in sgmc(tmp_path, "topics", "o").stderr
    )
    refused = sgmc(tmp_path, "eval", "o", "--coherence", code=66)
    assert f"training corpus is no longer at {tmp_path / 'named'}" in refused.stderr


def test_records_that_were_changed_are_named(tmp_path):
    """Red with: a fingerprint under another name that ends in "a bug"; a corpus believed."""
    write_corpus(tmp_path / "corpus.txt")
    sgmc(tmp_path, "corpus", "build", "corpus.txt", "-o", "named", "--min-df", "1")
    sgmc(tmp_path, "train", "named", *TRAIN[2:], "--out", "o")
    config = tmp_path / "o" / "config.json"
    config.write_text(config.read_text().replace('"fingerprint"', '"fingerprinu"'))
    said = sgmc(tmp_path, "report", "o", code=78).stderr
    assert "o/config.json: was changed since it was written" in said
    assert "Traceback" not in said
    meta = tmp_path / "named" / "meta.json"
    meta.write_text(meta.read_text().replace("corpus.txt", "corpus.txu"))
    said = sgmc(tmp_path, "corpus", "info", "named").stderr
    assert "named/meta.json: was changed since it was written" in said
