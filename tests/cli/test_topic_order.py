"""Topics in files and JSON: sorted by number, each with the same label everywhere."""

import csv
import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def run(trained, tmp_path_factory):
    """A copy of a finished run of eight topics, one of which the user has named."""
    place = shutil.copytree(
        trained.folder / "sgmc-runs" / "bible-scir", tmp_path_factory.mktemp("order") / "run"
    )
    (place / "labels.json").write_text('{"3": "kings"}')
    return place


def sgmc(*args):
    done = CliRunner().invoke(main, [str(arg) for arg in args])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def page(run):
    place = run.with_name("page.json")
    sgmc("report", run, "-o", run.with_name("page.html"), "--json", place, "-q")
    return json.loads(place.read_text())


@pytest.fixture(scope="module")
def table(run):
    place = run.with_name("tables")
    sgmc("export", run, "--to", "csv", "-o", place, "-q")
    return {
        name: list(csv.DictReader((place / f"{name}.csv").read_text().splitlines()))
        for name in ("topics", "documents")
    }


@pytest.mark.parametrize(
    "question",
    [["topics"], ["topics", "--documents", 2], ["topics", "--word", "king"], ["diagnose"]],
)
def test_lists_of_topics_have_one_order_and_the_same_labels(run, page, table, question):
    """Red with: topics by share in some outputs, and `label: null` in some for an automatic name."""
    command, *options = question
    topics = json.loads(sgmc(command, run, *options, "--json"))["topics"]
    ids = [topic.get("id", topic.get("topic")) for topic in topics]
    labels = {int(row["topic"]): row["label"] for row in table["topics"]}
    assert list(labels) == list(range(8))
    assert labels[3] == "kings"
    assert ids == sorted(ids)
    assert len(ids) > 1
    for k, topic in zip(ids, topics, strict=True):
        assert (topic["label"], topic["named"]) == (labels[k], k == 3)
    assert [(t["id"], t["label"], t["named"]) for t in page["topics"]] == [
        (k, label, k == 3) for k, label in labels.items()
    ]


def test_two_runs_compared_have_the_labels_by_number(run, table, trained):
    other = trained.folder / "sgmc-runs" / "bible-scir"
    names = json.loads(sgmc("compare", run, other, "--json"))["left"]["names"]
    assert names == {row["topic"]: row["label"] for row in table["topics"]}


def test_row_k_of_a_matrix_is_topic_k(run, page, table):
    """Red with: a list of topics by share next to matrices by number."""
    shares = [topic["weight"][0] for topic in page["topics"]]
    np.testing.assert_allclose(page["corpus_share"]["words"], shares, atol=1e-6)
    np.testing.assert_allclose([float(row["share"]) for row in table["topics"]], shares, atol=1e-6)
    place = run.with_name("exported")
    sgmc("export", run, "--to", "npy", "-o", place, "-q")
    phi, words = np.load(place / "topics.npy"), (place / "vocab.txt").read_text().split("\n")
    for k, topic in enumerate(page["topics"]):
        for word in topic["words"]:
            assert phi[k, words.index(word["word"])] == pytest.approx(word["mean"], abs=1e-6)
    record = page["docs"]["main"][0]
    row = table["documents"][page["docs"]["row"][0]]
    for k, share in zip(record[::2], record[1::2], strict=True):
        assert float(row[f"topic_{k}"]) == pytest.approx(share, abs=1e-3)
