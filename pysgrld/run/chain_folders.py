"""Folders of chains: ``chain-1``, ``chain-2``, ... in one folder, each a run of its own."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from pysgrld.run.create import is_run

_NAME = re.compile(r"chain-([1-9]\d{0,8})")


def chain_path(folder: Path, number: int) -> Path:
    """Return the folder of the chain of a number, counted from 1."""
    return folder / f"chain-{number}"


def chain_number(path: Path) -> int:
    """Return the number of the chain in a folder of `chains_of`."""
    return int(path.name.removeprefix("chain-"))


def called(path: Path) -> str:
    """Name a run by its folder, a chain by the folder of its chains too; not by where that lies."""
    if not _NAME.fullmatch(path.name):
        return path.name
    return f"{path.absolute().parent.name}, chain {chain_number(path)}"


def chains_of(folder: Path) -> list[Path]:
    """List the chains in a folder, by number; none where it holds none or cannot be read."""
    found: dict[int, Path] = {}
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if (match := _NAME.fullmatch(path.name)) and is_run(path):
                found[int(match[1])] = path
    return [path for _, path in sorted(found.items())]


def holds_chains(folder: Path) -> bool:
    """Whether chains may be continued in a folder: it holds some, or the corpus for them."""
    return bool(chains_of(folder)) or (
        not is_run(folder) and (folder / "corpus" / "meta.json").is_file()
    )
