"""The experiments of `sgmc reproduce`: frame, rows, pictures of topics. No figure of a paper here."""

import gzip
import inspect
import math
from dataclasses import replace
from pkgutil import resolve_name

import experiments_work
import numpy as np
import pytest

from pysgrld.errors import CorpusError, MemoryLimitError, MissingInputError, UsageError
from pysgrld.evaluate import pair_parts
from pysgrld.experiments import EXPERIMENTS, check_corpus, dlda_curves, dlda_mnist
from pysgrld.experiments.corpora import SplitCorpus
from pysgrld.experiments.curves import Curve, CurvePoint, CurveTask, is_mark, train_row
from pysgrld.experiments.frame import ExperimentSetting, make_folder, select_names, write_csv
from pysgrld.experiments.processes import map_in_processes
from pysgrld.types import Documents


class Silent:
    """Hears nothing."""

    def note(self, line, severity=None):
        pass


def documents(n, words, seed=0):
    """Draw documents of two to eight distinct words."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.permutation(words)[: rng.integers(2, 9)]) for _ in range(n)]
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    indices = np.concatenate(rows).astype(np.int32)
    return Documents(indptr, indices, rng.integers(1, 4, len(indices)).astype(np.int32))


# ---- frame


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_row_of_the_table_has_a_function_that_is_handed_what_the_row_says(name):
    """Red with: a row that asks for a corpus, whose function has no parameter for it."""
    row = EXPERIMENTS[name]
    run = resolve_name(f"pysgrld.experiments.{row.function}")
    wanted = ["setting", "listener", "corpus"] if row.corpus else ["setting", "listener"]
    assert list(inspect.signature(run).parameters) == wanted
    assert len(row.summary) < 80


def test_a_corpus_is_given_where_the_table_asks_for_it_and_nowhere_else(tmp_path):
    """Red with: the row's own word not looked at."""
    assert check_corpus("mld-tv", None) is None
    assert check_corpus("dlda-mnist", str(tmp_path)) == tmp_path
    with pytest.raises(UsageError, match="mld-tv, which makes its own data"):
        check_corpus("mld-tv", str(tmp_path))
    with pytest.raises(MissingInputError, match="dlda-mnist needs its data: give --corpus PATH"):
        check_corpus("dlda-mnist", None)
    with pytest.raises(
        MissingInputError, match=r"none: no such file or folder; --corpus must be a folder"
    ):
        check_corpus("dlda-mnist", str(tmp_path / "none"))


def test_csv_has_seven_digits_and_empty_cells(tmp_path):
    path = write_csv(tmp_path / "a.csv", ("a", "b"), [(1 / 3, None), (math.nan, "x,y"), (7, 1e9)])
    assert path.read_text() == 'a,b\n0.3333333,\n,"x,y"\n7,1e+09\n'


def test_a_folder_that_holds_anything_is_refused_unless_forced(tmp_path):
    from pysgrld.errors import OutputError

    make_folder(tmp_path / "new" / "er", force=False)
    make_folder(tmp_path / "new" / "er", force=False)  # empty: nothing is lost
    write_csv(tmp_path / "new" / "er" / "a", ("a",), [(1,)])
    with pytest.raises(OutputError, match="--force"):
        make_folder(tmp_path / "new" / "er", force=False)
    make_folder(tmp_path / "new" / "er", force=True)
    (tmp_path / "new" / "er" / "mine").touch()
    with pytest.raises(OutputError, match=r"er/mine: was not written by sgmc"):
        make_folder(tmp_path / "new" / "er", force=True)
    with pytest.raises(OutputError, match="is a file"):
        make_folder(tmp_path / "new" / "er" / "a", force=True)


# ---- processes


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_tasks(processes):
    """Red with: results in the order of completion."""
    shares, done = [], {}
    found = map_in_processes(
        experiments_work.square,
        [1, 2, 3],
        [1.0, 1.0, 5.0],
        processes,
        shares.append,
        done.__setitem__,
    )
    assert found == [1, 4, 9]
    assert done == {0: 1, 1: 4, 2: 9}
    assert shares == sorted(shares)
    assert shares[-1] == 100


def test_a_row_that_fails_ends_the_others(tmp_path):
    """Red with: no stop.set(), where the other row goes on to its end."""
    late, work = tmp_path / "late", experiments_work.fail_or_write
    with pytest.raises(ValueError, match="no path"):
        map_in_processes(work, ["", str(late)], [1.0, 1.0], 2, lambda percent: None)
    assert not late.exists()


def test_a_process_that_is_killed_is_said():
    with pytest.raises(MemoryLimitError, match="was killed"):
        map_in_processes(experiments_work.die, [1], [1.0], 1, lambda percent: None)


# ---- Table 1 of deep LDA


