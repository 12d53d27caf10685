"""Tables of topics, words and documents, as read by pandas and PyArrow."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pysgrld.errors import OutputError
from pysgrld.evaluate.coherence import coherence
from pysgrld.models.word_order import PROBABLE
from pysgrld.reading.compare_chains import diagnose
from pysgrld.reading.intervals import bounds
from pysgrld.reading.labels import Label
from pysgrld.reading.pooled import read_together
from pysgrld.reading.repeated_words import Repetition, proportion_bounds
from pysgrld.reading.results import Results
from pysgrld.report.document_pass import drawn_blocks
from pysgrld.report.exports import ExportRequest, export
from pysgrld.report.exports import table_files as module
from pysgrld.run import find_chains
from pysgrld.run.output_files import open_output
from pysgrld.run.ownership import claim_files


def read(folder, format):
    reader = pd.read_csv if format == "csv" else pd.read_parquet
    return {name: reader(folder / f"{name}.{format}") for name in NAMES}


NAMES = ("topics", "topic-words", "documents")


def draws_of(results, at=0):
    corpus = results.training_corpus()
    rows = np.arange(corpus.documents)
    steps = results.draw_steps(20)
    return results.document_draws(corpus.take(rows), rows, steps, at)


def ends_of_shares(tokens):
    """Intervals of shares for other texts: draws of topics, and Student's t over documents."""
    drawn = tokens.sum(axis=1) / tokens.sum(axis=(1, 2))[:, None]
    mean, (low, high) = drawn.mean(axis=0), bounds(drawn)
    one = tokens.mean(axis=0)
    lengths, n = one.sum(axis=1), len(one)
    variance = ((one - lengths[:, None] * mean) ** 2).sum(axis=0) / lengths.sum() ** 2
    freedom = lengths.sum() ** 2 / (lengths**2).sum() - 1
    more = 1.6449 * np.sqrt(variance * n / (n - 1) * freedom / (freedom - 2))
    low, high = mean - np.hypot(mean - low, more), mean + np.hypot(high - mean, more)
    return SimpleNamespace(mean=mean, low=np.maximum(0, low), high=np.minimum(1, high))


@pytest.mark.parametrize(("name", "at"), [("lda", 0), ("dlda", 1), ("sam", 0)])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_figures_are_those_of_the_run(exported, chains, name, at, format):
    """Red with: intervals of the first sample; ranks by relevance; another share than topics has."""
    results = chains(name)[0]
    found = read(exported(name, format, at=at, top=7), format)
    theta, tokens = draws_of(results, at)
    k = results.fitted.layers[at]
    documents = found["documents"]
    shares = documents[[f"topic_{i}" for i in range(k)]].to_numpy()
    np.testing.assert_allclose(shares, theta.mean(axis=0), atol=1e-6)
    assert documents["row"].tolist() == list(range(60))
    assert documents["held_out"].sum() == 6
    topics = found["topics"]
    weights = results.weights(at)
    np.testing.assert_allclose(topics["share"], weights, atol=1e-6)
    ends = ends_of_shares(tokens[:, ~documents["held_out"].to_numpy(bool)].astype(float))
    mean = ends.mean
    low, high = (np.clip(end + weights - mean, 0, 1) for end in (ends.low, ends.high))
    np.testing.assert_allclose(topics[["low", "high"]].T, (low, high), atol=1e-5)
    phi = results.fitted.topics_over_words(results.mean, at)[:, :k].T
    words = found["topic-words"].pivot(index="topic", columns="rank", values="word").to_numpy()
    ids = results.top(7, at)
    assert words.tolist() == [[results.vocabulary[w] for w in row] for row in ids]
    p = found["topic-words"]["p"].to_numpy().reshape(k, 7)
    np.testing.assert_allclose(p, np.take_along_axis(phi, ids, axis=1), atol=1e-6)
    drawn = np.stack([results.topics_of_sample(step, at) for step in results.kept()])
    low, high = bounds(np.take_along_axis(drawn, ids[None], axis=2))
    ten = np.sort(drawn, axis=2)[:, :, -10]
    among = (np.take_along_axis(drawn, ids[None], axis=2) >= ten[:, :, None]).mean(axis=0)
    for column, expected in (("low", low), ("high", high), ("in_ten", among)):
        np.testing.assert_allclose(
            found["topic-words"][column].to_numpy().reshape(k, 7), expected, atol=1e-6
        )


