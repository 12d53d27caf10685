"""Which run is meant, and whether it begins, goes on or is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pysgrld.errors import (
    CheckpointError,
    MismatchError,
    MissingInputError,
    OutputError,
    UsageError,
)
from pysgrld.run import Decision, RunDirectory, decide, find_run, latest_run, set_latest
from pysgrld.run.choose import check_writable
from pysgrld.run.lock import scratch_name

NAME = "toy-scir"


def config(fingerprint: str = "abc", **options: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "options": {"topics": 2, "threads": 1, "iterations": None, **options},
        "free": ["iterations", "threads"],
        "corpus": {"name": "toy", "fingerprint": fingerprint},
        "isa": "avx2",
    }


def make(path: Path, state: str = "interrupted", step: int = 10, **changes: Any) -> RunDirectory:
    run = RunDirectory.create(path, config(**changes), ["a"])
    with run.lock():
        if step:
            run.save_checkpoint(step, {"g": np.ones((1, 1), np.float32)}, {}, keep=3)
        run.set_status(state, step=step)
    return run


def choose(
    root: Path, *, out: Path | None = None, resume: str = "auto", **changes: Any
) -> Decision:
    candidate = find_run(out=out, root=root, name=NAME, resume=resume)
    return decide(candidate, config(**changes), resume=resume)


# ---- without --out


def test_the_first_run_gets_the_plain_name_and_nothing_is_made(tmp_path: Path) -> None:
    root = tmp_path / "sgmc-runs"
    assert choose(root)[:3] == ("new", root / NAME, None)
    assert not root.exists()
    assert not list(tmp_path.iterdir())


def test_an_unfinished_run_of_the_same_configuration_goes_on(tmp_path: Path) -> None:
    make(tmp_path / NAME)
    decision = choose(tmp_path, threads=8, iterations=500)
    assert decision.action == "continue"
    assert decision.path == tmp_path / NAME
    assert decision.run is not None
    assert not decision.required


def test_a_finished_run_makes_room_for_a_new_one(tmp_path: Path) -> None:
    make(tmp_path / NAME, "finished")
    assert choose(tmp_path)[:2] == ("new", tmp_path / f"{NAME}-2")


def test_another_configuration_or_corpus_makes_a_new_folder(tmp_path: Path) -> None:
    make(tmp_path / NAME, topics=3)
    make(tmp_path / f"{NAME}-2", fingerprint="xyz")
    assert choose(tmp_path)[:2] == ("new", tmp_path / f"{NAME}-3")


def test_the_one_that_matches_is_found_among_others(tmp_path: Path) -> None:
    make(tmp_path / NAME)
    make(tmp_path / f"{NAME}-2", "finished")
    make(tmp_path / f"{NAME}-3", topics=3)
    assert choose(tmp_path)[:2] == ("continue", tmp_path / NAME)


def test_never_begins_anew_beside_the_others(tmp_path: Path) -> None:
    make(tmp_path / NAME)
    assert choose(tmp_path, resume="never")[:2] == ("new", tmp_path / f"{NAME}-2")


def test_runs_of_other_names_are_not_looked_at(tmp_path: Path) -> None:
    for name in (f"{NAME}-lazy", f"{NAME}-02", f"my-{NAME}", "toy-sgrld"):
        make(tmp_path / name)
    assert choose(tmp_path)[:2] == ("new", tmp_path / NAME)


def test_a_name_that_is_taken_by_anything_is_not_used(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("x")
    (tmp_path / f"{NAME}-2").mkdir()
    assert choose(tmp_path)[:2] == ("new", tmp_path / f"{NAME}-3")


def test_a_run_that_cannot_be_read_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make(tmp_path / NAME)
    (tmp_path / NAME / "config.json").write_text("{")
    assert choose(tmp_path)[:2] == ("new", tmp_path / f"{NAME}-2")
    assert "ignored: " in caplog.text


# ---- with --out


@pytest.mark.parametrize("empty", [False, True])
def test_out_that_holds_nothing_is_a_new_run(empty: bool, tmp_path: Path) -> None:
    if empty:
        (tmp_path / "run").mkdir()
    decision = choose(tmp_path, out=tmp_path / "run")
    assert decision[:3] == ("new", tmp_path / "run", None)
    RunDirectory.create(decision.path, config(), [])


def test_a_run_that_gets_its_name_while_it_is_looked_for_is_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another start may make it at any moment; the looks are counted off one by one."""
    for moment in range(8):
        out = tmp_path / f"run-{moment}"
        out.mkdir()
        looks = 0

        def look(path: Path, out: Path = out, moment: int = moment) -> None:
            nonlocal looks
            if path == out:
                looks += 1
                if looks == moment + 1:
                    make(path)

        for name in ("is_file", "is_dir", "iterdir"):
            real = getattr(Path, name)

            def seen(path: Path, *rest: Any, real: Any = real) -> Any:
                found = real(path, *rest)
                look(path.parent if path.name == "config.json" else path)
                return found

            monkeypatch.setattr(Path, name, seen)
        candidate = find_run(out=out, root=tmp_path, name=NAME, resume="auto")
        monkeypatch.undo()
        assert candidate.runs in ((), (out,))
    assert looks < moment


