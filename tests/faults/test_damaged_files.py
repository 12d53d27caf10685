"""Changed files of a run or corpus are reported by name when they are read.

benchmarks/damage.py does the same to every file, by every command.
"""

import json
import os

import pytest
from faults_runs import flip, sgmc

from pysgrld.corpus.stored_files import digest
from pysgrld.errors import CheckpointError, MissingInputError
from pysgrld.run.layout import read_word_counts


def edited(path):
    path.write_text(path.read_text().replace('"iteration": 10', '"iteration": 11'))


def piped(path):
    path.unlink()
    os.mkfifo(path)


def emptied(path):
    path.write_bytes(b"")


@pytest.mark.row(29, 80)
@pytest.mark.parametrize("change", [edited, emptied, piped])
def test_metrics_that_were_changed_are_warned_of(copied, change, trials):
    """Red with: lines shown that nobody has written, or none, as if it had none yet."""
    assert "warning" not in sgmc(copied, "runs", "run").stderr
    path = copied / "run/metrics.jsonl"
    with path.open("a") as file:
        file.write('{"iteration": 41}\n')  # of a run that goes on
    assert sgmc(copied, "runs", "run").stderr == ""
    change(path)
    (line,) = sgmc(copied, "runs", "run").stderr.splitlines()
    assert "run/metrics.jsonl: " in line
    assert line.endswith("results from it may be wrong; restore it")
    trials()


@pytest.mark.row(29, 80)
@pytest.mark.parametrize("change", [emptied, piped])
def test_a_status_that_cannot_be_read_is_warned_of(copied, change, trials):
    """Red with: a finished run shown without a state, without a word."""
    path = copied / "run/status.json"
    change(path)
    assert "run/status.json: is damaged" in sgmc(copied, "runs", "run").stderr
    path.unlink()
    assert sgmc(copied, "runs", "run").stderr == ""
    trials()


@pytest.mark.row(73)
@pytest.mark.parametrize(
    "command", ["topics run", pytest.param("report run -o page.html", marks=pytest.mark.nightly)]
)
def test_a_training_corpus_that_was_changed_is_named_with_the_file(copied, command, trials):
    """By what goes on without it, too. Red with: "is not at run/corpus, or was changed"."""
    flip(copied / "run/corpus/counts.npy", 200, 0)
    said = sgmc(copied, *command.split()).stderr
    assert (
        "the run's training corpus cannot be used: run/corpus: the corpus is damaged (counts.npy"
        in said
    )
    trials()


@pytest.mark.row(80)
def test_a_pipe_is_not_waited_for_where_a_file_is_hashed(copied, trials):
    """Red with: opened by its name alone (it hangs)."""
    piped(copied / "run/corpus/texts.npz")
    with pytest.raises(MissingInputError, match="not a regular file"):
        digest(copied / "run/corpus/texts.npz")
    sgmc(copied, "corpus", "info", "run/corpus", "--verify", code=66)
    piped(copied / "run/word-counts.npy")
    config = json.loads((copied / "run/config.json").read_text())
    with pytest.raises(CheckpointError, match=r"word-counts.npy: is not a regular file"):
        read_word_counts(copied / "run", config, config["corpus"]["words"])
    piped(copied / "run/holdout/observed/counts.npz")
    assert "counts.npz is not a regular file" in sgmc(copied, "eval", "run", code=65).stderr
    trials(3)


@pytest.mark.row(29)
def test_a_header_that_numpy_cannot_parse_is_damage(copied, trials):
    """It leaks an error of the tokeniser of Python. Red with: "a bug in sgmc" (70)."""
    for path, read in (
        (copied / "run/corpus/word-counts.npy", ["corpus", "info", "run/corpus", "--json"]),
        (copied / "run/corpus/indptr.npy", ["corpus", "info", "run/corpus"]),
        (copied / "run/word-counts.npy", ["eval", "run"]),
    ):
        good = path.read_bytes()
        path.write_bytes(good.replace(b"), }", b"(, }"))
        assert path.read_bytes() != good
        done = sgmc(copied, *read, code=76 if "run" in read else 65)
        assert path.name in done.stderr
        path.write_bytes(good)
        trials()