def test_topics_say_how_much_they_can_be_trusted(exported, chains):
    """Red with: the overlap of halves where there are chains; coherence of the words that are shown."""
    topics = read(exported("lda", "csv", top=3, together=True), "csv")["topics"]
    runs = chains("lda")
    compared = diagnose(*(r.path for r in runs), threads=1)
    np.testing.assert_allclose(topics["overlap"], [t.overlap for t in compared.topics], atol=1e-6)
    assert topics["found"].tolist() == [t.found for t in compared.topics]
    both, corpus = read_together(runs, runs[0].path.parent), runs[0].training_corpus()
    top, probable = both.top(10), both.top(10, order=PROBABLE)
    npmi = coherence(top, corpus, both.training_documents(corpus)).npmi
    np.testing.assert_allclose(topics["npmi"], npmi, atol=1e-6)
    for k, t in enumerate(compared.topics):  # of the draws of the chains that have it
        has = [(run, row) for run, row in zip(runs, t.counterparts, strict=True)][: t.found]
        drawn = np.stack([run.topics_of_sample(s, 0)[row] for run, row in has for s in run.kept()])
        among = drawn[:, probable[k]] >= np.sort(drawn, axis=1)[:, [-10]]
        assert topics["steady"][k] == pytest.approx(among.sum(axis=1).mean(), abs=1e-6)
    assert len(set(topics["label"])) == 4
    assert find_chains(runs[0].path.parent) == [r.path for r in runs]


def test_columns_of_documents_keep_their_types(exported):
    """Red with: all as text; a kept column that takes the place of the tokens."""
    table = pq.read_table(exported("lda", "parquet") / "documents.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    wanted = {
        "row": "int64",
        "id": "string",
        "group": "dictionary<values=string, indices=int32, ordered=0>",
        "year": "int64",
        "when": "timestamp[us, tz=UTC]",
        "weight": "double",
        "column_tokens": "string",
        "held_out": "bool",
        "tokens": "int64",
        "topic_0": "float",
    }
    assert {name: types.get(name) for name in wanted} == wanted
    frame = table.to_pandas()
    assert frame["id"][3] == "p 3\tx"
    assert table["group"].to_pylist()[:3] == ["space", "=law", None]
    assert frame["year"].isna().sum() == 12
    assert frame["when"][4] == pd.Timestamp("2020-01-05", tz="UTC")
    assert frame["weight"][5] == 5 / 7
    assert frame["column_tokens"][6] == "clash 6"
    assert (frame["tokens"] == 20).all()


def test_text_that_a_spreadsheet_would_compute_gets_a_quote_sign(exported):
    found = read(exported("lda", "csv"), "csv")["documents"]
    assert found["group"][1] == "'=law"


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_sparse_documents_have_the_same_shares_and_intervals(exported, chains, format, monkeypatch):
    """Red with: the greatest topic left out; ends of another topic."""
    monkeypatch.setattr(module, "LISTED", 0.9)
    dense = read(exported("lda", format, out="dense"), format)["documents"]
    found = read(exported("lda", format, out="sparse", sparse=True), format)["documents"]
    shares = dense[[f"topic_{k}" for k in range(4)]].to_numpy()
    results = chains("lda")[0]
    theta, documents = draws_of(results).theta, results.training_corpus().take(np.arange(60))
    low, high = proportion_bounds(
        theta, Repetition(results, 0).factors(documents, theta.mean(axis=0))
    )
    assert {(r, k) for r, k in zip(found["row"], found["topic"], strict=True)} == {
        (r, k)
        for r in range(60)
        for k in range(4)
        if shares[r, k] >= 0.9 or k == shares[r].argmax()
    }
    assert found.groupby("row")["share"].apply(lambda part: part.is_monotonic_decreasing).all()
    at = found["row"].to_numpy(), found["topic"].to_numpy()
    for name, values in (("share", shares), ("low", low), ("high", high)):
        np.testing.assert_allclose(found[name], values[at], atol=1e-6)
    assert found["id"].tolist() == dense["id"][found["row"]].tolist()