def test_out_with_the_same_configuration_goes_on(tmp_path: Path) -> None:
    make(tmp_path / "run")
    assert choose(tmp_path, out=tmp_path / "run", threads=2).action == "continue"


def test_out_with_a_run_that_has_no_checkpoint_yet_goes_on_from_the_beginning(
    tmp_path: Path,
) -> None:
    make(tmp_path / "run", "running", step=0)
    decision = choose(tmp_path, out=tmp_path / "run")
    assert decision.action == "continue"
    assert decision.run is not None
    assert decision.run.load_checkpoint(required=decision.required) is None


def test_out_with_a_finished_run_is_left_as_it_is(tmp_path: Path) -> None:
    make(tmp_path / "run", "finished")
    assert choose(tmp_path, out=tmp_path / "run", threads=2).action == "finished"


def test_a_finished_run_goes_on_under_another_budget(tmp_path: Path) -> None:
    make(tmp_path / "run", "finished", iterations=10)
    assert choose(tmp_path, out=tmp_path / "run", iterations=20).action == "continue"
    assert choose(tmp_path, out=tmp_path / "run", iterations=10).action == "finished"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"topics": 3}, "  topics: 2 -> 3"),
        ({"fingerprint": "xyz"}, "  corpus: abc -> xyz"),
        ({"eta": 0.1}, "  eta: none -> 0.1"),
        ({"topics": None}, "  topics: 2 -> none"),
    ],
)
def test_out_with_another_configuration_is_refused_with_the_difference(
    changes: dict[str, Any], line: str, tmp_path: Path
) -> None:
    make(tmp_path / "run")
    with pytest.raises(MismatchError) as caught:
        choose(tmp_path, out=tmp_path / "run", **changes)
    assert caught.value.exit_code == 78
    assert str(caught.value).splitlines()[1:] == [line]


def test_a_finished_run_of_another_configuration_is_refused_too(tmp_path: Path) -> None:
    make(tmp_path / "run", "finished")
    with pytest.raises(MismatchError):
        choose(tmp_path, out=tmp_path / "run", topics=9)


def test_all_differences_are_listed(tmp_path: Path) -> None:
    make(tmp_path / "run")
    with pytest.raises(MismatchError) as caught:
        choose(tmp_path, out=tmp_path / "run", topics=9, seed=1, fingerprint="q")
    assert str(caught.value).splitlines()[1:] == [
        "  corpus: abc -> q",
        "  seed: none -> 1",
        "  topics: 2 -> 9",
    ]


def test_never_refuses_an_out_that_holds_a_run(tmp_path: Path) -> None:
    make(tmp_path / "run")
    with pytest.raises(OutputError, match="contains a run, but '--resume") as caught:
        choose(tmp_path, out=tmp_path / "run", resume="never")
    assert caught.value.exit_code == 73


def test_deciding_never_for_a_run_refuses_by_itself(tmp_path: Path) -> None:
    make(tmp_path / "run")
    candidate = find_run(out=tmp_path / "run", root=tmp_path, name=NAME, resume="auto")
    with pytest.raises(OutputError):
        decide(candidate, config(), resume="never")


