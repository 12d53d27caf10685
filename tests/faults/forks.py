"""Many starts of ``sgmc`` for the price of one: a process that has imported it all, and forks.

Run as a script it is the server: one JSON request a line on standard input, one answer a line on
standard output. A child is what a shell would have started, with standard error in a file; only the
time that Python takes to import is saved. The server itself never trains, so that it has no threads
and forking is safe.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import math
import os
import pkgutil
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

#: A run of some hundred milliseconds that has all that a run can have.
SMALL = (
    "-k",
    "4",
    "--minibatch",
    "20",
    "--sweeps",
    "2",
    "--warm-up",
    "5",
    "--sample-every",
    "2",
    "--samples",
    "12",
    "--iterations",
    "60",
    "--threads",
    "1",
    "--eval-every",
    "7",
    "--checkpoint-every",
    "4",
)


def write_corpus(path, documents=80, words=40, seed=0):
    """UCI counts of random documents with a few topics' worth of structure."""
    rng = random.Random(seed)
    lines = []
    for document in range(1, documents + 1):
        first = rng.randrange(4) * (words // 4)
        seen = {first + 1 + min(rng.randrange(words // 4), rng.randrange(words)) for _ in range(12)}
        lines += [f"{document} {word} {rng.randint(1, 3)}" for word in sorted(seen)]
    path.write_text("\n".join([str(documents), str(words), str(len(lines)), *lines]) + "\n")


#: Seconds after which a start hangs.
HANGS = 60.0


class Child:
    """A start that goes on while the test does."""

    def __init__(self, ask, pid, said):
        self.ask, self.pid, self.said, self.code = ask, pid, said, None

    def kill(self, number=signal.SIGKILL):
        os.kill(self.pid, number)

    def wait(self):
        """Exit code, or minus the number of the signal that ended it."""
        if self.code is None:
            self.code = self.ask(wait=self.pid)
        return self.code

    @property
    def stderr(self):
        return Path(self.said).read_text()


class Server:
    """The process that forks."""

    def __init__(self):
        self._start()

    def _start(self):
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OPENBLAS_NUM_THREADS": "1",
            "SGMC_TEST": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def close(self):
        self.process.communicate()

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
            assert answer, "the server of forks has ended"
        except BaseException:  # a test that ran out of time leaves an answer behind
            self.process.kill()
            self._start()
            raise
        return json.loads(answer)


class Forks:
    """The server, from the side of a test. Starts have ``folder`` as their current one."""

    def __init__(self, server, folder):
        self.ask, self.folder = server.ask, folder
        self.corpus = folder / "docword.small.txt"
        write_corpus(self.corpus)
        self._children = []

    def close(self):
        """End what a failed test has left running."""
        for child in self._children:
            if child.code is None:
                with contextlib.suppress(ProcessLookupError):
                    child.kill()
                child.wait()

    def start(self, *args, fail=None, env=(), call=None):
        """Start ``sgmc`` with arguments, or a function of children.py.

        ``fail`` arms a fail point, ``env`` are more environment variables.
        """
        said = str(self.folder / f"stderr-{len(self._children)}")
        plain = [a if isinstance(a, int | float | list) else str(a) for a in args]
        pid = self.ask(
            args=plain, folder=str(self.folder), said=said, fail=fail, env=dict(env), call=call
        )
        self._children.append(Child(self.ask, pid, said))
        return self._children[-1]

    def __call__(self, *args, code=0, **kwargs):
        child = self.start(*args, **kwargs)
        done = child.wait()
        assert done == code, (args, done, child.stderr)
        return child.stderr

    def train(self, out="run", *args):
        """Arguments of the small run."""
        return "train", self.corpus, *SMALL, "--out", out, *args


def wait_until(true, seconds=60.0):
    """Wait for a condition; its value is given back."""
    end = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)
    return value


# ---- the server ----


def _child(request):
    from pysgrld.run import _failpoints

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(request["env"])
    os.chdir(request["folder"])
    said = os.open(request["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(said, 1)
    os.dup2(said, 2)
    _failpoints.arm(request["fail"])
    if request["call"]:
        import children

        getattr(children, request["call"])(*request["args"])
        return 0
    from pysgrld.cli import main

    main([str(a) for a in request["args"]])
    return 0


def _wait(pid):
    """Exit code of a child; one that hangs is ended, and its stack shown."""
    end = time.monotonic() + HANGS
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # of a server that was ended
            return None
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGABRT)
            end = math.inf
        time.sleep(0.001)


def _serve():
    import pysgrld

    faulthandler.enable()  # shows the stacks of a child that hangs
    for module in pkgutil.walk_packages(pysgrld.__path__, "pysgrld."):
        importlib.import_module(module.name)
    pysgrld.run.machine.version()  # read now: a child may be nobody, who reads nothing
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            answer = _wait(request["wait"])
        else:
            answer = os.fork()
            if answer == 0:
                code = 1
                try:
                    code = _child(request)
                except SystemExit as end:
                    code = end.code
                except BaseException:
                    sys.excepthook(*sys.exc_info())
                finally:
                    sys.stderr.flush()
                    os._exit(code or 0)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    _serve()
