"""The map of documents keeps neighbours, is the same again, and documents have names."""

import csv
import json
import shutil
import tracemalloc

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.reading import use
from pysgrld.report import document_layout, report
from pysgrld.report.document_layout import Placement, densest_points, lay_out_documents
from pysgrld.report.sections.corpus import _AlikeIntervals
from pysgrld.report.sections.groups import neighbours_are_alike
from pysgrld.report.texts_and_metadata import document_names


@pytest.mark.parametrize("documents", [240, 700])
def test_documents_of_a_topic_lie_together(documents):
    """Most of a document's ten nearest points have its topic, of 8. Red with: repulsion turned round."""
    rng = np.random.default_rng(3)
    topic = np.arange(documents) % 8
    theta = rng.dirichlet(np.full(8, 0.05), documents) * 0.3
    theta[np.arange(documents), topic] += 0.7
    layout = lay_out_documents(theta.astype(np.float16))
    assert layout is not None
    apart = ((layout.points[:, None] - layout.points) ** 2).sum(axis=2)
    near = np.argsort(apart, axis=1)[:, 1:11]
    assert (topic[near] == topic[:, None]).mean() > 0.8
    assert layout.kept > 2 * 10 / documents  # far more than chance has
    assert np.array_equal(layout.points, lay_out_documents(theta.astype(np.float16)).points)
    assert layout.points.min() == 0
    assert layout.points.max() == 1


def test_documents_beyond_the_landmarks_lie_by_their_nearest(monkeypatch):
    """Red with: weights by distance instead of nearness, or landmarks at other documents' places."""
    monkeypatch.setattr("pysgrld.report.document_layout.LANDMARKS", 100)
    rng = np.random.default_rng(3)
    topic = rng.integers(0, 6, 400)
    theta = rng.dirichlet(np.full(6, 0.05), 400) * 0.2
    theta[np.arange(400), topic] += 0.8
    points = lay_out_documents(theta).points
    apart = ((points[:, None] - points) ** 2).sum(axis=2)
    near = np.argsort(apart, axis=1)[:, 1:11]
    assert (topic[near] == topic[:, None]).mean() > 0.9


def test_further_documents_are_placed_between_those_like_them():
    """Red with: points of other documents, or weights by distance instead of nearness."""
    rng = np.random.default_rng(3)
    topic = rng.integers(0, 6, 600)
    theta = rng.dirichlet(np.full(6, 0.05), 600) * 0.2
    theta[np.arange(600), topic] += 0.8
    points = lay_out_documents(theta[:300]).points
    further = Placement(theta[:300], points)(theta[300:])
    apart = ((further[:, None] - points) ** 2).sum(axis=2)
    assert (topic[:300][np.argsort(apart, axis=1)[:, :10]] == topic[300:, None]).mean() > 0.9
    assert Placement(theta[:300], points)(theta[:300]) == pytest.approx(points, abs=0.02)


def test_equal_and_few_documents_are_no_trouble():
    assert lay_out_documents(np.full((10, 3), 1 / 3)) is None
    assert np.isfinite(lay_out_documents(np.full((60, 3), 1 / 3)).points).all()


