"""The command ``sgmc completion``, which prints a shell's completion script."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from pysgrld.errors import OutputError
from pysgrld.options.parse import choice

from .options import Described, Value, flag
from .terminal import echo, write
from .values import of_option

#: The values for each shell. First comes the environment variable with the base folder, and its
#: default (a folder in the home folder). Then come the path of the completion script in the base
#: folder, and advice if the shell does not read the script.
_PLACES = {
    "bash": (
        *("XDG_DATA_HOME", ".local/share", "bash-completion/completions/sgmc"),
        "if the package bash-completion is missing, add this line to ~/.bashrc: source {}",
    ),
    "zsh": (
        *("XDG_DATA_HOME", ".local/share", "zsh/site-functions/_sgmc"),
        "add this line to ~/.zshrc, before compinit: fpath=({.parent} $fpath)",
    ),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/sgmc.fish", ""),
}

#: Text that every completion script of sgmc contains, but no other file.
_MARK = b"_SGMC_COMPLETE"

_SHELL = Value(choice(*_PLACES), "SHELL")


@click.command(
    "completion",
    cls=Described,
    epilog="""\b
Examples:
  sgmc completion bash --install    for every shell that is opened from now on
  source <(sgmc completion bash)    for this one""",
)
@click.argument(
    "shell",
    type=_SHELL,
    metavar="bash|zsh|fish",
    shell_complete=lambda _ctx, _param, begun: of_option(_SHELL.parse, "", begun),
)
@flag("--install", "write it to the folder from which the shell reads completions")
def command(shell: str, install: bool) -> None:
    """Print a script with which a shell completes commands, options, values, runs and files.

    The Tab key then completes what you type.
    """
    from . import main

    completion = get_completion_class(shell)
    assert completion is not None
    script = completion(main, {}, "sgmc", "_SGMC_COMPLETE").source()
    if not install:
        write(script)
        return
    from pysgrld.run.output_files import open_output

    variable, below_home, file_in_it, otherwise = _PLACES[shell]
    path = Path(os.environ.get(variable) or Path.home() / below_home) / file_in_it
    if path.exists() and _MARK not in path.read_bytes():
        raise OutputError(f"{path}: was not written by sgmc; move it away, and install again")
    with open_output(path) as file:
        file.write(f"{script.strip()}\n".encode())
    echo(f"{path}: written; open a new shell", err=True)
    if otherwise:
        echo(otherwise.format(path), err=True)
