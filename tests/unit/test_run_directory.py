"""The record of a run: made whole, appended to, rewound exactly."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pysgrld.errors import (
    CheckpointError,
    CorpusError,
    MissingInputError,
    NumericalError,
    OutputError,
    WriteError,
)
from pysgrld.models.samples import SAMPLE
from pysgrld.run import RunDirectory, _failpoints, checkpoint_read
from pysgrld.run.files import temporary_name
from pysgrld.run.jsonio import read_lines

CONFIG = {
    "schema": 2,
    "options": {"topics": 2, "threads": 1, "iterations": 100, "eval-every": "10s"},
    "defaults": ["threads"],
    "free": ["eval-every", "iterations", "threads"],
    "corpus": {"name": "toy", "fingerprint": "abc"},
}
WORDS = ["apple", "naïve", "line\u2028separator", "日本"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDirectory]:
    made = RunDirectory.create(tmp_path / "run", CONFIG, WORDS)
    with made.lock():
        yield made
    _failpoints.arm(None)


def phi(step: int) -> np.ndarray:
    drawn = np.random.default_rng(step).random((2, 4), dtype=np.float32)
    return drawn / drawn.sum(1, keepdims=True)


def save(run: RunDirectory, step: int) -> None:
    run.save_checkpoint(step, {"g": np.full((4, 2), step, np.float32)}, {}, keep=3)


def train(run: RunDirectory, start: int, stop: int) -> None:
    """Leave what a training loop leaves: a line and a sample each tenth iteration."""
    for step in range(start + 1, stop + 1):
        if step % 10 == 0:
            run.append_metrics({"iteration": step, "perplexity": 1000 / step})
            run.samples.write(step, {"phi": phi(step)})


def record(run: RunDirectory) -> dict[str, bytes]:
    """All bytes that must not depend on stops and restarts."""
    files = [run.path / "metrics.jsonl", *sorted((run.path / "samples").iterdir())]
    return {path.name: path.read_bytes() for path in files}


# ---- making and opening


def test_a_new_run_holds_its_configuration_and_words(run: RunDirectory) -> None:
    again = RunDirectory.open(run.path)
    assert again.config == run.config
    assert {name: again.config[name] for name in CONFIG} == CONFIG
    assert again.vocabulary == tuple(WORDS)
    assert again.identity == run.identity


def test_an_empty_folder_becomes_a_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert RunDirectory.create(tmp_path / "run", CONFIG, []).vocabulary == ()


@pytest.mark.parametrize("kind", ["file", "full folder", "file above", "no such root"])
def test_where_no_run_can_be_made_the_message_is_one_line(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    if kind == "file":
        path.write_text("x")
    elif kind == "full folder":
        path.mkdir()
        (path / "x").write_text("x")
    elif kind == "file above":
        path.write_text("x")
        path = path / "inner"
    else:
        path = Path("/proc/nonexistent/run")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OutputError, match="cannot be created") as caught:
        RunDirectory.create(path, CONFIG, [])
    assert caught.value.exit_code == 73
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before


def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    _failpoints.passed = []
    RunDirectory.create(tmp_path / "first", CONFIG, WORDS)
    points, _failpoints.passed = _failpoints.passed, None
    for nth in range(1, sum(point.startswith("create.") for point in points) + 1):
        _failpoints.arm(f"create.*:ENOSPC:{nth}")
        with pytest.raises(OutputError):
            RunDirectory.create(tmp_path / "run", CONFIG, WORDS)
        _failpoints.arm(None)
        assert list(tmp_path.iterdir()) == [tmp_path / "first"]


@pytest.mark.parametrize("word", ["two\nlines", "\ud800"])
def test_a_word_that_is_no_line_is_refused(word: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError):
        RunDirectory.create(tmp_path / "run", CONFIG, ["a", word])
    assert not list(tmp_path.iterdir())


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="is not a run"):
        RunDirectory.open(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"options": 1}', '{"a": NaN}'])
def test_a_record_that_is_none_is_refused_in_one_line(content: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(CheckpointError) as caught:
        RunDirectory.open(tmp_path)
    assert caught.value.exit_code == 76
    assert f"{tmp_path / 'config.json'}: is damaged" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_vocabulary_that_was_edited_is_refused(run: RunDirectory) -> None:
    (run.path / "vocab.txt").write_text("a\nb\n")
    with pytest.raises(CheckpointError, match=r"vocab\.txt: was changed"):
        _ = RunDirectory.open(run.path).vocabulary


# ---- options


def test_free_options_may_change_and_identity_stays(run: RunDirectory) -> None:
    before = run.identity
    run.update_free({"threads": 4, "eval-every": 50})
    again = RunDirectory.open(run.path)
    assert again.config["options"]["threads"] == 4
    assert again.config["options"]["eval-every"] == 50
    assert again.identity == before == run.identity


def test_an_option_that_is_not_free_cannot_be_changed(run: RunDirectory) -> None:
    before = (run.path / "config.json").read_bytes()
    with pytest.raises(CheckpointError, match="topics: 2 -> 3"):
        run.update_free({"topics": 3})
    assert (run.path / "config.json").read_bytes() == before


def test_nothing_is_written_when_nothing_changes(run: RunDirectory) -> None:
    before = (run.path / "config.json").stat().st_ino
    run.update_free({"threads": 1})
    assert (run.path / "config.json").stat().st_ino == before


def test_a_full_disk_leaves_the_old_configuration(run: RunDirectory) -> None:
    before = (run.path / "config.json").read_bytes()
    _failpoints.arm("config.write:ENOSPC")
    with pytest.raises(WriteError):
        run.update_free({"threads": 3})
    assert (run.path / "config.json").read_bytes() == before
    assert run.config["options"]["threads"] == 1


# ---- lines and status


def test_metrics_are_strict_json_lines_without_nan(run: RunDirectory) -> None:
    run.append_metrics({"a": float("nan"), "b": np.float32(np.inf), "c": np.int64(2), "d": "é"})
    text = (run.path / "metrics.jsonl").read_text()
    assert text == '{"a": null, "b": null, "c": 2, "d": "é"}\n'
    assert run.read_metrics() == [{"a": None, "b": None, "c": 2, "d": "é"}]


def test_a_line_that_was_not_finished_is_left_out_and_spoils_no_other(
    run: RunDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    run.append_metrics({"a": 1})
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"a": 2')
    assert run.read_metrics() == [{"a": 1}]
    run.append_metrics({"a": 3})
    assert run.read_metrics() == [{"a": 1}, {"a": 3}]
    assert "metrics.jsonl:2: skipped" in caplog.text


@pytest.mark.parametrize("last", range(2, 40))
def test_lines_at_the_end_of_a_file_are_whole(tmp_path: Path, last: int) -> None:
    """Red with: a line cut at its beginning; one left out that begins with the last bytes."""
    file = tmp_path / "lines"
    lines = [b'{"n": %d}\n' % n for n in (1, 22, 333)]
    file.write_bytes(b"".join(lines))
    expected = [n for n, room in ((1, 30), (22, 21), (333, 11)) if last >= room]
    assert [record["n"] for record in read_lines(file, last)] == expected


def test_a_full_disk_leaves_no_half_line(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.append_metrics({"a": 1})
    _failpoints.arm("metrics.write:short:1")
    original = _failpoints.fail_point

    # The first write takes half of the line, the second finds the disk full.
    def half_then_full(name: str) -> bool:
        short = original(name)
        if short:
            _failpoints.arm("metrics.write:ENOSPC")
        return short

    monkeypatch.setattr("pysgrld.run.files.fail_point", half_then_full)
    with pytest.raises(WriteError, match="No space left"):
        run.append_metrics({"a": 2})
    assert (run.path / "metrics.jsonl").read_text() == '{"a": 1}\n'


def test_events_carry_the_time_in_utc(run: RunDirectory) -> None:
    run.log_event("start", step=3, path=run.path)
    (event,) = read_lines(run.path / "log.jsonl")
    assert event["event"] == "start"
    assert event["step"] == 3
    assert event["time"].endswith("Z")


def test_the_status_says_who_and_what(run: RunDirectory) -> None:
    run.set_status("running", step=3)
    run.set_status("failed", step=4, error="disk full")
    assert run.status["state"] == "failed"
    assert run.status["pid"] == os.getpid()
    assert (run.status["step"], run.status["error"]) == (4, "disk full")


def test_an_unknown_state_is_refused(run: RunDirectory) -> None:
    with pytest.raises(ValueError, match="one of running"):
        run.set_status("sleeping")


@pytest.mark.parametrize("content", [None, "", "[]", "{"])
def test_a_status_without_sense_is_empty(content: str | None, run: RunDirectory) -> None:
    if content is not None:
        (run.path / "status.json").write_text(content)
    assert run.status == {}


# ---- samples


def test_samples_come_back_mapped_and_sorted(run: RunDirectory) -> None:
    for step in (30, 10, 20):
        run.samples.write(step, {"phi": phi(step).astype(np.float64)})
    assert run.samples.steps() == [10, 20, 30]
    assert np.array_equal(run.samples.read(20)["phi"], phi(20))
    assert run.samples.read(20)["phi"].dtype == np.float32


@pytest.mark.parametrize("bad", [phi(1)[0], phi(1)[None]])
def test_topics_that_are_no_matrix_are_refused(bad: np.ndarray, run: RunDirectory) -> None:
    with pytest.raises(ValueError, match="matrices"):
        run.samples.write(1, {"phi": bad})
    assert not list((run.path / "samples").iterdir())


@pytest.mark.parametrize("bad", [phi(1).T, phi(1) * np.nan, np.zeros((2, 4))])
def test_topics_that_do_not_sum_to_one_are_a_numerical_failure(
    bad: np.ndarray, run: RunDirectory
) -> None:
    with pytest.raises(NumericalError, match=r"step 1: topic . sums to .* instead of 1"):
        run.samples.write(1, {"phi": bad}, SAMPLE)
    assert not list((run.path / "samples").iterdir())


def test_a_sample_is_immutable(run: RunDirectory) -> None:
    run.samples.write(1, {"phi": phi(1)})
    run.samples.write(1, {"phi": phi(1)})
    with pytest.raises(ValueError, match="a different sample"):
        run.samples.write(1, {"phi": phi(2)})
    assert np.array_equal(run.samples.read(1)["phi"], phi(1))
    assert len(list((run.path / "samples").iterdir())) == 1


@pytest.mark.parametrize("point", ["open", "write", "fsync", "close", "rename"])
def test_a_sample_that_cannot_be_written_leaves_nothing(point: str, run: RunDirectory) -> None:
    _failpoints.arm(f"sample.{point}:ENOSPC")
    with pytest.raises(WriteError):
        run.samples.write(1, {"phi": phi(1)})
    assert not list((run.path / "samples").iterdir())


def test_a_damaged_sample_is_refused_by_name(run: RunDirectory) -> None:
    run.samples.write(1, {"phi": phi(1)})
    path = run.path / "samples" / "step-00000001.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="step-00000001"):
        run.samples.read(1)
    with pytest.raises(MissingInputError, match="no sample of step 2"):
        run.samples.read(2)


def test_a_dropped_sample_is_gone_for_good_after_the_next_checkpoint(run: RunDirectory) -> None:
    train(run, 0, 20)
    save(run, 20)
    run.samples.drop(10)
    run.samples.drop(10)
    assert run.samples.steps() == [20]
    save(run, 21)
    assert len(list((run.path / "samples").iterdir())) == 1


# ---- going back


def test_going_back_restores_the_record_exactly(run: RunDirectory) -> None:
    """Red with: files deleted that only begin as dropped samples do."""
    train(run, 0, 50)
    save(run, 50)
    mine = run.path / "samples" / ".dropped-chapter.tex"
    mine.write_text("nobody's sample")
    before = record(run)
    train(run, 50, 95)
    run.samples.drop(20)
    run.samples.drop(40)
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"torn')
    (run.path / temporary_name("status.json")).write_text("x")
    (run.path / "samples" / temporary_name("x")).write_text("x")
    (run.path / "checkpoints" / temporary_name("step-00000060")).mkdir()
    found = run.load_checkpoint(required=True)
    run.rewind(found)
    assert record(run) == before
    run.rewind(found)
    assert record(run) == before
    assert not list(run.path.rglob(".tmp-*"))
    assert mine.exists()


def test_stops_and_restarts_leave_no_trace(tmp_path: Path) -> None:
    """50 cycles, some of them killed between checkpoints (work is lost and done again)."""
    steady = RunDirectory.create(tmp_path / "steady", CONFIG, WORDS)
    with steady.lock():
        train(steady, 0, 500)
        save(steady, 500)
    stopped = RunDirectory.create(tmp_path / "stopped", CONFIG, WORDS)
    for cycle in range(50):
        run = RunDirectory.open(stopped.path)
        with run.lock():
            found = run.load_checkpoint(required=False)
            run.rewind(found)
            step = found.step if found else 0
            assert step == cycle * 10
            train(run, step, step + 10)
            save(run, step + 10)
            if cycle % 3 == 0:
                train(run, step + 10, step + 25)
    with run.lock():
        run.rewind(run.load_checkpoint(required=True))
    assert record(run) == record(steady)
    states = [r.path / "checkpoints/step-00000500/state.safetensors" for r in (run, steady)]
    assert states[0].read_bytes() == states[1].read_bytes()


def test_going_back_to_the_beginning_empties_the_record(run: RunDirectory) -> None:
    train(run, 0, 30)
    (run.path / "holdout").mkdir()
    run.rewind(None)
    assert run.read_metrics() == []
    assert run.samples.steps() == []
    assert (run.path / "holdout").is_dir()


def test_the_log_is_history_and_never_cut(run: RunDirectory) -> None:
    save(run, 1)
    run.log_event("interrupted", step=1)
    run.rewind(run.load_checkpoint(required=True))
    assert [event["event"] for event in read_lines(run.path / "log.jsonl")] == [
        "checkpoint",
        "interrupted",
    ]


@pytest.mark.parametrize("edit", ["change", "shorten", "delete"])
def test_edited_metrics_are_refused_and_nothing_is_changed(edit: str, run: RunDirectory) -> None:
    train(run, 0, 30)
    save(run, 30)
    train(run, 30, 50)
    path = run.path / "metrics.jsonl"
    text = path.read_text()
    if edit == "change":
        path.write_text(text.replace('"iteration": 10', '"iteration": 11'))
    elif edit == "shorten":
        path.write_text(text[:20])
    else:
        path.unlink()
    before = sorted((run.path / "samples").iterdir())
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: ") as caught:
        run.rewind(run.load_checkpoint(required=True))
    assert caught.value.exit_code == 76
    assert sorted((run.path / "samples").iterdir()) == before


def test_lines_edited_after_the_checkpoint_are_cut_off_all_the_same(run: RunDirectory) -> None:
    train(run, 0, 30)
    save(run, 30)
    before = record(run)
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write("a note of mine\n")
    run.rewind(run.load_checkpoint(required=True))
    assert record(run) == before


def test_a_sample_that_was_changed_is_refused_and_one_that_is_gone_is_not(
    run: RunDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    train(run, 0, 30)
    save(run, 30)
    path = run.path / "samples" / "step-00000020.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\0")
    found = run.load_checkpoint(required=True)
    with pytest.raises(CheckpointError, match="step-00000020"):
        RunDirectory.rewind(run, found)
    path.unlink()
    run.rewind(found)
    assert run.samples.steps() == [10, 30]
    assert "step-00000020.safetensors: is missing" in caplog.text


def test_samples_that_are_gone_are_those_of_the_newest_checkpoint(run: RunDirectory) -> None:
    """Red with: a dropped one among them; the names of an older list."""
    assert run.samples.gone() == []
    train(run, 0, 40)
    save(run, 40)
    assert run.samples.gone() == []
    run.samples.drop(10)
    run.samples.path(20).unlink()
    assert run.samples.gone() == ["step-00000020.safetensors"]
    save(run, 50)
    assert run.samples.gone() == []


@pytest.mark.parametrize("newer", [0, 20])
def test_a_sample_that_is_thinned_while_a_run_is_read_is_not_gone(
    newer: int, run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red with: one look at the list; a second list of which other samples are missing meanwhile."""
    train(run, 0, 40)
    save(run, 40)
    read, looks = checkpoint_read.read_manifest, []

    def meanwhile(folder: Path) -> dict[str, object]:
        found = read(folder)
        looks.append(folder)
        if len(looks) == 1 or newer:  # the chain goes on between list and files
            run.samples.drop(10 * len(looks))
            save(run, 40 + 10 * len(looks))
        return found

    monkeypatch.setattr(checkpoint_read, "read_manifest", meanwhile)
    assert run.samples.gone() == []
    assert len(looks) == 2


