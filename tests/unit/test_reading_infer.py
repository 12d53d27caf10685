"""Topic proportions of new documents as a stream: rows do not depend on how documents come."""

import io
import json

import numpy as np
import pytest

from pysgrld import LDA
from pysgrld.reading import infer as module
from pysgrld.reading.infer import check_suffix, infer, write_proportions
from pysgrld.reading.results import Results
from pysgrld.types import Documents

WORDS, TOPICS = 9, 4


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("infer"), np.random.default_rng(0)
    model = LDA(
        n_components=TOPICS, algo="gibbs", burn_in=10, max_iter=30, random_state=0, holdout=0
    )
    model.fit(rng.poisson(1.0, (40, WORDS))).save(folder / "run")
    return Results(folder / "run", 1)


def documents(rows=23):
    """New documents; the sixth has no word."""
    counts = np.random.default_rng(1).poisson(0.8, (rows, WORDS))
    counts[5:6] = 0
    filled = counts > 0
    indptr = np.concatenate(([0], np.cumsum(filled.sum(axis=1)))).astype(np.int64)
    return Documents(
        indptr, np.nonzero(filled)[1].astype(np.int32), counts[filled].astype(np.int32)
    )


def cut(whole, *ends):
    return [whole.take(np.arange(a, b)) for a, b in zip((0, *ends[:-1]), ends, strict=True)]


def test_rows_do_not_depend_on_how_documents_are_cut(results, monkeypatch):
    """Red with: rows counted from 0 in each block."""
    whole = documents()
    (expected,) = infer(results, [whole])
    monkeypatch.setattr(module, "DOCUMENTS", 4)
    found = list(infer(results, cut(whole, 10, 10, 23)))
    assert [block.first for block in found] == [0, 4, 8, 10, 14, 18, 22]
    np.testing.assert_array_equal(np.concatenate([b.theta for b in found]), expected.theta)
    np.testing.assert_array_equal(np.concatenate([b.lengths for b in found]), whole.lengths)
    np.testing.assert_allclose(expected.theta.sum(axis=1), 1, atol=1e-12)


def test_blocks_are_read_when_they_are_wanted(results):
    """A pipe that goes on for ever has its first rows at once. Red with: a list of all blocks."""
    read = []

    def endless():
        while True:
            read.append(1)
            yield documents(3)

    assert [next(infer(results, endless())).first, len(read)] == [0, 1]


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".jsonl"])
def test_no_document_gives_a_file_of_no_row(results, suffix):
    """Red with: no header without rows."""
    file = io.BytesIO()
    assert write_proportions(results, [], file, suffix) == (0, 0)
    text = file.getvalue()
    if suffix == ".npy":
        file.seek(0)
        assert np.load(file).shape == (0, TOPICS)
    else:
        assert text == {".csv": b"topic0,topic1,topic2,topic3\n", ".jsonl": b""}[suffix]


def test_the_header_of_npy_has_all_rows_of_all_blocks(results):
    """Red with: the rows of the last block."""
    file = io.BytesIO()
    assert write_proportions(results, cut(documents(), 10, 23), file, ".npy") == (23, 1)
    file.seek(0)
    theta = np.load(file)
    assert (theta.shape, theta.dtype) == ((23, TOPICS), np.float32)
    np.testing.assert_array_equal(theta[5], np.full(TOPICS, 1 / TOPICS, np.float32))


def test_a_line_of_json_has_row_tokens_and_seven_digits(results):
    """Red with: rows counted from 1."""
    file, whole = io.BytesIO(), documents()
    write_proportions(results, cut(whole, 20, 23), file, check_suffix("-"))
    records = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [record["document"] for record in records] == list(range(23))
    assert [record["tokens"] for record in records] == whole.lengths.tolist()
    for record in records:
        assert record["topics"] == [float(f"{p:.7g}") for p in record["topics"]]
        assert sum(record["topics"]) == pytest.approx(1, abs=1e-6)
