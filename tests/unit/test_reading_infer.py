"""Topic proportions of new documents as a stream: rows do not depend on how documents come."""

import gc
import io
import json
import sys

import numpy as np
import pytest

from pysgrld import LDA
from pysgrld.errors import CorpusError, MissingInputError, UsageError
from pysgrld.reading import infer as module
from pysgrld.reading import proportion_files
from pysgrld.reading.infer import infer, interval_steps, write_proportions
from pysgrld.reading.proportion_files import check_suffix
from pysgrld.reading.results import Results
from pysgrld.types import Documents

WORDS, TOPICS = 9, 4


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("infer"), np.random.default_rng(0)
    model = LDA(
        n_components=TOPICS, algo="gibbs", burn_in=10, max_iter=30, random_state=0, holdout=0
    ).set_params(keep_samples=0)
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


# ---- intervals, and tables


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """A run with 25 kept samples, whose topics vary."""
    folder, rng = tmp_path_factory.mktemp("sampled"), np.random.default_rng(0)
    model = LDA(
        n_components=TOPICS, algo="gibbs", burn_in=10, max_iter=30, random_state=0, holdout=0
    ).set_params(keep_samples=0)
    model.fit(rng.poisson(1.0, (40, WORDS))).save(folder / "run")
    found = Results(folder / "run", 1)
    with found.run.lock():
        for step in range(1, 26):
            topics = rng.dirichlet(np.ones(WORDS), TOPICS).astype(np.float32)
            found.run.samples.write(step, {"phi": topics})
    return found


def written(results, suffix, steps=None, **how):
    file = io.BytesIO()
    write_proportions(results, cut(documents(), 10, 23), file, suffix, 0, steps, **how)
    file.seek(0)
    return file


def test_intervals_do_not_depend_on_blocks(sampled, monkeypatch):
    """Red with: blocks that do not shrink with the draws; documents keyed by their place in a block."""
    steps = interval_steps(sampled, 20)
    assert len(steps) == 20
    (whole,) = infer(sampled, [documents()], 0, steps)
    monkeypatch.setattr(module, "ROOM", 4 * TOPICS * 20 * 6)
    found = list(infer(sampled, [documents()], 0, steps))
    assert [block.first for block in found] == [0, 6, 12, 18]
    for name in ("theta", "low", "high"):
        again = np.concatenate([getattr(block, name) for block in found])
        np.testing.assert_array_equal(again, getattr(whole, name))
    assert (whole.low < whole.high).all()


def test_proportions_beside_intervals_are_the_means_of_the_same_draws(sampled):
    """Red with: proportions under the mean topics, which lie outside the intervals."""
    steps, whole = interval_steps(sampled, 20), documents()
    (found,) = infer(sampled, [whole], 0, steps)
    each = sampled.each_document_draw(whole, np.arange(23), steps, new=True)
    draws = np.array([draw.theta for draw in each], np.float64)
    known = whole.lengths > 0
    np.testing.assert_allclose(found.theta[known], draws.mean(axis=0)[known], atol=1e-12)
    np.testing.assert_array_equal(found.theta[5], np.full(TOPICS, 1 / TOPICS))
    np.testing.assert_allclose(found.theta.sum(axis=1), 1, atol=1e-6)


def test_intervals_for_these_documents_are_narrower_if_words_are_repeated(sampled):
    """Red with: infer that ignores repeated words; factors of the block's first documents for all."""
    these, whole = Results(sampled.path, 1, these=True), documents(200)
    steps, repeats = interval_steps(sampled, 20), whole.lengths > np.diff(whole.indptr)
    (wide,), (narrow,) = (infer(results, [whole], 0, steps) for results in (sampled, these))
    np.testing.assert_array_equal(wide.theta, narrow.theta)
    wider = (wide.high - wide.low).sum(axis=1) > (narrow.high - narrow.low).sum(axis=1) + 1e-9
    np.testing.assert_array_equal(wider, repeats)


def test_intervals_are_the_same_in_every_format(sampled):
    """Red with: bounds in another order than the proportions; topics sorted, and bounds not."""
    pq = pytest.importorskip("pyarrow.parquet")
    steps = interval_steps(sampled, 25)
    npy = np.load(written(sampled, ".npy", steps))
    assert (npy.shape, npy.dtype) == ((23, 3, TOPICS), np.float32)
    csv = written(sampled, ".csv", steps)
    assert csv.readline().decode().strip().split(",")[3:6] == ["topic3", "topic0_low", "topic1_low"]
    rows = np.loadtxt(csv, delimiter=",").reshape(23, 3, TOPICS)
    np.testing.assert_allclose(rows, npy, atol=1e-6)
    lines = [json.loads(line) for line in written(sampled, ".jsonl", steps)]
    assert list(lines[0]) == ["document", "tokens", "topics", "low", "high"]
    lists = np.array([[line["topics"], line["low"], line["high"]] for line in lines])
    np.testing.assert_allclose(lists, npy, atol=1e-6)
    dense = pq.read_table(written(sampled, ".parquet", steps, dense=True))
    assert dense.column_names[:4] == ["row", "tokens", "topic0", "topic1"]
    columns = np.array([dense[name] for name in dense.column_names[2:]])
    np.testing.assert_array_equal(columns.T.reshape(23, 3, TOPICS), npy)
    for top in (None, 2):
        table = pq.read_table(written(sampled, ".parquet", steps, top=top))
        assert table["row"].to_pylist() == list(range(23))
        assert table["tokens"].to_pylist() == documents().lengths.tolist()
        assert str(table.schema.field("topics").type.value_type) == "uint16"
        topics = np.array(table["topics"].to_pylist())
        assert topics.shape == (23, top or TOPICS)
        for i, name in enumerate(("share", "low", "high")):
            found = np.array(table[name].to_pylist(), np.float32)
            np.testing.assert_array_equal(found, np.take_along_axis(npy[:, i], topics, axis=1))
        assert (np.diff(np.array(table["share"].to_pylist())) <= 0).all()