def test_another_instruction_set_is_no_mismatch_and_is_said(tmp_path: Path) -> None:
    make(tmp_path / "run")
    candidate = find_run(out=tmp_path / "run", root=tmp_path, name=NAME, resume="auto")
    decision = decide(candidate, {**config(), "isa": "avx512"}, resume="auto")
    assert decision.notes == (
        "isa was avx2 and is now avx512, so results keep their distribution but not their exact bits",
    )


def test_paths_tuples_and_numpy_scalars_are_the_same_as_what_json_made_of_them(
    tmp_path: Path,
) -> None:
    options = {"layers": (3, 2), "vocab": Path("v.txt"), "alpha": np.float64(0.1)}
    make(tmp_path / "run", **options)
    assert choose(tmp_path, out=tmp_path / "run", **options).action == "continue"


@pytest.mark.parametrize("kind", ["file", "below a file", "full folder", "proc"])
def test_where_nothing_can_be_written_it_says_so_before_anything_is_read(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    if kind == "full folder":
        path.mkdir()
        (path / "x").write_text("x")
    elif kind == "proc":
        path = Path("/proc/nonexistent/run")
    else:
        path.write_text("x")
        path = path / "inner" if kind == "below a file" else path
    with pytest.raises(OutputError) as caught:
        find_run(out=path, root=tmp_path, name=NAME, resume="auto")
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_root_that_is_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("x")
    with pytest.raises(OutputError):
        find_run(out=None, root=tmp_path / "runs", name=NAME, resume="auto")


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    make(tmp_path / "run")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    find_run(out=tmp_path / "run", root=tmp_path, name=NAME, resume="auto")
    find_run(out=tmp_path / "a" / "b", root=tmp_path, name=NAME, resume="auto")
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


# ---- --resume RUN


def test_a_run_is_named_by_its_folder_or_by_its_name(tmp_path: Path) -> None:
    make(tmp_path / "mine")
    for resume in ("mine", str(tmp_path / "mine")):
        decision = choose(tmp_path, resume=resume)
        assert decision[:2] == ("continue", tmp_path / "mine")
        assert decision.required


def test_out_beside_a_named_run_must_be_the_same_folder(tmp_path: Path) -> None:
    make(tmp_path / "mine")
    (tmp_path / "link").symlink_to("mine")
    assert choose(tmp_path, resume="mine", out=tmp_path / "link").action == "continue"
    with pytest.raises(UsageError, match="same folder"):
        choose(tmp_path, resume="mine", out=tmp_path / "other")


def test_a_named_run_that_is_none_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="--resume nothing: is not a run"):
        choose(tmp_path, resume="nothing")


def test_a_named_run_must_have_a_checkpoint(tmp_path: Path) -> None:
    make(tmp_path / "mine", step=0)
    with pytest.raises(CheckpointError, match="no usable checkpoint") as caught:
        choose(tmp_path, resume="mine")
    assert caught.value.exit_code == 76


@pytest.mark.parametrize("resume", ["auto", "toy-scir"])
def test_a_run_whose_words_were_edited_or_are_gone_does_not_go_on(
    resume: str, tmp_path: Path
) -> None:
    """Red with: a run that goes on, and whose topics cannot be read afterwards."""
    words = make(tmp_path / NAME).path / "vocab.txt"
    words.write_text("b\n")
    with pytest.raises(CheckpointError, match=r"vocab\.txt: was changed since the run began"):
        choose(tmp_path, resume=resume)
    words.unlink()
    with pytest.raises(MissingInputError, match=r"vocab\.txt: cannot be read: .*; restore it"):
        choose(tmp_path, resume=resume)


# ---- the latest run


