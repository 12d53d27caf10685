"""StoredParts of the work before the first checkpoint, stored one by one."""

import contextlib

import numpy as np
import pytest

from pysgrld.run.files import convert_write_errors
from pysgrld.run.parts import StoredParts


@pytest.fixture
def parts(tmp_path):
    return StoredParts(tmp_path / "parts", convert_write_errors)


def test_the_newest_step_of_each_part_is_read(parts):
    """Red with: earlier steps left in the folder; a part read by the order of digests."""
    for number, step in ((0, 5), (0, 60), (3, 20)):
        parts.write(number, step, {"a": np.full(4, step)})
    found = parts.read()
    assert {number: part.step for number, part in found.items()} == {0: 60, 3: 20}
    np.testing.assert_array_equal(found[3].arrays["a"], np.full(4, 20))
    assert len(list(parts.folder.iterdir())) == 2
    assert parts.progress() == 80


def test_a_damaged_part_is_passed_over_with_a_warning(parts, caplog):
    """Red with: a file believed for its name."""
    parts.write(1, 7, {"a": np.arange(3)})
    parts.write(2, 7, {"a": np.arange(3)})
    path = next(parts.folder.glob("part-0001*"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert list(parts.read()) == [2]
    assert "part-0001" in caplog.text


def test_what_was_chosen_is_read_again_and_damage_is_no_choice(parts):
    assert parts.chosen() is None
    parts.choose([0, 2])
    assert parts.chosen() == [0, 2]
    for text in ("[", '{"parts": [-1]}', '{"parts": ["a"]}', "[1]"):
        (parts.folder / "chosen.json").write_text(text)
        assert parts.chosen() is None


def test_only_own_files_are_removed(parts):
    """Red with: the whole folder removed."""
    parts.remove()
    parts.write(0, 1, {"a": np.arange(3)})
    parts.choose([0])
    foreign = parts.folder / "notes.txt"
    foreign.write_text("mine")
    parts.remove()
    assert list(parts.folder.iterdir()) == [foreign]
    foreign.unlink()
    parts.write(0, 1, {"a": np.arange(3)})
    parts.remove()
    assert not parts.folder.exists()


def test_a_part_that_cannot_be_written_leaves_what_was_stored(parts, monkeypatch):
    """Red with: the earlier step removed first."""
    from pysgrld.run import parts as module

    parts.write(0, 1, {"a": np.arange(3)})

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_new", full)
    with contextlib.suppress(Exception):
        parts.write(0, 2, {"a": np.arange(3)})
    assert {number: part.step for number, part in parts.read().items()} == {0: 1}