def test_row_groups_are_full_and_hold_what_memory_has_room_for(sampled, monkeypatch):
    """Red with: a row group a block; groups that do not shrink with the width of a row."""
    pq = pytest.importorskip("pyarrow.parquet")

    monkeypatch.setattr(proportion_files, "GROUP", 9)
    file = pq.ParquetFile(written(sampled, ".parquet"))
    assert [file.metadata.row_group(i).num_rows for i in range(3)] == [9, 9, 5]
    assert file.metadata.row_group(0).column(2).compression == "ZSTD"
    assert file.read()["row"].to_pylist() == list(range(23))
    monkeypatch.setattr(proportion_files, "WAITING", 4 * TOPICS * 2 * 5)
    file = pq.ParquetFile(written(sampled, ".parquet"))
    assert file.metadata.row_group(0).num_rows == 5


def test_too_few_samples_have_no_intervals(sampled, results):
    """Red with: intervals of as many samples as there are."""
    with pytest.raises(UsageError, match="the run has 0 samples, but --draws needs 20"):
        interval_steps(results, 20)
    assert interval_steps(sampled, 99) == list(range(1, 26))


@pytest.mark.parametrize("name", ["theta.csv", "-"])
def test_what_only_a_table_has_is_refused_of_other_files(name):
    with pytest.raises(UsageError, match=r"--top applies only to .parquet and .jsonl, and --dense"):
        check_suffix(name, top=True, dense=True)


def test_json_lines_list_the_greatest_topics_with_names_and_bounds(sampled):
    """Red with: shares of other topics than those listed; ascending shares."""
    file, every = io.BytesIO(), io.BytesIO()
    steps, some = interval_steps(sampled, 20), [documents(7)]
    write_proportions(sampled, some, file, ".jsonl", 0, steps, top=2, names={0: "zero", 1: "one"})
    write_proportions(sampled, [documents(7)], every, ".jsonl", 0, steps)
    names = {0: "zero", 1: "one"}
    for line, all_of_it in zip(
        file.getvalue().splitlines(), every.getvalue().splitlines(), strict=True
    ):
        listed, full = json.loads(line)["topics"], json.loads(all_of_it)
        assert len(listed) == 2
        assert listed[0]["share"] == pytest.approx(max(full["topics"]), abs=2e-6)
        for topic in listed:
            k = topic["topic"]
            assert topic["name"] == names.get(k, "")
            for value, column in (("share", "topics"), ("low", "low"), ("high", "high")):
                assert topic[value] == pytest.approx(full[column][k], abs=2e-6)


def test_writing_parquet_without_its_library_says_what_to_install(monkeypatch):
    """Red with: a traceback."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingInputError, match=r"pip install pyarrow"):
        check_suffix("theta.parquet")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_table_that_is_given_up_midway_leaves_no_complaint(results, suffix, tmp_path, recwarn):
    """Red with: a writer of Parquet that is not closed, which says so when it is forgotten."""
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")

    def broken():
        yield documents()
        raise CorpusError("line 24 is bad")

    with pytest.raises(CorpusError, match="line 24"), (tmp_path / "x").open("wb") as file:
        write_proportions(results, broken(), file, suffix)
    gc.collect()
    with pytest.raises(OSError, match="no space"), Full() as file:
        write_proportions(results, [documents()], file, suffix)
    gc.collect()
    assert not recwarn


class Full(io.BytesIO):
    """A file on a disk that is soon full."""

    def write(self, data):
        if self.tell() > 20:
            raise OSError("no space")
        return super().write(data)


def test_a_share_of_one_is_a_number_with_a_point():
    """Red with: 1 for 1.0, which is another type in JSON."""
    file, theta = io.BytesIO(), np.array([[1.0, 1e-9], [0.25, 0.75]])
    proportion_files.WRITERS[".jsonl"](file, proportion_files.Layout(2)).write(
        proportion_files.InferredBlock(0, np.array([3, 4]), theta)
    )
    assert b'"topics": [1.0, 1e-09]}\n' in file.getvalue()
    assert file.getvalue().endswith(b'"topics": [0.25, 0.75]}\n')
