"""Which files are sgmc's: names with a checksum, and lists of files."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from pysgrld.errors import OutputError
from pysgrld.run.layout import check_outputs
from pysgrld.run.output_files import open_output
from pysgrld.run.ownership import LIST, FileList, claim_files, is_marked, marked_name


def write(path: Path, text: str) -> None:
    with open_output(path) as file:
        file.write(text.encode())


def test_a_name_is_marked_by_a_checksum_of_itself() -> None:
    """Red with: any digits at the end of a name, which a person may choose."""
    name = marked_name(".tmp-out.csv")
    assert is_marked(name)
    assert is_marked(name, ".trash-", ".tmp-")
    assert not is_marked(name, ".trash-")
    assert marked_name(".tmp-out.csv") != name
    others = (name[:-1] + ("0" if name[-1] != "0" else "1"), f"x{name}", f"{name}.txt", name[:-8])
    for other in (*others, ".tmp-out.csv-0123456789abcdef", ".tmp-out.csv-01234567", "", "-"):
        assert not is_marked(other), other


def test_files_are_owned_by_name_and_content(tmp_path: Path) -> None:
    """Red with: names alone; sizes alone."""
    claim_files(tmp_path, ["a", "b"], force=False)
    assert not (tmp_path / LIST).exists()
    write(tmp_path / "a", "first")
    write(tmp_path / "b", "other")
    files = FileList(tmp_path)
    assert files.owns("a")
    (tmp_path / "a").write_text("other")  # of another file here, of the same size
    assert not files.owns("a")
    assert not files.owns("missing")
    (tmp_path / "b").unlink()
    (tmp_path / "b").symlink_to("a")
    assert sorted(files.foreign()) == ["a", "b"]
    files.remove(["a", "b"])
    assert (tmp_path / "b").read_text() == "other"


def test_a_folder_without_a_list_is_given_none(tmp_path: Path) -> None:
    write(tmp_path / "a", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_force_replaces_listed_files_and_no_others(tmp_path: Path) -> None:
    claim_files(tmp_path, ["a"], force=False)
    write(tmp_path / "a", "x")
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(OutputError, match="a: is there already; --force replaces it"):
        claim_files(tmp_path, ["a"], force=False)
    claim_files(tmp_path, ["a", "c"], force=True)
    for force in (False, True):
        with pytest.raises(OutputError, match=r"mine: was not written by sgmc"):
            claim_files(tmp_path, ["mine"], force=force)
    (tmp_path / "a").write_text("edited")
    with pytest.raises(OutputError, match=r"a: was not written by sgmc, or was changed since"):
        claim_files(tmp_path, ["a"], force=True)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="folder: was not written"):
        claim_files(tmp_path, ["folder"], force=True)
    with pytest.raises(OutputError, match="is a file; give a folder"):
        claim_files(tmp_path / "mine", ["a"], force=True)


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """Red with: a look at the beginning alone, and an hour of work before the file is written."""
    for claim in (
        lambda force: claim_files(tmp_path, ["a"], force=force),
        lambda force: check_outputs([tmp_path / "a"], force=force),
    ):
        claim(False)
        (tmp_path / "a").write_text("mine")
        with pytest.raises(
            OutputError, match="was written by another program since this command began"
        ):
            write(tmp_path / "a", "x")
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        assert (tmp_path / "a").read_text() == "mine"
        (tmp_path / "a").unlink()
    write(tmp_path / "a", "x")
    write(tmp_path / "a", "twice by one command")
    check_outputs([tmp_path / "a"], force=True)
    write(tmp_path / "a", "named")


def test_a_list_of_somebody_else_is_refused_and_a_cut_one_is_read(tmp_path: Path) -> None:
    (tmp_path / LIST).write_text('["shopping"]\n')
    with pytest.raises(OutputError, match="is not a list of output files written by sgmc"):
        claim_files(tmp_path, ["a"], force=True)
    write(tmp_path / "a", "x")  # a named file needs no list
    assert (tmp_path / LIST).read_text() == '["shopping"]\n'
    (tmp_path / LIST).unlink()
    (tmp_path / "a").unlink()
    claim_files(tmp_path, ["a"], force=True)
    write(tmp_path / "a", "x")
    with (tmp_path / LIST).open("a") as file:
        file.write('\n{"name": "b", "si')  # killed while it wrote
    write(tmp_path / "c", "y")
    files = FileList(tmp_path)
    assert (files.owns("a"), files.owns("b"), files.owns("c")) == (True, False, True)


def _write_some(folder: Path, first: int) -> None:
    for n in range(first, first + 20):
        write(folder / str(n), f"content of {n}")


def test_processes_that_write_at_the_same_time_share_a_list(tmp_path: Path) -> None:
    """Red with: a head for each process; lines within lines."""
    claim_files(tmp_path, [], force=False)
    fork = multiprocessing.get_context("fork")
    others = [fork.Process(target=_write_some, args=(tmp_path, 20 * n)) for n in range(4)]
    for other in others:
        other.start()
    for other in others:
        other.join(60)
    files = FileList(tmp_path)
    assert all(files.owns(str(n)) for n in range(80))
    assert list(files.foreign()) == []
    lines = (tmp_path / LIST).read_text().splitlines()
    assert len([line for line in map(json.loads, lines) if "format" in line]) == 1


def test_a_file_is_listed_before_it_has_its_name(tmp_path: Path, monkeypatch) -> None:
    """Red with: a kill between the two, which leaves a file of ours without its mark."""
    claim_files(tmp_path, ["a"], force=False)

    def killed(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a", "x")
    (tmp_path / "a").write_text("x")
    assert FileList(tmp_path).owns("a")


def test_what_is_removed_are_listed_files_and_empty_folders(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    (folder / "inside").mkdir(parents=True)
    for name in ("inside/a", "inside/b", "c"):
        (folder / name).write_text(name)
        files = FileList(folder)
        files.add(name, folder / name)
    (folder / "inside/mine").write_text("mine")
    FileList(folder).remove_all()
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == [
        LIST,
        "inside/mine",
    ]
    (folder / "inside/mine").unlink()
    FileList(folder).remove_all()
    assert not folder.exists()