def test_sparse_documents_list_topics_from_a_hundredth_on(exported):
    """Red with: a twentieth."""
    dense = read(exported("lda", "csv", out="dense"), "csv")["documents"]
    found = read(exported("lda", "csv", out="sparse", sparse=True), "csv")["documents"]
    shares = dense[[f"topic_{k}" for k in range(4)]].to_numpy()
    assert ((shares >= 0.01) & (shares < 0.05)).sum() > 10
    assert len(found) == (shares >= 0.01).sum()


def test_blocks_of_documents_and_of_topics_do_not_matter(exported, monkeypatch):
    """Red with: a block that begins one off; steady words of the last block alone."""
    whole = exported("lda", "csv", out="whole")
    monkeypatch.setattr("pysgrld.report.document_pass._CELLS", 16 * 20 * 4)
    monkeypatch.setattr("pysgrld.report.exports.table_files._VALUES", 1)
    parts = exported("lda", "csv", out="parts")
    for name in NAMES:
        assert (parts / f"{name}.csv").read_bytes() == (whole / f"{name}.csv").read_bytes()


def test_row_groups_of_parquet_are_joined_from_blocks(exported, monkeypatch):
    """Red with: categories of the first block in all; a group for each block."""
    whole = pd.read_parquet(exported("lda", "parquet", out="a") / "documents.parquet")
    monkeypatch.setattr("pysgrld.report.document_pass._CELLS", 16 * 20 * 4)
    path = exported("lda", "parquet", out="b") / "documents.parquet"
    assert pq.ParquetFile(path).num_row_groups == 1
    pd.testing.assert_frame_equal(pd.read_parquet(path), whole)
    monkeypatch.setattr("pysgrld.report.exports.table_files._WAITING", 1)
    path = exported("lda", "parquet", out="c") / "documents.parquet"
    assert pq.ParquetFile(path).num_row_groups == 4
    pd.testing.assert_frame_equal(pd.read_parquet(path), whole)


def test_current_topics_have_no_intervals(exported, chains):
    results = chains("lda")[0]
    found = read(exported("lda", "csv", draw="last", top=2), "csv")
    p = found["topic-words"].query("rank == 1")["p"]
    np.testing.assert_allclose(p, results.fitted.current["phi"][:, :4].max(axis=0), atol=1e-6)
    assert found["topic-words"][["low", "high", "in_ten"]].isna().all(axis=None)
    assert found["topics"][["low", "high", "steady", "overlap"]].isna().all(axis=None)


def test_a_mixture_has_its_components(exported, chains):
    """Red with: components without documents."""
    results = chains("dpmm")[0]
    found = read(exported("dpmm", "parquet"), "parquet")
    topics = found["topics"]
    assert topics["topic"].tolist() == results.fitted.shown(0).tolist()
    np.testing.assert_allclose(topics["share"], results.weights(0)[topics["topic"]], atol=1e-6)
    shares = found["documents"].filter(regex=r"^topic_\d+$").to_numpy()
    assert shares.shape == (60, results.fitted.layers[0])
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)
    assert topics["low"].isna().all()


