"""Naming of topics by a user's command, for example one that queries a language model."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from pysgrld.errors import MissingInputError, UsageError
from pysgrld.reading.labels import LABELS, LONGEST, Label, tidy, write_labels
from pysgrld.reading.results import Results
from pysgrld.reading.topics import topics_of
from pysgrld.report.answers import documents_of_topics

#: Number of a topic's words in the input of the user's command for naming topics.
WORDS = 20
#: Number of a topic's documents in the input of the user's command for naming topics.
DOCUMENTS = 5
#: Maximum number of characters of a document's title in the command's input.
TITLE = 200
#: Maximum number of seconds in which the user's command must name a topic.
PATIENCE = 300.0
#: Maximum number of characters that a message shows of the command's error output.
SAID = 100
#: Maximum number of bytes that are read from the command's output.
MOST = 8192
#: Number of seconds between two checks of whether the command has ended.
_BEAT = 0.05


class NamedTopics(NamedTuple):
    """Result of naming topics by a command: new names, retained names, and failures.

    Attributes
    ----------
    new : dict of int to str
        Names that were written to ``labels.json``.
    kept : dict of int to str
        Names that were kept: seed names and names from a person.
    failed : dict of int to str
        Reasons why topics got no name.
    """

    new: dict[int, str]
    kept: dict[int, str]
    failed: dict[int, str]


def name_topics(
    results: Results,
    command: str,
    *,
    replace: bool = False,
    tell: Callable[[int, str], None] = lambda topic, line: None,
) -> NamedTopics:
    """Name the topics of the lowest layer by a command, which is run once for each topic.

    The shell runs the command. The command's input is the topic's description by `described`; the
    first line of its output is the name, which is saved at once: if naming is stopped, the saved
    names remain.

    Parameters
    ----------
    results : Results
    command : str
        Command line for the shell.
    replace : bool
        If True, also replace seed names and names from a person.
    tell : callable (topic, line)
        Called for each topic with its name, or with the reason why it got no name.

    Raises
    ------
    UsageError
        If the command is empty.
    WriteError
        If names cannot be written.
    """
    if not command.strip():
        raise UsageError("--name-with: the command is empty; give a command that prints a name")
    try:
        titles = {
            documents.topic: [document.title for document in documents.documents]
            for documents in documents_of_topics(results, DOCUMENTS, 0)
        }
    except MissingInputError:
        # Without the corpus, the user's command receives words but no documents.
        titles = {}
    labels = dict(results.named)
    person = {} if replace else {k: x.name for k, x in labels.items() if x.by is None}
    seeded = {} if replace else results.seed_names()
    naming = NamedTopics({}, seeded | person, {})
    for topic in topics_of(results, WORDS, intervals=False):
        if topic.id in naming.kept:
            continue
        words = [word.word for word in topic.words]
        about = described(topic.id, topic.weight, words, titles.get(topic.id, []))
        name, reason = asked(command, about)
        if name is None:
            naming.failed[topic.id] = reason
            tell(topic.id, reason)
            continue
        naming.new[topic.id] = name
        labels[topic.id] = Label(name, tidy(command))
        write_labels(results.path / LABELS, labels)
        tell(topic.id, name)
    return naming


def described(topic: int, weight: float | None, words: list[str], titles: list[str]) -> str:
    """Describe a topic for the command: its weight, its words, and titles of its documents."""
    lines = [f"Topic {topic}" + ("" if weight is None else f", {100 * weight:.1f} % of the corpus")]
    lines += ["", f"Words in order of decreasing probability: {', '.join(words)}"]
    if titles:
        lines += ["", "Documents with the greatest share of this topic:"]
        lines += [f"- {tidy(title)[:TITLE]}" for title in titles]
    return "\n".join(lines) + "\n"


def asked(command: str, about: str) -> tuple[str | None, str]:
    """Run the command; return the first line of its output, or None and the reason for a failure.

    When the command has ended or has written `MOST` bytes, all processes that it started are ended
    too, except those in a separate session. A signal that stops this process stops the command
    first.
    """
    with _noted_signals() as received:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with process:
            try:
                out, err, end = _converse(process, about.encode(), received)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    if end == "late":
        return None, f"the command gave no answer within {PATIENCE:.0f} s"
    lines = [line for line in map(tidy, out.decode(errors="replace").splitlines()) if line]
    if end == "exit" and process.returncode:
        last = [line for line in map(tidy, err.decode(errors="replace").splitlines()) if line]
        return None, f"the command ended with exit code {process.returncode}" + (
            f": {last[-1][:SAID]}" if last else ""
        )
    if not lines:
        return None, "the command printed nothing"
    if len(lines[0]) > LONGEST:
        return (
            None,
            f"the command printed a line of {len(lines[0]):,} characters; the maximum is {LONGEST}",
        )
    return lines[0], ""


def _converse(
    process: subprocess.Popen[bytes], about: bytes, received: list[int]
) -> tuple[bytes, bytes, Literal["exit", "full", "late", "signal"]]:
    """Write a process's input and read its output until the process ends or reaches a limit.

    The caller then waits for the process.

    Returns
    -------
    out, err : bytes
        The first `MOST` bytes of the process's output, and the last part of its error output.
    end : {"exit", "full", "late", "signal"}
        Why reading stopped: the process has ended, has written `MOST` bytes or has taken too long,
        or this process received a signal.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    deadline, out, err = time.monotonic() + PATIENCE, b"", b""
    with selectors.DefaultSelector() as waiting:
        for pipe in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(pipe.fileno(), False)
            event = selectors.EVENT_WRITE if pipe is process.stdin else selectors.EVENT_READ
            waiting.register(pipe, event)
        while True:
            # First check whether the process has ended, then read the pipes. If it has ended, its
            # output is then complete.
            ended = _has_ended(process)
            for key, _ in waiting.select(0 if ended else _BEAT):
                with contextlib.suppress(BlockingIOError):
                    if key.fileobj is process.stdin:
                        about = about[_write(key.fd, about) :]
                        if not about:
                            waiting.unregister(process.stdin)
                            process.stdin.close()
                        continue
                    piece = os.read(key.fd, MOST)
                    if not piece:
                        waiting.unregister(key.fileobj)
                    elif key.fileobj is process.stdout:
                        out = (out + piece)[:MOST]
                    else:
                        err = (err + piece)[-MOST:]
            if received:
                return out, err, "signal"
            if len(out) == MOST:
                return out, err, "full"
            if ended:
                return out, err, "exit"
            if time.monotonic() > deadline:
                return out, err, "late"
            if not waiting.get_map():
                time.sleep(_BEAT)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return True if a process has ended; do not reap it, so that its id is not reused."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _write(descriptor: int, data: bytes) -> int:
    """Write to a pipe, and return the number of bytes written; ignore a broken pipe."""
    try:
        return os.write(descriptor, data)
    except BrokenPipeError:
        return len(data)


@contextlib.contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """Delay signals that would stop this process; when the block ends, raise the first signal.

    On a thread other than the main one, no signals are recorded, because only the main thread gets
    signals.
    """
    received: list[int] = []
    with contextlib.ExitStack() as handlers:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if (before := signal.getsignal(number)) not in (signal.SIG_IGN, None):
                    signal.signal(number, lambda number, frame: received.append(number))
                    handlers.callback(signal.signal, number, before)
        yield received
    if received:
        signal.raise_signal(received[0])
