"""A power failure: changes that were never flushed may be lost, in any combination.

A run is recorded as the system calls that it makes. For every moment of it the test makes the states
in which the disk may then be: of each file what was flushed is there, and of the rest any first
part, all of it or none, or its length filled with zeros; of the names in each folder those that were
there at its last flush, and any first part of what was done since. In each of them the run must open
and hold its newest acknowledged checkpoint.
"""

import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from trial_counts import counts

from pysgrld.run import RunDirectory, directory, files, jsonio, samples, verify_checkpoint
from pysgrld.run import checkpoint_write as commit

CONFIG = {"options": {"topics": 2}, "free": ["epochs"], "corpus": {"fingerprint": "abc"}}
PHI = np.array([[0.25, 0.75], [1, 0]], np.float32)


class Recorder:
    """Wrapper of system calls; ``trace`` has their effects, by numbers of files and folders."""

    def __init__(self, monkeypatch, root):
        self.root, self.trace, self.names = root, [], {"": 0}
        self.count, self.fds, self.point = 0, {}, ""
        for name in ("open", "write", "fsync", "ftruncate", "mkdir", "rename", "unlink", "rmdir"):
            monkeypatch.setattr(os, name, self._wrapped(name, getattr(os, name)))
        for module in (files, jsonio, directory, commit, samples):
            monkeypatch.setattr(module, "fail_point", self._pass)

    def _pass(self, name):
        self.point = name
        return False

    def _name(self, path, dir_fd=None):
        folder = Path(self.fds[dir_fd]) if dir_fd is not None else Path()
        path = folder / Path(path)
        return str(path.relative_to(self.root)) if path != self.root else ""

    def _wrapped(self, kind, call):
        def wrapper(target, *args, **kwargs):
            known = isinstance(target, int) and target in self.fds
            place = None
            if not isinstance(target, int):
                path = Path(os.fspath(target))
                dir_fd = kwargs.get("dir_fd")
                if dir_fd in self.fds:
                    path = Path(self.fds[dir_fd]) / path
                inside = self.root == path or self.root in path.parents
                place = str(path) if inside else None
            before = place is not None and os.path.lexists(place)
            result = call(target, *args, **kwargs)
            if kind == "open" and place is not None:
                self.fds[result] = place
                if not before:
                    self._made(place, "file")
            elif known and kind in ("write", "fsync", "ftruncate"):
                ident = self.names[self.fds[target]]
                data = bytes(args[0][:result]) if kind == "write" else args
                self.trace.append((kind, ident, data, self.point))
            elif place is not None and kind == "mkdir":
                self._made(place, "folder")
            elif place is not None and kind == "rename":
                self._renamed(place, os.fspath(args[0]))
            elif place is not None and kind in ("unlink", "rmdir"):
                self._entry(place, None)
            return result

        return wrapper

    def _made(self, place, kind):
        self.count += 1
        self.names[place] = self.count
        self.trace.append(("make", self.count, kind, self.point))
        self._entry(place, self.count)

    def _entry(self, place, ident):
        folder, name = os.path.split(place)
        self.trace.append(("names", self.names[folder], ((name, ident),), self.point))

    def _renamed(self, old, new):
        moved = {p: i for p, i in self.names.items() if p == old or p.startswith(f"{old}/")}
        for path, ident in moved.items():
            del self.names[path]
            self.names[new + path[len(old) :]] = ident
        for fd, path in self.fds.items():
            if path in moved:
                self.fds[fd] = new + path[len(old) :]
        (a, first), (b, second) = os.path.split(old), os.path.split(new)
        ident = self.names[new]
        if a == b:
            self.trace.append(
                ("names", self.names[a], ((first, None), (second, ident)), self.point)
            )
        else:
            self.trace.append(("names", self.names[b], ((second, ident),), self.point))
            self.trace.append(("names", self.names[a], ((first, None),), self.point))


