"""Full disks, failing system calls, quotas: existing data stay, and losses are reported."""

import json
import random
import shutil

import pytest
from faults.records import check_intact, events, left_behind, metrics, record
from trial_counts import counts

from pysgrld.run import RunDirectory

#: The shortest run that has everything: samples, three checkpoints and more at the end.
SHORT = ("--iterations", "14")


@pytest.fixture(scope="module")
def undisturbed(forks_of_module):
    forks = forks_of_module

    def give(*args):
        run = forks.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        forks(*forks.train("run", *args))
        return record(run), metrics(run)

    return give(), give(*SHORT)


def judge(forks, run, code, expected, *args):
    """Check that the run continued, or ended with 74 intact, and ends like an undisturbed one."""
    assert code in (0, 74)
    if code == 74:
        check_intact(run)
        kept = [name for name in left_behind(run / "checkpoints") if name.startswith(".tmp-")]
        assert kept == [], "nothing of a new checkpoint stays; an old one may be half deleted"
        forks(*forks.train(run.name, *args))
    assert record(run) == expected[0]
    assert left_behind(run) == []


@pytest.mark.row(17)
@counts(2, 64)
def test_files_that_cannot_grow_beyond_a_byte_fail_cleanly(n, forks, undisturbed, trials):
    """The size limit of the process stands for the disk: the kernel takes bytes up to the limit."""
    size = 13_000  # slightly more bytes than the state has
    for trial in range(0, 64, 64 // n):
        run = forks.folder / f"run-{trial}"
        end = 26 if trial // (64 // n) % 2 else 10_000
        args = (size * trial // 64, 14, end, *forks.train(run.name))
        child = forks.start(*args, call="limited_files")
        code = child.wait()
        # Three in a row are due at 16, 20 and 24, and the state has more than 8,000 bytes.
        assert code == 74 or trial > 40
        assert "Traceback" not in child.stderr  # which the limit cuts too
        judge(forks, run, code, undisturbed[0])
        trials()


@pytest.mark.row(17)
@counts(1, 16)
def test_a_disk_that_is_full_for_a_while_is_survived(n, forks, undisturbed, trials):
    """A real one, of 2 MB, with some bytes left from iteration 13 to 18: one checkpoint is due."""
    for leave in range(0, 64, 64 // n):
        for result in ("run-1", "run-2"):
            shutil.rmtree(forks.folder / result, ignore_errors=True)
        args = (leave * 1024, 13, 18, *forks.train("disk/run"))
        child = forks.start(*args, call="on_full_disk")
        if child.wait() == 99:
            pytest.skip("mounting is not allowed here")
        assert json.loads((forks.folder / "codes.json").read_text()) == [0, 0], child.stderr
        assert (record(forks.folder / "run-1"), metrics(forks.folder / "run-1")) == undisturbed[0]
        trials()


@pytest.mark.row(17)
def test_a_disk_that_stays_full_ends_the_run_with_74(forks, undisturbed, trials):
    args = (8192, 13, 10_000, *forks.train("disk/run"))
    child = forks.start(*args, call="on_full_disk")
    if child.wait() == 99:
        pytest.skip("mounting is not allowed here")
    assert json.loads((forks.folder / "codes.json").read_text()) == [74, 0]
    assert "No space left on device" in child.stderr
    assert check_intact(forks.folder / "run-1") == 12
    assert record(forks.folder / "run-2") == undisturbed[0][0]
    trials()


@pytest.mark.row(18)
@pytest.mark.parametrize("name", ["metrics", "log", "status"])
def test_where_lines_cannot_be_written_training_goes_on_and_ends_with_74(
    forks, undisturbed, trials, name
):
    """What is missing at the end is said, and the checkpoint is there."""
    child = forks.start(*forks.train(), fail=f"{name}.write:ENOSPC:4+")
    assert child.wait() == 74, child.stderr
    said = child.stderr.splitlines()
    assert sum("training continues" in line for line in said) == 1
    assert "No space left on device" in said[-1]
    assert "the last checkpoint is undamaged" in said[-1]
    assert record(forks.folder / "run") == undisturbed[0][0]
    forks(*forks.train())
    trials()


@pytest.mark.row(18)
@pytest.mark.parametrize(
    ("nth", "name"),
    [
        (2, "sample"),  # which the next checkpoint waits for
        *((4, name) for name in ("metrics", "log", "status", "sample")),
        *(
            pytest.param(nth, name, marks=pytest.mark.nightly)
            for nth in (2, 3, 6)
            for name in ("metrics", "log", "status", "sample")
            if (nth, name) != (2, "sample")
        ),
    ],
)
def test_what_fails_once_is_written_later_and_nothing_is_missing(
    forks, undisturbed, trials, name, nth
):
    """Red with: what fails is forgotten."""
    child = forks.start(*forks.train(), fail=f"{name}.write:ENOSPC:{nth}")
    run = forks.folder / "run"
    if nth == 2 and name == "log":  # this write belongs to the start, before any training
        assert child.wait() in (0, 74)
        return
    assert child.wait() == 0, child.stderr
    assert "cannot be written" in child.stderr
    assert (record(run), metrics(run)) == undisturbed[0]
    assert [e["event"] for e in events(run)] == ["started", *["checkpoint"] * 16, "finished"]
    trials()


@pytest.mark.row(18)
def test_samples_that_cannot_be_written_hold_checkpoints_back_and_are_drawn_again(
    forks, undisturbed, trials
):
    """Red with: checkpoints that are committed past a sample which is not there."""
    child = forks.start(*forks.train(), fail="sample.write:ENOSPC:5+")
    assert child.wait() == 74, child.stderr
    run = forks.folder / "run"
    newest = check_intact(run)
    missing = set(undisturbed[0][0]) - {p.name for p in (run / "samples").iterdir()}
    assert all(int(name[5:13]) > newest for name in missing if name.startswith("step-"))
    assert len(events(run, "checkpoint-failed")) == 3
    forks(*forks.train())
    assert (record(run), metrics(run)) == undisturbed[0]
    trials()


@pytest.mark.row(19)
@pytest.mark.parametrize(
    ("ever", "step"),
    [
        pytest.param("", 41, id="once"),
        pytest.param("+", 59, id="for ever"),
        pytest.param("", 1, id="once, all", marks=pytest.mark.nightly),
        pytest.param("+", 1, id="for ever, all", marks=pytest.mark.nightly),
    ],
)
def test_any_call_that_fails_leaves_the_run_intact(forks, undisturbed, trials, ever, step):
    """One point of a whole run after the other fails, until the run has no more of them.

    All of them at night, every 41st or 59th otherwise: their number is a hundred and more.
    """
    nth = 0
    while True:
        nth += step
        run = forks.folder / f"run-{nth}"
        child = forks.start(*forks.train(run.name, *SHORT), fail=f"*:EIO:{nth}{ever}")
        code = child.wait()
        assert "Traceback" not in child.stderr, (nth, child.stderr)
        if "fail point" not in child.stderr and code == 0 and nth > 150:
            break
        assert code in (0, 73, 74), (nth, child.stderr)
        if run.exists():
            judge(forks, run, code, undisturbed[1], *SHORT)
        shutil.rmtree(run, ignore_errors=True)
        trials()
    assert left_behind(forks.folder) == []


@pytest.mark.row(19)
@pytest.mark.parametrize(
    "step", [pytest.param(13, id="some"), pytest.param(1, id="all", marks=pytest.mark.nightly)]
)
def test_a_file_whose_fsync_failed_is_never_flushed_again(step, forks, undisturbed, trials):
    """The second fsync would succeed, whatever became of the data.

    Red with: metrics.jsonl flushed again at the next checkpoint.
    """
    nth = 0
    while True:
        nth += step
        run = forks.folder / f"run-{nth}"
        child = forks.start(nth, *forks.train(run.name, *SHORT), call="failing_fsync")
        code = child.wait()
        if code == 98:  # no further points
            break
        assert code in (0, 73, 74), (nth, code, child.stderr)
        if run.exists():
            judge(forks, run, code, undisturbed[1], *SHORT)
        trials()
    assert nth > 30


@pytest.mark.row(20)
@counts(2, 80)
def test_short_writes_are_continued(n, forks, undisturbed, trials):
    """Red with: one os.write taken for all of it."""
    rng = random.Random(20)
    for trial in range(n):
        run = forks.folder / f"run-{trial}"
        nth = f"{rng.randint(1, 60)}" if trial else "1+"
        forks(*forks.train(run.name, *SHORT), fail=f"*.write:short:{nth}")
        assert (record(run), metrics(run)) == undisturbed[1]
        trials()


@pytest.mark.row(20)
@counts(2, 20)
def test_calls_that_signals_interrupt_are_done_again(n, forks, undisturbed, trials):
    for trial in range(n):
        run = forks.folder / f"run-{trial}"
        forks(*forks.train(run.name, *SHORT), call="interrupted_calls")
        assert (record(run), metrics(run)) == undisturbed[1]
        trials()


@pytest.mark.row(21)
@pytest.mark.parametrize("code", ["EDQUOT", "ESTALE"])
def test_quota_and_stale_handles_are_a_full_disk(forks, undisturbed, trials, code):
    run = forks.folder / "run"
    said = forks(*forks.train(), fail=f"state.write:{code}:40")
    assert "cannot be written" in said
    assert (record(run), metrics(run)) == undisturbed[0]
    shutil.rmtree(run)
    child = forks.start(*forks.train(), fail=f"state.*:{code}:30+")
    assert child.wait() == 74, child.stderr
    assert RunDirectory.open(run).status["state"] == "failed"
    judge(forks, run, 74, undisturbed[0])
    trials()
