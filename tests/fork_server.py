"""Many starts of ``sgmc`` at the cost of one, by a process that has imported much and forks.

Run as a script it is the server: one JSON request a line on standard input, one answer a line on
standard output. A child is what a shell would have started, with what it writes in files; only the
time that Python takes to import is saved. The server itself never trains, so that it has no threads
and forking is safe.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import functools
import gc
import importlib
import json
import multiprocessing
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from multiprocessing import forkserver, resource_tracker, spawn
from pathlib import Path

import entered

SGMC = Path(sys.executable).with_name("sgmc")
#: Seconds after which a start is judged to hang.
HANGS = 200.0


class Server:
    """The forking processes, as seen from a test: a small one, and one that has imported `HEAVY`.

    A fork, and its end, take longer the more memory a process has: commands that need little are forks
    of the small one. Each process starts at its first request.
    """

    def __init__(self):
        self._processes, self._forks_of_heavy = {}, set()

    def _start(self, heavy):
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OPENBLAS_NUM_THREADS": "1",
            "MPLBACKEND": "agg",
            "JE_ARROW_MALLOC_CONF": "background_thread:false",  # no thread may exist before a fork
            "SGMC_TEST": "1",
            # semaphores of commands that were killed
            "PYTHONWARNINGS": "ignore::UserWarning:multiprocessing.resource_tracker",
        }
        self._processes[heavy] = subprocess.Popen(
            [sys.executable, "-P", __file__, *(HEAVY if heavy else ())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def close(self):
        for process in self._processes.values():
            process.communicate()

    def ask(self, **request):
        if "wait" in request:
            heavy = request["wait"] in self._forks_of_heavy
        else:
            heavy = not NEED_HEAVY.isdisjoint(map(str, request["args"]))
        if heavy not in self._processes:
            self._start(heavy)
        process = self._processes[heavy]
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer, "the server of forks has ended"
        except BaseException:  # a test that ran out of time leaves an answer behind
            process.kill()
            process.communicate()
            del self._processes[heavy]
            raise
        answer = json.loads(answer)
        if (
            "wait" not in request
        ):  # the answer is the number of a process, which may have been another's
            note = self._forks_of_heavy.add if heavy else self._forks_of_heavy.discard
            note(answer)
        return answer

    def run(
        self,
        words,
        folder,
        *,
        text,
        seconds,
        env=None,
        plain=False,
        pipe=None,
        removed=False,
        at=None,
        data=None,
    ):
        """Run ``sgmc`` to its end, with the interface of `subprocess.run`.

        With `env` as its environment, which may arm a fail point.
        With `plain` as a user who is not root. SIGTERM asks it to end when it has opened a named pipe.
        The folder is `removed` when the process is in it. With `at`, a word and the number of a signal,
        the process sends the signal to itself when it prints the word on standard error. Its standard
        input is a pipe with the `data`, or else empty.
        """
        with tempfile.TemporaryDirectory() as place:
            said, shown, given = (Path(place, name) for name in ("said", "shown", "given"))
            if data is not None:
                os.mkfifo(given)
                threading.Thread(target=_give, args=(given, data), daemon=True).start()
            pid = self.ask(
                args=words[1:],
                given=os.devnull if data is None else str(given),
                folder=str(folder),
                said=str(said),
                shown=str(shown),
                exactly=dict(os.environ if env is None else env),
                plain=plain,
                removed=removed,
                at=at,
            )
            with contextlib.ExitStack() as writer:
                if pipe is not None and _is_read(pid, pipe, writer):
                    os.kill(pid, signal.SIGTERM)
                code = self.ask(wait=pid, seconds=seconds)
            shown, said = shown.read_bytes(), said.read_bytes()
            if text:  # names of files need not be valid UTF-8
                shown, said = shown.decode(errors="replace"), said.decode(errors="replace")
            return subprocess.CompletedProcess(words, code, shown, said)


class Running:
    """A command that has been started, with what tests use of `subprocess.Popen`."""

    def __init__(self, words, folder):
        self._place, self.returncode = tempfile.TemporaryDirectory(), None
        said = Path(self._place.name, "said")
        os.mkfifo(said)
        self.pid = shared().ask(
            args=list(words[1:]),
            folder=str(folder),
            said=str(said),
            shown=os.devnull,
            exactly=dict(os.environ),
            at=None,
        )
        self._ended = os.pidfd_open(self.pid)
        self.stderr = said.open(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, kind, *details):
        if kind is not None:  # a failed test would go on waiting
            self.kill()
        self.stderr.close()
        self.wait()
        os.close(self._ended)
        self._place.cleanup()

    def poll(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number):
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout=HANGS):
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("sgmc", timeout)
            self.returncode = shared().ask(wait=self.pid)
        return self.returncode


def _give(pipe, data):
    with contextlib.suppress(BrokenPipeError):
        pipe.write_bytes(data)


def _is_read(pid, pipe, writer):
    """Return True if a process opens a pipe before it ends, and then give the pipe a writer."""
    ended = os.pidfd_open(pid)
    writer.callback(os.close, ended)
    while not select.select([ended], [], [], 0.02)[0]:
        with contextlib.suppress(OSError):
            writer.callback(os.close, os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            return True
    return False


@functools.cache
def shared() -> Server:
    """Return the server shared by all tests of a process."""
    return Server()


def close() -> None:
    """End that server, if there is one."""
    if shared.cache_info().currsize:
        shared().close()


# ---- the server


def _refuse_as_others():
    """Take root's right to read and write every file away from this process.

    Files of root stay its own, so that Python's modules can be read. A user who is not root has nothing
    to lose here.
    """
    read_all = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH of linux/capability.h
    library = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    for number in (1, 2):
        library.prctl(24, number, 0, 0, 0)  # PR_CAPBSET_DROP: nor does a program that it starts
    assert library.capget(header, sets) == 0
    for place in range(3):  # effective, permitted, inheritable
        sets[place] &= ~read_all
    assert library.capset(header, sets) == 0, os.strerror(ctypes.get_errno())


def signal_at(word, number):
    """Send a signal to this process once, when it prints a word on standard error."""
    write, left = sys.stderr.write, [word]

    def watched(text):
        length = write(text)
        if left and word in text:
            left.clear()
            sys.stderr.flush()
            os.kill(os.getpid(), number)
        return length

    sys.stderr.write = watched


def _set_environment(variables):
    """Replace the environment, and arm the fail point that it names."""
    from pysgrld.run import _failpoints

    os.environ.clear()
    os.environ.update(variables)
    _failpoints.arm(variables.get("SGMC_FAILPOINT"))


def _child(request):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "exactly" in request:
        _set_environment(request["exactly"])
    os.environ.update(request.get("env", {}))
    os.chdir(request["folder"])
    if request.get("removed"):
        Path(request["folder"]).rmdir()
    for number, name in ((2, request["said"]), (1, request.get("shown"))):
        how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        place = os.open(name, how, 0o666) if name else 2
        os.dup2(place, number)
    given = request.get("given", os.devnull)
    os.dup2(os.open(given, os.O_RDWR if given == os.devnull else os.O_RDONLY), 0)
    if request.get("plain"):
        _refuse_as_others()
    entered.watch_command()
    args = [str(a) for a in request["args"]]
    if "exactly" in request:
        from pysgrld.__main__ import main as command

        sys.argv = [str(SGMC), *args]
        sys.modules["__main__"].__file__ = str(SGMC)  # what processes that it spawns import first
        if FORKS_SPAWNED and not request.get("plain"):
            data = spawn.get_preparation_data
            spawn.get_preparation_data = lambda name: (
                data(name) | {"command": os.getpid(), "environment": dict(os.environ)}
            )
            multiprocessing.get_context = lambda method: multiprocessing.context.ForkServerContext()
        if request["at"]:
            signal_at(*request["at"])
        command()
        return
    from pysgrld.run import _failpoints

    _failpoints.arm(request["fail"])
    if request["call"]:
        from faults import children

        getattr(children, request["call"])(*request["args"])
        return
    from pysgrld.cli import main

    main(args)


#: Whether processes that a command spawns are forks, too: later versions of Python want a key.
FORKS_SPAWNED = sys.version_info < (3, 14)


def _fork_spawned():
    """Start Python's own fork server, for processes spawned by commands, with the same imports."""
    resource_tracker.ensure_running()
    address = Path(tempfile.mkdtemp(prefix="sgmc-spawned-"), "socket")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(address))
    listener.listen()
    alive, end = os.pipe()
    prepare = spawn.prepare

    def prepare_like_command(data):
        """Set environment and output of the command, as in a spawned process."""
        command = Path("/proc", str(data.pop("command")))
        _set_environment(data.pop("environment"))
        for number in (1, 2):
            os.dup2(os.open(command / "fd" / str(number), os.O_WRONLY | os.O_APPEND), number)
        prepare(data)

    if os.fork() == 0:
        os.close(end)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)  # else nobody who reads what this process says sees its end
        spawn.prepare = prepare_like_command
        try:
            forkserver.main(listener.fileno(), alive, [])
        finally:
            shutil.rmtree(address.parent)
            os._exit(0)
    os.close(alive)
    server = forkserver._forkserver
    server.ensure_running = lambda: None
    server._forkserver_address, server._forkserver_alive_fd = str(address), end