def scenario(run):
    """Do all that a run does to its folder; yield each checkpoint's step when it is acknowledged."""
    with run.lock():
        step = 0
        for step in (1, 2, 3):
            run.append_metrics({"iteration": step})
            run.samples.write(step, {"phi": PHI})
            run.save_checkpoint(step, {"g": np.full((4, 16), step, np.float32)}, {}, keep=2)
            yield step
        run.append_metrics({"iteration": 4})
        run.samples.write(4, {"phi": PHI})
        run.samples.drop(2)
        run.rewind(run.load_checkpoint(required=True))
        run.append_metrics({"iteration": 4, "again": True})
        run.update_free({"epochs": 3})
        run.set_status("running")
        run.samples.write(4, {"phi": PHI})
        run.samples.drop(1)
        run.save_checkpoint(4, {"g": np.full((4, 16), 4, np.float32)}, {}, keep=2)
        yield 4
        run.append_metrics({"iteration": 4, "more": True})
        run.save_checkpoint(4, {"g": np.full((4, 16), 4, np.float32)}, {}, keep=1)
        yield 4


def recorded(monkeypatch, root):
    """The trace of a run, with ("acknowledged", step) where a checkpoint was promised."""
    root.mkdir()
    with monkeypatch.context() as patch:
        recorder = Recorder(patch, root)
        recorder.names = {str(root): 0}
        run = RunDirectory.create(root / "run", CONFIG, ["a", "b"])
        recorder.trace.append(("acknowledged", 0, "created", ""))
        for step in scenario(run):
            recorder.trace.append(("acknowledged", step, "", ""))
    return recorder.trace


class Disk:
    """What is certainly on the disk, and the changes since then."""

    def __init__(self):
        self.kind, self.data, self.entries = {0: "folder"}, {}, {0: {}}
        self.pending = {}

    def do(self, kind, ident, what):
        if kind == "make":
            self.kind[ident] = what
            (self.data if what == "file" else self.entries)[ident] = b"" if what == "file" else {}
        elif kind == "fsync":
            self.apply(self.pending.pop(ident, []), ident, self)
        else:
            self.pending.setdefault(ident, []).append((kind, what))

    @staticmethod
    def apply(changes, ident, to):
        for kind, what in changes:
            if kind == "write":
                to.data[ident] = to.data[ident] + what
            elif kind == "ftruncate":
                to.data[ident] = to.data[ident][: what[0]]
            else:
                for name, target in what:
                    if target is None:
                        to.entries[ident].pop(name, None)
                    else:
                        to.entries[ident][name] = target

    def after(self, survive, zeros):
        """Return the disk after a power failure that ``survive(ident, n)`` of n changes survived."""
        left = Disk()
        left.kind, left.data = self.kind, dict(self.data)
        left.entries = {ident: dict(names) for ident, names in self.entries.items()}
        for ident, changes in self.pending.items():
            kept = survive(ident, len(changes))
            before = len(left.data.get(ident, b""))
            self.apply(changes[:kept], ident, left)
            if zeros and self.kind[ident] == "file" and len(left.data[ident]) > before:
                size = len(left.data[ident])
                left.data[ident] = left.data[ident][:before] + bytes(size - before)
        return left

    def tree(self, ident=0):
        """Return nested pairs of names and contents, which can be compared and written."""
        if self.kind[ident] == "file":
            return self.data[ident]
        return tuple(sorted((name, self.tree(i)) for name, i in self.entries[ident].items()))


def write_down(tree, path):
    if isinstance(tree, bytes):
        path.write_bytes(tree)
        return
    path.mkdir()
    for name, inside in tree:
        write_down(inside, path / name)


def states(disk, rng):
    """Yield some possible states of a disk: extremes, single files or folders, and mixtures."""
    waiting = list(disk.pending)
    yield disk.after(lambda i, n: 0, False)
    for zeros in (False, True):
        yield disk.after(lambda i, n: n, zeros)
        for one in waiting:
            yield disk.after(lambda i, n, one=one: n if i == one else 0, zeros)
            yield disk.after(lambda i, n, one=one: 0 if i == one else n, zeros)
        for _ in range(2):
            yield disk.after(lambda i, n: rng.randint(0, n), zeros)


