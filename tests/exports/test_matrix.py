"""Topics for other programs: refusals, and files that other programs can read."""

import json

import numpy as np
import pytest

from pysgrld import LDA
from pysgrld.errors import MissingInputError, OutputError
from pysgrld.reading.results import Results
from pysgrld.report.exports import ExportRequest, export

VOCABULARY = [f"wörd{i}" for i in range(7)]


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("export"), np.random.default_rng(0)
    model = LDA(
        n_components=3,
        algo="gibbs",
        max_iter=20,
        burn_in=10,
        random_state=0,
        holdout=0,
        keep_samples=0,
    )
    model.fit(rng.poisson(1.0, (30, len(VOCABULARY)))).save(folder / "run", VOCABULARY)
    return Results(folder / "run", 1)


def test_files_that_are_there_are_refused_before_anything_is_written(topics, tmp_path):
    """Red with: the vocabulary not looked at."""
    (tmp_path / "vocab.txt").write_text("mine\n")
    for force in (False, True):
        with pytest.raises(OutputError, match=r"vocab\.txt: was not written by sgmc"):
            export(topics, ExportRequest("npy", tmp_path, "last"), force=force)
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.txt"]
    (tmp_path / "vocab.txt").unlink()
    export(topics, ExportRequest("npy", tmp_path, "last"), force=False)
    with pytest.raises(OutputError, match=r"topics\.npy: is there already; --force replaces it"):
        export(topics, ExportRequest("npy", tmp_path, "last"), force=False)
    export(topics, ExportRequest("npy", tmp_path, "last"), force=True)
    assert (tmp_path / "vocab.txt").read_text(encoding="utf-8").split() == VOCABULARY


def test_a_folder_in_the_place_of_a_file_is_refused_also_if_forced(topics, tmp_path):
    (tmp_path / "topics.npy").mkdir()
    with pytest.raises(OutputError, match=r"topics\.npy: was not written by sgmc"):
        export(topics, ExportRequest("npy", tmp_path, "last"), force=True)


def test_samples_that_nobody_kept_are_asked_for_in_vain(topics, tmp_path):
    """The estimator keeps none. Red with: an empty file."""
    with pytest.raises(MissingInputError, match="the run has no posterior samples yet"):
        export(topics, ExportRequest("npy", tmp_path, "all"), force=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("draw", ["mean", "last"])
def test_what_is_returned_is_what_was_written(topics, tmp_path, draw):
    """Red with: the padding of topics written; the current topics for the mean."""
    done = export(topics, ExportRequest("npy", tmp_path / "new", draw), force=False)
    found = np.load(done.path)
    expected = topics.mean if draw == "mean" else topics.fitted.current
    assert done.path == tmp_path / "new" / "topics.npy"
    said = f"mean of {topics.fitted.samples} samples" if draw == "mean" else "current topics"
    assert done.what == f"3 x 7, {said}"
    assert found.shape == (3, 7)
    assert topics.fitted.samples > 1
    np.testing.assert_array_equal(found, expected["phi"][:, :3].T)
    assert done.path.stat().st_size == 128 + found.nbytes


def test_the_header_of_safetensors_is_padded_and_says_where_the_topics_lie(topics, tmp_path):
    """A multiple of eight bytes, then float32. Red with: no blanks; offsets in elements."""
    done = export(topics, ExportRequest("safetensors", tmp_path, "last"), force=False)
    data = done.path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    assert header == {"topics": {"dtype": "F32", "shape": [3, 7], "data_offsets": [0, 4 * 21]}}
    np.testing.assert_array_equal(
        np.frombuffer(body, "<f4").reshape(3, 7), topics.fitted.current["phi"].T[:3]
    )
