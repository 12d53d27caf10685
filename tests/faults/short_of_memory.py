"""Training while memory runs out, in a separate process; used by row 58 of the fault matrix.

``short_of_memory.py new FOLDER SHIM STRIDE`` fails every STRIDEth allocation of the C++ code, one in
a run, until a run gets through; ``short_of_memory.py space FOLDER TRIALS`` gives every trial a little
more address space, in a child. Both print ``{"trials": ..., "wrong": [...]}``.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import logging
import os
import pkgutil
import re
import resource
import shutil
import sys
from pathlib import Path

import numpy as np
from faults_runs import command_line, result, train_here, write_corpus

import pysgrld
from pysgrld.core import core
from pysgrld.errors import SgmcError
from pysgrld.run import RunDirectory

#: Address space given to the last trial: more than a run of this corpus needs.
ENOUGH = 40 << 20

OPTIONS = {"threads": 2, "topics": 4, "checkpoint_every": 10, "starts": 1}

#: What the C library says when it ends a process because a thread that has started finds no room
#: for its own data. That is as good as a kill, and nothing here can prevent it.
GLIBC = "cannot allocate memory for thread-local data"

#: A run that does everything once or twice.
SHORT = {
    "threads": 2,
    "iterations": 4,
    "warm_up": 1,
    "burn_in": 1,
    "sample_every": 2,
    "eval_every": 4,
    "checkpoint_every": 10,
}

#: More allocations than a short run makes in all.
MOST = 2000


def unlocked(folder):
    """Return True if a run, if it exists, can be locked."""
    if not (folder / "run" / "config.json").is_file():
        return True
    with contextlib.suppress(SgmcError), RunDirectory.open(folder / "run").lock():
        return True
    return False


def twice_with_one_workspace(library):
    """Make the nth allocation of a kernel fail, then call it again with the same workspace."""
    wrong = []
    for topics in (4, 140):
        phi = core.zeros(6, -(-topics // 16) * 16, "float32")
        phi[:, :topics] = 1 / 6

        def counts(work, phi=phi, topics=topics):
            return core.documents_gibbs(
                phi=phi,
                topics=topics,
                indptr=np.array([0, 3, 6]),
                alpha=0.1,
                sweeps=2,
                kept=1,
                indices=np.arange(6, dtype=np.int32),
                counts=np.full(6, 9, np.int32),
                doc_ids=np.arange(2),
                rao_blackwell=True,
                seed=0,
                chain=0,
                step=0,
                purpose=core.Purpose.documents,
                work=work,
                threads=1,
            )[0].copy()

        expected = counts(core.Workspace())
        for n in range(MOST):
            work = core.Workspace()
            library.fail_at(n)
            with contextlib.suppress(MemoryError):
                counts(work)
            done = not library.has_failed()
            library.fail_at(-1)
            if not np.array_equal(counts(work), expected):
                wrong.append(f"workspace, {n}: another result")
            if done:
                break
        yield n
    yield wrong


def by_allocations(folder, shim, stride):
    """Make the nth allocation fail, for every ``stride``th n; yield the number of trials, then faults."""
    library = ctypes.CDLL(shim)
    write_corpus(folder / "corpus.txt")
    wrong = []
    for topics in (4, 140):  # two forms of a document
        options = SHORT | {"topics": topics}
        train_here(folder, **options)
        expected = result(folder)
        for n in range(topics % stride, MOST, stride):
            shutil.rmtree(folder / "run", ignore_errors=True)
            library.fail_at(n)
            try:
                train_here(folder, **options)
            except MemoryError:
                if not library.has_failed():
                    wrong.append(f"{n}: out of memory by itself")
            except BaseException as error:
                wrong.append(f"{n}: {error!r}")
            else:
                if result(folder) != expected:
                    wrong.append(f"{n}: another result")
            done = not library.has_failed()
            library.fail_at(-1)
            if not unlocked(folder):
                wrong.append(f"{n}: locked")
            if done:
                break
        else:
            wrong.append(f"{topics} topics: still failing at the {MOST}th")
        train_here(folder, **options)  # resumes from any state that is there
        if result(folder) != expected:
            wrong.append(f"{topics} topics: another result after going on")
        yield n // stride
        shutil.rmtree(folder / "run")
    yield wrong


def in_a_child(folder, space, out):
    """Run `sgmc train` in a child with the given additional bytes of memory; return its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    from pysgrld import cli

    os.chdir(folder)
    fd = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    if space is not None:
        used = re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())
        limit = int(used[1]) * 1024 + space
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    options = command_line(**OPTIONS)
    sys.argv = ["sgmc", "train", "corpus.txt", *options, "--out", "run", "-q"]
    try:
        cli.main(prog_name="sgmc")
    except SystemExit as end:
        os._exit(end.code or 0)
    finally:
        os._exit(99)


def by_space(folder, trials):
    """Give each trial slightly more memory, and after each failure continue with all memory."""
    for module in pkgutil.walk_packages(pysgrld.__path__, "pysgrld."):
        # modules imported now need not be read while memory is short
        importlib.import_module(module.name)
    write_corpus(folder / "corpus.txt")
    wrong, codes = [], []
    if in_a_child(folder, None, "said") != 0:
        return [(folder / "said").read_text()], []
    expected = result(folder)
    for trial in range(trials):
        shutil.rmtree(folder / "run", ignore_errors=True)
        code = in_a_child(folder, int(ENOUGH * (trial / (trials - 1)) ** 3), "said")
        said = (folder / "said").read_text()
        codes.append(code)
        if code == 127 and GLIBC in said:
            codes[-1] = 87
        elif code not in (0, 87):
            wrong.append(f"{trial}: exit {code}: {said}")
        if code == 87 and not (
            said.startswith("sgmc: error: out of memory") and said.count("\n") == 1
        ):
            wrong.append(f"{trial}: {said}")
        if not unlocked(folder):
            wrong.append(f"{trial}: locked")
        going_on = 0 if code == 0 else in_a_child(folder, None, "said")
        if going_on != 0 or result(folder) != expected:
            wrong.append(f"{trial}: cannot go on: {(folder / 'said').read_text()}")
    if codes[0] != 87 or codes[-1] != 0:
        wrong.append(f"the range of room is wrong: {codes}")
    return wrong, codes


def main():
    logging.disable(logging.WARNING)
    task, folder, *rest = sys.argv[1:]
    if task == "new":
        *first, wrong = twice_with_one_workspace(ctypes.CDLL(rest[0]))
        *then, others = by_allocations(Path(folder), rest[0], int(rest[1]))
        print(json.dumps({"trials": sum(first + then), "wrong": wrong + others}))
    else:
        wrong, codes = by_space(Path(folder), int(rest[0]))
        print(json.dumps({"trials": len(codes), "wrong": wrong}))


if __name__ == "__main__":
    main()