def test_rows_are_chosen_by_patterns_in_the_order_of_the_table():
    assert len(dlda_curves.NEWS.names) == 24
    assert set(dlda_curves.NEWS.paper) < set(dlda_curves.NEWS.names)
    chosen = select_names(dlda_curves.NEWS.names, ("ours-128", "tl*gr-128"))
    assert chosen == ["tlasgr-128", "tlfsgr-128", "ours-128"]
    with pytest.raises(UsageError, match="--rows ldx: no such row"):
        select_names(dlda_curves.NEWS.names, ("tlasgr-*", "ldx"))


def task(name, *, quick=False, n=1000, **kwargs):
    setting = ExperimentSetting(None, quick, **kwargs)
    held_out = pair_parts(documents(30, 50, 1), documents(30, 50, 2))
    return dlda_curves.task(name, 4, SplitCorpus(documents(n, 50), 50, held_out), setting)


@pytest.mark.parametrize(
    ("name", "iterations", "expected"),
    [
        ("tlasgr-128", 3500, {"minibatch": 200, "sweeps": 30, "kept-sweeps": 10, "burn-in": 2000}),
        ("tlasgr-128-64", 3500, {"algo": "tlasgr", "boundary": "clip", "layers": [128, 64]}),
        (
            "tlasgr_reflect-128-64",
            3500,
            {"algo": "tlasgr", "boundary": "reflect", "layers": [128, 64]},
        ),
        ("tlfsgr-128-64", 3500, {"step-size": [1.0, 21.0, 0.7], "sweeps": 60, "algo": "tlfsgr"}),
        ("sgrld-128-64-32", 3500, {"step-size": [0.1, 21.0, 0.9], "layers": [128, 64, 32]}),
        ("gibbs-128", 2500, {"minibatch": 1000, "sweeps": 1, "burn-in": 1000, "sample-every": 1}),
    ],
)
def test_rows_of_the_paper_have_its_constants(name, iterations, expected):
    """Constants of the authors' code, and 1500 samples after the burn-in. Red with: 1499."""
    row = task(name)
    assert row.iterations == iterations
    options = row.options.plain()
    assert {key: options[key] for key in expected} == expected
    assert row.options.seed == 4
    assert row.options.model == "dlda"


def test_rows_of_lda_have_their_topics_and_no_layers_and_are_scored_without_rates():
    """Red with: the preset of deep LDA; rates that are missing for the score of the table."""
    row = task("lda-64")
    assert row.iterations == 500
    assert (row.options.model, row.options.algo, row.options.topics) == ("lda", "gibbs", 64)
    assert (row.options.burn_in, row.options.sample_every, row.options.preset) == (200, 1, None)
    point = CurvePoint(9, 1.0, 900.0, math.nan, 774.0, 5)
    assert dlda_curves.score(point) == 774.0
    setting = ExperimentSetting(None)
    shown = dlda_curves.rows(["lda-128"], [Curve("lda-128", 0, [point], "")])
    assert "lda 774" in dlda_curves.sentences(shown, [], setting)[0]


def test_our_rows_visit_as_many_documents():
    """Red with: minibatches of 400 for the authors' 200."""
    ours, published = task("ours-128-64"), task("tlasgr-128-64")
    assert (ours.options.algo, ours.options.preset) == ("scir", None)
    seen = ours.iterations * ours.options.minibatch
    assert 0 <= seen - 3500 * published.options.minibatch < ours.options.minibatch


def curve(name, seed, weighted, fault=""):
    return Curve(name, seed, [CurvePoint(9, 1.0, 900.0, weighted, weighted + 1, 5)], fault)


def test_rows_are_means_over_seeds_without_those_that_diverged():
    """Red with: diverged ones counted in."""
    curves = [
        curve("a", 0, 700.0),
        curve("a", 1, 710.0),
        curve("a", 2, 1.0, "not finite"),
        curve("b", 0, 1.0, "not finite"),
    ]
    a, b = dlda_curves.rows(["a", "b", "not done"], curves)
    assert a == ("a", None, 705.0, 706.0, 900.0, 5, 9, 1.0, 2, pytest.approx(7.0710678))
    assert b == ("b", *(None,) * 7, 0, None)
    assert len(a) == len(b) == len(dlda_curves.HEAD)


def test_orders_of_samplers_stand_beside_the_papers():
    rows = dlda_curves.rows(
        ["tlasgr-128", "gibbs-128"], [curve("tlasgr-128", 0, 760.4), curve("gibbs-128", 0, 790.0)]
    )
    (line,) = dlda_curves.sentences(rows, [], ExperimentSetting(None))
    assert line == "128: tlasgr 760 < gibbs 790; in the paper gibbs 768 < tlasgr 770"


