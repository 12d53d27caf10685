"""Experiments on directions: their corpora, rows, scores and sentences. No figure of a paper here."""

import math

import numpy as np
import pytest

from pysgrld.evaluate import hold_out_whole
from pysgrld.evaluate.held_out import split
from pysgrld.experiments import curves, sam_curves
from pysgrld.experiments.corpora import SplitCorpus, read_parts
from pysgrld.experiments.curves import WHOLE, Curve, CurvePoint, Length, TrainingRow, train_row
from pysgrld.experiments.frame import ExperimentSetting
from pysgrld.types import Documents

STUDIES = {"20news": sam_curves.NEWS, "wikipedia": sam_curves.WIKIPEDIA}


class Silent:
    """Hears nothing."""

    def note(self, line, severity=None):
        pass


def documents(n, seed=0, words=60):
    rng = np.random.default_rng(seed)
    rows = [np.unique(rng.integers(0, words, 12)) for _ in range(n)]
    indices = np.concatenate(rows).astype(np.int32)
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Documents(indptr, indices, rng.integers(1, 4, len(indices)).astype(np.int32))


def corpus():
    test = documents(10, 1)
    return SplitCorpus(documents(40), 60, hold_out_whole(test, np.arange(10)))


def given(study, documents):
    return {row.name: row for row in sam_curves.rows(STUDIES[study], documents)}


def test_test_documents_are_whole_and_training_documents_may_be_called_after_the_model(tmp_path):
    """As those of the authors' corpus, sam-train. Red with: a tenth of each observed."""
    (tmp_path / "vocab.x.txt").write_text("a\nb\nc\n")
    for name, lines in (("sam-train", "1 1 2\n1 3 1\n2 2 1\n"), ("test", "1 1 1\n1 2 4\n2 3 1\n")):
        (tmp_path / f"docword.x.{name}.txt").write_text(f"2\n3\n3\n{lines}")
    data = read_parts(tmp_path, None, ExperimentSetting(tmp_path), Silent())
    assert (len(data.train), data.words) == (2, 3)
    assert data.held_out.held_out.tokens == 6
    assert data.held_out.observed.tokens == 0


@pytest.mark.parametrize(
    ("study", "d", "step", "noisy", "bgibbs", "apprmh"),
    [
        ("20news", 1666, 2.45e-3, (50, 0.01), 2e-5, (25, 1e-4)),
        ("wikipedia", 150_000, 8.2e-4, (100, 0.5), 5e-6, (15, 5e-5)),
    ],
)
def test_rows_as_released_have_the_codes_constants(study, d, step, noisy, bgibbs, apprmh):
    """Red with: one corpus's steps for the other."""
    rows, data = given(study, d), corpus()
    options = {
        name: curves.task(row, 0, data._replace(words=5000), Length(seconds=1.0)).options
        for name, row in rows.items()
        if row.panel == sam_curves.PUBLISHED
    }
    for algo in sam_curves.NOISY:
        found = options[f"{algo}-2016"]
        assert found.step_size[0] == pytest.approx(step, rel=0.005)
        assert (rows[f"{algo}-2016"].options.get("minibatch", 50), found.settings.friction) == noisy
        own = found.settings
        assert (own.inner_steps, own.resample, found.theta_step) == (10, "off", 1e-6)
        full = options[f"{algo}-full-2016"]
        assert (full.minibatch, full.settings.inner_steps) == (40, 1)
    assert options["gmc-bgibbs-2016"].step_size[0] == bgibbs
    found = options["gmc-apprmh-2016"]
    assert (found.sweeps, found.step_size[0]) == apprmh
    assert found.kept_sweeps == 10
    assert {o.kappa for o in options.values()} == {STUDIES[study].model["kappa"]}


@pytest.mark.parametrize("study", STUDIES)
def test_every_row_runs_and_has_both_scores(study):
    """Samples of samplers; topics of variational Bayes. Red with: no further figure of the latter."""
    data = corpus()
    rows = given(study, 40)
    assert len(rows) == 18
    for row in rows.values():
        small = row.options | {"minibatch": 10, "sample-every": 1}
        small |= {} if "vi" in row.name else {"burn-in": 0, "sweeps": 2, "kept-sweeps": 1}
        task = curves.task(row._replace(options=small), 3, data, Length(seconds=1e-9))
        found = train_row(task, lambda part: None)
        assert found.fault == ""
        (point,) = found.points
        assert point.samples == ("vi" not in row.name)
        assert np.isfinite([point.point, point.further]).all()


def test_documents_that_are_completed_have_no_further_figure_without_samples():
    """Red with: chains of LDA's documents moved on by a look."""
    held_out = split(documents(10, 1), np.arange(10), 0.5, 0)
    data = SplitCorpus(documents(40), 60, held_out)
    row = TrainingRow("ovb", {"algo": "ovb", "topics": 3})
    found = train_row(curves.task(row, 0, data, Length(seconds=1e-9)), lambda part: None)
    assert math.isnan(found.points[0].further)


def test_both_scores_stand_in_the_table():
    """Red with: the further figure in the place of the point's."""
    rows = [row for row in sam_curves.rows(STUDIES["20news"], 40) if row.name in ("vi", "svi")]
    tasks = [curves.task(row, 0, corpus(), Length(iterations=9)) for row in rows]
    found = [
        Curve("vi", 0, [CurvePoint(9, 1.0, 900.0, 700.0, math.nan, 0)], ""),
        Curve("svi", 0, [CurvePoint(9, 1.0, 900.0, 700.0, math.nan, 0)], "not finite"),
    ]
    vi, svi = curves.lines(rows, found, tasks, WHOLE)
    assert dict(zip(WHOLE, vi, strict=True)) == {
        "row": "vi",
        "log-perplexity": 900.0,
        "by-importance": 700.0,
        "point": 900.0,
        "samples": 0,
        "iterations": 9,
        "documents": 9 * 40,
        "seconds": 1.0,
        "seeds": 1,
        "sd": None,
    }
    assert dict(zip(WHOLE, svi, strict=True))["seeds"] == 0


def test_orders_and_claims_follow_the_numbers():
    """Red with: an order that is written down and not looked at."""
    scores = {"gsgnht-2016": 9.0, "sggmc-2016": 8.0, "vi-2016": 7.0, "vi": 5.0, "svi": 4.0}
    assert sam_curves.order(scores | {"sggmc": math.nan}, "so")[1].endswith(": svi 4 < vi 5")
    assert sam_curves.say(scores) == [
        "by the paper's score, settings of the released code: vi 7 < sggmc 8 < gsgnht 9",
        "by the paper's score, sgmc's settings: svi 4 < vi 5",
        "gSGNHT lower than SGGMC: not found, 9 against 8",
    ]
    below = {
        "gsgnht-full-2016": 9.0,
        "gmc-bgibbs-2016": 10.0,
        "gmc-apprmh-2016": 8.0,
        "svi-2016": 11,
    }
    assert sam_curves.say(below)[1:] == [
        "SGGMC and gSGNHT with the whole corpus lower than GMC: not found, 9 against 8",
        "GMC lower than variational Bayes: found, 8 against 11",
    ]
