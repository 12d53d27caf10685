"""An option of training: its name, its meaning, and the form of its values.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Option(NamedTuple):
    """One option of ``sgmc train``.

    Attributes
    ----------
    parse : callable
        From text to value; raises `UsageError`.
    shown : str
        The default, as help shows it.
    help : str
        What the option means, in one line.
    group : str
        Heading in the help.
    free : bool
        May change at every start without making it another run.
    metavar : str
        What stands for the value in the help.
    default : object
        None where it depends on the corpus (see `pysgrld.models.resolve`).
    first : bool
        Among the dozen that ``sgmc train --help`` shows; ``--help-all`` shows every option.
    joins : bool
        Given several times it means all of its values, joined by commas; else the last one.
    read : callable, optional
        Reads the file that a value names: what it holds is then the value, which a run keeps.
    spell : callable, optional
        Writes a value that is a list as a person reads it, in a line; raises `UsageError` if it cannot
        be one. Of options in `pysgrld.options` alone, where `spelled` looks.
    """

    parse: Callable[[str], Any]
    shown: str
    help: str
    group: str
    free: bool = False
    metavar: str = ""
    default: Any = None
    first: bool = False
    joins: bool = False
    read: Callable[[str], Any] | None = None
    spell: Callable[[Any], str] | None = None