def problems(trace, folder, *, without=None, enough=None, every=1):
    """Try every moment with some of its states; return the faults and the number of trials.

    Moments before the first flush ``without`` which it is tried are those of the whole record.
    """
    disk, rng, seen, wrong = Disk(), random.Random(7), set(), []
    promised, differs = -1, without is None
    for kind, ident, what, point in trace:
        if kind == "acknowledged":
            promised = ident
        elif kind == "fsync" and point == without:
            differs = True
        else:
            disk.do(kind, ident, what)
        if not differs:
            continue
        for left in states(disk, rng):
            tree = left.tree()
            if (tree, promised) in seen:
                continue
            seen.add((tree, promised))
            if len(seen) % every == 0 and (problem := check(tree, promised, folder)):
                wrong.append(problem)
                if enough and len(wrong) >= enough:
                    return wrong, len(seen) // every
    return wrong, len(seen) // every


def check(tree, promised, folder):
    """Open what is left on the disk; return a description of any fault."""
    place = folder / "after"
    shutil.rmtree(place, ignore_errors=True)
    write_down(tree, place)
    path = place / "run"
    if not (path / "config.json").exists():
        return None if promised < 0 else "the run is gone"
    try:
        run = RunDirectory.open(path)
        if run.vocabulary != ("a", "b"):
            return "another vocabulary"
        with run.lock():
            found = run.load_checkpoint(required=False)
            step = found.step if found else 0
            if step < promised:
                return f"step {promised} was acknowledged, {step} is there"
            if found and found.arrays["g"].tobytes() != np.full((4, 16), step, "f4").tobytes():
                return "mixed state"
            run.rewind(found)
            lines = [line["iteration"] for line in run.read_metrics()]
            if sorted(set(lines)) != list(range(1, step + 1)):
                return f"metrics {lines} at {step}"
            kept = run.samples.steps()
            if kept != ([1, 2, 3, 4][:step] if step < 4 else [2, 3, 4]):
                return f"samples {kept} at {step}"
            run.save_checkpoint(9, {"g": np.zeros((4, 16), np.float32)}, {}, keep=5)
        report = verify_checkpoint(path / "checkpoints" / "step-00000009")
        return report.problem
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.fixture
def no_flush(monkeypatch):
    """What is checked need not be flushed."""

    def switch():
        monkeypatch.setattr(os, "fsync", lambda fd: None)

    return switch


@pytest.mark.row(7)
@counts(16, 1)
def test_the_newest_promise_survives_a_power_failure_at_any_moment(
    n, monkeypatch, fast, no_flush, trials
):
    folder = fast()
    trace = recorded(monkeypatch, folder / "recorded")
    assert sum(kind == "fsync" for kind, *_ in trace) > 40
    no_flush()
    wrong, tried = problems(trace, folder, every=n)
    assert wrong == []
    assert tried > 1000 // n
    trials(tried)


#: Points whose flush the promise hangs on.
NEEDED = [
    "create.fsync",
    "create.fsync_folder",
    "state.fsync",
    "manifest.fsync",
    "checkpoint.fsync_folder",
    "commit.fsync_folder",
    "metrics.fsync",
    "sample.fsync",
    "sample.fsync_folder",
    "config.fsync",
]


#: Points whose loss shows only late in the trace: half a minute.
LATE = ("commit.fsync_folder", "config.fsync")


@pytest.mark.row(7)
@pytest.mark.parametrize(
    "point", [pytest.param(p, marks=pytest.mark.nightly) if p in LATE else p for p in NEEDED]
)
def test_without_any_one_flush_there_is_a_moment_that_loses_something(
    monkeypatch, fast, no_flush, point
):
    """The proof of the test above: each flush is left out of the record in turn, and it is seen."""
    folder = fast()
    trace = recorded(monkeypatch, folder / "recorded")
    assert any(kind == "fsync" and at == point for kind, _, _, at in trace)
    no_flush()
    wrong, _ = problems(trace, folder, without=point, enough=1)
    assert wrong