def test_a_row_samples_after_its_burn_in_and_is_looked_at_at_marks():
    """Red with: burn-in 0; no point at the end."""
    row = task("tlasgr-128", quick=True, n=60)
    row = row._replace(options=replace(row.options, layers=(6,), topics=6, eta=(0.05,)))
    found = train_row(row, lambda part: None)
    assert found.fault == ""
    assert [p.iteration for p in found.points] == [10, 20, 30, 40]
    assert [p.samples for p in found.points] == [0, 0, 10, 20]
    assert [math.isnan(p.further) for p in found.points] == [True, True, False, False]
    assert all(1 < p.point < 500 for p in found.points)
    assert 1 < found.points[-1].further < 500
    again = train_row(row, lambda part: None)
    assert [p._replace(seconds=0) for p in again.points[2:]] == [
        p._replace(seconds=0) for p in found.points[2:]
    ]


def test_a_row_ends_with_its_seconds_and_what_it_lacks_is_said():
    row = task("ours-128", n=60, seconds=1e-9)
    found = train_row(row, lambda part: None)
    assert [p.iteration for p in found.points] == [1]
    (line,) = dlda_curves.sentences([], [found], ExperimentSetting(None))
    assert line == "no sample yet, because the burn-in has not ended: ours-128"
    assert "no sample yet after 1 iterations" in dlda_curves.describe(found.points[-1])


def test_steps_by_layer_are_the_schedule_over_tokens():
    """The first iteration sees all tokens. Red with: the next iteration's h; topics counted twice."""
    row = task("tlasgr-128-64-32", quick=True, n=60)
    options = replace(
        row.options, minibatch=60, topics=6, layers=(6, 4, 3), step_size=(0.5, 1.0, 1.0)
    )
    found = dlda_curves.record(dlda_curves.RatesTask(options, row.data, 3), lambda part: None)
    assert found[:, 0].tolist() == [1, 2, 3]
    assert found[0, 4] == pytest.approx(0.5 * 6 / row.data.train.tokens)
    assert found[1, 4] == pytest.approx(0.25 * 6 / row.data.train.tokens)
    assert (found[:, 1:4] > found[:, 4:]).all()
    rises, falls = np.array([1000, 1, 2, 3, 3, 2, 1]), "not as in the paper"
    assert [line.endswith(falls) for line in dlda_curves.describe_rates(rises)] == [False, True]


def test_marks_are_those_of_the_paper_and_some_before():
    assert [t for t in range(1, 501) if is_mark(t, 3500)] == [10, 20, 50, 100, 200, 300, 400, 500]


def uci(path, rows, words):
    """Write docword: a list of {word: count} for each document, words counted from 1."""
    lines = [f"{d} {w} {n}\n" for d, row in enumerate(rows, 1) for w, n in sorted(row.items())]
    path.write_text(f"{len(rows)}\n{words}\n{len(lines)}\n" + "".join(lines))


def test_the_authors_split_keeps_its_rows_together(tmp_path):
    """Document 2 has nothing held out. Red with: observed and held-out exchanged; empty rows left out."""
    (tmp_path / "vocab.x.txt").write_text("a\nb\nc\n")
    uci(tmp_path / "docword.x.train.txt", [{1: 2}, {2: 1, 3: 1}], 3)
    uci(tmp_path / "docword.x.test-observed.txt", [{1: 1}, {2: 2}, {3: 3}], 3)
    uci(tmp_path / "docword.x.test-heldout.txt", [{2: 5}, {}, {3: 7}], 3)
    train, words, held_out = dlda_curves.read(tmp_path, ExperimentSetting(tmp_path), Silent())
    assert (len(train), words, held_out.dropped) == (2, 3, 1)
    np.testing.assert_array_equal(held_out.doc_ids, [0, 2])
    np.testing.assert_array_equal(held_out.observed.indices, [0, 2])
    np.testing.assert_array_equal(held_out.held_out.counts, [5, 7])
    (tmp_path / "docword.x.train.txt").unlink()
    with pytest.raises(MissingInputError, match=r"docword\.x\.train\.txt"):
        dlda_curves.read(tmp_path, ExperimentSetting(tmp_path), Silent())


# ---- MNIST


def idx(grey):
    header = bytes((0, 0, 8, 3)) + np.array(grey.shape, ">u4").tobytes()
    return header + grey.astype(np.uint8).tobytes()


GREY = np.zeros((3, 2, 4), np.uint8)
GREY[0, 0, 1], GREY[0, 1, 3], GREY[2, 1, 0] = 255, 7, 1


