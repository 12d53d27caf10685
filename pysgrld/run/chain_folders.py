"""Folders of several chains; each chain is a run in a subfolder ``chain-1``, ``chain-2``, ..."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from pysgrld.errors import MissingInputError
from pysgrld.options.paths import is_file, list_folder
from pysgrld.run.layout import is_run
from pysgrld.run.lock import PREFIX
from pysgrld.run.ownership import is_marked

_NAME = re.compile(r"chain-([1-9]\d{0,8})")


def chain_path(folder: Path, number: int) -> Path:
    """Return the folder of the chain with the given number.

    Parameters
    ----------
    folder : Path
        Folder of all chains.
    number : int
        Number of the chain, from 1.

    Returns
    -------
    Path
        Folder of the chain, which need not exist.
    """
    return folder / f"chain-{number}"


def chain_number(path: Path) -> int:
    """Return the number of a chain, given a folder that `find_chains` returned.

    Parameters
    ----------
    path : Path
        Folder of one chain.

    Returns
    -------
    int
        Number of the chain, from 1.
    """
    return int(path.name.removeprefix("chain-"))


def display_name(path: Path) -> str:
    """Return a run's name for messages: its folder's name, or ``FOLDER, chain N`` for a chain.

    Parameters
    ----------
    path : Path
        Folder of a run or of a chain.

    Returns
    -------
    str
        The name, without parent folders.
    """
    if not _NAME.fullmatch(path.name):
        return path.name
    return f"{path.absolute().parent.name}, chain {chain_number(path)}"


def find_chains(folder: Path) -> list[Path]:
    """Return the folders of all chains in `folder`, sorted by number; empty if it is unreadable.

    Parameters
    ----------
    folder : Path
        Folder of all chains.

    Returns
    -------
    list of Path
        Folders of the chains.

    Raises
    ------
    MissingInputError
        If the folder of a chain cannot be read.
    """
    chains: dict[int, Path] = {}
    paths: list[Path] = []
    with contextlib.suppress(MissingInputError):
        paths = list_folder(folder)
    for path in paths:
        if (match := _NAME.fullmatch(path.name)) and is_run(path):
            chains[int(match[1])] = path
    return [path for _, path in sorted(chains.items())]


def holds_chains(folder: Path) -> bool:
    """Return True if a folder has chains, or contains nothing except a corpus stored for chains."""
    if find_chains(folder):
        return True
    with contextlib.suppress(OSError):
        names = {path.name for path in folder.iterdir() if not is_marked(path.name, PREFIX)}
        return names == {"corpus"} and is_file(folder / "corpus" / "meta.json")
    return False