def test_a_run_whose_samples_were_all_deleted_goes_on(run: RunDirectory) -> None:
    """With their folder. Red with: a run that cannot be written."""
    train(run, 0, 30)
    save(run, 30)
    shutil.rmtree(run.path / "samples")
    run.rewind(run.load_checkpoint(required=True))
    train(run, 30, 40)
    assert run.samples.steps() == [40]


def test_going_back_needs_the_lock(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="lock"):
        RunDirectory.create(tmp_path / "run", CONFIG, WORDS).rewind(None)


def test_config_json_is_what_the_product_promises(run: RunDirectory) -> None:
    config = json.loads((run.path / "config.json").read_text())
    assert config["options"]["topics"] == 2
    assert config["corpus"]["fingerprint"] == "abc"
    assert config["vocabulary"]["words"] == 4


# ---- files that carry a digest of what they say


@pytest.mark.parametrize("name", ["config.json", "status.json"])
def test_a_file_that_was_changed_is_warned_of_once(name: str, run: RunDirectory, caplog) -> None:
    """Red with: a letter that is another and is believed; a warning for what nobody has changed."""
    run.set_status("finished", step=1)
    again = RunDirectory.open(run.path)
    assert again.status["state"] == "finished"
    assert "digest" not in {*again.config, *again.status}
    assert caplog.messages == []
    path = run.path / name
    path.write_bytes(path.read_bytes().replace(b'"digest": "', b'"digest": "0', 1))
    for _ in range(2):
        assert RunDirectory.open(run.path).status["state"] == "finished"
    assert [m.partition(": ")[0] for m in caplog.messages] == [str(path)]
    assert "was changed since it was written" in caplog.text


def test_a_file_without_a_digest_is_read_as_it_is(run: RunDirectory, caplog) -> None:
    import json

    path = run.path / "config.json"
    config = json.loads(path.read_bytes())
    del config["digest"]
    path.write_text(json.dumps(config))
    assert RunDirectory.open(run.path).config == run.config
    assert caplog.messages == []


def test_what_is_removed_while_a_run_trains_is_made_again(
    run: RunDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    """Red with: checkpoints that could not be written any more; a finished run that is none (73)."""
    train(run, 0, 10)
    save(run, 10)
    for name in ("checkpoints", "samples"):
        shutil.rmtree(run.path / name)
    for name in ("config.json", "vocab.txt"):
        (run.path / name).unlink()
    train(run, 10, 20)
    save(run, 20)
    again = RunDirectory.open(run.path)
    assert again.config == run.config
    assert again.vocabulary == tuple(WORDS)
    checkpoint = again.load_checkpoint(required=True)
    assert checkpoint is not None
    assert checkpoint.step == 20
    assert [path.name for path in (run.path / "samples").iterdir()] == ["step-00000020.safetensors"]
    assert "config.json: was missing and has been written again" in caplog.text