@pytest.mark.parametrize("packed", [False, True])
def test_grey_levels_are_counts_of_pixels_and_black_images_are_left_out(tmp_path, packed):
    data = gzip.compress(idx(GREY)) if packed else idx(GREY)
    (tmp_path / ("train-images-idx3-ubyte" + ".gz" * packed)).write_bytes(data)
    images = dlda_mnist.read_images(tmp_path)
    assert (images.height, images.width) == (2, 4)
    np.testing.assert_array_equal(images.documents.indptr, [0, 2, 3])
    np.testing.assert_array_equal(images.documents.indices, [1, 7, 4])
    np.testing.assert_array_equal(images.documents.counts, [255, 7, 1])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not an idx file"),
        (b"\x1f\x8b", "cannot be read"),
        (gzip.compress(idx(GREY), mtime=0)[:-9], "cannot be read"),
        (idx(GREY)[:-1], "3 images of 2 x 4 bytes, but 23 bytes follow"),
        (idx(GREY) + b"\0", "25 bytes follow"),
        (b"\0\0\x08\x01" + idx(GREY)[4:], "not an idx file"),
        (idx(0 * GREY), "black"),
    ],
)
def test_what_is_no_file_of_images_is_refused(tmp_path, data, said):
    (tmp_path / "images").write_bytes(data)
    with pytest.raises(CorpusError, match=said):
        dlda_mnist.read_images(tmp_path / "images")


def test_missing_images_are_said(tmp_path):
    with pytest.raises(MissingInputError, match="train-images-idx3-ubyte"):
        dlda_mnist.read_images(tmp_path)


def test_spread_is_one_of_even_topics_and_one_over_v_of_single_words():
    """Red with: exp of the mean entropy."""
    even, single = np.full((4, 3), 0.25), np.eye(4)
    assert dlda_mnist.mean_spread(even) == pytest.approx(1.0)
    assert dlda_mnist.mean_spread(single) == pytest.approx(0.25)
    assert dlda_mnist.mean_spread(np.c_[even, single]) == pytest.approx((3 + 1) / 7)


def test_cosine_is_that_of_pairs():
    """Columns at 0, 45 and 90 degrees. Red with: the diagonal counted in."""
    pictures = np.array([[1.0, 3.0, 0.0], [0.0, 3.0, 2.0]])
    assert dlda_mnist.cosine(pictures) == pytest.approx(2 * math.sqrt(0.5) / 3)


def test_topics_of_upper_layers_are_shown_through_those_below(monkeypatch):
    """Red with: the padding of topics left in; the lightest first."""
    monkeypatch.setattr(dlda_mnist, "LAYERS", (3, 2))
    rng = np.random.default_rng(1)
    exact = [rng.dirichlet(np.ones(n), k).T for n, k in ((5, 3), (3, 2))]
    parts = {"r": np.zeros(16, np.float32)}
    parts["r"][:2] = 0.3, 0.6
    for name, phi in zip(("phi", "phi2"), exact, strict=True):
        parts[name] = np.zeros((len(phi), 16), np.float32)
        parts[name][:, : phi.shape[1]] = phi
    np.testing.assert_allclose(dlda_mnist.project_topics(parts, 1), exact[0] @ exact[1], atol=1e-6)
    sheet = dlda_mnist.atoms(parts, 1)
    np.testing.assert_allclose(sheet.weights, [2 / 3, 1 / 3], atol=1e-6)  # the heaviest first
    np.testing.assert_allclose(sheet.pictures[0], exact[0] @ exact[1][:, 1], atol=1e-6)
    below = dlda_mnist.atoms(parts, 0)
    np.testing.assert_allclose(sorted(below.weights), sorted(exact[1] @ [1 / 3, 2 / 3]), atol=1e-6)


def test_a_mosaic_has_a_line_between_pictures_each_to_its_own_maximum():
    images = dlda_mnist.Images(documents(1, 9), 2, 3)
    sheet = dlda_mnist.mosaic(np.arange(1.0, 19.0).reshape(3, 6), 2, images)
    assert sheet.shape == (7, 9)
    np.testing.assert_allclose(sheet[1:3, 1:4], np.arange(1, 7).reshape(2, 3) / 6)
    np.testing.assert_allclose(sheet[4:6, 1:4], np.arange(13, 19).reshape(2, 3) / 18)
    np.testing.assert_array_equal(sheet[:, 4], 0.35)


def test_adaptive_steps_of_upper_layers_are_called_as_in_the_paper_only_if_both_numbers_are_lower():
    rows = [
        (layer, 9, name, *values, 1.0)
        for layer, adaptive in ((2, (0.5, 0.5)), (3, (0.5, 0.91)))
        for name, values in (("at first", (1, 1)), ("tlfsgr", (0.9, 0.9)), ("tlasgr", adaptive))
    ]
    two, three = dlda_mnist.sentences(rows, ExperimentSetting(None))
    assert ", as in the paper's figure" in two
    assert ", NOT as in the paper's figure" in three


def test_tasks_are_plain_values():
    import pickle

    row = task("tlasgr-128", quick=True)
    assert isinstance(pickle.loads(pickle.dumps(row)), CurveTask)
