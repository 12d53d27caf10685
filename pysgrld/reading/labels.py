"""Names of topics, stored in a run's file ``labels.json``, such as ``{"4": "sacrifice"}``.

The name of a topic may come from an external command, which is then stored with the name: ``{"4":
{"name": "sacrifice", "by": "llm -m small"}}``. A name carried over from a former run (``train
--from``) has ``"carried": true``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.errors import CorpusError
from pysgrld.options.paths import read_input
from pysgrld.run import find_chains, jsonio
from pysgrld.run.output_files import open_output

#: Name of the file of topic names in a run's folder.
LABELS = "labels.json"
#: Invisible characters that `tidy` does not remove, because Persian spelling and composed emoji
#: need them.
_JOINERS = "\u200c\u200d"
#: Maximum number of characters of a name.
LONGEST = 200
#: Maximum number of bytes of a file of names.
LARGEST = 16 << 20


class Label(NamedTuple):
    """Name of a topic, and its origin: the user, a command, or an earlier run.

    Attributes
    ----------
    name : str
    by : str or None
        The command that wrote the name, or None if a person wrote it.
    carried : bool
        True if it is the name of the topic that this one continued from (``train --from``).
    """

    name: str
    by: str | None = None
    carried: bool = False


def labels_of(run: Path, topics: int) -> dict[int, Label]:
    """Return the names of a run's topics by topic number; topics without a name are left out.

    For the first chain of several, the file may also be in the folder that contains the chains.

    Parameters
    ----------
    run : Path
        Folder of the run.
    topics : int
        Number of topics.

    Returns
    -------
    dict of int to Label
        Names by number of the topic, counted from 0.

    Raises
    ------
    CorpusError
        If the file has wrong content.
    MissingInputError
        If the file exists but cannot be read.
    """
    folders = [run]
    if find_chains(run.parent)[:1] == [run]:
        folders.append(run.parent)
    for folder in folders:
        if os.path.lexists(folder / LABELS):
            return read_labels(folder / LABELS, topics)
    return {}


def read_labels(path: Path, topics: int) -> dict[int, Label]:
    """Read topic names from a JSON file that maps topic numbers to names.

    Parameters
    ----------
    path : Path
    topics : int
        Number of topics K; the numbers in the file must be below K.

    Returns
    -------
    dict of int to Label
        Names by number of the topic, counted from 0.

    Raises
    ------
    CorpusError
        If the file is no such object, has a number that is no topic's, or has a name that is empty
        or too long.
    MissingInputError
        If the file cannot be read.
    """
    try:
        content = jsonio.parse(read_input(path, LARGEST, "list of names"))
    except CorpusError:
        raise
    except ValueError as error:
        raise _wrong(path, f"the file is not JSON ({error})") from None
    if not isinstance(content, dict):
        raise _wrong(path, "the file must be a JSON object that maps topic numbers to names")
    labels = {}
    for number, value in content.items():
        name, author, carried = value, None, False
        if isinstance(value, dict) and {"name"} < value.keys() <= {"name", "by", "carried"}:
            name, author, carried = value["name"], value.get("by"), value.get("carried", False)
        shown = number if len(number) <= 20 else f"{number[:20]}..."
        if not (number.isascii() and number.isdigit() and str(int(number[:9])) == number):
            raise _wrong(path, f"{shown!r} is not the number of a topic")
        if int(number) >= topics:
            raise _wrong(path, f"no topic {number}: topics are 0 to {topics - 1}")
        is_label = isinstance(author, str | None) and isinstance(carried, bool)
        if not isinstance(name, str) or not tidy(name) or not is_label:
            raise _wrong(path, f"the name of topic {number} is not a text")
        if len(name) > LONGEST:
            raise _wrong(
                path,
                f"the name of topic {number} has {len(name):,} characters; the maximum is "
                f"{LONGEST}",
            )
        labels[int(number)] = Label(tidy(name), None if author is None else tidy(author), carried)
    return labels


def write_labels(path: Path, labels: Mapping[int, Label]) -> None:
    """Write the names of topics to a file, by topic number.

    Parameters
    ----------
    path : Path
    labels : mapping
        Names by topic.

    Raises
    ------
    WriteError
        If the file cannot be written.
    """
    entries: dict[str, Any] = {}
    for k, label in sorted(labels.items()):
        marks = {name: mark for name, mark in label._asdict().items() if mark}
        entries[str(k)] = label.name if len(marks) == 1 else marks
    with open_output(path) as file:
        file.write(jsonio.pretty(entries))


def tidy(text: str) -> str:
    """Return a text on a single line, without characters that could garble a terminal.

    Control characters and characters that change the direction of text are removed.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        One line.
    """
    printable = [c for c in text if c.isprintable() or c.isspace() or c in _JOINERS]
    return " ".join("".join(printable).split())


def _wrong(path: Path, problem: str) -> CorpusError:
    return CorpusError(f'{problem}; write it like {{"4": "sacrifice"}}, or delete the file', path)