def peak_of(call, *arguments):
    """Return the peak memory of a call, in bytes."""
    tracemalloc.start()
    try:
        call(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_neighbours_among_many_documents_take_bounded_memory():
    """Red with: blocks of 512 documents whatever they are compared with, which take ten times that."""
    rng = np.random.default_rng(5)
    points, some = rng.random((60_000, 2)), np.arange(300)
    roots = rng.random((60_000, 4), dtype=np.float32)
    near = document_layout._nearest_points(points, some, 5)
    apart = ((points[some[:3], None] - points) ** 2).sum(axis=2)
    assert np.array_equal(near[:3], np.argsort(apart, axis=1)[:, 1:6])
    assert peak_of(document_layout._nearest_points, points, some, 5) < 80 * 2**20
    assert peak_of(document_layout.nearest, roots[some], roots, 5, some) < 80 * 2**20
    assert peak_of(document_layout._blocks, roots[some], roots, 5) < 80 * 2**20


def test_copies_among_topics_are_found_without_a_copy_of_the_topics():
    """Red with: the columns of the topics selected for all words at once."""
    phi = np.random.default_rng(6).dirichlet(np.full(200_000, 0.5), 9).T.astype(np.float32)
    phi[:, 6] = phi[:, 2]
    ids, weights = np.arange(1, 9), np.array([0.2, 0.3, 0.1, 0.1, 0.1, 0.001, 0.1, 0.1])
    assert np.flatnonzero(use.copies(phi, ids, weights)).tolist() == [5]
    assert peak_of(use.copies, phi, ids, weights) < phi.nbytes / 4


def test_the_order_of_the_corpus_is_shown_if_neighbours_are_alike():
    """Red with: a line along shuffled documents, or none along those in order."""
    rng = np.random.default_rng(4)
    theta = rng.dirichlet(np.full(5, 0.3), 400)
    assert not neighbours_are_alike(theta)
    assert neighbours_are_alike(theta[np.argsort(theta[:, 0])])
    assert sum(neighbours_are_alike(rng.permutation(theta)) for _ in range(100)) <= 3


def test_documents_longer_than_all_that_are_drawn_have_no_interval():
    """Red with: the gap of the longest drawn documents for any share of longer ones."""
    shares = np.array([0.5, 0.9], np.float32)
    intervals = _AlikeIntervals(shares, np.array([8, 8]), (shares - 0.1, shares + 0.1))
    low, high = intervals(np.array([0.9, 0.5, 0.9], np.float32), np.array([8, 64, 64]))
    np.testing.assert_allclose(low, [0.8, 0, 0], atol=1e-6)
    np.testing.assert_allclose(high, [1, 0, 0], atol=1e-6)


def test_a_name_is_where_most_of_its_topic_is():
    """Red with: the mean of a topic that lies in two pieces, which is between them."""
    points = np.array([[0.1, 0.1]] * 7 + [[0.9, 0.9]] * 5 + [[0.5, 0.2]])
    spot = densest_points(points, np.array([0] * 12 + [1]), np.ones(13), 3)
    assert spot[0] == pytest.approx([0.1, 0.1], abs=0.01)
    assert spot[1] == pytest.approx([0.5, 0.2])
    assert np.isnan(spot[2]).all()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first-screen")
    rng = np.random.default_rng(0)
    lines = []
    for i in range(90):
        first = 12 * (i % 3)  # three topics of twelve words
        words = [f"w{chr(97 + w // 6)}{chr(97 + w % 6)}" for w in first + rng.integers(0, 12, 30)]
        title = {0: "1", 1: "A title"}.get(i)
        row = {
            "id": str(i + 1),
            "text": " ".join(words),
            "group": "abc"[i % 3],
            "coin": "xy"[rng.integers(2)],
        }
        lines.append(json.dumps(row if title is None else row | {"title": title}))
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    typed = [
        "train",
        str(folder / "corpus.jsonl"),
        "-k",
        "3",
        "--iterations",
        "60",
        "--set",
        "burn-in=10",
    ]
    typed += [
        "--set",
        "sample-every=2",
        "--min-df",
        "1",
        "--max-df",
        "1.0",
        "-q",
        "--meta-field",
        "coin:category,group:category",
    ]
    done = CliRunner().invoke(main, [*typed, "--out", str(folder / "run")])
    assert done.exit_code == 0, done.output
    return report(folder / "run", threads=1)


def test_documents_have_names(page):
    """A title "1" is "1"; without a title, the first words. Red with: ids."""
    titles = page.main["docs"]["title"]
    assert titles[:2] == ["1", "A title"]
    assert all(
        title.startswith("w") and len(title) <= 61 and title.endswith("…") for title in titles[2:]
    )


def test_names_without_texts_are_ids(page):
    about = page._run.about
    names = document_names(about, [0, 5], page._run.noun, with_texts=False)
    assert names == ["1", "Document 6"]


def test_the_first_screen_has_every_document_and_the_best_column(page):
    """Red with: the first column instead of that which tells most of the topics."""
    dots = page.main["dots"]
    assert (dots["documents"], dots["of"], dots["intervals"]) == (90, 90, True)
    assert page.main["columns"][page.main["best"]]["name"] == "group"
    assert 0 < dots["sure"] == sum(topic["mostly"] for topic in page.main["topics"]) <= 90
    assert len(page.facts["dots"]["points"]) == 90
    assert all(
        topic["trust"] is None or topic["trust"]["state"] == "once" for topic in page.main["topics"]
    )
    assert all(topic["overlap"] is None for topic in page.main["topics"])


def test_documents_without_draws_are_on_the_map_too(page, monkeypatch):
    """With the group, the topic and the shade of their like. Red with: a map of drawn documents alone."""
    monkeypatch.setattr("pysgrld.report.document_pass.DOCUMENTS", 30)
    few = report(page.folder, threads=1, documents=5)
    dots = few.main["dots"]
    assert (dots["documents"], dots["drawn"], dots["of"]) == (90, 30, 90)
    section = next(s for s in few._sections if hasattr(s, "_dots"))
    assert section._dots.own.sum() == 30
    assert (section._dots.low <= section._dots.mean).all()
    whole = next(s for s in page._sections if hasattr(s, "_dots"))._dots
    assert (section._dots.topic == whole.topic).mean() > 0.95
    assert np.abs(section._dots.low - whole.low)[~section._dots.own].mean() < 0.1
    groups = next(s for s in few._sections if hasattr(s, "_levels"))
    best, rows = groups._columns[groups._best], few._run.map_rows
    assert [best.levels[i] for i in groups._levels(rows)] == few._run.about.values(best.name, rows)


def test_a_share_is_the_same_everywhere(page, tmp_path):
    """On the page, in `topics`, `compare` and exports. Red with: means of draws on the page."""

    def run_json(*typed):
        done = CliRunner().invoke(main, [*typed, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def written(shares):
        return {int(k): f"{100 * share:.1f} %" for k, share in shares.items()}

    run = str(page.folder)
    shown = written({t["id"]: t["weight"][0] for t in page.main["topics"]})
    listed = run_json("topics", run)["topics"]
    assert written({t["id"]: t["weight"] for t in listed}) == shown
    shutil.copytree(page.folder, tmp_path / "copy")
    compared = run_json("compare", run, str(tmp_path / "copy"))
    assert written({t["left"][0]: t["share_left"] for t in compared["topics"]}) == shown
    folder = tmp_path / "tables"
    done = CliRunner().invoke(main, ["export", run, "--to", "csv", "-o", str(folder), "-q"])
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader((folder / "topics.csv").read_text().splitlines()))
    assert written({row["topic"]: float(row["share"]) for row in rows}) == shown
    for topic in page.main["topics"]:
        mean, low, high = topic["weight"]
        assert low <= mean <= high
    assert written(dict(enumerate(page.main["corpus_share"]["words"]))) == shown


def test_a_page_has_the_columns_of_a_table(page, tmp_path):
    """Without an option. Red with: a page without columns."""
    table = tmp_path / "corpus.jsonl"
    shutil.copy(page.folder.parent / "corpus.jsonl", table)
    typed = [
        "train",
        str(table),
        "-k",
        "2",
        "--iterations",
        "4",
        "--set",
        "starts=1",
        "--min-df",
        "1",
        "-q",
    ]
    done = CliRunner().invoke(main, [*typed, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output

    made = report(tmp_path / "run", threads=1, documents=1)
    assert {"coin", "group"} <= {column["name"] for column in made.main["columns"]}


def test_similarities_are_exact_whatever_the_order_of_their_sums():
    """Red with: roots that are not multiples of `_STEP`: libraries divide sums among threads, so the
    map of a page differed between one and two threads.
    """
    theta = np.random.default_rng(2).dirichlet(np.full(64, 0.05), 300).astype(np.float32)
    roots = document_layout._roots(theta)
    whole = (roots * document_layout._STEP).astype(np.int64)
    assert np.abs(whole / document_layout._STEP - roots).max() == 0
    exact = (whole @ whole.T) / document_layout._STEP**2
    assert exact.max() < 4
    for order in (np.arange(64), np.random.default_rng(3).permutation(64)):
        assert (roots[:, order] @ roots[:, order].T == exact).all()