def test_the_latest_run_is_the_one_noted(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make(tmp_path / name)
    set_latest(tmp_path / "a", tmp_path)
    assert (tmp_path / "latest").read_text() == "a\n"
    assert latest_run(tmp_path) == tmp_path / "a"


@pytest.mark.parametrize("note", [None, "gone\n", "../a\n", "\xff", "", "."])
def test_a_note_without_sense_gives_the_newest_run(note: str | None, tmp_path: Path) -> None:
    for name in ("b", "a"):
        make(tmp_path / name)
    os.utime(tmp_path / "b" / "log.jsonl", (0, 0))
    if note is not None:
        (tmp_path / "latest").write_bytes(note.encode("latin-1"))
    assert latest_run(tmp_path) == tmp_path / "a"


def test_without_any_run_there_is_advice(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="sgmc train") as caught:
        latest_run(tmp_path / "sgmc-runs")
    assert caught.value.exit_code == 66


def test_a_run_elsewhere_is_not_noted(tmp_path: Path) -> None:
    make(tmp_path / "elsewhere" / "run")
    (tmp_path / "root").mkdir()
    set_latest(tmp_path / "elsewhere" / "run", tmp_path / "root")
    assert not list((tmp_path / "root").iterdir())
    assert not (tmp_path / "elsewhere" / "latest").exists()


def test_a_note_that_cannot_be_written_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make(tmp_path / "a")
    (tmp_path / "latest").mkdir()
    (tmp_path / "latest" / "x").write_text("x")
    set_latest(tmp_path / "a", tmp_path)
    assert "cannot be written" in caplog.text
    assert latest_run(tmp_path) == tmp_path / "a"


def test_what_may_change_is_said_by_the_configuration_alone(tmp_path: Path) -> None:
    """Red with: a list of free options in `pysgrld.run` beside that of the table of options."""
    make(tmp_path / "run", threads=1)
    candidate = find_run(out=tmp_path / "run", root=tmp_path, name=NAME, resume="auto")
    wanted = config(threads=2) | {"free": ["iterations"]}
    with pytest.raises(MismatchError, match="threads: 1 -> 2"):
        decide(candidate, wanted, resume="auto")
    del wanted["free"]
    with pytest.raises(MismatchError, match="threads: 1 -> 2"):
        decide(candidate, wanted, resume="auto")


# ---- what options of reading were resolved to


def english(words: int) -> list[dict[str, Any]]:
    return [{"name": "english", "words": words, "sha256": f"{words:064x}"}]


READING = {"min-df": 2, "max-vocab": None, "holdout": 9, "stop-words": english(302)}


def with_reading(found: dict[str, Any], reading: dict[str, Any]) -> dict[str, Any]:
    return found | {"corpus": found["corpus"] | {"reading": reading}}


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"min-df": 3}, "min-df: 2 -> 3"),
        ({"max-vocab": 10}, "max-vocab: none -> 10"),
        ({"holdout": 10}, "holdout: 9 -> 10"),
        (
            {"stop-words": english(310)},
            "stop-words: english (302 words, 00000000) -> english (310 words, 00000000)",
        ),
        ({"stop-words": []}, "stop-words: english (302 words, 00000000) -> none"),
    ],
)
def test_a_release_with_other_defaults_is_refused_by_their_names(
    changed: dict[str, Any], line: str, tmp_path: Path
) -> None:
    """Red with: options compared as they were given, none as none."""
    RunDirectory.create(tmp_path / "r", with_reading(config(), READING), ["a"])
    candidate = find_run(out=tmp_path / "r", name=NAME, resume="auto")
    same = with_reading(config(), READING)
    assert decide(candidate, same, resume="auto").action == "continue"
    other = with_reading(config(), READING | changed)
    with pytest.raises(MismatchError) as caught:
        decide(candidate, other, resume="auto")
    assert str(caught.value).splitlines()[1:] == [f"  {line}"]


def test_a_default_that_is_typed_is_the_same(tmp_path: Path) -> None:
    RunDirectory.create(tmp_path / "r", with_reading(config(), READING), ["a"])
    candidate = find_run(out=tmp_path / "r", name=NAME, resume="auto")
    typed = with_reading(config(**{"min-df": 2}), READING)
    assert decide(candidate, typed, resume="auto").action == "continue"


def test_a_run_of_0_1_0_which_has_no_record_of_defaults_goes_on(tmp_path: Path) -> None:
    """Red with: what one of the two does not say compared."""
    make(tmp_path / "r", **{"min-df": 5})
    candidate = find_run(out=tmp_path / "r", name=NAME, resume="auto")
    now = with_reading(config(**{"min-df": 5}), READING | {"min-df": 5})
    assert decide(candidate, now, resume="auto").action == "continue"


def test_what_a_killed_start_has_tried_to_write_is_removed_by_the_next(tmp_path):
    """Red with: the folder of a run, in which nobody looked for it."""
    run = tmp_path / "run"
    run.mkdir()
    (run / scratch_name()).mkdir()  # killed before it was removed again
    check_writable(run)
    assert list(run.iterdir()) == []
