"""Invariants of arrays: handed in by pattern of names, checked where arrays are written or read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pysgrld.errors import CheckpointError, NumericalError
from pysgrld.models.samples import SAMPLE, STATE
from pysgrld.run import RunDirectory, verify_checkpoint
from pysgrld.run.tensors import required, violation
from pysgrld.types import Condition, Invariant

RUN = Path(violation.__code__.co_filename).parent
POSITIVE = {"w": Invariant(Condition.NOT_NEGATIVE)}
UNIT = {"axes*": Invariant(Condition.ROWS_UNIT_NORM, row="component")}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path / "run", {"options": {}}, ["a", "b"])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
def test_the_first_bad_value_is_found_with_its_index(value: float) -> None:
    g = np.ones((3, 4))
    g[1, 2] = value
    assert violation("g", g, STATE, finite=True) == f"array 'g' has {value} at [1, 2]"
    assert violation("layer1.g", g, STATE) is not None
    assert (violation("h", g, STATE, finite=True) is None) == (value == -1.0)
    assert violation("h", g, STATE) is None


def test_logarithms_and_whole_numbers_may_be_negative() -> None:
    assert violation("log_g", np.array([-3.0]), STATE, finite=True) is None
    assert violation("z", np.array([-1]), STATE, finite=True) is None


@pytest.mark.parametrize("row", [[0.5, 0.4], [np.nan, 0.5], [1.0, 1.0]])
def test_rows_of_topics_sum_to_one(row: list[float]) -> None:
    matrix = np.array([[0.5, 0.5], row], np.float32)
    for name in ("phi", "phi2"):
        problem = violation(name, matrix, SAMPLE)
        assert problem is not None
        assert problem.startswith("topic 1 sums to ")
    assert violation("other", matrix, SAMPLE) is None
    assert violation("phi", matrix[:1], SAMPLE) is None


def test_unit_vectors_of_any_sign_are_no_topics_and_may_be_kept(run: RunDirectory) -> None:
    """Red with: a name that the record of a run believes to be a distribution."""
    axes = np.array([[0.6, -0.8], [0.0, 1.0]], np.float32)
    run.samples.write(1, {"axes": axes}, UNIT)
    run.samples.write(2, {"phi": axes}, {"phi": UNIT["axes*"]})
    assert np.array_equal(run.samples.read(2, {"phi": UNIT["axes*"]})["phi"], axes)
    with pytest.raises(NumericalError, match=r"step 3: component 0 has the norm 2 instead of 1"):
        run.samples.write(3, {"axes2": 2 * axes}, UNIT)
    assert run.samples.steps() == [1, 2]


def test_a_name_without_a_wildcard_must_be_in_a_sample(run: RunDirectory) -> None:
    assert required(SAMPLE) == ["phi"]
    run.samples.write(1, {"phi2": np.eye(2)}, SAMPLE)
    assert run.samples.read(1).keys() == {"phi2"}
    with pytest.raises(CheckpointError, match="integers, including phi"):
        run.samples.read(1, SAMPLE)


def test_finite_is_asked_of_samples_only_where_it_is_wanted(run: RunDirectory) -> None:
    nan = np.full((1, 1), np.nan)
    run.samples.write(1, {"x": nan}, SAMPLE)
    with pytest.raises(NumericalError, match=r"step 2: array 'x' has nan at \[0, 0\]"):
        run.samples.write(2, {"x": nan}, {"x": Invariant(Condition.FINITE)})


def test_a_checkpoint_is_held_to_invariants_when_it_is_written_and_when_it_is_read(
    run: RunDirectory,
) -> None:
    """Red with: invariants that do not reach `read_checkpoint`; or `commit`."""
    with run.lock():
        run.save_checkpoint(1, {"w": np.ones((1, 1))}, {}, keep=3, invariants=POSITIVE)
        with pytest.raises(NumericalError, match=r"step 2: array 'w' has -1\.0"):
            run.save_checkpoint(2, {"w": -np.ones((1, 1))}, {}, keep=3, invariants=POSITIVE)
        folder = run.save_checkpoint(2, {"w": -np.ones((1, 1))}, {}, keep=3)
    assert verify_checkpoint(folder).problem is None
    assert "-1.0" in str(verify_checkpoint(folder, POSITIVE).problem)
    found = run.load_checkpoint(required=True)
    assert found is not None
    assert found.step == 2
    found = run.load_checkpoint(required=True, invariants=POSITIVE)
    assert found is not None
    assert found.step == 1


def test_the_record_of_a_run_knows_no_topics() -> None:
    """Red with: a name or a range of one model in `pysgrld.run`."""
    for path in RUN.glob("*.py"):
        text = path.read_text().lower()
        assert "topic" not in text, path.name
        assert "phi" not in text, path.name
