"""What a child of the server does where the plain command would not do (`forks.Forks.start`)."""

from __future__ import annotations

import os
import signal
import struct
import time


def _at(step, act):
    """Call ``act`` once, when that many iterations are done."""
    from pysgrld.cli.progress import Screen

    shown, done = Screen.moved, []

    def moved(self, position):
        shown(self, position)
        if position.iteration >= step and not done:
            done.append(step)
            act()

    Screen.moved = moved


def _sgmc(args):
    from pysgrld.cli import main

    main([str(a) for a in args])


def signal_at(step, numbers, *args):
    """Get signals from itself when that many iterations are done."""

    def act():
        for number in numbers:
            os.kill(os.getpid(), number)

    _at(step, act)
    _sgmc(args)


def signal_in(point, nth, numbers, *args):
    """Get signals from itself at the nth time that a fail point is passed."""
    from pysgrld.run import files

    passed, hits = files.fail_point, []

    def fail_point(name):
        if name == point:
            hits.append(name)
            if len(hits) == nth:
                for number in numbers:
                    os.kill(os.getpid(), number)
        return passed(name)

    import pysgrld.run.commit
    import pysgrld.run.journal
    import pysgrld.run.samples

    for module in (files, pysgrld.run.commit, pysgrld.run.journal, pysgrld.run.samples):
        module.fail_point = fail_point
    _sgmc(args)


def tell_step(place, *args):
    """Write the iteration into a file after each one, for those who watch."""
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
    """Have system calls interrupted by a timer's signal all the time."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
    _sgmc(args)


def slow_steps(seconds, *args):
    """Take a while for every iteration, as a large model does."""
    from pysgrld.chain import Chain

    advance = Chain.advance

    def slow(self, batch=None):
        time.sleep(seconds)
        return advance(self, batch)

    Chain.advance = slow
    _sgmc(args)


def as_nobody(*args):
    """Run as a user who owns nothing here."""
    os.setgid(65534)
    os.setuid(65534)
    _sgmc(args)


def no_flock(*args):
    """Run where the file system knows no locks, with one that beats often."""
    from pysgrld.run import _failpoints, beat

    _failpoints.arm("lock.flock:ENOLCK:1+")
    beat.INTERVAL = 0.05
    _sgmc(args)
