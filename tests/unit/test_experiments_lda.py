"""What experiments on LDA share: corpora, rows, tables. No figure of a paper here."""

import math

import numpy as np
import pytest

from pysgrld.errors import MissingInputError, UsageError
from pysgrld.experiments import corpora, curves, lda_curves
from pysgrld.experiments.curves import (
    FIRST,
    Curve,
    CurvePoint,
    Length,
    TrainingRow,
    cost,
    train_row,
)
from pysgrld.experiments.frame import ExperimentSetting, select_names


class Silent:
    """Hears nothing."""

    def note(self, line, severity=None):
        pass


def docword(path, documents, words, seed=0):
    rng = np.random.default_rng(seed)
    rows = [np.unique(rng.integers(1, words + 1, 15)) for _ in range(documents)]
    lines = [f"{d} {w} {1 + w % 3}\n" for d, row in enumerate(rows, 1) for w in row]
    path.write_text(f"{documents}\n{words}\n{len(lines)}\n" + "".join(lines))
    path.with_name("vocab.x.txt").write_text("".join(f"w{i}\n" for i in range(words)))


@pytest.fixture
def folder(tmp_path):
    docword(tmp_path / "docword.x.train.txt", 50, 30)
    docword(tmp_path / "docword.x.test.txt", 20, 30, 1)
    return tmp_path


def setting(folder=None, **how):
    return ExperimentSetting(folder, **how)


def test_test_documents_are_split_and_never_trained_on(folder):
    """Red with: parts exchanged; a tenth observed."""
    data = corpora.read_parts(folder, 0.9, setting(folder), Silent())
    assert (len(data.train), data.words, len(data.held_out.observed)) == (50, 30, 20)
    observed, held = data.held_out.observed.tokens, data.held_out.held_out.tokens
    assert 0.07 < held / (observed + held) < 0.13


def test_documents_that_are_split_themselves_are_trained_on_by_their_first_part(folder):
    """Red with: the whole document trained on."""
    for path in (folder / "docword.x.train.txt", folder):
        data = corpora.read_split(path, 0.8, setting(folder), Silent())
        assert data.train is data.held_out.observed
        held = data.held_out.held_out.tokens
        assert 0.15 < held / (held + data.train.tokens) < 0.25
        for d in range(3):
            a, b = (part.take(np.array([d])) for part in (data.train, data.held_out.held_out))
            assert a.tokens + b.tokens > 15


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(MissingInputError, match=r"docword\.NAME\.train\.txt"):
        corpora.read_parts(tmp_path, 0.9, setting(tmp_path), Silent())
    with pytest.raises(MissingInputError, match=r"neither a file docword\.NAME\.txt"):
        corpora.read_split(tmp_path, 0.9, setting(tmp_path), Silent())


def test_rows_that_do_not_exist_are_refused():
    assert select_names(["a", "b1", "b2"], ("b*", "a")) == ["a", "b1", "b2"]
    with pytest.raises(UsageError, match="--rows c: no such row; the rows are a, b"):
        select_names(["a", "b"], ("c",))


@pytest.mark.parametrize("study", ["NIPS", "WIKIPEDIA", "SCIR", "SMLD"])
def test_every_row_resolves_to_options_of_its_own_and_runs(folder, study):
    """A second of each would be too long: a few milliseconds."""
    data = corpora.read_parts(folder, 0.9, setting(folder), Silent())
    rows = getattr(lda_curves, study)
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    for row in rows:
        given = row.options | ({"sweeps": 2} if row.options.get("sweeps", 0) > 10 else {})
        task = curves.task(row._replace(options=given), 3, data, Length(seconds=1e-9))
        assert task.options.seed == 3
        found = train_row(task, lambda part: None)
        assert found.fault == ""
        assert [p.iteration for p in found.points] == [1]
        assert 1 < found.points[0].point < 1000


def test_rows_that_end_by_the_clock_cost_the_same_and_are_looked_at_by_it(folder):
    """Red with: marks of iterations, which come by the thousand."""
    data = corpora.read_parts(folder, 0.9, setting(folder), Silent())
    row = TrainingRow("ovb", {"algo": "ovb", "topics": 3})
    task = curves.task(row, 0, data, Length(seconds=0.5))
    assert cost(task) == 0.5
    found = train_row(task, lambda part: None)
    times = [p.seconds for p in found.points]
    assert times == sorted(times)
    assert times[0] >= FIRST
    assert times[-1] >= 0.5
    assert 2 <= len(times) <= 8
    assert {p.samples for p in found.points} == {0}


def curve(name, seed, perplexity, samples=5, fault=""):
    return Curve(name, seed, [CurvePoint(9, 1.0, 900.0, math.nan, perplexity, samples)], fault)


def test_rows_without_samples_are_scored_by_their_topics(folder):
    """Red with: nan for a variational row; a diverged one counted in."""
    data = corpora.read_parts(folder, 0.9, setting(folder), Silent())
    rows = [
        TrainingRow(n, {"algo": "scir", "topics": 3, "minibatch": 10}) for n in ("a", "b", "c", "d")
    ]
    tasks = [curves.task(row, 0, data, Length(iterations=9)) for row in rows]
    found = [
        curve("a", 0, 700.0),
        curve("a", 1, 710.0),
        curve("a", 2, 1.0, fault="not finite"),
        curve("b", 0, math.nan, samples=0),
        curve("c", 0, 1.0, fault="not finite"),
    ]
    a, b, c = curves.lines(rows, found, tasks)
    assert a == ("a", 705.0, 900.0, 5, 9, 90, 1.0, 2, pytest.approx(7.0710678))
    assert b[:2] == ("b", 900.0)
    assert c == ("c", *(None,) * 6, 0, None)
    assert len(a) == len(b) == len(c) == len(curves.HEAD)


def test_findings_follow_the_numbers():
    """Red with: an order that is written down and not looked at."""
    assert (
        "as in the paper"
        in lda_curves.say_orders({"sgrld-2013": 900.0, "hsvg-2012": 950.0, "ovb-2010": 990.0})[0]
    )
    assert (
        "the paper: sgrld, hsvg, ovb"
        in lda_curves.say_orders({"sgrld-2013": 980.0, "hsvg-2012": 950.0, "ovb-2010": 990.0})[0]
    )
    assert lda_curves.say_orders({"sgrld-1": 9.0, "ovb-2": 8.0, "scir": 7.0, "cgs": 6.0}) == [
        "best of a grid: ovb-2 8 < sgrld-1 9",
        "defaults: cgs 6 < scir 7",
    ]
    assert lda_curves.describe_best_rows({"cgs": 9.0, "ovb-1": 12.0, "ovb-5": 11.0}) == [
        "best of each: cgs 9 < ovb-5 11"
    ]
    assert lda_curves.say_scir({"scir": 9.0, "sgrld": 8.0}) == [
        "with one prior, the perplexity of SCIR is not lower (9; SGRLD: 8)"
    ]
    assert lda_curves.say_smld(
        {"sgrld": 9.0, "smld": 12.0, "smld-approx 1": 10.0, "smld-approx 0.1": 8.0}
    ) == [
        "the perplexity of smld-approx 0.1 (8) is below the perplexity of SGRLD (9)",
        "exact SMLD ends at 12",
    ]