def _wait(pid, seconds):
    """Return a child's exit code; if the child hangs, end it and show its stack."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:  # of a server that was ended
        return None
    try:
        if not select.select([handle], [], [], seconds)[0]:
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGABRT)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:  # the same, and its number is another process's now
        return None
    finally:
        os.close(handle)


def import_modules(package):
    """Import all modules of a package except those that need an extra that is missing."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            if (error.name or "").partition(".")[0] == package.__name__:
                raise


#: What commands import when they need it, which takes seconds; none of these starts a thread.
HEAVY = ("scipy.special", "scipy.sparse.linalg", "matplotlib.pyplot", "formulaic")
#: Words of commands that need some of these. Others import them when they need them.
NEED_HEAVY = frozenset(
    (
        *("effect", "report", "compare", "reproduce", "bench", "search"),
        *("--by", "--along", "--picture"),
    )
)


def _serve():
    import pysgrld

    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    faulthandler.enable()  # shows the stacks of a child that hangs
    import_modules(pysgrld)
    gc.freeze()  # no child copies what it only looks through for garbage
    if FORKS_SPAWNED:
        _fork_spawned()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            answer = _wait(request["wait"], request.get("seconds", HANGS))
        else:
            answer = os.fork()
            if answer == 0:
                code = 1
                try:
                    _child(request)
                    code = 0
                except SystemExit as end:
                    code = end.code
                except BaseException:
                    sys.excepthook(*sys.exc_info())
                finally:
                    threading._shutdown()
                    atexit._run_exitfuncs()
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code or 0)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _serve()
