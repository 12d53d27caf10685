"""Files beside the checkpoints that readers go by: compared with the record, made again by a start."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from faults_runs import Silent, train_here, write_corpus

from pysgrld.errors import CheckpointError, MissingInputError
from pysgrld.reading.results import Results
from pysgrld.reading.run_record import check_shapes, in_slices
from pysgrld.reading.score import held_out_of, score
from pysgrld.types import Documents


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a corpus and a run of a fifth of a second."""
    folder = tmp_path_factory.mktemp("record")
    write_corpus(folder / "corpus.txt")
    train_here(folder)
    return folder


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "copy") / "run"


def test_word_counts_that_were_edited_are_refused_until_a_start_writes_them_again(run):
    """Red with: another perplexity of the unigram model without a word."""
    path = run / "word-counts.npy"
    counts = np.load(path)
    np.save(path, counts[:, ::-1])
    with pytest.raises(CheckpointError, match="was changed since the run began; 'sgmc train --res"):
        Results(run, 1).word_counts()
    path.unlink()
    with pytest.raises(MissingInputError, match=r"'sgmc train --resume .*run' restores the file"):
        Results(run, 1).word_counts()
    np.save(path, counts[:, ::-1])
    train_here(run.parent)
    np.testing.assert_array_equal(Results(run, 1).word_totals, counts)


def test_held_out_documents_that_are_gone_are_written_again_by_a_start(run):
    """Red with: a run that is said to hold no documents out."""
    shutil.rmtree(run / "holdout")
    with pytest.raises(
        MissingInputError, match="holdout: is missing; write it again with 'sgmc train --resume"
    ):
        Results(run, 1).held_out()
    train_here(run.parent)
    assert Results(run, 1).held_out().observed.tokens > 0


def test_a_sample_that_was_edited_is_refused_by_who_reads_it(run):
    """Two that are whole, exchanged. Red with: samples read by their names alone."""
    first, second = sorted((run / "samples").iterdir())[:2]
    shutil.copy(second, first)
    results = Results(run, 1)
    with pytest.raises(CheckpointError, match=f"{first.name}: was changed since it was written"):
        score(results, results.held_out(), None, 0)
    first.unlink()
    assert score(results, results.held_out(), None, 0).samples == 7


@pytest.mark.parametrize("trained_on", [True, False])
def test_scores_of_documents_that_were_trained_on_are_warned_of(run, tmp_path, trained_on):
    """Red with: a perplexity that looks like that of new documents."""
    told, path = Silent(), run.parent / "corpus.txt"
    if not trained_on:
        write_corpus(path, seed=1)
    held_out_of(Results(run, 1), str(path), 0.8, 0, tmp_path / "scratch", told)
    warned = [line for line in told.lines if "the run was trained on these documents" in line]
    assert len(warned) == trained_on


@pytest.mark.parametrize(
    ("name", "dtype"), [("w", np.uint8), ("phi", np.uint32), ("words", np.float32)]
)
def test_a_sample_with_a_wrong_type_is_refused(name, dtype):
    """Red with: shapes alone, after which a forged sample ended `report` with 70."""
    with pytest.raises(CheckpointError, match=f"array '{name}' has the wrong type"):
        check_shapes({name: np.zeros((2, 3), dtype)}, {name: (2, 3)}, "sample")


@pytest.mark.parametrize("slices", [[0, 1 << 40], ["x", 0], [[0], 1], [0, None], [0]])
def test_slices_that_are_no_numbers_of_slices_are_refused(slices):
    """Red with: an array of them, which ended `eval` and `diagnose` with 70."""
    parts = [Documents(np.array([0, 1, 2]), np.zeros(2, np.int32), np.ones(2, np.int32))]
    stored = SimpleNamespace(provenance={"slices": slices})
    with pytest.raises(CheckpointError, match="has no time slices"):
        in_slices(SimpleNamespace(path=Path("run")), parts, stored, 2)
