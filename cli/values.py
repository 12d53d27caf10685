"""Completion of option values by the shell: files, runs, and the words that an option accepts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

#: Placeholders in help texts for a path, or for a list that may contain a path.
_PATHS = frozenset({"FILE", "DIR", "PATH", "CORPUS", "RUN", "LIST"})
#: Placeholders in help texts for a single file or folder.
_PLACES = frozenset({"FILE", "DIR", "PATH", "CORPUS", "RUN", "RUN|never|auto"})


def takes_path(param: click.Parameter) -> bool:
    """Return True if an option or argument takes a path, or a list that may contain paths."""
    return param.name == "corpus" or bool(_PATHS & {*re.findall("[A-Z]+", param.metavar or "")})


def of_option(parse: Callable[[str], Any], metavar: str, begun: str) -> list[CompletionItem]:
    """Complete an option's value with the words that the option accepts, or with a file's name."""
    words = getattr(parse, "values", ())
    if words:
        return [CompletionItem(word) for word in words if word.startswith(begun)]
    return [CompletionItem(begun, type="file")] if metavar in _PLACES else []


def files(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Let the shell itself complete the name of a file."""
    del ctx, param
    return [CompletionItem(begun, type="file")]


def runs(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the name of a run in ``./sgmc-runs``; if no run fits, the shell completes a path."""
    del ctx, param
    from pysgrld.run.choose import ROOT

    try:
        names = sorted(entry.name for entry in ROOT.iterdir() if (entry / "config.json").is_file())
    except OSError:
        names = []
    items = [CompletionItem(name) for name in names if name.startswith(begun)]
    return items or [CompletionItem(begun, type="file")]


def runs_and_files(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the first argument as the name of a run, and further arguments as files."""
    return files(ctx, param, begun) if ctx.params.get(param.name or "") else runs(ctx, param, begun)
