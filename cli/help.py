"""The command ``sgmc help``, which shows help pages."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from . import COMMANDS
from .options import Described, flag
from .terminal import write


@click.command(
    "help",
    cls=Described,
    epilog="""\b
Examples:
  sgmc help               all commands
  sgmc help train         the options of training that most people use
  sgmc help train --all   every one of them
  sgmc help train --man | man -l -""",
)
@click.argument(
    "path",
    nargs=-1,
    metavar="[COMMAND]...",
    shell_complete=lambda _ctx, _param, begun: [
        CompletionItem(name) for name in COMMANDS if name.startswith(begun)
    ],
)
@flag("--all", "every option")
@flag("--man", "print the source of the manual page")
def command(path: tuple[str, ...], all: bool, man: bool) -> None:
    """Show the help of sgmc or of one of its commands."""
    from . import main

    if man:
        from pysgrld.run.machine import RELEASE

        from .man import page, paths

        if path not in paths():
            raise click.UsageError(
                f"unknown command '{' '.join(path)}'; 'sgmc help' lists the commands"
            )
        write(page(path, RELEASE), nl=False)
        return

    main.main([*path, "--help-all" if all and path == ("train",) else "--help"], prog_name="sgmc")
