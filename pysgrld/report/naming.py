"""Names of topics by a command of the user's own, as one that asks a language model."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import NamedTuple

from pysgrld.errors import MissingInputError, UsageError
from pysgrld.reading.labels import LABELS, LONGEST, Label, tidy, write_labels
from pysgrld.reading.results import Results
from pysgrld.reading.topics import topics_of
from pysgrld.report.answers import documents_of_topics

#: Words and documents of a topic that the command is told.
WORDS, DOCUMENTS = 20, 5
#: Letters of a document's title that it is told, at most.
TITLE = 200
#: Seconds that it may take for one topic, and letters of what it says when it fails that are shown.
PATIENCE, SAID = 300.0, 100


class NamedTopics(NamedTuple):
    """Names that a command gave to topics, by the topics' numbers.

    Attributes
    ----------
    new : dict of int to str
        Names that were written to ``labels.json``.
    kept : dict of int to str
        Names that a person gave, which stay.
    failed : dict of int to str
        Why there is none of a topic.
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
    """Name the topics of the lowest layer by a command, which runs once for each.

    It is run by the shell. Its input is what a topic is, as `described` writes it; the first line of
    its output is the name, which is written at once: what was named before it is stopped stays named.

    Parameters
    ----------
    results : Results
    command : str
        A line for the shell.
    replace : bool
        Also topics that a person has named.
    tell : callable (topic, line)
        Called for each topic: its name, or why there is none.

    Raises
    ------
    UsageError
        If the command is empty.
    WriteError
        If names cannot be written.
    """
    if not command.strip():
        raise UsageError("--name-with: the command is empty")
    try:
        titles = {
            each.topic: [document.title for document in each.documents]
            for each in documents_of_topics(results, DOCUMENTS, 0)
        }
    except MissingInputError:  # words alone
        titles = {}
    labels = dict(results.named)
    person = {} if replace else {k: x.name for k, x in labels.items() if x.by is None}
    seeded = {} if replace else results.seed_names()
    found = NamedTopics({}, seeded | person, {})
    for topic in topics_of(results, WORDS, intervals=False):
        if topic.id in found.kept:
            continue
        words = [word.word for word in topic.words]
        about = described(topic.id, topic.weight, words, titles.get(topic.id, []))
        name, why = asked(command, about)
        if name is None:
            found.failed[topic.id] = why
            tell(topic.id, why)
            continue
        found.new[topic.id] = name
        labels[topic.id] = Label(name, tidy(command))
        write_labels(results.path / LABELS, labels)
        tell(topic.id, name)
    return found


def described(topic: int, weight: float | None, words: list[str], titles: list[str]) -> str:
    """Return what the command is told of a topic: its weight, its words, and titles of documents."""
    lines = [f"Topic {topic}" + ("" if weight is None else f", {100 * weight:.1f} % of the corpus")]
    lines += ["", f"Words, the most probable first: {', '.join(words)}"]
    if titles:
        lines += ["", "Documents that are most about it:"]
        lines += [f"- {tidy(title)[:TITLE]}" for title in titles]
    return "\n".join(lines) + "\n"


def asked(command: str, about: str) -> tuple[str | None, str]:
    """Run the command; return the first line of its output, or None and why there is none."""
    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(about.encode(), PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, f"no answer within {PATIENCE:.0f} s"
        except BaseException:  # Ctrl-C: the command ends too
            os.killpg(process.pid, signal.SIGKILL)
            raise
    said = [line for line in map(tidy, out.decode(errors="replace").splitlines()) if line]
    if process.returncode:
        last = [line for line in map(tidy, err.decode(errors="replace").splitlines()) if line]
        return None, f"the command ended with {process.returncode}" + (
            f": {last[-1][:SAID]}" if last else ""
        )
    if not said:
        return None, "the command printed nothing"
    if len(said[0]) > LONGEST:
        return None, f"the command printed a line of {len(said[0]):,} letters: {LONGEST} at most"
    return said[0], ""