def test_names_that_a_person_gave_are_labels(exported, chains, monkeypatch):
    results = chains("dlda")[0]
    monkeypatch.setitem(results.__dict__, "named", {2: Label("Härte")})
    topics = read(exported("dlda", "csv"), "csv")["topics"]
    assert topics["label"][2] == "Härte"
    assert topics["label"][0].count(" · ") == 2
    words = exported("dlda", "npy", out="npy")
    assert json.loads((words / "labels.json").read_text()) == {"2": "Härte"}


def test_without_the_corpus_there_is_no_table_of_documents(exported, chains, monkeypatch):
    """Red with: a traceback; a table without rows."""
    monkeypatch.setattr(type(chains("lda")[0]), "training_corpus", lambda self: None)
    folder = exported("lda", "csv")
    assert sorted(p.name for p in folder.glob("[!.]*")) == ["topic-words.csv", "topics.csv"]
    topics = pd.read_csv(folder / "topics.csv")
    assert topics["npmi"].isna().all()
    assert topics["share"].sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("format", ["csv", "npy"])
def test_files_of_another_run_do_not_stay_beside_those_of_this_one(
    chains, tmp_path, monkeypatch, format
):
    """Red with: only what is written being replaced: 4 topics beside the old run's documents."""
    name = {"csv": "documents.csv", "npy": "labels.json"}[format]
    claim_files(tmp_path, [name], force=False)
    with open_output(tmp_path / name) as file:
        file.write(b"of another run")
    (tmp_path / "notes.txt").write_text("a person's")
    first = chains("lda")[0]
    monkeypatch.setattr(Results, "training_corpus", lambda self: None)
    request = ExportRequest(format, tmp_path, "mean", 5)
    with pytest.raises(OutputError, match=rf"{name}: is there already; --force replaces it"):
        export(first, request)
    assert (tmp_path / name).exists()
    export(first, request, force=True)
    assert not (tmp_path / name).exists()
    assert (tmp_path / f"topics.{format}").exists()
    assert (tmp_path / "notes.txt").read_text() == "a person's"


def test_shares_at_the_end_of_a_row_are_written_as_any_number_is():
    """Red with: 1 for 1.0, which some readers take for another type; NaN for an empty cell."""
    shares = [0.0, 1.0, 1e-5, 0.12345678, 1 / 3, 1e-30, 0.1]
    rows = [(7, 'a "b", c', *shares), (8, None, *shares[::-1])]
    columns = [module.TableColumn("row", "integer"), module.TableColumn("id", "string")]
    columns += [module.TableColumn(f"topic_{i}", "share") for i in range(len(shares))]
    file = io.BytesIO()
    table = module.CsvTable(file, columns)
    table.write(
        [np.array(part) if i else list(part) for i, part in enumerate(zip(*rows, strict=True))]
    )
    lines = file.getvalue().decode().splitlines()[1:]
    told = ["0.0", "1.0", "1e-05", "0.1234568", "0.3333333", "1e-30", "0.1"]
    assert lines == [f'7,"a ""b"", c",{",".join(told)}', f"8,,{','.join(told[::-1])}"]
    table.write([[9], ["d"], *([np.nan] if i == 3 else [0.5] for i in range(len(shares)))])
    assert file.getvalue().decode().splitlines()[3] == "9,d,0.5,0.5,0.5,,0.5,0.5,0.5"


def test_documents_that_are_read_without_samples_come_in_small_blocks():
    """Red with: blocks as large as the topics, of which none is read: 3.8 GB beside a training of 2.3."""
    steps = SimpleNamespace(
        fitted=SimpleNamespace(layers=[500]),
        vocabulary=range(200_000),
        proportions=lambda documents, ids, at, draw: np.zeros((len(ids), 500)),
    )
    asked = []

    def take(rows):
        asked.append(len(rows))
        return SimpleNamespace(lengths=np.ones(len(rows)))

    rows = np.arange(40_000)
    corpus = SimpleNamespace(take=take, nnz=len(rows), documents=len(rows))
    assert len(list(drawn_blocks(steps, corpus, rows, [], 0))) == 3
    assert max(asked) == 16_000
