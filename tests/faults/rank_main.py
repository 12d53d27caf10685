"""A rank started by a test: ``sgmc`` with a disturbance in one of the ranks.

``rank_main.py RANK ACT WHEN ARGUMENT...``: the act happens in that rank, before iteration WHEN (from 0),
or before its short chain WHEN. Arguments of further commands follow after ``--then``.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

RANK = int(next(os.environ[n] for n in ("OMPI_COMM_WORLD_RANK", "PMI_RANK") if n in os.environ))


def fails_to_read(corpus):
    """Act as on a node whose file system has lost the corpus."""
    from pysgrld.errors import MissingInputError

    def take(self, ids):
        raise MissingInputError("built/counts.npy: is not there any more")

    corpus.take = take


def fails_to_sample():
    """Act as on a rank whose documents cannot be sampled."""
    from pysgrld.errors import NumericalError
    from pysgrld.models.token_topics import GibbsDocuments

    def sampled(self, *arguments):
        raise NumericalError("weights of a document are no numbers")

    GibbsDocuments._sample_documents = sampled


def fails_to_write():
    """Act as on the writing rank if its disk is full at the end."""
    from pysgrld.errors import WriteError
    from pysgrld.train.run_writer import RunWriter

    save = RunWriter.save

    def save_all_but_the_last(self, *, last, **options):
        if last:
            raise WriteError("run: no space left on device")
        return save(self, last=last, **options)

    RunWriter.save = save_all_but_the_last


def fails_to_go_on():
    """Act as on the reading rank if its checkpoint is not a valid state of the run."""
    from pysgrld.errors import CheckpointError
    from pysgrld.train.loop import Training

    def restore(self, checkpoint):
        raise CheckpointError("step-00000004: lacks theta")

    Training._restore = restore


def has_a_bug():
    raise RuntimeError("a bug")


def sleeps():
    open("asleep", "w").close()
    time.sleep(1000)


def waits_for_hours():
    """Let the clock of this rank's watch run 10,000 times as fast when another rank has fallen asleep."""
    from pysgrld.chain import watch

    clock, since = time.monotonic, []

    def fast():
        if not since and Path("asleep").exists():
            since.append(clock())
        return clock() + 10_000 * (clock() - since[0]) if since else clock()

    watch.time = SimpleNamespace(sleep=time.sleep, monotonic=fast)


def kill_launcher():
    os.kill(os.getppid(), 0)
    launcher = os.getppid()
    with open(f"/proc/{launcher}/stat") as file:
        launcher = int(file.read().rpartition(")")[2].split()[1])
    os.kill(launcher, signal.SIGKILL)
    time.sleep(30)


def flip(part):
    """Flip a bit in an array of the state."""

    def act(chain):
        array = getattr(chain.states["phi"], part)
        array.view("uint8").reshape(-1)[1] ^= 4

    return act


def before_iteration(act, when):
    from pysgrld.train.ranks_together import Rounds

    rounds = Rounds.__iter__

    def watched(self):
        wants = self.wants

        def acting():
            if self.chain.step == when and not done:
                done.append(1)
                act(self.chain)
            return wants()

        done = []
        self.wants = acting
        return rounds(self)

    Rounds.__iter__ = watched


def in_short_chains(act, when):
    """Act before one of this rank's short chains, each of which leaves a file."""
    from pysgrld.train.short_chains import ShortChain

    train = ShortChain.train

    def watched(*arguments):
        done.append(1)
        open(f"short-{RANK}-{len(done)}", "w").close()
        if len(done) == when + 1:
            act()
        return train(*arguments)

    done = []
    ShortChain.train = watched


def is_not_finite():
    from pysgrld.errors import NumericalError

    raise NumericalError("weights of a short chain are no numbers")


def sent(number):
    return lambda chain: os.kill(os.getpid(), number)


def main():
    rank, name, when, *arguments = sys.argv[1:]
    acts = {
        "kill": sent(signal.SIGKILL),
        "launcher": lambda chain: kill_launcher(),
        "bug": lambda chain: has_a_bug(),
        "unread": lambda chain: fails_to_read(type(chain.stream.source)),
        "unsampled": lambda chain: fails_to_sample(),
        "unwritten": lambda chain: fails_to_write(),
        "sleep": lambda chain: sleeps(),
        "flip-sums": flip("sums"),
        "twice": lambda chain: [os.kill(os.getpid(), signal.SIGINT) for _ in range(2)],
    }
    if name.startswith("SIG"):
        acts[name] = sent(signal.Signals[name])
    in_short = {
        "short": lambda: None,
        "short-stop": lambda: os.kill(os.getpid(), signal.SIGTERM),
        "short-bad": is_not_finite,
    }
    if name in in_short:
        own = int(rank) == RANK
        in_short_chains(in_short[name] if own else (lambda: None), int(when))
    if int(rank) == RANK:
        if name in acts:
            before_iteration(acts[name], int(when))
        elif name == "isa":
            os.environ["SGMC_ISA"] = "baseline"
        elif name in ("missing", "another"):
            another_corpus(name)
        elif name == "no-state":
            fails_to_go_on()
    elif name == "sleep":
        waits_for_hours()
    if name == "pieces":
        from pysgrld.chain import mpi as ranks
        from pysgrld.train import ranks_together as waiting

        ranks.MOST, ranks.FEW, ranks.SMALL, ranks.STRIP = 1000, 10, 10, 1000
        waiting.WASTED = 2.0  # the ranks always wait
    from pysgrld.cli import main as command

    while "--then" in arguments:
        end = arguments.index("--then")
        try:
            command(arguments[:end])
        except SystemExit as ended:
            if ended.code:
                raise
        arguments = arguments[end + 1 :]
    command(arguments)


def another_corpus(how):
    """Make a rank find no corpus, or a different one."""
    from pathlib import Path

    from pysgrld.corpus import Corpus

    opened = Corpus.open.__func__

    def open_(cls, path):
        if how == "missing":
            path = Path("not-there")
        corpus = opened(cls, path)
        corpus.fingerprint = "another"
        return corpus

    Corpus.open = classmethod(open_)


if __name__ == "__main__":
    main()
