"""What a child of the server does in place of the plain command (`forks.Forks.start`)."""

from __future__ import annotations

import os
import signal
import struct
import sys
import time
from pathlib import Path


def _at(acts):
    """Call functions once each after the given iterations: pairs (iteration, function)."""
    from pysgrld.cli.progress import Screen

    shown, left = Screen.moved, sorted(acts, key=lambda act: act[0])

    def moved(self, position):
        shown(self, position)
        while left and position.iteration >= left[0][0]:
            left.pop(0)[1]()

    Screen.moved = moved


def _sgmc(args):
    from pysgrld.cli import main

    main([str(a) for a in args])


def signal_at(step, numbers, *args):
    """Send signals to this process after the given iterations."""

    def act():
        for number in numbers:
            os.kill(os.getpid(), number)

    _at([(step, act)])
    _sgmc(args)


def signal_in(point, nth, numbers, *args):
    """Send signals to this process at the nth passage of a fail point."""
    from pysgrld.run import files

    passed, hits = files.fail_point, []

    def fail_point(name):
        if name == point:
            hits.append(name)
            if len(hits) == nth:
                for number in numbers:
                    os.kill(os.getpid(), number)
        return passed(name)

    import pysgrld.run.checkpoint_write
    import pysgrld.run.directory
    import pysgrld.run.jsonio
    import pysgrld.run.samples

    run = pysgrld.run
    for module in (files, run.checkpoint_write, run.directory, run.jsonio, run.samples):
        module.fail_point = fail_point
    _sgmc(args)


def tell_step(place, *args):
    """Write the iteration number to a file after each iteration."""
    from pysgrld.cli.progress import Screen

    shown = Screen.moved
    fd = os.open(place, os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, struct.pack("q", 0), 0)

    def moved(self, position):
        shown(self, position)
        os.pwrite(fd, struct.pack("q", position.iteration), 0)

    Screen.moved = moved
    _sgmc(args)


def interrupted_calls(*args):
    """Interrupt system calls by a timer's signal all the time."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    _sgmc(args)


def cut_at_read(number, place, *args):
    """Truncate a file to half its length before the corpus is read for the nth time."""
    from pysgrld.corpus.vectors import Vector

    gather, reads = Vector.gather, []

    def cut(self, starts, lengths):
        reads.append(1)
        if len(reads) == number:
            os.truncate(place, Path(place).stat().st_size // 2)
        return gather(self, starts, lengths)

    Vector.gather = cut
    _sgmc(args)


def own_clock(iteration, write, jump_at, jump, *args):
    """Train by a clock that iterations and flushes move on, however fast this machine is.

    An iteration takes `iteration` seconds and a flush `write` seconds; in the iteration `jump_at` the
    clock moves on by another `jump` seconds. The time at the end is printed.
    """
    from pysgrld.chain.blocks import BlockChain
    from pysgrld.run import signals

    now, fsync = [0.0], os.fsync

    def clock():
        return now[0]

    def move(seconds):
        now[0] += seconds

    def slow(fd):
        fsync(fd)
        move(write)

    signals.StopFlag.__init__.__kwdefaults__["clock"] = clock
    signals.AwakeClock.__init__.__defaults__ = (clock,)
    signals.process_start = clock
    os.fsync = slow
    advance, steps = BlockChain.advance, []

    def advance_clock(self, batch=None):
        steps.append(1)
        move(iteration + (jump if len(steps) == jump_at else 0.0))
        return advance(self, batch)

    BlockChain.advance = advance_clock
    try:
        _sgmc(args)
    finally:
        sys.stderr.write(f"the time is {clock()}\n")


def checkpoints_all_the_time(*args):
    """Ask for a checkpoint after each iteration."""
    _at([(n, lambda: os.kill(os.getpid(), signal.SIGUSR2)) for n in range(1, 60)])
    _sgmc(args)


def wait_for_file(place, *args):
    """Wait in the first iteration until a file is there, as for a large model."""
    from pysgrld.chain.blocks import BlockChain

    advance = BlockChain.advance

    def wait(self, batch=None):
        while not Path(place).exists():
            time.sleep(0.005)
        return advance(self, batch)

    BlockChain.advance = wait
    _sgmc(args)


def as_nobody(*args):
    """Run as a user who owns no files here."""
    os.setgid(65534)
    os.setuid(65534)
    _sgmc(args)


def no_flock(*args):
    """Run on a file system without locks, with a lock file that is updated often."""
    from pysgrld.run import _failpoints, lock

    _failpoints.arm("lock.flock:ENOLCK:1+")
    lock.INTERVAL = 0.05
    _sgmc(args)


def limited_files(size, begin, end, *args):
    """Limit the size of files from one iteration on."""
    import resource

    def limit(soft):
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard if soft is None else soft, hard))

    _at([(begin, lambda: limit(size)), (end, lambda: limit(None))])
    _sgmc(args)


def on_full_disk(leave, begin, end, *args):
    """Train on a separate disk that becomes full, except for some bytes, between two iterations.

    Then train on until it is done, and copy the run to where others see it. Exit codes go to
    ``codes.json``; 99 says that mounting is not allowed here.
    """
    import ctypes
    import json
    import shutil
    import subprocess
    from pathlib import Path

    new_mounts = 0x00020000
    Path("disk").mkdir(exist_ok=True)
    if ctypes.CDLL(None, use_errno=True).unshare(new_mounts) != 0:
        os._exit(99)
    for command in ("mount --make-rprivate /", "mount -t tmpfs -o size=2m tmpfs disk"):
        if subprocess.run(command.split(), check=False, stderr=subprocess.DEVNULL).returncode:
            os._exit(99)
    filler = Path("disk/filler")

    def fill():
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                file.truncate(max(0, file.tell() - leave))

    codes = []
    for acts in ([(begin, fill), (end, filler.unlink)], []):
        child = os.fork()
        if child == 0:
            _at(acts)
            code = 1
            try:
                _sgmc(args)
            except SystemExit as stopped:
                code = stopped.code
            finally:
                os._exit(code)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        filler.unlink(missing_ok=True)
        shutil.copytree("disk/run", f"run-{len(codes)}")
    Path("codes.json").write_text(json.dumps(codes))


def failing_fsync(nth, *args):
    """Make the nth fsync of a file fail; exit with 99 if the file is ever flushed again."""
    import errno
    import stat

    fsync, failed, hits = os.fsync, [], []

    def fail(fd):
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            return fsync(fd)
        if any(os.path.sameopenfile(fd, other) for other in failed):
            os._exit(99)
        hits.append(fd)
        if len(hits) == nth:
            failed.append(os.dup(fd))  # so that this file number is not given to another file
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return fsync(fd)

    os.fsync = fail
    try:
        _sgmc(args)
    except SystemExit as end:
        raise SystemExit(end.code if failed else 98) from None


def chain(task, told, orders):
    """Replace the process of a chain; a "deaf" one ignores requests to stop."""
    if task == "deaf":
        signal.pause()
    told.send(("ended", (85, orders.recv(), "")))


def build_killed_at(nth, *args):
    """Record every step of a reading, and exit at the nth file change after the last step."""
    import sys

    import pysgrld.corpus.open as reading
    from pysgrld.corpus.open import CorpusBuilder

    changes = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")
    finish, left = CorpusBuilder.finish, [0]

    def hook(event, _):
        if left[0] and event in changes:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    def finish_killed(self, *args, **kwargs):
        left[0] = nth
        finish(self, *args, **kwargs)

    reading.NOTE_EVERY = 0.0
    CorpusBuilder.finish = finish_killed
    sys.addaudithook(hook)
    _sgmc(args)
