"""What is read out of a run, against plain NumPy; coherence against counting by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld import LDA
from pysgrld.corpus.characters import overlap
from pysgrld.errors import CheckpointError, MissingInputError, UsageError
from pysgrld.evaluate.coherence import coherence, meetings
from pysgrld.models.fitted import evenly_spaced
from pysgrld.models.word_order import PROBABLE
from pysgrld.reading.find_runs import find_folder
from pysgrld.reading.proportion_files import check_suffix
from pysgrld.reading.results import FitMeasures, Results
from pysgrld.reading.topics import topics_of
from pysgrld.run import jsonio
from pysgrld.types import Documents


def documents(rows):
    """Documents of sets of word ids, each occurring once."""
    lengths = [len(row) for row in rows]
    return Documents(
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.array([w for row in rows for w in sorted(row)], np.int32),
        np.ones(sum(lengths), np.int32),
    )


ROWS = [{0, 1}, {0, 1, 2}, {0}, {2, 3}, {4}, set()]


def test_meetings_are_counted_as_by_hand():
    top = np.array([[0, 1, 2], [3, 5, 4]])
    found = meetings(top, documents(ROWS), np.arange(6))
    for k, words in enumerate(top):
        for i, v in enumerate(words):
            for j, w in enumerate(words):
                assert found[k, i, j] == sum(v in row and w in row for row in ROWS)


def test_meetings_do_not_depend_on_how_documents_are_cut(monkeypatch):
    rng = np.random.default_rng(1)
    rows = [set(rng.integers(0, 30, 8).tolist()) for _ in range(100)]
    top = rng.permuted(np.tile(np.arange(30), (4, 1)), axis=1)[:, :6]
    whole = meetings(top, documents(rows), np.arange(100))
    monkeypatch.setattr("pysgrld.evaluate.coherence.CELLS", 16)
    np.testing.assert_array_equal(meetings(top, documents(rows), np.arange(100)), whole)


def test_coherence_is_its_formula():
    found = coherence(np.array([[0, 1]]), documents(ROWS), np.arange(6))
    assert found.npmi[0] == pytest.approx(math.log((2 / 6) / (3 / 6 * 2 / 6)) / -math.log(2 / 6))
    assert found.umass[0] == pytest.approx(math.log((2 + 1) / 3))
    assert found.documents == 6


def test_words_that_never_meet_are_minus_one_and_words_everywhere_are_zero():
    rows = documents([{0, 1}, {0, 1, 2}, {0, 1}])
    found = coherence(np.array([[2, 3], [0, 1]]), rows, np.arange(3))
    np.testing.assert_array_equal(found.npmi, [-1.0, 0.0])
    assert np.isfinite(found.umass).all()


def test_pairs_of_one_word_are_no_coherence():
    """Red with: the mean over all pairs; NaN where no pair is left."""
    top = np.array([[0, 1, 2]])
    whole = coherence(top, documents(ROWS), np.arange(6))
    apart = np.zeros((1, 3, 3), bool)
    apart[0, 0, 1] = apart[0, 1, 0] = True
    found = coherence(top, documents(ROWS), np.arange(6), apart)
    one = coherence(top[:, :2], documents(ROWS), np.arange(6))
    for name in ("npmi", "umass"):
        all_pairs, left_out = getattr(whole, name)[0], getattr(one, name)[0]
        assert getattr(found, name)[0] == pytest.approx((3 * all_pairs - left_out) / 2)
    assert coherence(top, documents(ROWS), np.arange(6), ~np.eye(3, dtype=bool)[None]).npmi == [0.0]


@pytest.mark.parametrize(
    ("first", "second", "one"),
    [
        ("扎波", "波羅", True),
        ("波羅", "扎波", True),
        ("扎波", "羅熱", False),
        ("扎波", "扎波", False),
        ("波", "波羅", False),
        ("ab", "bc", False),
        ("가나", "나다", False),
    ],
)
def test_words_overlap_that_are_pairs_of_neighbouring_ideographs(first, second, one):
    assert overlap(first, second) == one


def test_coherence_looks_at_the_given_documents_only():
    found = coherence(np.array([[0, 2]]), documents(ROWS), np.array([1, 3]))
    assert found.documents == 2
    assert found.npmi[0] == pytest.approx(math.log((1 / 2) / (1 / 2 * 1)) / -math.log(1 / 2))


def test_spread():
    np.testing.assert_array_equal(evenly_spaced(np.arange(10), 3), [0, 3, 6])
    np.testing.assert_array_equal(evenly_spaced(np.arange(3), 10), [0, 1, 2])


# ---- a run


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, (60, 12))
    counts[:30, :6] += rng.poisson(2.0, (30, 6))
    model = LDA(n_components=3, algo="gibbs", max_iter=260, random_state=0).fit(counts)
    path = tmp_path_factory.mktemp("saved") / "run"
    model.save(path, [f"w{i}" for i in range(12)])
    return model, Results(path, 1), counts


def test_mean_topics_are_the_estimators(saved):
    model, results, _ = saved
    assert results.fitted.samples > 0
    np.testing.assert_allclose(results.mean["phi"][:, :3].T, model.components_, atol=1e-6)


def test_current_topics_sum_to_one(saved):
    phi = saved[1].fitted.current["phi"]
    np.testing.assert_allclose(phi[:, :3].sum(axis=0), 1, atol=1e-5)
    assert not phi[:, 3:].any()


def test_top_words_are_in_order(saved):
    results = saved[1]
    phi = results.mean["phi"][:, :3].T
    top = results.top(5, order=PROBABLE)
    np.testing.assert_array_equal(top, np.argsort(-phi, axis=1, kind="stable")[:, :5])
    assert results.top(100).shape == (3, 12)


def test_a_run_without_corpus_or_measures_has_topics_but_no_weights_or_coherence(saved):
    results = Results(saved[1].path, 1)
    vars(results)["fit_measures"] = FitMeasures()
    topics = topics_of(results, 4, intervals=True)
    assert [t.id for t in topics] == [0, 1, 2]
    assert all(t.weight is None and t.npmi is None for t in topics)
    assert all(len(t.words) == 4 and t.words[0].low is None for t in topics)


def test_a_run_without_held_out_documents_says_what_to_give(saved):
    with pytest.raises(UsageError, match="--corpus"):
        saved[1].held_out()


def test_find_names_what_is_not_there(tmp_path):
    with pytest.raises(MissingInputError, match="nowhere: is not a run"):
        find_folder("nowhere", tmp_path)
    with pytest.raises(MissingInputError, match="no run found"):
        find_folder(None, tmp_path)


def test_a_run_without_checkpoint_says_so(saved, tmp_path):
    import shutil

    shutil.copytree(saved[1].path, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with pytest.raises(CheckpointError, match="no checkpoint yet"):
        Results(tmp_path / "run", 1).mean  # noqa: B018


# ---- files


@pytest.mark.parametrize("path", ["theta", "theta.txt", "theta.NPY", ".npy"])
def test_a_name_that_does_not_tell_the_format_is_refused(path):
    with pytest.raises(UsageError, match=r"ends in \.npy, \.csv, \.jsonl"):
        check_suffix(path)


def test_the_training_documents_are_those_of_the_record_whatever_the_default_is_now(tmp_path):
    """Red with: as many held out as this release would."""
    LDA(n_components=2, max_iter=9, burn_in=3, holdout=0).fit(np.ones((9, 4), int)).save(
        tmp_path / "run"
    )
    results = Results(tmp_path / "run", 1)
    assert len(results.training_documents(SimpleNamespace(documents=40))) == 40
    config = results.run.config
    config["corpus"]["held_out"] = 7
    results.run._settings = jsonio.format_sealed(config)
    assert len(results.training_documents(SimpleNamespace(documents=40))) == 33


# ---- kept samples that are gone


def _sampled(path):
    settings = dict(burn_in=5, max_iter=40, keep_samples=50, holdout=0)
    LDA(2, algo="gibbs", random_state=0, **settings).fit(np.ones((20, 6), int)).save(path)
    return sorted((path / "samples").iterdir())


def test_kept_samples_that_are_gone_are_warned_of_once_when_a_run_is_opened(tmp_path, caplog):
    """Red with: no warning; one for a dropped sample; one each time that a command opens the run."""
    files = _sampled(tmp_path / "run")
    Results(tmp_path / "run", 1)
    assert not caplog.records
    files[0].unlink()
    files[1].unlink()
    files[2].rename(files[2].with_name(f".dropped-{files[2].name}"))
    for _ in range(2):
        results = Results(tmp_path / "run", 1)
        assert [len(results.read_sample(step)) for step in results.kept()] == [1] * (len(files) - 3)
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'run'}: 2 of {len(files)} samples listed by the newest checkpoint are "
        "missing; results use the remaining samples"
    ]
    assert caplog.records[0].name == "pysgrld.reading.run_record"
