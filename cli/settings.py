"""``--set NAME=VALUE``: the settings of a command, which are options that few users need."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from pysgrld.errors import UsageError
from pysgrld.models.options import select_sampler_and_model
from pysgrld.options.option import Option

from .values import of_option

#: Minimum similarity, from 0 to 1 (`difflib`), between a misspelled name and a suggested name.
ALIKE = 0.75
#: Maximum number of characters of a typed value repeated in a message.
LONGEST = 60


def shortened(message: str, value: str) -> str:
    """Return a message in which a long value is shortened to its first characters."""
    return message.replace(value, f"{value[:LONGEST]}...") if len(value) > LONGEST else message


class SettingValue(click.ParamType):  # type: ignore[type-arg]
    """Click type of the values of ``--set``, given the command's settings by name."""

    name = "setting"

    def __init__(self, rows: Mapping[str, Option]) -> None:
        self.rows = rows

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete the name of a setting, or its value after ``=``."""
        del ctx, param
        name, equals, begun = incomplete.partition("=")
        if not equals:
            return [CompletionItem(f"{row}=") for row in self.rows if row.startswith(name)]
        if name not in self.rows:
            return []
        items = of_option(self.rows[name].parse, "", begun)
        return [CompletionItem(f"{name}={item.value}") for item in items]

    def read(
        self,
        texts: Iterable[str],
        chosen: Mapping[str, Any] | None,
        instead: Mapping[str, str],
        metavars: Mapping[str, str],
    ) -> dict[str, Any]:
        """Parse settings ``NAME=VALUE`` into values by name.

        Parameters
        ----------
        texts : iterable of str
            Texts ``NAME=VALUE``, as typed.
        chosen : mapping or None
            Values of the command's options by name, which determine model and sampler; None if the
            command has no model.
        instead : mapping of str to str
            Advice for settings of other commands, by name with dashes before it.
        metavars : mapping of str to str
            Placeholder of the value of each option of the command, by name.

        Returns
        -------
        dict
            Values by the settings' names.

        Raises
        ------
        UsageError
        """
        values: dict[str, Any] = {}
        for text in texts:
            name, equals, value = text.partition("=")
            if advice := instead.get(f"--{name}"):
                raise UsageError(f"--set {name} does not apply here: {advice}")
            if name in metavars:
                raise UsageError(
                    f"--set: {name} is an option; give --{name} {metavars[name]}".rstrip()
                )
            if name not in self.rows:
                raise UsageError(shortened(self._unknown(name, chosen), name))
            row = self.rows[name]
            if not equals:
                raise UsageError(f"--set {text}: write --set {name}={row.metavar}")
            if name in values:
                raise UsageError(f"--set {name} is given twice; give it once")
            if not value and row.names_file:
                raise UsageError(f"--set {name}: the path is empty; give a path")
            try:
                values[name] = row.parse(value)
            except UsageError as error:
                raise UsageError(f"--set {name}: {shortened(str(error), value)}") from None
        return values

    def _unknown(self, name: str, chosen: Mapping[str, Any] | None) -> str:
        """Return the message for an unknown setting, with similar names and a list of settings."""
        import difflib  # This import is only needed for a misspelled name.

        near = difflib.get_close_matches(name, self.rows, 2, ALIKE)
        advice = f" (did you mean {' or '.join(near)}?)" if near else ""
        listed, names = "the settings are", list(self.rows)
        if chosen is not None:
            with contextlib.suppress(UsageError):
                sampler, model = select_sampler_and_model(chosen)
                listed = f"settings of --model {model.name}, --algo {sampler.name}:"
                names = [n for n in names if n in model.options or n in sampler.options]
        return f"--set: unknown setting '{name}'{advice}; {listed} {', '.join(names) or 'none'}"


def table(rows: Mapping[str, Option], formatter: click.HelpFormatter, width: int) -> None:
    """Write the settings into a help text, under their headings.

    Parameters
    ----------
    rows : mapping of str to Option
    formatter : click.HelpFormatter
    width : int
        Maximum width of the left column.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, row in rows.items():
        groups.setdefault(row.group, []).append(
            (f"{name}={row.metavar}", f"{row.help} [{row.shown}]")
        )
    with formatter.section("Settings, given as --set NAME=VALUE"):
        # The library click reduces the width of descriptions by one indentation only. The sections
        # below are inside another section, so reduce their width by a second indentation.
        formatter.width -= formatter.indent_increment
        for group, lines in groups.items():
            with formatter.section(group):
                formatter.write_dl(lines, col_max=width)
        formatter.width += formatter.indent_increment
